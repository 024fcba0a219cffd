"""How near stored rows can be at the least: for many at once, before any of them is measured.

The sum of some columns' contributions never exceeds the distance, so a row whose sum is beyond the best rows
already is dropped. For L2 all columns that hold nothing but numbers are summed at once: ``|u - v|^2`` is
``|u|^2 + |v|^2 - 2 u.v``, one matrix product for many rows and queries. Cancellation loses digits there; as
much as may be lost is taken off, so that a sum is never too large by more than a known share. What is left
is measured by `Metric.distance`, the only measure of what is given out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssba.columns.distance import Metric
from ssba.index.retrieval.chunks import Chunk, Flags, Matrix, Positions, Spans, Vector

# Squares of scaled numbers within these limits neither overflow nor vanish.
_TINY, _HUGE = 1e-100, 1e100
_WORTH_DROPPING = 0.25
_WITHOUT_THREADS = 2**15

ONE_BY_ONE = 3
"""So few queries gain nothing from sharing a product."""


@dataclass(frozen=True)
class LowerBound:
    """A metric, and what lower bounds of its distances need.

    A sum is the distance in L1, its square in L2.
    """

    metric: Metric

    @property
    def squared(self) -> bool:
        return self.metric.adds_squares

    @cached_property
    def factor(self) -> Vector:
        """What a column's differences are multiplied with."""
        with np.errstate(over="ignore"):
            return np.asarray(self.metric.weight / self.metric.scale)

    @cached_property
    def plain(self) -> Flags:
        """Which columns count by their difference, times an ordinary factor."""
        return np.asarray(~self.metric.discrete & (self.factor > _TINY) & (self.factor < _HUGE))

    @cached_property
    def slack(self) -> float:
        """How much larger, relatively, a sum may be computed than it is."""
        return 16.0 * (len(self.factor) + 8) * float(np.finfo(np.float64).eps)

    def limit(self, distance: float) -> float:
        """Return the largest computed sum that a row so far away may have."""
        return (distance * distance if self.squared else distance) * (1 + self.slack) + 1e-300

    def add(self, totals: Vector, j: int, column: Vector, x: Vector, gaps: bool) -> None:
        """Add a column's contributions to the sums."""
        parts = self._parts(j, column, x, gaps)
        if self.squared:
            parts *= parts
        totals += parts

    def _parts(self, j: int, column: Vector, x: Vector, gaps: bool) -> Vector:
        if self.plain[j] and not gaps and np.isfinite(x[j]):
            parts: Vector = column - x[j]
            parts *= self.factor[j]
            return parts if self.squared else np.abs(parts, out=parts)
        one = Metric(
            self.metric.norm,
            self.metric.scale[j : j + 1],
            self.metric.weight[j : j + 1],
            self.metric.discrete[j : j + 1],
        )
        return np.asarray(one.parts(column[:, None], x[j : j + 1])[:, 0])


@dataclass(frozen=True)
class Sums:
    """Least possible sums of some rows of a chunk; `picked` tells which, None: all of them."""

    picked: Positions | None
    totals: Vector

    def __len__(self) -> int:
        return len(self.totals)

    @property
    def positions(self) -> Positions:
        """The positions of the rows in their chunk."""
        return np.arange(len(self)) if self.picked is None else self.picked

    def kept(self, keep: Positions) -> "Sums":
        """Return the sums of some of these rows."""
        return Sums(keep if self.picked is None else self.picked[keep], self.totals[keep])

    def at_most(self, limit: float) -> "Sums":
        """Leave out what is beyond a limit, where that is enough to be worth the while."""
        if limit == np.inf:
            return self
        keep = np.flatnonzero(self.totals <= limit)
        return self if len(keep) > (1 - _WORTH_DROPPING) * len(self) else self.kept(keep)


def nothing_yet(picked: Positions | None, rows: int) -> Sums:
    """Return sums of no column."""
    return Sums(picked, np.zeros(rows if picked is None else len(picked)))


