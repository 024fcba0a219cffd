"""Plans: every row on the way is feasible, its score is the model's, and the order is the best one."""

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.advice.cases import HEALTHY, MODELS, context_of, patients
from tests.problems import half_space
from tests.support import every

import ssba
from ssba.advice.context import Context
from ssba.advice.plan.make_plan import make_plan
from ssba.columns.space import Matrix
from ssba.results.plan import Plan

_rng = np.random.default_rng(0)
X = _rng.uniform(0, 10, size=(500, 4))
WEIGHTS = np.array([1.0, 2.0, -1.0, 0.5])
QUERY = np.array([2.0, 2.0, 6.0, 2.0])


def row(context: Context, cells: list[float]) -> Matrix:
    return context.encode(dict(zip(context.query, cells, strict=True)))


plane = half_space(*WEIGHTS, at=12)
LABELS = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))
SCORES = ssba.Explainer(
    LogisticRegression(C=1e3).fit(X, plane(X)), X, target=True, distance=ssba.Distance(scale="none")
)


def plan_of(explainer: ssba.Explainer, query: Any, constraints: Any = (), **wishes: Any) -> Plan:
    context = context_of(explainer, query, constraints)
    explanation = explainer.explain(query, constraints)
    answer = explanation.best or explanation.bounded
    assert answer is not None
    plan = make_plan(context, context.encode(answer.values), **wishes)
    check_prefixes(context, plan)
    return plan


def check_prefixes(context: Any, plan: Plan) -> None:
    """Each step follows from the one before, is feasible, and says what the model says."""
    before, score = plan.query, plan.score
    for step in plan.steps:
        after = {name: step.changes[name][1] if name in step.changes else before[name] for name in before}
        assert step.values == after
        assert set(step.columns) == set(step.changes)
        assert every(old == before[name] != new for name, (old, new) in step.changes.items())
        z = context.encode(step.values)[None, :]
        assert context.is_feasible(z)[0]
        told = context.score(z)
        assert step.score_after == told.scores[0]
        # A number may differ from the same row's in another batch in its last bits.
        exact = not isinstance(step.prediction, float)
        assert step.prediction == (told.predictions[0] if exact else pytest.approx(told.predictions[0]))
        assert step.reached == bool(told.reached[0])
        assert step.score_before == score
        before, score = step.values, step.score_after
    assert json.loads(json.dumps(plan.to_dict()))["reached"] == plan.reached


class TestHeart:
    @pytest.mark.parametrize("name", MODELS)
    def test_every_prefix_is_feasible_and_scored_by_the_model(self, name: str) -> None:
        outcomes = set()
        for one in patients(name):
            plan = make_plan(one.context, one.z)
            check_prefixes(one.context, plan)
            outcomes.add(plan.reached)
            if not plan.steps:
                assert not plan.reached
                continue
            rows = pd.DataFrame([step.values for step in plan.steps])
            predicted = one.model.predict(rows).tolist()
            assert predicted == [step.prediction for step in plan.steps]
            if hasattr(one.model, "predict_proba"):
                scores = one.model.predict_proba(rows)[:, list(one.model.classes_).index(HEALTHY)]
                assert [step.score_after for step in plan.steps] == pytest.approx(scores.tolist(), rel=1e-8)
            assert plan.reached == (predicted[-1] == HEALTHY) == (one.explanation.status == "found")
            assert HEALTHY not in predicted[:-1]
        # Plans that reach the target, and plans that only improve, are both among them.
        assert outcomes == {True, False}

    def test_small_steps_stay_feasible_and_small(self) -> None:
        most = {"chol": 15, "thalach": 4, "trestbps": 7, "oldpeak": 0.3}
        for one in patients("MLP"):
            plan = make_plan(one.context, one.z, max_step=most)
            check_prefixes(one.context, plan)
            assert plan.beyond == ()
            for step in plan.steps:
                assert len(step.columns) == 1
                for name, (old, new) in step.changes.items():
                    if name in most:
                        assert abs(new - old) <= most[name] * (1 + 1e-9)
                        assert isinstance(new, int) or new == round(new, 1)


