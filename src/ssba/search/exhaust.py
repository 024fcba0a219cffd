"""Asking about every legal row nearer than the best answer, where these are few: then it is exact."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ssba.columns.distance import Metric, changed_cells
from ssba.constraints.regions.region import Region
from ssba.search.lanes import different, rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Matrix, Numbers, Vector

MAX_ENUMERATED = 8000
"""More rows than this are not asked about for the sake of an exact answer."""

_ROWS_A_CALL = 128
# Linear rows throw out some of what single columns allow: so many times more rows are looked at.
_BEFORE_LINEAR_ROWS = 8
# Larger tables of sums than this are not made.
_MOST_CELLS = 8_000_000


def legal_rows_within(
    region: Region, metric: Metric, radius: float, most: int, most_changes: int | None = None
) -> Matrix | None:
    """Return all legal feasible rows nearer to the query than `radius`, nearest first.

    None where they are not finite, or more than `most`: a free column without a step, or too many values; and
    where rounding decides whether one of them is feasible. `most_changes` leaves out rows that change more
    columns than that.
    """
    if not region.is_countable:
        return None
    known = _all_values(region, radius, most)
    if known is None:
        return None
    x = region.x
    costs = [_costs(metric, region, j, values) for j, values in enumerate(known)]
    limit = float(metric.cost(radius * (1 + 1e-9)))
    cap = most if region.linear is None else most * _BEFORE_LINEAR_ROWS
    changed = [changed_cells(values, own).astype(np.int64) for values, own in zip(known, x, strict=True)]
    numbers = _combinations(costs, changed, (limit, len(x) if most_changes is None else most_changes), cap)
    if numbers is None:
        return None
    rows = np.empty((len(numbers), len(x)))
    for j, values in enumerate(known):
        rows[:, j] = values[numbers[:, j]]
    rows = region.grid.storable(rows)
    rows = rows[different(rows)]
    distances = metric.distance(rows, x)
    feasible, nearer = region.contains(rows), distances < radius
    kept = np.flatnonzero(feasible & nearer)
    if len(kept) > most or (region.may_contain(rows) & ~feasible & nearer).any():
        return None
    return np.asarray(rows[kept[np.argsort(distances[kept], kind="stable")]])


@dataclass(frozen=True)
class Extent:
    """How many legal rows a region has before linear rows throw some out, its coarsest step, its far end."""

    rows: int
    step: float
    farthest: float


def extent_of(region: Region, metric: Metric, most: int) -> Extent | None:
    """Return the extent of a region; None where a free column has no step, or more than `most` values."""
    known = _all_values(region, math.inf, most)
    if known is None:
        return None
    costs = [_costs(metric, region, j, values) for j, values in enumerate(known)]
    steps = [float(one[one > 0].min()) for one in costs if (one > 0).any()]
    return Extent(
        rows=math.prod(map(len, known)),
        step=metric.length(max(steps, default=0.0)),
        farthest=metric.length(sum(float(one.max(initial=0.0)) for one in costs)),
    )


def ask_few_nearer(ledger: Ledger, at: Numbers, most: int) -> Numbers:
    """Ask about every legal row nearer than the best of its query in regions that have so many at most.

    Returned are the regions in which nothing nearer is left.
    """
    best = ledger.best_of_query()[ledger.regions.query[at]].tolist()
    few = dict[int, Matrix]()
    for number, radius in zip(at.tolist(), best, strict=True):
        rows = legal_rows_within(ledger.regions.parts[number], ledger.metric, radius, most)
        if rows is not None:
            few[number] = rows
    ask_outward(ledger, few)
    done = np.array(list(few), dtype=np.int64)
    done = done[ledger.goes_on(done)]
    ledger.exhausted[done] = ledger.best_of_query()[ledger.regions.query[done]]
    return np.asarray(done)


def ask_outward(ledger: Ledger, listed: Mapping[int, Matrix]) -> None:
    """Ask about rows of regions that are listed nearest first, as long as they are nearer than the best."""
    if not listed:
        return
    rows, of = np.concatenate(list(listed.values())), np.repeat(list(listed), list(map(len, listed.values())))
    rank, far = rank_within(of), ledger.distance(rows, of)
    begin, count = 0, len(rows) if ledger.asks_widely else _ROWS_A_CALL
    while begin < len(rows):
        nearer = far < ledger.best_of_query()[ledger.regions.query[of]]
        now = nearer & (begin <= rank) & (rank < begin + count)
        if not now.any():
            return
        ledger.ask(rows[now], of[now])
        begin, count = begin + count, max(count, begin // 2)


def _all_values(region: Region, radius: float, most: int) -> list[Vector] | None:
    """Return the legal values of all columns within the radius; None where those of one are not few."""
    known = []
    for j in range(len(region.x)):
        values = _values(region, j, radius, most)
        if values is None:
            return None
        known.append(values)
    return known


def _values(region: Region, j: int, radius: float, most: int) -> Vector | None:
    """Return the legal values of a column that lie within the radius; None where they are not few."""
    own = float(region.x[j])
    if bool(region.held[j]):
        return np.array([own])
    if bool(region.discrete[j]):
        values = np.flatnonzero(region.allowed[j]).astype(float)
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
    values = region.grid.columns[j].storable((counts * numerator / denominator + 0.0)[:, None])[:, 0]
    lower, upper = float(region.lower[j]), float(region.upper[j])
    return np.asarray(values[(lower <= values) & (values <= upper)])


def _costs(metric: Metric, region: Region, j: int, values: Vector) -> Vector:
    """Return what each value of a column adds to the distance (squared for L2)."""
    parts = metric.columns[j].parts(values[:, None], region.x[j : j + 1])
    return np.asarray(metric.cost(parts[:, 0]))


def _combinations(
    costs: list[Vector], changed: list[Numbers], limits: tuple[float, int], most: int
) -> Numbers | None:
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