@dataclass(frozen=True)
class Products:
    """Sums over the `summed` columns of one chunk, for several queries, by one matrix product."""

    summed: Flags
    halves: Vector
    dots: Matrix
    squares: Vector
    doubt: Vector

    def sums(self, i: int, picked: Positions | None, limit: float) -> Sums:
        """Return the sums of query `i`, once, for the picked rows that are not beyond the limit."""
        # |u|^2 / 2 - u.v in the place of u.v; only what may be near enough is worked out further.
        halves: Vector = np.subtract(self.halves, self.dots[i], out=self.dots[i])
        offset = self.squares[i] - self.doubt[i]
        if picked is not None:
            halves = halves[picked]
        begun = Sums(picked, halves).at_most((limit - offset) / 2)
        return Sums(begun.picked, np.maximum(2 * begun.totals + offset, 0.0))


def ordinary(bound: LowerBound, spans: Spans) -> Flags:
    """Tell which columns hold nothing but numbers of ordinary size, none missing."""
    largest = np.maximum(np.abs(spans.low), np.abs(spans.high))
    with np.errstate(over="ignore"):
        return np.asarray(bound.plain & ~spans.gaps & (largest < _HUGE) & (largest * bound.factor < _HUGE))


def fits(bound: LowerBound, summed: Flags, x: Vector) -> bool:
    """Tell whether the query's own cells in the summed columns are such numbers, too."""
    own = np.abs(x[summed])
    with np.errstate(over="ignore"):
        return bool(((own < _HUGE) & (own * bound.factor[summed] < _HUGE)).all())


def products(bound: LowerBound, chunk: Chunk, values: Matrix, summed: Flags, X: Matrix) -> Products:
    """Multiply the summed columns of a chunk with several queries."""
    if "halves" not in chunk.norms:
        chunk.norms["halves"] = _halves(bound, values, summed)
    halves = chunk.norms["halves"]
    V = np.where(summed, X, 0.0) * bound.factor
    squares = (V * V).sum(axis=1)
    doubt = bound.slack * (2 * halves.max() + squares)
    spans = chunk.spans
    finite = ~spans.gaps & np.isfinite(spans.low) & np.isfinite(spans.high)
    return Products(summed, halves, _dots(V * bound.factor, values, finite), squares, doubt)


def _halves(bound: LowerBound, values: Matrix, summed: Flags) -> Vector:
    totals = np.zeros(len(values))
    nowhere = np.zeros(len(summed))
    for j in np.flatnonzero(summed).tolist():
        bound.add(totals, j, values[:, j], nowhere, gaps=False)
    return totals / 2


def _dots(V: Matrix, values: Matrix, finite: Flags) -> Matrix:
    """Multiply rows of weights with all rows of values, leaving out columns that are not finite."""
    edges = np.flatnonzero(np.diff(np.r_[False, finite, False])).reshape(-1, 2).tolist()
    # A run of neighbouring columns is one piece of memory, which needs no copy.
    pieces = [_times(V[:, begin:end], values.T[begin:end]) for begin, end in edges]
    return np.asarray(sum(pieces[1:], start=pieces[0]))


def _times(V: Matrix, columns: Matrix) -> Matrix:
    """Multiply; few rows one by one, in pieces so small that BLAS does not start threads for them.

    Such products wait for memory, and threads that wait for each other, too, make them slower where
    other processes keep the cores busy.
    """
    if len(V) > ONE_BY_ONE:
        return V @ columns
    found = np.empty((len(V), columns.shape[1]))
    piece = max(1, _WITHOUT_THREADS // len(columns))
    for begin in range(0, columns.shape[1], piece):
        some = slice(begin, begin + piece)
        for v, line in zip(V, found, strict=True):
            np.matmul(v, columns[:, some], out=line[some])
    return found
