"""The boundary as a plane: its normal near rows, and the rows nearest to queries on planes, within bounds.

Normals come from scores or from labels alone, by one probe a column that may move.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from ssba.arrays import Array, by_row, choose, counting, in_blocks, like, namespace, put, to_numpy
from ssba.search.lanes import rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Cells, Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS

# Gaps between rows below this are none: what they divide would leave the range of numbers.
_NO_GAP = 1e-280

_SETTLED = 1e-12

# Normals are not shorter than this.
_LEAST = 1e-300

# Bounds beyond this are none: their products would leave the range of numbers.
_UNBOUNDED = 1e150


def unit(slope: Matrix) -> tuple[Matrix, Vector]:
    """Return the directions of slopes, of length 1, and their lengths; zeros stay zeros."""
    xp = namespace(slope)
    if not len(slope):
        return slope, np.empty(0)
    size = xp.max(xp.abs(slope), axis=1)
    even = slope / xp.where(size > 0, size, xp.ones_like(size))[:, None]
    length = xp.sqrt(xp.sum(even * even, axis=1))
    directions = even / xp.where(length > 0, length, xp.ones_like(length))[:, None]
    return directions, np.asarray(to_numpy(size * length))


@dataclass(frozen=True)
class Probes:
    """A row for each cell of a mask: whose row it is and which column, on the host and beside the rows."""

    who: Numbers
    column: Numbers
    owner: Array
    cell: Array
    place: Array

    @classmethod
    def of(cls, cells: Cells) -> "Probes":
        """Return a probe for each of the cells."""
        count, width = cells.shape
        if bool(namespace(cells).all(cells)):
            # The most frequent case; told like this, the mask does not have to come from a device.
            who, column = np.repeat(np.arange(count), width), np.tile(np.arange(width), count)
        else:
            who, column = np.nonzero(to_numpy(cells))
        return cls(who, column, like(who, cells), like(column, cells), counting(0, len(who), cells))

    def rows(self, z: Matrix, values: Array) -> Matrix:
        """Return the owners' rows, each with its own value in its own cell."""
        rows = choose(z, self.owner)
        rows[self.place, self.cell] = values
        return rows

    def slopes(self, z: Matrix, rise: Vector, gaps: Array) -> Matrix:
        """Return rises over gaps, by owner and column; zeros where there is no gap, or no finite rise."""
        xp, rises = namespace(z), like(rise, z)
        fine = (xp.abs(gaps) > _NO_GAP) & xp.isfinite(rises)
        slopes = xp.zeros_like(z)
        slopes[self.owner, self.cell] = xp.where(fine, rises, 0.0) / xp.where(fine, gaps, 1.0)
        return slopes


