"""Batched bisection between rows on two sides of the boundary (paper, algorithm 2).

Searches are generators: they yield rows to ask about and are sent the model's reply. Who asks, in
what batches and beside which other searches, is not their business.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from ssba.problem.targets import Reply
from ssba.run.arrays import Array, namespace

Answer = TypeVar("Answer")
Asking = Generator[Array, Reply, Answer]
"""A search: it yields rows, is sent a `Reply` about them, and returns an answer."""


class Status(IntEnum):
    """How the bisection of one segment ended."""

    CONVERGED = 0
    NO_BRACKET = 1


@dataclass(frozen=True)
class Bracket:
    """Both ends of each segment after bisection.

    Where `status` is CONVERGED, ``reached(inside)`` and ``not reached(outside)`` were both seen, and
    the two are at most the tolerance apart, as a share of the segment, or neighbours on the grid.
    """

    outside: Array
    inside: Array
    status: Array
    rows: int


@dataclass(frozen=True)
class Path:
    """How a segment is walked: which columns jump, and how a point becomes a legal row.

    `plain` says that no column jumps, no cell is missing and every point is a legal row.
    """

    switching: Array
    snap: Callable[[Array], Array]
    plain: bool

    def at(self, start: Array, end: Array, share: Array) -> Array:
        """Return legal rows at the given shares of the way from `start` to `end`, row by row.

        Numbers are blended; where nothing lies between two cells (levels, a missing cell at either
        end) they change over half way.
        """
        share = share[:, None]
        blend = start + share * (end - start)
        if self.plain:
            return blend
        xp = namespace(blend)
        jumps = self.switching | xp.isnan(blend)
        return self.snap(xp.where(jumps, xp.where(share < 0.5, start, end), blend))


def steps_for(tolerance: float) -> int:
    """Return how many halvings bring a segment under the tolerance.

    >>> steps_for(1e-3)
    10
    """
    steps, width = 0, 1.0
    while width >= tolerance and steps < 60:
        steps, width = steps + 1, width / 2
    return steps


def bisect(start: Array, end: Array, path: Path, tolerance: float = 1e-3) -> Asking[Bracket]:
    """Bisect every segment from a row that did not reach the target to one that did.

    The caller has seen ``not reached(start)`` and ``reached(end)``; segments for which it has not can
    be marked with `mark_no_bracket` afterwards. All segments halve together, so that after
    `steps_for(tolerance)` replies every bracket is narrower than `tolerance` of its segment: the
    number of model rows is known before the first is asked.
    """
    xp = namespace(start, end)
    low = xp.zeros_like(start[:, 0])
    high = xp.ones_like(low)
    width, asked = 1.0, 0
    for _ in range(steps_for(tolerance)):
        width /= 2
        points = path.at(start, end, low + width)
        reply = yield points
        asked += points.shape[0]
        low = xp.where(reply.reached, low, low + width)
    high = low + width
    status = xp.full(low.shape, int(Status.CONVERGED), dtype=xp.int8)
    return Bracket(path.at(start, end, low), path.at(start, end, high), status, asked)
