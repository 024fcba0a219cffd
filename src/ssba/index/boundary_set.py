"""Points on a model's decision boundary, in memory or on disk."""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ssba.arguments import number, one_of, whole
from ssba.boundary.points import Stream
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.lists import Constraints, constraint_list, constraints_by_row
from ssba.constraints.regions.compile import compile_regions
from ssba.engine import Engine
from ssba.errors import ArgumentError, SsbaWarning
from ssba.index.around import Around, Method, ends_around, one_side_sentence
from ssba.index.encoded_points import EncodedPoints
from ssba.index.files.store import Identity
from ssba.index.identity import identity_of
from ssba.index.point_store import Block, MemoryStore, PointStore
from ssba.index.retrieval.finder import Query
from ssba.index.sampling import Growth, grow
from ssba.index.tables import arrow_table, write_parquet
from ssba.index.verify_index import Verified, keep_what_holds, verify_points
from ssba.progress import bar


@dataclass(frozen=True)
class Neighbours:
    """The stored boundary points nearest to a query: `points` in the user's own form, nearest first."""

    points: Any
    distances: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.distances)


class BoundarySet:
    """Points on a model's decision boundary, each a row that reaches the target.

    Made by `Explainer.sample_boundary`, opened by `Explainer.open_boundary`. A set never changes: what adds
    or drops points returns another. An index on disk grows by `sample_boundary` at the same path.

    Attributes
    ----------
    path
        The folder of the index; None for a set in memory.
    pairs, pairs_used
        How many pairs of background rows there are to bisect, and how many of them were.
    rows_used
        Model rows spent by the call that returned this set.
    """

    def __init__(
        self, engine: Engine, store: PointStore, rows_used: int = 0, pairs: int | None = None
    ) -> None:
        self._engine = engine
        self._store = store
        self._encoded = EncodedPoints(store.blocks(), engine.metric)
        self.path: Path | None = store.path
        self.rows_used = rows_used
        self.pairs = _pairs(self._encoded.blocks) if pairs is None else pairs

    @property
    def identity(self) -> Identity:
        """The columns, model and target that the points belong to."""
        return identity_of(self._engine)

    @property
    def target(self) -> str:
        """The target in words."""
        return self._engine.target_text

    @cached_property
    def pairs_used(self) -> int:
        """How many pairs of rows were bisected."""
        return sum(_positions(block) for block in self._encoded.blocks)

    @property
    def is_complete(self) -> bool:
        """Whether every pair of rows has been used, so that no further point can come."""
        return 0 < self.pairs <= self.pairs_used

    @property
    def _rows(self) -> Matrix:
        """All points, encoded; in an index on disk they are read for this."""
        loaded = list(self._encoded.loaded())
        return np.ascontiguousarray(np.concatenate(loaded)) if loaded else self._engine.background.rows[:0]

    @property
    def points(self) -> Any:
        """The boundary points in the user's own form, all on the target's side."""
        return self._engine.space.decode(self._rows)

    def __len__(self) -> int:
        return len(self._encoded)

    def __repr__(self) -> str:
        """Say what the set holds in one line."""
        used = "all" if self.is_complete else f"{self.pairs_used:,} of"
        pairs = f", from {used} {self.pairs:,} pairs" if self.pairs else ""
        where = f" in {self.path}" if self.path else ""
        return f"<BoundarySet of {len(self):,} points toward {self.target}{pairs}{where}>"

    def nearest(self, row: Any, constraints: Constraints = (), k: int = 10) -> Neighbours:
        """Return the `k` stored points nearest to a row among those that meet the constraints.

        The answer is exact, in the explainer's distance. Fewer than `k` come back where fewer meet the
        constraints.

        Parameters
        ----------
        row
            The query: a dict, a Series, a one-row frame or a 1-D array.
        constraints
            As for `Explainer.explain`.
        k : int
            How many points to return at most.
        """
        space = self._engine.space
        x = space.encode_row(row)
        return self._neighbours([x], [constraint_list(constraints, space.by_name)], k)[0]

    def nearest_many(
        self, rows: Any, constraints: Constraints | Sequence[Constraints] = (), k: int = 10
    ) -> list[Neighbours]:
        """Return the nearest points of every row of a frame or 2-D array, in one pass over the set."""
        space = self._engine.space
        X = space.encode(rows)
        return self._neighbours(list(X), constraints_by_row(constraints, len(X), space.by_name), k)

    def _neighbours(
        self, X: Sequence[Matrix], constraints: Sequence[tuple[Constraint, ...]], k: int
    ) -> list[Neighbours]:
        k = whole("k", k, at_least=1)
        engine = self._engine
        queries = [
            Query(x, compile_regions(engine.space, engine.metric, x, own))
            for x, own in zip(X, constraints, strict=True)
        ]
        return [
            Neighbours(engine.space.decode(one.rows), tuple(map(float, one.distance)))
            for one in self._encoded.nearest(queries, k)
        ]

    def verify(self, n_points: int | None = None, *, progress: bool | None = None) -> Verified:
        """Ask the model again whether all points, or `n_points` drawn ones, still reach the target."""
        n = None if n_points is None else whole("verify(n_points=...)", n_points, at_least=1)
        count = len(self) if n is None else min(n, len(self))
        with bar(count, "points", progress) as shown:
            return verify_points(self._engine, self._encoded.blocks, n, shown.update)

    def keep_valid(self, *, progress: bool | None = None) -> "BoundarySet":
        """Ask the model about all points, drop those that no longer reach the target, and return the rest."""
        with bar(len(self), "points", progress) as shown:
            store = self._own_store()
            keep_what_holds(self._engine, store, self.identity, adopted=False, watch=shown.update)
        return BoundarySet(self._engine, store, rows_used=len(self), pairs=self.pairs)

    def densify(
        self,
        around: Any,
        method: Method = "ball",
        radius: float | None = None,
        n_pairs: int = 1000,
        *,
        constraints: Constraints = (),
        tolerance: float = 1e-3,
        progress: bool | None = None,
    ) -> "BoundarySet":
        """Find more boundary points near a row, and return the set with them.

        Rows are drawn around it, the model tells on which side each lies, and pairs from the two sides are
        bisected. The same call again finds the same points; a larger `n_pairs` adds to them.

        Parameters
        ----------
        around
            The row: a dict, a Series, a one-row frame or a 1-D array.
        method : {"ball", "gaussian"}
            Rows drawn evenly from a ball, or normally in every column.
        radius : float, optional
            The ball's radius, or how far normal draws lie on average, in the explainer's distance; by default
            half as far again as the nearest stored point.
        n_pairs : int
            How many pairs to bisect.
        constraints
            What the drawn rows must meet, as for `Explainer.explain`.
        tolerance : float
            As for `Explainer.sample_boundary`.
        """
        engine = self._engine
        one_of("method", method, get_args(Method))
        n = whole("densify(n_pairs=...)", n_pairs, at_least=1)
        tolerance = number("tolerance", tolerance, "a share of the segment, between 0 and 1", low=0, high=1)
        x = engine.space.encode_row(around)
        given = constraint_list(constraints, engine.space.by_name)
        regions = compile_regions(engine.space, engine.metric, x, given)
        if not regions:
            raise ArgumentError("densify: the constraints contradict each other, so that no row meets them")
        where = Around(regions[0], method, self._radius(x, radius))
        sides, asked = ends_around(engine, where)
        growth = Growth([Stream(sides, engine.background.sampling(tolerance))], n, kind="around")
        if not growth.pairs:
            warnings.warn(one_side_sentence(engine, sides, where), SsbaWarning, stacklevel=2)
        store = self._own_store()
        with bar(min(n, growth.pairs), "boundary points", progress) as shown:
            asked += grow(engine, store, growth, shown.update)
        return BoundarySet(engine, store, asked, self.pairs)

    def _own_store(self) -> PointStore:
        """A shelf to add to: the index itself on disk, a copy in memory."""
        return self._store if self.path else MemoryStore(self._store.blocks())

    def _radius(self, x: Matrix, radius: float | None) -> float:
        if radius is not None:
            return number("radius", radius, "a distance above 0", low=0, high=1e300)
        everywhere = compile_regions(self._engine.space, self._engine.metric, x, ())
        nearest = self._encoded.nearest([Query(x, everywhere)], 1)[0].distance
        if not len(nearest):
            raise ArgumentError(
                "densify needs radius=... here, since no point of the set has the row's missing cells"
                if len(self)
                else "densify needs radius=... here, since the set has no point to measure from"
            )
        # Beyond the nearest point, so that both sides are met.
        return 1.5 * float(nearest[0]) or 1.0

    def to_frame(self) -> Any:
        """Return the points in the user's own form, as `points` does."""
        return self.points

    def to_arrow(self) -> Any:
        """Return the points as an Arrow table in the user's columns (extra ``arrow``)."""
        return arrow_table(self._engine, self._encoded.blocks)

    def to_parquet(self, file: str | PathLike[str]) -> None:
        """Write the points to a Parquet file in the user's columns (extra ``arrow``)."""
        write_parquet(self._engine, self._encoded.blocks, file)

    def digest(self) -> str:
        """Return the sha256 of the sorted points: equal for equal sets, in whatever order they were found."""
        rows = self._rows + 0.0
        order = np.lexsort(rows.T[::-1])
        return hashlib.sha256(np.ascontiguousarray(rows[order], dtype="<f8").tobytes()).hexdigest()


def _pairs(blocks: Sequence[Block]) -> int:
    """Return how many pairs the streams of some blocks have in all."""
    totals = {block.about["stream"]: block.about["pairs"] for block in blocks if _is_paired(block)}
    return max((int(total) for total in totals.values()), default=0)


def _positions(block: Block) -> int:
    return int(block.about["end"]) - int(block.about["begin"]) if _is_paired(block) else 0


def _is_paired(block: Block) -> bool:
    return block.about.get("kind") == "pairs"


def encoded_points(boundary: BoundarySet) -> EncodedPoints:
    """Return the points of a set as the pipeline uses them."""
    return boundary._encoded
