"""Exchanges by trial, for which labels suffice: some changes of a row go back, and others pay for it.

Swaps: a row gives up one column and takes others from another row. It takes more than it needs, and all that
it can do without goes back. So each row that reaches the target ends where no single column can go back,
mostly elsewhere than those it came from.

Trades: on a grid of whole numbers and levels there is no slope to follow, and few values to try. What one
change gives back, in cost, is what others may spend: so each row that is asked about lies a little nearer
than the one that it comes from.
"""

import numpy as np

from ssba.arrays import in_blocks
from ssba.columns.distance import changed_cells
from ssba.search.lanes import Draws, Herd, are_repeats, rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Mask, Matrix, Numbers, Regions, Vector
from ssba.search.settings import SETTINGS
from ssba.search.steps import pull_back


def swap(ledger: Ledger, parents: Herd, donors: Herd, draws: Draws, rounds: int) -> Herd:
    """Bring rows that reach the target nearer by exchanges with each other and with donors."""
    parents = apart(ledger, parents, SETTINGS.columns.followed)
    for number in range(rounds):
        if not len(parents.at):
            break
        rows, at = _offspring(
            ledger, parents, parents.with_rows(donors.rows, donors.at), draws.of("swap", number)
        )
        reached = ledger.ask(rows, at).reached
        hits, at = nearest_few(ledger, rows[reached], at[reached], SETTINGS.columns.followed)
        if len(at):
            ends, at = pull_back(ledger, hits, at, SETTINGS.columns.worthwhile * ledger.best)
            parents = apart(ledger, parents.with_rows(ends, at), SETTINGS.columns.followed)
    return parents


def nearest_few(ledger: Ledger, rows: Matrix, at: Numbers, most: int) -> tuple[Matrix, Numbers]:
    """Return the nearest different rows of each region, in order."""
    far = ledger.distance(rows, at)
    order = np.lexsort((far, at))
    rows, at, far = rows[order], at[order], far[order]
    fresh = ~are_repeats(rows, at, far)
    rows, at = rows[fresh], at[fresh]
    few = rank_within(at) < most
    return rows[few], at[few]


def _offspring(ledger: Ledger, parents: Herd, others: Herd, draws: Draws) -> tuple[Matrix, Numbers]:
    """Return parents that gave up a column, mostly a large one, and took cells that donors changed more."""
    regions, metric, settings = ledger.regions, ledger.metric, SETTINGS.swaps
    rng, count, columns = draws.generator, SETTINGS.starts.trials, regions.x.shape[1]
    favoured = rng.exponential(settings.favour, count).astype(np.int64)
    luck, stretch = rng.random(count), rng.choice(np.array(settings.stretch), count)
    taken = rng.random((count, columns)) < rng.random((count, 1))
    stays, given_up = rng.choice(np.array(settings.stays), count), rng.random(count)
    names, first, size = np.unique(parents.at, return_index=True, return_counts=True)
    _, first_other, size_other = np.unique(others.at, return_index=True, return_counts=True)
    own = (first[:, None] + np.minimum(favoured, size[:, None] - 1)).ravel()
    other = (first_other[:, None] + (luck * size_other[:, None]).astype(np.int64)).ravel()
    at, place = np.repeat(names, count), np.tile(np.arange(count), len(names))

    def bred(at: Numbers, own: Numbers, other: Numbers, place: Numbers) -> Matrix:
        start, mine, theirs = regions.start[at], parents.rows[own], others.rows[other]
        far = np.maximum(metric.distance(theirs, start), 1e-300)
        share = stretch[place] * np.minimum(SETTINGS.descent.close * ledger.best[at] / far, 1.0)
        theirs = _with_share(ledger, theirs, start, share)
        parts = metric.parts(mine, start)
        rows = np.where(taken[place] & (metric.parts(theirs, start) > parts), theirs, mine)
        less = _with_share(ledger, mine, start, stays[place])
        return np.where(_one_each(parts**2, given_up[place]), less, rows)

    rows, fine = regions.pull_in(in_blocks(bred, columns, at, own, other, place), at)
    return rows[fine], at[fine]