class TestOrder:
    def test_no_other_order_has_less_effort_while_the_score_is_lacking(self) -> None:
        effort = {"x0": 1.0, "x1": 3.0, "x2": 0.5, "x3": 1.0}
        plan = plan_of(SCORES, QUERY, effort=effort)
        context = context_of(SCORES, QUERY)
        names = [step.columns[0] for step in plan.steps]
        assert len(names) == 4

        def lacking(order: Any) -> float:
            row, total = dict(plan.query), 0.0
            for name in order:
                score = context.score(context.encode(row)[None, :]).scores[0]
                assert score is not None
                total += effort[name] * (plan.steps[-1].score_after or 0.0) - effort[name] * score
                row[name] = plan.final[name]
            return total

        assert lacking(names) == pytest.approx(min(map(lacking, itertools.permutations(names))), rel=1e-6)

    def test_a_linear_model_is_moved_by_its_largest_gain_per_effort_first(self) -> None:
        model = LinearRegression().fit(X, X @ WEIGHTS)
        explainer = ssba.Explainer(
            model, X, target=ssba.value_between(low=20), distance=ssba.Distance(scale="none")
        )
        plan = plan_of(explainer, QUERY)
        # The nearest row moves each column in proportion to its weight, so the gains are as their squares.
        assert [step.columns for step in plan.steps] == [("x1",), ("x2",), ("x0",), ("x3",)] or [
            step.columns for step in plan.steps
        ] == [("x1",), ("x0",), ("x2",), ("x3",)]
        gains = [step.gain for step in plan.steps]
        assert gains == pytest.approx(sorted(gains, reverse=True), rel=1e-2)  # type: ignore[type-var]
        dear = plan_of(explainer, QUERY, effort={"x1": 100.0})
        assert dear.steps[-1].columns == ("x1",)
        assert dear.total_effort == 103.0

    def test_an_interval_below_counts_a_falling_number_as_a_gain(self) -> None:
        model = LinearRegression().fit(X, X @ WEIGHTS)
        explainer = ssba.Explainer(
            model, X, target=ssba.value_between(high=-3), distance=ssba.Distance(scale="none")
        )
        plan = plan_of(explainer, QUERY)
        for step in plan.steps:
            assert step.gain is not None
            assert step.score_before is not None
            assert step.score_after is not None
            assert step.gain == pytest.approx(step.score_before - step.score_after)

    def test_labels_alone_take_the_longest_part_of_the_way_first(self) -> None:
        plan = plan_of(LABELS, QUERY)
        shares = [step.share for step in plan.steps]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1.0)
        assert plan.score is None
        assert every(step.gain is None for step in plan.steps)
        assert [step.reached for step in plan.steps] == [False, False, False, True]

    def test_many_columns_are_ordered_one_after_the_other(self) -> None:
        rng = np.random.default_rng(1)
        data, weights = rng.uniform(0, 10, size=(600, 14)), rng.uniform(0.5, 2, size=14)
        model = LinearRegression().fit(data, data @ weights)
        explainer = ssba.Explainer(
            model, data, target=ssba.value_between(low=120), distance=ssba.Distance(scale="none")
        )
        plan = plan_of(explainer, data[np.argmin(data @ weights)])
        assert plan.reached
        assert not plan.best_order
        gains = [step.gain or 0.0 for step in plan.steps]
        assert len(gains) == 14
        # The last step only closes the gap that is left.
        assert gains[:-1] == sorted(gains[:-1], reverse=True)

    def test_many_columns_of_a_bounded_move_end_at_the_best_score(self) -> None:
        rng = np.random.default_rng(1)
        data, weights = rng.uniform(0, 10, size=(600, 12)), rng.uniform(0.5, 2, size=12)
        model = LinearRegression().fit(data, data @ weights)
        explainer = ssba.Explainer(
            model, data, target=ssba.value_between(low=500), distance=ssba.Distance(scale="none")
        )
        context = context_of(explainer, np.full(12, 5.0))
        # Two columns go the wrong way.
        move = row(context, [3.0, 4.0, *[7.0] * 10])
        plan = make_plan(context, move)
        check_prefixes(context, plan)
        assert not plan.best_order
        assert len(plan.steps) == 10
        assert set(plan.left_out) == {"x0", "x1"}


