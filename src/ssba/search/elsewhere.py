"""Where no slope leads: single columns, all around rows, other levels; and which of many columns matter."""

import itertools

import numpy as np

from ssba.arrays import by_row, choose, namespace
from ssba.columns.distance import changed_cells
from ssba.search.descend import descend, ways_from
from ssba.search.lanes import Draws, Herd, rank_within
from ssba.search.ledger import Ledger
from ssba.search.planes import Probes, score_slopes
from ssba.search.rays import race, rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.starts import Pools, crossed_nearby
from ssba.search.steps import as_far_as_possible, both_changes, neighbours, steps_of


def along_columns(ledger: Ledger, at: Numbers, more: Herd | None = None) -> None:
    """Ask about a change of each column alone, both ways, a little nearer than the best row; and `more`.

    Where a bound lies nearer, the row at the bound is asked about.
    """
    regions, metric = ledger.regions, ledger.metric
    at = at[np.isfinite(ledger.best[at])]
    twice = np.concatenate([at, at])
    start, x = choose(regions.start, twice), choose(regions.x, twice)
    xp, best = namespace(start), by_row(ledger.best[twice], start)
    cost = metric.cost(metric.parts(start, x))
    others = xp.sum(cost, axis=1)[:, None] - cost
    room = xp.clip(metric.cost((1 - SETTINGS.race.edge) * best) - others, 0.0, None)
    reach = (xp.sqrt(room) if metric.adds_squares else room) * regions.scale
    signs = by_row(np.repeat([1.0, -1.0], len(at)), start)
    # One row holds a value for each column: rounding and bounds take cells one by one.
    there = regions.snap(xp.where(xp.isnan(x), start, x) + signs * reach, twice)
    nearer = others + metric.cost(metric.parts(there, x)) < metric.cost(best)
    probes = Probes.of(choose(regions.moves, twice) & nearer & (there != start))
    rows, of = probes.rows(start, there[probes.owner, probes.cell]), twice[probes.who]
    if regions.linear.any():
        pulled, fine = regions.pull_in(rows, of)
        rows, of = _nearer(ledger, choose(pulled, np.flatnonzero(fine)), of[fine])
    if more is not None:
        rows, of = xp.concat([rows, more.rows]), np.concatenate([of, more.at])
    _go_in(ledger, rows, of)


def values_nearby(ledger: Ledger, pools: Pools, at: Numbers) -> None:
    """Ask about values of the data in one or two columns that can move, alone and together.

    A small cell that trees cut out of the plane may lie nearer than all that slopes and drawn rows show.
    """
    _go_in(ledger, *_nearer(ledger, *crossed_nearby(ledger, pools, at)))


