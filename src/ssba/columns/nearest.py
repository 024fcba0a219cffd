"""How far rows are from the nearest of some others: for many rows at once, and as `Metric.distance` says."""

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

# Cells that are worked on at a time; more would not fit into the processor's cache.
_CELLS_AT_ONCE = 1 << 19
# For fewer rows than this, preparing a matrix product takes longer than it saves.
_WORTH_PRODUCTS = 4


def least_distance(metric: Metric, Z: Matrix, rows: Matrix) -> Vector:
    """Return how far each row of `Z` is from the nearest of some rows; infinite where there are none.

    In L2 a matrix product tells which of them may be the nearest, and only those are measured.
    """
    if not len(rows):
        return np.full(len(Z), np.inf)
    if len(Z) < _WORTH_PRODUCTS or not metric.adds_squares or np.isnan(rows).any() or np.isnan(Z).any():
        return _measured(metric, Z, rows)
    return _by_products(metric, Z, rows)


def _measured(metric: Metric, Z: Matrix, rows: Matrix) -> Vector:
    """Measure every distance."""
    size = max(1, _CELLS_AT_ONCE // rows.size)
    parts = [Z[begin : begin + size, None, :] for begin in range(0, len(Z), size)]
    least = [np.asarray(metric.distance(rows, part)).min(axis=1) for part in parts]
    return np.concatenate([np.empty(0), *least])


def _by_products(metric: Metric, Z: Matrix, rows: Matrix) -> Vector:
    # Where columns lie far from zero, products would lose the digits in which rows differ.
    middle = np.where(metric.discrete, 0.0, rows.mean(axis=0))
    one, other = flat(metric, Z - middle, rows - middle), flat(metric, rows - middle, rows - middle)
    with np.errstate(over="ignore"):
        length, other_length = (one * one).sum(axis=1), (other * other).sum(axis=1)
        # More than all roundings of products, sums and scaled cells can add up to, on both sides.
        float64 = np.finfo(np.float64)
        slack = 16 * (one.shape[1] + 8) * float64.eps * (length + other_length.max()) + float64.tiny
    if not np.isfinite(slack).all():
        return _measured(metric, Z, rows)
    least = np.empty(len(Z))
    size = max(1, _CELLS_AT_ONCE // len(rows))
    for begin in range(0, len(Z), size):
        some = slice(begin, begin + size)
        squares = other_length - 2 * (one[some] @ other.T)
        number, near = np.nonzero(squares <= (squares.min(axis=1) + slack[some])[:, None])
        far = metric.distance(rows[near], Z[some][number])
        least[some] = np.minimum.reduceat(far, np.flatnonzero(np.diff(number, prepend=-1)))
    return least


def flat(metric: Metric, Z: Matrix, rows: Matrix) -> Matrix:
    """Return `Z` so that plain L1 or L2 to rows that were treated alike is the metric.

    Columns are scaled, and a category becomes one column for each of its levels among `rows`, and one for all
    others, so that two levels are as far apart as the metric says.
    """
    parts = [(Z / metric.scale * metric.weight)[:, ~metric.discrete]]
    # Two different levels differ in two of the columns.
    share = np.sqrt(0.5) if metric.adds_squares else 0.5
    for j in np.flatnonzero(metric.discrete):
        levels = np.unique(rows[:, j])
        is_level = Z[:, j : j + 1] == levels
        other = ~is_level.any(axis=1, keepdims=True)
        parts.append(np.c_[is_level, other] * share * metric.weight[j])
    return np.concatenate(parts, axis=1)
