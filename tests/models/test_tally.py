"""Every row that a model is asked about is counted, and answers that depend on chance are refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.errors import ModelError
from ssba.models.model import adapt
from ssba.models.tally import Tally, counted

X = np.random.default_rng(0).normal(size=(300, 3))
TARGETS = {"labels": True, "probabilities": 1, "numbers": ssba.value_between(0, 0.5)}


def test_all_three_questions_are_counted() -> None:
    tally = Tally()
    model = counted(adapt(lambda rows: rows[:, 0] > 0, X), tally)
    model.labels(X[:3])
    model.output(X[:4])
    model.verdict(X[:5])
    assert tally.rows == 12


class TestChance:
    @pytest.mark.parametrize("kind", TARGETS)
    def test_a_model_that_answers_at_random_is_refused(self, kind: str) -> None:
        rng = np.random.default_rng(0)

        def model(rows: Any) -> Any:
            noise = rng.random(len(rows))
            return noise > 0.5 if kind == "labels" else noise

        with pytest.raises(ModelError, match=r"different answers to the same row: .*Row: .*'x0'"):
            ssba.Explainer(model, X, target=TARGETS[kind])

    def test_noise_upon_a_real_answer_is_noticed(self) -> None:
        rng = np.random.default_rng(0)

        def model(rows: Any) -> Any:
            return 1 / (1 + np.exp(-rows["a"] + 0.01 * rng.normal(size=len(rows))))

        with pytest.raises(ModelError, match="depends on the row alone"):
            ssba.Explainer(model, pd.DataFrame(X, columns=list("abc")), target=1)

    def test_last_bits_that_depend_on_the_batch_are_not(self) -> None:
        def model(rows: Any) -> Any:
            return 1 / (1 + np.exp(-rows[:, 0])) * (1 - 1e-7 * len(rows))

        assert ssba.Explainer(model, X, target=1).explain(X[X[:, 0] < 0][0]).status == "found"
