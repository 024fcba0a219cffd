"""Networks and kernel machines of scikit-learn, opened for the slopes of their scores.

Slopes only show a search where to go: every row on the way is asked about as ever. So what is read here has
to be near, not exact, and nothing is claimed from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from ssba.arrays import Matrix, Vector
from ssba.columns.space import Space
from ssba.models.answers import Model
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween, log_odds
from ssba.whitebox.check_reading import (
    NotReadable,
    mixed_background,
    sent_through,
    the_users_code,
)
from ssba.whitebox.inputs import dense
from ssba.whitebox.structure import Parts, affine_problem

# Products of matrices come out the same for a row only in batches of one size.
_ROWS = 64
_KERNELS = ("rbf", "poly", "sigmoid")

Back = Callable[[Matrix], Matrix]
"""From weights of the raw scores of rows to the slopes of their weighted sums, input by input."""


class Raw(Protocol):
    """The raw scores of inputs, [n, 1] or one column a class, and the way back to slopes."""

    def __call__(self, inputs: Matrix) -> tuple[Matrix, Back]: ...


@final
@dataclass(frozen=True)
class Smooth:
    """A model whose raw scores are smooth functions of affine inputs."""

    stretch: Matrix
    shift: Vector
    raw: Raw
    classes: tuple[Any, ...] | None
    probabilities: bool

    def slopes(self, Z: Matrix, goal: Goal) -> tuple[Vector, Matrix] | None:
        """Return how far rows are beyond a goal, in units of its own, and how that rises with each cell.

        None for a goal that raw scores do not tell.
        """
        parts = []
        for begin in range(0, len(Z), _ROWS):
            rows = Z[begin : begin + _ROWS]
            full = np.concatenate([rows, np.repeat(rows[-1:], _ROWS - len(rows), axis=0)])
            raw, back = self.raw(full @ self.stretch.T + self.shift)
            told = self._heights(goal, raw)
            if told is None:
                return None
            height, weights = told
            parts.append((height[: len(rows)], (back(weights) @ self.stretch)[: len(rows)]))
        return np.concatenate([one for one, _ in parts]), np.concatenate([one for _, one in parts])

    def _heights(self, goal: Goal, raw: Matrix) -> tuple[Vector, Matrix] | None:
        """Return how far raw scores are beyond a goal, and the weights of the scores in that."""
        single = raw.shape[1] == 1
        match goal:
            case Reach(label) if single:
                return _signed(raw, self._side(label))
            case Leave(label) if single:
                return _signed(raw, -self._side(label))
            case Reach(label):
                return _lead(raw, self._number(label))
            case Leave(label):
                height, weights = _lead(raw, self._number(label))
                return -height, -weights
            case Probability(label, at_least, at_most) if single and self.probabilities:
                return _within(*_signed(raw, self._side(label)), log_odds(at_least), log_odds(at_most))
            case ValueBetween(low, high) if self.classes is None:
                return _within(*_signed(raw, 1.0), low, high)
            case _:
                return None

    def _number(self, label: Any) -> int:
        assert self.classes is not None
        return self.classes.index(label)

    def _side(self, label: Any) -> float:
        return 1.0 if self._number(label) else -1.0


def _signed(raw: Matrix, sign: float) -> tuple[Vector, Matrix]:
    return sign * raw[:, 0], np.full_like(raw, sign)


def _lead(raw: Matrix, number: int) -> tuple[Vector, Matrix]:
    """Return by how much a class is ahead of the best of the others."""
    rows, others = np.arange(len(raw)), raw.copy()
    others[:, number] = -np.inf
    best, weights = others.argmax(axis=1), np.zeros_like(raw)
    weights[:, number] = 1.0
    weights[rows, best] = -1.0
    return raw[:, number] - raw[rows, best], weights


def _within(value: Vector, weights: Matrix, low: float, high: float) -> tuple[Vector, Matrix]:
    """Return how far values are inside an interval, from the nearer end."""
    above, below = value - low, high - value
    nearer = above <= below
    return np.where(nearer, above, below), np.where(nearer[:, None], weights, -weights)


def open_smooth(parts: Parts, model: Model, space: Space, background: Matrix) -> Smooth:
    """Open a network or a kernel machine behind steps that scale or mix numbers."""
    if space.discrete.any():
        raise NotReadable("it has columns of levels")
    if parts.threshold is not None:
        raise NotReadable("it decides by a threshold of its own")
    if problem := affine_problem(parts.steps, space):
        raise NotReadable(problem)
    complete = background[~np.isnan(background).any(axis=1)]
    if not len(complete):
        raise NotReadable("no background row is without a missing cell")
    last, kind = parts.last, type(parts.last).__name__
    if type(last).__module__.partition(".")[0] != "sklearn":
        raise NotReadable(f"{kind} is neither a network nor a kernel machine of scikit-learn")
    with the_users_code():
        if kind in ("MLPClassifier", "MLPRegressor"):
            raw: Raw = _Network.of(last)
        elif kind in ("SVC", "NuSVC", "SVR", "NuSVR") and last.kernel in _KERNELS:
            raw = _Kernels.of(last)
        else:
            raise NotReadable(f"{kind} is neither a network nor a kernel machine that can be opened")
        stretch, shift = _affine(parts.steps, space, complete)
    is_network = kind == "MLPClassifier"
    opened = Smooth(stretch, shift, raw, model.classes, probabilities=is_network)
    _check(opened, model, space, complete)
    return opened


def _affine(steps: tuple[Any, ...], space: Space, complete: Matrix) -> tuple[Matrix, Vector]:
    """Return what the steps do to numbers, from what they do to single ones."""
    base = complete[0]
    reach = np.maximum(np.ptp(complete, axis=0), 1e-6)
    rows = np.concatenate([base[None, :], base + np.diag(reach)])
    seen = dense(sent_through(steps, space.decode(rows)))
    stretch = ((seen[1:] - seen[0]) / reach[:, None]).T
    return stretch, seen[0] - stretch @ base


def _check(opened: Smooth, model: Model, space: Space, complete: Matrix) -> None:
    """Hold what was read against the model's own labels, or numbers."""
    rows = mixed_background(complete)
    raw, _ = opened.raw(rows @ opened.stretch.T + opened.shift)
    with the_users_code():
        own = model.verdict(space.decode(rows))
    if own.values is not None:
        agrees = np.allclose(raw[:, 0], own.values, rtol=1e-4, atol=1e-4 * np.ptp(own.values))
    else:
        assert own.labels is not None
        assert model.classes is not None
        number = (raw[:, 0] > 0).astype(int) if raw.shape[1] == 1 else raw.argmax(axis=1)
        agrees = [model.classes[i] for i in number] == own.labels.tolist()
    if not agrees:
        raise NotReadable("what was read gives other answers than the model")


