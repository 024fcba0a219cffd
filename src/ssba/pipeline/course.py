"""How far the queries of a call have come, for those who wait for them.

All queries of a part are taken through a stage together, so that whole queries end in leaps. Each is counted
in parts instead: by the stages that lie behind it, within the search by its moves, and within these by model
calls, each of which brings it a little nearer to where the move will have ended.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Vector
from ssba.options import Options

if TYPE_CHECKING:
    from ssba.pipeline.state import QueryState

Places = NDArray[np.int64]

# What is told is a multiple of this, a power of two: sums of these are exact.
_STEP = 2.0**-6


class Stage(IntEnum):
    """The stages of a query that take their time."""

    LOOK = 0
    NEAREST = 1
    EVIDENCE = 2
    FURTHER = 3
    PROOF = 4
    CHECK = 5


# Model calls are looked at so many at a time.
_CALLS = 4
# They go this part of the way that is left: moves that take long make some 40 to 200 calls, and searches for
# what else is asked some hundreds.
_PACE = np.array([_CALLS / 300 if stage is Stage.FURTHER else _CALLS / 40 for stage in Stage])


def milestones(options: Options, *, looks_inside: bool) -> tuple[float, ...]:
    """Return where a query stands before each stage, and after the last: from 0 to 1.

    The weights are about the times that the stages take where a query has them.
    """
    weights = (
        4.0 if looks_inside else 0.0,
        6.0,
        0.4,
        _further(options) if options.asks_for_more else 0.0,
        8.0 if options.prove is True else 0.0,
        0.8,
    )
    behind = 0.0
    reached = [0.0]
    for weight in weights:
        behind += weight / sum(weights)
        reached.append(behind)
    return tuple(reached)


def _further(options: Options) -> float:
    """Return the weight of what is searched for beside the nearest row: other columns take the longest."""
    return 20.0 if options.k > 1 and options.diversity != "distance" else 5.0


@dataclass
class Course:
    """Where queries stand between 0 and 1; `tell`, if given, learns in queries by how much more it is.

    Each query has a place in the arrays. The last place is for those that nobody waits for: it is at the end.
    `last_call` is how long the last model call took, in seconds.
    """

    tell: Callable[[float], object] | None = None
    last_call: float = 0.0
    _size: int = 0
    _told: float = 0.0
    _calls: int = 0
    _place: dict[int, int] = field(default_factory=dict)
    _milestones: Vector = field(default_factory=lambda: np.ones((1, len(Stage) + 1)))
    _come: Vector = field(default_factory=lambda: np.ones(1))
    _ahead: Vector = field(default_factory=lambda: np.ones(1))
    _pace: Vector = field(default_factory=lambda: np.ones(1))

    def expect(self, size: int) -> None:
        """Count so many queries from now on."""
        self._size, self._told = size, 0.0

    def begin(self, states: "Sequence[QueryState]", *, looks_inside: bool) -> None:
        """Begin with the queries that have their way before them; the others are done without."""
        if self.tell is None:
            return
        self._place = {id(state): place for place, state in enumerate(states)}
        # Most queries share their options.
        asked = {id(state.options): state.options for state in states}
        ways = {name: milestones(one, looks_inside=looks_inside) for name, one in asked.items()}
        own = [ways[id(state.options)] for state in states]
        self._milestones = np.array([*own, np.ones(len(Stage) + 1)])
        self._come, self._ahead = self._milestones[:, 0].copy(), self._milestones[:, 0].copy()
        self._pace = np.ones(len(self._come))

    def end(self) -> None:
        """Count all of them as done."""
        self._place = {}
        self._tell_up_to(self._size)

    def places(self, states: "Iterable[QueryState]") -> Places:
        """Return where queries stand in the arrays."""
        return np.array([self._place.get(id(state), -1) for state in states], dtype=np.int64)

    def reach(
        self, states: "Iterable[QueryState]", stage: Stage, part: float = 1.0, ahead: float = 1.0
    ) -> None:
        """Note that queries have come to a part of a stage; their next calls bring them up to `ahead`."""
        if self._place:
            at = self.places(states)
            begin, end = self._milestones[at, stage], self._milestones[at, stage + 1]
            self._ahead[at] = begin + (end - begin) * ahead
            self._pace[at] = _PACE[stage]
            self._come_to(at, begin + (end - begin) * part)

    def called(self, at: Places) -> None:
        """Note a model call for the queries at some places."""
        self._calls += 1
        if self._place and self._calls % _CALLS == 0:
            come = self._come[at]
            self._come_to(at, come + np.maximum(self._ahead[at] - come, 0.0) * self._pace[at])

    def finish(self, states: "Iterable[QueryState]") -> None:
        """Note that nothing is left to do for queries."""
        self.reach(states, Stage.CHECK)

    def _come_to(self, at: Places, where: Vector) -> None:
        """Let queries come to where they are, never back, and tell it as if it were all queries."""
        self._come[at] = np.maximum(self._come[at], where)
        share = float(self._come[:-1].sum()) / len(self._place)
        self._tell_up_to(min(self._size - _STEP, self._size * share))

    def _tell_up_to(self, where: float) -> None:
        where = math.floor(where / _STEP) * _STEP
        if self.tell is not None and where > self._told:
            self.tell(where - self._told)
            self._told = where
