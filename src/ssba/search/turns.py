"""Searches that take turns: each goes on for some rows, and waits while the others do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from ssba.arrays import Array
from ssba.boundary.bisection import Asking

TURN = 500
"""Rows of each search's first turn; every round of turns is twice as long as the one before."""


@final
@dataclass
class Waiting:
    """A search that goes on where it was left; it is left out for good once it is of no use any more."""

    search: Asking[Any]
    is_of_use: Callable[[], bool] = lambda: True
    ended: bool = field(default=False, init=False)
    _open: Array = field(default=None, init=False)

    def go_on(self, rows: int) -> Asking[None]:
        """Run the search until it has asked so many rows more, or has ended."""
        if not self.is_of_use():
            self.search.close()
            self.ended = True
            return
        try:
            if self._open is None:
                self._open = next(self.search)
            while rows > 0:
                rows -= self._open.shape[0]
                self._open = self.search.send((yield self._open))
        except StopIteration:
            self.ended = True


def in_turns(searches: Sequence[Waiting], turn: int = TURN) -> Asking[None]:
    """Run searches to their end, in turns that do not depend on any budget."""
    waiting = list(searches)
    try:
        while waiting:
            for one in waiting:
                yield from one.go_on(turn)
            waiting = [one for one in waiting if not one.ended]
            turn *= 2
    finally:
        for one in waiting:
            one.search.close()
