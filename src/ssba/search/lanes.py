"""What moves share, on arrays of lanes: rows of many regions, side by side.

Random numbers come in one block for each move and round, which all lanes share. So what a query draws does
not depend on what other queries do, nor on how many there are.
"""

import zlib
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, namespace, to_numpy
from ssba.search.regions import Mask, Matrix, Numbers, Vector


@dataclass(frozen=True)
class Draws:
    """Random numbers for one purpose, which is named by a path of moves and rounds."""

    path: tuple[int, ...]

    def of(self, move: str, number: int = 0) -> "Draws":
        """Return the draws of a move within this one, in one of its rounds."""
        return Draws((*self.path, zlib.crc32(move.encode()), number))

    @property
    def generator(self) -> np.random.Generator:
        """A generator that begins anew."""
        return np.random.default_rng(self.path)


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


def first_of_each(group: Numbers, value: Vector) -> Numbers:
    """Return for each group the number of the member with the least value, the first of equal ones.

    >>> first_of_each(np.array([1, 0, 1, 0]), np.array([3.0, 2.0, 1.0, 2.0])).tolist()
    [1, 2]
    """
    if not len(group):
        return np.empty(0, dtype=np.int64)
    least = np.full(int(group.max()) + 1, np.inf)
    np.minimum.at(least, group, value)
    # Sorting the few that have it takes less than sorting all.
    having = np.flatnonzero(value == least[group])
    return having[np.unique(group[having], return_index=True)[1]]


def are_repeats(rows: Matrix, at: Numbers, far: Vector) -> Mask:
    """Tell which rows repeat an earlier one, in order of region and distance: only as far a row can."""
    tied = np.zeros(len(rows), dtype=bool)
    tied[1:] = (at[1:] == at[:-1]) & (far[1:] == far[:-1])
    tied[:-1] |= tied[1:]
    suspects = np.flatnonzero(tied)
    tied[suspects[different(np.column_stack([at[suspects], rows[suspects]]))]] = False
    return tied


def rank_within(group: Numbers) -> NDArray[np.int64]:
    """Return the place of each member within its group; members of a group stand next to each other.

    >>> rank_within(np.array([4, 4, 4, 7, 7])).tolist()
    [0, 1, 2, 0, 1]
    """
    if not len(group):
        return np.empty(0, dtype=np.int64)
    begins = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    return np.arange(len(group)) - np.repeat(begins, np.diff(np.append(begins, len(group))))


def nearest_different(rows: Matrix, at: Numbers, far: Vector, most: float) -> Numbers:
    """Return the numbers of the nearest different rows, up to `most` of each region, in this order."""
    order = np.lexsort((far, at))
    order = order[~are_repeats(choose(rows, order), at[order], far[order])]
    return np.asarray(order[rank_within(at[order]) < most])


@dataclass(frozen=True)
class Herd:
    """Rows of several regions, those of a region next to each other; with margins where these are known."""

    rows: Matrix
    at: Numbers
    margin: Vector | None = None

    def and_(self, other: "Herd") -> "Herd":
        """Return these rows, and others behind those of each region; with margins where both have them."""
        at = np.concatenate([self.at, other.at])
        order = np.argsort(at, kind="stable")
        margin = None
        if self.margin is not None and other.margin is not None:
            margin = np.concatenate([self.margin, other.margin])[order]
        rows = namespace(self.rows, other.rows).concat([self.rows, other.rows])
        return Herd(choose(rows, order), at[order], margin)

    def of(self, at: Numbers, most: float = np.inf) -> "Herd":
        """Return the rows of some regions, up to so many of each."""
        return self.take(np.flatnonzero(np.isin(self.at, at) & (rank_within(self.at) < most)))

    def take(self, numbers: Numbers) -> "Herd":
        """Return some of the rows."""
        margin = None if self.margin is None else self.margin[numbers]
        return Herd(choose(self.rows, numbers), self.at[numbers], margin)
