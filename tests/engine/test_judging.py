"""What a model says about its background rows, asked block by block, and how far scores can be trusted."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.engine.cases import X, engine, plane
from tests.support import every

from ssba.engine.judging import AskedRows, choose_rows
from ssba.models.model import Output
from ssba.models.targets import Leave, Reach, ValueBetween
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import Closed

DATA = np.random.default_rng(0).normal(size=(3000, 4))
METRIC = engine(lambda rows: rows[:, 0] > 0, DATA).metric

ROWS = np.arange(40.0)[:, None]


def test_few_rows_are_all_chosen_and_one_block() -> None:
    choice = choose_rows(DATA[:700], METRIC, 2000)
    assert sorted(choice.numbers) == list(range(700))
    assert choice.ends == (700,)
    np.testing.assert_array_equal(choice.sample, choice.numbers)


def test_of_many_rows_a_fixed_choice_has_a_sample_and_small_blocks() -> None:
    choice = choose_rows(DATA, METRIC, 2000)
    assert len(set(choice.numbers)) == choice.ends[-1] == 2000
    assert len(choice.sample) == 1024
    assert every(0 < size <= 128 for size in np.diff(choice.ends))
    np.testing.assert_array_equal(choose_rows(DATA, METRIC, 2000).numbers, choice.numbers)


def test_a_larger_number_keeps_the_sample() -> None:
    np.testing.assert_array_equal(
        choose_rows(DATA, METRIC, 3000).sample, choose_rows(DATA, METRIC, 1024).sample
    )


def test_the_rows_of_a_block_are_neighbours() -> None:
    choice = choose_rows(DATA, METRIC, 3000)
    inside = [DATA[choice.numbers[begin:end]].std(axis=0).mean() for begin, end in pairwise(choice.ends)]
    assert np.mean(inside) < 0.7 * DATA.std(axis=0).mean()


def test_a_small_number_tries_the_model_out_on_no_more() -> None:
    made = engine(lambda rows: rows[:, 0] > 0, DATA, background_rows=40)
    assert len(made.judging.known.rows) == len(made.judging.sample) == 40


class Asking:
    """A model that notes what it is asked."""

    def __init__(self) -> None:
        self.batches: list[list[float]] = []

    def __call__(self, rows: Any) -> Output:
        self.batches.append(rows[:, 0].tolist())
        return Output(labels=rows[:, 0] % 2 == 0, scores=np.c_[-rows[:, 0], rows[:, 0]])


def asked_rows() -> tuple[AskedRows, Asking]:
    asking = Asking()
    known = AskedRows(ROWS, (10, 20, 30, 40), asking(ROWS[:10]), asking, (False, True))
    asking.batches.clear()
    return known, asking


def test_the_first_block_needs_no_asking() -> None:
    known, asking = asked_rows()
    found = known.nearest_reaching(Reach(True), ROWS[:, 0], lambda begins, found: False)
    assert found.tolist() == [0, 2, 4, 6, 8]
    assert asking.batches == []


def test_further_blocks_come_nearest_first_as_long_as_they_are_wanted() -> None:
    known, asking = asked_rows()
    seen = []

    def wanted(begins: float, found: Any) -> bool:
        seen.append((begins, sum(map(len, found))))
        return len(seen) < 3

    found = known.nearest_reaching(Reach(True), np.abs(ROWS[:, 0] - 33), wanted)
    assert seen == [(0.0, 5), (4.0, 10), (14.0, 15)]
    assert found.tolist() == [*range(0, 10, 2), *range(30, 40, 2), *range(20, 30, 2)]
    assert asking.batches == [list(range(30, 40)), list(range(20, 30))]


def test_no_block_is_asked_about_twice() -> None:
    known, asking = asked_rows()
    for _ in range(2):
        assert known.reached(Reach(False)).tolist() == [False, True] * 20
    assert known.labels.tolist() == [True, False] * 20
    assert len(asking.batches) == 3


def test_answers_come_in_the_order_of_the_numbers() -> None:
    known, _ = asked_rows()
    answers = known.answers(np.array([31, 2, 15, 30, 3]))
    assert answers.labels is not None
    assert answers.scores is not None
    assert answers.labels.tolist() == [False, True, False, True, False]
    assert answers.scores[:, 1].tolist() == [31, 2, 15, 30, 3]
    assert known.answers(np.empty(0, dtype=int)).labels is not None


def test_goals_beyond_those_that_are_kept_are_judged_again() -> None:
    known = AskedRows(ROWS, (40,), Output(values=ROWS[:, 0]), Asking(), None)
    for i in [*range(100), 0]:
        assert known.reached(ValueBetween(i, i + 1)).sum() == max(0, min(2, 40 - i))


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
