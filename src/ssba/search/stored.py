"""What stored boundary points around a query tell before the model is asked: a plane, and where to begin.

Through the points near a query a plane is laid by least squares, the nearest counting most. Where it comes
nearest to the query is a far better beginning than any stored point: on the smooth boundary of a network in
20 columns it lies at 1.2 times the best distance, where the nearest of 100,000 points lies at 1.9.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, like, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.search.archive import Archive
from ssba.search.normals import movable, plane_foot, toward
from ssba.search.rays import rays_to
from ssba.search.starts import Ends

Vector = NDArray[np.float64]

# A plane is laid through at least and at most so many points a moving column, farther ones counting less.
_FEWEST, _MOST, _FADING = 2, 20, 4
_RIDGE = 1e-6
# How far beyond the plane's foot to ask whether the target is reached.
_BEYOND = np.array([1.03, 1.15, 1.5])
# The nearest stored points are ends, too: how many in all, and how many ends run in the first race.
_ENDS, RUNNERS = 15, 2


@dataclass(frozen=True)
class Stored:
    """Feasible boundary points of a query, the nearest first, and which of them reach its target."""

    rows: Array
    reaching: Array

    def inside(self, region: Region) -> "Stored":
        """Return those that lie in a region."""
        kept = region.contains(self.rows)
        return Stored(self.rows[kept], self.reaching[kept])


def stored_ends(archive: Archive, stored: Stored, has_scores: bool) -> Asking[Ends | None]:
    """Return rows that reach the target: beyond the foot of a plane through stored points, and some points.

    None where the points are too few to lay a plane.
    """
    region, metric = archive.region, archive.metric
    normal = plane_through(region, stored.rows)
    if normal is None:
        return None
    # The plane is ``normal @ u == 1``.
    direction, length = toward(normal)
    foot = plane_foot(region, direction, 1 / length, metric.norm)
    rays = rays_to(region, metric, foot[None, :])
    rows, fine = region.pull_in(rays.at(np.zeros(len(_BEYOND), dtype=np.int64), _BEYOND))
    points = stored.rows[stored.reaching][:_ENDS, :]
    xp = namespace(rows)
    # With labels only it is known what the model says of the points; margins must be asked for.
    asked = xp.concat([rows[fine], points[:RUNNERS, :]]) if has_scores else rows[fine]
    reply = yield asked
    hits = np.flatnonzero(to_numpy(reply.reached))
    beyond, others = hits[hits < sum(to_numpy(fine))][:1], hits[hits >= sum(to_numpy(fine))]
    ends, margin = choose(asked, [*beyond, *others]), None
    if reply.margin is not None:
        margin = choose(reply.margin[:, None], [*beyond, *others])[:, 0]
    elif points.shape[0]:
        archive.record(points, Reply(xp.ones(points.shape[0], dtype=xp.bool), None))
        ends = xp.concat([ends, points])
    return Ends(ends, margin, normal) if ends.shape[0] else None


def plane_through(region: Region, stored: Array) -> Array | None:
    """Return n of the plane ``n @ u == 1`` through the nearest points, with u the scaled way from the start.

    Only points with the levels of the region's start lie on one plane; None where these are too few.
    """
    xp = namespace(stored)
    columns = movable(region, region.start)
    alike = xp.all((stored == region.start) | ~region.discrete, axis=1)
    moves = to_numpy((stored[alike] - region.start) / region.scale)[:, columns]
    moves = moves[: _MOST * len(columns)]
    if len(columns) < 2 or len(moves) < _FEWEST * len(columns):
        return None
    normal = np.zeros(region.start.shape[0])
    normal[columns] = _fitted(moves)
    return like(normal, stored) if normal.any() and np.isfinite(normal).all() else None


def _fitted(moves: Vector) -> Vector:
    length = np.maximum(np.linalg.norm(moves, axis=1), 1e-300)
    weight = (length.min() / length) ** _FADING
    weighted = moves * weight[:, None]
    square = weighted.T @ weighted
    square += _RIDGE * np.trace(square) / len(square) * np.eye(len(square))
    return np.asarray(np.linalg.solve(square, weighted.T @ weight))
