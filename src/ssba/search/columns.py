"""Moves that need no slope, for steps, corners and levels: columns taken back, and single steps."""

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.search.draws import Draws
from ssba.search.ledger import Ledger, rank_within
from ssba.search.regions import Matrix, Numbers, Regions, Vector
from ssba.search.settings import SETTINGS


def pull_back(
    ledger: Ledger,
    rows: Matrix,
    at: Numbers,
    draws: Draws,
    worthwhile: Vector | None = None,
    sections: int = 2,
) -> tuple[Matrix, Numbers]:
    """Take every column of each row back toward the start, as far as the target stays reached.

    First whole columns go back, then parts of those that had to stay, each as far as it can go alone: to
    within ``4**-sections`` of its change. Columns with a large change tend to come first, in an order of
    its own for each row. Rows that would lie beyond what is `worthwhile` for their region even if all of them
    could go back together are left out. Rows of one region stand next to each other.
    """
    regions, metric = ledger.regions, ledger.metric
    for whole in (True, False):
        if not len(rows):
            break
        limits = _whole_limits(ledger, rows, at) if whole else _partial_limits(ledger, rows, at, sections)
        if worthwhile is not None:
            kept = np.flatnonzero(ledger.distance(limits, at) <= worthwhile[at])
            rows, limits, at = rows[kept], limits[kept], at[kept]
        place = rank_within(at)
        block = draws.of("whole" if whole else "part").normal(int(place.max(initial=0)) + 1, rows.shape[1])
        noise = block[place]
        sizes = metric.parts(rows, regions.start[at]) * np.exp(SETTINGS.columns.disorder * noise)
        rows = as_far_as_possible(ledger, rows, limits, at, sizes)
    return rows, at


def _whole_limits(ledger: Ledger, rows: Matrix, at: Numbers) -> Matrix:
    """Return the rows with all columns at the start that could go there alone."""
    regions = ledger.regions
    start = regions.start[at]
    who, column = np.nonzero(changed_cells(rows, start) & regions.free[at])
    asked, places = rows[who], np.arange(len(who))
    asked[places, column] = start[who, column]
    asked = regions.snap(asked, at[who])
    fine = ledger.ask(asked, at[who]).reached
    limits = rows.copy()
    limits[who[fine], column[fine]] = start[who[fine], column[fine]]
    return limits


def _partial_limits(ledger: Ledger, rows: Matrix, at: Numbers, sections: int) -> Matrix:
    """Return the rows with every number as near to the start as it could go alone."""
    regions = ledger.regions
    start = regions.start[at]
    moved = (rows != start) & ~np.isnan(rows - start) & regions.free[at] & ~regions.discrete
    who, column = np.nonzero(moved)
    found, home = rows.copy(), start[who, column]
    way = rows[who, column] - home
    between = np.array(SETTINGS.columns.between)
    low, width, count = np.zeros(len(who)), 1.0, len(between)
    number = np.repeat(np.arange(len(who)), count)
    own, places = rows[who[number]], np.arange(len(number))
    for _ in range(sections):
        shares = (low[:, None] + width * between).ravel()
        asked = own.copy()
        asked[places, column[number]] = home[number] + shares * way[number]
        asked = regions.snap(asked, at[who[number]])
        hits = ledger.ask(asked, at[who[number]]).reached.reshape(-1, count)
        first = np.where(hits.any(axis=1), hits.argmax(axis=1), count)
        hit = np.flatnonzero(first < count)
        found[who[hit], column[hit]] = asked[hit * count + first[hit], column[hit]]
        width /= 1 + count
        low += width * first
    return found


def as_far_as_possible(ledger: Ledger, rows: Matrix, limits: Matrix, at: Numbers, sizes: Matrix) -> Matrix:
    """Bring the cells of rows to their limits, the largest first; those that cannot go with the rest stay."""
    regions, now = ledger.regions, rows.copy()
    differs = changed_cells(rows, limits)
    order = np.argsort(np.where(differs, -sizes, np.inf), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(rows.shape[1])[None, :], axis=1)
    count, done = differs.sum(axis=1), np.zeros(len(rows), dtype=np.int64)
    at_once = np.array(SETTINGS.columns.at_once)
    while True:
        going = np.flatnonzero((done < count) & ledger.goes_on(at))
        if not len(going):
            return now
        left = (count - done)[going]
        some = np.where(at_once[None, :] < left[:, None], at_once, 0)
        some = np.column_stack([some, left])
        number, place = np.nonzero(some)
        size, who = some[number, place], going[number]
        begin = done[who][:, None]
        taken = (rank[who] >= begin) & (rank[who] < begin + size[:, None])
        asked = regions.snap(np.where(taken, limits[who], now[who]), at[who])
        fine = np.flatnonzero(ledger.ask(asked, at[who]).reached)
        gone = np.ones(len(rows), dtype=np.int64)
        # Of several that are fine the last one counts, which goes farthest.
        now[who[fine]], gone[who[fine]] = asked[fine], size[fine]
        done[going] += gone[going]


def steps_of(regions: Regions, z: Matrix, at: Numbers) -> tuple[Matrix, Numbers, Numbers]:
    """Return rows one step of the grid, or one level, away from others; from which one; in which column."""
    found = []
    free = regions.free[at]
    stepped = free & regions.grid.stepped & ~regions.discrete & ~np.isnan(z)
    who, column = np.nonzero(stepped)
    for sign in (-1.0, 1.0):
        rows = z[who]
        rows[np.arange(len(who)), column] += sign * regions.step[column]
        found.append((rows, who, column))
    found += [_levels_of(regions, z, at, int(j)) for j in np.flatnonzero(regions.discrete)]
    rows, who, column = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((column, who))
    return rows[order], who[order], column[order]


def _levels_of(regions: Regions, z: Matrix, at: Numbers, j: int) -> tuple[Matrix, Numbers, Numbers]:
    allowed = regions.levels(j)[at] & regions.free[at, j][:, None]
    who, level = np.nonzero(allowed)
    rows = z[who]
    rows[:, j] = level
    return rows, who, np.full(len(who), j)


def neighbours(regions: Regions, z: Matrix, at: Numbers, pairs: int = 0) -> tuple[Matrix, Numbers]:
    """Return feasible rows one step, or one level, away from rows, and whose they are.

    With `pairs`, so many single steps of each row are also taken together with every other one.
    """
    singles, who, column = steps_of(regions, z, at)
    rows, of = [singles], [who]
    if pairs and len(singles):
        first, second = pairs_within(who, pairs)
        fine = column[first] != column[second]
        first, second = first[fine], second[fine]
        both = singles[second]
        both[np.arange(len(first)), column[first]] = singles[first, column[first]]
        rows.append(both)
        of.append(who[first])
    all_rows, all_of = np.concatenate(rows), np.concatenate(of)
    order = np.argsort(all_of, kind="stable")
    all_rows, all_of = all_rows[order], all_of[order]
    pulled, fine = regions.pull_in(all_rows, at[all_of])
    return pulled[fine], all_of[fine]


def pairs_within(group: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """Return pairs of members of the same group: each of the first `most` with every later one."""
    rank = rank_within(group)
    size = np.bincount(group)[group]
    later = np.where(rank < most, size - rank - 1, 0)
    first = np.repeat(np.arange(len(group)), later)
    return first, first + 1 + rank_within(first)
