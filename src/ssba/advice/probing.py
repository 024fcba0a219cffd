"""Many searches about one query within one budget of model rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ssba.advice.context import Context
from ssba.engine import Engine
from ssba.models.model import Output
from ssba.models.targets import Goal
from ssba.pipeline import Case, limits_from_now
from ssba.pipeline.asking import goal_reply, run_searches, verdicts
from ssba.pipeline.begin import begin, give_pools
from ssba.pipeline.bounded import last_resort
from ssba.pipeline.evidence import evidence_of
from ssba.pipeline.robust import ball_holds
from ssba.pipeline.searching import search_case
from ssba.pipeline.solve_exactly import look_inside, solve_inside
from ssba.pipeline.verify import verify
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
    """

    goal: Goal
    most_rows: int
    rows_used: int = 0
    ran_out: bool = False

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
        return self._run(contexts, rows, reserve, lambda some: _searched(some, self.goal))

    def moves(self, contexts: Sequence[Context]) -> list[Find | None]:
        """Return the bounded moves of all contexts, as near to the boundary points known as they get.

        That takes hardly a row. And since all look at the same points, fewer constraints are never worse.
        """
        return self._run(contexts, 1, 0, lambda some: _moved(some, self.goal))

    def search_or_move(
        self, contexts: Sequence[Context], rows: int = _SEARCH_ROWS, reserve: int = 0
    ) -> list[Find | None]:
        """Search for all contexts; where nothing is found, return the bounded move."""
        told = self.search(contexts, rows, reserve)
        missed = [i for i, one in enumerate(told) if one is not None and one.is_feasible and not one.best]
        for i, move in zip(missed, self.moves([contexts[i] for i in missed]), strict=True):
            told[i] = _joined(told[i], move)
        return told

    def is_there(self, context: Context) -> bool:
        """Tell whether the query reaches the target as it is."""
        mine = verdicts(context.engine, context.x[None, :], context.x)[0]
        return _is_there(context.engine, context.case(self.goal), mine)

    def _run(
        self,
        contexts: Sequence[Context],
        rows: int,
        reserve: int,
        finds: Callable[[list[Context]], list[Find]],
    ) -> list[Find | None]:
        told: list[Find | None] = []
        while len(told) < len(contexts):
            fitting = min(_AT_ONCE, (self.rows_left - reserve) // rows)
            if fitting < 1:
                self.ran_out = True
                return told + [None] * (len(contexts) - len(told))
            waiting = contexts[len(told) :][:fitting]
            some = finds([replace(one, rows=min(one.rows, rows)) for one in waiting])
            self.rows_used += sum(one.rows_used for one in some)
            told += some
        return told


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


def _searched(contexts: Sequence[Context], goal: Goal) -> list[Find]:
    """Take contexts of one engine through the same search and last check as `explain` does."""
    engine, limits = contexts[0].engine, limits_from_now(contexts[0].rows, None)
    cases, feasible = _begun(contexts, goal)
    wanting = solve_inside(engine, feasible, limits)
    give_pools(engine, wanting, None)
    run_searches(engine, wanting, [search_case(engine, case, limits) for case in wanting])
    look_inside(engine, wanting, limits)
    verify(engine, [case for case in feasible if case.has_hits], limits)
    return [_find(one, case) for one, case in zip(contexts, cases, strict=True)]


def _moved(contexts: Sequence[Context], goal: Goal) -> list[Find]:
    """Return the feasible rows nearest to boundary points, whether they reach or not."""
    engine = contexts[0].engine
    cases, feasible = _begun(contexts, goal)
    give_pools(engine, feasible, None)
    last_resort(engine, feasible, limits_from_now(0, None), None, takes_any=True)
    return [_find(one, case) for one, case in zip(contexts, cases, strict=True)]


def _begun(contexts: Sequence[Context], goal: Goal) -> tuple[list[Case], list[Case]]:
    """Return the contexts of one query as cases, and those of them that there is something to search for."""
    engine = contexts[0].engine
    cases = [one.case(goal) for one in contexts]
    mine = verdicts(engine, contexts[0].x[None, :], contexts[0].x)[0]
    # A query that is at the target as it stands has no counterfactual.
    feasible = [case for case in cases if case.regions and not _is_there(engine, case, mine)]
    for case in feasible:
        begin(engine, case)
    return cases, feasible


def _find(context: Context, case: Case) -> Find:
    if not case.regions:
        return Find(None, is_feasible=False)
    evidence = evidence_of(context.engine, case)
    best = case.answers[0] if case.answers else None
    return Find(best, case.bounded, proof=evidence.proof, rows_used=case.rows_used)


def _is_there(engine: Engine, case: Case, mine: Output) -> bool:
    there = bool(goal_reply(engine, case, mine).reached[0])
    return there and (case.request.radius is None or ball_holds(engine, case, case.x))
