"""Choosing k answers from all rows that reached the target: nearest first, each different from the others."""

import numpy as np
from numpy.typing import NDArray

from ssba.problem.distance import Metric
from ssba.search.archive import row_key

Matrix = NDArray[np.float64]

# Answers differ if each changes a column that the other leaves, or they lie this share of the best
# distance apart.
_APART = 0.1


def pick_order(
    rows: Matrix, x: NDArray[np.float64], metric: Metric, k: int, spare: int
) -> tuple[list[int], int]:
    """Return row numbers in the order to offer them, and how many of them are different answers.

    Up to `k` different ones come first, then the nearest others as spares, which stand in where a final
    check refuses one of the first.
    """
    distances = metric.distance(rows, x)
    order = _without_repeats(rows, np.argsort(distances, kind="stable"))
    chosen: list[int] = []
    for i in order:
        if len(chosen) == k:
            break
        if all(_different(rows, x, metric, i, j, float(distances[order[0]])) for j in chosen):
            chosen.append(i)
    return chosen + [i for i in order if i not in chosen][:spare], len(chosen)


def _without_repeats(rows: Matrix, order: NDArray[np.int64]) -> list[int]:
    seen: set[bytes] = set()
    kept = []
    for i in order.tolist():
        key = row_key(rows[i])
        if key not in seen:
            seen.add(key)
            kept.append(i)
    return kept


def _different(rows: Matrix, x: NDArray[np.float64], metric: Metric, i: int, j: int, best: float) -> bool:
    ours, theirs = _changed(rows[i], x), _changed(rows[j], x)
    if (ours & ~theirs).any() and (theirs & ~ours).any():
        return True
    return float(metric.distance(rows[i][None, :], rows[j])[0]) >= _APART * best


def _changed(row: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray((row != x) & ~(np.isnan(row) & np.isnan(x)))
