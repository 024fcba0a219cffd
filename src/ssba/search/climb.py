"""Uphill by score, one column at a time: to the best feasible row, or in few calls to any that reaches.

What is asked depends on the score alone, and not on how much of it the target asks for. So a target that asks
for less of the same score is not offered a worse row.
"""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.constraints.regions.region import Region
from ssba.search.lanes import different
from ssba.search.regions import Matrix, Regions, Vector
from ssba.search.starts import combined_changes, single_changes

# Columns go these shares of the way to their ends; smaller ones where none of the larger ones helps.
_SHARES = ((1.0, 0.4, 0.1, 0.03), (0.01, 0.003), (1e-3, 3e-4), (1e-4, 3e-5))
_ROUNDS = 60
# All of these in one call, where calls are to be few; and for so many rounds.
_ALL_SHARES, _FEW_ROUNDS = (1.0, 0.4, 0.1, 0.03, 0.01, 0.003), 12


def climb(region: Region, start: Vector) -> Asking[Vector | None]:
    """Follow the score from a feasible row; return the best row found, with no column changed in vain.

    None where the model gives no scores. It ends where a row reaches the target.
    """
    row, margins = start, (yield start[None, :]).margin
    if margins is None:
        return None
    margin, finer = float(margins[0]), 0
    for _ in range(_ROUNDS):
        if finer == len(_SHARES) or margin >= 0:
            break
        rows = _changed(region, row, _SHARES[finer])
        margins = yield from _margins(rows)
        helped = margins > margin
        if not helped.any():
            finer += 1
            continue
        rows, margins = rows[helped], margins[helped]
        together, best = _together(region, row, rows, margins), int(np.argmax(margins))
        row, margin = rows[best], float(margins[best])
        joint = yield from _margins(together)
        if len(joint) and float(joint[0]) > margin:
            row, margin = together[0], float(joint[0])
    return (yield from _without_vain_changes(region, row, margin))


def climb_in_few_calls(region: Region, row: Vector) -> Asking[None]:
    """Change one column at a time, and then all that helped together, until a row reaches or nothing helps.

    What all changes together come to is asked about along with what would follow from there.
    """
    rows = changed_once(region, row)
    reply = yield np.concatenate([row[None, :], rows])
    told = np.asarray(reply.margin)
    margin, margins = told[0], told[1:]
    for _ in range(_FEW_ROUNDS):
        helped = margins > margin
        if not helped.any() or reply.reached.any():
            return
        rows, margins = rows[helped], margins[helped]
        best = int(np.argmax(margins))
        together = _together(region, row, rows, margins)
        joint = together[0] if len(together) else rows[best]
        further = changed_once(region, joint)
        reply = yield np.concatenate([joint[None, :], further])
        told = np.asarray(reply.margin)
        if told[0] >= margins[best]:
            row, margin, rows, margins = joint, told[0], further, told[1:]
            continue
        row, margin = rows[best], margins[best]
        rows = changed_once(region, row)
        reply = yield rows
        margins = np.asarray(reply.margin)


def _changed(region: Region, row: Vector, shares: tuple[float, ...]) -> Matrix:
    """Return a row with one column changed at a time, by each of some shares of the way to its ends."""
    regions, count = Regions((region,), np.zeros(1, dtype=np.int64)), len(shares)
    at = np.zeros(count, dtype=np.int64)
    return single_changes(regions, np.tile(row, (count, 1)), at, np.array(shares))[0]


def changed_once(region: Region, row: Vector, shares: tuple[float, ...] = _ALL_SHARES) -> Matrix:
    """Return a row with one column changed at a time, as `_changed` does, each such row once."""
    rows = _changed(region, row, shares)
    return np.asarray(rows[different(rows)])


def _together(region: Region, row: Vector, rows: Matrix, margins: Vector) -> Matrix:
    """Return the row with all changes that helped; none where it does not get into the region."""
    whose = np.zeros(len(rows), dtype=np.int64)
    together, fine = region.pull_in(combined_changes(row[None, :], rows, whose, margins))
    return np.asarray(together[fine])


def _margins(rows: Matrix) -> Asking[Vector]:
    """Ask about rows; return by how much they miss the target. None are asked where there are none."""
    if not len(rows):
        return np.empty(0)
    reply = yield rows
    return np.asarray(reply.margin)


def _without_vain_changes(region: Region, row: Vector, margin: float) -> Asking[Vector]:
    """Take back, one after the other, changes without which the score is no worse."""
    while True:
        changed = np.flatnonzero(changed_cells(row[None, :], region.start)[0])
        if not len(changed):
            return row
        rows = np.where(np.arange(len(row)) == changed[:, None], region.start, row)
        rows = rows[region.contains(rows)]
        if not len(rows):
            return row
        margins = yield from _margins(rows)
        best = int(np.argmax(margins))
        if float(margins[best]) < margin:
            return row
        row, margin = rows[best], float(margins[best])
