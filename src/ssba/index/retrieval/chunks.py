"""The stored rows of an index, chunk by chunk, and what is known about each of their columns.

Host code by design: rows lie in memory-mapped files, column by column, and are read by NumPy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Positions: TypeAlias = NDArray[np.intp]

MOST_ROWS = 65_536
"""Rows looked at in one piece: a column of them, and what is computed from it, stays in the cache."""

MOST_OPEN = 128
"""Blocks that are kept open; each takes a file descriptor."""


class Block(Protocol):
    """Rows that can be read when they are needed, and again later."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        ...

    def load(self) -> Matrix:
        """Return the rows, one column after the other: a map of a file, or an array that is there anyway."""
        ...


@dataclass(frozen=True)
class KeptOpen:
    """A block that is loaded once: mapping a file anew costs a page fault for every few cells read."""

    block: Block

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.block.rows

    def load(self) -> Matrix:
        """Return the rows as they were first loaded."""
        return self._values

    @cached_property
    def _values(self) -> Matrix:
        return self.block.load()


@dataclass(frozen=True)
class Spans:
    """Least and greatest number of each column, and whether cells may be missing.

    A column that was not looked at yet spans everything, and its cells may be missing.
    """

    low: Vector
    high: Vector
    gaps: Flags
    known: Flags

    def learn(self, j: int, column: Vector) -> None:
        """Look at a column, once."""
        if self.known[j]:
            return
        low, high = column.min(), column.max()
        self.gaps[j] = np.isnan(low)
        if self.gaps[j]:
            present = column[~np.isnan(column)]
            low, high = present.min(initial=np.inf), present.max(initial=-np.inf)
        self.low[j], self.high[j], self.known[j] = low, high, True

    def of(self, j: int) -> tuple[float, float]:
        """Return the span of a column's cells; everything, where some may be missing."""
        return (-np.inf, np.inf) if self.gaps[j] else (float(self.low[j]), float(self.high[j]))

    def learn_all(self, values: Matrix) -> None:
        """Look at all columns that were not looked at yet."""
        for j in np.flatnonzero(~self.known).tolist():
            self.learn(j, values[:, j])


def unknown_spans(columns: int) -> Spans:
    """Return the spans of columns that nobody looked at."""
    return Spans(
        low=np.full(columns, -np.inf),
        high=np.full(columns, np.inf),
        gaps=np.ones(columns, dtype=bool),
        known=np.zeros(columns, dtype=bool),
    )


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a block; `first` is the position of the first of them among all rows.

    `norms` keeps what matrix products need of every row, once it was computed.
    """

    block: Block
    within: slice
    first: int
    spans: Spans
    norms: dict[str, Vector] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.within.stop - self.within.start)

    def load(self) -> Matrix:
        """Return the rows, one column after the other in memory."""
        return np.asarray(self.block.load())[self.within]


def chunks(blocks: Sequence[Block], columns: int) -> Iterator[Chunk]:
    """Divide blocks into chunks of at most `MOST_ROWS` rows, in their order."""
    first = 0
    for number, block in enumerate(blocks):
        source = KeptOpen(block) if number < MOST_OPEN else block
        for begin in range(0, block.rows, MOST_ROWS):
            end = min(begin + MOST_ROWS, block.rows)
            yield Chunk(source, slice(begin, end), first + begin, unknown_spans(columns))
        first += block.rows


def cells(values: Matrix, j: int, picked: Positions | None) -> Vector:
    """Return a column's cells in the picked rows; without picked ones, in all."""
    column: Vector = values[:, j]
    # Positions are always legal; "clip" spares NumPy the check and a copy.
    return column if picked is None else column.take(picked, mode="clip")


def gather(values: Matrix, picked: Positions) -> Matrix:
    """Return the picked rows, one row after the other in memory."""
    return np.ascontiguousarray(values.T.take(picked, axis=1, mode="clip").T)
