"""The boundary as a plane: its normal near rows, and the rows nearest to queries on planes, within bounds.

Normals come from scores or from labels alone, by one probe a column that may move.
"""

import itertools

import numpy as np

from ssba.search.lanes import rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS

# Gaps between rows below this are none: what they divide would leave the range of numbers.
_NO_GAP = 1e-280

_SETTLED = 1e-12

# Bounds beyond this are none: their products would leave the range of numbers.
_UNBOUNDED = 1e150


def unit(slope: Matrix) -> tuple[Matrix, Vector]:
    """Return the directions of slopes, of length 1, and their lengths; zeros stay zeros."""
    size = np.abs(slope).max(axis=1, initial=0.0)
    fine = np.where(size > 0, size, 1.0)
    even = slope / fine[:, None]
    length = np.sqrt((even * even).sum(axis=1))
    return even / np.where(length > 0, length, 1.0)[:, None], size * length


def score_slopes(ledger: Ledger, z: Matrix, at: Numbers, margin: Vector, width: Vector) -> Matrix:
    """Return the gradients of the margin at rows by differences, in scaled units; zeros where it is flat.

    Each column goes by a `width` in scaled units, at least by its step, to where it has room.
    """
    regions = ledger.regions
    moves = regions.moves[at] & ~np.isnan(z)
    who, column = np.nonzero(moves)
    step = np.maximum(width[who] * regions.scale[column], regions.step[column])
    here = z[who, column]
    step = np.where(here + step <= regions.high[at[who], column], step, -step)
    rows = z[who]
    places = np.arange(len(who))
    rows[places, column] = here + step
    rows = regions.snap(rows, at[who])
    reply = ledger.ask(rows, at[who])
    slopes = np.zeros_like(z)
    gaps = (rows[places, column] - here) / regions.scale[column]
    fine = np.abs(gaps) > _NO_GAP
    # Scores may be infinite: there is no slope between two of them.
    with np.errstate(invalid="ignore"):
        rise = np.asarray(reply.margin) - margin[who]
    fine &= np.isfinite(rise)
    slopes[who[fine], column[fine]] = rise[fine] / gaps[fine]
    return slopes


def broad_slopes(ledger: Ledger, z: Matrix, at: Numbers, width: Vector) -> Matrix:
    """Return the margin's slopes over a width to both sides of rows, as is right where it has steps."""
    regions = ledger.regions
    moves = regions.moves[at] & ~np.isnan(z)
    who, column = np.nonzero(moves)
    places = np.arange(len(who))
    sides = []
    for sign in (1.0, -1.0):
        rows = z[who]
        rows[places, column] += sign * width[who] * regions.scale[column]
        sides.append(regions.snap(rows, at[who]))
    reply = ledger.ask(np.concatenate(sides), np.concatenate([at[who], at[who]]))
    up, down = np.split(np.asarray(reply.margin), 2)
    gaps = (sides[0][places, column] - sides[1][places, column]) / regions.scale[column]
    with np.errstate(invalid="ignore"):
        rise = up - down
    fine = (np.abs(gaps) > _NO_GAP) & np.isfinite(rise)
    slopes = np.zeros_like(z)
    slopes[who[fine], column[fine]] = rise[fine] / gaps[fine]
    return slopes


def label_normals(
    ledger: Ledger,
    z: Matrix,
    at: Numbers,
    look: tuple[Vector, Vector, Numbers],
    guess: Matrix,
) -> Matrix:
    """Return the boundary's normals near rows from labels alone, in scaled units.

    Along the ray from the start through a row the boundary lies at radius r. How log r changes as the ray is
    turned toward a column is one component of its gradient, which is tangent to the ray; ``v - grad log r``
    is normal to the boundary, exactly so for a plane, where v is the ray's direction. `look` are, for each
    row, the angle to turn by, the steepest slope to tell, and the number of halvings; slopes are looked for
    around those of the plane with the normal `guess`, where it is not zero.
    """
    regions = ledger.regions
    width, steepest, halvings = look
    start = regions.start[at]
    columns = _looked_at(ledger, z, at)
    ray = np.where(columns, (z - start) / regions.scale, 0.0)
    v, radius = unit(ray)
    who, column = np.nonzero(columns & (radius > _NO_GAP)[:, None])
    # Turn each ray to the side on which its column has room.
    reach = z[who, column] + width[who] * radius[who] * regions.scale[column]
    side = np.where(reach <= regions.high[at[who], column], 1.0, -1.0)
    places = np.arange(len(who))
    directions = v[who]
    directions[places, column] += side * width[who]
    directions /= np.sqrt((directions * directions).sum(axis=1))[:, None]
    middle = side * _slopes_of(v, guess)[who, column]
    low = (middle - steepest[who]) * width[who]
    wide = 2 * steepest[who] * width[who]
    at_once = SETTINGS.race.halvings_at_once if ledger.few_calls else 1
    for number in range(0, int(halvings.max(initial=0)), at_once):
        parts = 2 ** np.clip(halvings[who] - number, 0, at_once)
        probe = np.repeat(np.arange(len(who)), parts - 1)
        place = rank_within(probe)
        wide /= parts
        mine = who[probe]
        far = radius[mine] * np.exp(low[probe] + wide[probe] * (place + 1))
        rows = np.where(
            columns[mine], start[mine] + far[:, None] * directions[probe] * regions.scale, z[mine]
        )
        reached = ledger.ask(regions.snap(rows, at[mine]), at[mine]).reached
        first = parts - 1
        np.minimum.at(first, probe[reached], place[reached])
        low += first * wide
    normals = v.copy()
    normals[who, column] -= side * (low + 0.5 * wide) / width[who]
    return np.where(columns, normals, 0.0)


def _looked_at(ledger: Ledger, z: Matrix, at: Numbers) -> Mask:
    """Tell which columns to look at: looks must not leave the bounds, so that cells at one are left out."""
    regions = ledger.regions
    moves = regions.moves[at] & ~np.isnan(z)
    start = regions.start[at]
    outward = ((z <= regions.low[at]) & (z < start)) | ((z >= regions.high[at]) & (z > start))
    inner = moves & ~outward
    return np.where((inner.sum(axis=1) > 1)[:, None], inner, moves)


def _slopes_of(v: Matrix, guess: Matrix) -> Matrix:
    """Return how the log of the radius of guessed planes changes by column; zeros without a guess."""
    along = (guess * v).sum(axis=1)
    # A plane that is nearly parallel to the ray tells nothing.
    fine = along > 0.2 * np.sqrt((guess * guess).sum(axis=1))
    slopes = v - guess / np.where(fine, along, 1.0)[:, None]
    return np.where(fine[:, None], slopes, 0.0)


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
