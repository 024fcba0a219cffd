"""Targets are checked, resolved for a query, judged and put into words."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC
from tests.support import every

from ssba.errors import TargetError
from ssba.models.answers import Model, Output
from ssba.models.model import adapt
from ssba.models.targets import (
    Goal,
    Leave,
    Reach,
    ValueChange,
    check_target,
    describe,
    describe_target,
    judge,
    probability,
    resolve,
    shown,
    value_between,
    value_change,
)

X = np.random.default_rng(0).normal(size=(30, 2))
TEXT = np.where(X[:, 0] > 0, "disease", "no disease")
LOGISTIC = adapt(LogisticRegression().fit(X, TEXT), X)
INTEGERS = adapt(LogisticRegression().fit(X, (X[:, 0] > 0).astype(int)), X)
MARGINS = adapt(SVC().fit(X, TEXT), X)
NUMBERS = adapt(LinearRegression().fit(X, X[:, 0]), X)

ABC = ("a", "b", "c")
SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.4, 0.4, 0.2]])
LABELS = np.array(["a", "b", "a"])


class TestCheck:
    @pytest.mark.parametrize(
        ("target", "model"),
        [
            (None, LOGISTIC),
            ("disease", LOGISTIC),
            (np.str_("disease"), LOGISTIC),
            (1, INTEGERS),
            (np.int64(1), INTEGERS),
            (probability("disease", at_least=0.7), LOGISTIC),
            (probability("disease", at_least=1), LOGISTIC),
            ("disease", MARGINS),
            (value_between(0, 1), NUMBERS),
            (value_between(), NUMBERS),
        ],
    )
    def test_a_target_that_the_model_knows_passes(self, target: Any, model: Model) -> None:
        check_target(target, model)

    @pytest.mark.parametrize(
        ("target", "model", "message"),
        [
            (
                "diseas",
                LOGISTIC,
                "'diseas' is not a class of LogisticRegression; its classes: 'disease', 'no disease'",
            ),
            ("diseas", LOGISTIC, r"did you mean 'disease'\?"),
            ("No Disease", LOGISTIC, r"did you mean 'no disease'\?"),
            ("1", INTEGERS, r"classes: 0, 1; did you mean 1 \(int, not str\)\?"),
            (7, INTEGERS, "7 is not a class of LogisticRegression; its classes: 0, 1$"),
            (["disease"], LOGISTIC, r"\['disease'\] is not a class"),
            (probability("healthy"), LOGISTIC, "'healthy' is not a class"),
            (probability("disease"), MARGINS, r"SVC gives no probabilities; use target='disease'"),
            (
                value_between(0, 1),
                LOGISTIC,
                r"ssba.value_between\(low=0, high=1\) is for models that give numbers.*'disease'",
            ),
            (None, NUMBERS, r"no target: LinearRegression gives numbers.*value_between\(low, high\)"),
            ("disease", NUMBERS, "target 'disease': LinearRegression gives numbers"),
            (probability("disease"), NUMBERS, "gives numbers and has no classes"),
        ],
    )
    def test_what_the_model_cannot_answer_is_told_with_its_classes(
        self, target: Any, model: Model, message: str
    ) -> None:
        with pytest.raises(TargetError, match=message):
            check_target(target, model)

    def test_any_other_class_needs_another_class(self) -> None:
        with pytest.raises(TargetError, match="one class only, 'same'"):
            check_target(None, adapt(lambda rows: np.full(len(rows), "same"), X))

    def test_a_long_list_of_classes_is_cut(self) -> None:
        many = adapt(lambda rows: np.arange(len(rows)), X)
        with pytest.raises(TargetError, match="and 10 more"):
            check_target(99.5, many)

    @pytest.mark.parametrize("end", ["at_least", "at_most"])
    @pytest.mark.parametrize("value", [-0.1, 1.01, nan, inf, "0.7", True])
    def test_the_ends_of_a_probability_lie_between_0_and_1(self, end: str, value: Any) -> None:
        with pytest.raises(TargetError, match=rf"probability\('a', ...\): {end} is .*from 0 to 1"):
            probability("a", **{end: value})

    @pytest.mark.parametrize("ends", [{"at_least": 0}, {"at_most": 1}, {"at_least": 0, "at_most": 1.0}])
    def test_a_probability_that_every_row_has_is_refused(self, ends: dict[str, float]) -> None:
        with pytest.raises(
            TargetError, match="every probability reaches it; raise at_least, or lower at_most"
        ):
            probability("a", **ends)

    def test_a_probability_with_its_ends_swapped_is_refused(self) -> None:
        with pytest.raises(TargetError, match=r"at_least=0.7 is above at_most=0.3"):
            probability("a", at_least=0.7, at_most=0.3)

    @pytest.mark.parametrize(("low", "high"), [(nan, 1), (0, nan), ("0", 1), (0, [1]), (True, 2)])
    def test_the_ends_of_an_interval_are_numbers(self, low: Any, high: Any) -> None:
        with pytest.raises(TargetError, match="both ends must be numbers"):
            value_between(low, high)

    def test_an_end_that_is_none_has_no_limit(self) -> None:
        assert value_between(None, 120) == value_between(high=120)
        assert value_between(3, None) == value_between(low=3)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "no change at all would do; give at_least=10"),
            ({"at_least": -1, "at_most": 1}, "no change at all would do"),
            ({"at_most": 0}, "no change at all would do"),
            ({"percent": 0}, "no change at all would do"),
            ({"at_least": 3, "at_most": 2}, "at_least=3 is above at_most=2"),
            ({"at_least": 3, "percent": 10}, "give percent, or at_least and at_most, not both"),
            ({"at_least": nan}, "at_least is nan; give a number"),
            ({"at_most": "-3"}, "at_most is '-3'; give a number"),
            ({"percent": True}, "percent is True; give a number"),
        ],
        ids=str,
    )
    def test_a_change_that_means_nothing_is_refused(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(TargetError, match=message):
            value_change(**given)

    def test_a_change_is_for_models_that_give_numbers(self) -> None:
        check_target(value_change(at_least=1), NUMBERS)
        with pytest.raises(
            TargetError, match=r"ssba.value_change\(at_least=1\) is for models that give numbers"
        ):
            check_target(value_change(at_least=1), LOGISTIC)

    def test_an_empty_interval_is_turned_round_in_the_hint(self) -> None:
        with pytest.raises(TargetError, match=r"low is above high; did you mean value_between\(1, 2\)\?"):
            value_between(2, 1)


class TestResolve:
    def test_no_target_is_to_leave_the_predicted_class(self) -> None:
        goal = resolve(None, np.str_("disease"))
        assert goal == Leave("disease")
        assert isinstance(goal, Leave)
        assert type(goal.label) is str

    @pytest.mark.parametrize(
        ("target", "goal"),
        [
            ("a", Reach("a")),
            (np.int64(3), Reach(3)),
            (False, Reach(False)),
            (probability("a"), probability("a", 0.5)),
            (value_between(1), value_between(1, inf)),
        ],
    )
    def test_a_given_target_stays(self, target: Any, goal: Goal) -> None:
        assert resolve(target, "b") == goal

    @pytest.mark.parametrize(
        ("target", "value", "goal"),
        [
            (value_change(at_least=10), 50.0, value_between(60.0)),
            (value_change(at_most=-10), 50.0, value_between(high=40.0)),
            (value_change(at_least=10, at_most=20), -5.0, value_between(5.0, 15.0)),
            (value_change(percent=20), 50.0, value_between(60.0)),
            (value_change(percent=-20), 50.0, value_between(high=40.0)),
            (value_change(percent=20), -50.0, value_between(-40.0)),
            (value_change(percent=-20), -50.0, value_between(high=-60.0)),
        ],
    )
    def test_a_change_is_counted_from_the_querys_own_number(
        self, target: ValueChange, value: float, goal: Goal
    ) -> None:
        assert resolve(target, value) == goal


class TestJudge:
    def test_labels_alone_decide_without_a_margin(self) -> None:
        reach = judge(Reach("a"), Output(labels=LABELS), ABC)
        leave = judge(Leave("a"), Output(labels=LABELS), ABC)
        assert reach.margin is None
        assert reach.reached.tolist() == [True, False, True]
        assert leave.reached.tolist() == [False, True, False]

    @pytest.mark.parametrize(
        "labels", [np.array([1, 0]), np.array([True, False]), np.array([1, "x"], dtype=object)]
    )
    def test_labels_of_any_type_are_compared(self, labels: Any) -> None:
        assert judge(Reach(1), Output(labels=labels), None).reached.tolist() == [True, False]

    def test_the_margin_of_a_class_is_its_lead_over_the_best_other(self) -> None:
        reply = judge(Reach("b"), Output(LABELS, SCORES), ABC)
        assert reply.reached.tolist() == [False, True, False]
        np.testing.assert_allclose(np.asarray(reply.margin), [-0.5, 0.1, 0.0], atol=1e-15)

    def test_the_margin_of_leaving_is_the_lead_of_the_best_other(self) -> None:
        reply = judge(Leave("a"), Output(LABELS, SCORES), ABC)
        assert reply.reached.tolist() == [False, True, False]
        np.testing.assert_allclose(np.asarray(reply.margin), [-0.5, 0.4, 0.0], atol=1e-15)

    @pytest.mark.parametrize(
        ("goal", "reached"),
        [(Reach("a"), True), (Reach("b"), False), (Leave("a"), False), (Leave("b"), True)],
    )
    def test_a_tie_counts_as_the_labels_say(self, goal: Goal, reached: bool) -> None:
        reply = judge(goal, Output(LABELS[2:], SCORES[2:]), ABC)
        assert reply.margin is not None
        assert reply.reached.tolist() == [reached]
        assert (reply.margin >= 0).tolist() == [reached]

    def test_without_labels_the_highest_score_is_the_label(self) -> None:
        reply = judge(Reach("a"), Output(scores=SCORES), ABC)
        assert reply.reached.tolist() == [True, False, True]

    def test_a_probability_includes_its_limit(self) -> None:
        reply = judge(probability("b", at_least=0.5), Output(LABELS, SCORES), ABC)
        assert reply.reached.tolist() == [False, True, False]
        np.testing.assert_allclose(np.asarray(reply.margin), [-0.3, 0.0, -0.1])

    def test_a_probability_may_have_an_upper_limit_or_both(self) -> None:
        output = Output(LABELS, SCORES)
        reply = judge(probability("b", at_most=0.4), output, ABC)
        assert reply.reached.tolist() == [True, False, True]
        np.testing.assert_allclose(np.asarray(reply.margin), [0.2, -0.1, 0.0])
        both = judge(probability("b", at_least=0.3, at_most=0.4), output, ABC)
        assert both.reached.tolist() == [False, False, True]
        np.testing.assert_allclose(np.asarray(both.margin), [-0.1, -0.1, 0.0], atol=1e-15)

    @pytest.mark.parametrize(
        ("goal", "margin"),
        [
            (value_between(1, 2), [-1.0, 0.0, 0.5, 0.0, -1.0]),
            (value_between(low=1), [-1.0, 0.0, 0.5, 1.0, 2.0]),
            (value_between(high=2), [2.0, 1.0, 0.5, 0.0, -1.0]),
            (value_between(), [inf] * 5),
        ],
    )
    def test_an_interval_includes_its_ends_and_may_be_open_ended(
        self, goal: Goal, margin: list[float]
    ) -> None:
        reply = judge(goal, Output(values=np.array([0.0, 1.0, 1.5, 2.0, 3.0])), None)
        assert reply.margin is not None
        assert reply.margin.tolist() == margin
        assert reply.reached.tolist() == [m >= 0 for m in margin]

    @given(
        scores=st_numpy.arrays(float, (5, 3), elements=st.floats(-1e6, 1e6)),
        labels=st.lists(st.sampled_from(ABC), min_size=5, max_size=5),
        goal=st.sampled_from([Reach("a"), Reach("c"), Leave("a"), Leave("b"), probability("b", 0.3)]),
    )
    def test_the_margin_is_at_least_zero_exactly_where_reached(
        self, scores: Any, labels: list[str], goal: Goal
    ) -> None:
        reply = judge(goal, Output(np.array(labels), scores), ABC)
        assert reply.margin is not None
        np.testing.assert_array_equal(reply.margin >= 0, reply.reached)

    @pytest.mark.parametrize(
        ("goal", "output"),
        [
            (probability("a"), Output(labels=LABELS)),
            (value_between(0, 1), Output(labels=LABELS)),
            (Reach("a"), Output(values=np.zeros(3))),
            (Reach("z"), Output(LABELS, SCORES)),
        ],
    )
    def test_an_answer_that_cannot_be_judged_is_refused(self, goal: Goal, output: Output) -> None:
        with pytest.raises(TargetError):
            judge(goal, output, ABC)


class TestWords:
    @pytest.mark.parametrize(
        ("goal", "words"),
        [
            (Reach("no disease"), "'no disease'"),
            (Reach(1), "1"),
            (Leave("disease"), "any class but 'disease'"),
            (probability("x", 0.7), "probability of 'x' at least 0.7"),
            (probability("x", at_most=0.3), "probability of 'x' at most 0.3"),
            (probability("x", 0.2, 0.3), "probability of 'x' at least 0.2 and at most 0.3"),
            (value_between(1, 2), "a value between 1 and 2"),
            (value_between(low=1.5), "a value of at least 1.5"),
            (value_between(high=2), "a value of at most 2"),
            (value_between(high=1234567.5), "a value of at most 1234567.5"),
            (probability("x", 0.9999999), "probability of 'x' at least 0.9999999"),
            (value_between(low=0.1 + 0.2), "a value of at least 0.3"),
            (value_between(), "any value"),
        ],
    )
    def test_a_goal_is_described(self, goal: Goal, words: str) -> None:
        assert describe(goal) == words

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            (None, "another class"),
            ("x", "'x'"),
            (value_change(at_least=10), "a value that rises by 10 or more"),
            (value_change(at_least=1, at_most=3), "a value that changes by +1 to +3"),
            (value_change(percent=-5), "a value that is down by 5% or more"),
        ],
    )
    def test_a_target_is_described_before_there_is_a_query(self, target: Any, words: str) -> None:
        assert describe_target(target) == words

    def test_the_shown_score_speaks_for_the_goal(self) -> None:
        output = Output(LABELS, SCORES)
        assert shown(Reach("b"), output, ABC) == (["a", "b", "a"], [0.2, 0.5, 0.4])
        assert shown(Leave("a"), output, ABC) == (["a", "b", "a"], [0.2, 0.5, 0.4])
        assert shown(Leave("b"), output, ABC) == (["a", "b", "a"], [0.7, 0.4, 0.4])
        assert shown(probability("c"), output, ABC) == (["a", "b", "a"], [0.1, 0.4, 0.2])

    def test_labels_alone_have_no_score(self) -> None:
        predictions, scores = shown(Reach("b"), Output(labels=LABELS), ABC)
        assert predictions == ["a", "b", "a"]
        assert scores == [None, None, None]
        assert every(type(label) is str for label in predictions)

    def test_a_number_is_its_own_score(self) -> None:
        assert shown(value_between(0, 1), Output(values=np.array([0.5, 2.0])), None) == (
            [0.5, 2.0],
            [0.5, 2.0],
        )
