"""Rows with fewer changed columns than a known answer, at most so much longer."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Changes are stretched by at most this factor, which is found in two rounds of so many steps.
_FURTHEST, _STEPS = 1e3, 64


def column_sets(columns: Sequence[int], forced: Sequence[int]) -> list[tuple[int, ...]]:
    """Return smaller sets of columns to try, the smallest first; `columns` come the least useful first.

    All that leave out the least useful ones, however many, and all that leave out a single one.

    >>> column_sets([3, 1, 2], forced=[])
    [(2,), (1, 2), (3, 2), (3, 1)]
    """
    free = [j for j in columns if j not in forced]
    rest = [j for j in columns if j in forced]
    fewest = 0 if rest else 1
    nested = [(*rest, *free[i:]) for i in range(len(free) - fewest, 0, -1)]
    single = [(*rest, *(one for one in free if one != j)) for j in free[1:]] if len(free) > fewest else []
    return [*nested, *(one for one in single if one and one not in nested)]


def stretched_to(region: Region, metric: Metric, row: Vector, length: float) -> Vector | None:
    """Return the row with its changes in the region's free columns alone, made `length` long at most.

    None where a row of that kind is no longer than the region's start, or does not get into the region.
    """
    ends = np.where(region.free, row, region.start)
    way = np.where(region.discrete | np.isnan(ends - region.start), 0.0, ends - region.start)
    shares = np.concatenate([[0.0], np.geomspace(1e-3, _FURTHEST, _STEPS)])
    for _ in range(2):
        # Once over all lengths, then between the two that the wished one lies between.
        pulled, fine = region.pull_in(ends + (shares[:, None] - 1) * way)
        fits = fine & (metric.distance(pulled, region.x) <= length)
        if not fits.any():
            return None
        last = int(np.flatnonzero(fits)[-1])
        row = np.asarray(pulled[last])
        shares = np.linspace(shares[last], shares[min(last + 1, len(shares) - 1)], _STEPS)
    return row if metric.distance(row[None, :], region.x)[0] > 0 else None
