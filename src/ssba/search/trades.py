"""Whole numbers and levels: some changes of a row go back, and others pay for it, as far as that is a gain.

On a grid there is no slope to follow, and few values to try. What one change gives back, in cost, is what
others may spend: so each row that is asked about lies a little nearer than the one that it comes from.
"""

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.search.columns import pull_back
from ssba.search.draws import Draws
from ssba.search.ledger import Ledger, rank_within
from ssba.search.regions import Matrix, Numbers, Regions
from ssba.search.settings import SETTINGS
from ssba.search.swaps import Herd, apart, nearest_few


def trade(ledger: Ledger, at: Numbers, draws: Draws) -> None:
    """Bring the nearest rows nearer by trades between two columns, until none is a gain.

    Where a trade of the best row was one, the boundary is rugged, and other rows trade, too.
    """
    settings = SETTINGS.trades
    for number in range(settings.rounds):
        at = at[ledger.goes_on(at) & np.isfinite(ledger.best[at])]
        if not len(at):
            return
        before = ledger.best[at].copy()
        near = Herd(ledger.best_row[at], at)
        if number:
            near = apart(ledger, Herd(*ledger.nearest(at, settings.near)), settings.several)
        rows, of = trades(ledger, near.rows, near.at)
        reached = ledger.ask(rows, of).reached
        hits, of = nearest_few(ledger, rows[reached], of[reached], settings.followed)
        if len(of):
            pull_back(ledger, hits, of, draws.of("back", number))
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
    pulled, all_of = pulled[fine], all_of[fine]
    few = rank_within(all_of) < settings.most
    return pulled[few], at[all_of[few]]


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
    values = [home, *(home + share * change for share in SETTINGS.trades.left), one_less]
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


def without_columns(ledger: Ledger, donors: Herd, at: Numbers, draws: Draws) -> Herd:
    """Return rows that reach the target without one of the large changes of their region's best row.

    They come from donors with that column at the start, whose other columns are taken back.
    """
    regions, settings = ledger.regions, SETTINGS.trades
    at = at[ledger.goes_on(at) & np.isfinite(ledger.best[at]) & np.isin(at, donors.at)]
    donors = donors.of(at)
    start = regions.start[at]
    parts = ledger.metric.parts(ledger.best_row[at], start)
    place = np.argsort(np.argsort(-parts, axis=1, kind="stable"), axis=1, kind="stable")
    who, column = np.nonzero((place < settings.columns) & (parts > 0) & regions.free[at])
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
    hits = hits[rank_within(lane[hits]) < settings.each]
    return Herd(*pull_back(ledger, rows[hits], of[hits], draws.of("back")))
