"""The feasible row with the best score, where none reaches the target: uphill, one column at a time.

What is asked depends on the score alone, and not on how much of it the target asks for. So a target that asks
for less of the same score is not offered a worse row.
"""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.constraints.regions.region import Region
from ssba.search.regions import Matrix, Regions, Vector
from ssba.search.starts import combined_changes, single_changes

# Columns go these shares of the way to their ends; smaller ones where none of the larger ones helps.
_SHARES = ((1.0, 0.4, 0.1, 0.03), (0.01, 0.003), (1e-3, 3e-4), (1e-4, 3e-5))
_ROUNDS = 60


def climb(region: Region, start: Vector) -> Asking[Vector | None]:
    """Follow the score from a feasible row; return the best row found, with no column changed in vain.

    None where the model gives no scores. It ends where a row reaches the target.
    """
    row, margins = start, (yield start[None, :]).margin
    if margins is None:
        return None
    margin, finer = float(margins[0]), 0
    regions = Regions((region,), np.zeros(1, dtype=np.int64))
    for _ in range(_ROUNDS):
        if finer == len(_SHARES) or margin >= 0:
            break
        rows = _changed_by_shares(regions, row, _SHARES[finer])
        margins = yield from _margins(rows)
        helped = margins > margin
        if not helped.any():
            finer += 1
            continue
        rows, margins = rows[helped], margins[helped]
        whose = np.zeros(len(rows), dtype=np.int64)
        together, fine = region.pull_in(combined_changes(row[None, :], rows, whose, margins))
        best = int(np.argmax(margins))
        row, margin = rows[best], float(margins[best])
        joint = yield from _margins(together[fine])
        if len(joint) and float(joint[0]) > margin:
            row, margin = together[0], float(joint[0])
    return (yield from _without_vain_changes(region, row, margin))


def _changed_by_shares(regions: Regions, row: Vector, shares: tuple[float, ...]) -> Matrix:
    """Return a row with one column changed at a time, by each of some shares of the way to its ends."""
    at = np.zeros(1, dtype=np.int64)
    found = [single_changes(regions, row[None, :], at, np.array([share]))[0] for share in shares]
    return np.concatenate(found)


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
