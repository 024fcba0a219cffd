"""What the model's answers mean for a query, and searches within its budget.

Whether a row gives what is asked for, and by how much; and a note of every feasible row that was asked in
vain.
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

Numbers = NDArray[np.int64]

# The margin of a row that reaches the goal but is refused for another reason.
_JUST_MISSED = -np.finfo(np.float64).tiny

# Distances that are equal but for rounding are equal.
_ROUNDING = 1e-9

# Rows wait to be measured until there are this many: one large step costs less than many small ones.
_ROWS_AT_ONCE = 1024


def judged(state: QueryState, rows: Matrix, output: Output) -> Reply:
    """Tell which rows give a query what it asks for: the goal, and all that its options add.

    A ball around the rows is not among it: that takes rows of its own.
    """
    reply = goal_reply(state, output)
    most = state.options.max_changes
    if most is not None:
        reply = just_missed(reply, changed_cells(rows, state.x).sum(axis=1) > most)
    return plausible_reply(state, rows, reply) if state.options.plausible else reply


def reader_of(states: States, *, freely: bool = False) -> Callable[[Matrix, Numbers, Output], Reply]:
    """Return `judged` for rows of several queries at once: it takes rows, their queries, and the answers.

    `freely` leaves out the limits that options set.
    """
    kinds: dict[Hashable, int] = {}
    kind = np.array([kinds.setdefault(_kind(state), len(kinds)) for state in states])
    speakers = [states[int(first)] for first in np.unique(kind, return_index=True)[1]]
    x = np.array([state.x for state in states])
    most = np.array([np.inf if (m := state.options.max_changes) is None else m for state in states])
    has_limit = bool(np.isfinite(most).any()) and not freely

    def read(Z: Matrix, query: Numbers, output: Output) -> Reply:
        reply = read_goals(Z, query, output)
        return (
            just_missed(reply, changed_cells(Z, x[query]).sum(axis=1) > most[query]) if has_limit else reply
        )

    def read_goals(Z: Matrix, query: Numbers, output: Output) -> Reply:
        if len(speakers) == 1:
            return read_as(speakers[0], Z, output)
        reached, margin = np.zeros(len(Z), dtype=bool), np.empty(len(Z))
        has_margin = False
        for number, speaker in enumerate(speakers):
            rows = np.flatnonzero(kind[query] == number)
            if not len(rows):
                continue
            reply = read_as(speaker, Z[rows], output.take(rows))
            reached[rows] = reply.reached
            if reply.margin is not None:
                margin[rows], has_margin = reply.margin, True
        return Reply(reached, margin if has_margin else None)

    def read_as(speaker: QueryState, Z: Matrix, output: Output) -> Reply:
        reply = goal_reply(speaker, output)
        return plausible_reply(speaker, Z, reply) if speaker.options.plausible and not freely else reply

    return read


def _kind(state: QueryState) -> Hashable:
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


def predictions(judging: Judging, rows: Matrix, queries: Matrix) -> list[Output]:
    """Ask the model itself about rows: in one batch, or one by one where the batch matters.

    Rows may miss cells that their query misses; `queries` is that of all rows, or one a row.
    """
    output = verdicts(judging, rows, queries)
    return [output.take(slice(i, i + 1)) for i in range(len(rows))]


def verdicts(judging: Judging, rows: Matrix, queries: Matrix) -> Output:
    """Ask the model itself about rows, and return its answers in one."""
    oracle, missing = judging.oracle(), np.broadcast_to(np.isnan(queries), rows.shape)
    if judging.batch_matters and len(rows) > 1:
        return joined([oracle.verdict(rows[i : i + 1], missing[i : i + 1]) for i in range(len(rows))])
    return oracle.verdict(rows, missing)


def failing_row(judging: Judging, rows: Matrix) -> tuple[int, ModelError] | None:
    """Return the first row that the model fails on when asked about it alone, and its error."""
    for position, row in enumerate(rows):
        try:
            judging.oracle().verdict(row[None, :], np.isnan(row)[None, :])
        except ModelError as error:
            return position, error
    return None


@contextmanager
def naming_failing_row(judging: Judging, rows: Any, encoded: Matrix) -> Iterator[None]:
    """Where the model fails on one of the user's rows, name it in the error."""
    try:
        yield
    except ModelError:
        if (failed := failing_row(judging, encoded)) is not None:
            position, error = failed
            raise ModelError(f"{row_name(rows, position)}: {error}") from error
        raise