class TestEnd:
    def test_steps_behind_the_flip_are_left_out(self) -> None:
        context = context_of(LABELS, QUERY)
        answer = context.encode({"x0": 9.0, "x1": 7.0, "x2": 5.0, "x3": 9.0})
        plan = make_plan(context, answer)
        check_prefixes(context, plan)
        # 9 + 14 - 6 + 1 = 18: two columns are enough, and no single one is.
        assert plan.reached
        assert len(plan.steps) == 2
        assert set(plan.left_out) == {"x0", "x1", "x2", "x3"} - {step.columns[0] for step in plan.steps}
        assert plane([list(plan.final.values())])[0]
        assert "counterfactual of its own" in plan.sentence

    def test_a_bounded_move_ends_at_the_best_score_on_the_way(self) -> None:
        context = context_of(SCORES, QUERY, ["x0 <= 3", "x1 <= 3", "x2 >= 5", "x3 <= 3"])
        move = context.encode({"x0": 3.0, "x1": 3.0, "x2": 6.5, "x3": 3.0})
        plan = make_plan(context, move)
        check_prefixes(context, plan)
        assert not plan.reached
        # x2 would go the wrong way.
        assert set(plan.left_out) == {"x2"}
        scores = [plan.score, *[step.score_after for step in plan.steps]]
        assert scores == sorted(scores)  # type: ignore[type-var]
        assert "directional improvement" in plan.sentence

    def test_a_query_that_is_there_needs_no_steps(self) -> None:
        context = context_of(LABELS, [9.0, 9.0, 0.0, 9.0])
        plan = make_plan(context, context.x)
        assert (plan.steps, plan.reached, plan.final) == ((), True, context.query)

    def test_a_margin_that_was_asked_for_is_kept(self) -> None:
        context = context_of(LABELS, QUERY, margin=ssba.ball(1.0))
        answer = context.encode({"x0": 2.0, "x1": 9.0, "x2": 2.0, "x3": 2.0})
        plan = make_plan(context, answer)
        # x1 alone gives 15 of 12, which is 1.2 from the boundary: enough for the ball.
        assert plan.reached
        assert [step.columns for step in plan.steps] == [("x1",)]
        tight = context_of(LABELS, QUERY, margin=ssba.ball(2.0))
        longer = make_plan(tight, answer)
        assert [step.columns for step in longer.steps] == [("x1",), ("x2",)]
        assert [step.reached for step in longer.steps] == [True, True]

    def test_a_step_reaches_the_target_with_or_without_the_margin_of_the_score(self) -> None:
        context = context_of(SCORES, QUERY, margin=ssba.score_margin(0.9))
        plan = make_plan(context, row(context, [2.0, 9.9, 6.0, 2.0]), max_step={"x1": 0.1})
        scores = [step.score_after or 0.0 for step in plan.steps]
        assert [step.reached for step in plan.steps] == [score > 0.5 for score in scores]
        # The margin is by how much the score leads that of the other class.
        assert plan.reached
        assert 2 * scores[-2] - 1 < 0.9 <= 2 * scores[-1] - 1
        assert sum(step.reached for step in plan.steps) > 1
        assert plan.left_out

    def test_rows_without_the_margin_do_not_keep_the_plan_from_ending_early(self) -> None:
        model = LogisticRegression(C=1e-4).fit(X, plane(X))
        explainer = ssba.Explainer(model, X, target=True, distance=ssba.Distance(scale="none"))
        context = context_of(explainer, QUERY, margin=ssba.score_margin(0.04))
        plan = make_plan(context, row(context, [2.0, 9.9, 6.0, 2.0]), max_step={"x1": 0.1})
        assert plan.reached
        assert sum(step.reached for step in plan.steps) > 17
        assert plan.left_out


