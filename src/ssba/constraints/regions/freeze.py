"""A region in which further columns keep the query's values."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.constraints.regions.placing import place, placed_in_box
from ssba.constraints.regions.region import Halfspaces, Region

# Of a linear row's own size: what sums of real numbers may be off by.
_ROUNDING = 1e-12


def holding(region: Region, columns: NDArray[np.bool_], metric: Metric) -> Region | None:
    """Return the part of a region in which `columns` do not change; None where no row is left."""
    if (columns & ~region.held & ~region.keeps_x).any():
        return None
    held = region.held | columns
    part = replace(
        region,
        held=held,
        lower=np.where(held, region.x, region.lower),
        upper=np.where(held, region.x, region.upper),
    )
    if region.linear is not None:
        rows = _rows_left(region.linear, region.x, held)
        if rows is None:
            return None
        part = replace(part, linear=rows if len(rows.b) else None)
    if part.linear is not None:
        return place(part, metric).region
    return placed_in_box(part, metric)


def _rows_left(rows: Halfspaces, x: NDArray[np.float64], held: NDArray[np.bool_]) -> Halfspaces | None:
    """Return the linear rows over what may still move; None where what is held breaks one."""
    # A row asks nothing where one of its cells is missing and stays so.
    asks = ~((rows.A != 0) & held & np.isnan(x)).any(axis=1)
    known = (rows.A * held) @ np.nan_to_num(x)
    A = rows.A * ~held
    settled = ~A.any(axis=1)
    size = np.abs(rows.b) + np.abs(rows.A) @ np.abs(np.nan_to_num(x))
    if (asks & settled & (rows.b - known < -_ROUNDING * size)).any():
        return None
    kept = asks & ~settled
    return Halfspaces(
        A[kept],
        (rows.b - known)[kept],
        (rows.aim - known)[kept],
        rows.thin[kept],
        (rows.certain - known)[kept],
    )
