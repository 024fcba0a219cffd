"""One query on its way through an index: where it looks, and the nearest rows so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssba.arrays import Array
from ssba.constraints.regions.region import Region
from ssba.index.retrieval.bounds import LowerBound, Sums
from ssba.index.retrieval.chunks import Chunk, Matrix, Positions, Spans, Vector, cells, gather
from ssba.index.retrieval.masks import RegionFilter

# Rows measured at first, so many cells at most later, and every so many rows of the sample for `order`.
_MEASURED_FIRST = 32
_MEASURED_CELLS = 2**18
_SPARSER = 8
_BETWEEN_LOOKS = 4


@dataclass(frozen=True)
class Query:
    """A row, and the regions in which its neighbours may lie: a row of any of them counts."""

    x: Array
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Hits:
    """Rows found, nearest first, ties by `position`: their place among the rows of all blocks."""

    rows: Array
    distance: Array
    position: Array


class Search:
    """One query, and the `k` nearest rows found so far."""

    def __init__(self, query: Query, k: int, bound: LowerBound, sample: Matrix) -> None:
        self.x: Vector = np.asarray(query.x, dtype=np.float64)
        self.region_filters = [RegionFilter(region, sample) for region in query.regions]
        self._k = k
        self._bound = bound
        self._sample = sample
        self._found = Hits(np.empty((0, len(self.x))), np.empty(0), np.empty(0, dtype=np.intp))
        self._waiting: list[tuple[Matrix, Positions]] = []

    @property
    def hits(self) -> Hits:
        """The nearest rows of all that were taken."""
        self._settle()
        return self._found

    @property
    def limit(self) -> float:
        """The largest sum of a row that may be among the nearest."""
        return self._bound.limit(self._farthest)

    @cached_property
    def order(self) -> list[int]:
        """The columns, those first that add most to the distance of some stored rows."""
        parts = self._bound.metric.parts(self._sample[::_SPARSER], self.x)
        order: list[int] = np.argsort(-parts.sum(axis=0), kind="stable").tolist()
        return order

    def is_free_within(self, spans: Spans) -> bool:
        """Tell whether one of the regions contains every row within the spans."""
        return any(
            region_filter.region.linear is None and not region_filter.restricting(spans).any()
            for region_filter in self.region_filters
        )

    def skips(self, chunk: Chunk) -> bool:
        """Tell whether no row of a chunk lies in any region."""
        return all(region_filter.excludes(chunk.spans) for region_filter in self.region_filters)

    def sum_up(self, chunk: Chunk, values: Matrix, begun: Sums, columns: Sequence[int]) -> Sums:
        """Add up columns of a chunk, dropping rows on the way that come to lie beyond the limit."""
        sums = begun
        for count, j in enumerate(columns, start=1):
            self._bound.add(sums.totals, j, cells(values, j, sums.picked), self.x, chunk.spans.gaps[j])
            if count % _BETWEEN_LOOKS == 0:
                sums = sums.at_most(self.limit)
        return sums

    def take_few(self, chunk: Chunk, values: Matrix, picked: Positions) -> None:
        """Take rows of a chunk that are too few to sum up columns; they are measured with others."""
        self._waiting.append((gather(values, picked), picked + chunk.first))
        if sum(len(rows) for rows, _ in self._waiting) > self._most:
            self._settle()

    def take(self, chunk: Chunk, values: Matrix, sums: Sums) -> None:
        """Measure rows of a chunk, those with the least sums first, until no other can be near enough."""
        count = max(_MEASURED_FIRST, 2 * self._k)
        while len(sums := sums.kept(np.flatnonzero(sums.totals <= self.limit))) > count:
            order = np.argpartition(sums.totals, count)
            nearest = sums.kept(order[:count]).positions
            self._measure(gather(values, nearest), nearest + chunk.first)
            sums, count = sums.kept(order[count:]), min(4 * count, self._most)
        if len(sums):
            self.take_few(chunk, values, sums.positions)

    def measure_all(self, rows: Matrix, positions: Positions) -> None:
        """Measure some of all rows, few at a time."""
        for begin in range(0, len(positions), self._most):
            some = positions[begin : begin + self._most]
            self._measure(rows[some], some)

    def _settle(self) -> None:
        """Measure all rows that were taken and not measured yet."""
        if self._waiting:
            rows, positions = zip(*self._waiting, strict=True)
            self._waiting = []
            self._measure(np.concatenate(rows), np.concatenate(positions))

    def _measure(self, rows: Matrix, positions: Positions) -> None:
        """Measure rows, and keep the nearest of those that lie in a region."""
        distance = self._bound.metric.distance(rows, self.x)
        near = np.flatnonzero(distance <= self._farthest)
        rows, distance = rows[near], distance[near]
        fine = np.zeros(len(rows), dtype=bool)
        for region_filter in self.region_filters:
            fine |= region_filter.region.contains(rows)
        self._add(rows[fine], distance[fine], positions[near[fine]])

    @property
    def _most(self) -> int:
        """How many rows to measure at a time."""
        return max(1, _MEASURED_CELLS // len(self.x))

    @property
    def _farthest(self) -> float:
        """How far away a row may be to be among the nearest."""
        distance = self.hits.distance
        return float(distance[-1]) if len(distance) == self._k else np.inf

    def _add(self, rows: Matrix, distance: Vector, position: Positions) -> None:
        found = self._found
        distance = np.concatenate([found.distance, distance])
        position = np.concatenate([found.position, position])
        best = np.lexsort((position, distance))[: self._k]
        rows = np.concatenate([found.rows, rows])[best]
        self._found = Hits(rows, distance[best], position[best])
