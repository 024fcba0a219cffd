"""Targets that a model does not have, and models whose answers cannot be used."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC

import ssba

X = np.random.default_rng(0).normal(size=(80, 3))


def refused(error: type[ssba.SsbaError], *parts: str) -> Any:
    """An error of this very class whose message holds all the parts."""

    def check(raised: BaseException) -> bool:
        return type(raised) is error and all(part in str(raised) for part in parts)

    return pytest.raises(error, check=check)


class TestTarget:
    CLASSES = LogisticRegression().fit(X, np.where(X[:, 0] > 0, "ill", "well"))

    @pytest.mark.parametrize(
        ("target", "parts"),
        [
            ("wel", ("'wel'", "'ill', 'well'", "did you mean 'well'")),
            (1, ("1", "'ill', 'well'")),
            (["well"], ("'well'",)),
            (object(), ("'ill', 'well'",)),
            (np.array(["ill", "well"]), ("'ill', 'well'",)),
            (ssba.value_between(0, 1), ("value_between(low=0, high=1)", "'ill', 'well'")),
            (ssba.probability("wel", at_least=0.7), ("'wel'", "'well'")),
        ],
    )
    def test_targets_that_a_classifier_does_not_have(self, target: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.TargetError, *parts):
            ssba.Explainer(self.CLASSES, X, target)

    def test_targets_that_a_model_of_numbers_does_not_have(self) -> None:
        model = LinearRegression().fit(X, X[:, 0])
        for target in (None, "well", 5):
            with refused(ssba.errors.TargetError, "LinearRegression", "value_between(low, high)"):
                ssba.Explainer(model, X, target)

    def test_probabilities_where_there_are_none(self) -> None:
        model = SVC().fit(X, X[:, 0] > 0)
        with refused(ssba.errors.TargetError, "SVC", "no probabilities", "predict_proba"):
            ssba.Explainer(model, X, ssba.probability(True, at_least=0.7))

    @pytest.mark.parametrize(
        "make",
        [
            lambda: ssba.probability("a", at_least=0),
            lambda: ssba.probability("a", at_least=1.5),
            lambda: ssba.probability("a", at_least="b"),  # type: ignore[arg-type]
            lambda: ssba.value_between(2, 1),
            lambda: ssba.value_between(float("nan"), 1),
            lambda: ssba.value_between("a", 1),  # type: ignore[arg-type]
        ],
    )
    def test_targets_that_make_no_sense(self, make: Any) -> None:
        with pytest.raises(ssba.errors.TargetError, match=r"probability\(|value_between\("):
            make()

    def test_one_predicted_class_only(self) -> None:
        with pytest.raises(ssba.SsbaError, match="one class only"):
            ssba.Explainer(lambda rows: np.zeros(len(rows), dtype=int), X)
        known = LogisticRegression().fit(X, X[:, 0] > 0)
        explainer = ssba.Explainer(known, X[X[:, 0] > 1.0])
        with pytest.raises(ssba.errors.ModelError, match=r"LogisticRegression.*background.*both sides"):
            explainer.sample_boundary(10)


class TestModel:
    """The batch and an example row are in every message."""

    @pytest.mark.parametrize(
        ("model", "parts"),
        [
            (lambda rows: 1 / 0, ("ZeroDivisionError",)),
            (lambda rows: rows["nope"], ("raised",)),
            (lambda rows: [1, 2], ("2 answers", "one answer a row")),
            (lambda rows: 5, ("int", "one answer a row")),
            (lambda rows: None, ("one answer a row",)),
            (lambda rows: np.full(len(rows), np.nan), ("nan", "row 0")),
            (lambda rows: np.full((len(rows), 2), np.nan), ("nan", "row 0")),
            (lambda rows: np.zeros((len(rows), 2), dtype=int), ("shape", "multi-output")),
            (lambda rows: np.zeros((len(rows), 2, 2)), ("shape",)),
            (lambda rows: rows[:, 0] * 100, ("floats from", "value_between")),
        ],
    )
    def test_answers_that_cannot_be_used(self, model: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.ModelError, "batch of 80 rows", "'x0'", "Likely fix", *parts):
            ssba.Explainer(model, X)

    def test_text_where_numbers_were_expected(self) -> None:
        with refused(ssba.errors.ModelError, "batch of 80 rows", "one finite number a row", "'x0'"):
            ssba.Explainer(lambda rows: np.array(["a"] * len(rows)), X, ssba.value_between(0, 1))

    def test_a_model_that_fails_later_on(self) -> None:
        calls: list[int] = []

        def flaky(rows: Any) -> Any:
            calls.append(1)
            if len(calls) > 3:
                raise RuntimeError("out of memory")
            return rows[:, 0] > 0

        explainer = ssba.Explainer(flaky, X)
        with refused(ssba.errors.ModelError, "RuntimeError", "out of memory", "batch of", "'x0'"):
            for row in X:
                explainer.explain(row)

    def test_a_model_that_answers_too_few_rows_later_on(self) -> None:
        explainer = ssba.Explainer(lambda rows: (rows[:, 0] > 0)[:79], X[:79])
        with refused(ssba.errors.ModelError, "one answer a row"):
            explainer.sample_boundary(500)

    def test_models_that_are_none(self) -> None:
        for model in (None, 5, "model", X):
            with pytest.raises(ssba.errors.ModelError, match="predict"):
                ssba.Explainer(model, X)
        with refused(ssba.errors.ModelError, "LogisticRegression", "class, not a model", "fitted"):
            ssba.Explainer(LogisticRegression, X)
        with refused(ssba.errors.ModelError, "fit the model"):
            ssba.Explainer(LogisticRegression(), X)
