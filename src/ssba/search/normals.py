"""The boundary's normal near a row, from scores or from labels alone, and the nearest row on its plane."""

from dataclasses import dataclass

import numpy as np

from ssba.arrays import Array, choose, like, marked, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.constraints.regions.region import Region

# Differences of scores are taken over this share of the distance.
NEAR = 1e-3


def unit_rows(columns: list[int], like_row: Array) -> Array:
    """Return one row per column with a one there and zeros elsewhere; it also scatters values back."""
    return like(np.eye(like_row.shape[0])[columns], like_row)


def movable(region: Region, z: Array) -> list[int]:
    """Return the columns whose numbers can move at `z`."""
    xp = namespace(z)
    return marked(region.free & ~region.discrete & ~xp.isnan(region.start + z))


# Gaps between rows below this are none: what they divide would leave the range of numbers.
_NO_GAP = 1e-280


def toward(slope: Array) -> tuple[Array, float]:
    """Return the direction of a slope, of about length 1 so that its squares are numbers, and its length."""
    xp = namespace(slope)
    size = float(xp.max(xp.abs(slope)))
    if size == 0:
        return slope, 0.0
    even = slope / size
    length = float(xp.sqrt(xp.sum(even * even)))
    return even / length, size * length


def _slope(rise: Array, gaps: Array) -> Array:
    xp = namespace(rise)
    fine = xp.abs(gaps) > _NO_GAP
    return xp.where(fine, rise / xp.where(fine, gaps, xp.ones_like(gaps)), xp.zeros_like(gaps))


def score_normal(region: Region, z: Array, columns: list[int], width: float) -> Asking[Array]:
    """Return the direction in which the margin rises most at `z`, in scaled units; zeros where it is flat."""
    return toward((yield from score_slope(region, z, columns, width)))[0]


def score_slope(region: Region, z: Array, columns: list[int], width: float) -> Asking[Array]:
    """Return the gradient of the margin at `z` by differences, in scaled units; zeros where it is flat."""
    xp = namespace(z)
    grid, units = region.grid, unit_rows(columns, z)
    smallest = xp.where(grid.stepped, grid.numerator / grid.denominator, xp.zeros_like(z))
    step = xp.maximum(width * region.scale, smallest)
    step = xp.where(z + step <= region.upper, step, -step)
    asked = region.snap(xp.concat([z[None, :], xp.where(units > 0, z + step, z)]))
    reply = yield asked
    if reply.margin is None:
        return xp.zeros_like(z)
    moves = xp.where(units > 0, (asked[1:, :] - asked[:1, :]) / region.scale, xp.zeros_like(units))
    gaps = xp.sum(moves, axis=1)
    rise = reply.margin[1:] - reply.margin[0]
    return _slope(rise, gaps) @ units


def broad_score_normal(region: Region, z: Array, columns: list[int], width: float) -> Asking[Array]:
    """Return the margin's slope over a width to both sides of `z`, as is right where it has steps."""
    xp = namespace(z)
    units = unit_rows(columns, z)
    step = width * region.scale
    sides = [xp.where(units > 0, z + step, z), xp.where(units > 0, z - step, z)]
    asked = region.snap(xp.concat(sides))
    reply = yield asked
    if reply.margin is None:
        return xp.zeros_like(z)
    count = len(columns)
    gaps = xp.sum(
        xp.where(units > 0, (asked[:count, :] - asked[count:, :]) / region.scale, 0 * units), axis=1
    )
    rise = reply.margin[:count] - reply.margin[count:]
    return toward(_slope(rise, gaps) @ units)[0]


@dataclass(frozen=True)
class Look:
    """How closely labels are looked at: over what width, up to which slope, in how many halvings.

    Widths are shares of the radius. A slope is how steeply the boundary's radius changes with direction;
    what is steeper than `steepest` is taken to be that steep.
    """

    width: float
    steepest: float
    halvings: int


def label_normal(
    region: Region, z: Array, columns: list[int], look: Look, guess: Array | None = None
) -> Asking[Array]:
    """Return the boundary's normal near `z` from labels alone, in scaled units.

    With a `guess`, such as the normal seen elsewhere, slopes are looked for around those of its plane.

    Along the ray from the start through `z` the boundary lies at radius r. How r changes over a tangent
    basis gives the gradient of log r, and ``v - grad log r`` is normal to the boundary (exactly so for a
    plane), where v is the ray's direction.
    """
    xp = namespace(z)
    units = unit_rows(columns, z)
    free = xp.sum(units, axis=0) > 0
    ray = choose((z - region.start) / region.scale, columns)
    v, length = toward(ray)
    if length < _NO_GAP:
        return xp.zeros_like(z)
    radius = like(np.array(length), z)
    basis = _tangents(v)
    directions = v + look.width * basis
    directions = directions / xp.sqrt(xp.sum(directions * directions, axis=1, keepdims=True))
    low = _slopes(v, basis, guess, columns) * look.width - look.steepest * look.width
    width = 2 * look.steepest * look.width
    for _ in range(look.halvings):
        width = 0.5 * width
        moves = ((radius * xp.exp(low + width))[:, None] * directions) @ units
        reply = yield region.snap(xp.where(free, region.start + moves * region.scale, z))
        low = low + width * xp.astype(~reply.reached, low.dtype)
    slope = (low + 0.5 * width) / look.width
    return (v - slope @ basis) @ units