class TestLinkedColumns:
    def test_an_equality_moves_both_columns_in_one_step(self) -> None:
        plan = plan_of(LABELS, QUERY, ["x0 + x1 == 4"])
        assert sorted(step.columns for step in plan.steps) == [("x0", "x1"), ("x2",), ("x3",)]

    def test_its_visits_stay_on_the_equality(self) -> None:
        plan = plan_of(LABELS, QUERY, ["x0 + x1 == 4"], max_step={"x0": 0.3})
        both = [step for step in plan.steps if "x0" in step.columns]
        assert len(both) == 7
        for step in both:
            assert step.values["x0"] + step.values["x1"] == pytest.approx(4, rel=1e-9)
            assert abs(step.changes["x0"][1] - step.changes["x0"][0]) <= 0.3 + 1e-12

    def test_whole_numbers_stay_on_an_equality(self) -> None:
        data = pd.DataFrame(_rng.integers(0, 40, size=(400, 3)), columns=["a", "b", "c"])
        explainer = ssba.Explainer(lambda rows: rows["a"] + rows["c"] / 10 > 30, data, target=True)
        query = {"a": 5, "b": 32, "c": 10}
        plan = plan_of(explainer, query, ["a + b == 37", "c <= 11"], max_step={"a": 7, "b": 7})
        assert plan.reached
        assert plan.beyond == ()
        assert len([step for step in plan.steps if step.columns == ("a", "b")]) >= 4

    @pytest.mark.parametrize("kind", [ssba.numeric(step=1, low=0, high=10), ssba.integer(low=0, high=10)])
    @pytest.mark.parametrize("most", [{"x0": 1}, {"x1": 1}, {"x0": 1, "x1": 2}])
    def test_where_no_legal_row_lies_in_between_a_step_is_longer(self, kind: Any, most: Any) -> None:
        asked: list[Any] = []

        def model(rows: Any) -> Any:
            asked.extend(rows.tolist())
            return rows[:, 2] + rows[:, 0] >= 15

        data = np.array([[i, i, j] for i in range(11) for j in range(11)], dtype=float)
        explainer = ssba.Explainer(model, data, target=True, features={f"x{j}": kind for j in range(3)})
        context = context_of(explainer, [1.0, 1.0, 8.0], ["3 * x0 - 2 * x1 == 1", "x2 == x.x2"])
        asked.clear()
        plan = make_plan(context, row(context, [7, 10, 8]), max_step=most)
        check_prefixes(context, plan)
        # On 3 a - 2 b = 1 whole numbers lie 2 and 3 apart.
        assert [(step.values["x0"], step.values["x1"]) for step in plan.steps] == [(3, 4), (5, 7), (7, 10)]
        assert plan.beyond == tuple(most)
        assert np.array_equal(asked, np.round(asked))

    def test_a_legal_row_beside_the_ends_of_equal_parts_is_found(self) -> None:
        data = np.arange(33.0).reshape(11, 3) % 11
        whole = {f"x{j}": ssba.integer(low=0, high=10) for j in range(3)}
        explainer = ssba.Explainer(lambda rows: rows[:, 0] >= 8, data, target=True, features=whole)
        context = context_of(explainer, [2, 6, 0], ["2 * x0 - 3 * x1 == -14"])
        plan = make_plan(context, row(context, [8, 10, 0]), max_step={"x0": 3})
        # Three equal parts, as rounding may need, would end at x0 = 4 and x0 = 6, where x1 is not whole.
        assert [(step.values["x0"], step.values["x1"]) for step in plan.steps] == [(5, 8), (8, 10)]
        assert plan.beyond == ()

    def test_numbers_without_steps_go_along_with_those_that_have_some(self) -> None:
        steps = {"x0": ssba.numeric(step=1, low=0, high=10)}
        data = np.column_stack([X[:, 0].round(), X[:, 1:]])
        explainer = ssba.Explainer(plane, data, target=True, features=steps)
        context = context_of(explainer, QUERY, ["3 * x0 - 7 * x1 == -8"])
        plan = make_plan(context, row(context, [9.0, 5.0, 6.0, 2.0]), max_step={"x1": 1})
        check_prefixes(context, plan)
        # A step of x0 takes 3 / 7 of x1, so that two are less than 1; 8 + 2 * 32 / 7 - 5 is above 12.
        assert [step.values["x0"] for step in plan.steps] == [4, 6, 8]
        assert plan.beyond == ()

    def test_a_rule_puts_its_columns_in_order(self) -> None:
        plan = plan_of(LABELS, QUERY, ["if x1 changes: x0 >= x.x0 + 0.5"])
        names = [step.columns for step in plan.steps]
        assert len(names) == 4
        assert names.index(("x0",)) < names.index(("x1",))

    def test_a_query_that_breaks_constraints_meets_them_with_the_first_step(self) -> None:
        plan = plan_of(LABELS, QUERY, ["x0 >= 4", "x1 >= 3"])
        assert set(plan.steps[0].columns) == {"x0", "x1"}
        assert every(len(step.columns) == 1 for step in plan.steps[1:])

    def test_a_step_that_cannot_be_cut_is_named(self) -> None:
        plan = plan_of(LABELS, QUERY, ["x0 >= 4"], max_step={"x0": 0.5, "x1": 2})
        assert plan.beyond == ("x0",)
        assert plan.steps[0].changes == {"x0": (2.0, plan.final["x0"])}
        assert "x0: a step is longer than max_step" in plan.sentence


class TestMissingCells:
    DATA = pd.DataFrame(
        {"a": [None, 1.0, 2.0, 3.0] * 50, "b": np.arange(200.0), "c": [None, 5.0, 6.0, 7.0] * 50}
    )

    def test_a_cell_is_filled_in_one_step_and_another_one_stays_missing(self) -> None:
        def model(rows: Any) -> Any:
            return (rows["a"].fillna(0) + rows["b"] / 100 >= 3).to_numpy()

        explainer = ssba.Explainer(model, self.DATA, target=True, features={"a": ssba.numeric()})
        query = {"a": None, "b": 20.0, "c": None}
        plan = plan_of(
            explainer, query, ["a may be filled", "a <= 2.5", "b <= 60"], max_step={"a": 1, "b": 25}
        )
        assert plan.reached
        assert {step.columns: step.changes for step in plan.steps}[("a",)]["a"][0] is None
        assert plan.final["c"] is None
        assert every(
            abs(step.changes["b"][1] - step.changes["b"][0]) <= 25
            for step in plan.steps
            if "b" in step.changes
        )


