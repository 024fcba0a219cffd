"""The layers that twins are made of, except trees. Nothing in them is trained, so that all is in buffers.

Each does what its scikit-learn namesake does, in the same order, so that 64-bit answers differ by rounding
errors of sums at most.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

Kernel = Literal["linear", "poly", "rbf", "sigmoid"]

# Cells of a table of intermediate numbers: a processor works best in its cache, a device on much at once.
_CPU_CELLS, _DEVICE_CELLS = 1 << 18, 1 << 25


def tensor_of(numbers: Any) -> Tensor:
    """Return numbers as a tensor of 64-bit floats."""
    return torch.tensor(numbers, dtype=torch.float64)


def parts_of(rows: Tensor, cells: int) -> Iterator[Tensor]:
    """Yield rows in parts that need a bounded amount of memory; `cells` is what one row takes."""
    most = _CPU_CELLS if rows.device.type == "cpu" else _DEVICE_CELLS
    size = max(1, most // max(1, cells))
    return (rows[begin : begin + size] for begin in range(0, max(1, len(rows)), size))


class Shifted(nn.Module):
    """``(rows - shift) / scale``: StandardScaler, RobustScaler and MaxAbsScaler."""

    shift: Tensor
    scale: Tensor

    def __init__(self, shift: Any, scale: Any) -> None:
        super().__init__()
        self.register_buffer("shift", tensor_of(shift))
        self.register_buffer("scale", tensor_of(scale))

    def forward(self, rows: Tensor) -> Tensor:
        return (rows.to(self.shift.dtype) - self.shift) / self.scale


class Stretched(nn.Module):
    """``rows * scale + shift``, within `ends` where there are some: MinMaxScaler."""

    shift: Tensor
    scale: Tensor

    def __init__(self, shift: Any, scale: Any, ends: tuple[float, float] | None) -> None:
        super().__init__()
        self.register_buffer("shift", tensor_of(shift))
        self.register_buffer("scale", tensor_of(scale))
        self.ends = ends

    def forward(self, rows: Tensor) -> Tensor:
        stretched = rows.to(self.shift.dtype) * self.scale + self.shift
        return stretched if self.ends is None else stretched.clamp(*self.ends)


class OneHot(nn.Module):
    """One column of 0 and 1 for each kept category; a cell of no known category is 0 in all of them."""

    column: Tensor
    category: Tensor

    def __init__(self, categories: Sequence[Sequence[float]]) -> None:
        super().__init__()
        column = [j for j, mine in enumerate(categories) for _ in mine]
        self.register_buffer("column", torch.tensor(column, dtype=torch.int64))
        self.register_buffer("category", tensor_of([one for mine in categories for one in mine]))

    def forward(self, rows: Tensor) -> Tensor:
        cells = rows.to(self.category.dtype)[:, self.column]
        same = (cells == self.category) | (cells.isnan() & self.category.isnan())
        return same.to(self.category.dtype)


class SideBySide(nn.Module):
    """Several steps, each on some of the columns, and what they return beside each other."""

    def __init__(self, parts: Sequence[nn.Module], columns: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        for i, mine in enumerate(columns):
            self.register_buffer(f"columns_{i}", torch.tensor(list(mine), dtype=torch.int64))

    def forward(self, rows: Tensor) -> Tensor:
        chosen = (rows[:, getattr(self, f"columns_{i}")] for i in range(len(self.parts)))
        return torch.cat([part(mine) for part, mine in zip(self.parts, chosen, strict=True)], dim=1)


class Affine(nn.Module):
    """``rows @ weight + intercept``, one column for each output."""

    weight: Tensor
    intercept: Tensor

    def __init__(self, weight: Any, intercept: Any) -> None:
        super().__init__()
        self.register_buffer("weight", tensor_of(weight))
        self.register_buffer("intercept", tensor_of(intercept))

    def forward(self, rows: Tensor) -> Tensor:
        return torch.addmm(self.intercept, rows.to(self.weight.dtype), self.weight)


class Kernels(nn.Module):
    """Sums over support vectors, one column for each output: what a kernel machine decides by."""

    center: Tensor
    support: Tensor

    def __init__(
        self, support: Any, sums: Affine, *, kernel: Kernel, gamma: float, coef0: float, degree: int
    ) -> None:
        super().__init__()
        # Distances do not change with the origin, and are the more exact the nearer it is.
        center = support.mean(axis=0) if kernel == "rbf" else 0.0 * support[0]
        self.register_buffer("center", tensor_of(center))
        self.register_buffer("support", tensor_of(support - center))
        self.sums = sums
        self.kernel, self.gamma, self.coef0, self.degree = kernel, gamma, coef0, degree

    def forward(self, rows: Tensor) -> Tensor:
        rows = rows.to(self.support.dtype) - self.center
        return torch.cat([self.sums(self._values(part)) for part in parts_of(rows, len(self.support))])

    def _values(self, rows: Tensor) -> Tensor:
        products = rows @ self.support.T
        match self.kernel:
            case "linear":
                return products
            case "poly":
                return (self.gamma * products + self.coef0) ** self.degree
            case "sigmoid":
                return torch.tanh(self.gamma * products + self.coef0)
            case "rbf":
                lengths = (rows**2).sum(dim=1, keepdim=True) + (self.support**2).sum(dim=1)
                return torch.exp(-self.gamma * (lengths - 2 * products).clamp(min=0.0))


class Votes(nn.Module):
    """From decisions between two classes each to a score a class, as SVC has them for three or more classes.

    A class scores its votes, and within a third how clear they were. SVC predicts the first class of those
    with the most votes, unless it was told to break ties, so that this one is lifted to the highest score.
    """

    first: Tensor
    second: Tensor

    def __init__(self, classes: int, *, break_ties: bool) -> None:
        super().__init__()
        pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
        self.register_buffer("first", torch.tensor([i for i, _ in pairs]))
        self.register_buffer("second", torch.tensor([j for _, j in pairs]))
        self.classes, self.break_ties = classes, break_ties

    def forward(self, decisions: Tensor) -> Tensor:
        won = (decisions > 0).to(decisions.dtype)
        votes = self._added(won, 1 - won)
        clear = self._added(decisions, -decisions)
        scores = votes + clear / (3 * (clear.abs() + 1))
        if self.break_ties:
            return scores
        # Of equal numbers `argmax` takes the first, and so does whoever reads the scores.
        winner = votes.argmax(dim=1, keepdim=True)
        return scores.scatter(1, winner, scores.amax(dim=1, keepdim=True))

    def _added(self, to_first: Tensor, to_second: Tensor) -> Tensor:
        sums = to_first.new_zeros(len(to_first), self.classes)
        return sums.index_add(1, self.first, to_first).index_add(1, self.second, to_second)


class Link(nn.Module):
    """From raw scores [n, k] to what the model gives: probabilities, a score a class, or numbers [n]."""

    def __init__(self, kind: "LinkKind") -> None:
        super().__init__()
        self.kind = kind

    def forward(self, raw: Tensor) -> Tensor:
        if self.kind == "number":
            return raw[:, 0]
        alone = raw.shape[1] == 1
        match self.kind:
            case "score":
                return torch.cat([-raw, raw], dim=1) if alone else raw
            case "logistic" if alone:
                return torch.sigmoid(torch.cat([-raw, raw], dim=1))
            case "logistic":
                each = torch.sigmoid(raw)
                return each / each.sum(dim=1, keepdim=True)
            case "softmax":
                return torch.softmax(raw, dim=1)


LinkKind = Literal["number", "score", "logistic", "softmax"]
