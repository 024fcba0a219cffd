"""The rows nearest to queries on planes and where planes meet, within bounds."""

import itertools

import numpy as np

from ssba.search.ledger import Ledger
from ssba.search.regions import Matrix, Numbers, Vector

_SETTLED = 1e-12
# Bounds beyond this are none: their products would leave the range of numbers.
_UNBOUNDED = 1e150


def feet(ledger: Ledger, z: Matrix, normal: Matrix, at: Numbers) -> Matrix:
    """Return the rows nearest to the queries on the planes through rows `z`, within the bounds.

    Only numbers move; columns in which a plane has no slope go back to the query. Linear rows hold, too.
    """
    regions, metric = ledger.regions, ledger.metric
    moves = regions.moves[at] & ~np.isnan(z)
    x, start = regions.x[at], regions.start[at]
    home = np.where(np.isnan(x), start, x)
    normal = np.where(moves, normal, 0.0)
    scaled = np.where(moves, (z - home) / regions.scale, 0.0)
    low = np.where(moves, (regions.low[at] - home) / regions.scale, 0.0)
    high = np.where(moves, (regions.high[at] - home) / regions.scale, 0.0)
    offset = (normal * scaled).sum(axis=1)
    nearest = (_foot_l2 if metric.adds_squares else _foot_l1)(normal, offset, low, high)
    found = np.where(moves, home + nearest * regions.scale, z)
    if metric.adds_squares:
        for i in np.flatnonzero(regions.linear[at] & (normal != 0).any(axis=1)):
            found[i] = regions.parts[at[i]].nearest_beyond(z[i], normal[i] / regions.scale)
    return found


def _foot_l2(normal: Matrix, offset: Vector, low: Matrix, high: Matrix) -> Matrix:
    """Return the shortest u in each box with ``normal . u == offset``: clip(t * normal) for the right t."""
    square = (normal * normal).sum(axis=1)
    t = offset / np.where(square > 0, square, 1.0)
    for _ in range(normal.shape[1] + 1):
        straight = t[:, None] * normal
        u = np.minimum(np.maximum(straight, low), high)
        short = offset - (normal * u).sum(axis=1)
        room = np.where(u == straight, normal * normal, 0.0).sum(axis=1)
        going = (np.abs(short) > _SETTLED * np.abs(offset)) & (room > 0)
        if not going.any():
            break
        t = t + np.where(going, short / np.where(room > 0, room, 1.0), 0.0)
    # From outside its box a query sees columns begin to move one by one: steps by slope may go astray.
    outside = ((low > 0) | (high < 0)).any(axis=1)
    if outside.any():
        t[outside] = _between_turns(normal[outside], offset[outside], low[outside], high[outside])
    return np.minimum(np.maximum(t[:, None] * normal, low), high)


def _between_turns(normal: Matrix, offset: Vector, low: Matrix, high: Matrix) -> Vector:
    """Return the t for which ``normal . clip(t * normal)`` is the offset, or as near to it as the box allows.

    Between the turns, where columns begin and end to move, the sum grows in a straight line.
    """

    def total(t: Vector) -> Vector:
        return np.asarray((normal * np.minimum(np.maximum(t[:, None] * normal, low), high)).sum(axis=1))

    steep = normal != 0
    slope = np.where(steep, normal, 1.0)
    ends = np.concatenate([np.where(steep, low / slope, 0.0), np.where(steep, high / slope, 0.0)], axis=1)
    turns = np.sort(np.clip(ends, -_UNBOUNDED, _UNBOUNDED), axis=1)
    lanes, count = turns.shape
    every, first, last = np.arange(lanes), np.zeros(lanes, dtype=np.int64), np.full(lanes, count - 1)
    for _ in range(count.bit_length()):
        middle = (first + last) // 2
        beyond = total(turns[every, middle]) > offset
        first, last = np.where(beyond, first, middle), np.where(beyond, middle, last)
    begin, end = turns[every, first], turns[every, last]
    below, above = total(begin), total(end)
    share = np.clip((offset - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    return np.asarray(begin + share * (end - begin))


def _foot_l1(normal: Matrix, offset: Vector, low: Matrix, high: Matrix) -> Matrix:
    """Return the L1-shortest u in each box with ``normal . u == offset``: steepest columns first."""
    u = np.minimum(np.maximum(0.0, low), high)
    left = offset - (normal * u).sum(axis=1)
    order = np.argsort(-np.abs(normal), axis=1, kind="stable")
    slope = np.take_along_axis(normal, order, axis=1)
    here = np.take_along_axis(u, order, axis=1)
    end = np.where(slope > 0, np.take_along_axis(high, order, axis=1), np.take_along_axis(low, order, axis=1))
    # A column without a slope may have no end.
    most = slope * np.where(slope != 0, end - here, 0.0)
    before = np.cumsum(np.column_stack([np.zeros(len(most)), most[:, :-1]]), axis=1)
    part = np.clip(left[:, None] - before, 0.0, np.where(np.isfinite(most), most, np.inf))
    part = np.where(before < left[:, None], part, 0.0)
    moved = here + np.where(slope != 0, part / np.where(slope != 0, slope, 1.0), 0.0)
    found = u.copy()
    np.put_along_axis(found, order, moved, axis=1)
    return found


def edges(
    ledger: Ledger, at: Numbers, points: Matrix, normals: Matrix, known: Numbers
) -> tuple[Matrix, Vector]:
    """Return the rows nearest to queries beyond all of some planes, and which lie on two or more of them.

    `points` and `normals` are ``[lanes, planes, columns]``, of which the last `known` count. In L2, without
    linear rows; elsewhere there is none.
    """
    regions, count = ledger.regions, points.shape[1]
    home = np.nan_to_num(regions.x[at])
    unit_normals = normals / np.maximum(np.sqrt((normals**2).sum(axis=2)), 1e-300)[:, :, None]
    offsets = (unit_normals * np.nan_to_num((points - home[:, None]) / regions.scale)).sum(axis=2)
    here = np.arange(count) >= count - known[:, None]
    best, best_length = np.zeros_like(home), np.full(len(at), np.inf)
    for size in range(2, count + 1):
        for chosen in itertools.combinations(range(count), size):
            some, aims = unit_normals[:, chosen], offsets[:, chosen]
            products = (some[:, :, None] * some[:, None, :]).sum(axis=3)
            # Almost parallel planes have no edge worth looking at: the smallest pivot keeps this solvable.
            weights = np.linalg.solve(products + 1e-9 * np.eye(size), aims[:, :, None])[:, :, 0]
            u = (weights[:, :, None] * some).sum(axis=1)
            beyond = (unit_normals * u[:, None]).sum(axis=2) >= offsets - 1e-6 * np.abs(offsets)
            length = (u * u).sum(axis=1)
            fine = here[:, chosen].all(axis=1) & (weights >= 0).all(axis=1) & (beyond | ~here).all(axis=1)
            fine &= length < best_length
            best[fine], best_length[fine] = u[fine], length[fine]
    found = np.isfinite(best_length) & ~regions.linear[at]
    moves = (normals != 0).any(axis=1)
    return np.where(moves, home + best * regions.scale, points[:, -1]), found
