"""The oracle decodes, splits into batches, counts, and joins the answers in order."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ssba.columns.features import Feature
from ssba.errors import ArgumentError, InternalError, ModelError
from ssba.models.model import adapt
from ssba.models.oracle import Oracle
from ssba.models.row_check import RowCheck

Z = np.random.default_rng(1).normal(size=(50, 2))
SIDES = np.array(["left", "middle", "right"])
SIDE = SIDES[np.digitize(Z[:, 0], [-0.5, 0.5])]


def to_frame(encoded: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame({"a": encoded[:, 0], "b": encoded[:, 1] * 2})


FRAME = to_frame(Z)
DOOR = RowCheck((Feature("a", "numeric"), Feature("b", "numeric")))
FOREST = RandomForestClassifier(5, random_state=0, n_jobs=1).fit(FRAME, SIDE)
LINE = LinearRegression().fit(FRAME, Z[:, 0])


@given(rows=st.integers(0, 50), batch_rows=st.integers(1, 60))
def test_the_batch_size_changes_the_calls_and_not_the_answer(rows: int, batch_rows: int) -> None:
    model = adapt(KNeighborsClassifier(3).fit(FRAME, SIDE), FRAME)
    oracle = Oracle(model, to_frame, DOOR, batch_rows=batch_rows)
    split = oracle.output(Z[:rows])
    assert oracle.rows_asked == rows
    assert oracle.calls == -(-rows // batch_rows)
    assert split.labels is not None
    assert split.scores is not None
    whole = model.output(FRAME)
    assert whole.labels is not None
    assert whole.scores is not None
    assert split.labels.tolist() == whole.labels[:rows].tolist()
    np.testing.assert_array_equal(split.scores, whole.scores[:rows])


def test_the_model_gets_decoded_rows() -> None:
    seen = []

    def remember(rows: Any) -> Any:
        seen.append(rows)
        return rows["a"] > 0

    Oracle(adapt(remember, FRAME), to_frame, DOOR, batch_rows=30).labels(Z)
    pd.testing.assert_frame_equal(pd.concat(seen[1:], ignore_index=True), FRAME)


def test_labels_asks_for_no_scores_and_verdict_brings_both() -> None:
    oracle = Oracle(adapt(FOREST, FRAME), to_frame, DOOR)
    assert oracle.labels(Z).scores is None
    verdict = oracle.verdict(Z)
    np.testing.assert_array_equal(verdict.labels, FOREST.predict(FRAME))
    np.testing.assert_array_equal(verdict.scores, FOREST.predict_proba(FRAME))
    assert (oracle.rows_asked, oracle.calls) == (100, 2)


def test_numbers_are_joined_too() -> None:
    oracle = Oracle(adapt(LINE, FRAME, wants_numbers=True), to_frame, DOOR, batch_rows=7)
    output = oracle.labels(Z)
    assert output.labels is None
    assert output.scores is None
    np.testing.assert_allclose(np.asarray(output.values), LINE.predict(FRAME), atol=1e-12)


def test_text_of_different_lengths_is_not_cut() -> None:
    def words(rows: NDArray[np.float64]) -> NDArray[np.str_]:
        return np.array(["no" if cell < 0 else "definitely" for cell in rows[:, 0]])

    ordered = np.sort(Z, axis=0)
    labels = Oracle(adapt(words, Z), lambda encoded: encoded, DOOR, batch_rows=1).labels(ordered).labels
    assert labels is not None
    assert labels.tolist() == words(ordered).tolist()


class TestNoRows:
    def test_nothing_is_asked(self) -> None:
        oracle = Oracle(adapt(FOREST, FRAME), to_frame, DOOR)
        labels, output = oracle.labels(Z[:0]), oracle.output(Z[:0])
        assert (oracle.rows_asked, oracle.calls) == (0, 0)
        assert labels.labels is not None
        assert labels.labels.shape == (0,)
        assert labels.scores is None
        assert output.scores is not None
        assert output.scores.shape == (0, 3)

    def test_a_regressor_has_no_values(self) -> None:
        values = Oracle(adapt(LINE, FRAME), to_frame, DOOR).output(Z[:0]).values
        assert values is not None
        assert values.shape == (0,)


class TestInputValidation:
    @pytest.mark.parametrize("batch_rows", [0, -5])
    def test_a_batch_holds_at_least_one_row(self, batch_rows: int) -> None:
        with pytest.raises(ArgumentError, match=f"batch_rows must be at least 1, got {batch_rows}"):
            Oracle(adapt(FOREST, FRAME), to_frame, DOOR, batch_rows=batch_rows)

    def test_a_model_that_fails_is_told_with_its_batch_and_the_rows_are_counted(self) -> None:
        logistic = LogisticRegression().fit(FRAME, SIDE)
        oracle = Oracle(adapt(logistic, FRAME), to_frame, DOOR, batch_rows=20)
        broken = Z.copy()
        broken[25] = np.nan
        with pytest.raises(
            ModelError, match=r"LogisticRegression\.predict, asked about a batch of 20 rows, raised"
        ):
            oracle.labels(broken, np.array([True, True]))
        assert oracle.rows_asked == 40

    @pytest.mark.parametrize("question", ["labels", "output", "verdict"])
    def test_what_a_column_cannot_hold_is_never_asked_about(self, question: str) -> None:
        oracle = Oracle(adapt(FOREST, FRAME), to_frame, DOOR)
        broken = Z.copy()
        broken[25, 1] = np.inf
        with pytest.raises(InternalError, match="about inf in column 'b'"):
            getattr(oracle, question)(broken)
        assert oracle.rows_asked == 0
