"""Choosing k answers from all rows that reached the target: nearest first, each different from the others."""

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric, changed_cells
from ssba.options import Diversity
from ssba.search.repeats import different

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

APART = 0.1
"""Answers differ if each changes a column that the other leaves, or they lie this share of the best distance
apart."""


def pick_order(
    rows: Matrix,
    x: Vector,
    metric: Metric,
    k: int,
    spare: int,
    *,
    diversity: Diversity = "distance",
    price: float = 1.0,
) -> tuple[list[int], int]:
    """Return row numbers in the order to offer them, and how many of them are different answers.

    Up to `k` different ones come first, then the others as spares, which stand in where a final check
    refuses one of the first. Each is the nearest that is left, or, at a `price` above 1, the one with the
    fewest changed columns among those at most so many times as far. With `diversity="levers"` answers
    differ only if each changes a column that the other leaves.
    """
    order = _without_repeats(rows, metric.distance(rows, x))
    rows = rows[order]
    distances, changed = metric.distance(rows, x), changed_cells(rows, x)
    chosen: list[int] = []
    left = np.ones(len(rows), dtype=bool)
    while len(chosen) < k and left.any():
        i = _fewest_within(distances, changed, left, price)
        chosen.append(i)
        differs = _crosses(changed, i)
        if diversity == "distance":
            apart = metric.distance(rows, rows[i]) >= APART * distances[0]
            differs = (differs | apart) & (np.arange(len(rows)) != i)
        left &= differs
    spares = [i for i in _offered(distances, changed, price) if i not in chosen][:spare]
    return [int(order[i]) for i in (*chosen, *spares)], len(chosen)


def _fewest_within(distances: Vector, changed: Mask, left: Mask, price: float) -> int:
    """Return the row with the fewest changes among those left that are about as near as the nearest."""
    nearest = int(np.flatnonzero(left)[0])
    if price == 1:
        return nearest
    near = np.flatnonzero(left & (distances <= price * distances[nearest]))
    return int(near[np.lexsort([distances[near], changed[near].sum(axis=1)])[0]])


def _offered(distances: Vector, changed: Mask, price: float) -> list[int]:
    """Return all rows, those within the price first and the fewest changes first among them."""
    if not len(distances):
        return []
    within = (distances <= price * distances[0]) & (price > 1)
    counts = np.where(within, changed.sum(axis=1), changed.shape[1] + 1)
    numbers: list[int] = np.lexsort([distances, counts]).tolist()
    return numbers


def _crosses(changed: Mask, i: int) -> Mask:
    """Tell which rows change a column that row `i` leaves, and leave one that it changes."""
    return np.asarray((changed & ~changed[i]).any(axis=1) & (~changed & changed[i]).any(axis=1))


def _without_repeats(rows: Matrix, distances: Vector) -> NDArray[np.int64]:
    """Return the numbers of different rows, nearest first; only rows as far as another can repeat it."""
    order = np.argsort(distances, kind="stable")
    as_far = distances[order][1:] == distances[order][:-1]
    tied = np.zeros(len(order), dtype=bool)
    tied[:-1] |= as_far
    tied[1:] |= as_far
    kept = ~tied
    places = np.flatnonzero(tied)
    kept[places[different(rows[order[places]])]] = True
    return np.asarray(order[kept])
