"""Other levels and whole numbers than those of the best rows, and the numbers that go with them."""

import numpy as np

from ssba.search.columns import neighbours, pairs_within, steps_of
from ssba.search.descend import descend, ways_from
from ssba.search.ledger import Ledger, rank_within
from ssba.search.rays import race, rays_to
from ssba.search.regions import Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.swaps import Herd


def other_levels(ledger: Ledger, ends: Herd, at: Numbers, start_margin: Vector | None) -> None:
    """Try other levels and whole numbers, and find the numbers that go with them.

    These are the best row with one of them changed, and the start with one or two levels changed. Numbers
    that reach the target with other levels come from the row itself, stretched, and from the rows that
    the search began with.
    """
    regions, settings = ledger.regions, SETTINGS.levels
    donors = _donors(ends, at)
    at = at[ledger.goes_on(at) & np.isfinite(ledger.best[at])]
    if not len(at):
        return
    before, best = ledger.best.copy(), ledger.best_row[at]
    near, who = neighbours(regions, best, at)
    levels, of = _levels_changed(ledger, at)
    rows = np.concatenate([near, best, levels])
    owner = np.concatenate([at[who], at, of])
    start = regions.start[owner]
    numbers = [start + settings.stretch * (rows - start), *(one[owner] for one in donors)]
    # Levels are the row's own, and so are numbers that cannot move: regions without donors have none.
    own = regions.discrete | ~regions.free[owner]
    aims = np.concatenate([np.where(own, rows, one) for one in numbers])
    far, far_of = _far_out(ledger, levels, of)
    aims, owner = np.concatenate([aims, far]), np.concatenate([np.tile(owner, len(numbers)), far_of])
    fine = ~np.isnan(np.where(regions.moves[owner], aims, 0.0)).any(axis=1)
    order = np.argsort(owner[fine], kind="stable")
    aims, owner = aims[fine][order], owner[fine][order]
    aims, fine = regions.pull_in(aims, owner)
    aims, owner = aims[fine], owner[fine]
    hits = ledger.ask(aims, owner).reached
    rays = rays_to(ledger, aims[hits], owner[hits])
    # Levels that cost as much as the best row are of no use, whatever the numbers.
    useful = np.flatnonzero((rays.a > 0) & (rays.distances(np.zeros(len(rays.a))) < before[rays.at]))
    rays = rays.take(useful)
    names, group = np.unique(rays.at, return_inverse=True)
    crossings = race(rays, group, settings.followed, SETTINGS.descent.tight)
    ways = ways_from(ledger, crossings.rows, names[crossings.group], None)
    if start_margin is not None and len(ways.at):
        ways.margin = np.asarray(ledger.ask(ways.row, ways.at).margin)
    descend(ledger, ways, start_margin, settings.rounds)


def _far_out(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return some of the rows with one number changed, either way, as far as that is nearer than the best."""
    regions, settings = ledger.regions, SETTINGS.levels
    first = rank_within(at) < settings.far_sets
    rows, at = rows[first], at[first]
    who, column = np.nonzero(regions.moves[at])
    left = ledger.metric.cost(ledger.best[at]) - ledger.metric.cost(ledger.distance(rows, at))
    length = settings.far_share * ledger.metric.length(left)[who] * regions.scale[column]
    found = []
    for sign in (1.0, -1.0):
        moved = rows[who]
        moved[np.arange(len(who)), column] += sign * length
        found.append(moved)
    return np.concatenate(found), np.concatenate([at[who], at[who]])


def _donors(ends: Herd, at: Numbers) -> list[Matrix]:
    """Return, by region, some rows that the search began with, and their mean; NaN where there is none."""
    count = int(max(at.max(initial=0), ends.at.max(initial=0))) + 1
    most = SETTINGS.levels.donors
    place = rank_within(ends.at)
    found = []
    for number in range(most):
        rows = np.full((count, ends.rows.shape[1]), np.nan)
        chosen = place == number
        rows[ends.at[chosen]] = ends.rows[chosen]
        found.append(rows)
    near = place < most
    total, size = np.zeros((count, ends.rows.shape[1])), np.zeros(count)
    for number in range(most):
        chosen = near & (place == number)
        total[ends.at[chosen]] += ends.rows[chosen]
        size[ends.at[chosen]] += 1
    with np.errstate(invalid="ignore"):
        found.append(np.where(size[:, None] > 0, total / np.maximum(size, 1)[:, None], np.nan))
    return found


def _levels_changed(ledger: Ledger, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return the starts with one or two levels changed, as far as that alone is nearer than the best row."""
    regions = ledger.regions
    start = regions.start[at]
    rows, who, column = steps_of(regions, start, at)
    single = np.flatnonzero(
        regions.discrete[column] & (rows[np.arange(len(who)), column] != start[who, column])
    )
    rows, who, column = rows[single], who[single], column[single]
    first, second = pairs_within(who, len(who))
    apart = column[first] != column[second]
    first, second = first[apart], second[apart]
    both = rows[second]
    both[np.arange(len(first)), column[first]] = rows[first, column[first]]
    found = np.concatenate([start, rows, both])
    of = at[np.concatenate([np.arange(len(at)), who, who[first]])]
    far = ledger.distance(found, of)
    near = np.flatnonzero(far < ledger.best[of])
    order = near[np.lexsort((far[near], of[near]))]
    order = order[rank_within(of[order]) < SETTINGS.levels.sets]
    return found[order], of[order]
