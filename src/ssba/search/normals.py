"""The boundary's normal near rows, from scores or from labels alone: one probe a column that may move."""

import numpy as np

from ssba.search.ledger import Ledger, rank_within
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS

# Gaps between rows below this are none: what they divide would leave the range of numbers.
_NO_GAP = 1e-280


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
