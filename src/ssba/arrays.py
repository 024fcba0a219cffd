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
_NAMESPACES: dict[type, Any] = {np.ndarray: _NUMPY}

# Cells that are worked on at a time; more would not fit into the processor's cache.
_CELLS_AT_ONCE = 1 << 16
# Fewer cells than this come from memory that was used before, so that parts of them would save nothing.
_CELLS_AS_ONE = 1 << 18
# Half a gigabyte of 64-bit numbers outweighs the latency of a device, and leaves room for a few such arrays.
_CELLS_ON_DEVICE = 1 << 26

Array: TypeAlias = Any
"""An array of any namespace; the standard has no static type that checkers understand yet."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that the arrays share."""
    # Kernels ask this all the time: arrays of one type share a namespace.
    (kind, *others) = {type(array) for array in arrays}
    if others:
        return array_namespace(*arrays)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = array_namespace(*arrays)
    return _NAMESPACES[kind]


def like(values: Any, reference: Array) -> Array:
    """Return host values as an array beside `reference`: same namespace and device.

    >>> like([1.0, 2.0], np.zeros(3))
    array([1., 2.])
    """
    if type(reference) is np.ndarray:
        return np.asarray(values)
    if type(values) is type(reference):
        return values
    return namespace(reference).asarray(np.asarray(values), device=device(reference))


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
    if _has_lerp(start):
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


def _has_lerp(rows: Array) -> bool:
    return hasattr(rows, "lerp") and rows.dtype == namespace(rows).float32


def in_turn(table: Array, first: int, count: int) -> Array:
    """Return so many rows of a table in turn, again and again, beginning at the `first`.

    >>> in_turn(np.array([[1.0], [2.0], [3.0]]), 2, 5).ravel().tolist()
    [3.0, 1.0, 2.0, 3.0, 1.0]
    """
    return choose(table, counting(first, first + count, table) % table.shape[0])


def between_in_turn(table: Array, first: int, end: Array) -> Callable[[Array], Array]:
    """Return `between` for starts that are the rows of a table in turn, beginning at the `first`.

    >>> half = np.full(3, 0.5)
    >>> between_in_turn(np.array([[0.0], [2.0]]), 1, np.array([[4.0], [4.0], [8.0]]))(half).ravel().tolist()
    [3.0, 2.0, 5.0]
    """
    count, size = end.shape[0], table.shape[0]
    if not _has_lerp(end):
        return between(in_turn(table, first, count), end)
    xp, turns = namespace(end), list(_turns(first, size, count))

    def blended(share: Array) -> Array:
        # The table is read where it lies, which is mostly in the cache; written out for every end it would
        # come from memory each time.
        made = xp.empty_like(end)
        for ends, rows in turns:
            begin = table[rows]
            several = (-1, *begin.shape)
            there, weight = xp.reshape(end[ends], several), xp.reshape(share[ends], (*several[:2], 1))
            xp.lerp(begin, there, weight, out=xp.reshape(made[ends], several))
        return made

    return blended


def _turns(first: int, size: int, count: int) -> Iterator[tuple[slice, slice]]:
    """Yield which of so many things come in a turn of a table, or in whole turns, and its rows in these.

    >>> for ends, rows in _turns(2, 3, 8):
    ...     print(list(range(8)[ends]), list(range(3)[rows]))
    [0] [2]
    [1, 2, 3, 4, 5, 6] [0, 1, 2]
    [7] [0]
    """
    low = 0
    while low < count:
        begin = (first + low) % size
        whole = 0 if begin else (count - low) // size * size
        high = low + (whole or min(size - begin, count - low))
        yield slice(low, high), slice(begin, min(begin + high - low, size))
        low = high


def choose(rows: Array, numbers: Any) -> Array:
    """Return the rows with the given numbers, in their order; these lie on the host, or beside the rows.

    >>> choose(np.array([[1.0], [2.0], [3.0]]), [2, 0])
    array([[3.],
           [1.]])
    """
    if type(rows) is np.ndarray:
        return rows.take(np.asarray(numbers, dtype=np.int64), axis=0)
    if type(numbers) is not type(rows):
        numbers = like(np.asarray(numbers, dtype=np.int64), rows)
    if hasattr(rows, "index_select"):
        # The function of array-api-compat is for numbers below zero, too, and takes three steps.
        return rows.index_select(0, numbers)
    return namespace(rows).take(rows, numbers, axis=0)


def put(rows: Array, numbers: Any, values: Array) -> None:
    """Write over the rows with the given numbers.

    >>> rows = np.zeros((3, 1))
    >>> put(rows, [2, 0], np.array([[5.0], [7.0]]))
    >>> rows.ravel().tolist()
    [7.0, 0.0, 5.0]
    """
    rows[numbers if type(rows) is np.ndarray else like(numbers, rows)] = values


