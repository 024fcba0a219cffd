"""Boundary points: pairs of rows from two sides, bisected (paper, algorithm 1)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ssba.boundary.bisection import Bracket, Path, bisect
from ssba.boundary.pairs import pair_stream
from ssba.problem.targets import Goal, Reply
from ssba.run.arrays import Array, namespace


@dataclass(frozen=True)
class BoundarySet:
    """Points on a model's decision boundary, each a row that reaches the target.

    `inside` holds the target-side ends of the brackets, encoded; `points` gives them in the user's
    columns. `next_position` is where the stream of `pairs` pairs goes on.
    """

    inside: Array
    decode: Callable[[Array], Any]
    target: str
    seed: int
    tolerance: float
    next_position: int
    pairs: int
    rows_used: int
    schema_hash: str
    model_fingerprint: str

    @property
    def points(self) -> Any:
        """The boundary points in the user's own form, all on the target's side."""
        return self.decode(self.inside)

    @property
    def is_complete(self) -> bool:
        """Whether every pair of rows has been used, so that no further point can come."""
        return self.next_position >= self.pairs

    def __len__(self) -> int:
        return int(self.inside.shape[0])

    def __repr__(self) -> str:
        """Say what the set holds in one line."""
        used = "all" if self.is_complete else f"{self.next_position:,} of"
        return f"<BoundarySet of {len(self):,} points toward {self.target}, from {used} {self.pairs:,} pairs>"


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
    """What the sampling of one pair of sides needs beside the rows."""

    path: Path
    tolerance: float
    seed: int
    batch_rows: int


def brackets(
    sides: Sides, positions: range, sampling: Sampling, ask: Callable[[Array], Reply]
) -> Iterator[Bracket]:
    """Yield the brackets of the pairs at the given positions of the stream, batch by batch."""
    xp = namespace(sides.leaving)
    stream = pair_stream(sides.leaving.shape[0], sides.reaching.shape[0], sampling.seed, sides.leaving)
    for begin in range(positions.start, positions.stop, sampling.batch_rows):
        end = min(begin + sampling.batch_rows, positions.stop)
        a, b = stream.take(xp.arange(begin, end))
        yield _answered(
            bisect(
                xp.take(sides.leaving, a, axis=0),
                xp.take(sides.reaching, b, axis=0),
                sampling.path,
                sampling.tolerance,
            ),
            ask,
        )


def _answered(search: Any, ask: Callable[[Array], Reply]) -> Bracket:
    reply = None
    while True:
        try:
            reply = ask(search.send(reply))
        except StopIteration as end:
            bracket: Bracket = end.value
            return bracket


def shares(sides: Sequence[Sides], n: int) -> list[int]:
    """Divide `n` points among several pairs of sides, as their numbers of pairs have it.

    Each side is split off from all that follow, so that a larger `n` never takes any back.
    """
    left = sum(one.pairs for one in sides)
    n = min(n, left)
    given = []
    for one in sides:
        given.append(n * one.pairs // left)
        n, left = n - given[-1], left - one.pairs
    return given
