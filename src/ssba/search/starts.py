"""First rows on the target side: background rows, boundary points, corners, and a climb by score."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ssba.arrays import Array, choose, like, marked, namespace, repeated, to_numpy
from ssba.boundary.bisection import Asking
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.search.archive import Archive
from ssba.search.normals import NEAR, movable, plane_foot, score_slope, toward
from ssba.search.rays import rays_to
from ssba.search.repeats import different, row_keys

_NEAREST, _FURTHER, _RANDOM = 48, 128, 128
# Rows known to reach the target need not be asked about; with scores a few are, for their margins.
_KNOWN, _SCORED = 16, 16
# With fewer ends than this, rows of further kinds are asked about too: one start alone may end badly.
_ENOUGH = 3
_CLIMB_ROUNDS = 30
# How far to go where the slope leads: beyond what is expected, and at which parts of that.
_BEYOND, _PARTS = 1.15, np.array([0.35, 1.0])
_FAR = 1e6


@dataclass(frozen=True)
class Pool:
    """Rows to begin with: some that the model was asked about and that reach the target, and mere guesses.

    Only the former count as found where they are feasible as they are. Whatever was pulled into a region,
    filled or stretched is a guess.
    """

    reaching: Array
    guesses: Array = None

    @property
    def rows(self) -> Array:
        """All rows, the guesses first."""
        if self.guesses is None:
            return self.reaching
        return namespace(self.reaching).concat([self.guesses, self.reaching])

    @property
    def guess_count(self) -> int:
        """How many of the rows are guesses."""
        return 0 if self.guesses is None else int(self.guesses.shape[0])

    def with_reaching(self, rows: Array) -> "Pool":
        """Return the pool with more rows that reach the target, in front of the others."""
        return Pool(namespace(rows).concat([rows, self.reaching]), self.guesses)

    def with_guesses(self, rows: Array) -> "Pool":
        """Return the pool with more guesses, in front of the others."""
        others = [] if self.guesses is None else [self.guesses]
        return Pool(self.reaching, namespace(rows).concat([rows, *others]))


@dataclass(frozen=True)
class Ends:
    """Feasible rows that reach the target, and their margins where the model gives scores.

    `normal` is the boundary's near them, in scaled units, where somebody has an idea of it. `others` reach
    the target too, and are of use where the boundary has steps.
    """

    rows: Array
    margin: Array | None
    normal: Array = None
    others: Array = None


def slope_ends(archive: Archive, pool: Pool, start_margin: float) -> Asking[Ends | None]:
    """Return a row that reaches the target in the direction in which the score rises most at the start.

    None where it does not rise there, as that of trees does not, or where nothing that way reaches.
    """
    region, metric = archive.region, archive.metric
    near, known = _nearest(region, metric, pool)
    columns = movable(region, region.start)
    if len(columns) < 2 or not marked(known):
        return None
    near = near[known]
    within = float(metric.distance(near[:1, :], region.x)[0])
    slope = yield from score_slope(region, region.start, columns, NEAR * within)
    if 2 * len(marked(slope != 0)) < len(columns):
        return None
    normal, steepest = toward(slope)
    # Where the score would be high enough if it rose on like this; most rise faster farther on. A score that
    # is all but high enough still has to rise over as far as its slope was looked at.
    rise = min(max(-start_margin / steepest, NEAR * within), _FAR * within)
    rays = rays_to(region, metric, plane_foot(region, normal, rise, metric.norm)[None, :])
    farthest = min(_BEYOND * float(rays.distances(np.ones(1))[0]), _BEYOND * within)
    shares = rays.shares(_PARTS[:, None] * farthest)[:, 0]
    rows, fine = region.pull_in(rays.at(np.zeros(len(shares), dtype=np.int64), shares))
    reply = yield rows[fine]
    hits = marked(reply.reached)[:1]
    if not hits or reply.margin is None:
        return None
    margin = choose(reply.margin[:, None], hits)[:, 0]
    return Ends(choose(rows[fine], hits), margin, others=near)


def find_ends(
    archive: Archive, pool: Pool, rng: np.random.Generator, has_scores: bool
) -> Asking[Ends | None]:
    """Ask about ever more distant kinds of rows until some reach the target."""
    region = archive.region
    near, known = _nearest(region, archive.metric, pool)
    if near.shape[0] and bool(namespace(near).all(known[:_KNOWN])):
        ends = yield from _known_ends(archive, near[:_KNOWN, :], has_scores)
        if archive.has_found:
            return ends
    found: list[Ends] = []
    for rows in _waves(region, archive.metric, near, pool.rows, rng):
        if rows.shape[0]:
            reply = yield rows
            hits = reply.reached & region.contains(rows)
            if marked(hits):
                found.append(Ends(rows[hits], None if reply.margin is None else reply.margin[hits]))
        if sum(one.rows.shape[0] for one in found) >= _ENOUGH:
            break
    if found:
        return _joined(found)
    if archive.miss is not None:
        yield from _climb(archive)
    return Ends(archive.nearest(_KNOWN), None) if archive.has_found else None


def _joined(found: list[Ends]) -> Ends:
    xp = namespace(found[0].rows)
    margins = [one.margin for one in found if one.margin is not None]
    return Ends(xp.concat([one.rows for one in found]), xp.concat(margins) if margins else None)


def _known_ends(archive: Archive, rows: Array, has_scores: bool) -> Asking[Ends]:
    """Take background rows, which the model has been asked about, as they are."""
    xp = namespace(rows)
    if has_scores:
        rows = rows[:_SCORED, :]
        reply = yield rows
        return Ends(rows[reply.reached], None if reply.margin is None else reply.margin[reply.reached])
    archive.record(rows, Reply(xp.ones(rows.shape[0], dtype=xp.bool), None))
    return Ends(rows, None)


def _nearest(region: Region, metric: Metric, pool: Pool) -> tuple[Array, Array]:
    """Return the pool's nearest rows, pulled into the region, and which of them are known to reach.

    These are rows that the model was asked about and that are feasible as they are.
    """
    rows = pool.rows
    xp = namespace(rows)
    low = xp.where(region.held, region.x, region.lower)
    high = xp.where(region.held, region.x, region.upper)
    far = metric.distance(xp.clip(rows, low, high), region.x)
    rows = xp.take(rows, xp.argsort(far, stable=True)[: 2 * _NEAREST], axis=0)
    near = _pulled_in(region, rows)
    near = xp.take(near, xp.argsort(metric.distance(near, region.x), stable=True)[:_NEAREST], axis=0)
    asked = set(row_keys(pool.reaching))
    known = [key in asked for key in row_keys(near)]
    return near, like(np.array(known, dtype=bool), near)


def _waves(
    region: Region, metric: Metric, near: Array, pool: Array, rng: np.random.Generator
) -> Iterator[Array]:
    yield near
    xp = namespace(pool)
    rest = _pulled_in(region, pool)
    rest = xp.take(rest, xp.argsort(metric.distance(rest, region.x), stable=True), axis=0)[_NEAREST:, :]
    yield choose(rest, np.unique(np.linspace(0, max(len(rest) - 1, 0), _FURTHER).astype(int))[: len(rest)])
    yield _feasible(region, _corners(region, rng))
    yield _feasible(region, _scattered(region, _RANDOM, rng))
    yield _feasible(region, _scattered(region, 4 * _RANDOM, rng))


def _pulled_in(region: Region, pool: Array) -> Array:
    """Move rows into the region, each as it is and once more with the query's own levels.

    A background row's missing cells take the query's value.
    """
    xp = namespace(pool)
    pool = xp.where(xp.isnan(pool), region.x, pool)
    if marked(region.discrete):
        pool = xp.concat([pool, xp.where(region.discrete, region.start, pool)])
    return _feasible(region, pool)


def _feasible(region: Region, rows: Array) -> Array:
    """Pull rows into the region, and drop repeated ones and those that did not get there."""
    pulled, fine = region.pull_in(rows)
    pulled = pulled[fine]
    return choose(pulled, different(pulled))


def _reach(region: Region) -> tuple[Array, Array]:
    """Return finite ends to draw between: the bounds, or some scales around the start without them."""
    xp = namespace(region.start)
    far = 6 * region.scale
    home = xp.where(xp.isnan(region.start), xp.zeros_like(region.start), region.start)
    # What a dtype can hold is no bound to draw between.
    low = xp.where(region.lower > home - _FAR * region.scale, region.lower, home - far)
    high = xp.where(region.upper < home + _FAR * region.scale, region.upper, home + far)
    return low, high


def _corners(region: Region, rng: np.random.Generator) -> Array:
    """Return rows with every free number at one of its ends, or left alone; all such rows if few."""
    xp = namespace(region.start)
    low, high = _reach(region)
    free = marked(region.free & ~region.discrete)
    if 0 < len(free) <= 4:
        choice = np.stack(np.meshgrid(*[[0, 1, 2]] * len(free), indexing="ij"), axis=-1).reshape(
            -1, len(free)
        )
    else:
        choice = rng.integers(0, 3, size=(_RANDOM, len(free)))
    rows = repeated(region.start, len(choice))
    for i, j in enumerate(free):
        rows[:, j] = choose(xp.stack([region.start[j], low[j], high[j]]), choice[:, i])
    return _with_levels(region, rows, rng)


def _scattered(region: Region, count: int, rng: np.random.Generator) -> Array:
    xp = namespace(region.start)
    low, high = _reach(region)
    drawn = low + like(rng.random((count, low.shape[0])), low) * (high - low)
    return _with_levels(region, xp.where(region.free, drawn, region.start), rng)


def _with_levels(region: Region, rows: Array, rng: np.random.Generator) -> Array:
    """Draw an allowed level for every free discrete cell, keeping the start's half of the time."""
    for j in marked(region.free & region.discrete):
        drawn = rng.choice(levels_of(region, j), size=rows.shape[0])
        kept = rng.random(rows.shape[0]) < 0.5
        rows[:, j] = like(np.where(kept, float(region.start[j]), drawn), rows)
    return rows


