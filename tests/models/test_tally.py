"""Every row that a model is asked about is counted, and answers that depend on chance are refused."""

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.errors import ModelError, StoppedError
from ssba.models.model import adapt
from ssba.models.tally import Tally, counted, watched

X = np.random.default_rng(0).normal(size=(300, 3))
TARGETS = {"labels": True, "probabilities": 1, "numbers": ssba.value_between(0, 0.5)}


def test_all_three_questions_are_counted() -> None:
    tally = Tally()
    model = counted(adapt(lambda rows: rows[:, 0] > 0, X), tally)
    model.labels(X[:3])
    model.output(X[:4])
    model.verdict(X[:5])
    assert tally.rows == 12


class TestWatched:
    def test_the_watcher_learns_of_all_rows_before_they_are_asked(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, target=True)
        before, seen = explainer.rows_used, list[int]()
        with watched(seen.append):
            explainer.explain(X[0])
        assert sum(seen) == explainer.rows_used - before > 0

    def test_a_watcher_that_raises_ends_the_work_with_its_own_error(self) -> None:
        asked = 0

        def model(rows: Any) -> Any:
            nonlocal asked
            asked += len(rows)
            return rows[:, 0] > 0.5

        def stop(rows: int) -> None:
            raise StoppedError("enough")

        explainer = ssba.Explainer(model, X, target=True)
        before = asked
        with watched(stop), pytest.raises(StoppedError, match="enough"):
            explainer.explain(X[0])
        assert asked == before
        assert explainer.explain(X[0]).best is not None, "it can be asked again"

    def test_nobody_watches_afterwards(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, target=True)
        seen: list[int] = []
        with watched(seen.append):
            pass
        explainer.explain(X[0])
        assert seen == []

    def test_another_thread_is_not_watched(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, target=True)
        seen: list[int] = []
        with watched(seen.append):
            other = threading.Thread(target=explainer.explain, args=(X[0],))
            other.start()
            other.join()
        assert seen == []


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
