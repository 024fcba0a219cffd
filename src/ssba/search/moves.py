"""Moves of the refining search: small functions that propose rows or learn about the boundary."""

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking, Path, bisect
from ssba.problem.region import Region

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


def path_of(region: Region) -> Path:
    """Return how segments inside the region are walked."""
    # A blend turns the query's -0.0 into 0.0; only the careful walk gives held cells back bit by bit.
    odd = np.isnan(region.start) | (np.signbit(region.x) & (region.x == 0))
    plain = region.grid.trivial and not (region.discrete | odd).any()
    return Path(region.discrete, region.snap, plain and region.rows is None)


def close_in(region: Region, rows: Matrix, tolerance: float) -> Asking[Matrix]:
    """Bisect from the region's start to rows that reached the target; return the target-side ends."""
    start = np.repeat(region.start[None, :], len(rows), axis=0)
    bracket = yield from bisect(start, rows, path_of(region), tolerance)
    inside: Matrix = bracket.inside
    return inside


def score_normal(region: Region, z: Vector, movable: NDArray[np.int64], width: float) -> Asking[Vector]:
    """Return the gradient of the margin at `z` by differences, in scaled units; zeros where it is flat."""
    step = np.maximum(
        width * region.scale, region.grid.stepped * region.grid.numerator / region.grid.denominator
    )
    rows = np.repeat(z[None, :], len(movable) + 1, axis=0)
    for i, j in enumerate(movable):
        rows[i + 1, j] += step[j] if z[j] + step[j] <= region.upper[j] else -step[j]
    reply = yield region.snap(rows)
    normal = np.zeros(len(z))
    if reply.margin is None:
        return normal
    asked = region.snap(rows)
    gaps = (asked[np.arange(1, len(rows)), movable] - asked[0, movable]) / region.scale[movable]
    moved = gaps != 0
    rise = (reply.margin[1:] - reply.margin[0])[moved]
    normal[movable[moved]] = rise / gaps[moved]
    return normal


def label_normal(
    region: Region, z: Vector, movable: NDArray[np.int64], width: float, rng: np.random.Generator
) -> Asking[Vector]:
    """Return the boundary's normal near `z` from labels alone, in scaled units.

    Along the ray from the start through `z` the boundary lies at radius r. How r changes over a tangent
    basis gives the gradient of log r, and ``v - grad log r`` is normal to the boundary (exactly so for a
    plane), where v is the ray's direction.
    """
    home = region.start[movable]
    ray = (z[movable] - home) / region.scale[movable]
    radius = float(np.linalg.norm(ray))
    v = ray / radius
    basis = np.linalg.qr(np.column_stack([v, rng.normal(size=(len(v), len(v) - 1))]))[0][:, 1:].T
    directions = v + width * basis
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    low, high = np.full(len(basis), 1 - 3 * width), np.full(len(basis), 1 + 3 * width)
    for _ in range(6):
        middle = 0.5 * (low + high)
        rows = np.repeat(z[None, :], len(basis), axis=0)
        rows[:, movable] = home + radius * middle[:, None] * directions * region.scale[movable]
        reply = yield region.snap(rows)
        high = np.where(reply.reached, middle, high)
        low = np.where(reply.reached, low, middle)
    slope = np.log(0.5 * (low + high)) / width
    normal = np.zeros(len(z))
    normal[movable] = v - slope @ basis
    return normal


def plane_feet(region: Region, z: Vector, normal: Vector, norm: str) -> Matrix:
    """Return rows on the way from `z` to the feasible point nearest to the start on the plane through `z`."""
    home = region.start
    u = np.where(normal != 0, (z - home) / region.scale, 0.0)
    offset = float(normal @ u)
    low = np.where(normal != 0, (region.lower - home) / region.scale, 0.0)
    high = np.where(normal != 0, (region.upper - home) / region.scale, 0.0)
    foot = (_foot_l2 if norm == "l2" else _foot_l1)(normal, offset, low, high)
    shares = np.array([0.2, 0.4, 0.7, 1.0, 1.0, 1.0, 1.4])
    lengths = np.array([1.0, 1.0, 1.0, 1.0, 1.02, 1.1, 1.0])
    moves = (u + shares[:, None] * (foot - u)) * lengths[:, None]
    rows = np.where(normal != 0, home + moves * region.scale, z)
    pulled, fine = region.pull_in(rows)
    inside: Matrix = pulled[fine]
    return inside


