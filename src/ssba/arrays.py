"""The array namespace of whatever arrays come in, so that each kernel is written once.

Kernels call `namespace(Z)` and use only functions of the Python array API standard
(https://data-apis.org/array-api), which NumPy and torch both offer through array-api-compat.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

# From version 2 on, NumPy itself is such a namespace; that spares a wrapper around each call.
_NUMPY = np if hasattr(np, "astype") else array_namespace(np.empty(0))

# Cells that are worked on at a time; more would not fit into the processor's cache.
_CELLS_AT_ONCE = 1 << 16

Array: TypeAlias = Any
"""An array of any namespace; the standard has no static type that checkers understand yet."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that the arrays share."""
    # Kernels ask this all the time, mostly about NumPy arrays: these are told by their type alone.
    for array in arrays:
        if type(array) is not np.ndarray:
            return array_namespace(*arrays)
    return _NUMPY


def like(values: Any, reference: Array) -> Array:
    """Return host values as an array beside `reference`: same namespace and device.

    >>> like([1.0, 2.0], np.zeros(3))
    array([1., 2.])
    """
    if type(reference) is np.ndarray:
        return np.asarray(values)
    return array_namespace(reference).asarray(np.asarray(values), device=device(reference))


def to_numpy(array: Array) -> Any:
    """Return the array on the host, as NumPy."""
    return array if type(array) is np.ndarray or is_numpy_array(array) else np.asarray(array.cpu())


def counting(begin: int, end: int, reference: Array) -> Array:
    """Return the whole numbers from `begin` up to `end`, beside `reference`.

    >>> counting(3, 6, np.empty(0))
    array([3, 4, 5])
    """
    if type(reference) is np.ndarray:
        return np.arange(begin, end)
    return array_namespace(reference).arange(begin, end, device=device(reference))


def between(start: Array, end: Array) -> Callable[[Array], Array]:
    """Return the function from shares of each row's way to new rows so far along it; 1 is the end itself.

    >>> between(np.zeros((1, 2)), np.array([[4.0, 8.0]]))(np.array([0.25]))
    array([[1., 2.]])
    """
    xp = namespace(start, end)
    if hasattr(start, "lerp") and start.dtype == xp.float32:
        # One pass over memory, which is all that this costs on a GPU. In 64 bits all namespaces agree.
        return lambda share: start.lerp(end, share[:, None])
    way = end - start

    def blended(share: Array) -> Array:
        points = way * share[:, None]
        points += start
        whole = share == 1
        # The sum may miss the end by a rounding error.
        return xp.where(whole[:, None], end, points) if bool(xp.any(whole)) else points

    return blended


def choose(rows: Array, numbers: Any) -> Array:
    """Return the rows with the given numbers, in their order.

    >>> choose(np.array([[1.0], [2.0], [3.0]]), [2, 0])
    array([[3.],
           [1.]])
    """
    numbers = np.asarray(numbers, dtype=np.int64)
    if type(rows) is np.ndarray:
        return rows.take(numbers, axis=0)
    return namespace(rows).take(rows, like(numbers, rows), axis=0)


def blocks(count: int, cells: int) -> Iterator[slice]:
    """Yield parts of so many things, each of as many as can be worked on in the processor's cache.

    `cells` is how many numbers one of them takes.

    >>> list(blocks(5, cells=_CELLS_AT_ONCE // 3))
    [slice(0, 3, None), slice(3, 6, None)]
    """
    size = max(1, _CELLS_AT_ONCE // max(1, cells))
    return (slice(begin, begin + size) for begin in range(0, count, size))


def lowest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the places of the lowest values of each row, in order; of equal ones the first come first.

    >>> lowest(np.array([[3.0, 1.0, 2.0, 1.0], [0.0, 0.0, 5.0, 0.0]]), 2)
    array([[1, 3],
           [0, 1]])
    """
    count = min(count, values.shape[1])
    if not values.size or not count:
        return np.empty((len(values), count), dtype=np.int64)
    last = np.partition(values, count - 1, axis=1)[:, count - 1 : count]
    row, place = np.nonzero(values <= last)
    place = place[np.lexsort((values[row, place], row))]
    first = np.searchsorted(row, np.arange(len(values)))
    return np.asarray(place[first[:, None] + np.arange(count)], dtype=np.int64)


def marked(mask: Array) -> list[int]:
    """Return the positions where a mask is true.

    >>> marked(np.array([True, False, True]))
    [0, 2]
    """
    positions: list[int] = np.flatnonzero(to_numpy(mask)).tolist()
    return positions
