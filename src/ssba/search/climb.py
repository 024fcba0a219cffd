"""The feasible row with the best score, where none reaches the target: uphill, one column at a time.

What is asked depends on the score alone, and not on how much of it the target asks for. So a target that asks
for less of the same score is not offered a worse row.
"""

import numpy as np

from ssba.arrays import Array, marked, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.constraints.regions.region import Region
from ssba.search.starts import combined_changes, single_changes

# Columns go these shares of the way to their ends; smaller ones where none of the larger ones helps.
_SHARES = ((1.0, 0.4, 0.1, 0.03), (0.01, 0.003), (1e-3, 3e-4), (1e-4, 3e-5))
_ROUNDS = 60


def climb(region: Region, start: Array) -> Asking[Array | None]:
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
        rows = namespace(row).concat([single_changes(region, row, share) for share in _SHARES[finer]])
        margins = yield from _margins(rows)
        helped = margins > margin
        if not marked(helped):
            finer += 1
            continue
        rows, margins = rows[helped], margins[helped]
        together, fine = region.pull_in(combined_changes(row, rows, margins)[None, :])
        best = int(np.argmax(to_numpy(margins)))
        row, margin = rows[best, :], float(margins[best])
        joint = yield from _margins(together[fine])
        if joint.shape[0] and float(joint[0]) > margin:
            row, margin = together[0, :], float(joint[0])
    return (yield from _without_vain_changes(region, row, margin))


def _margins(rows: Array) -> Asking[Array]:
    """Ask about rows; return by how much they miss the target. None are asked where there are none."""
    if not rows.shape[0]:
        return rows[:, 0]
    reply = yield rows
    assert reply.margin is not None
    return reply.margin


def _without_vain_changes(region: Region, row: Array, margin: float) -> Asking[Array]:
    """Take back, one after the other, changes without which the score is no worse."""
    xp = namespace(row)
    while True:
        changed = marked(changed_cells(row[None, :], region.start)[0])
        if not changed:
            return row
        rows = xp.stack([xp.where(xp.arange(row.shape[0]) == j, region.start, row) for j in changed])
        rows = rows[region.contains(rows)]
        if not rows.shape[0]:
            return row
        margins = yield from _margins(rows)
        best = int(np.argmax(to_numpy(margins)))
        if float(margins[best]) < margin:
            return row
        row, margin = rows[best, :], float(margins[best])
