"""Predictions: the model's word on rows, and whether that is the target already."""

from collections.abc import Sequence

from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.models.targets import Leave, describe, resolve
from ssba.pipeline.asking import shown_answers, told, verdicts
from ssba.results.prediction import Prediction


def predict_rows(engine: Engine, Z: Matrix) -> Sequence[Prediction]:
    """Ask the model about rows as they are."""
    if not len(Z):
        return []
    judging, found = engine.judging, []
    output = verdicts(judging, Z, Z)
    goals = [resolve(engine.target, one) for one in shown_answers(output)]
    for i, (goal, (prediction, score)) in enumerate(zip(goals, told(judging, goals, output), strict=True)):
        own = judging.reply(goal, output.take(slice(i, i + 1)))
        reached = not isinstance(goal, Leave) and bool(own.reached[0])
        values = engine.space.row_values(Z[i])
        found.append(Prediction(values, prediction, score, reached, describe(goal)))
    return found
