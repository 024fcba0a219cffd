"""A region in which further columns keep the query's values."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Mask, Vector
from ssba.columns.distance import Metric
from ssba.constraints.regions.placing import Placed, place, placed_in_box
from ssba.constraints.regions.region import Halfspaces, Region

# Of a linear row's own size: what sums of real numbers may be off by.
_ROUNDING = 1e-12


def holding(region: Region, columns: NDArray[np.bool_], metric: Metric) -> Region | None:
    """Return the part of a region in which `columns` do not change; None where no row of it is known."""
    return part_holding(region, columns, metric).region


def part_holding(region: Region, columns: NDArray[np.bool_], metric: Metric) -> Placed:
    """Return the part of a region in which `columns` do not change, or whether it is certain to be empty."""
    if (columns & ~region.held & ~region.keeps_x).any():
        return Placed(None, is_empty=True)
    held = region.held | columns
    part = replace(
        region,
        held=held,
        lower=np.where(held, region.x, region.lower),
        upper=np.where(held, region.x, region.upper),
    )
    if region.linear is not None:
        if _breaks(region.linear, region.linear.certain, region.x, held):
            return Placed(None, is_empty=True)
        if _breaks(region.linear, region.linear.b, region.x, held):
            return Placed(None)
        rows = _rows_left(region.linear, region.x, held)
        part = replace(part, linear=rows if len(rows.b) else None)
    if part.linear is not None:
        return place(part, metric)
    return Placed(placed_in_box(part, metric))


def _breaks(rows: Halfspaces, ends: Vector, x: Vector, held: Mask) -> bool:
    """Tell whether what is held breaks a linear row over nothing else."""
    settled = _asks(rows, x, held) & ~(rows.A * ~held).any(axis=1)
    size = np.abs(rows.b) + np.abs(rows.A) @ np.abs(np.nan_to_num(x))
    left = ends - (rows.A * held) @ np.nan_to_num(x)
    return bool((settled & (left < -_ROUNDING * size)).any())


def _asks(rows: Halfspaces, x: Vector, held: Mask) -> Mask:
    """Tell which linear rows ask for anything: none does where one of its cells is missing and stays so."""
    return np.asarray(~((rows.A != 0) & held & np.isnan(x)).any(axis=1))


def _rows_left(rows: Halfspaces, x: Vector, held: Mask) -> Halfspaces:
    """Return the linear rows over what may still move."""
    known = (rows.A * held) @ np.nan_to_num(x)
    A = rows.A * ~held
    kept = _asks(rows, x, held) & A.any(axis=1)
    return Halfspaces(
        A[kept],
        (rows.b - known)[kept],
        (rows.aim - known)[kept],
        rows.thin[kept],
        (rows.certain - known)[kept],
    )
