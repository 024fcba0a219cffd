"""Answers with room to spare: a ball around them, or a margin of the score, that also reaches the target.

A ball is checked by asking about rows on its surface, where it is left first: straight toward the query, both
ways along every number, and in random directions; and, where the radius allows it, about each other category.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.columns.grid import Grid

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

RANDOM_DIRECTIONS = 100
"""How many random directions a ball is checked in, beside the fixed ones."""


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
