"""Whatever a model does wrong is told with a fix; what it returns tells if it gives labels or numbers."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
import xgboost
from catboost import CatBoostClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from ssba.errors import ModelError
from ssba.models.model import adapt

Floats = NDArray[np.float64]
_rng = np.random.default_rng(7)
X = _rng.normal(size=(60, 3))
MIXED = pd.DataFrame(
    {
        "age": np.round(X[:, 0] * 10 + 50),
        "pain": _rng.choice(["none", "mild", "strong"], size=60),
        "bp": X[:, 1],
    }
)
CATBOOST = {"iterations": 4, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


def raises_value_error(rows: Any) -> Any:
    raise ValueError("no such column")


class TestErrors:
    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (
                raises_value_error,
                r"function raises_value_error.*batch of 60 rows.*raised ValueError: no such column",
            ),
            (lambda rows: np.zeros(59, dtype=int), "gave 59 answers of type int64.*one answer a row"),
            (lambda rows: None, "gave a single NoneType"),
            (lambda rows: 1, "gave a single int"),
            (lambda rows: np.zeros((60, 2), dtype=int), r"shape \(60, 2\).*one label a row.*multi-output"),
            (lambda rows: np.full(60, np.nan), "gave nan for row 0"),
            (lambda rows: np.full((60, 2), np.inf), r"gave \[inf, inf\] for row 0"),
            (lambda rows: np.zeros((60, 2, 2)), r"shape \(60, 2, 2\)"),
            (lambda rows: pd.array([pd.NA] + [True] * 59), "gave no answer for row 0"),
            (lambda rows: pd.Series([np.nan] + ["u"] * 59), "gave no answer for row 0.*one label a row"),
            (lambda rows: rows[:, 0] * 9, r"floats from -.*value_between"),
        ],
    )
    def test_a_bad_answer_is_told_with_the_batch_a_row_and_a_fix(
        self, function: Callable[[Any], Any], message: str
    ) -> None:
        with pytest.raises(ModelError, match=message) as caught:
            adapt(function, X)
        assert f"'x0': {X[0, 0]}" in str(caught.value)
        assert "Likely fix: " in str(caught.value)

    def test_what_the_model_raised_is_the_cause(self) -> None:
        with pytest.raises(ModelError) as caught:
            adapt(raises_value_error, X)
        assert isinstance(caught.value.__cause__, ValueError)

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (
                lambda rows: np.where(rows[:, 0] > 0, "yes", "no"),
                "type <U3, first 'yes'|type <U3, first 'no'",
            ),
            (lambda rows: np.array(["1.5"] * 60, dtype=object), "type object, first '1.5'"),
            (lambda rows: rows, r"shape \(60, 3\)"),
            (
                lambda rows: pd.array([1.0] * 4 + [pd.NA] + [1.0] * 55, dtype=object),
                "gave no answer for row 4.*one finite number a row.*row 4 of the batch",
            ),
            (
                lambda rows: np.where(np.arange(60) == 4, np.nan, 1.0),
                "gave nan for row 4.*row 4 of the batch",
            ),
        ],
    )
    def test_numbers_are_wanted_and_something_else_comes(
        self, function: Callable[[Any], Any], message: str
    ) -> None:
        with pytest.raises(ModelError, match=message):
            adapt(function, X, wants_numbers=True)

    @pytest.mark.parametrize(
        "make",
        [
            LogisticRegression,
            xgboost.XGBClassifier,
            lightgbm.LGBMClassifier,
            lambda: CatBoostClassifier(**CATBOOST),
        ],
    )
    def test_an_unfitted_model_is_to_be_fitted_first(self, make: Callable[[], Any]) -> None:
        with pytest.raises(ModelError, match="fit the model before explaining it"):
            adapt(make(), X)

    def test_what_is_no_model_at_all(self) -> None:
        with pytest.raises(ModelError, match="no predict method and is not callable"):
            adapt("model.pkl", X)
        with pytest.raises(ModelError, match="is a class, not a model: give a fitted LogisticRegression"):
            adapt(LogisticRegression, X)

    def test_nan_scores_of_a_classifier(self) -> None:
        class Broken(BaseEstimator):  # type: ignore[misc]
            classes_ = np.array([0, 1])

            def predict(self, rows: Floats) -> NDArray[np.int64]:
                return (rows[:, 0] > 0).astype(np.int64)

            def predict_proba(self, rows: Floats) -> Floats:
                return np.where(np.arange(len(rows)) == 2, np.nan, 0.5)[:, None] * np.ones(2)

        with pytest.raises(ModelError, match=r"Broken.predict_proba.*\[nan, nan\] for row 2"):
            adapt(Broken(), X)

    def test_an_answer_that_goes_bad_after_the_sample_is_caught_in_every_question(self) -> None:
        adapted = adapt(lambda rows: (rows[:, 0] > 0).astype(int)[: len(X)], X)
        for ask in (adapted.labels, adapted.output, adapted.verdict):
            with pytest.raises(ModelError, match="batch of 120 rows, gave 60 answers"):
                ask(np.vstack([X, X]))

    def test_a_null_that_no_sample_row_got_is_no_label(self) -> None:
        adapted = adapt(lambda rows: pl.Series(rows[:, 0], nan_to_null=True) > 0, X)
        for ask in (adapted.labels, adapted.output, adapted.verdict):
            with pytest.raises(ModelError, match=r"gave no answer for row 1.*one label a row"):
                ask(np.array([[0.0], [np.nan]]))

    def test_a_probability_that_leaves_the_unit_interval_later(self) -> None:
        adapted = adapt(lambda rows: rows[:, 0] / 10 + 0.5, X)
        with pytest.raises(ModelError, match=r"to 10.*within \[0, 1\], as for the sample rows"):
            adapted.labels(X * 0 + 95.0)

    def test_float_labels_that_turn_out_to_be_something_else(self) -> None:
        adapted = adapt(lambda rows: np.clip(np.round(rows[:, 0] * 99), 0, 1), X)
        with pytest.raises(ModelError, match=r"gave 0\.25; expected only 0\.0 and 1\.0"):
            adapt(lambda rows: np.where(len(rows) == 60, 1.0, 0.25) * np.ones(len(rows)), X).labels(X[:3])
        assert adapted.classes == (0.0, 1.0)

    def test_many_columns_are_cut_in_the_message(self) -> None:
        with pytest.raises(ModelError, match="8 more columns"):
            adapt(lambda rows: None, np.zeros((3, 20)))


class TestFunctions:
    @pytest.mark.parametrize(
        ("function", "classes"),
        [
            (lambda rows: np.where(rows[:, 0] > 0, "yes", "no"), ("no", "yes")),
            (lambda rows: (rows[:, 0] > 0).astype(int) + 5, (5, 6)),
            (lambda rows: rows[:, 0] > 0, (False, True)),
            (lambda rows: ["yes" if cell > 0 else "no" for cell in rows[:, 0]], ("no", "yes")),
            (lambda rows: pd.Series(np.where(rows[:, 0] > 0, "yes", "no")), ("no", "yes")),
            (lambda rows: (rows[:, :1] > 0).astype(int), (0, 1)),
            (lambda rows: (rows[:, 0] > 0).astype(float), (0.0, 1.0)),
        ],
        ids=["text", "integers", "booleans", "list", "series", "one column", "floats 0 and 1"],
    )
    def test_labels(self, function: Callable[[Any], Any], classes: tuple[Any, ...]) -> None:
        adapted = adapt(function, X)
        labels = adapted.output(X).labels
        assert adapted.classes == classes
        assert not adapted.has_scores
        assert labels is not None
        assert labels.tolist() == [classes[int(cell > 0)] for cell in X[:, 0]]

    @pytest.mark.parametrize("column", [False, True])
    def test_floats_within_0_and_1_are_the_probability_of_class_1(self, column: bool) -> None:
        def risk(rows: Floats) -> Floats:
            p = 1 / (1 + np.exp(-rows[:, 0]))
            return p[:, None] if column else p

        output = adapt(risk, X).output(X)
        np.testing.assert_array_equal(output.labels, (X[:, 0] > 0).astype(int))
        assert output.scores is not None
        np.testing.assert_array_equal(output.scores[:, 1], risk(X).ravel())

    def test_two_columns_of_floats_are_class_scores(self) -> None:
        probabilities = adapt(LogisticRegression().fit(X, X[:, 0] > 0).predict_proba, X)
        assert probabilities.classes == (0, 1)
        assert probabilities.gives_probabilities
        raw = adapt(lambda rows: rows, X)
        assert raw.classes == (0, 1, 2)
        assert raw.has_scores
        assert not raw.gives_probabilities
        np.testing.assert_array_equal(raw.labels(X).labels, X.argmax(axis=1))

    def test_a_tensor_that_tracks_gradients_is_read(self) -> None:
        layer = torch.nn.Linear(3, 2)
        adapted = adapt(lambda rows: layer(torch.as_tensor(rows, dtype=torch.float32)), X)
        assert adapted.classes == (0, 1)

    @pytest.mark.parametrize(
        "function",
        [
            lambda rows: rows[:, 0],
            lambda rows: rows[:, :1],
            lambda rows: list(rows[:, 0]),
            lambda rows: rows[:, 0].astype(int),
        ],
    )
    def test_numbers_when_they_are_wanted(self, function: Callable[[Any], Any]) -> None:
        adapted = adapt(function, X, wants_numbers=True)
        assert adapted.classes is None
        np.testing.assert_array_equal(adapted.labels(X).values, np.ravel(function(X)))

    def test_labels_of_mixed_types_have_an_order_too(self) -> None:
        adapted = adapt(lambda rows: np.array([0, "a", None], dtype=object)[np.arange(len(rows)) % 3], X)
        assert adapted.classes == (None, 0, "a")


class TestPredictWithoutClasses:
    """A wrapper with `predict` and nothing else, as deep learning libraries have it."""

    def test_its_class_scores_are_read_like_those_of_a_function(self) -> None:
        class Softmax:
            def predict(self, rows: Floats) -> Floats:
                grown = np.exp(rows)
                return np.asarray(grown / grown.sum(axis=1, keepdims=True))

        adapted = adapt(Softmax(), X)
        assert adapted.classes == (0, 1, 2)
        assert adapted.gives_probabilities
        np.testing.assert_array_equal(adapted.labels(X).labels, X.argmax(axis=1))

    def test_its_one_column_of_probabilities_is_class_1(self) -> None:
        class Sigmoid:
            def predict(self, rows: Floats) -> Floats:
                return 1 / (1 + np.exp(-rows[:, :1]))

        np.testing.assert_array_equal(adapt(Sigmoid(), X).labels(X).labels, (X[:, 0] > 0).astype(int))
