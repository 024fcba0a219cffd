"""The stored rows nearest to a query, among those that lie in its regions: exactly.

Every way to the answer ends with the same step: rows that may lie in a region and may be near enough are
measured by `Metric.distance` and held against `Region.contains`. Ways differ in how few they leave for it:

- *masks*: bounds that leave rows out are checked column by column (`masks`), then the columns of
  the rest are summed up, those that matter most first, dropping what is too far already;
- *products*: where many rows are left and the distance is L2, one matrix product sums up all columns, for
  many queries at once (`bounds`);
- *tree*: in few dimensions, for queries that nothing restricts, once there are enough of them
  (`tree`).

Sizes decide which, not the user. Rows are read in chunks, by all queries together, so that memory stays
bounded and files may be larger than it.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ssba.columns.distance import Metric
from ssba.index.retrieval.bounds import (
    ONE_BY_ONE,
    LowerBound,
    Products,
    fits,
    nothing_yet,
    ordinary,
    products,
)
from ssba.index.retrieval.chunks import Block, Chunk, Matrix, chunks
from ssba.index.retrieval.masks import AT_ONCE, FEW, pick
from ssba.index.retrieval.scan import Hits, Query, Search
from ssba.index.retrieval.tree import LazyTree

__all__ = ["Block", "Finder", "Hits", "Query"]

_SAMPLE = 512
_TOGETHER = 32
"""Queries whose products with one chunk are held at the same time: 16 MiB."""

_MOST = 2
"""Alone, a query needs one row in so many for a product to be quicker than summing up columns."""

_WORTH_PRODUCTS = 3
"""Columns that must be numbers throughout for a matrix product to be worth its while."""


class Finder:
    """Finds nearest rows in blocks; keeps what queries can share: column spans, norms of rows, a tree."""

    def __init__(self, blocks: Sequence[Block], metric: Metric) -> None:
        self._bound = LowerBound(metric)
        self._columns = len(metric.scale)
        self._portions = tuple(chunks(blocks, self._columns))
        self._lazy_tree = LazyTree(self._bound, self._portions)

    def nearest(self, queries: Sequence[Query], k: int) -> list[Hits]:
        """Return, for each query, the `k` nearest rows that lie in one of its regions, or all if fewer do."""
        searches = [Search(query, k, self._bound, self._sample) for query in queries]
        # Distances of rows that lie absurdly far away may overflow, as in `Metric.distance`.
        with np.errstate(over="ignore", invalid="ignore"):
            left = self._by_tree(searches, k)
            for chunk in self._portions:
                _look(self._bound, chunk, left)
        return [search.hits for search in searches]

    @cached_property
    def _sample(self) -> Matrix:
        """Some rows, evenly from the first chunk."""
        if not self._portions:
            return np.empty((0, self._columns))
        values = self._portions[0].load()
        return np.ascontiguousarray(values[:: max(1, len(values) // _SAMPLE)])

    def _by_tree(self, searches: list[Search], k: int) -> list[Search]:
        """Answer what a tree can answer, and return the searches that are left."""
        lazy_tree = self._lazy_tree
        if not lazy_tree.possible:
            return searches
        free = {search for search in searches if self._is_free(search)}
        tree = lazy_tree.tree_for(len(free))
        if tree is None or not free:
            return searches
        asked = list(free)
        found = tree.candidates(np.stack([search.x for search in asked]), k)
        for search, positions in zip(asked, found, strict=True):
            search.measure_all(tree.rows, positions)
        return [search for search in searches if search not in free]

    def _is_free(self, search: Search) -> bool:
        """Tell whether nothing restricts a search, and its query has nothing but ordinary numbers."""
        return search.is_free_within(self._lazy_tree.spans) and fits(self._bound, self._bound.plain, search.x)


def _look(bound: LowerBound, chunk: Chunk, searches: Sequence[Search]) -> None:
    """Take searches through a chunk; its rows are read once, or not at all where none of them may count."""
    looking = [search for search in searches if not search.skips(chunk)]
    if not looking:
        return
    values = chunk.load()
    for begin in range(0, len(looking), _TOGETHER):
        _look_together(bound, chunk, values, looking[begin : begin + _TOGETHER])


def _look_together(bound: LowerBound, chunk: Chunk, values: Matrix, searches: Sequence[Search]) -> None:
    picks = [pick(search.region_filters, chunk, values) for search in searches]
    left = [chunk.rows if picked is None else len(picked) for picked in picks]
    broad = [i for i, count in enumerate(left) if count * FEW > chunk.rows]
    if len(broad) <= ONE_BY_ONE:
        broad = [i for i in broad if left[i] * _MOST > chunk.rows]
    multiplied = _multiplied(bound, chunk, values, {i: searches[i] for i in broad})
    for i, (search, picked) in enumerate(zip(searches, picks, strict=True)):
        if picked is not None and len(picked) <= AT_ONCE:
            search.take_few(chunk, values, picked)
        elif i in multiplied:
            product, line = multiplied[i]
            begun = product.sums(line, picked, search.limit)
            rest = [j for j in search.order if not product.summed[j]]
            search.take(chunk, values, search.sum_up(chunk, values, begun, rest))
        else:
            begun = nothing_yet(picked, chunk.rows)
            search.take(chunk, values, search.sum_up(chunk, values, begun, search.order))


def _multiplied(
    bound: LowerBound, chunk: Chunk, values: Matrix, searches: dict[int, Search]
) -> dict[int, tuple[Products, int]]:
    """Return, by number of the search, a matrix product and the line in it, where one is worth its while."""
    if not bound.squared or not searches:
        return {}
    chunk.spans.learn_all(values)
    summed = ordinary(bound, chunk.spans)
    fitting = {i: search for i, search in searches.items() if fits(bound, summed, search.x)}
    if np.count_nonzero(summed) < _WORTH_PRODUCTS or not fitting:
        return {}
    X = np.stack([search.x for search in fitting.values()])
    product = products(bound, chunk, values, summed, X)
    return {i: (product, line) for line, i in enumerate(fitting)}
