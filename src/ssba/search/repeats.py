"""Telling equal rows apart from different ones."""

from typing import cast

import numpy as np

from ssba.arrays import Array, to_numpy


def row_keys(rows: Array) -> list[bytes]:
    """Return a key for each row that equal rows share: missing cells are equal, and so are 0.0 and -0.0.

    >>> one, other, third = row_keys(np.array([[0.0, np.nan], [-0.0, np.nan], [1.0, 2.0]]))
    >>> one == other, one == third
    (True, False)
    """
    cells = np.ascontiguousarray(to_numpy(rows) + 0.0)
    if not cells.size:
        return [b""] * cells.shape[0]
    whole_rows = np.dtype((np.void, cells.itemsize * cells.shape[1]))
    return cast(list[bytes], cells.view(whole_rows).ravel().tolist())


def different(rows: Array) -> list[int]:
    """Return the numbers of the different rows, each that of the first of its kind.

    >>> different(np.array([[1.0], [2.0], [1.0]]))
    [0, 1]
    """
    first: dict[bytes, int] = {}
    for number, key in enumerate(row_keys(rows)):
        first.setdefault(key, number)
    return list(first.values())
