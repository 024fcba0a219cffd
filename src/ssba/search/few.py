"""Which few columns to change: how useful each is, which sets of them to try, and rows that try them.

Also rows with fewer changed columns than a known answer, at most so much longer.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssba.arrays import Matrix, Vector
from ssba.boundary.bisection import Asking, Path, bisect
from ssba.columns.distance import Metric, changed_cells
from ssba.constraints.regions.region import Region

# Of this many of the most useful columns all sets of a size are tried: of 12 all pairs, of 8 all triples.
_TOP = {1: 40, 2: 12, 3: 8, 4: 7}
_TOP_OF_MORE = 3
MOST_SETS = 100

# How far a set's own part of a known answer is stretched to make up for the columns left out.
_STRETCHES = (1.0, 1.4, 2.0, 3.5, 8.0)

# What a distance is at least where it divides: its square is still above zero.
NEXT_TO_NOTHING = 1e-150

# Changes are stretched by at most this factor, which is found in two rounds of so many steps.
_FURTHEST, _STEPS = 1e3, 64


def forced_columns(region: Region) -> list[int]:
    """Return the columns that differ from the query in every row of the region: their own cell is not legal.

    Linear rows may force others to change, and leave a choice which.
    """
    return [int(j) for j in np.flatnonzero(~region.keeps_x & ~region.held)]


def all_sets(columns: Sequence[int], forced: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets of `size` columns that hold the forced ones, the first columns first."""
    free = [j for j in columns if j not in forced]
    for one in itertools.combinations(free, max(0, min(size - len(forced), len(free)))):
        yield (*forced, *one)


def pulled_in(region: Region, rows: Matrix) -> Matrix:
    """Move rows into the region, and leave out those that are the start, repeated or did not get there."""
    pulled, fine = region.pull_in(rows)
    pulled = pulled[fine & changed_cells(pulled, region.start).any(axis=1)]
    return np.asarray(pulled[np.sort(np.unique(pulled, axis=0, return_index=True)[1])])


def usefulness(parts: Matrix, alone: Vector, gains: Vector) -> Vector:
    """Return how useful each column is, 1 for the best: for a plane in L2, the square of its weight.

    `alone` holds the distance at which a column reached the target by itself, infinite where it did not;
    `parts` the columns' contributions to the distances of good rows that changed as many as they liked;
    `gains` by how much the margin rose for each unit of distance when a column changed alone, which counts
    only where nothing else is known: scores bend.
    """
    if not len(parts) and not np.isfinite(alone).any():
        return _of_best(np.maximum(gains, 0.0))
    shares = _of_best((parts**2).mean(axis=0)) if len(parts) else np.zeros(len(alone))
    return np.maximum(shares, _of_best(1 / np.maximum(alone, NEXT_TO_NOTHING) ** 2))


def _of_best(values: Vector) -> Vector:
    return np.asarray(values / max(float(values.max(initial=0.0)), 1e-300))


