"""The array namespace of whatever arrays come in, so that each kernel is written once.

Kernels call `namespace(Z)` and use only functions of the Python array API standard
(https://data-apis.org/array-api), which NumPy and torch both offer through array-api-compat.
"""

from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

# From version 2 on, NumPy itself is such a namespace; that spares a wrapper around each call.
_NUMPY = np if hasattr(np, "astype") else array_namespace(np.empty(0))

Array: TypeAlias = Any
"""An array of any namespace; the standard has no static type that checkers understand yet."""


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


def repeated(row: Array, count: int) -> Array:
    """Return an array of `count` copies of a row."""
    return namespace(row).tile(row[None, :], (count, 1))


def marked(mask: Array) -> list[int]:
    """Return the positions where a mask is true.

    >>> marked(np.array([True, False, True]))
    [0, 2]
    """
    positions: list[int] = np.flatnonzero(to_numpy(mask)).tolist()
    return positions
