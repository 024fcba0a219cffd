"""Moves that need no slope, for steps, corners and levels: columns taken back, and other levels."""

import itertools

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, like, marked, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.constraints.regions.region import Region
from ssba.search.archive import Archive
from ssba.search.repeats import different
from ssba.search.starts import levels_of, with_column

# Where a column's limit is looked for between its ends, again and again between the answers.
_BETWEEN = np.array([0.25, 0.5, 0.75])
# Where steps in two columns are tried, so many single steps are paired with all others.
_PAIRED = 24
# So many changes are tried at once.
_AT_ONCE = (1, 2, 3, 5, 8, 13, 21, 34, 55)


def pull_back(
    archive: Archive,
    rows: Array,
    rng: np.random.Generator,
    worthwhile: float = np.inf,
    sections: int = 2,
) -> Asking[Array]:
    """Take every column of each row back toward the start, as far as the target stays reached.

    First whole columns go back, then parts of those that had to stay, each as far as it can go alone: to
    within ``4**-sections`` of its change. Columns with a large change tend to come first, in an order of
    its own for each row. Rows that would lie beyond `worthwhile` even if all of them could go back together
    are left out. All rows share each model call.
    """
    region, metric = archive.region, archive.metric
    for whole in (True, False):
        limits = yield from (
            _whole_limits(region, rows) if whole else _partial_limits(region, rows, sections)
        )
        kept = metric.distance(limits, region.x) <= worthwhile
        rows, limits = rows[kept], limits[kept]
        sizes = to_numpy(metric.parts(rows, region.start)) * np.exp(0.5 * rng.normal(size=rows.shape))
        orders = np.argsort(-sizes, axis=1, kind="stable")
        rows = yield from _as_far_as_possible(region, rows, limits, orders)
    return rows


def _whole_limits(region: Region, rows: Array) -> Asking[Array]:
    """Return the rows with all columns at the start that could go there alone."""
    xp = namespace(rows)
    both_missing = xp.isnan(rows) & xp.isnan(region.start)
    which, column = np.nonzero(to_numpy((rows != region.start) & ~both_missing & region.free))
    if not len(which):
        return rows
    picked = like(np.arange(rows.shape[1]) == column[:, None], rows)
    asked = region.snap(xp.where(picked, region.start, choose(rows, which)))
    reply = yield asked
    fine = to_numpy(reply.reached & region.contains(asked))
    back = np.zeros(rows.shape, dtype=bool)
    back[which[fine], column[fine]] = True
    return xp.where(like(back, rows), region.start, rows)


def _partial_limits(region: Region, rows: Array, sections: int) -> Asking[Array]:
    """Return the rows with every number as near to the start as it could go alone."""
    xp = namespace(rows)
    moved = (rows != region.start) & ~xp.isnan(rows - region.start) & region.free & ~region.discrete
    which, column = np.nonzero(to_numpy(moved))
    if not len(which):
        return rows
    found, start = to_numpy(rows).copy(), to_numpy(region.start)[column]
    way = found[which, column] - start
    low, width, count = np.zeros(len(which)), 1.0, len(_BETWEEN)
    tries = np.repeat(np.arange(len(which)), count)
    picked = like(np.arange(rows.shape[1]) == column[tries, None], rows)
    own = choose(rows, which[tries])
    for _ in range(sections):
        shares = (low[:, None] + width * _BETWEEN).ravel()
        values = start[tries] + shares * way[tries]
        asked = region.snap(xp.where(picked, like(values[:, None], rows), own))
        reply = yield asked
        hits = to_numpy(reply.reached & region.contains(asked)).reshape(-1, count)
        first = np.where(hits.any(axis=1), hits.argmax(axis=1), count)
        hit = np.flatnonzero(first < count)
        found[which[hit], column[hit]] = to_numpy(asked)[hit * count + first[hit], column[hit]]
        width /= 1 + count
        low += width * first
    return like(found, rows)


