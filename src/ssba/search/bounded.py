"""The bounded move (paper, section 3.1): the feasible row nearest to the boundary."""

from collections.abc import Callable
from dataclasses import dataclass

from ssba.arrays import Array, namespace
from ssba.boundary.bisection import Asking
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region
from ssba.search.archive import Archive, recorded
from ssba.search.refine import last_resort, nearest_search
from ssba.search.starts import Pool


@dataclass(frozen=True)
class Approach:
    """Feasible rows ordered by how near they come to a boundary point each, which lies at `distances`."""

    rows: Array
    points: Array
    distances: Array


def approach(region: Region, metric: Metric, boundary: Array, most: int = 64) -> Approach:
    """Return, for each boundary point, its nearest feasible row; the nearest pairs first.

    For a box this is exact: no feasible row is nearer to any of the boundary points than the first
    row returned is to its point, since clipping each column is the projection in every norm we use.
    """
    xp = namespace(boundary)
    filled = xp.where(xp.isnan(boundary), region.x, boundary)
    rows, fine = region.pull_in(filled)
    rows, filled = rows[fine], filled[fine]
    distances = metric.distance(rows, filled)
    order = xp.argsort(distances, stable=True)[:most]
    return Approach(xp.take(rows, order, axis=0), xp.take(filled, order, axis=0), xp.take(distances, order))


def nearest_to_box(region: Region, metric: Metric, boundary: Array, most: int = 256) -> Array:
    """Return the boundary points nearest to the region's box: without linear rows, the nearest there are."""
    xp = namespace(boundary)
    filled = xp.where(xp.isnan(boundary), region.x, boundary)
    low, high = xp.where(region.held, region.x, region.lower), xp.where(region.held, region.x, region.upper)
    distances = metric.distance(xp.minimum(xp.maximum(filled, low), high), filled)
    return xp.take(boundary, xp.argsort(distances, stable=True)[:most], axis=0)


@dataclass(frozen=True)
class Surroundings:
    """What a bounded move needs beside its region: regions without constraints, and rows to begin with."""

    unconstrained: Callable[[Array], Region]
    pool: Pool
    seed: int


# Alternating projections between region and boundary settle quickly; each round searches once.
_ROUNDS = 4
_ROWS_A_ROUND = 800


def bounded_search(archive: Archive, known: Approach, around: Surroundings) -> Asking[Approach]:
    """Find the feasible row nearest to the boundary.

    First the feasible rows nearest to known boundary points are asked about: one may reach the target
    after all. Otherwise both the best of them and the feasible row with the best score are brought
    nearer to the boundary; where they end equally near, the better score wins.
    """
    yield from last_resort(archive, known.rows, around.seed)
    best = yield from _nearer(archive, known, around)
    if archive.miss is not None and not archive.has_found and known.rows.shape[0]:
        row = archive.miss[None, :]
        far = archive.metric.distance(row, known.points[:1, :])
        scored = yield from _nearer(archive, Approach(row, known.points[:1, :], far), around)
        if scored.distances[0] <= best.distances[0] * (1 + 1e-9):
            best = scored
    return best


def _nearer(archive: Archive, best: Approach, around: Surroundings) -> Asking[Approach]:
    """Find the boundary point nearest to the row, the feasible row nearest to that point, and so on."""
    for _ in range(_ROUNDS):
        if archive.has_found or not best.rows.shape[0]:
            break
        point = yield from _boundary_near(archive, best, around)
        if point is None:
            break
        nearer = approach(archive.region, archive.metric, point)
        far = archive.metric.distance(best.rows[:1, :], point)
        best = best if far[0] >= best.distances[0] else Approach(best.rows[:1, :], point, far)
        if not nearer.rows.shape[0] or nearer.distances[0] >= best.distances[0] * (1 - 1e-3):
            break
        yield from last_resort(archive, nearer.rows, around.seed)
        best = nearer
    return best


def _boundary_near(archive: Archive, best: Approach, around: Surroundings) -> Asking[Array | None]:
    """Return the boundary point nearest to the best row, whatever the constraints, as an array of one row."""
    free = Archive(around.unconstrained(best.rows[0, :]), archive.metric)
    search = nearest_search(free, around.pool.with_guesses(best.points[:1, :]), around.seed)
    # Whoever runs this search watches budget and time; each round has rows of its own, whatever is left.
    yield from recorded(search, free, _ROWS_A_ROUND, lambda: False)
    return free.nearest(1) if free.has_found else None
