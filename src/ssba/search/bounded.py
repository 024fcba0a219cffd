"""The bounded move (paper, section 3.1): the feasible row nearest to the boundary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region
from ssba.search.regions import Matrix, Numbers, Vector

MOST_PAIRS = 64
"""How many boundary points are approached at most."""

# Of a block of stored boundary points so many are kept.
_MOST_POINTS = 256


@dataclass(frozen=True)
class Approach:
    """Feasible rows ordered by how near they come to a boundary point each, which lies at `distances`."""

    rows: Matrix
    points: Matrix
    distances: Vector

    def take(self, which: Sequence[int] | Numbers) -> Self:
        """Return some of the rows."""
        numbers = np.asarray(which, dtype=np.int64)
        return type(self)(self.rows[numbers], self.points[numbers], self.distances[numbers])


def approach(region: Region, metric: Metric, boundary: Matrix) -> Approach:
    """Return, for each boundary point, its nearest feasible row; the nearest pairs first.

    For a box this is exact: no feasible row is nearer to any of the boundary points than the first
    row returned is to its point, since clipping each column is the projection in every norm we use.
    """
    filled: Matrix = np.where(np.isnan(boundary), region.x, boundary)
    rows, fine = region.pull_in(filled)
    rows, filled = rows[fine], filled[fine]
    distances = metric.distance(rows, filled)
    order = np.argsort(distances, kind="stable")[:MOST_PAIRS]
    return Approach(rows, filled, distances).take(order)


def nearest_to_box(region: Region, metric: Metric, boundary: Matrix) -> Matrix:
    """Return the boundary points nearest to the region's box: without linear rows, the nearest there are."""
    filled = np.where(np.isnan(boundary), region.x, boundary)
    low, high = np.where(region.held, region.x, region.lower), np.where(region.held, region.x, region.upper)
    distances = metric.distance(np.clip(filled, low, high), filled)
    return np.asarray(boundary[np.argsort(distances, kind="stable")[:_MOST_POINTS]])
