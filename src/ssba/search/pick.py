"""Choosing k answers from all rows that reached the target: near ones, each different from the others."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ssba.arrays import Mask, Matrix, Vector
from ssba.columns.distance import Metric, changed_cells
from ssba.options import Diversity
from ssba.search.lanes import nearest_different

Column = TypeVar("Column")

APART = 0.1
"""Answers that change the same columns differ if they lie this share of the best distance apart."""
NEARER = 0.9
"""A set of columns that contains another one that reaches is of interest at this share of its distance."""


def pick_order(
    rows: Matrix,
    x: Vector,
    metric: Metric,
    k: int,
    spare: int,
    *,
    diversity: Diversity = "columns",
    price: float = 1.0,
) -> tuple[list[int], int]:
    """Return row numbers in the order to offer them, and how many of them are different answers.

    Up to `k` different ones come first, then the others as spares, which stand in where a final check
    refuses one of the first. Each is the nearest that is left, or, at a `price` above 1, the one with the
    fewest changed columns among those at most so many times as far.

    With `diversity="distance"` two answers differ if they lie apart or cross: each changes a column that the
    other leaves. With "columns" rows apart come first that change another set of columns than all before
    them, and no set that contains one of theirs. With "levers" each set of columns is there once, and one
    that contains another only where it is worth telling.
    """
    order = nearest_different(rows, np.zeros(len(rows), dtype=np.int64), metric.distance(rows, x), len(rows))
    rows = rows[order]
    distances, changed = metric.distance(rows, x), changed_cells(rows, x)
    chosen: list[int] = []

    def choose(left: Mask, keeps: Callable[[int], Mask]) -> None:
        for i in chosen:
            left = left & keeps(i)
        while len(chosen) < k and left.any():
            chosen.append(_fewest_within(distances, changed, left, price))
            left = left & keeps(chosen[-1])

    def is_apart(i: int) -> Mask:
        return np.asarray(metric.distance(rows, rows[i]) >= APART * distances[0])

    if diversity == "levers":
        choose(_worth_having(changed, distances), lambda i: np.arange(len(rows)) != i)
    else:
        all_rows = np.ones(len(rows), dtype=bool)
        if diversity == "columns":
            choose(all_rows, lambda i: ~_contains(changed, i) & is_apart(i))
        choose(all_rows, lambda i: (_crosses(changed, i) | is_apart(i)) & (np.arange(len(rows)) != i))
    spares = [i for i in _offered(distances, changed, price) if i not in chosen][:spare]
    return [int(order[i]) for i in (*chosen, *spares)], len(chosen)


def worth_telling(sets: Sequence[frozenset[Column]], distances: Sequence[float]) -> list[bool]:
    """Tell which sets of columns, each with the distance at which it reaches the target, are of interest.

    Those that contain none of the others, or are at least 10% nearer than all that they contain. Of equal
    sets the first counts.

    >>> one, both = frozenset("a"), frozenset("ab")
    >>> worth_telling([both, one], [1.0, 1.05]), worth_telling([both, one], [1.0, 2.0])
    ([False, True], [True, True])
    """
    inside = [[other for other, part in enumerate(sets) if part < one] for one in sets]
    return [
        sets.index(one) == i and all(distances[i] <= NEARER * distances[part] for part in inside[i])
        for i, one in enumerate(sets)
    ]


def _worth_having(changed: Mask, distances: Vector) -> Mask:
    """Tell which rows, nearest first, are the nearest of a set of columns that is worth telling."""
    nearest: dict[bytes, int] = {}
    for i, cells in enumerate(changed):
        nearest.setdefault(cells.tobytes(), i)
    firsts = list(nearest.values())
    sets = [frozenset(np.flatnonzero(changed[i]).tolist()) for i in firsts]
    kept = np.zeros(len(changed), dtype=bool)
    kept[firsts] = worth_telling(sets, distances[firsts].tolist())
    return kept


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


def _contains(changed: Mask, i: int) -> Mask:
    """Tell which rows change all columns that row `i` changes."""
    return np.asarray((changed | ~changed[i]).all(axis=1))
