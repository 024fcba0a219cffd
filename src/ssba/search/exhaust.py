"""Asking about every legal row nearer than the best answer, where these are few: then it is exact."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, like, marked, to_numpy
from ssba.boundary.bisection import Asking
from ssba.columns.distance import Metric, changed_cells
from ssba.constraints.regions.region import Region
from ssba.search.lanes import different

Vector = NDArray[np.float64]

_ROWS_A_CALL = 128
# Linear rows throw out some of what single columns allow: so many times more rows are looked at.
_BEFORE_LINEAR_ROWS = 8
# Larger tables of sums than this are not made.
_MOST_CELLS = 8_000_000


def legal_rows_within(
    region: Region, metric: Metric, radius: float, most: int, most_changes: int | None = None
) -> Array | None:
    """Return all legal feasible rows nearer to the query than `radius`, nearest first.

    None where they are not finite, or more than `most`: a free column without a step, or too many values; and
    where rounding decides whether one of them is feasible. `most_changes` leaves out rows that change more
    columns than that.
    """
    if marked(region.free & ~region.discrete & ~region.grid.stepped):
        return None
    columns = [_values(region, j, radius, most) for j in range(region.x.shape[0])]
    known = [values for values in columns if values is not None]
    if len(known) < len(columns):
        return None
    x = to_numpy(region.x)
    costs = [_costs(metric, region, j, values) for j, values in enumerate(known)]
    limit = float(metric.cost(radius * (1 + 1e-9)))
    cap = most if region.linear is None else most * _BEFORE_LINEAR_ROWS
    changed = [_changed(values, own) for values, own in zip(known, x, strict=True)]
    numbers = _combinations(costs, changed, (limit, len(x) if most_changes is None else most_changes), cap)
    if numbers is None:
        return None
    rows = np.empty((len(numbers), len(x)))
    for j, values in enumerate(known):
        rows[:, j] = values[numbers[:, j]]
    rows = to_numpy(region.grid.storable(like(rows, region.x)))
    rows = rows[different(rows)]
    found = like(rows, region.x)
    distances = to_numpy(metric.distance(found, region.x))
    feasible, nearer = to_numpy(region.contains(found)), distances < radius
    kept = np.flatnonzero(feasible & nearer)
    if len(kept) > most or bool((to_numpy(region.may_contain(found)) & ~feasible & nearer).any()):
        return None
    return like(rows[kept[np.argsort(distances[kept], kind="stable")]], region.x)


@dataclass(frozen=True)
class Extent:
    """How many legal rows a region has before linear rows throw some out, its coarsest step, its far end."""

    rows: int
    step: float
    farthest: float


def extent_of(region: Region, metric: Metric, most: int) -> Extent | None:
    """Return the extent of a region; None where a free column has no step, or more than `most` values."""
    known = []
    for j in range(region.x.shape[0]):
        values = _values(region, j, math.inf, most)
        if values is None:
            return None
        known.append(values)
    costs = [_costs(metric, region, j, values) for j, values in enumerate(known)]
    steps = [float(one[one > 0].min()) for one in costs if (one > 0).any()]
    return Extent(
        rows=math.prod(map(len, known)),
        step=metric.length(max(steps, default=0.0)),
        farthest=metric.length(sum(float(one.max(initial=0.0)) for one in costs)),
    )


def ask_all(rows: Array, distances: Vector, best: Callable[[], float]) -> Asking[None]:
    """Ask about rows, nearest first, as long as they are nearer than the best answer so far."""
    begin, count = 0, _ROWS_A_CALL
    while begin < len(distances):
        nearer = distances[begin : begin + count] < best()
        if not nearer.any():
            return
        yield rows[begin : begin + int(nearer.sum()), :]
        begin, count = begin + count, max(count, begin // 2)


def _values(region: Region, j: int, radius: float, most: int) -> Vector | None:
    """Return the legal values of a column that lie within the radius; None where they are not few."""
    own = float(region.x[j])
    if bool(region.held[j]):
        return np.array([own])
    if bool(region.discrete[j]):
        values = np.flatnonzero(to_numpy(region.allowed[j, :])).astype(float)
    elif bool(region.grid.stepped[j]):
        stepped = _steps_within(region, j, radius, most)
        if stepped is None:
            return None
        values = stepped
    elif float(region.lower[j]) == float(region.upper[j]):
        values = np.array([float(region.lower[j])])
    else:
        return None
    if bool(region.keeps_x[j]) and not (values == own).any():
        values = np.append(values, own)
    return values


def _steps_within(region: Region, j: int, radius: float, most: int) -> Vector | None:
    numerator, denominator = float(region.grid.numerator[j]), float(region.grid.denominator[j])
    low, high = float(region.lower[j]), float(region.upper[j])
    own, reach = float(region.x[j]), radius * float(region.scale[j]) * (1 + 1e-9)
    if not np.isnan(own):
        low, high = max(low, own - reach), min(high, own + reach)
    first, last = low * denominator / numerator, high * denominator / numerator
    if not last - first <= most:
        return None
    counts = np.arange(np.floor(first), np.ceil(last) + 1)
    # Bounds are values that the column can hold, so that only such values compare with them.
    cells = (counts * numerator / denominator + 0.0)[:, None]
    values = to_numpy(region.grid.columns[j].storable(like(cells, region.x)))[:, 0]
    lower, upper = float(region.lower[j]), float(region.upper[j])
    return np.asarray(values[(lower <= values) & (values <= upper)])


def _costs(metric: Metric, region: Region, j: int, values: Vector) -> Vector:
    """Return what each value of a column adds to the distance (squared for L2)."""
    own = slice(j, j + 1)
    parts = metric.columns[j].parts(like(values[:, None], region.x), region.x[own])
    return np.asarray(metric.cost(to_numpy(parts)[:, 0]))


def _changed(values: Vector, own: float) -> NDArray[np.int64]:
    return np.asarray(changed_cells(values, np.asarray(own)), dtype=np.int64)


def _combinations(
    costs: list[Vector], changed: list[NDArray[np.int64]], limits: tuple[float, int], most: int
) -> NDArray[np.int64] | None:
    """Return all choices of one value a column within the limits of cost and changes; None if too many."""
    if any(not len(one) for one in costs):
        return np.empty((0, len(costs)), dtype=np.int64)
    # What the columns to come cost at least: so no choice is kept that cannot be completed.
    still = np.append(np.cumsum([one.min() for one in costs][::-1])[::-1], 0.0)
    numbers, sums = np.zeros((1, len(costs)), dtype=np.int64), np.zeros(1)
    changes = np.zeros(1, dtype=np.int64)
    for j, one in enumerate(costs):
        if len(one) == 1 and not one[0] and not changed[j][0]:
            continue
        if len(sums) * len(one) > _MOST_CELLS:
            return None
        total, moved = sums[:, None] + one[None, :], changes[:, None] + changed[j][None, :]
        old, new = np.nonzero((total + still[j + 1] < limits[0]) & (moved <= limits[1]))
        if len(old) > most:
            return None
        numbers, sums, changes = numbers[old], total[old, new], moved[old, new]
        numbers[:, j] = new
    return numbers
