"""Plans: an order of feasible steps from a query to its counterfactual, or as far as the constraints allow.

Each step changes one column, or several where no single one can move without breaking a constraint. The
order is the one that spends the least effort while the score is still lacking (`order`). All orders
are compared where at most 512 rows lie between query and answer (nine columns in one visit each); beyond
that one step after the other is chosen. Where the model gives no scores, the share of the way, by
distance, stands in for the score.

A plan ends at the row with the least effort that is a counterfactual: often the answer itself, sometimes a
row on the way to it. Where none is, it ends at the best score on the way.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.advice.plan.order import Look, State, States, all_states, best_way, greedy_way
from ssba.advice.plan.units import (
    Unit,
    effort_factors,
    first_units,
    longest_steps,
    split_unit,
    whole_unit,
)
from ssba.advice.rows import changed_columns, changes_between, feasible_rows, is_answer, progress, reaches
from ssba.columns.space import Matrix
from ssba.models.targets import describe
from ssba.options import ScoreMargin
from ssba.results.plan import Plan, Step

# Rows between query and answer up to which all orders are compared.
_MOST_STATES = 512
# Rows that look like answers and are checked as such before the answer itself is the end of the plan.
_MOST_ENDS = 16


def make_plan(
    context: Context,
    answer_z: Matrix,
    effort: Mapping[str, float] | None = None,
    max_step: Mapping[str, float] | None = None,
) -> Plan:
    """Return the steps from a query to an answer, a counterfactual or a bounded move of it.

    Parameters
    ----------
    context : Context
        The query with its constraints.
    answer_z : array
        The row to end with, encoded.
    effort : mapping, optional
        How hard a visit to a column is; 1 where nothing is said. The gain of a step is divided by it.
    max_step : mapping, optional
        How far a column may move in one visit, in its own units; ranks for ordinal columns.
    """
    factors, longest = effort_factors(context, effort), longest_steps(context, max_step)
    query_z = context.x
    units = first_units(query_z, answer_z)
    board = _Board(context, query_z, answer_z, units, factors)
    if longest:
        board = _Board(context, query_z, answer_z, _visits(board, longest), factors, asked=board.asked)
    way = board.way()
    return _plan(board, way, longest)


@dataclass(frozen=True)
class _Sight:
    """What is known of one state: its row, whether it is feasible, and what the model says."""

    row: Matrix
    feasible: bool
    progress: float
    prediction: Any = None
    score: float | None = None
    reached: bool = False


@dataclass
class _Board:
    """The states between a query and its answer, looked at when needed; `asked` counts the rows of them."""

    context: Context
    x: Matrix
    z: Matrix
    units: Sequence[Unit]
    factors: Matrix
    asked: int = 0
    seen: dict[State, _Sight] = field(default_factory=dict)
    ends: dict[State, bool] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        return [unit.visits for unit in self.units]

    @property
    def effort(self) -> Matrix:
        """What one visit of each unit takes."""
        return np.array([self.factors[list(unit.columns)].sum() for unit in self.units], dtype=np.float64)

    @property
    def is_small(self) -> bool:
        """Whether all states can be looked at."""
        return math.prod(count + 1 for count in self.counts) <= min(_MOST_STATES, self.context.rows)

    def rows(self, states: States) -> Matrix:
        """Return the rows of states, as written."""
        rows = np.repeat(self.x[None, :], len(states), axis=0)
        for number, unit in enumerate(self.units):
            rows[:, list(unit.columns)] = unit.levels[states[:, number]]
        return self.context.written(rows)

    def look(self, states: States) -> Look:
        """Look at states: those that are feasible, and the start, are asked about, each once."""
        keys = [tuple(int(count) for count in state) for state in states]
        new = [i for i, key in enumerate(keys) if key not in self.seen]
        if new:
            self._ask([keys[i] for i in new], self.rows(states[new]))
        sights = [self.seen[key] for key in keys]
        return Look(
            np.array([one.feasible for one in sights], dtype=bool),
            np.array([one.progress for one in sights], dtype=np.float64),
        )

    def _ask(self, keys: Sequence[State], rows: Matrix) -> None:
        feasible = feasible_rows(self.context, rows)
        asking = feasible | np.array([not any(key) for key in keys], dtype=bool)
        outcome = self._at_target.score(rows[asking])
        self.asked += int(asking.sum())
        come = progress(self.context.goal, outcome.scores)
        come = np.where(np.isnan(come), self._share(rows[asking]), come)
        places = np.cumsum(asking) - 1
        for i, key in enumerate(keys):
            at = int(places[i])
            self.seen[key] = (
                _Sight(
                    rows[i],
                    bool(feasible[i]),
                    float(come[at]),
                    outcome.predictions[at],
                    outcome.scores[at],
                    bool(outcome.reached[at]),
                )
                if asking[i]
                else _Sight(rows[i], False, -math.inf)
            )

    @cached_property
    def _at_target(self) -> Context:
        """The query without its margin: a step tells whether the target is reached, with or without that."""
        context = self.context
        return replace(context, options=replace(context.options, margin=None), known_goal=context.goal)

    def _share(self, rows: Matrix) -> Matrix:
        """Return how much of the way from query to answer rows have come, by distance."""
        whole = float(_traveled(self.context, self.x, self.z[None, :])[0]) or 1.0
        return _traveled(self.context, self.x, rows) / whole

    def is_end(self, state: State) -> bool:
        """Tell whether a state is a counterfactual, checked like any answer."""
        sight = self.seen[state]
        if state not in self.ends:
            self.ends[state] = sight.feasible and sight.reached and is_answer(self.context, sight.row)
        return self.ends[state]

    def way(self) -> list[State]:
        """Return the best way to a counterfactual, or to the best score."""
        if not self.units:
            self.look(np.zeros((1, 0), dtype=np.int64))
            return [()]
        if not self.is_small:
            return self._up_to_best(self._greedy(self.is_end))
        states = all_states(self.counts)
        seen = self.look(states)
        return self._best(states, seen, self._end(states, seen))

    def whole_way(self) -> list[State]:
        """Return the best way to the answer, whatever lies before it."""
        if not self.is_small:
            return self._greedy(lambda _: False)
        states = all_states(self.counts)
        return self._best(states, self.look(states), len(states) - 1)

    def _best(self, states: States, seen: Look, end: int) -> list[State]:
        way = best_way(states, seen.allowed, seen.progress, self.effort, end)
        return [tuple(int(count) for count in states[number]) for number in way]

    def _greedy(self, is_end: Any) -> list[State]:
        width = max(8, self.context.rows // (1 + sum(self.counts)))
        return greedy_way(self.counts, self.effort, self.look, is_end, width)

    def _end(self, states: States, seen: Look) -> int:
        """Return the counterfactual with the least effort; where there is none, the best score."""
        effort = states @ self.effort
        keys = [tuple(int(count) for count in state) for state in states]
        hits = [i for i, key in enumerate(keys) if self.seen[key].reached]
        hits.sort(key=lambda i: (effort[i], -seen.progress[i]))
        last = len(states) - 1
        for i in [*self._promising(hits, keys)[:_MOST_ENDS], last]:
            if self.is_end(keys[i]):
                return i
        come = np.where(seen.allowed, seen.progress, -np.inf)
        (best,) = np.nonzero(come >= come.max())
        return int(best[np.argmin(effort[best])])

    def _promising(self, hits: list[int], keys: Sequence[State]) -> list[int]:
        """Keep the rows that have all that was asked for beside the target, but for a ball around them."""
        options = self.context.options
        if not hits or not (options.plausible or isinstance(options.margin, ScoreMargin)):
            return hits
        reply = reaches(self.context, np.stack([self.seen[keys[i]].row for i in hits]))
        return [i for i, has_all in zip(hits, reply.reached, strict=True) if has_all]

    def _up_to_best(self, way: list[State]) -> list[State]:
        """Cut a way that does not reach the target where its score is best."""
        sights = [self.seen[state] for state in way]
        if self.is_end(way[-1]):
            return way
        come = [one.progress if one.feasible else -math.inf for one in sights]
        return way[: 1 + int(np.argmax(come))]


def _traveled(context: Context, x: Matrix, rows: Matrix) -> Matrix:
    """Return how far rows are from the query, as a sum over columns: squares in L2."""
    metric = context.engine.metric
    return np.asarray(np.sum(metric.cost(metric.parts(rows, x)), axis=1))


def _visits(board: _Board, longest: Mapping[int, float]) -> list[Unit]:
    """Return units of columns that can move without the others, their ways cut into visits."""
    if not board.units:
        return []
    way = board.whole_way()
    units = []
    for before, after in itertools.pairwise(way):
        moving = [unit for unit, one, other in zip(board.units, before, after, strict=True) if one != other]
        columns = tuple(sorted(j for unit in moving for j in unit.columns))
        unit = whole_unit(board.x, board.z, columns)
        units.append(split_unit(board.context, board.seen[before].row, unit, longest))
    return sorted(units, key=lambda unit: unit.columns)


def _plan(board: _Board, way: Sequence[State], longest: Mapping[int, float]) -> Plan:
    context = board.context
    sights = [board.seen[state] for state in way]
    final = sights[-1].row
    total = float(_traveled(context, board.x, final[None, :])[0]) or 1.0
    steps = [_step(board, total, *both) for both in itertools.pairwise(sights)]
    missing = [j for j in changed_columns(board.x, board.z) if final[j] != board.z[j]]
    left = {} if not missing else changes_between(context, final, board.z)
    features = context.engine.space.features
    return Plan(
        query=context.decode(board.x),
        prediction=sights[0].prediction,
        score=sights[0].score,
        target=describe(context.goal),
        steps=tuple(steps),
        reached=board.is_end(way[-1]),
        left_out=left,
        best_order=board.is_small or not board.units,
        beyond=_beyond(board, sights, longest),
        rows_used=board.asked,
        units={one.name: one.unit for one in features if one.unit},
    )


def _step(board: _Board, total: float, before: _Sight, after: _Sight) -> Step:
    context = board.context
    changes = changes_between(context, before.row, after.row)
    moved = changed_columns(before.row, after.row)
    traveled = _traveled(context, board.x, np.stack([before.row, after.row])) / total
    scored = before.score is not None and after.score is not None
    return Step(
        columns=tuple(changes),
        changes=changes,
        values=context.decode(after.row),
        prediction=after.prediction,
        score_before=before.score,
        score_after=after.score,
        gain=after.progress - before.progress if scored else None,
        share=float(traveled[1] - traveled[0]),
        reached=after.reached,
        effort=float(board.factors[moved].sum()),
    )


def _beyond(board: _Board, sights: Sequence[_Sight], longest: Mapping[int, float]) -> tuple[str, ...]:
    """Name the columns that a step moves further than it should."""
    names = board.context.engine.space.names
    rows = np.stack([one.row for one in sights])
    moves = np.abs(np.diff(rows, axis=0)).max(axis=0, initial=0.0)
    return tuple(names[j] for j, most in sorted(longest.items()) if moves[j] > most * (1 + 1e-9))
