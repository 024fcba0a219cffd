"""Models that are functions: half-spaces, the outside of a ball, rugged tables; by labels or by scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from tests.generated.columns import Column, Matrix, to_codes

Mode = Literal["labels", "probability", "scores", "number"]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass(frozen=True)
class HalfSpaces:
    """Above each of some planes, or with `how` "any" above one of them; the margin is to the nearest."""

    weights: tuple[tuple[float, ...], ...]
    thresholds: tuple[float, ...]
    how: Literal["all", "any"] = "all"

    def margin(self, Z: Matrix) -> Matrix:
        filled = np.nan_to_num(Z)
        # Summed column by column, so that a row's margin does not depend on its batch.
        above = [
            sum((filled[:, j] * one for j, one in enumerate(own)), start=np.zeros(len(Z))) - threshold
            for own, threshold in zip(self.weights, self.thresholds, strict=True)
        ]
        return np.asarray(np.min(above, axis=0) if self.how == "all" else np.max(above, axis=0))

    def source(self) -> list[str]:
        best = "min" if self.how == "all" else "max"
        return [
            "def margin(Z):",
            "    Z = np.nan_to_num(Z)",
            f"    planes = {list(zip(self.weights, self.thresholds, strict=True))}",
            "    above = [sum(Z[:, j] * w for j, w in enumerate(own)) - t for own, t in planes]",
            f"    return np.{best}(above, axis=0)",
        ]


@dataclass(frozen=True)
class OutsideBall:
    """Farther than the radius from a center, each column in its own unit."""

    center: tuple[float, ...]
    units: tuple[float, ...]
    radius: float

    def margin(self, Z: Matrix) -> Matrix:
        gaps = (np.nan_to_num(Z) - self.center) / self.units
        return np.asarray(np.sqrt((gaps * gaps).sum(axis=1)) - self.radius)

    def source(self) -> list[str]:
        return [
            "def margin(Z):",
            f"    gaps = (np.nan_to_num(Z) - {list(self.center)}) / {list(self.units)}",
            f"    return np.sqrt((gaps * gaps).sum(axis=1)) - {self.radius}",
        ]


@dataclass(frozen=True)
class Rugged:
    """A random table over all rows there could be: a hash of the cells, leaning to one side with a slope."""

    salt: int
    share: float
    slope: tuple[float, ...] = ()

    def margin(self, Z: Matrix) -> Matrix:
        # Off a grid of thousandths nothing changes, so that the last bits of a cell do not matter.
        cells = np.round(np.where(np.isnan(Z), -77.0, Z) * 1000).astype(np.int64).astype(np.uint64)
        mixed = np.full(len(Z), self.salt, dtype=np.uint64)
        for j in range(Z.shape[1]):
            mixed = (mixed ^ cells[:, j]) * _PRIME
            mixed ^= mixed >> _SHIFT
        drawn = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
        filled = np.nan_to_num(Z)
        leaning = sum((filled[:, j] * one for j, one in enumerate(self.slope)), start=np.zeros(len(Z)))
        return drawn + leaning - (1.0 - self.share)

    def source(self) -> list[str]:
        return [
            "def margin(Z):",
            "    cells = np.round(np.where(np.isnan(Z), -77.0, Z) * 1000).astype(np.int64).astype(np.uint64)",
            f"    mixed = np.full(len(Z), {self.salt}, dtype=np.uint64)",
            "    for j in range(Z.shape[1]):",
            f"        mixed = (mixed ^ cells[:, j]) * np.uint64({int(_PRIME)})",
            f"        mixed ^= mixed >> np.uint64({int(_SHIFT)})",
            "    drawn = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53",
            f"    slope = {list(self.slope)}",
            "    leaning = sum((np.nan_to_num(Z)[:, j] * w for j, w in enumerate(slope)), np.zeros(len(Z)))",
            f"    return drawn + leaning - {1.0 - self.share!r}",
        ]


Shape = HalfSpaces | OutsideBall | Rugged


@dataclass(frozen=True)
class Function:
    """A model that is a function from rows to labels, a probability, two scores or a number."""

    columns: tuple[Column, ...]
    shape: Shape
    mode: Mode
    labels: tuple[Any, Any] = (False, True)

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.labels if self.mode == "labels" else (0, 1)

    def __call__(self, rows: Any) -> Any:
        margin = self.shape.margin(to_codes(self.columns, rows))
        match self.mode:
            case "labels":
                return np.array(self.labels)[(margin > 0).astype(int)]
            case "probability":
                return 0.5 + 0.5 * margin / (1 + np.abs(margin))
            case "scores":
                return np.column_stack([-margin, margin])
            case "number":
                return margin

    def source(self, as_array: bool) -> list[str]:
        """Return code that defines `model`."""
        answer = {
            "labels": f"np.array({list(self.labels)})[(m > 0).astype(int)]",
            "probability": "0.5 + 0.5 * m / (1 + np.abs(m))",
            "scores": "np.column_stack([-m, m])",
            "number": "m",
        }[self.mode]
        return [
            *codes_source(self.columns, as_array),
            *self.shape.source(),
            "def model(rows):",
            "    m = margin(codes(rows))",
            f"    return {answer}",
        ]


def codes_source(columns: Sequence[Column], as_array: bool) -> list[str]:
    """Return code that defines `codes`, from rows to a matrix of numbers and ranks of levels."""
    lines = ["def codes(rows):", "    return np.column_stack(["]
    for j, one in enumerate(columns):
        cells = f"rows[:, {j}]" if as_array else f"rows[{one.name!r}]"
        if one.levels:
            ranks = {level: float(code) for code, level in enumerate(one.levels)}
            cells = f"pd.Series({cells}).map({ranks})"
        lines.append(f"        np.asarray({cells}, dtype=float),")
    return [*lines, "    ])"]
