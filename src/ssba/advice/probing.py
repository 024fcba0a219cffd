"""Many searches about one query within one budget of model rows."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ssba.advice.context import Context
from ssba.models.targets import Goal
from ssba.pipeline.answer import is_there, look_at_requests, move_requests, search_requests
from ssba.pipeline.asking import verdicts
from ssba.pipeline.evidence import evidence_of, misses_few_rows
from ssba.pipeline.look import LOOK_ROWS
from ssba.pipeline.state import Limits, QueryState
from ssba.progress import unwatched
from ssba.results.explanation import Counterfactual, Explanation, Status

# What one search may spend: most that find something end long before.
SEARCH_ROWS = 2000
# Side by side go at most so many: their rows share model calls, and wait in memory until they are asked.
_AT_ONCE = 64


@dataclass(frozen=True)
class Find:
    """What came of one search: a counterfactual, or none.

    `bounded` is the bounded move where one was looked for; `proof` is as in `Evidence`. The counterfactual
    `is_nearest` as far as a whole search can tell, or else the first row that reached. A search that
    `is_complete` would find no more with a larger budget.
    """

    best: Counterfactual | None
    bounded: Counterfactual | None = None
    is_feasible: bool = True
    proof: str | None = None
    rows_used: int = 0
    is_nearest: bool = True
    is_complete: bool = True

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
    `done` is called as each search ends. `known` are first finds under constraints and options, `seen` what
    looks found there.
    """

    goal: Goal
    most_rows: int
    rows_used: int = 0
    ran_out: bool = False
    done: Callable[[], object] = unwatched
    known: dict[Hashable, Find] = field(default_factory=dict)
    seen: dict[Hashable, Find] = field(default_factory=dict)

    @property
    def rows_left(self) -> int:
        """What may still be spent."""
        return max(0, self.most_rows - self.rows_used)

    def search(
        self, contexts: Sequence[Context], rows: int = SEARCH_ROWS, reserve: int = 0
    ) -> list[Find | None]:
        """Search for all contexts, in shared model calls; what is found `explain` finds, too.

        Each may spend so many rows; `reserve` is kept back from the budget for what comes later. None for
        those that the budget does not reach.
        """
        return self._run(contexts, rows, reserve, lambda some: _searched(some, self.goal, self.done))

    def first_finds(
        self, contexts: Sequence[Context], rows: int = SEARCH_ROWS, reserve: int = 0
    ) -> list[Find | None]:
        """Search for all contexts, each no further than to the first row that reaches.

        What comes after that row in a search only makes it nearer, so whether there is one is known as well.
        """
        keys = [_key(one) for one in contexts]
        new = {key: one for key, one in zip(keys, contexts, strict=True) if not self._is_known(key)}
        found = self._run(
            list(new.values()),
            rows,
            reserve,
            lambda some: _searched(some, self.goal, self.done, until_found=True),
        )
        fresh = dict(zip(new, found, strict=True))
        self.known |= {key: one for key, one in fresh.items() if one is not None}
        return [fresh.get(key) if key in new else self.known[key] for key in keys]

    def looks(self, contexts: Sequence[Context], reserve: int = 0) -> list[Find | None]:
        """Tell in few rows under which contexts anything reaches; what is missed may be there all the same.

        What was found before is where it begins. It need not be found by `explain`, as what searches find is.
        """
        keys = [_key(one) for one in contexts]
        new = {key: one for key, one in zip(keys, contexts, strict=True) if key not in self.seen}
        found = self._run(list(new.values()), LOOK_ROWS, reserve, self._looked)
        self.seen |= {key: one for key, one in zip(new, found, strict=True) if one is not None}
        return [self.seen.get(key) for key in keys]

    def _looked(self, contexts: list[Context]) -> list[Find]:
        engine, requests = contexts[0].engine, [one.request(self.goal) for one in contexts]
        finds = (*self.seen.values(), *self.known.values())
        reached = [engine.space.encode_row(one.best.values) for one in finds if one.best]
        known = np.stack(reached) if reached else contexts[0].x[None, :][:0]
        states = look_at_requests(engine, requests, contexts[0].rows, known, self.done)
        return [replace(_find(one), is_nearest=False) for one in states]

    def _is_known(self, key: Hashable) -> bool:
        """Tell whether a search was made that more rows would not change."""
        return key in self.known and self.known[key].is_complete

    def moves(self, contexts: Sequence[Context]) -> list[Find | None]:
        """Return the bounded moves of all contexts, as near to the boundary points known as they get.

        That takes hardly a row. And since all look at the same points, fewer constraints are never worse.
        """
        return self._run(contexts, 1, 0, lambda some: _moved(some, self.goal))

    def search_or_move(
        self, contexts: Sequence[Context], rows: int = SEARCH_ROWS, reserve: int = 0
    ) -> list[Find | None]:
        """Search for all contexts; where nothing is found, return the bounded move."""
        return self.moves_instead(contexts, self.search(contexts, rows, reserve))

    def moves_instead(self, contexts: Sequence[Context], outcome: Sequence[Find | None]) -> list[Find | None]:
        """Add the bounded move of each feasible context for which nothing was found."""
        outcome = list(outcome)
        missed = [i for i, one in enumerate(outcome) if one is not None and one.is_feasible and not one.best]
        for i, move in zip(missed, self.moves([contexts[i] for i in missed]), strict=True):
            outcome[i] = _joined(outcome[i], move)
        return outcome

    def is_there(self, context: Context) -> bool:
        """Tell whether the query reaches the target as it is."""
        mine = verdicts(context.engine.judging, context.x[None, :], context.x)
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


def _key(context: Context) -> Hashable:
    return context.constraints, context.options


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


def _searched(
    contexts: Sequence[Context], goal: Goal, done: Callable[[], object], *, until_found: bool = False
) -> list[Find]:
    """Take contexts of one query through the same search and last check as `explain` does."""
    engine, limits = contexts[0].engine, Limits(contexts[0].rows, until_found=until_found)
    requests = [one.request(goal) for one in contexts]
    found = search_requests(engine, requests, limits, done)
    return [replace(_find(one), is_nearest=not until_found, is_complete=_is_complete(one)) for one in found]


def _is_complete(state: QueryState) -> bool:
    """Tell whether a larger budget would find no more: none ended the search, or kept it from asking all."""
    return bool(state.found.answers) or not (state.spent.ran_out or misses_few_rows(state))


def _moved(contexts: Sequence[Context], goal: Goal) -> list[Find]:
    """Return the feasible rows nearest to boundary points, whether they reach or not."""
    return [_find(one) for one in move_requests(contexts[0].engine, [one.request(goal) for one in contexts])]


def _find(state: QueryState) -> Find:
    if not state.query.regions:
        return Find(None, is_feasible=False)
    found = state.found
    best = found.answers[0] if found.answers else None
    return Find(
        best,
        found.bounded,
        proof=evidence_of(state).proof,
        rows_used=state.rows_used,
    )
