"""Trials: an edited row, and what is missing from there."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.advice.cases import context_of
from tests.problems import half_space

import ssba
from ssba.advice.try_values import try_values
from ssba.results.trial import Trial

_rng = np.random.default_rng(0)
X = _rng.uniform(0, 10, size=(400, 3))
QUERY = [2.0, 2.0, 6.0]


plane = half_space(1.0, 2.0, -1.0, at=9)
EXPLAINER = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))


def trial_of(values: Any, constraints: Any = (), query: Any = QUERY, **wishes: Any) -> Trial:
    trial = try_values(context_of(EXPLAINER, query, constraints, **wishes), values)
    assert json.loads(json.dumps(trial.to_dict()))["sentence"] == trial.sentence == repr(trial).split("\n")[0]
    return trial


class TestVerdict:
    def test_enough_is_enough(self) -> None:
        trial = trial_of({"x0": 5, "x1": 9})
        assert trial.values == {"x0": 5.0, "x1": 9.0, "x2": 6.0}
        assert trial.tried == {"x0": (2.0, 5.0), "x1": (2.0, 9.0)}
        assert (trial.prediction, trial.reached, trial.enough) == (True, True, True)
        assert (trial.missing, trial.answer, trial.broken, trial.outside) == ({}, None, (), ())
        assert "Nothing is missing" in trial.sentence

    def test_the_score_is_the_models(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        explainer = ssba.Explainer(model, X, target=True)
        trial = try_values(context_of(explainer, QUERY), {"x1": 4.5})
        after, before = model.predict_proba([[2.0, 4.5, 6.0], QUERY])[:, 1]
        assert trial.score == pytest.approx(after, rel=1e-8)
        assert trial.score_before == pytest.approx(before, rel=1e-8)

    def test_nothing_edited_is_the_query(self) -> None:
        trial = trial_of({})
        assert (trial.tried, trial.prediction) == ({}, False)
        best = EXPLAINER.explain(QUERY).best
        assert best is not None
        assert trial.missing == best.changes

    def test_broken_constraints_are_named(self) -> None:
        trial = trial_of({"x1": 9, "x0": 6}, ["x1 <= 8", "x0 <= x.x0 + 1", "x2 == x.x2"])
        assert trial.reached
        assert trial.broken == ("x1 <= 8", "x0 <= x.x0 + 1")
        assert not trial.enough
        assert 'It breaks "x1 <= 8" and "x0 <= x.x0 + 1".' in trial.sentence

    def test_too_many_changes_are_named(self) -> None:
        trial = trial_of({"x0": 9, "x1": 9}, max_changes=1)
        assert trial.broken == ("max_changes=1",)
        assert not trial.keeps

    @pytest.mark.parametrize("margin", [ssba.score_margin(0.2), ssba.ball(0.5)])
    def test_a_row_that_reaches_without_the_margin_reaches_and_breaks_the_margin(self, margin: Any) -> None:
        model = LogisticRegression(C=100).fit(X, plane(X))
        explainer = ssba.Explainer(model, X, target=True, distance=ssba.Distance(scale="none"))
        query, edits = [2.0, 2.0, 6.0], {"x0": 5.0, "x1": 5.05}
        trial = try_values(context_of(explainer, query, margin=margin), edits)
        assert trial.reached == explainer.predict([5.0, 5.05, 6.0]).reached is True
        assert not trial.enough
        assert trial.broken == (f"margin={margin.text}",)
        assert trial.score is not None
        assert f'(score {trial.score:.4g}), which reaches True. It breaks "margin=' in trial.sentence
        assert trial.missing

        further = try_values(context_of(explainer, query, margin=margin), {"x0": 5.0, "x1": 9.0})
        assert (further.reached, further.enough, further.broken) == (True, True, ())
        short = try_values(context_of(explainer, query, margin=margin), {"x0": 5.0, "x1": 4.0})
        assert (short.reached, short.broken) == (False, ())

    def test_of_several_limits_those_that_it_breaks_are_named(self) -> None:
        beyond = {"x0": 5, "x1": 60}
        assert trial_of(beyond, plausible=True, margin=0.5).broken == ("plausible=True",)
        close = {"x0": 5, "x1": 5.05}
        assert trial_of(close, ["x1 <= 5"], plausible=True, margin=0.5).broken == (
            "x1 <= 5",
            "margin=ball(0.5)",
        )
        assert trial_of({"x0": 5, "x1": 4.9}, plausible=True, margin=0.5).broken == ()

    def test_a_value_beyond_the_data_may_be_tried_and_is_pointed_out(self) -> None:
        trial = trial_of({"x1": 50})
        assert trial.enough
        assert trial.outside == ("x1 = 50 lies beyond what the data show",)

    def test_a_constraint_on_several_columns_does_not_hide_that(self) -> None:
        trial = trial_of({"x1": 50}, ["x1 - x2 <= 5"])
        assert trial.broken == ("x1 - x2 <= 5",)
        assert trial.outside == ("x1 = 50 lies beyond what the data show",)

    def test_a_declared_bound_always_holds(self) -> None:
        explainer = ssba.Explainer(plane, X, target=True, features={"x1": ssba.numeric(high=12)})
        trial = try_values(context_of(explainer, QUERY), {"x1": 50})
        assert trial.reached
        assert not trial.enough
        assert trial.outside == ("x1 = 50 lies outside of what its column may hold",)
        assert trial.answer is not None
        assert trial.answer.values["x1"] <= 12

    def test_a_value_between_two_steps_is_none(self) -> None:
        explainer = ssba.Explainer(plane, X, target=True, features={"x1": ssba.numeric(step=0.5)})
        trial = try_values(context_of(explainer, QUERY), {"x1": 9.3, "x2": 1.0})
        assert trial.reached
        assert not trial.enough
        assert trial.outside == ("x1 = 9.3 lies between two steps of its column",)


class TestWhatIsMissing:
    def test_it_keeps_what_was_tried_and_is_the_nearest_from_there(self) -> None:
        trial = trial_of({"x0": 5})
        assert trial.keeps
        assert trial.answer is not None
        assert trial.answer.values["x0"] == 5.0
        assert plane([list(trial.answer.values.values())])[0]
        # 5 + 2 * 2 - 6 = 3 of 9, with 2 and -1 as the slopes that are left.
        assert trial.distance_left == pytest.approx(6 / np.sqrt(5), rel=2e-3)
        assert set(trial.missing) == {"x1", "x2"}
        assert {name: both[0] for name, both in trial.missing.items()} == {"x1": 2.0, "x2": 6.0}
        assert {name: both[1] for name, both in trial.missing.items()} == {
            name: trial.answer.values[name] for name in ("x1", "x2")
        }

    def test_constraints_go_on_from_the_query_not_from_the_trial(self) -> None:
        trial = trial_of({"x0": 5}, ["x1 within 2", "x2 within 4", "x0 within 3"])
        assert trial.broken == ()
        assert trial.answer is not None
        assert abs(trial.answer.values["x1"] - 2) <= 2
        assert trial.keeps

    def test_where_that_cannot_be_kept_the_querys_own_answer_is_shown(self) -> None:
        trial = trial_of({"x0": 1}, ["x1 <= 4", "x2 >= 3"])
        # 1 + 8 - 3 is too little, whatever x1 and x2 are.
        assert not trial.keeps
        assert trial.answer is not None
        assert trial.missing["x0"][0] == 1.0
        assert trial.missing["x0"][1] > 2.0
        assert "does not keep every edit" in trial.sentence

    def test_where_nothing_is_feasible_it_says_so(self) -> None:
        trial = trial_of({"x0": 3}, ["x0 <= 3", "x1 <= 3", "x2 >= 5"])
        assert (trial.answer, trial.missing, trial.distance_left) == (None, {}, None)
        assert "no feasible row was found" in trial.sentence

    def test_where_no_row_has_the_margin_the_missing_one_is_not_the_target(self) -> None:
        trial = trial_of({"x0": 3, "x1": 6.1}, ["x0 <= 3", "x1 <= 6.1", "x2 == x.x2"], margin=3.0)
        # 3 + 12.2 - 6 is just above 9.
        assert (trial.reached, trial.answer) == (True, None)
        assert trial.sentence.endswith(
            'It breaks "margin=ball(3)". From there no feasible row was found that reaches the target with '
            "all that was asked for."
        )

    def test_constraints_that_contradict_each_other_are_no_accident(self) -> None:
        trial = trial_of({"x0": 5, "x1": 9}, ["x2 <= 3", "x2 >= 4"])
        assert trial.broken == ("x2 <= 3",)
        assert trial.answer is None


class TestColumns:
    DATA = pd.DataFrame(
        {"pain": ["yes", "no"] * 50, "rate": np.arange(100), "note": [None, 1.0, 2.0, 3.0] * 25}
    )

    def explainer(self) -> ssba.Explainer:
        return ssba.Explainer(
            lambda rows: (rows["pain"] == "no") & (rows["rate"] >= 60), self.DATA, target=True
        )

    def test_categories_are_kept(self) -> None:
        context = context_of(self.explainer(), {"pain": "yes", "rate": 20, "note": 1.0})
        trial = try_values(context, {"pain": "no"})
        assert trial.keeps
        assert trial.missing == {"rate": (20, 60)}
        assert trial.sentence.startswith("With pain = no the model predicts False")

    def test_a_missing_cell_needs_a_permission(self) -> None:
        context = context_of(self.explainer(), {"pain": "no", "rate": 20, "note": None})
        trial = try_values(context, {"note": 2.0, "rate": 70})
        assert trial.outside == (
            "note is missing in the query, and no constraint says that it may be filled",
        )
        assert not trial.enough
        assert not trial.keeps
        allowed = context_of(
            self.explainer(), {"pain": "no", "rate": 20, "note": None}, ["note may be filled"]
        )
        assert try_values(allowed, {"note": 2.0, "rate": 70}).enough

    @pytest.mark.parametrize("wishes", [{}, {"margin": 0.5}, {"plausible": True}])
    def test_a_value_cannot_be_taken_away(self, wishes: Any) -> None:
        context = context_of(self.explainer(), {"pain": "no", "rate": 20, "note": 1.0}, **wishes)
        trial = try_values(context, {"note": None, "rate": 70})
        assert not trial.enough
        assert trial.outside == ("note has a value in the query, which cannot be taken away",)

    def test_what_is_no_column_or_no_value_is_refused(self) -> None:
        context = context_of(self.explainer(), {"pain": "no", "rate": 20, "note": 1.0})
        with pytest.raises(ssba.errors.SchemaError, match="values: unknown column 'rat'"):
            try_values(context, {"rat": 3})
        with pytest.raises(ssba.errors.SchemaError, match="column 'pain': unknown level 'maybe'"):
            try_values(context, {"pain": "maybe"})
        with pytest.raises(ssba.errors.SchemaError, match=r"column 'rate': 2.5 is not a whole number"):
            try_values(context, {"rate": 2.5})
        with pytest.raises(ssba.errors.ArgumentError, match="values is 3; give a mapping"):
            try_values(context, 3)  # type: ignore[arg-type]
