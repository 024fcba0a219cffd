"""Asking the model about the rows of many cases at once, and reading its answers for each case."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.models.model import Output
from ssba.models.oracle import Oracle
from ssba.models.targets import Goal, Reply, ValueBetween, shown
from ssba.pipeline.case import Case, Clock
from ssba.pipeline.driver import drive
from ssba.search.few import changed_cells
from ssba.search.robust import ScoreMargin

# The margin of a row that reaches the goal but is refused for another reason.
_JUST_MISSED = -np.finfo(np.float64).tiny
# Distances that are equal but for rounding are equal.
_ROUNDING = 1e-9


def run_searches(
    engine: Engine,
    cases: Sequence[Case],
    searches: Sequence[Asking[None]],
    done: Callable[[], object] = lambda: None,
    clock: Clock | None = None,
) -> None:
    """Drive the searches of all cases, in shared model calls; the clock is told how long these take."""
    oracle = engine.oracle()

    def ask(asked: Sequence[tuple[int, Matrix]]) -> list[Reply]:
        begun = time.monotonic()
        replies = _replies(engine, oracle, cases, asked)
        if clock is not None:
            clock.last_call = time.monotonic() - begun
        return replies

    drive(searches, ask, lambda _: done())


def _replies(
    engine: Engine, oracle: Oracle, cases: Sequence[Case], asked: Sequence[tuple[int, Matrix]]
) -> list[Reply]:
    if len(asked) > 1 and engine.batch_matters:
        # Each query keeps a batch of its own then, as it has when it comes alone.
        return [reply for one in asked for reply in _replies(engine, oracle, cases, [one])]
    missing = [np.broadcast_to(np.isnan(cases[number].x), rows.shape) for number, rows in asked]
    output = oracle.output(np.concatenate([rows for _, rows in asked]), np.concatenate(missing))
    by_goal: dict[Goal | None, Reply] = {}
    replies, end = [], 0
    for number, rows in asked:
        case, begin, end = cases[number], end, end + len(rows)
        if not case.request.asks_only_for_goal:
            replies.append(_rounded(engine, judged(engine, case, rows, _part(output, begin, end))))
            continue
        if case.goal not in by_goal:
            by_goal[case.goal] = _rounded(engine, goal_reply(engine, case, output))
        reply = by_goal[case.goal]
        margin = None if reply.margin is None else reply.margin[begin:end]
        replies.append(Reply(reply.reached[begin:end], margin))
    return replies


def _rounded(engine: Engine, reply: Reply) -> Reply:
    step = engine.margin_step
    return Reply(reply.reached, None if reply.margin is None else np.round(reply.margin / step) * step)


def judged(engine: Engine, case: Case, rows: Matrix, output: Output) -> Reply:
    """Tell which rows give the case what it asks for: the goal, and all that its request adds.

    A ball around the rows is not among it: that takes rows of its own.
    """
    reply = goal_reply(engine, case, output)
    if case.scouting:
        return reply
    most = case.request.max_changes
    if most is not None:
        reply = _refused(reply, changed_cells(rows, case.x).sum(axis=1) > most)
    return _plausible(engine, case, rows, reply) if case.request.plausible else reply


def goal_reply(engine: Engine, case: Case, output: Output) -> Reply:
    """Tell which rows reach the goal, by the margin of the score where one was asked for."""
    assert case.goal is not None
    reply = engine.judge(case.goal, output)
    if not isinstance(case.request.margin, ScoreMargin):
        return reply
    assert reply.margin is not None
    margin = reply.margin - case.request.margin.amount
    return Reply(reply.reached & (margin >= 0), margin)


def _plausible(engine: Engine, case: Case, rows: Matrix, reply: Reply) -> Reply:
    """Refuse rows that are far from the data; the margin falls with the distance, so that it leads back."""
    assert case.goal is not None
    data = engine.neighbourhood(case.goal)
    # Where most rows repeat, only rows of the data themselves are as near as is usual.
    excess = (data.distance(rows) - data.usual) / (data.usual or 1.0)
    refused = excess > _ROUNDING
    if reply.margin is None:
        return Reply(reply.reached & ~refused, None)
    slack = np.where(refused, np.minimum(-excess * engine.score_size, _JUST_MISSED), np.inf)
    return Reply(reply.reached & ~refused, np.minimum(reply.margin, slack))


def _refused(reply: Reply, refused: NDArray[np.bool_]) -> Reply:
    """Return the reply with some rows counted as misses."""
    margin = reply.margin
    if margin is not None:
        margin = np.where(refused, np.minimum(margin, _JUST_MISSED), margin)
    return Reply(reply.reached & ~refused, margin)


def verdicts(engine: Engine, rows: Matrix, queries: Matrix) -> list[Output]:
    """Ask the model itself about rows: in one batch, or one by one where the batch matters.

    Rows may miss cells that their query misses; `queries` is that of all rows, or one a row.
    """
    oracle, missing = engine.oracle(), np.broadcast_to(np.isnan(queries), rows.shape)
    if engine.batch_matters:
        return [oracle.verdict(rows[i : i + 1], missing[i : i + 1]) for i in range(len(rows))]
    output = oracle.verdict(rows, missing)
    return [_part(output, i, i + 1) for i in range(len(rows))]


def _part(output: Output, begin: int, end: int) -> Output:
    return chosen(output, slice(begin, end))


def chosen(output: Output, rows: slice | NDArray[np.int64]) -> Output:
    """Return what the model said about some of the rows."""
    parts = (output.labels, output.scores, output.values)
    return Output(*(None if part is None else part[rows] for part in parts))


def told(engine: Engine, goal: Goal, output: Output) -> tuple[Any, float | None]:
    """Return prediction and score of one row; numbers without the bits that depend on its batch."""
    (prediction,), (score,) = shown(goal, output, engine.model.classes)
    if output.values is not None:
        number = _nine_digits(float(prediction), goal)
        return number, number
    return prediction, None if score is None else float(f"{score:.9g}")


def _nine_digits(value: float, goal: Goal) -> float:
    """Return a number in nine digits, unless these would lie on the other side of what was wished for."""
    short = float(f"{value:.9g}")
    if isinstance(goal, ValueBetween) and (goal.low <= short <= goal.high) != (
        goal.low <= value <= goal.high
    ):
        return value
    return short