def _one_each(costs: Matrix, drawn: Vector) -> Mask:
    """Mark one of the changed cells of each row, mostly one that costs much."""
    level = costs.cumsum(axis=1)
    place = (level <= drawn[:, None] * level[:, -1:]).sum(axis=1)
    return np.asarray(np.arange(costs.shape[1]) == place[:, None])


def _with_share(ledger: Ledger, rows: Matrix, start: Matrix, shares: Vector) -> Matrix:
    """Return rows with a share of their changes; levels and missing cells go back only if none is left."""
    left = shares[:, None]
    change = rows - start
    whole = ledger.regions.discrete | np.isnan(change)
    return np.where(whole, np.where(left > 0, rows, start), start + left * change)


def apart(ledger: Ledger, herd: Herd, most: int) -> Herd:
    """Return the nearest rows of each region, up to so many, of which no two are almost the same."""
    metric = ledger.metric
    if not len(herd.at):
        return herd
    far = ledger.distance(herd.rows, herd.at)
    order = np.lexsort((far, herd.at))
    rows, at, far = herd.rows[order], herd.at[order], far[order]
    names, first, size = np.unique(at, return_index=True, return_counts=True)
    chosen = np.full((len(names), most), -1)
    count = np.zeros(len(names), dtype=np.int64)
    for place in range(int(size.max())):
        lanes = np.flatnonzero((place < size) & (count < most))
        if not len(lanes):
            break
        now = first[lanes] + place
        fine = np.ones(len(lanes), dtype=bool)
        for other in range(int(count[lanes].max(initial=0))):
            has = other < count[lanes]
            gap = metric.distance(rows[now], rows[np.where(has, chosen[lanes, other], now)])
            fine &= ~has | (gap > SETTINGS.descent.first_tolerance * far[now])
        taken = lanes[fine]
        chosen[taken, count[taken]] = now[fine]
        count[taken] += 1
    kept = chosen[chosen >= 0]
    return Herd(rows[kept], at[kept])


def trade(ledger: Ledger, at: Numbers) -> None:
    """Bring the nearest rows nearer by trades between two columns, until none is a gain."""
    while len(at := at[ledger.goes_on(at) & np.isfinite(ledger.best[at])]):
        before = ledger.best[at].copy()
        rows, of = trades(ledger, ledger.best_row[at], at)
        reached = ledger.ask(rows, of).reached
        hits, of = nearest_few(ledger, rows[reached], of[reached], SETTINGS.columns.followed)
        if len(of):
            pull_back(ledger, hits, of)
        at = at[ledger.best[at] < before * (1 - 1e-9)]


