from typing import Any

import numpy as np
import pytest
from tests.advice.cases import context_of

import ssba
from ssba.advice import rows
from ssba.advice.rows import changed_columns, feasible_rows, is_answer, progress, reaches
from ssba.models.targets import Reach, value_between

X = np.random.default_rng(0).uniform(0, 10, size=(300, 3))
EXPLAINER = ssba.Explainer(lambda cells: np.asarray(cells)[:, 0] > 5, X, target=True)
QUERY = [2.0, 4.0, 6.0]
RULES = ["x0 - x1 <= 2", "if x2 changes: x1 >= 5", "x1 within 50%"]


class TestFeasibleRows:
    @pytest.mark.parametrize("wishes", [{}, {"max_changes": 1}])
    def test_it_says_what_the_context_says(self, wishes: Any) -> None:
        context = context_of(EXPLAINER, QUERY, RULES, **wishes)
        rng = np.random.default_rng(1)
        Z = np.where(rng.random((200, 3)) < 0.6, context.x, rng.uniform(0, 10, size=(200, 3)))
        told = feasible_rows(context, Z)
        assert told.tolist() == context.is_feasible(Z).tolist()
        assert 0 < told.sum() < len(Z)

    def test_each_combination_of_cells_is_asked_about_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        context = context_of(EXPLAINER, QUERY, RULES[:1])
        asked = []

        def holds(*given: Any) -> bool:
            asked.append(given)
            return bool(given[2]["x1"] != 5.0)

        monkeypatch.setattr(rows, "holds", holds)
        Z = np.array([[2.0, 4.0, 1.0], [2.0, 4.0, 2.0], [2.0, 5.0, 3.0], [2.0, 5.0, 4.0]])
        assert feasible_rows(context, Z).tolist() == [True, True, False, False]
        assert len(asked) == 2


class TestReaches:
    def test_plausibility_is_part_of_it(self) -> None:
        Z = np.array([[7.0, 5.0, 5.0], [7.0, 5.0, 60.0]])
        assert reaches(context_of(EXPLAINER, QUERY), Z).reached.tolist() == [True, True]
        assert reaches(context_of(EXPLAINER, QUERY, plausible=True), Z).reached.tolist() == [True, False]

    def test_no_rows_are_no_question(self) -> None:
        assert len(reaches(context_of(EXPLAINER, QUERY), np.empty((0, 3))).reached) == 0

    def test_an_answer_meets_constraints_and_target(self) -> None:
        context = context_of(EXPLAINER, QUERY, ["x0 <= 8"])
        answers = [is_answer(context, np.array([cell, 4.0, 6.0])) for cell in (4.0, 6.0, 9.0)]
        assert answers == [False, True, False]


def test_progress_is_the_score_or_the_depth_in_the_interval() -> None:
    assert progress(Reach(1), [0.25, 0.5]).tolist() == [0.25, 0.5]
    assert progress(value_between(2, 6), [1.0, 3.0, 4.0, 8.0]).tolist() == [-1.0, 1.0, 2.0, -2.0]
    assert np.isnan(progress(Reach(1), [None])).all()


def test_a_cell_that_stays_missing_is_no_change() -> None:
    before, after = np.array([1.0, np.nan, np.nan]), np.array([1.0, np.nan, 2.0])
    assert changed_columns(before, after) == [2]
