"""The points of a boundary set as the pipeline uses them: encoded, in blocks, and the nearest of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.columns.space import Matrix
from ssba.index.point_store import Block
from ssba.index.retrieval.finder import Finder, Hits, Query
from ssba.models.targets import Goal, describe


@dataclass(frozen=True)
class EncodedPoints:
    """Blocks of encoded points, each with what it is about."""

    blocks: tuple[Block, ...]
    metric: Metric

    def __len__(self) -> int:
        return sum(block.rows for block in self.blocks)

    def nearest(self, queries: Sequence[Query], k: int) -> list[Hits]:
        """Return the nearest points of encoded queries."""
        return self._finder.nearest(queries, k)

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.blocks, self.metric)

    def reaching(self, positions: NDArray[np.int64], goal: Goal) -> NDArray[np.bool_]:
        """Tell which of the points at some positions were found to reach a goal."""
        ends = np.cumsum([block.rows for block in self.blocks])
        fits = np.array([block.about.get("goal") == describe(goal) for block in self.blocks], dtype=bool)
        return fits[np.searchsorted(ends, positions, side="right")]

    def loaded(self) -> Iterator[Matrix]:
        """Yield the points, block by block."""
        return (block.load() for block in self.blocks)