def trades(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return rows in which one column went back, and another went as far as still is a gain, or half-way."""
    regions, metric, settings = ledger.regions, ledger.metric, SETTINGS.trades
    far, costs = ledger.distance(rows, at), metric.cost(metric.parts(rows, regions.x[at]))
    who, column, back = _given_back(ledger, rows, at)
    saved = costs[who].sum(axis=1) - metric.cost(metric.parts(back, regions.x[at[who]])).sum(axis=1)
    kept = saved > 0
    who, column, back, saved = who[kept], column[kept], back[kept], saved[kept]
    found, of = [], []
    home, free = _home(regions, at[who]), regions.free[at[who]] & ~regions.discrete & ~np.isnan(back)
    free[np.arange(len(who)), column] = False
    for share in settings.shares:
        length = _on_grid(regions, metric.length(costs[who] + share * saved[:, None]) * regions.scale)
        for sign in (1.0, -1.0):
            value = np.clip(home + sign * length, regions.low[at[who]], regions.high[at[who]])
            number, j = np.nonzero(free & (value != rows[who]))
            paid = back[number]
            paid[np.arange(len(number)), j] = value[number, j]
            found.append(paid)
            of.append(who[number])
    for place in np.flatnonzero(regions.discrete):
        allowed = regions.free[at[who], place] & (column != place)
        number, level = np.nonzero(regions.levels(int(place))[at[who]] & allowed[:, None])
        other = level != rows[who[number], place]
        number, level = number[other], level[other]
        paid = back[number]
        paid[:, place] = level
        found.append(paid)
        of.append(who[number])
    all_of = np.concatenate(of)
    order = np.argsort(all_of, kind="stable")
    paid, all_of = np.concatenate(found)[order], all_of[order]
    pulled, fine = regions.pull_in(paid, at[all_of])
    fine &= ledger.distance(pulled, at[all_of]) < far[all_of] * (1 - 1e-9)
    return pulled[fine], at[all_of[fine]]


def _home(regions: Regions, at: Numbers) -> Matrix:
    """Return the cells from which distances count: the query's, or the start's where that has none."""
    x = regions.x[at]
    return np.where(np.isnan(x), regions.start[at], x)


def _on_grid(regions: Regions, length: Matrix) -> Matrix:
    """Return lengths in whole steps, none of them longer than before."""
    step = np.where(regions.grid.stepped, regions.step, 0.0)
    return np.where(step > 0, np.floor(length / np.where(step > 0, step, 1.0)) * step, length)


def _given_back(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Numbers, Numbers, Matrix]:
    """Return rows with one change undone, in parts of it, or one step smaller; whose, and in which column."""
    regions, start = ledger.regions, ledger.regions.start[at]
    who, column = np.nonzero(changed_cells(rows, start) & regions.free[at])
    here, home, step = rows[who, column], start[who, column], regions.step[column]
    change = here - home
    one_less = np.where(np.abs(change) > step, here - np.sign(change) * step, home)
    values = [home, *(home + share * change for share in SETTINGS.columns.between), one_less]
    found = []
    for value in values:
        back = rows[who]
        whole = regions.discrete[column] | np.isnan(value)
        back[np.arange(len(who)), column] = np.where(whole, home, value)
        found.append(regions.snap(back, at[who]))
    back = np.concatenate(found)
    who, column = np.tile(who, len(values)), np.tile(column, len(values))
    _, first = np.unique(np.column_stack([who, back]), axis=0, return_index=True)
    first = np.sort(first)
    return who[first], column[first], back[first]


def without_columns(ledger: Ledger, donors: Herd, at: Numbers) -> Herd:
    """Return rows that reach the target without one of the large changes of their region's best row.

    They come from donors with that column at the start, whose other columns are taken back.
    """
    regions = ledger.regions
    at = at[ledger.goes_on(at) & np.isfinite(ledger.best[at]) & np.isin(at, donors.at)]
    donors = donors.of(at)
    start = regions.start[at]
    parts = ledger.metric.parts(ledger.best_row[at], start)
    place = np.argsort(np.argsort(-parts, axis=1, kind="stable"), axis=1, kind="stable")
    who, column = np.nonzero((place < SETTINGS.columns.followed) & (parts > 0) & regions.free[at])
    names, first, size = np.unique(donors.at, return_index=True, return_counts=True)
    slot = np.searchsorted(names, at[who])
    lane = np.repeat(np.arange(len(who)), size[slot])
    rows = donors.rows[first[slot][lane] + rank_within(lane)]
    rows[np.arange(len(lane)), column[lane]] = start[who[lane], column[lane]]
    of = at[who[lane]]
    rows, fine = regions.pull_in(rows, of)
    rows, of, lane = rows[fine], of[fine], lane[fine]
    hits = np.flatnonzero(ledger.ask(rows, of).reached)
    hits = hits[np.lexsort((ledger.distance(rows[hits], of[hits]), lane[hits]))]
    hits = hits[rank_within(lane[hits]) < SETTINGS.descent.starts]
    return Herd(*pull_back(ledger, rows[hits], of[hits]))