def _nearer(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return those rows that are feasible and nearer than the best of their region."""
    kept = np.flatnonzero(ledger.regions.contains(rows, at) & (ledger.distance(rows, at) < ledger.best[at]))
    return choose(rows, kept), at[kept]


def _rows_toward(ledger: Ledger, aims: Matrix, of: Numbers, far: Vector) -> tuple[Matrix, Numbers]:
    """Return the rows so far out in the directions of aims that are feasible and nearer than the best."""
    pulled, fine = ledger.regions.pull_in(aims, of)
    rays = rays_to(ledger, pulled[fine], of[fine])
    return _nearer(ledger, rays.all_rows(rays.shares(far[fine])), rays.at)


def _go_in(ledger: Ledger, rows: Matrix, at: Numbers) -> Numbers:
    """Ask about rows, and close in where one reaches; return the regions where that is so."""
    hits = np.flatnonzero(ledger.ask(rows, at).reached)
    hits = hits[np.argsort(at[hits], kind="stable")]
    names, group = np.unique(at[hits], return_inverse=True)
    if len(hits):
        race(rays_to(ledger, choose(rows, hits), at[hits]), group, 1, SETTINGS.descent.tight)
    return names


def _few_columns(ledger: Ledger, at: Numbers) -> Numbers:
    columns = ledger.regions.columns_moving[at]
    return at[(columns > 1) & (columns <= SETTINGS.race.few_columns) & np.isfinite(ledger.best[at])]


def elsewhere(ledger: Ledger, at: Numbers, start_margin: Vector | None, draws: Draws) -> None:
    """Ask all around the query, a little nearer than the best row, and go down from where that reaches.

    With few columns this finds other arms of the boundary; with many it would find nothing.
    """
    regions = ledger.regions
    at = _few_columns(ledger, at)
    for number in itertools.count():
        at = at[ledger.goes_on(at)]
        if not len(at):
            return
        rng = draws.of("elsewhere", number).generator
        drawn = rng.normal(size=(SETTINGS.starts.trials, regions.x.shape[1]))
        inward = np.where(rng.random(len(drawn)) < 0.5, 0.99, rng.uniform(0.4, 0.99, len(drawn)))
        of = np.repeat(at, len(drawn))
        way = np.where(regions.moves[of], np.tile(drawn, (len(at), 1)), 0.0)
        way /= np.sqrt((way * way).sum(axis=1))[:, None]
        best = ledger.best_row[of]
        aims = regions.start[of] + ledger.best[of][:, None] * way * regions.scale
        aims = np.where(regions.moves[of], aims, best)
        rows, of = _rows_toward(ledger, aims, of, np.tile(inward, len(at)) * ledger.best[of])
        hits = ledger.ask(rows, of).reached
        at, group = np.unique(of[hits], return_inverse=True)
        crossings = race(rays_to(ledger, rows[hits], of[hits]), group, 2, SETTINGS.descent.tight)
        ways = ways_from(ledger, crossings.rows, at[crossings.group], None)
        if start_margin is not None and len(ways.at):
            ways.margin = np.asarray(ledger.ask(ways.row, ways.at).margin)
        descend(ledger, ways, start_margin, SETTINGS.descent.rounds)


def around_best(ledger: Ledger, at: Numbers, draws: Draws) -> None:
    """Draw rows around the best one, in ever smaller balls, and ask about those directions a little nearer.

    With few columns this gets into corners and along bent edges, where no plane shows the way; with many it
    would find nothing.
    """
    regions = ledger.regions
    few = _few_columns(ledger, at)
    for place, width in enumerate(reversed(SETTINGS.descent.aside)):
        left = few
        for number in itertools.count():
            left = left[ledger.goes_on(left)]
            if not len(left):
                break
            in_a_ball = SETTINGS.starts.nearest // len(SETTINGS.descent.aside)
            rng = draws.of("ball", place).of("try", number).generator
            drawn = rng.normal(size=(in_a_ball, regions.x.shape[1]))
            of = np.repeat(left, len(drawn))
            best, far = ledger.best_row[of], ledger.best[of]
            moves = np.where(regions.moves[of], np.tile(drawn, (len(left), 1)), 0.0)
            aims = best + width * far[:, None] * moves * regions.scale
            left = _go_in(ledger, *_rows_toward(ledger, aims, of, (1 - SETTINGS.descent.gain) * far))


def other_levels(ledger: Ledger, ends: Herd, at: Numbers) -> None:
    """Try other levels and whole numbers, and find numbers that go with them.

    These are the best row with one of them changed, and the start with one or two levels changed. Numbers
    that reach the target with other levels come from the row itself, stretched, and from the rows that
    the search began with.
    """
    regions = ledger.regions
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
    numbers = [start + SETTINGS.steps.more_than_enough * (rows - start), *(one[owner] for one in donors)]
    # Levels are the row's own, and so are numbers that cannot move: regions without donors have none.
    own = regions.discrete | ~regions.free[owner]
    aims = np.concatenate([np.where(own, rows, one) for one in numbers])
    owner = np.tile(owner, len(numbers))
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
    _, group = np.unique(rays.at, return_inverse=True)
    race(rays, group, SETTINGS.columns.followed, SETTINGS.descent.tight)


def _donors(ends: Herd, at: Numbers) -> list[Matrix]:
    """Return, by region, some rows that the search began with, and their mean; NaN where there is none."""
    most, count = SETTINGS.descent.starts, int(max(at.max(initial=0), ends.at.max(initial=0))) + 1
    first = ends.of(ends.at, most)
    rows = np.full((most, count, ends.rows.shape[1]), np.nan)
    rows[rank_within(first.at), first.at] = first.rows
    size = np.bincount(first.at, minlength=count)[:, None]
    total = np.where(np.arange(most)[:, None, None] < size, rows, 0.0).sum(axis=0)
    return [*rows, np.where(size > 0, total / np.maximum(size, 1), np.nan)]


def _levels_changed(ledger: Ledger, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return the starts with one or two levels changed, as far as that alone is nearer than the best row."""
    regions = ledger.regions
    start = regions.start[at]
    rows, who, column = steps_of(regions, start, at)
    single = np.flatnonzero(
        regions.discrete[column] & (rows[np.arange(len(who)), column] != start[who, column])
    )
    rows, who, column = rows[single], who[single], column[single]
    both, both_of = both_changes(rows, who, column)
    found = np.concatenate([start, rows, both])
    of = at[np.concatenate([np.arange(len(at)), who, both_of])]
    far = ledger.distance(found, of)
    near = np.flatnonzero(far < ledger.best[of])
    order = near[np.lexsort((far[near], of[near]))]
    order = order[rank_within(of[order]) < SETTINGS.starts.nearest]
    return found[order], of[order]


def thin_out(ledger: Ledger, ends: Herd) -> Herd:
    """Take columns of the first end of each region back, many at once, while the target stays reached.

    Then go along the ray to each row that is left as far as the boundary.
    """
    regions = ledger.regions
    kept = ends.of(ends.at, 1)
    start = regions.start[kept.at]
    back = np.where(regions.free[kept.at], start, kept.rows)
    rows = as_far_as_possible(ledger, kept.rows, back, kept.at)
    rays = rays_to(ledger, rows, kept.at)
    race(rays, np.arange(len(rows)), 1, SETTINGS.race.edge)
    margin = None if kept.margin is None else np.asarray(ledger.ask(rows, kept.at).margin)
    return Herd(rows, kept.at, margin)


def columns_that_matter(ledger: Ledger, ends: Herd) -> Mask:
    """Return by region which columns its end changes."""
    regions = ledger.regions
    matter = np.zeros_like(regions.free)
    matter[ends.at] = changed_cells(ends.rows, regions.start[ends.at])
    return np.asarray(matter)


def columns_that_tell(ledger: Ledger, at: Numbers) -> Mask:
    """Return by region the columns that raise the score most at its start, over the width of a small change.

    By labels, those that alone make its best row miss.
    """
    regions = ledger.regions
    width = SETTINGS.descent.aside[-1] * ledger.best[at]
    if ledger.has_scores:
        slopes = score_slopes(ledger, regions.start[at], at, width)
    else:
        slopes = _misses(ledger, at, width)
    size = np.abs(slopes)
    place = np.argsort(np.argsort(-size, axis=1, kind="stable"), axis=1, kind="stable")
    telling: Mask = np.zeros_like(regions.free)
    telling[at] = (size > 0) & (place < SETTINGS.starts.nearest)
    return telling


def _misses(ledger: Ledger, at: Numbers, width: Vector) -> Matrix:
    """Return in which columns the best rows of regions miss the target a width away, to either side."""
    regions = ledger.regions
    who, column = np.nonzero(regions.moves[at])
    found = np.zeros((len(at), regions.x.shape[1]))
    for sign in (1.0, -1.0):
        rows = ledger.best_row[at[who]].copy()
        rows[np.arange(len(who)), column] += sign * width[who] * regions.scale[column]
        reached = ledger.ask(regions.snap(rows, at[who]), at[who]).reached
        found[who, column] += ~reached
    return found


def are_wide(ledger: Ledger, at: Numbers) -> Numbers:
    """Return the regions in which very many columns may change."""
    return np.asarray(at[ledger.regions.free[at].sum(axis=1) > SETTINGS.race.many_columns])
