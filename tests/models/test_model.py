"""The door for models: any kind, any frame, never changed."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from catboost import CatBoostClassifier
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ssba.errors import ModelError
from ssba.models.model import adapt

Floats = NDArray[np.float64]

_rng = np.random.default_rng(7)
X = _rng.normal(size=(60, 3))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.6, "ill", "well")
THREE = np.digitize(X[:, 0] - X[:, 2], [-0.7, 0.7]) + 10
MIXED = pd.DataFrame(
    {
        "age": np.round(X[:, 0] * 10 + 50),
        "pain": _rng.choice(["none", "mild", "strong"], size=60),
        "bp": X[:, 1],
    }
)
CATBOOST = {"iterations": 4, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


def mixed_pipeline(frame: Any) -> Any:
    encode = ColumnTransformer([("pain", OneHotEncoder(), ["pain"])], remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression()).fit(frame, TWO)


class TestFrames:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_pipeline_on_raw_text_columns_gets_the_frame_as_it_is(self, library: str) -> None:
        frame: Any = MIXED if library == "pandas" else pl.from_pandas(MIXED)
        pipeline = mixed_pipeline(frame)
        before = pickle.dumps(pipeline)
        adapted = adapt(pipeline, frame)
        output = adapted.output(frame)
        assert output.labels is not None
        assert output.labels.tolist() == pipeline.predict(frame).tolist()
        np.testing.assert_array_equal(output.scores, pipeline.predict_proba(frame))
        assert pickle.dumps(pipeline) == before

    def test_catboost_takes_text_columns_and_three_classes(self) -> None:
        model = CatBoostClassifier(**CATBOOST, cat_features=["pain"]).fit(MIXED, THREE)
        output = adapt(model, MIXED).output(MIXED)
        assert output.labels is not None
        assert output.labels.tolist() == model.predict(MIXED).ravel().tolist()

    def test_a_function_of_an_arrow_table_is_asked_with_one(self) -> None:
        table = pa.Table.from_pandas(MIXED)
        adapted = adapt(lambda rows: rows.column("pain"), table)
        assert adapted.classes == ("mild", "none", "strong")

    @pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
    def test_an_error_shows_a_row_of_any_frame(self, convert: Callable[[Any], Any]) -> None:
        with pytest.raises(ModelError, match=rf"'age': {MIXED['age'][0]}, 'pain': '{MIXED['pain'][0]}'"):
            adapt(lambda rows: [1], convert(MIXED))


class TestFingerprint:
    def mark(self, model: Any) -> str:
        return adapt(model, X).fingerprint

    def test_the_same_model_has_the_same_mark_and_a_retrained_one_another(self) -> None:
        assert self.mark(LogisticRegression().fit(X, TWO)) == self.mark(LogisticRegression().fit(X, TWO))
        assert self.mark(LogisticRegression().fit(X, TWO)) != self.mark(
            LogisticRegression().fit(X[5:], TWO[5:])
        )

    @pytest.mark.parametrize(
        "function", [lambda rows: rows[:, 0] > 0, lambda rows: (rows + 5) / 10 @ np.ones(3) / 3]
    )
    def test_it_is_16_hex_digits_for_any_model(self, function: Callable[[Any], Any]) -> None:
        assert len(bytes.fromhex(self.mark(function))) == 8

    def test_it_looks_past_the_last_bits_of_a_float(self) -> None:
        def numbers(noise: float) -> str:
            return adapt(lambda rows: rows[:, 0] * 40 + noise, X, wants_numbers=True).fingerprint

        assert numbers(0.0) == numbers(1e-13)
        assert numbers(0.0) != numbers(1e-2)


def test_no_model_library_is_imported_for_a_plain_function() -> None:
    code = (
        "import sys, numpy as np; from ssba.models.model import adapt; import ssba.models.oracle;"
        "adapt(lambda rows: rows[:, 0] > 0, np.eye(3)).verdict(np.eye(3));"
        "heavy = {'torch', 'sklearn', 'pandas', 'polars', 'pyarrow', 'onnxruntime', 'xgboost', 'lightgbm'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
