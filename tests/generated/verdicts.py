"""Verdicts: whether a row meets a clause, and what clauses are read against.

`EITHER` marks rows so near to a tie that the rounding of real numbers, or the allowance of ``==``, may
decide; `UNKNOWN` those where a cell is missing, of which a clause asks nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tests.generated.columns import Column, Matrix

Verdicts = NDArray[np.int8]
NO, YES, EITHER, UNKNOWN = np.int8(0), np.int8(1), np.int8(2), np.int8(3)


Asked = tuple[float | None, float | None]
"""The lowest and highest value that a rule asks of a column; None where it asks nothing of that side."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What rules are read against: the columns, the query, and how large cells of each column are."""

    columns: tuple[Column, ...]
    query: Matrix
    sizes: Matrix

    def place(self, name: str) -> int:
        return [one.name for one in self.columns].index(name)

    def column(self, name: str) -> Column:
        return self.columns[self.place(name)]

    def now(self, name: str) -> float:
        """Return the query's cell, NaN where it is missing."""
        return float(self.query[self.place(name)])

    def digits(self, name: str) -> Fraction:
        """Return what the query's number means."""
        return self.column(name).digits(self.now(name))


class Clause(Protocol):
    """A condition on the new row, given the query."""

    @property
    def text(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the new row that it speaks about."""

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts: ...

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        """Return the sides of single columns of numbers that it asks for, which replace their defaults."""


def quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def literal(value: Any) -> str:
    return repr(value)


def with_missing(verdicts: Verdicts, Z: Matrix, places: Sequence[int]) -> Verdicts:
    """Mark rows as unknown where one of the cells is missing."""
    return np.where(np.isnan(Z[:, list(places)]).any(axis=1), UNKNOWN, verdicts)


def everywhere(verdict: np.int8, Z: Matrix) -> Verdicts:
    return np.full(len(Z), verdict, dtype=np.int8)


def together(verdicts: Sequence[Verdicts]) -> Verdicts:
    """Join what several clauses say, all of which must be so; a missing cell of one asks nothing there."""
    joined = np.stack(verdicts)
    either = (joined == EITHER).any(axis=0)
    known = (joined == YES).any(axis=0)
    rest = np.where(either, EITHER, np.where(known, YES, UNKNOWN))
    return np.where((joined == NO).any(axis=0), NO, rest).astype(np.int8)
