"""The search for the nearest row: propose, pull into the region, ask, bisect toward the start."""

from dataclasses import dataclass

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.run.arrays import Array, choose, marked, namespace
from ssba.search import moves
from ssba.search.archive import Archive
from ssba.search.starts import find_ends


@dataclass(frozen=True)
class Effort:
    """How hard the search tries; the defaults suit most queries."""

    rounds: int = 16
    elite: int = 5
    patience: int = 1
    gain: float = 2e-3
    large_gain: float = 0.03


def nearest_search(archive: Archive, pool: Array, seed: int, effort: Effort) -> Asking[None]:
    """Search for the nearest feasible row that reaches the target; all finds go to the archive."""
    rng = np.random.default_rng(seed)
    region = archive.region
    yield region.start[None, :]
    if archive.has_found:
        return
    yield from find_ends(archive, pool, rng)
    yield from _improve(archive, rng, effort)


def last_resort(archive: Archive, rows: Array, seed: int, effort: Effort) -> Asking[None]:
    """Ask about feasible rows near known boundary points, and go on from those that reach the target."""
    if rows.shape[0]:
        yield rows
    yield from _improve(archive, np.random.default_rng(seed), effort)


def _improve(archive: Archive, rng: np.random.Generator, effort: Effort) -> Asking[None]:
    if not archive.has_found:
        return
    yield from moves.close_in(archive.region, archive.nearest(3 * effort.elite), tolerance=0.02)
    yield from _refine(archive, rng, effort)
    yield from _polish(archive)


def _refine(archive: Archive, rng: np.random.Generator, effort: Effort) -> Asking[None]:
    """Step toward the normal while that helps much; where it does not, try columns one by one too."""
    width, stalled = 0.05, 0
    for _ in range(effort.rounds):
        before = archive.best_distance
        # A difference of scores sees one face of a kink; labels see where the boundary really is.
        yield from _toward_normal(archive, width, rng, by_labels=stalled % 2 == 1)
        if archive.best_distance > before * (1 - effort.large_gain):
            yield from _by_columns(archive, rng, effort.elite)
        if archive.best_distance < before * (1 - effort.gain):
            stalled = 0
            continue
        stalled, width = stalled + 1, width * 0.4
        if stalled > effort.patience:
            return


def _toward_normal(archive: Archive, width: float, rng: np.random.Generator, by_labels: bool) -> Asking[None]:
    """Step from the best row toward the boundary's normal, where it has one."""
    region = archive.region
    z = archive.nearest(1)[0, :]
    xp = namespace(z)
    movable = marked(region.free & ~region.discrete & ~xp.isnan(region.start))
    if not movable:
        return
    ray = float(xp.max(choose(xp.abs(z - region.start) / region.scale, movable)))
    if not ray:
        return
    normal = xp.zeros_like(z)
    if not by_labels:
        normal = yield from moves.score_normal(region, z, movable, width * ray)
    if not marked(normal != 0) and len(movable) > 1:
        normal = yield from moves.label_normal(region, z, movable, width, rng)
    if marked(normal != 0):
        rows = moves.plane_feet(region, z, normal, archive.metric.norm)
        yield from _try(archive, rows, count=4, tolerance=1e-3)


def _by_columns(archive: Archive, rng: np.random.Generator, elite: int) -> Asking[None]:
    """Moves that need no slope: columns back one by one, mixtures of good rows, draws around them."""
    region = archive.region
    yield from moves.pull_back(region, archive.nearest(elite), rng)
    good = archive.nearest(elite)
    mixed = moves.recombined(region, good, 16, rng)
    drawn = moves.scattered_around(region, good, 16, 0.3, rng)
    yield from _try(archive, namespace(good).concat([mixed, drawn]), count=elite, tolerance=0.02)


def _try(archive: Archive, rows: Array, count: int, tolerance: float) -> Asking[None]:
    """Ask about rows that would be an improvement, and close in on the nearest that reached the target."""
    xp = namespace(rows)
    rows = rows[archive.metric.distance(rows, archive.region.x) < 1.3 * archive.best_distance]
    if not rows.shape[0]:
        return
    reply = yield rows
    hits = rows[reply.reached & archive.region.contains(rows)]
    order = xp.argsort(archive.metric.distance(hits, archive.region.x), stable=True)[:count]
    if order.shape[0]:
        yield from moves.close_in(archive.region, xp.take(hits, order, axis=0), tolerance)


def _polish(archive: Archive) -> Asking[None]:
    """Walk the grid while a neighbour is nearer, then bisect as finely as is worth it."""
    region = archive.region
    while True:
        before = archive.best_distance
        rows = moves.neighbours(region, archive.nearest(1)[0, :])
        rows = rows[archive.metric.distance(rows, region.x) < before]
        if not rows.shape[0]:
            break
        yield rows
        if archive.best_distance >= before:
            break
    yield from moves.close_in(region, archive.nearest(2), tolerance=1e-5)
