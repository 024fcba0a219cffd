"""A KD-tree over all stored rows, for queries in few dimensions that nothing restricts.

Building one takes as long as many scans, so it is built when the scans so far would have paid for it
(the rule of the ski rental: never more than twice what the best choice in hindsight would have cost).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssba.index.retrieval.bounds import LowerBound, ordinary
from ssba.index.retrieval.chunks import Chunk, Matrix, Positions, Spans

MOST_COLUMNS = 10
MOST_CELLS = 2**24
"""A tree keeps two copies of the rows: 256 MiB at the most."""

LEAST_ROWS = 2_048

# Measured, in nanoseconds: building takes so much a row and level, a scan so much a row and a cell.
_LEVEL, _ROW, _CELL = 50.0, 8.0, 1.0


@dataclass(frozen=True)
class Tree:
    """All `rows`, and a KD-tree of them scaled; `size` bounds the sum of a row's scaled numbers."""

    rows: Matrix
    kd: Any
    bound: LowerBound
    size: float

    def candidates(self, X: Matrix, k: int) -> Iterator[Positions]:
        """Yield, for each query, positions among which its `k` nearest rows are, with all their ties."""
        U = X * self.bound.factor
        p = 2 if self.bound.squared else 1
        asked = min(2 * k + 8, self.kd.n)
        distances, positions = self.kd.query(U, k=np.arange(1, asked + 1), p=p)
        for u, near, found in zip(U, distances, positions, strict=True):
            doubt = self.bound.slack * (self.size + float(np.abs(u).sum()))
            reach = float(near[min(k, asked) - 1]) + doubt
            if asked == self.kd.n or near[-1] > reach:
                yield np.sort(found[near <= reach])
            else:
                yield np.sort(np.array(self.kd.query_ball_point(u, reach, p=p), dtype=np.intp))


class LazyTree:
    """Holds the tree of an index, once there were enough queries for one."""

    def __init__(self, bound: LowerBound, chunks: Sequence[Chunk]) -> None:
        self._bound = bound
        self._portions = chunks
        self._rows = sum(chunk.rows for chunk in chunks)
        self._spent = 0.0
        self._spans: Spans | None = None
        self._tree: Tree | None = None

    @property
    def possible(self) -> bool:
        """Whether rows are many, columns few, and all of them numbers that a tree can hold."""
        columns = len(self._bound.factor)
        if not self._bound.plain.all() or columns > MOST_COLUMNS:
            return False
        if not LEAST_ROWS <= self._rows <= MOST_CELLS // columns:
            return False
        return bool(ordinary(self._bound, self.spans).all())

    @property
    def spans(self) -> Spans:
        """The spans of the columns over all rows."""
        if self._spans is None:
            self._spans = _joined([_learned(chunk) for chunk in self._portions])
        return self._spans

    def tree_for(self, queries: int) -> Tree | None:
        """Return the tree, if there is one or the queries so far and these are worth building it."""
        if self._tree is None:
            self._spent += queries * self._rows * (_ROW + _CELL * len(self._bound.factor))
            if self._spent >= _LEVEL * self._rows * math.log2(self._rows):
                self._tree = _grown(self._bound, self._portions)
        return self._tree


def _learned(chunk: Chunk) -> Spans:
    if not chunk.spans.known.all():
        chunk.spans.learn_all(chunk.load())
    return chunk.spans


def _joined(spans: Sequence[Spans]) -> Spans:
    return Spans(
        low=np.min([one.low for one in spans], axis=0),
        high=np.max([one.high for one in spans], axis=0),
        gaps=np.any([one.gaps for one in spans], axis=0),
        known=np.all([one.known for one in spans], axis=0),
    )


def _grown(bound: LowerBound, chunks: Sequence[Chunk]) -> Tree:
    # Most uses of the library never need a tree, and importing this takes a while.
    from scipy.spatial import KDTree

    rows = np.concatenate([np.ascontiguousarray(chunk.load()) for chunk in chunks])
    scaled = rows * bound.factor
    return Tree(rows, KDTree(scaled), bound, float(np.abs(scaled).max(axis=0).sum()))