def by_row(values: Any, rows: Array) -> Array:
    """Return a number for each of some rows as a column beside them, for arithmetic with the rows.

    >>> by_row([2.0, 3.0], np.ones((2, 2))).tolist()
    [[2.0], [3.0]]
    """
    return like(values, rows)[:, None]


def row_sums(*matrices: Array) -> list[NDArray[np.float64]]:
    """Return the sums of the rows of some matrices on the host, which is waited for once.

    >>> [sums.tolist() for sums in row_sums(np.ones((2, 3)), np.zeros((2, 3)))]
    [[3.0, 3.0], [0.0, 0.0]]
    """
    xp = namespace(*matrices)
    return on_host(*(xp.sum(one, axis=1) for one in matrices))


def on_host(*vectors: Array) -> list[NDArray[np.float64]]:
    """Return vectors of one length on the host, which is waited for once; elsewhere than there as floats.

    >>> [one.tolist() for one in on_host(np.ones(2), np.zeros(2))]
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if type(vectors[0]) is np.ndarray:
        return list(vectors)
    xp = namespace(*vectors)
    return list(to_numpy(xp.stack([xp.astype(one, xp.float64) for one in vectors])))


def copied(rows: Array) -> Array:
    """Return a copy."""
    return rows.copy() if type(rows) is np.ndarray else namespace(rows).asarray(rows, copy=True)


def blocks(count: int, cells: int, beside: Array = None) -> Iterator[slice]:
    """Yield parts of so many things, each of as many as can be worked on in the processor's cache.

    `cells` is how many numbers one of them takes. On another device than the host there is more room.

    >>> list(blocks(5, cells=_CELLS_AT_ONCE // 3))
    [slice(0, 3, None), slice(3, 6, None)]
    """
    room = _CELLS_AT_ONCE if beside is None or type(beside) is np.ndarray else _CELLS_ON_DEVICE
    size = max(1, room // max(1, cells))
    return (slice(begin, begin + size) for begin in range(0, count, size))


def in_blocks(work: Callable[..., Array], cells: int, *arrays: Array) -> Array:
    """Return what `work` makes of arrays, item by item, where each item takes so many cells.

    Many items on the host are worked on in parts that fit the cache: fresh memory takes longer than the work.

    >>> in_blocks(lambda rows, factors: rows * factors[:, None], 2, np.ones((2, 2)), np.array([2.0, 3.0]))
    array([[2., 2.],
           [3., 3.]])
    """
    first, count = arrays[0], len(arrays[0])
    if type(first) is not np.ndarray or count * cells <= _CELLS_AS_ONE:
        return work(*arrays)
    made = np.empty(0)
    for part in blocks(count, cells):
        one = work(*(array[part] for array in arrays))
        if not part.start:
            made = np.empty((count, *one.shape[1:]), dtype=one.dtype)
        made[part] = one
    return made


def lowest(values: Array, count: int) -> NDArray[np.int64]:
    """Return the places of the lowest values of each row, in order, on the host; of equal ones the first.

    >>> lowest(np.array([[3.0, 1.0, 2.0, 1.0], [0.0, 0.0, 5.0, 0.0]]), 2)
    array([[1, 3],
           [0, 1]])
    """
    count = min(count, values.shape[1])
    if not len(values) or not count:
        return np.empty((len(values), count), dtype=np.int64)
    if type(values) is not np.ndarray:
        return np.asarray(to_numpy(namespace(values).argsort(values, axis=1, stable=True)[:, :count]))
    last = np.partition(values, count - 1, axis=1)[:, count - 1 : count]
    row, place = np.nonzero(values <= last)
    place = place[np.lexsort((values[row, place], row))]
    first = np.searchsorted(row, np.arange(len(values)))
    return np.asarray(place[first[:, None] + np.arange(count)], dtype=np.int64)


def sigmoid(values: Array) -> Array:
    """Return the logistic function of numbers.

    >>> float(sigmoid(np.zeros(1))[0])
    0.5
    """
    if type(values) is not np.ndarray:
        return namespace(values).sigmoid(values)
    from scipy.special import expit  # takes a while to import

    return expit(values)


def softmax(values: Array) -> Array:
    """Return exponentials of numbers as shares of their sum in each row.

    >>> softmax(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    if type(values) is not np.ndarray:
        return namespace(values).softmax(values, dim=1)
    from scipy import special  # takes a while to import

    return special.softmax(values, axis=1)


def marked(mask: Array) -> list[int]:
    """Return the positions where a mask is true.

    >>> marked(np.array([True, False, True]))
    [0, 2]
    """
    positions: list[int] = np.flatnonzero(to_numpy(mask)).tolist()
    return positions