def shown_answer(output: Output) -> Any:
    """Return what the model says about a single row: its class, or its number."""
    return shown_answers(output)[0]


def shown_answers(output: Output) -> Sequence[Any]:
    """Return what the model says about each row: its class, or its number."""
    if output.labels is not None:
        return list(output.labels)
    if output.values is not None:
        return list(output.values)
    return [None] * (0 if output.scores is None else len(output.scores))


def prediction_and_score(judging: Judging, goal: Goal, output: Output) -> tuple[Any, float | None]:
    """Return prediction and score of one row; numbers without the bits that depend on its batch."""
    return predictions_and_scores(judging, goal, output)[0]


def predictions_and_scores(judging: Judging, goal: Goal, output: Output) -> list[tuple[Any, float | None]]:
    """Return predictions and scores of rows, as `prediction_and_score` gives them."""
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


def capped(state: QueryState, search: Asking[Answer], archive: Archive, most: float) -> Asking[Answer | None]:
    """Run a search within the query's budget, and for at most so many rows of its own; note its misses.

    What it asks does not depend on the budget, which only ends it: so what a larger budget asks begins with
    all that a smaller one asked. Only the budget's or the time's end counts as having been stopped.
    """
    was_stopped = archive.stopped
    running = recorded(search, archive, archive.rows_asked + most, _is_over(state), _left(state))
    answer = yield from metered(state, running, archive)
    _note_end(state, archive, was_stopped)
    return answer


def scouted(
    state: QueryState, search: Asking[Answer], archive: Archive, most: float
) -> Asking[Answer | None]:
    """Run a search that looks around without the limits that options set; what it finds are no answers.

    Its misses are not noted: they are not all rows that the options allow.
    """
    state.found.scouts.append(archive)
    running = recorded(search, archive, most, _is_over(state), _left(state))
    try:
        asked = next(running)
        while True:
            asked = running.send((yield Freely(asked)))
    except StopIteration as end:
        answer: Answer | None = end.value
        return answer
    finally:
        running.close()
        _note_end(state, archive, was_stopped=False)


def _is_over(state: QueryState) -> Callable[[], bool]:
    """Return what tells that there is no more time, or where calls are dear no more of them."""
    return lambda: state.limits.is_over() or state.calls_left <= 0


def _left(state: QueryState) -> Callable[[], float]:
    return lambda: state.limits.rows - state.rows_asked


def _note_end(state: QueryState, archive: Archive, was_stopped: bool) -> None:
    left = state.limits.rows - state.rows_asked
    if left > 0 and not state.limits.is_over():
        archive.stopped = was_stopped
    elif archive.stopped:
        state.spent.stopped_by = "rows" if left <= 0 else state.limits.time_ended_by


def metered(state: QueryState, running: Asking[Answer | None], archive: Archive) -> Asking[Answer | None]:
    """Run a search, and note how far its misses are from the query."""
    waiting: list[Matrix] = []
    count = 0
    try:
        asked = next(running)
        while True:
            reply = yield asked
            waiting.append(asked[~reply.reached])
            count += len(waiting[-1])
            if count >= _ROWS_AT_ONCE:
                state.found.missed.append(_distances(archive, waiting))
                waiting.clear()
                count = 0
            asked = running.send(reply)
    except StopIteration as end:
        answer: Answer | None = end.value
        return answer
    finally:
        running.close()
        if waiting:
            state.found.missed.append(_distances(archive, waiting))


def offered(state: QueryState, rows: Matrix, archive: Archive) -> Asking[None]:
    """Ask about rows whatever the budget of rows is; time still ends it."""
    yield from metered(state, recorded(asking(rows), archive, math.inf, state.limits.is_over), archive)


def asking(rows: Matrix) -> Asking[Reply | None]:
    """Ask about rows once; return the reply, None without rows."""
    return (yield rows) if len(rows) else None


def _distances(archive: Archive, waiting: list[Matrix]) -> Vector:
    """Return how far from the query the feasible ones among the rows lie."""
    rows = np.concatenate(waiting)
    feasible = rows[archive.region.contains(rows)]
    return np.asarray(archive.metric.distance(feasible, archive.region.x))