def _slopes(v: Array, basis: Array, guess: Array | None, columns: list[int]) -> Array:
    """Return how the radius of the guessed plane changes over a tangent basis; zeros without a guess."""
    xp = namespace(v)
    if guess is None:
        return xp.zeros_like(basis[:, 0])
    normal = choose(guess, columns)
    along = float(xp.sum(normal * v))
    # A plane that is nearly parallel to the ray tells nothing.
    if along <= 0.2 * float(xp.sqrt(xp.sum(normal * normal))):
        return xp.zeros_like(basis[:, 0])
    return -(basis @ normal) / along


def _tangents(v: Array) -> Array:
    """Return an orthonormal basis of all directions at a right angle to `v` (a Householder reflection)."""
    xp = namespace(v)
    largest = int(xp.argmax(xp.abs(v)))
    rows = like(np.delete(np.eye(v.shape[0]), largest, axis=0), v)
    pivot = like(np.eye(v.shape[0])[largest], v)
    mirror = v + pivot * (1.0 if float(v[largest]) >= 0 else -1.0)
    mirror = mirror / xp.sqrt(xp.sum(mirror * mirror))
    return rows - 2 * (rows @ mirror)[:, None] * mirror


def foot(region: Region, z: Array, normal: Array, columns: list[int], norm: str) -> Array:
    """Return the row nearest to the query on the plane through `z`, within the bounds.

    Only the given columns move, and those in which the plane has no slope go back to the query; where
    there are linear rows, they hold too.
    """
    xp = namespace(z)
    moves, still = xp.sum(unit_rows(columns, z), axis=0) > 0, xp.zeros_like(z)
    home = xp.where(xp.isnan(region.x), region.start, region.x)
    if region.linear is not None and norm == "l2":
        return region.nearest_beyond(z, normal / region.scale)
    u = xp.where(moves, (z - home) / region.scale, still)
    low = xp.where(moves, (region.lower - home) / region.scale, still)
    high = xp.where(moves, (region.upper - home) / region.scale, still)
    nearest = (_foot_l2 if norm == "l2" else _foot_l1)(normal, float(xp.sum(normal * u)), low, high)
    return xp.where(moves, home + nearest * region.scale, z)


def plane_foot(region: Region, normal: Array, offset: float, norm: str) -> Array:
    """Return the row nearest to the query on the plane ``normal @ u == offset``: u is from the start, scaled.

    The normal has length 1.
    """
    xp = namespace(normal)
    home = xp.where(xp.isnan(region.start), xp.zeros_like(normal), region.start)
    z = home + region.scale * normal * offset
    columns = movable(region, region.start)
    return foot(region, xp.where(region.discrete, region.start, z), normal, columns, norm)


def _foot_l2(normal: Array, offset: float, low: Array, high: Array) -> Array:
    """Return the shortest u in the box with ``normal @ u == offset``: clip(t * normal) for the right t."""
    xp = namespace(normal)
    t = offset / float(xp.sum(normal * normal))
    for _ in range(normal.shape[0] + 1):
        u = xp.clip(t * normal, low, high)
        short = offset - float(xp.sum(normal * u))
        inside = xp.where(u == t * normal, normal, xp.zeros_like(normal))
        room = float(xp.sum(inside * inside))
        if abs(short) <= 1e-12 * abs(offset) or room == 0:
            break
        t += short / room
    return xp.clip(t * normal, low, high)


def _foot_l1(normal: Array, offset: float, low: Array, high: Array) -> Array:
    """Return the L1-shortest u in the box with ``normal @ u == offset``: steepest columns first."""
    xp = namespace(normal)
    u = xp.clip(xp.zeros_like(normal), low, high)
    left = offset - float(xp.sum(normal * u))
    for j in to_numpy(xp.argsort(-xp.abs(normal), stable=True)).tolist():
        slope = float(normal[j])
        if left <= 0 or slope == 0:
            break
        moved = min(max(float(u[j]) + left / slope, float(low[j])), float(high[j]))
        left -= slope * (moved - float(u[j]))
        u[j] = moved
    return u