def _as_far_as_possible(
    region: Region, rows: Array, limits: Array, orders: NDArray[np.int64]
) -> Asking[Array]:
    """Bring the cells of each row to their limits, in an order; those that cannot go with the rest stay."""
    now, aim = to_numpy(rows).copy(), to_numpy(limits)
    differs = changed_cells(now, aim)
    waiting = [order[moves[order]] for order, moves in zip(orders, differs, strict=True)]
    while tries := [(i, size) for i, cells in enumerate(waiting) for size in _sizes(len(cells))]:
        asked = now[[i for i, _ in tries]]
        for row, (i, size) in zip(asked, tries, strict=True):
            cells = waiting[i][:size]
            row[cells] = aim[i, cells]
        legal = region.snap(like(asked, rows))
        reply = yield legal
        fine, asked = to_numpy(reply.reached & region.contains(legal)), to_numpy(legal)
        gone = [1] * len(waiting)
        for number in np.flatnonzero(fine).tolist():
            i, size = tries[number]
            now[i], gone[i] = asked[number], size
        waiting = [cells[size:] for cells, size in zip(waiting, gone, strict=True)]
    return like(now, rows)


def _sizes(count: int) -> list[int]:
    return [*(size for size in _AT_ONCE if size < count), count] if count else []


def neighbours(region: Region, z: Array, *, pairs: bool = False) -> Array:
    """Return the rows one step of the grid, or one level, away from `z`; with `pairs` in two columns, too."""
    singles = _single_steps(region, z)
    if not singles.shape[0]:
        return singles
    rows = [singles]
    if pairs:
        for one in singles[:_PAIRED, :]:
            rows.append(namespace(z).where(one != z, one, singles))
    pulled, fine = region.pull_in(namespace(z).concat(rows))
    pulled = pulled[fine]
    return choose(pulled, different(pulled))


def nearer_than_start(archive: Archive) -> Asking[None]:
    """Look for a row nearer than a start that reaches, unless it is certain that none is.

    Only where steps and relations meet is the start perhaps not the nearest row of its region. Its neighbours
    that are nearer to the query are asked about, and theirs where one of them reaches.
    """
    region, metric = archive.region, archive.metric
    at = region.start
    while (now := float(metric.distance(at[None, :], region.x)[0])) > region.begins * (1 + 1e-9):
        rows = neighbours(region, at, pairs=True)
        rows = rows[metric.distance(rows, region.x) < now]
        if not rows.shape[0]:
            return
        reply = yield rows
        if not marked(reply.reached):
            return
        at = nearest_of(archive, rows[reply.reached], 1)[0, :]


def _single_steps(region: Region, z: Array) -> Array:
    step = region.grid.numerator / region.grid.denominator
    rows = []
    for j in marked(region.free & (region.grid.stepped | region.discrete)):
        if bool(region.discrete[j]):
            values = levels_of(region, j)
        else:
            values = [float(z[j] - step[j]), float(z[j] + step[j])]
        rows.append(with_column(z, j, values))
    return namespace(z).concat(rows) if rows else z[None, :][:0, :]


def other_levels(archive: Archive, most: int) -> Array:
    """Return the start with one or two levels changed, as far as that alone is nearer than the best row."""
    region = archive.region
    ones = [
        (j, level)
        for j in marked(region.free & region.discrete)
        for level in levels_of(region, j)
        if level != float(region.start[j])
    ]
    sets: list[tuple[tuple[int, float], ...]] = [(one,) for one in ones]
    sets += [pair for pair in itertools.combinations(ones, 2) if pair[0][0] != pair[1][0]]
    rows = np.repeat(to_numpy(region.start)[None, :], len(sets) + 1, axis=0)
    for row, chosen in zip(rows[1:], sets, strict=True):
        for j, level in chosen:
            row[j] = level
    found = like(rows, region.start)
    distances = to_numpy(archive.metric.distance(found, region.x))
    order = np.argsort(distances, kind="stable")
    return choose(found, order[distances[order] < archive.best_distance][:most])


def nearest_of(archive: Archive, rows: Array, count: int) -> Array:
    """Return the nearest different rows of some."""
    order = np.argsort(to_numpy(archive.metric.distance(rows, archive.region.x)), kind="stable")
    ordered = choose(rows, order)
    return choose(ordered, different(ordered)[:count])
