"""Straight ways from a region's start to rows on the target side, and the race along them.

A ray keeps the levels of its end all the way: only numbers move. The start is feasible and regions are
convex in their numbers, so that every point between is feasible too.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.problem.distance import Metric
from ssba.problem.region import Region
from ssba.run.arrays import Array, choose, like, namespace, to_numpy

Vector = NDArray[np.float64]

_MOST_STEPS = 24


@dataclass(frozen=True)
class Rays:
    """Ways from the start to each of `ends`; a share of 1 is the end itself.

    Along a ray the distance from the query is ``sqrt(a t**2 + 2 b t + c)`` in L2, and ``a t + c`` in L1
    where the columns' changes do not turn around.
    """

    region: Region
    norm: str
    ends: Array
    way: Array
    moving: Array
    a: Vector
    b: Vector
    c: Vector

    def at(self, numbers: NDArray[np.int64], shares: Vector) -> Array:
        """Return the legal rows at these shares of the rays with these numbers."""
        xp = namespace(self.way)
        rows = self.region.start + choose(self.way, numbers) * like(shares, self.way)[:, None]
        return self.region.snap(xp.where(choose(self.moving, numbers), rows, choose(self.ends, numbers)))

    def distances(self, shares: Vector) -> Vector:
        """Return the distance from the query at a share of each ray."""
        if self.norm == "l2":
            return np.asarray(np.sqrt(np.maximum(self.a * shares**2 + 2 * self.b * shares + self.c, 0.0)))
        return np.asarray(self.a * shares + self.c)

    def shares(self, distance: float | Vector) -> Vector:
        """Return the share of each ray that lies at a distance from the query; at most a little beyond 1."""
        long = np.where(self.a > 0, self.a, 1.0)
        if self.norm == "l2":
            root = np.sqrt(np.maximum(self.b**2 - self.a * (self.c - distance**2), 0.0))
            found = (root - self.b) / long
        else:
            found = (distance - self.c) / long
        return np.where(self.a > 0, np.clip(found, 0.0, None), 1.0)


def rays_to(region: Region, metric: Metric, ends: Array) -> Rays:
    """Return the ways from the region's start to some rows."""
    xp = namespace(ends)
    zero = xp.zeros_like(ends)
    way = ends - region.start
    moving = ~(region.discrete | xp.isnan(way))
    way = xp.where(moving, way, zero)
    costly = moving & ~xp.isnan(region.x)
    pace = way / region.scale
    gap = xp.where(costly, (region.start - region.x) / region.scale, zero)
    pace, fixed = xp.where(costly, pace, zero), xp.where(costly, zero, metric.parts(ends, region.x))
    if metric.norm == "l2":
        parts = [xp.sum(pace * pace, axis=1), xp.sum(gap * pace, axis=1), xp.sum(gap**2 + fixed**2, axis=1)]
    else:
        length = xp.sum(xp.abs(gap + pace), axis=1) - xp.sum(xp.abs(gap), axis=1)
        parts = [length, xp.zeros_like(length), xp.sum(xp.abs(gap) + fixed, axis=1)]
    a, b, c = (np.asarray(to_numpy(part), dtype=float) for part in parts)
    return Rays(region, metric.norm, ends, way, moving, a, b, c)


@dataclass(frozen=True)
class Crossings:
    """Where rays cross the boundary, the nearest first: rows inside, and brackets of their distances."""

    rows: Array
    low: Vector
    high: Vector


@dataclass
class _Field:
    """The runners of a race: brackets of shares, and margins at their ends where there are scores."""

    low: Vector
    high: Vector
    margin_low: Vector
    margin_high: Vector

    def update(
        self, who: NDArray[np.int64], shares: Vector, reached: NDArray[np.bool_], margin: Vector
    ) -> None:
        hit, missed = who[reached], who[~reached]
        # A bracket whose same end stays put halves that end's margin (the Illinois rule), so that the
        # next point falls on the other side.
        self.margin_low[hit] /= 2
        self.margin_high[missed] /= 2
        self.high[hit], self.margin_high[hit] = shares[reached], margin[reached]
        self.low[missed], self.margin_low[missed] = shares[~reached], margin[~reached]

    def secant(self, who: NDArray[np.int64]) -> Vector:
        """Return where a straight line between the margins at the two ends crosses zero."""
        low, high = self.low[who], self.high[who]
        gap = self.margin_high[who] - self.margin_low[who]
        share = np.where(gap > 0, -self.margin_low[who] / np.where(gap > 0, gap, 1.0), 0.5)
        return low + np.clip(share, 0.08, 0.92) * (high - low)


def race(
    rays: Rays,
    keep: int,
    tolerance: float,
    margins: tuple[float, Vector] | None = None,
    nearest: float = 0.0,
) -> Asking[Crossings]:
    """Find the `keep` rays that cross the boundary nearest to the query; the others are left early.

    All ends reach the target, the start does not, and nobody is expected to cross before the distance
    `nearest`. By labels, all rays still in the race are asked about at one common distance: if enough
    of them reach the target there, the others are out. With `margins` (of the start, and of the ends)
    each ray follows its own secant, and those whose crossing is estimated to be far are out.
    """
    count = rays.a.shape[0]
    low = np.minimum(rays.shares(nearest), 0.98) if nearest else np.zeros(count)
    start, ends = (0.0, np.zeros(count)) if margins is None else margins
    field = _Field(low, np.ones(count), np.full(count, start), ends.copy())
    alive = np.arange(count)
    for step in range(_MOST_STEPS):
        far, near = rays.distances(field.high), rays.distances(field.low)
        alive = alive[np.argsort(far[alive], kind="stable")]
        leaders = alive[:keep]
        bar = far[leaders[-1]]
        if margins is None:
            alive = alive[(near[alive] < bar) | (np.arange(alive.shape[0]) < keep)]
        elif step and alive.shape[0] > keep:
            guess = rays.distances(np.where(field.high > 0, _crossing(field), 1.0))
            order = alive[np.argsort(guess[alive], kind="stable")]
            alive = order[: max(keep, (alive.shape[0] + 1) // 2)]
        open_ones = alive[far[alive] > near[alive] * (1 + tolerance)]
        if not open_ones.shape[0] or bool((far[leaders] <= near[leaders] * (1 + tolerance)).all()):
            break
        if margins is None:
            middle = 0.5 * (float(near[open_ones].min()) + float(bar))
            shares = np.clip(rays.shares(middle)[open_ones], field.low[open_ones], field.high[open_ones])
            inside = (shares > field.low[open_ones]) & (shares < field.high[open_ones])
            shares = np.where(inside, shares, 0.5 * (field.low + field.high)[open_ones])
        else:
            shares = field.secant(open_ones)
        reply = yield rays.at(open_ones, shares)
        hit = to_numpy(reply.reached)
        margin = np.zeros(len(hit)) if reply.margin is None else to_numpy(reply.margin)
        field.update(open_ones, shares, hit, margin)
    far = rays.distances(field.high)
    best = alive[np.argsort(far[alive], kind="stable")][:keep]
    return Crossings(rays.at(best, field.high[best]), rays.distances(field.low)[best], far[best])


def _crossing(field: _Field) -> Vector:
    return field.secant(np.arange(field.low.shape[0]))
