"""Boundary points: pairs of rows from two sides, bisected (paper, algorithm 1)."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssba.arrays import Array, choose, in_turn, to_numpy
from ssba.boundary.bisection import Asking, Path, halve
from ssba.boundary.crossings import every_crossing
from ssba.boundary.pairs import PairStream, pair_stream
from ssba.models.targets import Goal, Reply, describe


@dataclass(frozen=True)
class Sides:
    """Encoded rows on the two sides of the boundary, and the goal that only `reaching` ones meet."""

    leaving: Array
    reaching: Array
    goal: Goal

    @property
    def pairs(self) -> int:
        """How many pairs the two sides make."""
        return int(self.leaving.shape[0] * self.reaching.shape[0])


@dataclass(frozen=True)
class Sampling:
    """What the sampling of one pair of sides needs beside the rows.

    `resolution` is into how many parts each segment is cut to look for every crossing; with 1, bisection
    takes the one that it runs into.
    """

    path: Path
    tolerance: float
    seed: int
    batch_rows: int
    resolution: int = 1

    @property
    def batch_pairs(self) -> int:
        """How many pairs are asked about together."""
        return max(1, self.batch_rows // self.resolution)


@dataclass(frozen=True)
class Batch:
    """Boundary points of the pairs from position `begin` up to `end`, each on the target's side."""

    begin: int
    end: int
    points: Array


@dataclass(frozen=True)
class Stream:
    """All pairs of two sides in an order that the seed fixes, and how each becomes boundary points."""

    sides: Sides
    sampling: Sampling

    def batches(self, positions: range, ask: Callable[[Array], Reply]) -> Iterator[Batch]:
        """Yield the boundary points of the pairs at the given positions, batch by batch."""
        for begin in range(positions.start, positions.stop, self.sampling.batch_pairs):
            end = min(begin + self.sampling.batch_pairs, positions.stop)
            yield Batch(begin, end, answered(self.points_of(range(begin, end)), ask))

    @cached_property
    def _pairs(self) -> PairStream:
        sides = self.sides
        return pair_stream(sides.leaving.shape[0], sides.reaching.shape[0], self.sampling.seed)

    @cached_property
    def _in_turn(self) -> tuple[Array, Array]:
        """Both sides shuffled: rounds go through them row by row, which is nearly as quick as copying."""
        pairs, sides = self._pairs, self.sides
        return choose(sides.leaving, pairs.order_a), choose(sides.reaching, pairs.order_b)

    def points_of(self, positions: range) -> Asking[Array]:
        """Search for the boundary points of the pairs at some positions."""
        leaving, reaching = self._in_turn
        end = choose(reaching, self._pairs.partners(positions, reaching))
        how, first = self.sampling, positions.start % leaving.shape[0]
        if how.resolution > 1:
            start = in_turn(leaving, first, len(positions))
            points, _ = yield from every_crossing(start, end, how.path, how.tolerance, how.resolution)
            return points
        at = how.path.between_in_turn(leaving, first, end)
        return (yield from halve(at, end, how.tolerance)).inside

    @cached_property
    def key(self) -> str:
        """A digest of all that the points depend on: equal where the same position gives the same point."""
        how = self.sampling
        facts = [describe(self.sides.goal), how.seed, how.tolerance, how.resolution]
        digest = hashlib.sha256(repr(facts).encode())
        for rows in (self.sides.leaving, self.sides.reaching):
            digest.update(np.ascontiguousarray(to_numpy(rows)).tobytes())
        return digest.hexdigest()[:16]


def answered(search: Any, ask: Callable[[Array], Reply]) -> Any:
    """Run a search alone, asking about its rows as they come."""
    reply = None
    while True:
        try:
            reply = ask(search.send(reply))
        except StopIteration as end:
            return end.value


def shares(sides: Sequence[Sides], n: int) -> list[int]:
    """Divide `n` points among several pairs of sides, as their numbers of pairs have it.

    Each side is split off from all that follow, so that a larger `n` never takes any back.
    """
    left = sum(one.pairs for one in sides)
    n = min(n, left)
    given = []
    for one in sides:
        given.append(n * one.pairs // max(left, 1))
        n, left = n - given[-1], left - one.pairs
    return given
