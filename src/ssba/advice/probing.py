"""Many searches about one query within one budget of model rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ssba.advice.context import Context
from ssba.models.targets import Goal
from ssba.pipeline.answer import is_there, move_requests, search_requests
from ssba.pipeline.asking import predictions
from ssba.pipeline.evidence import evidence_of
from ssba.pipeline.state import Limits, QueryState
from ssba.progress import unwatched
from ssba.results.explanation import Counterfactual, Explanation, Status

# What one search may spend: most that find something end long before.
_SEARCH_ROWS = 2000
# Side by side go at most so many: their rows share model calls, and wait in memory until they are asked.
_AT_ONCE = 64


@dataclass(frozen=True)
class Find:
    """What came of one search: a counterfactual, or none.

    `bounded` is the bounded move where one was looked for; `proof` is as in `Evidence`.
    """

    best: Counterfactual | None
    bounded: Counterfactual | None = None
    is_feasible: bool = True
    proof: str | None = None
    rows_used: int = 0

    @property
    def move(self) -> Counterfactual | None:
        """The counterfactual, or else the bounded move."""
        return self.best or self.bounded

    @property
    def to_go(self) -> float:
        """What is left to the boundary: nothing for a counterfactual, infinitely much where unknown."""
        if self.best is not None:
            return 0.0
        left = None if self.bounded is None else self.bounded.distance_to_boundary
        return math.inf if left is None else left


@dataclass
class Prober:
    """Searches for one query under changing constraints, until the budget is spent.

    `most_rows` bounds what all searches may spend together; `ran_out` tells that some were not run for it.
    `done` is called as each search ends.
    """

    goal: Goal
    most_rows: int
    rows_used: int = 0
    ran_out: bool = False
    done: Callable[[], object] = unwatched

    @property
    def rows_left(self) -> int:
        """What may still be spent."""
        return max(0, self.most_rows - self.rows_used)

    def search(
        self, contexts: Sequence[Context], rows: int = _SEARCH_ROWS, reserve: int = 0
    ) -> list[Find | None]:
        """Search for all contexts, in shared model calls; what is found `explain` finds, too.

        Each may spend so many rows; `reserve` is kept back from the budget for what comes later. None for
        those that the budget does not reach.
        """
        return self._run(contexts, rows, reserve, lambda some: _searched(some, self.goal, self.done))

    def moves(self, contexts: Sequence[Context]) -> list[Find | None]:
        """Return the bounded moves of all contexts, as near to the boundary points known as they get.

        That takes hardly a row. And since all look at the same points, fewer constraints are never worse.
        """
        return self._run(contexts, 1, 0, lambda some: _moved(some, self.goal))

    def search_or_move(
        self, contexts: Sequence[Context], rows: int = _SEARCH_ROWS, reserve: int = 0
    ) -> list[Find | None]:
        """Search for all contexts; where nothing is found, return the bounded move."""
        outcome = self.search(contexts, rows, reserve)
        missed = [i for i, one in enumerate(outcome) if one is not None and one.is_feasible and not one.best]
        for i, move in zip(missed, self.moves([contexts[i] for i in missed]), strict=True):
            outcome[i] = _joined(outcome[i], move)
        return outcome

    def is_there(self, context: Context) -> bool:
        """Tell whether the query reaches the target as it is."""
        mine = predictions(context.engine.judging, context.x[None, :], context.x)[0]
        return is_there(context.state, mine)

    def _run(
        self,
        contexts: Sequence[Context],
        rows: int,
        reserve: int,
        finds: Callable[[list[Context]], list[Find]],
    ) -> list[Find | None]:
        outcome: list[Find | None] = []
        while len(outcome) < len(contexts):
            fitting = min(_AT_ONCE, (self.rows_left - reserve) // rows)
            if fitting < 1:
                self.ran_out = True
                return outcome + [None] * (len(contexts) - len(outcome))
            waiting = contexts[len(outcome) :][:fitting]
            some = finds([replace(one, rows=min(one.rows, rows)) for one in waiting])
            self.rows_used += sum(one.rows_used for one in some)
            outcome += some
        return outcome


def find_of(explanation: Explanation) -> Find:
    """Return what an explanation found."""
    return Find(
        explanation.best,
        explanation.bounded,
        explanation.status is not Status.INFEASIBLE,
        explanation.evidence.proof,
        explanation.rows_used,
    )


def _joined(search: Find | None, move: Find | None) -> Find | None:
    if search is None or move is None:
        return search
    used = search.rows_used + move.rows_used
    return replace(search, best=move.best, bounded=move.bounded, rows_used=used)


def _searched(contexts: Sequence[Context], goal: Goal, done: Callable[[], object]) -> list[Find]:
    """Take contexts of one query through the same search and last check as `explain` does."""
    engine, limits = contexts[0].engine, Limits(contexts[0].rows)
    requests = [one.request(goal) for one in contexts]
    return [_find(one) for one in search_requests(engine, requests, limits, done)]


def _moved(contexts: Sequence[Context], goal: Goal) -> list[Find]:
    """Return the feasible rows nearest to boundary points, whether they reach or not."""
    return [_find(one) for one in move_requests(contexts[0].engine, [one.request(goal) for one in contexts])]


def _find(state: QueryState) -> Find:
    if not state.query.regions:
        return Find(None, is_feasible=False)
    found = state.found
    best = found.answers[0] if found.answers else None
    return Find(best, found.bounded, proof=evidence_of(state).proof, rows_used=state.rows_used)
