"""Which constraints hold a bounded move back, told by the scores just beyond each of them."""

from typing import Any

import numpy as np
import pytest
from tests.problems import half_space

import ssba
from ssba.advice.binding import best_beyond
from ssba.advice.context import Context
from ssba.advice.relaxations import conditions_of

DATA = np.random.default_rng(0).uniform(-4, 4, size=(300, 3))
TEXTS = ("x0 <= 1", "x1 <= 1", "x2 == x.x2", "x0 >= -1", "x0 + x1 <= 1.5")
MOVE = {"x0": 1.0, "x1": 0.5, "x2": 0.0}


def plane() -> Any:
    return half_space(1.0, 0.5, 0.0, at=5.0).logistic(DATA)


def beyond(model: Any, most_rows: int = 1000, move: dict[str, float] = MOVE) -> Any:
    engine = ssba.Explainer(model, DATA, target=True, distance=ssba.Distance(scale="none"))._engine
    given = tuple(ssba.constraint(text) for text in TEXTS)
    context = Context(engine, engine.space.encode_row([0.0, 0.0, 0.0]), given)
    terms, conditions = conditions_of(context, None)
    return best_beyond(context, terms, conditions, context.encode(move), most_rows)


def test_only_what_is_in_the_way_of_a_better_score_binds() -> None:
    found, rows = beyond(plane())
    # Beyond x0 <= 1 and x1 <= 1 the sum stands in the way, too; x2 is worth nothing, x0 >= -1 the wrong way.
    assert [one is not None for one in found] == [False, False, False, False, True]
    assert 1 < rows < 60
    # Only one column moves: x1 up to its own bound of 1, from a half; x0 stands at its bound already.
    margin = 1.0 + 0.5 * 1.0 - 5.0
    assert found[-1].score == pytest.approx(1 / (1 + np.exp(-margin)))


def test_what_can_still_be_gained_inside_the_constraints_speaks_against_none_of_them() -> None:
    # x0 may still go up to 1, which no constraint forbids; beyond that two of them are in the way at once.
    found, _ = beyond(plane(), move={"x0": 0.5, "x1": 0.5, "x2": 0.0})
    assert found == [None] * len(TEXTS)


def test_without_scores_nothing_is_told_and_without_rows_nothing_is_asked() -> None:
    found, _ = beyond(lambda rows: rows[:, 0] + 0.5 * rows[:, 1] > 3)
    assert found == [None] * len(TEXTS)
    found, rows = beyond(plane(), most_rows=2)
    assert (found, rows) == ([None] * len(TEXTS), 0)
