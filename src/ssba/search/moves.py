"""Moves of the refining search: small functions that propose rows or learn about the boundary."""

import numpy as np

from ssba.boundary.bisection import Asking, Path, bisect
from ssba.problem.region import Region
from ssba.run.arrays import Array, choose, like, marked, namespace, repeated, to_numpy
from ssba.search.starts import levels_of, with_column


def path_of(region: Region) -> Path:
    """Return how segments inside the region are walked."""
    xp = namespace(region.x)
    # A blend turns the query's -0.0 into 0.0; only the careful walk gives held cells back bit by bit.
    odd = xp.isnan(region.start) | (xp.signbit(region.x) & (region.x == 0))
    plain = region.grid.trivial and not marked(region.discrete | odd)
    return Path(region.discrete, region.snap, plain and region.rows is None)


def close_in(region: Region, rows: Array, tolerance: float) -> Asking[Array]:
    """Bisect from the region's start to rows that reached the target; return the target-side ends."""
    start = repeated(region.start, rows.shape[0])
    bracket = yield from bisect(start, rows, path_of(region), tolerance)
    return bracket.inside


def unit_rows(columns: list[int], like_row: Array) -> Array:
    """Return one row per column with a one there and zeros elsewhere; it also scatters values back."""
    return like(np.eye(like_row.shape[0])[columns], like_row)


def score_normal(region: Region, z: Array, movable: list[int], width: float) -> Asking[Array]:
    """Return the gradient of the margin at `z` by differences, in scaled units; zeros where it is flat."""
    xp = namespace(z)
    grid, units = region.grid, unit_rows(movable, z)
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
    slope = xp.where(gaps != 0, rise / xp.where(gaps != 0, gaps, xp.ones_like(gaps)), xp.zeros_like(gaps))
    return slope @ units


def label_normal(
    region: Region, z: Array, movable: list[int], width: float, rng: np.random.Generator
) -> Asking[Array]:
    """Return the boundary's normal near `z` from labels alone, in scaled units.

    Along the ray from the start through `z` the boundary lies at radius r. How r changes over a tangent
    basis gives the gradient of log r, and ``v - grad log r`` is normal to the boundary (exactly so for a
    plane), where v is the ray's direction.
    """
    xp = namespace(z)
    units = unit_rows(movable, z)
    free = xp.sum(units, axis=0) > 0
    ray = choose((z - region.start) / region.scale, movable)
    radius = xp.sqrt(xp.sum(ray * ray))
    v = ray / radius
    random = like(rng.normal(size=(len(movable), len(movable) - 1)), z)
    basis = xp.linalg.qr(xp.concat([v[:, None], random], axis=1))[0][:, 1:].T
    directions = v + width * basis
    directions = directions / xp.sqrt(xp.sum(directions * directions, axis=1, keepdims=True))
    low = xp.full(basis.shape[0], 1 - 3 * width, dtype=z.dtype)
    high = xp.full(basis.shape[0], 1 + 3 * width, dtype=z.dtype)
    for _ in range(6):
        middle = 0.5 * (low + high)
        moves = (radius * middle[:, None] * directions) @ units
        reply = yield region.snap(xp.where(free, region.start + moves * region.scale, z))
        high = xp.where(reply.reached, middle, high)
        low = xp.where(reply.reached, low, middle)
    slope = xp.log(0.5 * (low + high)) / width
    return (v - slope @ basis) @ units


def plane_feet(region: Region, z: Array, normal: Array, norm: str) -> Array:
    """Return rows on the way from `z` to the feasible point nearest to the start on the plane through `z`."""
    xp = namespace(z)
    home, moves = region.start, normal != 0
    still = xp.zeros_like(z)
    u = xp.where(moves, (z - home) / region.scale, still)
    low = xp.where(moves, (region.lower - home) / region.scale, still)
    high = xp.where(moves, (region.upper - home) / region.scale, still)
    offset = float(xp.sum(normal * u))
    foot = (_foot_l2 if norm == "l2" else _foot_l1)(normal, offset, low, high)
    shares = like(np.array([[0.2], [0.4], [0.7], [1.0], [1.0], [1.0], [1.4]]), z)
    lengths = like(np.array([[1.0], [1.0], [1.0], [1.0], [1.02], [1.1], [1.0]]), z)
    steps = (u + shares * (foot - u)) * lengths
    pulled, fine = region.pull_in(xp.where(moves, home + steps * region.scale, z))
    return pulled[fine]


