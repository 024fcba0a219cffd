"""What the model's answers mean for a query, and searches within its budget.

Whether a row gives what is asked for, and by how much.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Answer, Asking
from ssba.columns.distance import changed_cells
from ssba.columns.frames import row_name
from ssba.columns.space import Matrix
from ssba.engine.judging import Judging
from ssba.errors import ModelError
from ssba.models.answers import Output, joined
from ssba.models.targets import Goal, Reply, ValueBetween, shown
from ssba.options import ScoreMargin
from ssba.pipeline.state import QueryState, States, Vector
from ssba.search.archive import Archive, recorded
from ssba.search.regions import Numbers

# The margin of a row that reaches the goal but is refused for another reason.
_JUST_MISSED = -np.finfo(np.float64).tiny

# Distances that are equal but for rounding are equal.
_ROUNDING = 1e-9


def judged(state: QueryState, rows: Matrix, output: Output) -> Reply:
    """Tell which rows give a query what it asks for: the goal, and all that its options add.

    A ball around the rows is not among it: that takes rows of its own.
    """
    return reader_of([state])(rows, np.zeros(len(rows), dtype=np.int64), output)


def reader_of(states: States, freely: Sequence[bool] = ()) -> Callable[[Matrix, Numbers, Output], Reply]:
    """Return `judged` for rows of several queries at once: it takes rows, their queries, and the answers.

    Where a query asks `freely`, the limits that its options set are left out; none does if not said so.
    """
    kinds: dict[Hashable, int] = {}
    free = [False] * len(states) if not len(freely) else list(freely)
    kind = np.array(
        [kinds.setdefault((*_kind(state), one), len(kinds)) for state, one in zip(states, free, strict=True)]
    )
    speakers = [(states[int(first)], free[int(first)]) for first in np.unique(kind, return_index=True)[1]]
    x, most = np.array([state.x for state in states]), np.where(free, np.inf, change_limits(states))
    has_limit = bool(np.isfinite(most).any())

    def read(Z: Matrix, query: Numbers, output: Output) -> Reply:
        reply = read_goals(Z, query, output)
        return (
            just_missed(reply, changed_cells(Z, x[query]).sum(axis=1) > most[query]) if has_limit else reply
        )

    def read_goals(Z: Matrix, query: Numbers, output: Output) -> Reply:
        if len(speakers) == 1:
            return read_as(*speakers[0], Z, output)
        reached, margin = np.zeros(len(Z), dtype=bool), np.empty(len(Z))
        has_margin = False
        for number, speaker in enumerate(speakers):
            rows = np.flatnonzero(kind[query] == number)
            if not len(rows):
                continue
            reply = read_as(*speaker, Z[rows], output.take(rows))
            reached[rows] = reply.reached
            if reply.margin is not None:
                margin[rows], has_margin = reply.margin, True
        return Reply(reached, margin if has_margin else None)

    def read_as(speaker: QueryState, is_free: bool, Z: Matrix, output: Output) -> Reply:
        reply = goal_reply(speaker, output)
        return plausible_reply(speaker, Z, reply) if speaker.options.plausible and not is_free else reply

    return read


def change_limits(states: States) -> Vector:
    """Return how many columns each query's answers may change; infinite where there is no limit."""
    return np.array([np.inf if (m := state.options.max_changes) is None else m for state in states])


def _kind(state: QueryState) -> tuple[Hashable, ...]:
    """Return what decides how answers are read, beside the number of changes."""
    return state.query.goal, state.options.margin, state.options.plausible


def goal_reply(state: QueryState, output: Output) -> Reply:
    """Tell which rows reach the goal, by the margin of the score where one was asked for."""
    reply = state.engine.judging.reply(state.query.goal, output)
    if not isinstance(state.options.margin, ScoreMargin):
        return reply
    assert reply.margin is not None
    margin = reply.margin - state.options.margin.amount
    return Reply(reply.reached & (margin >= 0), margin)


def plausible_reply(state: QueryState, rows: Matrix, reply: Reply) -> Reply:
    """Refuse rows that are far from the data; the margin falls with the distance, so that it leads back."""
    data = state.engine.background.neighbourhood(state.query.goal)
    # Rows that differ only in columns of no weight are not apart from each other.
    excess = (data.distance(rows) - data.usual) / (data.usual or 1.0)
    refused = excess > _ROUNDING
    if reply.margin is None:
        return Reply(reply.reached & ~refused, None)
    slack = np.where(refused, np.minimum(-excess * state.engine.judging.score_size, _JUST_MISSED), np.inf)
    return Reply(reply.reached & ~refused, np.minimum(reply.margin, slack))