def sets_to_try(order: Sequence[int], forced: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return sets of at most `size` columns, the smallest first, each with all forced columns in it.

    `order` holds the free columns, the most useful first.
    """
    free = [j for j in order if j not in forced]
    room = size - len(forced)
    if room < 0:
        return []
    found: list[tuple[int, ...]] = [tuple(forced)] if forced else []
    for count in range(1, room + 1):
        among = free[: _TOP.get(count, count + _TOP_OF_MORE)]
        found += [(*forced, *one) for one in itertools.combinations(among, count)]
    return found[:MOST_SETS] if room < 2 else _spread(found, room)


def _spread(found: list[tuple[int, ...]], room: int) -> list[tuple[int, ...]]:
    """Keep the first of every size, so that there are about as many as wanted in all."""
    by_size = [list(group) for _, group in itertools.groupby(found, key=len)]
    share = max(1, MOST_SETS // (room + 1))
    return [one for group in by_size for one in group[: 2 * share]]


@dataclass(frozen=True)
class Singles:
    """What came of changing one column at a time, for each column.

    How near it reached the target alone (infinite where it did not), how steeply the margin rose, and the
    value that did best.
    """

    alone: Vector
    gains: Vector
    values: Vector


def best_singles(region: Region, probes: Matrix, reach: Vector, slopes: Vector) -> Singles:
    """Sum up single changes column by column; `reach` and `slopes` are those of each probe."""
    alone, gains = np.full(len(region.x), np.inf), np.full(len(region.x), -np.inf)
    values = region.start.copy()
    # The worst first, so that each column ends with its best.
    for i in np.lexsort([slopes, -reach]):
        for j in np.flatnonzero(changed_cells(probes[i : i + 1], region.start)[0]):
            alone[j], gains[j], values[j] = reach[i], max(gains[j], slopes[i]), probes[i, j]
    return Singles(alone, gains, values)


def nearer_by_bisection(region: Region, rows: Matrix, tolerance: float) -> Asking[Matrix]:
    """Bisect from the start to rows that reached the target; return the ends that still do."""
    path = Path(region.discrete, region.snap, plain=False)
    start = np.tile(region.start, (len(rows), 1))
    bracket = yield from bisect(start, rows, path, tolerance)
    return np.asarray(bracket.inside)


def set_probes(region: Region, known: Vector, singles: Singles) -> Matrix:
    """Return rows that change the region's free columns the way `known` does, and further.

    Where each of them reached the target alone, at a distance that makes it a plane's weight, they go the
    way of that plane's normal instead. The last row takes every column far to its side: a column that counts
    for little in `known` may have to make up for one that is not in the set.
    """
    row = np.where(region.free, known, region.start)
    if np.isfinite(singles.alone[region.free]).all() and not region.discrete[region.free].any():
        weight = np.where(region.free, 1 / np.maximum(singles.alone, NEXT_TO_NOTHING), 0.0)
        move = np.sign(singles.values - region.start) * weight / max(float(weight @ weight), 1e-300)
        row = np.where(region.free, region.start + move * region.scale, region.start)
    way = np.where(region.discrete | np.isnan(row - region.start), 0.0, row - region.start)
    corner = row + np.sign(way) * _STRETCHES[-1] * region.scale
    return pulled_in(region, np.stack([*(row + (stretch - 1) * way for stretch in _STRETCHES), corner]))


def column_sets(columns: Sequence[int], forced: Sequence[int]) -> list[tuple[int, ...]]:
    """Return smaller sets of columns to try, the smallest first; `columns` come the least useful first.

    All that leave out the least useful ones, however many, and all that leave out a single one.

    >>> column_sets([3, 1, 2], forced=[])
    [(2,), (1, 2), (3, 2), (3, 1)]
    """
    free = [j for j in columns if j not in forced]
    rest = [j for j in columns if j in forced]
    fewest = 0 if rest else 1
    nested = [(*rest, *free[i:]) for i in range(len(free) - fewest, 0, -1)]
    single = [(*rest, *(one for one in free if one != j)) for j in free[1:]] if len(free) > fewest else []
    return [*nested, *(one for one in single if one and one not in nested)]


def stretched_to(region: Region, metric: Metric, row: Vector, length: float) -> Vector | None:
    """Return the row with its changes in the region's free columns alone, made `length` long at most.

    None where a row of that kind is no longer than the region's start, or does not get into the region.
    """
    ends = np.where(region.free, row, region.start)
    way = np.where(region.discrete | np.isnan(ends - region.start), 0.0, ends - region.start)
    shares = np.concatenate([[0.0], np.geomspace(1e-3, _FURTHEST, _STEPS)])
    for _ in range(2):
        # Once over all lengths, then between the two that the wished one lies between.
        pulled, fine = region.pull_in(ends + (shares[:, None] - 1) * way)
        fits = fine & (metric.distance(pulled, region.x) <= length)
        if not fits.any():
            return None
        last = int(np.flatnonzero(fits)[-1])
        row = np.asarray(pulled[last])
        shares = np.linspace(shares[last], shares[min(last + 1, len(shares) - 1)], _STEPS)
    return row if metric.distance(row[None, :], region.x)[0] > 0 else None
