"""Batched bisection between rows on two sides of the boundary (paper, algorithm 2).

Searches are generators: they yield rows to ask about and are sent the model's reply. Who asks, in
what batches and beside which other searches, is not their business.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from ssba.arrays import Array, between, between_in_turn, in_turn, namespace
from ssba.models.targets import Reply

# Sums of this many halves are exact, with some bits to spare for the row that they lead to.
_MOST_HALVINGS = 48

Answer = TypeVar("Answer")
Asking = Generator[Array, Reply, Answer]
"""A search: it yields rows, is sent a `Reply` about them, and returns an answer."""


@dataclass(frozen=True)
class Bracket:
    """Both ends of each segment after bisection, as shares of the way.

    ``reached(inside)`` and ``not reached(outside)`` were both seen, and the two are less than the tolerance
    apart, as a share of the segment, or neighbours on the grid.
    """

    at: Callable[[Array], Array]
    low: Array
    high: Array

    @property
    def inside(self) -> Array:
        """The ends that reach the target."""
        return self.at(self.high)

    @property
    def outside(self) -> Array:
        """The ends that do not reach it."""
        return self.at(self.low)


@dataclass(frozen=True)
class Path:
    """How segments are walked: which columns jump, and how a point becomes a legal row.

    `plain` says that no column jumps, no cell is missing and every point is a legal row.
    """

    switching: Array
    snap: Callable[[Array], Array]
    plain: bool

    def between(self, start: Array, end: Array) -> Callable[[Array], Array]:
        """Return the function from shares of the way to legal rows, one for each segment.

        Numbers are blended; where nothing lies between two cells (levels, a missing cell at either
        end) they change over half way.
        """
        blend = between(start, end)
        if self.plain:
            return blend
        xp = namespace(start, end)
        jumps = self.switching | xp.isnan(end - start)

        def walked(share: Array) -> Array:
            jumped = xp.where(share[:, None] < 0.5, start, end)
            return self.snap(xp.where(jumps, jumped, blend(share)))

        return walked

    def between_in_turn(self, table: Array, first: int, end: Array) -> Callable[[Array], Array]:
        """Return the same for segments that begin at the rows of a table in turn, from the `first` on."""
        if self.plain:
            return between_in_turn(table, first, end)
        return self.between(in_turn(table, first, end.shape[0]), end)


def steps_for(tolerance: float) -> int:
    """Return how many halvings bring a segment under the tolerance, or as near to it as shares can tell.

    >>> steps_for(1e-3), steps_for(1e-30)
    (10, 48)
    """
    steps, width = 0, 1.0
    while width >= tolerance and steps < _MOST_HALVINGS:
        steps, width = steps + 1, width / 2
    return steps


def bisect(start: Array, end: Array, path: Path, tolerance: float = 1e-3) -> Asking[Bracket]:
    """Bisect every segment from a row that does not reach the target to one that does.

    The caller has seen that. All segments halve together, so that after `steps_for(tolerance)` replies every
    bracket is narrower than `tolerance` of its segment: the number of model rows is fixed before the first.
    """
    return (yield from halve(path.between(start, end), end, tolerance))


def halve(at: Callable[[Array], Array], end: Array, tolerance: float) -> Asking[Bracket]:
    """Bisect segments of which it is known which row lies at each share of the way; `end` are their ends."""
    xp = namespace(end)
    low = xp.zeros_like(end[:, 0])
    width = 1.0
    for _ in range(steps_for(tolerance)):
        width /= 2
        middle = low + width
        reply = yield at(middle)
        low = xp.where(reply.reached, low, middle)
    return Bracket(at, low, low + width)