def just_missed(reply: Reply, refused: NDArray[np.bool_]) -> Reply:
    """Return the reply with some rows counted as misses."""
    margin = reply.margin
    if margin is not None:
        margin = np.where(refused, np.minimum(margin, _JUST_MISSED), margin)
    return Reply(reply.reached & ~refused, margin)


def verdicts(judging: Judging, rows: Matrix, queries: Matrix) -> Output:
    """Ask the model itself about rows: in one batch, or one by one where the batch matters.

    Rows may miss cells that their query misses; `queries` is that of all rows, or one a row.
    """
    oracle, missing = judging.oracle(), np.broadcast_to(np.isnan(queries), rows.shape)
    if judging.batch_matters and len(rows) > 1:
        return joined([oracle.verdict(rows[i : i + 1], missing[i : i + 1]) for i in range(len(rows))])
    return oracle.verdict(rows, missing)


@contextmanager
def naming_failing_row(judging: Judging, rows: Any, encoded: Matrix) -> Iterator[None]:
    """Where the model fails on one of the user's rows, name it in the error."""
    try:
        yield
    except ModelError:
        for position, row in enumerate(encoded):
            try:
                judging.oracle().verdict(row[None, :], np.isnan(row)[None, :])
            except ModelError as error:
                raise ModelError(f"{row_name(rows, position)}: {error}") from error
        raise


def shown_answers(output: Output) -> Sequence[Any]:
    """Return what the model says about each row: its class, or its number."""
    if output.labels is not None:
        return list(output.labels)
    if output.values is not None:
        return list(output.values)
    return [None] * (0 if output.scores is None else len(output.scores))


def predictions_and_scores(judging: Judging, goal: Goal, output: Output) -> list[tuple[Any, float | None]]:
    """Return predictions and scores of rows; numbers without the bits that depend on their batch."""
    told, scores = shown(goal, output, judging.model.classes)
    if output.values is not None:
        return [(number, number) for number in (_nine_digits(float(one), goal) for one in told)]
    digits = [None if score is None else float(f"{score:.9g}") for score in scores]
    return list(zip(told, digits, strict=True))


def told(judging: Judging, goals: Sequence[Goal], output: Output) -> list[tuple[Any, float | None]]:
    """Return prediction and score of each row, as they speak for a goal of its own."""
    found: list[tuple[Any, float | None]] = [(None, None)] * len(goals)
    for goal, rows in by_goal(goals).items():
        for i, one in zip(
            rows.tolist(), predictions_and_scores(judging, goal, output.take(rows)), strict=True
        ):
            found[i] = one
    return found


def by_goal(goals: Sequence[Goal]) -> dict[Goal, Numbers]:
    """Return the numbers of those that share a goal."""
    numbers: dict[Goal, list[int]] = {}
    for i, goal in enumerate(goals):
        numbers.setdefault(goal, []).append(i)
    return {goal: np.array(mine) for goal, mine in numbers.items()}


def _nine_digits(value: float, goal: Goal) -> float:
    """Return a number in nine digits, unless these would lie on the other side of what was asked for."""
    short = float(f"{value:.9g}")
    if isinstance(goal, ValueBetween) and (goal.low <= short <= goal.high) != (
        goal.low <= value <= goal.high
    ):
        return value
    return short


@dataclass(frozen=True)
class Freely:
    """Rows that are asked about without the limits that options set: all that counts is the goal."""

    rows: Matrix


def capped(
    state: QueryState,
    search: Asking[Answer],
    archive: Archive,
    most: float = math.inf,
    *,
    freely: bool = False,
) -> Asking[Answer | None]:
    """Run a search within the query's budget, and for at most so many rows of its own.

    What it asks does not depend on the budget, which only ends it: so what a larger budget asks begins with
    all that a smaller one asked. Only the budget's or the time's end counts as having been stopped. `freely`
    asks without the limits that options set.
    """
    was_stopped, last = archive.stopped, archive.rows_asked + most

    def left() -> float:
        return state.limits.rows - state.rows_asked

    answer = yield from recorded(
        search,
        archive,
        lambda: min(last - archive.rows_asked, left()),
        state.limits.is_over,
        Freely if freely else np.asarray,
    )
    if left() > 0 and not state.limits.is_over():
        archive.stopped = was_stopped
    elif archive.stopped:
        state.spent.stopped_by = "rows" if left() <= 0 else state.limits.time_ended_by
    return answer


def asked(state: QueryState, rows: Matrix, archive: Archive, *, freely: bool = False) -> Asking[Reply | None]:
    """Ask about rows within the query's budget; None where it does not allow for all, or there are none."""
    return (yield from capped(state, asking(rows), archive, freely=freely))


def asking(rows: Matrix) -> Asking[Reply | None]:
    """Ask about rows once; return the reply, None without rows."""
    return (yield rows) if len(rows) else None
