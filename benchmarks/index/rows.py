"""The rows that are searched, the queries and their bounds, all drawn from one seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Distance, Metric
from ssba.columns.space import Space, build_space
from ssba.constraints.constraint import between
from ssba.constraints.regions.compile import compile_regions
from ssba.index.files.store import Identity, Shard, Store
from ssba.index.retrieval.finder import Finder, Query

Matrix = NDArray[np.float64]
BLOCK = 32_768


@dataclass(frozen=True)
class Block:
    """A shard of an index, mapped anew whenever it is read, as the library does."""

    store: Store
    shard: Shard

    @property
    def rows(self) -> int:
        return self.shard.rows

    def load(self) -> Matrix:
        return self.store.read(self.shard)


@dataclass(frozen=True)
class Bounds:
    """A query, and the range that three of its columns must lie in."""

    x: Matrix
    columns: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Table:
    """Rows of independent normal numbers, as an index in a folder."""

    folder: Path
    rows: int
    columns: int
    seed: int

    @cached_property
    def store(self) -> Store:
        """The index, written block by block."""
        names = tuple(f"c{j}" for j in range(self.columns))
        identity = Identity("none", names, ("numeric",) * self.columns, "none", "none", "none")
        store = Store.create(self.folder / "rows.boundary", identity)
        for number, part in enumerate(self._parts()):
            store.append(part, {"part": number})
        return store

    def _parts(self) -> Iterator[Matrix]:
        rng = np.random.default_rng(self.seed)
        for begin in range(0, self.rows, BLOCK):
            yield rng.normal(size=(min(BLOCK, self.rows - begin), self.columns))

    @cached_property
    def blocks(self) -> Sequence[Block]:
        return [Block(self.store, shard) for shard in self.store.latest().shards]

    @property
    def files(self) -> list[str]:
        """The .npy files of the index, in order."""
        return [str(self.store.path / "shards" / block.shard.name) for block in self.blocks]

    def in_memory(self) -> Matrix:
        """All rows as one array, one row after the other in memory."""
        return np.concatenate([np.ascontiguousarray(block.load()) for block in self.blocks])

    @cached_property
    def space(self) -> tuple[Space, Metric]:
        """What ssba knows of such rows, from some of them that span all values; scales are not all alike."""
        rng = np.random.default_rng(self.seed + 1)
        edges = np.full((1, self.columns), 10.0)
        space, Z = build_space(np.concatenate([-edges, edges, rng.normal(size=(500, self.columns))]))
        scales = dict(zip(space.by_name, rng.uniform(0.5, 2.0, self.columns).tolist(), strict=True))
        return space, Distance(scale=scales).metric(space.features, Z)

    @property
    def factor(self) -> Matrix:
        scale: Matrix = self.space[1].scale
        return 1 / scale

    def finder(self) -> Finder:
        return Finder(self.blocks, self.space[1])

    def points(self, count: int) -> Matrix:
        """Queries drawn like the rows."""
        return np.random.default_rng(self.seed + 2).normal(size=(count, self.columns))

    def bounds(self, share: float, count: int) -> list[Bounds]:
        """Queries with bounds on three columns each that so large a share of the rows meets."""
        rng = np.random.default_rng(self.seed + 3)
        middle = _middle(share ** (1 / 3))
        return [
            Bounds(x, tuple(rng.choice(self.columns, 3, replace=False).tolist()), -middle, middle)
            for x in self.points(count)
        ]

    def query(self, x: Matrix, bounds: Bounds | None = None) -> Query:
        space, measure = self.space
        names = list(space.by_name)
        columns = () if bounds is None else bounds.columns
        wishes = [between(names[j], bounds.low, bounds.high) for j in columns if bounds is not None]
        return Query(x, compile_regions(space, measure, x, wishes))


def _middle(share: float) -> float:
    """The half-width around zero that holds a share of a normal distribution."""
    from scipy.stats import norm

    return float(norm.ppf(0.5 + share / 2))
