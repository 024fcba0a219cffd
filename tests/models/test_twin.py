"""Twins are searched with, and their originals have the last word."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xgboost
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from tests.support import every

import ssba
from ssba.errors import TargetError
from ssba.models.model import adapt
from ssba.models.twin import is_twin

_rng = np.random.default_rng(9)
X = _rng.normal(size=(300, 4))
WORDS = np.where(X[:, 0] + X[:, 1] ** 2 - X[:, 2] > 0.5, "granted", "refused")
THREE = np.digitize(X[:, 0] - X[:, 2], [-0.7, 0.7]) + 10


def shifted(twin: Any, by: float) -> Any:
    """Change a linear twin by hand, so that it says "refused" where its original does not, or the reverse."""
    twin.layers[0].intercept += by
    return twin


class TestAdapted:
    def test_only_what_to_torch_made_is_a_twin(self) -> None:
        twin = ssba.to_torch(LogisticRegression().fit(X, WORDS), X)
        assert is_twin(twin)
        assert not is_twin(twin.original)
        assert not is_twin(torch.nn.Linear(2, 1))

    @pytest.mark.parametrize("target", [WORDS, THREE])
    def test_classes_are_the_originals_own_labels(self, target: Any) -> None:
        model = MLPClassifier((6,), max_iter=2000, random_state=0).fit(X, target)
        adapted = adapt(ssba.to_torch(model, X), X)
        assert adapted.classes == tuple(model.classes_.tolist())
        assert adapted.name == "MLPClassifier"
        assert adapted.has_scores
        assert adapted.gives_probabilities
        for ask in (adapted.labels, adapted.output, adapted.verdict):
            np.testing.assert_array_equal(ask(X).labels, model.predict(X))
            assert np.asarray(ask(X).labels).dtype == model.predict(X).dtype

    def test_it_is_known_by_the_fingerprint_of_its_original(self) -> None:
        model = RandomForestClassifier(10, random_state=0).fit(X, WORDS)
        assert adapt(ssba.to_torch(model, X), X).fingerprint == adapt(model, X).fingerprint

    def test_the_twin_is_asked_but_the_verdict_is_the_originals(self) -> None:
        model = LogisticRegression().fit(X, WORDS)
        twin = shifted(ssba.to_torch(model, X), 2.0)
        adapted = adapt(twin, X)
        assert (adapted.labels(X).labels != model.predict(X)).mean() > 0.1
        np.testing.assert_array_equal(adapted.labels(X).labels, adapted.output(X).labels)
        verdict = adapted.verdict(X)
        np.testing.assert_array_equal(verdict.labels, model.predict(X))
        np.testing.assert_array_equal(verdict.scores, model.predict_proba(X))

    def test_verdicts_have_the_scores_that_the_twin_has(self) -> None:
        model = SVC().fit(X, WORDS)
        verdict = adapt(ssba.to_torch(model, X), X).verdict(X)
        decisions = model.decision_function(X)
        np.testing.assert_array_equal(verdict.scores, np.stack([-decisions, decisions], axis=1))

    def test_regressors_give_numbers(self) -> None:
        model = LinearRegression().fit(X, X[:, 0] * 2)
        adapted = adapt(ssba.to_torch(model, X), X)
        assert adapted.classes is None
        np.testing.assert_allclose(np.asarray(adapted.output(X).values), model.predict(X), atol=1e-12)
        np.testing.assert_array_equal(adapted.verdict(X).values, model.predict(X))

    def test_boosters_tell_0_from_1(self) -> None:
        codes = (WORDS == "granted").astype(int)
        booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, codes), 5)
        adapted = adapt(ssba.to_torch(booster, X), X)
        assert adapted.classes == (0, 1)
        np.testing.assert_array_equal(adapted.output(X).labels, adapted.verdict(X).labels)

    def test_numbers_are_not_asked_of_a_classifier(self) -> None:
        codes = (WORDS == "granted").astype(int)
        booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, codes), 5)
        with pytest.raises(TargetError):
            ssba.Explainer(ssba.to_torch(booster, X), X, target=ssba.value_between(0.8, 1.0))


class TestExplained:
    @pytest.mark.parametrize(
        "model",
        [MLPClassifier((6,), max_iter=2000, random_state=0), RandomForestClassifier(10, random_state=0)],
    )
    def test_answers_are_about_as_near_as_the_originals(self, model: Any) -> None:
        model.fit(X, WORDS)
        rows = X[WORDS == "refused"][:6]
        quick = ssba.Explainer(ssba.to_torch(model, X), X, target="granted").explain_many(rows)
        own = ssba.Explainer(model, X, target="granted").explain_many(rows, prove=False)
        for one, other in zip(quick, own, strict=True):
            assert one.status == other.status
            if one.best is not None and other.best is not None:
                assert one.best.prediction == "granted"
                # Both are searches.
                assert one.best.distance <= 1.05 * other.best.distance

    @pytest.mark.parametrize("by", [-1.0, 1.0])
    def test_no_answer_is_returned_that_the_original_does_not_confirm(self, by: float) -> None:
        model = LogisticRegression().fit(X, WORDS)
        twin = shifted(ssba.to_torch(model, X), by)
        rows = X[model.predict(X) == "refused"][:12]
        answers = ssba.Explainer(twin, X, target="granted").explain_many(rows)
        found = [one.best for one in answers if one.best is not None and one.status == "found"]
        assert every(model.predict(best.row)[0] == best.prediction == "granted" for best in found)
        # What is said about the query itself is what the original says.
        assert every(one.prediction == "refused" for one in answers)

    def test_a_pickled_explainer_gives_the_same(self) -> None:
        model = LogisticRegression().fit(X, WORDS)
        explainer = ssba.Explainer(ssba.to_torch(model, X), X, target="granted")
        row = X[WORDS == "refused"][0]
        again = pickle.loads(pickle.dumps(explainer))  # noqa: S301 - written a moment ago
        assert again.fingerprint == explainer.fingerprint
        assert again.explain(row).best == explainer.explain(row).best

    def test_frames_of_numbers(self) -> None:
        people = pd.DataFrame(np.round(X, 2), columns=list("abcd"))
        model = LogisticRegression().fit(people, WORDS)
        explainer = ssba.Explainer(ssba.to_torch(model, people), people, target="granted")
        best = explainer.explain(people[model.predict(people) == "refused"].iloc[[0]]).best
        assert best is not None
        assert best.prediction == "granted"