def score_slopes(
    ledger: Ledger, z: Matrix, at: Numbers, width: Vector, margin: Vector | None = None
) -> Matrix:
    """Return the gradients of the margin at rows by differences, in scaled units; zeros where it is flat.

    Each column goes by a `width` in scaled units to both sides, as is right where the margin has steps. Where
    the `margin` of the rows is known it goes to where it has room, at least by its step.
    """
    regions = ledger.regions
    xp, there = namespace(z), like(at, z)
    probes = Probes.of(choose(regions.moves, there) & ~xp.isnan(z))
    owner, cell, of = probes.owner, probes.cell, at[probes.who]
    here, scale, ours = z[owner, cell], regions.scale[cell], (probes.place, cell)
    step = choose(like(width, z), owner) * scale
    if margin is None:
        up, down = (regions.snap(probes.rows(z, here + sign * step), of) for sign in (1.0, -1.0))
        reply = ledger.ask(xp.concat([up, down]), np.concatenate([of, of]))
        (higher, lower), before = np.split(np.asarray(reply.margin), 2), down[ours]
    else:
        step = xp.maximum(step, regions.step[cell])
        step = xp.where(here + step <= regions.high[choose(there, owner), cell], step, -step)
        up = regions.snap(probes.rows(z, here + step), of)
        higher, lower, before = np.asarray(ledger.ask(up, of).margin), margin[probes.who], here
    # Scores may be infinite: there is no slope between two of them.
    with np.errstate(invalid="ignore"):
        rise = higher - lower
    return probes.slopes(z, rise, (up[ours] - before) / scale)


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
    row, the angle to turn by, the steepest slope to tell, and how many cells of slopes are told apart up to
    it; slopes are looked for around those of the plane with the normal `guess`, where it is not zero.
    """
    regions = ledger.regions
    xp, there = namespace(z), like(at, z)
    start = choose(regions.start, there)
    columns = _looked_at(ledger, z, at)
    v, radius = unit(xp.where(columns, (z - start) / regions.scale, 0.0))
    probes = Probes.of(columns & by_row(radius > _NO_GAP, z))
    who, owner, cell = probes.who, probes.owner, probes.cell
    width, steepest, cells = look[0][who], look[1][who], look[2][who]
    # Turn each ray to the side on which its column has room.
    reach = z[owner, cell] + like(width * radius[who], z) * regions.scale[cell]
    side = to_numpy(xp.where(reach <= regions.high[choose(there, owner), cell], 1.0, -1.0))
    directions = probes.rows(v, v[owner, cell] + like(side * width, z))
    directions /= xp.sqrt(xp.sum(directions * directions, axis=1))[:, None]
    middle = side * to_numpy(_slopes_of(v, guess)[owner, cell])
    low = (middle - steepest) * width
    wide = 2 * steepest * width
    # With few columns calls have few rows: it costs little to divide by more.
    widely = ledger.asks_widely | (regions.columns_moving[at] <= SETTINGS.race.few_columns)
    most = np.where(widely, SETTINGS.race.parts_at_once, SETTINGS.race.parts)[who]

    def turned(mine: Array, probe: Numbers, far: Vector, of: Numbers) -> Matrix:
        rows = choose(directions, probe)
        rows *= by_row(far, z)
        rows *= regions.scale
        rows += choose(start, mine)
        return regions.snap(xp.where(choose(columns, mine), rows, choose(z, mine)), of)

    while (cells > 1).any():
        parts = _parts_of(cells, most)
        cells = cells // parts
        probe = np.repeat(np.arange(len(who)), parts - 1)
        place = rank_within(probe)
        wide /= parts
        far = radius[who[probe]] * np.exp(low[probe] + wide[probe] * (place + 1))
        of = at[who[probe]]
        rows = in_blocks(turned, z.shape[1], like(who[probe], z), probe, far, of)
        reached = ledger.ask(rows, of).reached
        first = parts - 1
        np.minimum.at(first, probe[reached], place[reached])
        low += first * wide
    slopes = xp.zeros_like(v)
    slopes[owner, cell] = like(side * (low + 0.5 * wide) / width, z)
    return xp.where(columns, v - slopes, 0.0)


def _parts_of(cells: Numbers, most: Numbers) -> Numbers:
    """Return the largest part, up to `most`, that each number of cells can be divided into evenly."""
    different, place = np.unique(np.stack([cells, most]), axis=1, return_inverse=True)
    found = [
        next((k for k in range(up_to, 1, -1) if number % k == 0), number) for number, up_to in different.T
    ]
    return np.array(found, dtype=np.int64)[place.ravel()]


def _looked_at(ledger: Ledger, z: Matrix, at: Numbers) -> Cells:
    """Tell which columns to look at: looks must not leave the bounds, so that cells at one are left out."""
    regions, xp, there = ledger.regions, namespace(z), like(at, z)
    moves = choose(regions.moves, there) & ~xp.isnan(z)
    start = choose(regions.start, there)
    outward = ((z <= choose(regions.low, there)) & (z < start)) | (
        (z >= choose(regions.high, there)) & (z > start)
    )
    inner = moves & ~outward
    return xp.where((xp.count_nonzero(inner, axis=1) > 1)[:, None], inner, moves)


def _slopes_of(v: Matrix, guess: Matrix) -> Matrix:
    """Return how the log of the radius of guessed planes changes by column; zeros without a guess."""
    xp = namespace(v)
    along = xp.sum(guess * v, axis=1)
    # A plane that is nearly parallel to the ray tells nothing.
    fine = along > 0.2 * xp.sqrt(xp.sum(guess * guess, axis=1))
    slopes = v - guess / xp.where(fine, along, 1.0)[:, None]
    return xp.where(fine[:, None], slopes, 0.0)


def feet(ledger: Ledger, z: Matrix, normal: Matrix, at: Numbers) -> Matrix:
    """Return the rows nearest to the queries on the planes through rows `z`, within the bounds.

    Only numbers move; columns in which a plane has no slope go back to the query. Linear rows hold, too.
    """
    return Boxes.of(ledger, at).feet(z, normal)


@dataclass(frozen=True)
class Boxes:
    """The bounds of some regions as their queries see them, in scaled units.

    `outside` are the places of queries that lie outside of their bounds.
    """

    ledger: Ledger
    at: Numbers
    moves: Cells
    home: Matrix
    low: Matrix
    high: Matrix
    outside: Numbers

    @classmethod
    def of(cls, ledger: Ledger, at: Numbers) -> "Boxes":
        """Return the bounds of some regions."""
        regions = ledger.regions
        xp, there = namespace(regions.x), like(at, regions.x)
        moves, home = choose(regions.moves, there), choose(regions.x, there)
        if not regions.are_boxes:
            home = np.where(np.isnan(home), regions.start[at], home)
        low, high = (
            xp.where(moves, (choose(bound, there) - home) / regions.scale, 0.0)
            for bound in (regions.low, regions.high)
        )
        outside = np.flatnonzero(to_numpy(xp.any((low > 0) | (high < 0), axis=1)))
        return cls(ledger, at, moves, home, low, high, outside)

    def feet(self, z: Matrix, normal: Matrix) -> Matrix:
        """Return the rows nearest to the queries on the planes through rows `z`, one in each region."""
        regions, metric, xp = self.ledger.regions, self.ledger.metric, namespace(z)
        moves = self.moves & ~xp.isnan(z)
        normal = xp.where(moves, normal, 0.0)
        offset = xp.sum(normal * xp.where(moves, (z - self.home) / regions.scale, 0.0), axis=1)
        nearest = (self._feet_l2 if metric.adds_squares else self._feet_l1)(normal, offset)
        found = xp.where(moves, self.home + nearest * regions.scale, z)
        if metric.adds_squares and regions.linear.any():
            for i in np.flatnonzero(regions.linear[self.at] & (normal != 0).any(axis=1)):
                found[i] = regions.parts[self.at[i]].nearest_beyond(z[i], normal[i] / regions.scale)
        return found

    def _feet_l2(self, normal: Matrix, offset: Array) -> Matrix:
        """Return the shortest u in each box with ``normal . u == offset``: clip(t * normal) for some t."""
        xp, low, high = namespace(normal), self.low, self.high
        square = xp.sum(normal * normal, axis=1)
        t = offset / xp.where(square > 0, square, 1.0)
        for _ in range(normal.shape[1] + 1):
            straight = t[:, None] * normal
            u = xp.minimum(xp.maximum(straight, low), high)
            short = offset - xp.sum(normal * u, axis=1)
            room = xp.sum(xp.where(u == straight, normal * normal, 0.0), axis=1)
            going = (xp.abs(short) > _SETTLED * xp.abs(offset)) & (room > 0)
            if not bool(xp.any(going)):
                break
            t = t + xp.where(going, short / xp.where(room > 0, room, 1.0), 0.0)
        if len(self.outside):
            # There columns begin to move one by one: steps by slope may go astray.
            some = (choose(one, self.outside) for one in (normal, offset, low, high))
            put(t, self.outside, _between_turns(*some))
        return xp.minimum(xp.maximum(t[:, None] * normal, low), high)

    def _feet_l1(self, normal: Matrix, offset: Array) -> Matrix:
        """Return the L1-shortest u in each box with ``normal . u == offset``: steepest columns first."""
        xp, low, high = namespace(normal), self.low, self.high
        u = xp.minimum(xp.maximum(xp.zeros_like(low), low), high)
        left = offset - xp.sum(normal * u, axis=1)
        order = xp.argsort(-xp.abs(normal), axis=1, stable=True)
        slope, here, lowest, highest = (
            xp.take_along_axis(one, order, axis=1) for one in (normal, u, low, high)
        )
        end = xp.where(slope > 0, highest, lowest)
        # A column without a slope may have no end.
        most = slope * xp.where(slope != 0, end - here, 0.0)
        before = xp.cumsum(xp.concat([xp.zeros_like(most[:, :1]), most[:, :-1]], axis=1), axis=1)
        part = xp.minimum(xp.maximum(left[:, None] - before, xp.zeros_like(most)), most)
        part = xp.where(before < left[:, None], part, 0.0)
        moved = here + xp.where(slope != 0, part / xp.where(slope != 0, slope, 1.0), 0.0)
        # Back to the order of columns.
        return xp.take_along_axis(moved, xp.argsort(order, axis=1, stable=True), axis=1)


def _between_turns(normal: Matrix, offset: Array, low: Matrix, high: Matrix) -> Array:
    """Return the t for which ``normal . clip(t * normal)`` is the offset, or as near to it as the box allows.

    Between the turns, where columns begin and end to move, the sum grows in a straight line.
    """
    xp = namespace(normal)

    def total(t: Array) -> Array:
        return xp.sum(normal * xp.minimum(xp.maximum(t[:, None] * normal, low), high), axis=1)

    steep = normal != 0
    slope = xp.where(steep, normal, 1.0)
    ends = xp.concat([xp.where(steep, low / slope, 0.0), xp.where(steep, high / slope, 0.0)], axis=1)
    turns = xp.sort(xp.clip(ends, -_UNBOUNDED, _UNBOUNDED), axis=1)
    lanes, count = turns.shape
    every = counting(0, lanes, normal)
    first, last = xp.zeros_like(every), xp.zeros_like(every) + (count - 1)
    for _ in range(count.bit_length()):
        middle = (first + last) // 2
        beyond = total(turns[every, middle]) > offset
        first, last = xp.where(beyond, first, middle), xp.where(beyond, middle, last)
    begin, end = turns[every, first], turns[every, last]
    below, above = total(begin), total(end)
    share = xp.clip((offset - below) / xp.where(above > below, above - below, 1.0), 0.0, 1.0)
    return begin + share * (end - begin)


def edges(
    ledger: Ledger, at: Numbers, points: Matrix, normals: Matrix, known: Numbers
) -> tuple[Matrix, Mask]:
    """Return the rows nearest to queries beyond all of some planes, and which lie on two or more of them.

    `points` and `normals` are ``[lanes, planes, columns]``, of which the last `known` count. In L2, without
    linear rows; elsewhere there is none.
    """
    regions, xp, count = ledger.regions, namespace(points), points.shape[1]
    there = like(at, points)
    home = xp.nan_to_num(choose(regions.x, there))
    length = xp.sqrt(xp.sum(normals**2, axis=2))
    unit_normals = normals / xp.where(length > _LEAST, length, _LEAST)[:, :, None]
    gaps = xp.nan_to_num((points - home[:, None]) / regions.scale)
    offsets = xp.sum(unit_normals * gaps, axis=2)
    here = counting(0, count, points) >= count - by_row(known, points)
    best, best_length = xp.zeros_like(home), xp.full_like(length[:, 0], np.inf)
    for size in range(2, count + 1):
        for chosen in itertools.combinations(range(count), size):
            several = list(chosen)
            some, aims = unit_normals[:, several], offsets[:, several]
            products = xp.sum(some[:, :, None] * some[:, None, :], axis=3)
            # Almost parallel planes have no edge worth looking at: the smallest pivot keeps this solvable.
            pivots = like(1e-9 * np.eye(size), points)
            weights = xp.linalg.solve(products + pivots, aims[:, :, None])[:, :, 0]
            u = xp.sum(weights[:, :, None] * some, axis=1)
            beyond = xp.sum(unit_normals * u[:, None], axis=2) >= offsets - 1e-6 * xp.abs(offsets)
            length = xp.sum(u * u, axis=1)
            fine = xp.all(here[:, several], axis=1) & xp.all(weights >= 0, axis=1)
            fine &= xp.all(beyond | ~here, axis=1) & (length < best_length)
            best = xp.where(fine[:, None], u, best)
            best_length = xp.where(fine, length, best_length)
    found = np.asarray(to_numpy(xp.isfinite(best_length))) & ~regions.linear[at]
    moves = xp.any(normals != 0, axis=1)
    return xp.where(moves, home + best * regions.scale, points[:, -1]), found
