"""Boxes around a row: the sides they can grow to, the rows that speak for them, and how they are cut back.

Pure functions of arrays; a box covers only the columns that may move.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rng = np.random.Generator

# A side that is not widened by this share of the way to its limit stays where it is.
FINEST = 1 / 256
_FIRST = 1 / 8
# Up to this many columns all corners of a box are asked about; beyond, as many drawn at random.
_ALL_CORNERS = 6
_MOST_ROUNDS = 80


@dataclass(frozen=True)
class Box:
    """Closed intervals around `center`, one a column; `step` is a column's grid step, 0 where there is none.

    `low_limit` and `high_limit` are how far the intervals may reach; `worst` marks columns whose upper end is
    further from the target than their lower end.
    """

    center: Vector
    low: Vector
    high: Vector
    low_limit: Vector
    high_limit: Vector
    step: Vector
    worst: Mask

    @property
    def worst_corner(self) -> Vector:
        """The corner with every column at its worse end."""
        return np.where(self.worst, self.high, self.low)

    def with_end(self, side: int, end: float) -> "Box":
        """Return the box with one side moved; sides below the number of columns are lower ends."""
        column, upper = side % len(self.center), side >= len(self.center)
        ends = (self.high if upper else self.low).copy()
        ends[column] = end
        return replace(self, high=ends) if upper else replace(self, low=ends)

    def end(self, side: int) -> float:
        """Return where one side is."""
        return float(np.concatenate([self.low, self.high])[side])

    def limit(self, side: int) -> float:
        """Return how far one side may go."""
        return float(np.concatenate([self.low_limit, self.high_limit])[side])


def point_box(center: Vector, low_limit: Vector, high_limit: Vector, step: Vector, worst: Mask) -> Box:
    """Return the box that holds its center only."""
    return Box(center, center, center, low_limit, high_limit, step, worst)


def drawn(low: Vector, high: Vector, step: Vector, count: int, rng: Rng) -> Matrix:
    """Return rows drawn evenly from a box: any number, or multiples of the step from its lower end."""
    shares = rng.random((count, len(low)))
    width = high - low
    steps = np.where(step > 0, np.round(width / np.where(step > 0, step, 1.0)), 0.0)
    stepped = low + np.minimum(np.floor(shares * (steps + 1)), steps) * step
    return np.where(step > 0, stepped, low + shares * width)


def corners(box: Box, most: int, rng: Rng) -> Matrix:
    """Return the corners of a box, or `most` of them, the worst one among them."""
    width = len(box.center)
    if width <= _ALL_CORNERS:
        upper = (np.arange(2**width)[:, None] >> np.arange(width)) % 2 == 1
    else:
        upper = rng.random((most, width)) < 0.5
    return np.concatenate([box.worst_corner[None, :], np.where(upper, box.high, box.low)])


def samples(box: Box, count: int, rng: Rng) -> Matrix:
    """Return rows that speak for a whole box: corners, and rows drawn from it."""
    return np.concatenate([corners(box, count, rng), drawn(box.low, box.high, box.step, count, rng)])


def slab(box: Box, wider: Box, side: int, count: int, rng: Rng) -> Matrix:
    """Return rows of what one side adds to a box: the center moved there, corners, and rows drawn from it."""
    column, upper = side % len(box.center), side >= len(box.center)
    alone = box.center.copy()
    alone[column] = wider.end(side)
    faces = corners(wider, count, rng)
    faces[:, column] = wider.end(side)
    low, high = wider.low.copy(), wider.high.copy()
    if upper:
        low[column] = min(box.high[column] + box.step[column], wider.high[column])
    else:
        high[column] = max(box.low[column] - box.step[column], wider.low[column])
    return np.concatenate([alone[None, :], faces, drawn(low, high, box.step, count, rng)])


def grow(box: Box, holds: Callable[[Matrix], Mask], rows: int, count: int, rng: Rng) -> Box:
    """Widen all sides in turn, as far as every row asked about holds.

    Each side tries a step outward, twice as long after a success and half as long after a failure, until it
    reaches its limit or its step is too small. All sides are asked about in one call, each alone and then
    together; where they do not hold together, one after the other, beginning with another one every
    time. At most about `rows` rows are asked.
    """
    sides = 2 * len(box.center)
    steps = np.array([_FIRST * abs(box.limit(side) - box.end(side)) for side in range(sides)])
    least = np.array(
        [max(FINEST / _FIRST * steps[side], box.step[side % len(box.center)]) for side in range(sides)]
    )
    steps = np.maximum(steps, least)
    is_open = steps > 0
    asked = 0
    for turn in range(_MOST_ROUNDS):
        is_open &= np.array([box.end(side) != box.limit(side) for side in range(sides)])
        if not is_open.any() or asked >= rows:
            break
        order = [int(side) for side in np.roll(np.flatnonzero(is_open), turn)]
        box, grown, used = _widen(box, order, steps, holds, count, rng)
        asked += used
        failed = np.setdiff1d(order, grown)
        steps[grown] *= 2
        is_open[failed[steps[failed] <= least[failed]]] = False
        steps[failed] = np.maximum(steps[failed] / 2, least[failed])
    return box


def _widen(
    box: Box, order: Sequence[int], steps: Vector, holds: Callable[[Matrix], Mask], count: int, rng: Rng
) -> tuple[Box, list[int], int]:
    """Try to widen sides by one step each; return the box, the sides that grew, and how many rows it took."""
    ends = {side: _stepped(box, side, float(steps[side])) for side in order}
    parts = [slab(box, box.with_end(side, ends[side]), side, count, rng) for side in order]
    fine = holds(np.concatenate(parts))
    asked = len(fine)
    bounds = np.cumsum([0, *map(len, parts)])
    alone = [side for i, side in enumerate(order) if fine[bounds[i] : bounds[i + 1]].all()]
    together = box
    for side in alone:
        together = together.with_end(side, ends[side])
    if len(alone) < 2:
        return together, alone, asked
    rows = samples(together, count, rng)
    asked += len(rows)
    if holds(rows).all():
        return together, alone, asked
    grown: list[int] = []
    for side in alone:
        wider = box.with_end(side, ends[side])
        rows = slab(box, wider, side, count, rng)
        asked += len(rows)
        if holds(rows).all():
            box, grown = wider, [*grown, side]
    return box, grown, asked


def _stepped(box: Box, side: int, length: float) -> float:
    """Return where a side is after a step outward: on the grid, and not beyond its limit."""
    end, limit, step = box.end(side), box.limit(side), float(box.step[side % len(box.center)])
    if step > 0:
        length = max(1.0, np.floor(length / step)) * step
    return max(limit, end - length) if limit < end else min(limit, end + length)


def peel(box: Box, failing: Matrix) -> Box:
    """Cut sides back until no failing row is inside; each cut takes the least of the box's width."""
    for row in failing:
        if ((row >= box.low) & (row <= box.high)).all() and (row != box.center).any():
            box = _cut(box, row)
    return box


def _cut(box: Box, row: Vector) -> Box:
    width = np.where(box.high > box.low, box.high - box.low, 1.0)
    upward = row > box.center
    loss = np.where(upward, box.high - row, row - box.low) + box.step
    loss = np.where(row == box.center, np.inf, loss / width)
    column = int(np.argmin(loss))
    # Just inside the row, on the center's side of it.
    inward = row[column] - box.center[column]
    step = box.step[column]
    end = row[column] - np.sign(inward) * step if step > 0 else box.center[column] + 0.99 * inward
    return box.with_end(column + (len(box.center) if upward[column] else 0), float(end))
