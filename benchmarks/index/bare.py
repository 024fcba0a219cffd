"""The least that plain NumPy does for the same answer: a mask, distances of what is left, the nearest of it.

Two of them, since what is quick depends on how rows lie in memory.
"""

import numpy as np
from benchmarks.index.rows import Bounds, Matrix
from numpy.typing import NDArray


def pass_over_rows(X: Matrix, factor: Matrix, bounds: Bounds, k: int) -> NDArray[np.intp]:
    """For rows one after the other in memory: all columns of the rows left at once."""
    mask = _mask(X, bounds)
    gaps = (X[mask] - bounds.x) * factor
    return _nearest(mask, np.sqrt((gaps * gaps).sum(axis=1)), k)


def pass_over_columns(X: Matrix, factor: Matrix, bounds: Bounds, k: int) -> NDArray[np.intp]:
    """For columns one after the other in memory: one column of the rows left at a time."""
    mask = _mask(X, bounds)
    picked = np.flatnonzero(mask)
    total = np.zeros(len(picked))
    for j in range(X.shape[1]):
        gap = (X[picked, j] - bounds.x[j]) * factor[j]
        total += gap * gap
    return _nearest(mask, np.sqrt(total), k)


def _mask(X: Matrix, bounds: Bounds) -> NDArray[np.bool_]:
    mask = np.ones(len(X), dtype=bool)
    for j in bounds.columns:
        mask &= (X[:, j] >= bounds.low) & (X[:, j] <= bounds.high)
    return mask


def _nearest(mask: NDArray[np.bool_], distance: Matrix, k: int) -> NDArray[np.intp]:
    some = np.argpartition(distance, min(k, len(distance) - 1))[:k]
    best = some[np.argsort(distance[some], kind="stable")]
    return np.flatnonzero(mask)[best]
