"""What the model's answers mean for a query: whether a row gives what is asked for, and by how much."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.engine.judging import Judging
from ssba.errors import ModelError
from ssba.models.model import Output
from ssba.models.targets import Goal, Reply, ValueBetween, shown
from ssba.options import ScoreMargin
from ssba.pipeline.state import QueryState

# The margin of a row that reaches the goal but is refused for another reason.
_JUST_MISSED = -np.finfo(np.float64).tiny
# Distances that are equal but for rounding are equal.
_ROUNDING = 1e-9


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