def _foot_l2(normal: Vector, offset: float, low: Vector, high: Vector) -> Vector:
    """Return the shortest u in the box with ``normal @ u == offset``: clip(t * normal) for the right t."""
    least, most = 0.0, 1.0
    for _ in range(60):
        if normal @ np.clip(most * normal, low, high) >= offset:
            break
        most *= 2
    for _ in range(60):
        middle = 0.5 * (least + most)
        short = normal @ np.clip(middle * normal, low, high) < offset
        least, most = (middle, most) if short else (least, middle)
    return np.clip(most * normal, low, high)


def _foot_l1(normal: Vector, offset: float, low: Vector, high: Vector) -> Vector:
    """Return the L1-shortest u in the box with ``normal @ u == offset``: steepest columns first."""
    u = np.zeros_like(normal)
    for j in np.argsort(-np.abs(normal), kind="stable"):
        left = offset - float(normal @ u)
        if left <= 0 or normal[j] == 0:
            break
        u[j] = np.clip(left / normal[j], low[j], high[j])
    return u


def pull_back(region: Region, rows: Matrix, rng: np.random.Generator) -> Asking[None]:
    """Take every column of each row back toward the start, as far as the target stays reached.

    Columns come in a random order of their own for each row; all rows share each model call.
    """
    rows = rows.copy()
    free = np.flatnonzero(region.free)
    orders = np.array([rng.permutation(free) for _ in rows])
    for turn in range(len(free)):
        yield from _take_back(region, rows, orders[:, turn])


def _take_back(region: Region, rows: Matrix, columns: NDArray[np.int64]) -> Asking[None]:
    here = np.arange(len(rows))
    moved = _differ(rows[here, columns], region.start[columns])
    here, columns = here[moved], columns[moved]
    if not len(here):
        return
    back = rows[here].copy()
    back[np.arange(len(here)), columns] = region.start[columns]
    reply = yield back
    hit = np.asarray(reply.reached) & region.contains(back)
    rows[here[hit]] = back[hit]
    partly = ~hit & ~region.discrete[columns] & ~np.isnan(back[np.arange(len(here)), columns])
    if partly.any():
        bracket = yield from bisect(back[partly], rows[here[partly]], path_of(region), tolerance=0.1)
        inside = bracket.inside
        fine = region.contains(inside)
        rows[here[partly][fine]] = inside[fine]


def _differ(a: Vector, b: Vector) -> NDArray[np.bool_]:
    return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))


def recombined(region: Region, rows: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Return mixtures of good rows: each cell from one of two parents."""
    first, second = rng.integers(0, len(rows), size=(2, count))
    mixed = np.where(rng.random((count, rows.shape[1])) < 0.5, rows[first], rows[second])
    pulled, fine = region.pull_in(mixed)
    inside: Matrix = pulled[fine]
    return inside


def scattered_around(
    region: Region, rows: Matrix, count: int, width: float, rng: np.random.Generator
) -> Matrix:
    """Return rows drawn around good ones, their changes stretched by random factors (paper, future work)."""
    parents = rows[rng.integers(0, len(rows), size=count)]
    factors = np.exp(rng.normal(0.0, width, size=parents.shape))
    stretched = region.start + (parents - region.start) * factors
    drawn = np.where(region.free & ~region.discrete, stretched, parents)
    pulled, fine = region.pull_in(drawn)
    inside: Matrix = pulled[fine]
    return inside


def neighbours(region: Region, z: Vector) -> Matrix:
    """Return the rows one step of the grid, or one level, away from `z` and not further than it."""
    step = region.grid.numerator / region.grid.denominator
    rows = []
    for j in np.flatnonzero(region.free & (region.grid.stepped | region.discrete)):
        values = (
            np.flatnonzero(region.allowed[j]) if region.discrete[j] else z[j] + step[j] * np.array([-1, 1])
        )
        changed = np.repeat(z[None, :], len(values), axis=0)
        changed[:, j] = values
        rows.append(changed)
    if not rows:
        return z[None, :][:0]
    pulled, fine = region.pull_in(np.concatenate(rows))
    inside: Matrix = pulled[fine]
    return inside