def levels_of(region: Region, j: int) -> list[float]:
    """Return the allowed codes of a discrete column."""
    return [float(code) for code in marked(region.allowed[j, :])]


def _climb(archive: Archive) -> Asking[None]:
    """Follow the score: change one column of the best miss at a time, then all that helped together.

    Steps begin at all of the way to a column's ends and shrink whenever none of them helps.
    """
    region, share = archive.region, 1.0
    for _ in range(_CLIMB_ROUNDS):
        before, base = archive.miss_margin, archive.miss
        rows = single_changes(region, base, share)
        if archive.has_found or not rows.shape[0]:
            return
        reply = yield rows
        if reply.margin is None:
            return
        helped = reply.margin > before
        if marked(helped):
            yield _feasible(region, combined_changes(base, rows[helped], reply.margin[helped])[None, :])
        else:
            share *= 0.4


def single_changes(region: Region, base: Array, share: float) -> Array:
    """Return `base` with one column changed at a time: part of the way to its ends, or to each level."""
    xp = namespace(base)
    low, high = _reach(region)
    rows = []
    for j in marked(region.free):
        if bool(region.discrete[j]):
            values = levels_of(region, j)
        else:
            down, up = float(low[j]), float(high[j])
            home = 0.5 * (down + up) if bool(xp.isnan(base[j])) else float(base[j])
            values = [home + share * (down - home), home + share * (up - home)]
        rows.append(with_column(base, j, values))
    if not rows:
        return base[None, :][:0, :]
    pulled = _feasible(region, xp.concat(rows))
    return pulled[xp.any(pulled != base, axis=1)]


def with_column(row: Array, j: int, values: list[float]) -> Array:
    """Return copies of a row that differ in one column."""
    changed = repeated(row, len(values))
    changed[:, j] = like(np.asarray(values), row)
    return changed


def combined_changes(base: Array, rows: Array, margins: Array) -> Array:
    """Return `base` with, for every column, the change that helped most."""
    xp = namespace(base)
    best = base
    for i in to_numpy(xp.argsort(margins, stable=True)).tolist():
        best = xp.where(rows[i, :] != base, rows[i, :], best)
    return best