class TestVisits:
    def test_full_steps_come_first_and_the_rest_last(self) -> None:
        context = context_of(LABELS, QUERY, ["x0 == x.x0", "x2 == x.x2", "x3 == x.x3"])
        plan = make_plan(context, row(context, [2.0, 7.6, 6.0, 2.0]), max_step={"x1": 2})
        assert [step.values["x1"] for step in plan.steps] == [4.0, 6.0, 7.6]
        assert [step.reached for step in plan.steps] == [False, False, True]

    def test_it_stops_at_the_visit_that_reaches_the_target(self) -> None:
        context = context_of(LABELS, QUERY, ["x0 == x.x0", "x2 == x.x2", "x3 == x.x3"])
        plan = make_plan(context, row(context, [2.0, 9.9, 6.0, 2.0]), max_step={"x1": 2.5})
        # 2 + 2 a - 6 + 1 > 12 from a = 7.5 on, where it is 12: 7 is too little, 9.5 is enough.
        assert [step.values["x1"] for step in plan.steps] == [4.5, 7.0, 9.5]
        assert plan.left_out == {"x1": (9.5, 9.9)}

    def test_visits_have_few_digits_though_the_query_has_many(self) -> None:
        query = [2.0, 2.123456789, 6.0, 2.0]
        context = context_of(LABELS, query, ["x0 == x.x0", "x2 == x.x2", "x3 == x.x3"])
        plan = make_plan(context, row(context, [2.0, 7.6, 6.0, 2.0]), max_step={"x1": 2})
        assert [step.values["x1"] for step in plan.steps] == [4.1, 6.1, 7.6]

    def test_visits_downward_are_rounded_upward(self) -> None:
        context = context_of(LABELS, [2.0, 6.0, 6.123456789, 2.0])
        plan = make_plan(context, row(context, [2.0, 6.0, 1.0, 2.0]), max_step={"x2": 2})
        # 2 + 12 - x2 + 1 is above 12 where x2 is below 3.
        assert [step.values["x2"] for step in plan.steps] == [4.2, 2.2]
        assert plan.left_out == {"x2": (2.2, 1.0)}

    def test_levels_of_an_order_are_climbed_one_by_one(self) -> None:
        levels = ["low", "middle", "high", "top"]
        data = pd.DataFrame({"level": levels * 20, "other": np.arange(80.0)})
        explainer = ssba.Explainer(
            lambda rows: rows["level"] == "top", data, True, features={"level": ssba.ordinal(levels)}
        )
        plan = plan_of(explainer, {"level": "low", "other": 3.0}, max_step={"level": 1})
        assert [step.values["level"] for step in plan.steps] == ["middle", "high", "top"]


class TestArguments:
    def refused(self, error: type[Exception], match: str, **wishes: Any) -> None:
        context = context_of(LABELS, QUERY)
        with pytest.raises(error, match=match):
            make_plan(context, row(context, [3.0, 8.0, 5.0, 2.0]), **wishes)

    def test_unknown_columns_are_named(self) -> None:
        self.refused(ssba.errors.SchemaError, "effort: unknown column 'x9'", effort={"x9": 2})
        self.refused(ssba.errors.SchemaError, "max_step: unknown column 'y1'", max_step={"y1": 2})

    def test_only_positive_numbers_are_taken(self) -> None:
        self.refused(
            ssba.errors.ArgumentError, r"effort\['x1'\] is 0; give a positive number", effort={"x1": 0}
        )
        self.refused(ssba.errors.ArgumentError, r"max_step\['x1'\] is 'a'", max_step={"x1": "a"})
        self.refused(ssba.errors.ArgumentError, "effort is 3; give a mapping", effort=3)

    def test_steps_that_take_too_many_visits_are_refused(self) -> None:
        self.refused(
            ssba.errors.ArgumentError, r"takes 6,000 visits.*give 0.06 or more", max_step={"x1": 0.001}
        )

    def test_steps_below_the_columns_own_are_refused(self) -> None:
        context = patients("MLP")[0].context
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"max_step\['chol'\] is 0.5, but the column moves in steps"
        ):
            make_plan(context, context.x, max_step={"chol": 0.5})
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"max_step\['exang'\].*changes at once; leave it out"
        ):
            make_plan(context, context.x, max_step={"exang": 1})
