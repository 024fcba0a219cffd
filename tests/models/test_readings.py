"""What a plain function returns tells whether it gives labels, scores or numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ssba.models.model import adapt

Floats = NDArray[np.float64]

_rng = np.random.default_rng(7)
X = _rng.normal(size=(60, 3))


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
