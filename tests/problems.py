"""Problems whose nearest row is known in closed form, for every test that needs one.

A problem is a query at the origin of some columns, a set of rows that reach the target, and the distance of
the nearest of them, by norm. Each can be asked by labels and by scores, on NumPy rows and on frames.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import ssba

Rows = NDArray[np.float64]
Margin = Callable[[Any], Any]


@dataclass(frozen=True)
class HalfSpace:
    """Rows whose weighted sum is above a number; called with rows it tells which are."""

    weights: tuple[float, ...]
    at: float

    def margin(self, rows: Any) -> Any:
        """Return by how much each row is above."""
        return np.asarray(rows) @ np.array(self.weights) - self.at

    def __call__(self, rows: Any) -> Any:
        return self.margin(rows) > 0

    def distance(self, norm: str = "l2", columns: int | None = None) -> float:
        """Return how far it is from the origin, if at most so many columns may change.

        Closed form: the largest weights do most. In L2 the way is along them, in L1 along the largest alone.
        """
        largest = sorted(map(abs, self.weights), reverse=True)[:columns]
        return float(self.at / (np.linalg.norm(largest) if norm == "l2" else largest[0]))

    def logistic(self, rows: Rows) -> LogisticRegression:
        """Return a logistic regression with exactly these weights; `rows` only tell it how many there are."""
        model = LogisticRegression().fit(rows, rows[:, 0] > np.median(rows[:, 0]))
        model.coef_, model.intercept_ = np.array([self.weights]), np.array([-self.at])
        return model


def half_space(*weights: float, at: float) -> HalfSpace:
    """Return the half-space of rows whose weighted sum is above a number.

    >>> half_space(3, 4, at=10).distance(), half_space(3, 4, at=10).distance("l1")
    (2.0, 2.5)
    """
    return HalfSpace(tuple(map(float, weights)), at)


@dataclass(frozen=True)
class Problem:
    """A margin that is above 0 where the target is reached, and how far the nearest such row is."""

    margin: Margin
    width: int
    distances: Mapping[str, float]
    whole: bool = False

    @property
    def data(self) -> Rows:
        """Background rows on both sides, the origin in their midst."""
        rng = np.random.default_rng(7)
        rows = rng.uniform(-6, 6, size=(400, self.width))
        return np.round(rows) if self.whole else rows

    def labels(self, rows: Any) -> Any:
        return self.margin(np.asarray(rows)) > 0

    def scores(self, rows: Any) -> Any:
        """Return two columns of scores that sum to 1; the larger one is the predicted class."""
        chance = 1 / (1 + np.exp(-self.margin(np.asarray(rows))))
        return np.column_stack([1 - chance, chance])

    def explainer(self, by: str, norm: Any = "l2") -> ssba.Explainer:
        model, target = (self.labels, True) if by == "labels" else (self.scores, 1)
        features = {f"x{j}": ssba.integer() for j in range(self.width)} if self.whole else None
        return ssba.Explainer(
            model, self.data, target, features=features, distance=ssba.Distance(norm, scale="none")
        )

    @property
    def query(self) -> list[float]:
        return [0.0] * self.width


def _plane(weights: list[float], at: float) -> Margin:
    return lambda rows: rows @ np.array(weights) - at


def _corner(rows: Any) -> Any:
    """Two half-spaces at once, at right angles: the nearest row is where both begin."""
    return np.minimum(rows[:, 0] - 1.5, rows[:, 1] - 2.0)


def _either(rows: Any) -> Any:
    """Either of two half-spaces: the nearer of them decides."""
    return np.maximum(rows[:, 0] - 3.0, (rows[:, 1] + rows[:, 2]) / np.sqrt(2) - 2.0)


def _outside(rows: Any) -> Any:
    """Outside a ball around a point off the origin: the way leads straight away from its center."""
    center = np.array([0.6, 0.8, 0.0])
    return np.sqrt(((rows - center) ** 2).sum(axis=1)) - 4.0


def _steps(rows: Any) -> Any:
    """Whole numbers: a row of steps, as trees make them; the nearest row is (2, 1)."""
    return np.where((rows[:, 0] >= 2) & (rows[:, 1] >= 1), 1.0, -1.0)


PROBLEMS: dict[str, Problem] = {
    "half-space": Problem(_plane([3.0, 4.0, 0.0], 10.0), 3, {"l2": 2.0, "l1": 2.5}),
    "half-space of ten columns": Problem(_plane([1.0] * 10, 5.0), 10, {"l2": 5.0 / np.sqrt(10), "l1": 5.0}),
    "two half-spaces at once": Problem(_corner, 3, {"l2": 2.5, "l1": 3.5}),
    "either of two half-spaces": Problem(_either, 3, {"l2": 2.0, "l1": 2.0 * np.sqrt(2)}),
    "outside a ball": Problem(_outside, 3, {"l2": 3.0}),
    "steps of whole numbers": Problem(_steps, 2, {"l2": np.sqrt(5), "l1": 3.0}, whole=True),
}
"""All of them, by name; `distances` holds the norms in which the nearest row is known."""
