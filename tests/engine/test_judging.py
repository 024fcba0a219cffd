"""What an explainer's model says about its background rows, and how far scores can be trusted."""

from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.engine.cases import X, engine, plane

from ssba.models.model import Output
from ssba.models.targets import Leave, Reach, ValueBetween
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import Closed


class TestPredictions:
    def test_a_model_that_works_in_place_does_not_reach_the_background_rows(self) -> None:
        def spoiling(rows: Any) -> Any:
            labels = plane(rows)
            rows *= 0.0
            return labels

        made = engine(spoiling)
        assert made.judging.predicted.labels is not None
        np.testing.assert_array_equal(made.background.rows, X)

    def test_the_background_rows_are_asked_about_once(self) -> None:
        asked: list[int] = []

        def model(rows: Any) -> Any:
            asked.append(len(rows))
            return plane(rows)

        judging = engine(model).judging
        asked.clear()
        assert judging.predicted is judging.predicted
        assert asked == [len(X)]

    def test_a_reply_tells_which_rows_reach_a_goal(self) -> None:
        judging = engine().judging
        output = Output(labels=np.array([True, False, True]))
        assert judging.reply(Reach(True), output).reached.tolist() == [True, False, True]
        assert judging.reply(Leave(True), output).reached.tolist() == [False, True, False]

    def test_an_asker_counts_the_rows_that_it_asks(self) -> None:
        judging = engine().judging
        oracle = judging.oracle()
        ask = judging.asker(Reach(True), oracle)
        assert ask(X[:7]).reached.tolist() == plane(X[:7]).tolist()
        assert oracle.rows_asked == 7


class TestScores:
    def test_a_forests_or_a_planes_scores_do_not_depend_on_the_batch(self) -> None:
        for model in (LogisticRegression(), RandomForestClassifier(5, random_state=0)):
            assert not engine(model.fit(X, plane(X))).judging.batch_matters

    def test_scores_that_shift_with_the_batch_are_noticed(self) -> None:
        def shifting(rows: Any) -> Any:
            return 1 / (1 + np.exp(-rows[:, 0])) + 1e-7 * len(rows) % 2

        assert engine(lambda rows: np.clip(shifting(rows), 0, 1), target=1).judging.batch_matters

    def test_the_size_of_scores_is_a_power_of_two_above_them(self) -> None:
        module = torch.nn.Linear(3, 1)
        judging = engine(module, X.astype(np.float32), target=ValueBetween(0.0, 1.0)).judging
        assert judging.predicted.values is not None
        assert judging.score_size >= np.abs(judging.predicted.values).max()
        assert np.log2(judging.score_size) == round(np.log2(judging.score_size))
        assert judging.margin_step == judging.score_size / 2**30


class TestOpened:
    def test_a_linear_model_is_opened_at_once_and_a_forest_when_asked_for(self) -> None:
        linear = engine(LogisticRegression().fit(X, plane(X))).judging
        assert linear.opened_linear is not None
        assert linear.opened is linear.opened_linear
        forest = engine(RandomForestClassifier(3, random_state=0).fit(X, plane(X))).judging
        assert forest.opened_linear is None
        assert isinstance(forest.opened, Trees)

    def test_a_function_cannot_be_opened(self) -> None:
        assert isinstance(engine().judging.opened, Closed)