_ACTIVATIONS: dict[str, tuple[Callable[[Matrix], Matrix], Callable[[Matrix], Matrix]]] = {
    "identity": (lambda x: x, np.ones_like),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y)),
    "tanh": (np.tanh, lambda y: 1 - y * y),
    "relu": (lambda x: np.asarray(np.maximum(x, 0.0)), lambda y: (y > 0).astype(float)),
}
"""What a unit makes of its input, and how steep that is by what came of it."""


@final
@dataclass(frozen=True)
class _Network:
    weights: tuple[Matrix, ...]
    biases: tuple[Vector, ...]
    activation: str

    @classmethod
    def of(cls, last: Any) -> "_Network":
        weights, biases = (
            [np.asarray(one, dtype=float) for one in part] for part in (last.coefs_, last.intercepts_)
        )
        return cls(tuple(weights), tuple(biases), last.activation)

    def __call__(self, inputs: Matrix) -> tuple[Matrix, Back]:
        act, steep = _ACTIVATIONS[self.activation]
        layers, seen = list(zip(self.weights, self.biases, strict=True)), [inputs]
        with np.errstate(over="ignore"):
            for weight, bias in layers[:-1]:
                seen.append(act(seen[-1] @ weight + bias))
        weight, bias = layers[-1]

        def back(of_scores: Matrix) -> Matrix:
            slope = of_scores @ weight.T
            for (earlier, _), made in zip(reversed(layers[:-1]), reversed(seen), strict=False):
                slope = (slope * steep(made)) @ earlier.T
            return slope

        return seen[-1] @ weight + bias, back


@final
@dataclass(frozen=True)
class _Kernels:
    support: Matrix
    dual: Vector
    intercept: float
    kernel: str
    gamma: float
    coef0: float
    degree: int

    @classmethod
    def of(cls, last: Any) -> "_Kernels":
        if hasattr(last, "classes_") and len(last.classes_) != 2:
            raise NotReadable("it lets pairs of classes vote")
        support, dual = dense(last.support_vectors_), dense(last.dual_coef_)[0]
        return cls(
            support,
            dual,
            float(last.intercept_[0]),
            last.kernel,
            float(last._gamma),
            float(last.coef0),
            int(last.degree),
        )

    def __call__(self, inputs: Matrix) -> tuple[Matrix, Back]:
        products = inputs @ self.support.T
        if self.kernel == "rbf":
            squares = (inputs * inputs).sum(axis=1)[:, None] + (self.support * self.support).sum(axis=1)
            weighted = self.dual * np.exp(-self.gamma * (squares - 2 * products))
            total = weighted.sum(axis=1, keepdims=True)

            def slope() -> Matrix:
                return np.asarray(2 * self.gamma * (weighted @ self.support - total * inputs))
        else:
            inner = self.gamma * products + self.coef0
            if self.kernel == "poly":
                lower = inner ** (self.degree - 1)
                value, steep = lower * inner, self.degree * lower
            else:
                value = np.tanh(inner)
                steep = 1 - value * value
            total = (self.dual * value).sum(axis=1, keepdims=True)

            def slope() -> Matrix:
                return np.asarray(self.gamma * (self.dual * steep) @ self.support)

        return total + self.intercept, lambda of_scores: of_scores * slope()
