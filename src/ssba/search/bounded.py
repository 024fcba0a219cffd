"""The bounded move (paper, section 3.1): the feasible row nearest to the boundary."""

from dataclasses import dataclass

from ssba.arrays import Array, namespace
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region


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
