"""Predictions: the model's word on rows, and whether that is the target already."""

from collections.abc import Sequence

import numpy as np

from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.models.targets import Leave, describe, resolve
from ssba.pipeline.asking import prediction_and_score, predictions, shown_answer
from ssba.results.prediction import Prediction


def predict_rows(engine: Engine, Z: Matrix) -> Sequence[Prediction]:
    """Ask the model about rows as they are."""
    judging, found = engine.judging, []
    for z, output in zip(Z, predictions(judging, Z, Z) if len(Z) else (), strict=True):
        goal = resolve(engine.target, shown_answer(output))
        prediction, score = prediction_and_score(judging, goal, output)
        reached = not isinstance(goal, Leave) and bool(np.all(judging.reply(goal, output).reached))
        values = engine.space.row_values(z)
        found.append(Prediction(values, prediction, score, reached, describe(goal)))
    return found
