"""Answers with room to spare, and among the data: what surrounds a row.

Room is a ball around an answer, or a margin of the score, that also reaches the target. A ball is checked by
asking about rows on its surface, where it is left first: straight toward the query, both ways along every
number, and in random directions; and, where the radius allows it, about each other category. A row is
plausible where it is no farther from background rows than these mostly are from each other.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Matrix, Vector
from ssba.columns.distance import Metric, flat
from ssba.columns.space import Grid

RANDOM_DIRECTIONS = 100
"""How many random directions a ball is checked in, beside the fixed ones."""

QUANTILE = 0.95
"""A row is plausible if it is no further from the data than this share of the data are from each other."""


@dataclass(frozen=True)
class Surface:
    """The surface of balls around rows, in the metric's units.

    `movable` are the columns of numbers that vary at all, `low` and `high` what these can hold; `levels` is
    the number of levels of each category.
    """

    metric: Metric
    grid: Grid
    movable: NDArray[np.bool_]
    low: Vector
    high: Vector
    levels: tuple[int, ...]

    def directions(self, count: int, rng: np.random.Generator) -> Matrix:
        """Return random directions of length 1 in scaled units; zero for categories."""
        drawn = rng.normal(size=(count, len(self.movable)))
        if self.metric.norm != "l2":
            drawn = np.sign(drawn) * rng.exponential(size=drawn.shape)
        drawn = np.where(self.movable, drawn, 0.0)
        length = np.sqrt((drawn**2).sum(axis=1)) if self.metric.norm == "l2" else np.abs(drawn).sum(axis=1)
        return np.asarray(drawn / np.maximum(length, 1e-300)[:, None])

    def axes(self) -> Matrix:
        """Return both directions along each number."""
        unit = np.eye(len(self.low))[self.movable]
        return np.concatenate([unit, -unit])

    def toward(self, z: Vector, x: Vector) -> Matrix:
        """Return the direction from one row straight to another, as an array of one row; none if the same."""
        way = np.nan_to_num(x - z) / self.metric.scale * self.metric.weight * self.movable
        length = np.sqrt(way @ way) if self.metric.norm == "l2" else np.abs(way).sum()
        return np.asarray(way[None, :] / length if length > 0 else way[None, :][:0])

    def rows(self, z: Vector, directions: Matrix, radius: float) -> Matrix:
        """Return legal rows on the surface of the ball around `z`, or just inside where steps do not fit."""
        moved = z + directions * radius * self.metric.scale / self.metric.weight
        down, up = np.asarray(self.grid.floor(moved)), np.asarray(self.grid.ceil(moved))
        inward = np.where(directions > 0, down, up)
        kept = (directions == 0) | np.isnan(z)
        return np.asarray(np.where(kept, z, np.clip(inward, self.low, self.high)))

    def other_levels(self, z: Vector, radius: float) -> Matrix:
        """Return the row with one category changed at a time, where that lies within the radius."""
        rows: list[Matrix] = [np.empty((0, len(z)))]
        for j, count in enumerate(self.levels):
            if self.metric.weight[j] <= radius and not np.isnan(z[j]):
                others = [code for code in range(count) if code != z[j]]
                changed = np.tile(z, (len(others), 1))
                changed[:, j] = others
                rows.append(changed)
        return np.concatenate(rows)

    def check_rows(self, z: Vector, x: Vector, radius: float, seed: int) -> Matrix:
        """Return all rows by which the ball around `z` is checked."""
        rng = np.random.default_rng([seed, 101])
        ways = np.concatenate([self.toward(z, x), self.axes(), self.directions(RANDOM_DIRECTIONS, rng)])
        return np.concatenate([self.rows(z, ways, radius), self.other_levels(z, radius)])


def normal_from_labels(directions: Matrix, reached: NDArray[np.bool_]) -> Vector:
    """Return the direction in which the target is left last, from which of some directions reached it.

    The mean of the directions that reached, minus that of those that did not; zeros where all agree.
    """
    if reached.all() or not reached.any():
        return np.zeros(directions.shape[1])
    way = directions[reached].mean(axis=0) - directions[~reached].mean(axis=0)
    return np.asarray(way / max(float(np.sqrt(way @ way)), 1e-300))


@dataclass(frozen=True)
class Neighbourhood:
    """Different background rows, and how far other rows are from the nearest of them.

    Distances are the metric's own. Trees of neighbours measure plain L1 or L2, so that columns are scaled
    first, and a category becomes one column a level, so that two levels are as far apart as the metric says.
    """

    rows: Matrix
    metric: Metric

    def distance(self, Z: Matrix) -> Vector:
        """Return the distance of each row to the nearest background row; infinite without any."""
        return self._nearest(Z, 1)

    @cached_property
    def usual(self) -> float:
        """The 95% quantile of the background rows' distances to their nearest neighbours."""
        if len(self.rows) < 2:
            return 0.0
        return float(np.quantile(self._nearest(self.rows, 2), QUANTILE))

    def _nearest(self, Z: Matrix, rank: int) -> Vector:
        """Return the distance to the nearest background row, or to the next one after it."""
        if len(self.rows) < rank:
            return np.full(len(Z), np.inf)
        found = np.empty(len(Z))
        missing = np.isnan(Z).any(axis=1) | self._has_missing
        for i in np.flatnonzero(missing):
            found[i] = np.partition(self.metric.distance(self.rows, Z[i]), rank - 1)[rank - 1]
        if not missing.all():
            nearest = self._tree.query(self._flat(Z[~missing]), k=[rank], p=1 + (self.metric.norm == "l2"))[0]
            found[~missing] = nearest[:, 0]
        return found

    @cached_property
    def _has_missing(self) -> bool:
        return bool(np.isnan(self.rows).any())

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self._flat(self.rows))

    def _flat(self, Z: Matrix) -> Matrix:
        """Return rows in which plain L1 or L2 is the metric."""
        return flat(self.metric, Z, self.rows)