def _foot_l2(normal: Array, offset: float, low: Array, high: Array) -> Array:
    """Return the shortest u in the box with ``normal @ u == offset``: clip(t * normal) for the right t."""
    xp = namespace(normal)

    def is_short(t: float) -> bool:
        return float(xp.sum(normal * xp.clip(t * normal, low, high))) < offset

    least, most = 0.0, 1.0
    for _ in range(60):
        if not is_short(most):
            break
        most *= 2
    for _ in range(60):
        middle = 0.5 * (least + most)
        least, most = (middle, most) if is_short(middle) else (least, middle)
    return xp.clip(most * normal, low, high)


def _foot_l1(normal: Array, offset: float, low: Array, high: Array) -> Array:
    """Return the L1-shortest u in the box with ``normal @ u == offset``: steepest columns first."""
    xp = namespace(normal)
    u, left = xp.zeros_like(normal), offset
    for j in to_numpy(xp.argsort(-xp.abs(normal), stable=True)).tolist():
        slope = float(normal[j])
        if left <= 0 or slope == 0:
            break
        u[j] = min(max(left / slope, float(low[j])), float(high[j]))
        left -= slope * float(u[j])
    return u


def pull_back(region: Region, rows: Array, rng: np.random.Generator) -> Asking[None]:
    """Take every column of each row back toward the start, as far as the target stays reached.

    Columns come in a random order of their own for each row; all rows share each model call.
    """
    free = marked(region.free)
    orders = [rng.permutation(free) for _ in range(rows.shape[0])]
    for turn in range(len(free)):
        rows = yield from _take_back(region, rows, [int(order[turn]) for order in orders])


def _take_back(region: Region, rows: Array, columns: list[int]) -> Asking[Array]:
    """Return the rows with one column of each, as given, nearer to the start where that still reaches."""
    xp = namespace(rows)
    picked = unit_rows(columns, region.start) > 0
    both_missing = xp.isnan(rows) & xp.isnan(region.start)
    moved = marked(xp.any(picked & (rows != region.start) & ~both_missing, axis=1))
    if not moved:
        return rows
    now, picked = choose(rows, moved), choose(picked, moved)
    back = xp.where(picked, region.start, now)
    reply = yield back
    hit = reply.reached & region.contains(back)
    now = xp.where(hit[:, None], back, now)
    partly = marked(~hit & ~xp.any(picked & (region.discrete | xp.isnan(region.start)), axis=1))
    if partly:
        ends = choose(now, partly)
        bracket = yield from bisect(choose(back, partly), ends, path_of(region), tolerance=0.1)
        inside = bracket.inside
        now = _put(now, partly, xp.where(region.contains(inside)[:, None], inside, ends))
    return _put(rows, moved, now)


def _put(rows: Array, numbers: list[int], values: Array) -> Array:
    """Return the rows with some of them replaced."""
    replaced = namespace(rows).asarray(rows, copy=True)
    for i, number in enumerate(numbers):
        replaced[number, :] = values[i, :]
    return replaced


def recombined(region: Region, rows: Array, count: int, rng: np.random.Generator) -> Array:
    """Return mixtures of good rows: each cell from one of two parents."""
    xp = namespace(rows)
    first, second = rng.integers(0, rows.shape[0], size=(2, count))
    mask = like(rng.random((count, rows.shape[1])) < 0.5, rows)
    pulled, fine = region.pull_in(xp.where(mask, choose(rows, first), choose(rows, second)))
    return pulled[fine]


def scattered_around(
    region: Region, rows: Array, count: int, width: float, rng: np.random.Generator
) -> Array:
    """Return rows drawn around good ones, their changes stretched by random factors (paper, future work)."""
    xp = namespace(rows)
    parents = choose(rows, rng.integers(0, rows.shape[0], size=count))
    factors = like(np.exp(rng.normal(0.0, width, size=(count, rows.shape[1]))), rows)
    stretched = region.start + (parents - region.start) * factors
    pulled, fine = region.pull_in(xp.where(region.free & ~region.discrete, stretched, parents))
    return pulled[fine]


def neighbours(region: Region, z: Array) -> Array:
    """Return the rows one step of the grid, or one level, away from `z`."""
    step = region.grid.numerator / region.grid.denominator
    rows = []
    for j in marked(region.free & (region.grid.stepped | region.discrete)):
        if bool(region.discrete[j]):
            values = levels_of(region, j)
        else:
            values = [float(z[j] - step[j]), float(z[j] + step[j])]
        rows.append(with_column(z, j, values))
    if not rows:
        return z[None, :][:0, :]
    pulled, fine = region.pull_in(namespace(z).concat(rows))
    return pulled[fine]
