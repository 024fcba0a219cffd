"""Straight ways from a region's start to rows on the target side, and the race along them.

A ray keeps the levels of its end all the way: only numbers move. The start is feasible and regions are
convex in their numbers, so that every point between is feasible too.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, like, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region

Vector = NDArray[np.float64]

_MOST_STEPS = 24
# Rows that a step of a race may ask about where few rays are left. With few columns to move, rows are cheaper
# than steps that wait for each other.
FEW_COLUMNS, _SECTIONS_OF_FEW, _SECTIONS = 8, 7, 3


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

    def one(self, number: int) -> "_Ray":
        """Return one of the rays."""
        shape = (float(part[number]) for part in (self.a, self.b, self.c))
        parts = (part[number, :] for part in (self.ends, self.way, self.moving))
        return _Ray(self.region, self.norm, *parts, *shape)

    def distances(self, shares: Vector) -> Vector:
        """Return the distance from the query at a share of each ray."""
        if self.norm == "l2":
            return np.asarray(np.sqrt(np.maximum(self.a * shares**2 + 2 * self.b * shares + self.c, 0.0)))
        return np.asarray(self.a * shares + self.c)

    def shares(self, distance: float | Vector) -> Vector:
        """Return the share of each ray that lies at a distance from the query; at most a little beyond 1."""
        long = np.where(self.a > 0, self.a, 1.0)
        if self.norm == "l2":
            unit = _unit(long)
            along, long = self.b / unit, long / unit
            root = np.sqrt(np.maximum(along**2 - long / unit * (self.c - distance**2), 0.0))
            found = (root - along) / long
        else:
            found = (distance - self.c) / long
        return np.where(self.a > 0, np.clip(found, 0.0, None), 1.0)


def _unit(square: float | Vector) -> Vector:
    """Return a power of two near the root of numbers: divided by it, fourth powers of lengths are squares.

    Dividing by a power of two rounds nothing.
    """
    return np.asarray(np.ldexp(1.0, np.frexp(square)[1] // 2))


@dataclass(frozen=True)
class _Ray:
    """One of several rays; most of a race is run by a ray that is alone, and single numbers are quick."""

    region: Region
    norm: str
    end: Array
    way: Array
    moving: Array
    a: float
    b: float
    c: float

    def at(self, shares: Vector) -> Array:
        """Return the legal rows at these shares."""
        rows = self.region.start + like(shares, self.way)[:, None] * self.way
        return self.region.snap(namespace(rows).where(self.moving, rows, self.end))

    def distance(self, share: float) -> float:
        """Return the distance from the query at a share."""
        if self.norm == "l2":
            return math.sqrt(max(self.a * share * share + 2 * self.b * share + self.c, 0.0))
        return self.a * share + self.c

    def shares(self, distances: Vector) -> Vector:
        """Return the shares at these distances from the query, which must grow along the ray."""
        if self.norm == "l2":
            unit = float(_unit(self.a))
            along, long = self.b / unit, self.a / unit
            root = np.sqrt(np.maximum(along**2 - long / unit * (self.c - distances**2), 0.0))
            return np.asarray((root - along) / long)
        return np.asarray((distances - self.c) / self.a)


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

    def narrow(self, who: NDArray[np.int64], shares: Vector, reached: NDArray[np.bool_]) -> None:
        """Take in labels: each ray may have been asked about at several shares."""
        np.minimum.at(self.high, who[reached], shares[reached])
        # A miss beyond a hit says that the ray crosses more than once; the first crossing counts.
        missed = ~reached & (shares < self.high[who])
        np.maximum.at(self.low, who[missed], shares[missed])

    def follow(
        self, who: NDArray[np.int64], shares: Vector, reached: NDArray[np.bool_], margin: Vector
    ) -> None:
        """Take in margins, of each ray at one share."""
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
        fine = (gap > 0) & (gap < np.inf)
        share = np.where(fine, -self.margin_low[who] / np.where(fine, gap, 1.0), 0.5)
        return low + np.clip(share, 0.08, 0.92) * (high - low)


def race(
    rays: Rays,
    keep: int,
    tolerance: float,
    margins: tuple[float, Vector] | None = None,
    nearest: float = 0.0,
    sections: int | None = None,
) -> Asking[Crossings]:
    """Find the `keep` rays that cross the boundary nearest to the query; the others are left early.

    All ends reach the target, the start does not, and nobody is expected to cross before the distance
    `nearest`. By labels, all rays still in the race are asked about at one common distance: if enough
    of them reach the target there, the others are out. Once few rays are left, each is asked about at several
    distances at once, about `sections` rows in all: more rows, but fewer steps one after the other. With
    `margins` (of the start, and of the ends) each ray follows its own secant, and those whose crossing is
    estimated to be far are out.
    """
    if sections is None:
        sections = _SECTIONS if rays.region.free_count > FEW_COLUMNS else _SECTIONS_OF_FEW
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
        if margins is None and alive.shape[0] == 1:
            last = int(alive[0])
            bracket = float(field.low[last]), float(field.high[last])
            bracket = yield from _close_in(rays.one(last), bracket, tolerance, sections)
            field.low[last], field.high[last] = bracket
            break
        if margins is None:
            who, shares = _levels(
                rays, field, open_ones, (float(near[open_ones].min()), float(bar)), sections
            )
            reply = yield rays.at(who, shares)
            field.narrow(who, shares, to_numpy(reply.reached))
        else:
            shares = field.secant(open_ones)
            reply = yield rays.at(open_ones, shares)
            field.follow(open_ones, shares, to_numpy(reply.reached), to_numpy(reply.margin))
    far = rays.distances(field.high)
    best = alive[np.argsort(far[alive], kind="stable")][:keep]
    return Crossings(rays.at(best, field.high[best]), rays.distances(field.low)[best], far[best])


def _close_in(
    ray: _Ray, bracket: tuple[float, float], tolerance: float, sections: int
) -> Asking[tuple[float, float]]:
    """Narrow the bracket of a ray that is alone, at several shares at once."""
    cuts = np.arange(1, sections + 1) / (sections + 1)
    low, high = bracket
    near, far = ray.distance(low), ray.distance(high)
    for _ in range(_MOST_STEPS):
        if far <= near * (1 + tolerance):
            break
        shares = ray.shares(near + (far - near) * cuts)
        if not low < shares[0] <= shares[-1] < high:
            shares = low + (high - low) * cuts
        reply = yield ray.at(shares)
        known = [low, *shares.tolist(), high]
        first = [*to_numpy(reply.reached).tolist(), True].index(True)
        low, high = known[first], known[first + 1]
        near, far = ray.distance(low), ray.distance(high)
    return low, high


def _levels(
    rays: Rays, field: _Field, open_ones: NDArray[np.int64], between: tuple[float, float], sections: int
) -> tuple[NDArray[np.int64], Vector]:
    """Return what shares of which rays to ask about: those at some common distances, inside their brackets.

    A ray that has none of these distances in its bracket is asked about in its middle.
    """
    count = max(1, sections // open_ones.shape[0])
    low, high = field.low[open_ones], field.high[open_ones]
    near, far = between
    levels = near + (far - near) * np.arange(1, count + 1)[:, None] / (count + 1)
    shares = rays.shares(levels)[:, open_ones]
    inside = (shares > low) & (shares < high)
    left_out = ~inside.any(axis=0)
    shares[0, left_out], inside[0, left_out] = 0.5 * (low + high)[left_out], True
    return np.broadcast_to(open_ones, shares.shape)[inside], shares[inside]


def _crossing(field: _Field) -> Vector:
    return field.secant(np.arange(field.low.shape[0]))
