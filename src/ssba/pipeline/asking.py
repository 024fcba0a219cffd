"""Asking the model about the rows of many queries at once, and reading its answers for each of them."""

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.engine.judging import Judging
from ssba.errors import ModelError
from ssba.models.model import Output
from ssba.models.oracle import Oracle
from ssba.models.targets import Goal, Reply, ValueBetween, shown
from ssba.options import ScoreMargin
from ssba.pipeline.metering import Freely
from ssba.pipeline.state import QueryState, States

Question = TypeVar("Question")
Answered = TypeVar("Answered")

# The margin of a row that reaches the goal but is refused for another reason.
_JUST_MISSED = -np.finfo(np.float64).tiny
# Distances that are equal but for rounding are equal.
_ROUNDING = 1e-9


def run_searches(
    states: States, searches: Sequence[Asking[None]], done: Callable[[], object] = lambda: None
) -> None:
    """Drive the searches of all queries, in shared model calls; the clock is told how long these take."""
    if not states:
        return
    oracle, clock = states[0].engine.judging.oracle(), states[0].limits.clock

    def ask(asked: Sequence[tuple[int, Matrix | Freely]]) -> list[Reply]:
        begun = time.monotonic()
        replies = _replies(oracle, [(states[number], rows) for number, rows in asked])
        clock.last_call = time.monotonic() - begun
        return replies

    drive(searches, ask, lambda _: done())


def _replies(oracle: Oracle, asked: Sequence[tuple[QueryState, Matrix | Freely]]) -> list[Reply]:
    judging = asked[0][0].engine.judging
    if len(asked) > 1 and judging.batch_matters:
        # Each query keeps a batch of its own then, as it has when it comes alone.
        return [reply for one in asked for reply in _replies(oracle, [one])]
    rows = [one.rows if isinstance(one, Freely) else one for _, one in asked]
    missing = [
        np.broadcast_to(np.isnan(state.x), own.shape) for (state, _), own in zip(asked, rows, strict=True)
    ]
    output = oracle.output(np.concatenate(rows), np.concatenate(missing))
    by_goal: dict[Goal, Reply] = {}
    replies, end = [], 0
    for (state, question), own in zip(asked, rows, strict=True):
        begin, end = end, end + len(own)
        if isinstance(question, Freely):
            reply = _rounded(judging, goal_reply(state, output.take(slice(begin, end))))
        elif not state.options.asks_only_for_goal:
            reply = _rounded(judging, judged(state, own, output.take(slice(begin, end))))
        else:
            goal = state.query.goal
            if goal not in by_goal:
                by_goal[goal] = _rounded(judging, goal_reply(state, output))
            reply = by_goal[goal]
            margin = None if reply.margin is None else reply.margin[begin:end]
            reply = Reply(reply.reached[begin:end], margin)
        replies.append(reply)
    return replies


def _rounded(judging: Judging, reply: Reply) -> Reply:
    step = judging.margin_step
    return Reply(reply.reached, None if reply.margin is None else np.round(reply.margin / step) * step)


def judged(state: QueryState, rows: Matrix, output: Output) -> Reply:
    """Tell which rows give a query what it asks for: the goal, and all that its options add.

    A ball around the rows is not among it: that takes rows of its own.
    """
    reply = goal_reply(state, output)
    most = state.options.max_changes
    if most is not None:
        reply = just_missed(reply, changed_cells(rows, state.x).sum(axis=1) > most)
    return plausible_reply(state, rows, reply) if state.options.plausible else reply


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
    oracle, missing = judging.oracle(), np.broadcast_to(np.isnan(queries), rows.shape)
    if judging.batch_matters:
        return [oracle.verdict(rows[i : i + 1], missing[i : i + 1]) for i in range(len(rows))]
    output = oracle.verdict(rows, missing)
    return [output.take(slice(i, i + 1)) for i in range(len(rows))]


def failing_row(judging: Judging, rows: Matrix) -> tuple[int, ModelError] | None:
    """Return the first row that the model fails on when asked about it alone, and its error."""
    for position, row in enumerate(rows):
        try:
            judging.oracle().verdict(row[None, :], np.isnan(row)[None, :])
        except ModelError as error:
            return position, error
    return None


def shown_answer(output: Output) -> Any:
    """Return what the model says about a single row: its class, or its number."""
    return (
        output.labels[0] if output.labels is not None else None if output.values is None else output.values[0]
    )


def prediction_and_score(judging: Judging, goal: Goal, output: Output) -> tuple[Any, float | None]:
    """Return prediction and score of one row; numbers without the bits that depend on its batch."""
    (prediction,), (score,) = shown(goal, output, judging.model.classes)
    if output.values is not None:
        number = _nine_digits(float(prediction), goal)
        return number, number
    return prediction, None if score is None else float(f"{score:.9g}")


def _nine_digits(value: float, goal: Goal) -> float:
    """Return a number in nine digits, unless these would lie on the other side of what was asked for."""
    short = float(f"{value:.9g}")
    if isinstance(goal, ValueBetween) and (goal.low <= short <= goal.high) != (
        goal.low <= value <= goal.high
    ):
        return value
    return short


def drive(
    searches: Sequence[Generator[Question, Answered, None]],
    ask: Callable[[Sequence[tuple[int, Question]]], Sequence[Answered]],
    done: Callable[[int], object] = lambda _: None,
    side_by_side: int = 256,
) -> None:
    """Run all searches to their end; `ask` gets the open questions of many at once, with their numbers.

    A search sees only the replies to its own questions, so it takes the same way alone or among others.
    At most `side_by_side` run at a time; as one ends (`done` is told its number) the next begins.
    """
    waiting = iter(range(len(searches)))
    open_questions: dict[int, Question] = {}
    while True:
        while len(open_questions) < side_by_side and (number := next(waiting, None)) is not None:
            _advance(searches, number, None, open_questions, done)
        if not open_questions:
            return
        asked = list(open_questions.items())
        open_questions.clear()
        for (number, _), reply in zip(asked, ask(asked), strict=True):
            _advance(searches, number, reply, open_questions, done)


def _advance(
    searches: Sequence[Generator[Question, Answered, None]],
    number: int,
    reply: Answered | None,
    open_questions: dict[int, Question],
    done: Callable[[int], object],
) -> None:
    search = searches[number]
    try:
        open_questions[number] = next(search) if reply is None else search.send(reply)
    except StopIteration:
        done(number)
