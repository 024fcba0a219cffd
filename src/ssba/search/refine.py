"""The search for the nearest row: starts, a race between them, the way down the boundary, and columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ssba.arrays import Array, choose, like, marked, namespace, repeated, to_numpy
from ssba.boundary.bisection import Asking
from ssba.search import columns
from ssba.search.archive import Archive
from ssba.search.descend import QUICK_LOOK, ROUGHLY, TIGHT, Descent, Pace, descend, standing
from ssba.search.normals import movable, unit_rows
from ssba.search.rays import FEW_COLUMNS, race, rays_to
from ssba.search.rough import STARTS, rough_search
from ssba.search.starts import Ends, Pool, find_ends, slope_ends
from ssba.search.stored import RUNNERS, Stored, stored_ends
from ssba.search.swaps import swap_search
from ssba.search.together import together

# With few columns, rows are drawn all around the query: how many, and how often again.
_AROUND, _TRIES = 96, 3
# And around the best row, in balls of these shares of its distance: how many, and by which share of a ball's
# size nearer.
_BALLS, _IN_A_BALL, _NEARER = (0.2, 0.06, 0.02), 24, 0.1
# Sets of levels to try with other numbers, and how far the numbers are stretched.
_LEVEL_SETS, _STRETCH = 48, 2.0
# To tell a step: by how much a column with at least such a share of the squares goes back, by how much at
# most the others go on, and how much more than enough that shall be.
_LESS, _LARGE, _MORE, _SURPLUS = 0.02, 0.05, 0.1, 0.005
# What a smooth boundary's last rounds may have left to gain, and how often columns may go back for that.
_LITTLE, _DOUBTS = 0.008, 3
# Ways down that are at most so many times as long as the best are not given up yet.
_CLOSE = 1.1
# How closely the last crossing is located.
_CLOSELY = 2e-5
# To tell a face: how many columns are tried, how many must lead across to be sure it is none, what part of
# the normal counts; from how far before the boundary, how much more than enough to cross it, and rounding.
_FACE_COLUMNS, _SURELY, _COUNTS = 6, 4, 0.1
_BEFORE, _MORE_THAN_ENOUGH, _ROUNDED = 2e-3, 2.0, 1e-5
# Rows that swap cells at the end, where there are levels or whole numbers.
_PARENTS = 16
# How many of the largest changes might do alone, and what share of the length they must make up at the end.
_MOST_OF_IT = 0.7
_FEW = (1, 2, 3, 5, 8, 13, 21, 34, 55)


@dataclass(frozen=True)
class Effort:
    """How hard the search tries; the defaults suit most queries.

    `starts` ways down are begun and the best is followed for `rounds`, as long as each gains a share of
    `gain`. They are chosen by a race between the first `runners` ends (None: all).
    """

    starts: int = 3
    rounds: int = 8
    gain: float = 2e-3
    runners: int | None = None


SEVERAL_WAYS = Effort()
# Where stored points or the slope at the query tell which way to go, one way down will do.
ONE_WAY = Effort(starts=1, gain=3e-3, runners=RUNNERS)


def nearest_search(archive: Archive, pool: Pool, seed: int, stored: Stored | None = None) -> Asking[None]:
    """Search for the nearest feasible row that reaches the target; all finds go to the archive.

    It begins where `stored` boundary points say that the boundary is near, else where the slope of the score
    at the query leads, else at rows of the `pool`.
    """
    region = archive.region
    rng = np.random.default_rng(seed)
    reply = yield region.start[None, :]
    if marked(reply.reached & region.contains(region.start[None, :])):
        yield from columns.nearer_than_start(archive)
        return
    margin = None if reply.margin is None else float(reply.margin[0])
    ends = None
    if stored is not None:
        ends = yield from stored_ends(archive, stored, margin is not None)
    if ends is None and margin is not None:
        ends = yield from slope_ends(archive, pool, margin)
    if ends is not None:
        yield from _improve(archive, ends, margin, rng, ONE_WAY)
        return
    ends = yield from find_ends(archive, pool, rng, margin is not None)
    if ends is not None:
        yield from _improve(archive, ends, margin, rng, SEVERAL_WAYS)


def last_resort(archive: Archive, rows: Array, seed: int) -> Asking[None]:
    """Ask about feasible rows near known boundary points, and go on from those that reach the target."""
    if rows.shape[0]:
        yield rows
    if archive.has_found:
        ends = Ends(archive.nearest(SEVERAL_WAYS.starts), None)
        yield from _improve(archive, ends, None, np.random.default_rng(seed), SEVERAL_WAYS)


def _improve(
    archive: Archive, ends: Ends, start_margin: float | None, rng: np.random.Generator, effort: Effort
) -> Asking[None]:
    region, metric = archive.region, archive.metric
    margins = None
    if start_margin is not None and ends.margin is not None:
        margins = start_margin, to_numpy(ends.margin)
    runners = rays_to(region, metric, ends.rows[: effort.runners, :])
    first = margins and (margins[0], margins[1][: effort.runners])
    crossings = yield from race(runners, effort.starts, TIGHT if margins is None else 0.03, first)
    best = yield from _way_down(archive, crossings.rows, ends.normal, start_margin, effort)
    if not best.flat:
        yield from _elsewhere(archive, start_margin, rng, effort)
        yield from _around(archive, rng)
    # By labels even a step may look like a slope, so that they are always asked whether it is one.
    doubtful = start_margin is None or not best.optimal
    slack = TIGHT if start_margin is None else ROUGHLY
    if best.flat or (doubtful and (yield from _has_steps(archive, best, slack, start_margin is None))):
        rows = ends.rows if ends.others is None else namespace(ends.rows).concat([ends.rows, ends.others])
        rays = rays_to(region, metric, rows)
        crossings = yield from race(rays, STARTS, 0.02, margins if ends.others is None else None)
        yield from rough_search(archive, crossings.rows, start_margin, rng)
    if marked(region.free & (region.discrete | region.grid.stepped)):
        yield from columns.pull_back(archive, archive.nearest(2), rng)
        yield from _other_levels(archive, ends.rows, start_margin, effort)
        yield from swap_search(archive, archive.nearest(_PARENTS), ends.rows, rng, rounds=1)
    yield from _tidy(archive)
    yield from _polish(archive, start_margin)


def _way_down(
    archive: Archive, rows: Array, normal: Array | None, start_margin: float | None, effort: Effort
) -> Asking[Descent]:
    """Begin at several rows and follow the best; a boundary that proves to be a plane needs no other."""
    first, *others = [standing(archive, row) for row in rows]
    pace = Pace(1 if start_margin is None else 2, effort.gain, start_margin)
    best = yield from descend(archive, replace(first, normal=normal), pace)
    if not best.straight:
        pace = Pace(1, effort.gain, start_margin, best.distance, QUICK_LOOK)
        ways = yield from together([descend(archive, one, pace) for one in others])
        best = yield from _best_of(archive, [best, *ways], start_margin, effort)
    if best.settled:
        return best
    return (yield from descend(archive, best, Pace(effort.rounds, effort.gain, start_margin)))


def _best_of(
    archive: Archive, ways: Sequence[Descent], start_margin: float | None, effort: Effort
) -> Asking[Descent]:
    """Return the best of several ways down; those that are almost as near go on for one more round first."""
    least = min(one.distance for one in ways)
    close = [one for one in ways if one.distance <= _CLOSE * least]
    if len(close) == 1:
        return close[0]
    pace = Pace(1, effort.gain, start_margin)
    gone = yield from together([descend(archive, one, pace) for one in close if not one.settled])
    return min([*gone, *(one for one in close if one.settled)], key=lambda one: one.distance)


def _elsewhere(
    archive: Archive, start_margin: float | None, rng: np.random.Generator, effort: Effort
) -> Asking[None]:
    """Ask all around the query, a little nearer than the best row, and go down from where that reaches.

    With few columns this finds other arms of the boundary; with many it would find nothing.
    """
    region, metric = archive.region, archive.metric
    columns = movable(region, region.start)
    if not 1 < len(columns) <= FEW_COLUMNS:
        return
    for _ in range(_TRIES):
        best = archive.nearest(1)[0, :]
        before = archive.best_distance
        drawn = rng.normal(size=(_AROUND, len(columns)))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        moves = like(1.5 * before * drawn, best) @ unit_rows(columns, best)
        rows = namespace(best).where(region.discrete, best, region.start + moves * region.scale)
        rows, fine = region.pull_in(rows)
        rays = rays_to(region, metric, rows[fine])
        # Half of them near the best distance, where most of the room is, and half all the way in.
        inward = np.where(rng.random(len(rays.a)) < 0.5, 0.99, rng.uniform(0.4, 0.99, len(rays.a)))
        rows = rays.at(np.arange(len(rays.a)), rays.shares(inward * before))
        rows = rows[region.contains(rows) & (metric.distance(rows, region.x) < before)]
        if not rows.shape[0]:
            return
        reply = yield rows
        if not marked(reply.reached):
            return
        hits = rows[reply.reached]
        crossings = yield from race(rays_to(region, metric, hits), 2, TIGHT)
        pace = Pace(effort.rounds, effort.gain, start_margin)
        yield from together([descend(archive, standing(archive, row), pace) for row in crossings.rows])


def _around(archive: Archive, rng: np.random.Generator) -> Asking[None]:
    """Draw rows around the best one, in ever smaller balls, and ask about those directions a little nearer.

    With few columns this gets into corners and along bent edges, where no plane shows the way; with many it
    would find nothing.
    """
    region, metric = archive.region, archive.metric
    columns = movable(region, region.start)
    if not 1 < len(columns) <= FEW_COLUMNS:
        return
    for width in _BALLS:
        for _ in range(_TRIES):
            rows = _in_ball(archive, width, columns, rng)
            reply = (yield rows) if rows.shape[0] else None
            if reply is None or not marked(reply.reached):
                break
            yield from race(rays_to(region, metric, rows[reply.reached]), 1, TIGHT)


def _in_ball(archive: Archive, width: float, columns: list[int], rng: np.random.Generator) -> Array:
    """Draw rows in a ball around the best row, and bring them a little nearer to the query than that one."""
    region, metric = archive.region, archive.metric
    best, distance = archive.nearest(1)[0, :], archive.best_distance
    moves = like(width * distance * rng.normal(size=(_IN_A_BALL, len(columns))), best)
    rows = best + moves @ unit_rows(columns, best) * region.scale
    rows, fine = region.pull_in(namespace(best).where(region.discrete, best, rows))
    rays = rays_to(region, metric, rows[fine])
    rows = rays.at(np.arange(len(rays.a)), rays.shares((1 - _NEARER * width) * distance))
    return rows[region.contains(rows) & (metric.distance(rows, region.x) < distance)]


def _other_levels(archive: Archive, ends: Array, start_margin: float | None, effort: Effort) -> Asking[None]:
    """Try other levels and whole numbers, and find the numbers that go with them.

    These are the best row with one of them changed, and the start with one or two levels changed. Numbers
    that reach the target with other levels come from the row itself, stretched, and from the rows that
    the search began with.
    """
    region, metric = archive.region, archive.metric
    xp = namespace(ends)
    near = ends[: effort.starts, :]
    donors = xp.concat([near, xp.mean(near, axis=0)[None, :]])
    for _ in range(_TRIES):
        before, best = archive.best_distance, archive.nearest(1)[0, :]
        levels = columns.other_levels(archive, _LEVEL_SETS)
        rows = xp.concat([columns.neighbours(region, best), best[None, :], levels])
        stretched = region.start + _STRETCH * (rows - region.start)
        numbers = [stretched, *(repeated(donor, rows.shape[0]) for donor in donors)]
        aims, fine = region.pull_in(xp.concat([xp.where(region.discrete, rows, one) for one in numbers]))
        aims = aims[fine]
        if not aims.shape[0]:
            return
        reply = yield aims
        rays = rays_to(region, metric, aims[reply.reached & region.contains(aims)])
        # Levels that cost as much as the best row are of no use, whatever the numbers.
        useful = np.flatnonzero((rays.a > 0) & (rays.distances(0.0 * rays.a) < before))
        if not useful.shape[0]:
            return
        rays = rays_to(region, metric, choose(rays.ends, useful))
        crossings = yield from race(rays, 2 * effort.starts, TIGHT)
        pace = Pace(2, effort.gain, start_margin)
        yield from together([descend(archive, standing(archive, row), pace) for row in crossings.rows])
        if archive.best_distance > before * (1 - effort.gain):
            return


def _has_steps(archive: Archive, best: Descent, slack: float, by_labels: bool) -> Asking[bool]:
    """Tell whether the boundary has steps.

    A way down a smooth boundary that ended a little early leaves columns that can go back, but not for much,
    and not time and again.
    """
    if by_labels:
        told = yield from _shows_face(archive, best)
        if told is not None:
            return told
    for _ in range(_DOUBTS):
        if not (yield from _is_rough(archive, best, slack)):
            return False
        nearer = standing(archive, archive.nearest(1)[0, :])
        if not (1 - _LITTLE) * best.distance < nearer.distance < best.distance:
            return True
        best = nearer
    return True


def _shows_face(archive: Archive, best: Descent) -> Asking[bool | None]:
    """Tell whether the boundary at a row is a face across one column, as those of trees are; None: unclear.

    From just before the boundary, each column that counts in its normal leads across a smooth one; across a
    face only its own does. By labels a crossing is located closely enough to ask.
    """
    region = archive.region
    free = np.isin(np.arange(best.row.shape[0]), movable(region, best.row))
    columns = np.flatnonzero(free & ~to_numpy(region.grid.stepped)).tolist()
    if best.normal is None or best.straight or len(columns) < 2:
        return None
    way = to_numpy((best.row - region.start) / region.scale)[columns]
    normal = to_numpy(best.normal)[columns]
    rise, share = float(normal @ way), np.abs(normal) / max(float(np.linalg.norm(normal)), 1e-300)
    tried = np.argsort(-share, kind="stable")[:_FACE_COLUMNS]
    tried = tried[share[tried] > _COUNTS]
    if rise <= 0 or len(tried) < 2:
        return None
    moves = np.zeros((len(tried) + 1, len(columns)))
    moves[np.arange(len(tried)), tried] = _MORE_THAN_ENOUGH * _BEFORE * rise / normal[tried]
    moves = like(moves - _BEFORE * way, best.row) @ unit_rows(columns, best.row)
    wanted = best.row + moves * region.scale
    rows = region.snap(wanted)
    # A column at its bound cannot show anything.
    fits = to_numpy(namespace(rows).all(abs(rows - wanted) <= _ROUNDED * region.scale, axis=1))
    if fits[:-1].sum() < 2 or not fits[-1]:
        return None
    reply = yield rows[like(fits, rows)]
    *crossed, before = to_numpy(reply.reached).tolist()
    if not before and 2 * sum(crossed) < len(crossed):
        return True
    return False if all(crossed) and not before and len(crossed) >= _SURELY else None


def _is_rough(archive: Archive, best: Descent, slack: float) -> Asking[bool]:
    """Tell whether the boundary has steps, by what a smooth one would not do at its nearest row.

    There, taking back columns that make up a share s of the distance loses half of s**2 of it or more: one
    column, half or all of the way, or all small ones together. Only what would lose well beyond the
    `slack` left in the distance is asked about. And a column can go back a little if the others go on.
    """
    region = archive.region
    xp = namespace(best.row)
    parts = archive.metric.parts(best.row[None, :], region.x)[0, :]
    least = (4 * slack) ** 0.5 * best.distance
    units = unit_rows(marked(region.free & (parts > least)), best.row) > 0
    half = xp.where(region.discrete, region.start, 0.5 * (best.row + region.start))
    few = _largest_only(archive, best.row)
    gone = xp.where(few == best.row, xp.zeros_like(few), parts)
    few = few[xp.sqrt(xp.sum(gone * gone, axis=1)) > least]
    back = region.snap(xp.concat([*(xp.where(units, to, best.row) for to in (region.start, half)), few]))
    back, traded = back[region.contains(back)], _traded(archive, best.row)
    if not back.shape[0] + traded.shape[0]:
        return False
    reply = yield xp.concat([back, traded])
    hits = to_numpy(reply.reached)
    can_go_back, can_trade = hits[: back.shape[0]].any(), hits[back.shape[0] :].any()
    return bool(can_go_back or (traded.shape[0] > 1 and not can_trade))


def _traded(archive: Archive, row: Array) -> Array:
    """Return a row with one large change a little smaller and all others more than make up for it.

    No rows where the others would have to go far, or cannot because of a bound or a grid.
    """
    region = archive.region
    xp = namespace(row)
    change = row - region.start
    moves = region.free & ~region.discrete & ~region.grid.stepped & ~xp.isnan(change)
    parts = to_numpy(archive.metric.parts(row[None, :], region.start)[0, :])
    shares = np.where(to_numpy(moves), parts**2 / max(float((parts**2).sum()), 1e-300), 0.0)
    more = (_LESS * shares + _SURPLUS) / np.maximum(1 - shares, 1e-9)
    chosen = np.flatnonzero((shares > _LARGE) & (more < _MORE)).tolist()
    factors = xp.where(unit_rows(chosen, row) > 0, 1 - _LESS, 1 + like(more[chosen], row)[:, None])
    rows = xp.where(moves, region.start + factors * change, row)
    inside = xp.all(~moves | ((rows >= region.lower) & (rows <= region.upper)), axis=1)
    rows = region.snap(rows[inside])
    return rows[region.contains(rows)]


def _largest_only(archive: Archive, row: Array) -> Array:
    """Return a row with its few largest changes only, for several numbers of them."""
    region = archive.region
    parts = to_numpy(archive.metric.parts(row[None, :], region.start)[0, :])
    rank = np.argsort(np.argsort(-parts, kind="stable"), kind="stable")
    kept = np.array([size for size in _FEW if size < (parts > 0).sum()], dtype=np.int64)
    return namespace(row).where(like(rank[None, :] < kept[:, None], row), row, region.start)


def _tidy(archive: Archive) -> Asking[None]:
    """Ask whether the few largest changes of the best row, most of its length, do without the small ones."""
    rows = _largest_only(archive, archive.nearest(1)[0, :])
    long_enough = archive.metric.distance(rows, archive.region.x) > _MOST_OF_IT * archive.best_distance
    rows = rows[archive.region.contains(rows) & long_enough]
    if rows.shape[0]:
        yield rows


def _polish(archive: Archive, start_margin: float | None) -> Asking[None]:
    """Walk the grid while a neighbour is nearer, then close in as finely as is worth it."""
    region = archive.region
    while True:
        before = archive.best_distance
        rows = columns.neighbours(region, archive.nearest(1)[0, :])
        rows = rows[archive.metric.distance(rows, region.x) < before]
        if not rows.shape[0]:
            break
        yield rows
        if archive.best_distance >= before:
            break
    rays = rays_to(region, archive.metric, archive.nearest(1))
    # A search by scores has got along with few rows; it takes its time here to ask few more.
    sections = None if start_margin is None else 1
    yield from race(rays, 1, _CLOSELY, nearest=(1 - 2 * ROUGHLY) * archive.best_distance, sections=sections)
