"""Targets of every kind, from the call to the answer; those that a call names for itself among them."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import ssba

_rng = np.random.default_rng(11)
X = _rng.normal(size=(400, 3))
WEIGHTS = np.array([1.0, 2.0, -0.5])
LOGISTIC = LogisticRegression().fit(X, X @ WEIGHTS > 0.5)
LINEAR = LinearRegression().fit(X, 10 * X @ WEIGHTS + 50)
FREE = [ssba.between(f"x{j}", -100, 100) for j in range(3)]


class Probabilities:
    """The logistic model, with its inside out of sight."""

    classes_ = np.array([False, True])

    def predict_proba(self, rows: Any) -> Any:
        return LOGISTIC.predict_proba(rows)

    def predict(self, rows: Any) -> Any:
        return LOGISTIC.predict(rows)


def log_odds(rows: Any) -> Any:
    return np.atleast_2d(rows) @ LOGISTIC.coef_[0] + LOGISTIC.intercept_[0]


def row_of(answer: Any) -> Any:
    assert answer is not None
    return np.array(list(answer.values.values()))


class TestProbability:
    QUERY = np.array([1.0, 1.0, 0.0])

    def closed_form(self, share: float) -> float:
        """How far the plane is on which the model gives this probability, in raw units."""
        gap = abs(float(log_odds(self.QUERY)[0]) - np.log(share / (1 - share)))
        return float(gap / np.linalg.norm(LOGISTIC.coef_[0]))

    @pytest.mark.parametrize("share", [0.3, 0.1])
    def test_at_most_is_found_by_search_near_the_closed_form(self, share: float) -> None:
        explainer = ssba.Explainer(
            Probabilities(), X, ssba.probability(True, at_most=share), distance=ssba.Distance(scale="none")
        )
        found = explainer.explain(self.QUERY, FREE)
        assert found.evidence.proof is None
        assert LOGISTIC.predict_proba([row_of(found.best)])[0, 1] <= share
        assert found.best is not None
        assert self.closed_form(share) <= found.best.distance <= 1.01 * self.closed_form(share)
        assert found.target == f"probability of True at most {share}"

    @given(share=st.floats(0.02, 0.6))
    def test_at_most_is_proved_for_a_linear_model(self, share: float) -> None:
        explainer = ssba.Explainer(
            LOGISTIC, X, ssba.probability(True, at_most=share), distance=ssba.Distance(scale="none")
        )
        found = explainer.explain(self.QUERY, FREE)
        assert found.evidence.proof == "optimal"
        assert found.stopped == "exact"
        assert LOGISTIC.predict_proba([row_of(found.best)])[0, 1] <= share
        assert found.best is not None
        assert found.evidence.lower_bound == pytest.approx(self.closed_form(share), rel=1e-6)
        assert found.best.distance == pytest.approx(self.closed_form(share), rel=2e-3)

    @pytest.mark.parametrize("model", [LOGISTIC, Probabilities()], ids=["read", "asked"])
    def test_both_ends_are_entered_from_either_side(self, model: Any) -> None:
        explainer = ssba.Explainer(model, X, ssba.probability(True, at_least=0.4, at_most=0.45))
        for query in (self.QUERY, -self.QUERY):
            best = explainer.explain(query).best
            assert 0.4 <= LOGISTIC.predict_proba([row_of(best)])[0, 1] <= 0.45

    def test_at_most_for_one_of_two_classes_is_at_least_for_the_other(self) -> None:
        most = ssba.Explainer(LOGISTIC, X, ssba.probability(True, at_most=0.3)).explain(self.QUERY).best
        least = ssba.Explainer(LOGISTIC, X, ssba.probability(False, at_least=0.7)).explain(self.QUERY).best
        assert most is not None
        assert least is not None
        assert most.distance == pytest.approx(least.distance, rel=2e-3)


class TestValueChange:
    QUERY = np.array([0.2, -0.1, 0.3])
    NOW = float(LINEAR.predict([QUERY])[0])

    @pytest.mark.parametrize(
        ("change", "low", "high"),
        [
            ({"at_least": 10}, NOW + 10, np.inf),
            ({"at_most": -10}, -np.inf, NOW - 10),
            ({"at_least": 5, "at_most": 6}, NOW + 5, NOW + 6),
            ({"percent": 20}, 1.2 * NOW, np.inf),
            ({"percent": -20}, -np.inf, 0.8 * NOW),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("opened", [True, False], ids=["read", "asked"])
    def test_the_value_changes_by_what_was_asked_for(
        self, change: dict[str, float], low: float, high: float, opened: bool
    ) -> None:
        model: Any = LINEAR if opened else LINEAR.predict
        explainer = ssba.Explainer(
            model, X, ssba.value_change(**change), distance=ssba.Distance(scale="none")
        )
        found = explainer.explain(self.QUERY, FREE)
        value = float(LINEAR.predict([row_of(found.best)])[0])
        assert low - 1e-9 <= value <= high + 1e-9
        # The plane of the nearer end, at its distance in raw units.
        end = low if np.isfinite(low) else high
        exact = abs(end - self.NOW) / np.linalg.norm(LINEAR.coef_)
        assert found.best is not None
        assert exact * (1 - 1e-9) <= found.best.distance <= 1.01 * exact
        assert (found.evidence.proof == "optimal") == opened

    def test_each_of_many_queries_has_its_own_goal(self) -> None:
        forest = RandomForestRegressor(10, random_state=0).fit(X, LINEAR.predict(X))
        explainer = ssba.Explainer(forest, X, ssba.value_change(at_least=10))
        asked = X[np.argsort(forest.predict(X))[:4]]
        answers = explainer.explain_many(asked)
        assert [one.status for one in answers] == ["found"] * 4
        assert len({one.goal for one in answers}) == 4
        after = forest.predict(np.array([row_of(one.best) for one in answers]))
        assert (after >= forest.predict(asked) + 10 - 1e-9).all()
        for row, together in zip(asked, answers, strict=True):
            assert explainer.explain(row).counterfactuals == together.counterfactuals

    def test_a_bounded_move_goes_toward_the_querys_own_boundary(self) -> None:
        explainer = ssba.Explainer(LINEAR, X, ssba.value_change(at_least=10))
        found = explainer.explain(self.QUERY, [ssba.within(f"x{j}", amount=0.1) for j in range(3)])
        assert found.status == "bounded"
        assert found.bounded is not None
        assert float(LINEAR.predict([row_of(found.bounded)])[0]) > self.NOW

    def test_plans_ranges_and_certificates_know_the_querys_goal(self) -> None:
        explainer = ssba.Explainer(LINEAR, X, ssba.value_change(at_least=10))
        found = explainer.explain(self.QUERY)
        assert explainer.plan(found).reached
        assert explainer.ranges(found, n_samples=100).held > 0.9
        assert explainer.check_certificate(explainer.certificate(found)).passed

    def test_there_is_no_boundary_without_a_query(self) -> None:
        explainer = ssba.Explainer(LINEAR, X, ssba.value_change(at_least=10))
        with pytest.raises(ssba.errors.TargetError, match=r"relative to a query.*value_between"):
            explainer.sample_boundary(10)


class TestToward:
    @pytest.mark.parametrize(
        ("model", "own", "other"),
        [
            (LOGISTIC, True, False),
            (LOGISTIC, True, None),
            (LOGISTIC, None, ssba.probability(True, at_least=0.9)),
            (LOGISTIC, ssba.probability(True, at_least=0.9), False),
            (LINEAR, ssba.value_between(60, 70), ssba.value_change(percent=-10)),
            (LINEAR, ssba.value_change(at_least=3), ssba.value_between(None, 40)),
        ],
        ids=str,
    )
    def test_it_gives_what_an_explainer_of_that_target_gives(self, model: Any, own: Any, other: Any) -> None:
        explainer, direct = ssba.Explainer(model, X, own), ssba.Explainer(model, X, other)
        answers = [explainer.toward(other).explain(row) for row in X[:6]]
        expected = [direct.explain(row) for row in X[:6]]
        assert any(one.best for one in answers)
        for one, right in zip(answers, expected, strict=True):
            assert (one.status, one.target, one.goal) == (right.status, right.target, right.goal)
            assert one.counterfactuals == right.counterfactuals
        single = explainer.explain(X[0], target=other)
        assert (single.goal, single.counterfactuals) == (expected[0].goal, expected[0].counterfactuals)
        together = explainer.toward(other).explain_many(X[:6])
        assert [one.counterfactuals for one in together] == [one.counterfactuals for one in expected]

    def test_the_explainers_own_target_stays(self) -> None:
        explainer = ssba.Explainer(LOGISTIC, X, True)
        assert explainer.explain(X[0], target=None).goal != explainer.explain(X[0]).goal
        before = explainer.explain(-TestProbability.QUERY)
        assert explainer.toward(False).explain(TestProbability.QUERY).status == "found"
        assert explainer.explain(-TestProbability.QUERY).counterfactuals == before.counterfactuals
        assert explainer.toward(True) is explainer

    @pytest.mark.parametrize("target", ["perhaps", ssba.value_between(0, 1), [True], {"a": 1}], ids=str)
    def test_one_that_the_model_cannot_be_judged_by_is_refused(self, target: Any) -> None:
        explainer = ssba.Explainer(LOGISTIC, X, True)
        with pytest.raises(ssba.errors.TargetError):
            explainer.toward(target)

    def test_true_is_not_taken_for_one(self) -> None:
        explainer = ssba.Explainer(LOGISTIC, X, True)
        for target in (1, 0):
            assert (
                explainer.toward(target).explain(X[0]).goal
                == explainer.toward(bool(target)).explain(X[0]).goal
            )

    def test_a_boundary_of_another_target_is_refused(self) -> None:
        explainer = ssba.Explainer(LOGISTIC, X, ssba.probability(True, at_least=0.9))
        boundary = explainer.sample_boundary(50)
        assert explainer.explain(X[0], boundary=boundary).goal == ssba.probability(True, at_least=0.9)
        with pytest.raises(ssba.SsbaError):
            explainer.toward(ssba.probability(True, at_least=0.5)).explain(X[0], boundary=boundary)

    def test_it_is_an_explainer_like_any_other(self) -> None:
        other = ssba.probability(True, at_least=0.9)
        explainer = ssba.Explainer(LOGISTIC, X, False)
        made, direct = explainer.toward(other), ssba.Explainer(LOGISTIC, X, other)
        assert made is explainer.toward(ssba.probability(True, at_least=0.9))
        assert (made.target, repr(made)) == (direct.target, repr(direct))
        assert made.sample_boundary(50).digest() == direct.sample_boundary(50).digest()
        again = pickle.loads(pickle.dumps(made))  # noqa: S301
        assert again.target == made.target
        assert again.explain(X[0]).counterfactuals == made.explain(X[0]).counterfactuals
        assert made.rows_used == explainer.rows_used
