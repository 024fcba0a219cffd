"""Reading tables and models from files: what comes in as it is, and what is refused, in one line."""

import operator
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import xgboost
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from skops import io as skops_io

import ssba
from ssba.apps.loading import Trust, load_model, read_table
from ssba.errors import ArgumentError, ModelError, SchemaError

NUMBERS = ["age", "trestbps", "chol", "thalach", "oldpeak"]


@pytest.fixture(scope="module")
def heart() -> ssba.datasets.Heart:
    return ssba.datasets.load_heart()


@pytest.fixture(scope="module")
def pipeline(heart: ssba.datasets.Heart) -> Pipeline:
    """A model on raw columns, text and missing cells included."""
    words = [name for name, column in heart.columns.items() if column.kind == "categorical"]
    numbers = [name for name in heart.columns if name not in words]
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), words),
    )
    return make_pipeline(encode, LogisticRegression()).fit(heart.frame, heart.target)


@pytest.fixture(scope="module")
def on_numbers(heart: ssba.datasets.Heart) -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(heart.frame[NUMBERS], heart.target)


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def save_pickle(model: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(model))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".CSV"])
def test_csv_gives_back_the_table_that_was_written(
    heart: ssba.datasets.Heart, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"heart{suffix}"
    heart.frame.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_table(path), heart.frame)


def test_parquet_keeps_dtypes_that_csv_has_no_words_for(tmp_path: Path) -> None:
    levels = pd.CategoricalDtype(["low", "high"], ordered=True)
    table = pd.DataFrame(
        {
            "small": np.array([1, 2], dtype=np.int8),
            "single": np.array([0.5, 1.5], dtype=np.float32),
            "rank": pd.Series(["high", "low"], dtype=levels),
            "zip": ["01234", "99999"],
        }
    )
    table.to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.parquet"), table)


def test_csv_cells_are_whole_numbers_numbers_truths_or_text_by_column(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", b"whole,gap,truth,text\n1,2,True,a1\n3,,False,\n")
    table = read_table(path)
    kinds = {name: table[name].dtype.kind for name in ("whole", "gap", "truth")}
    assert kinds == {"whole": "i", "gap": "f", "truth": "b"}
    assert table["text"].isna().tolist() == [False, True]
    assert table.loc[0, "text"] == "a1"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"", "cannot be read: No columns to parse from file"),
        ("a.csv", b"a,b\n", "holds no rows"),
        ("a.csv", b"a,b\n0,2,3\n1,5,6\n", "the rows have more cells than the header has names"),
        ("a.csv", b"a\n\xff\xfe\n", "cannot be read: 'utf-8' codec"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read: Not a gzipped file"),
        ("a.parquet", b"PAR1 no more of it", "cannot be read: "),
    ],
)
def test_damaged_table_is_refused_by_name_in_one_line(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(SchemaError, match=f"^--data {re.escape(str(path))}:? {re.escape(told)}") as refused:
        read_table(path)
    assert "\n" not in str(refused.value)


def test_unknown_ending_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"must end in one of \.csv, \.csv\.gz, \.parquet$"):
        read_table(write(tmp_path / "rows.xlsx", b"x"))
    with pytest.raises(ArgumentError, match=r"must end in one of \.skops, \.onnx, \.ubj, \.json, \.pkl"):
        load_model(write(tmp_path / "model.h5", b"x"))


@pytest.mark.parametrize("read", [read_table, load_model])
def test_missing_file_is_told_by_name(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    path = tmp_path / ("none.csv" if read is read_table else "none.skops")
    with pytest.raises(ArgumentError, match=f"{re.escape(str(path))}: there is no such file"):
        read(path)


def test_skops_pipeline_predicts_as_before_without_further_trust(
    pipeline: Pipeline, heart: ssba.datasets.Heart, tmp_path: Path
) -> None:
    skops_io.dump(pipeline, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        loaded.predict_proba(heart.frame), pipeline.predict_proba(heart.frame), strict=True
    )


def test_skops_type_that_is_not_known_is_listed_and_needs_trust(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    skops_io.dump(make_pipeline(FunctionTransformer(operator.neg), LogisticRegression()), path)
    with pytest.raises(ModelError, match=r"_operator\.neg; if you .* add --trust-type _operator\.neg$"):
        load_model(path)
    loaded = load_model(path, Trust(types=("_operator.neg",)))
    assert loaded[0].func is operator.neg


def test_trusting_one_type_does_not_trust_another(heart: ssba.datasets.Heart, tmp_path: Path) -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(heart.frame[NUMBERS], heart.target)
    skops_io.dump(make_pipeline(FunctionTransformer(operator.neg), forest), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"harmless: sklearn\.tree\._tree\.Tree; if you"):
        load_model(tmp_path / "model.skops", Trust(types=("_operator.neg",)))


def test_pickle_trust_is_no_trust_in_types_of_a_skops_file(tmp_path: Path) -> None:
    skops_io.dump(FunctionTransformer(operator.neg), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"_operator\.neg"):
        load_model(tmp_path / "model.skops", Trust(pickle=True))


class Tripwire:
    """Leaves a file behind when it is unpickled, as an attacker would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib"])
def test_pickle_without_trust_is_refused_before_any_of_it_runs(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    save_pickle(Tripwire(tmp_path / "sprung"), path)
    with pytest.raises(ModelError, match=r"runs any code .* add --trust-pickle if you made the file"):
        load_model(path)
    assert not (tmp_path / "sprung").exists()
    # The wire is a real one: with trust it does run.
    load_model(path, Trust(pickle=True))
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("suffix", "save"),
    [(".pkl", save_pickle), (".pickle", save_pickle), (".joblib", joblib.dump)],
)
def test_trusted_pickle_predicts_as_before_and_warns_on_stderr(
    pipeline: Pipeline,
    heart: ssba.datasets.Heart,
    tmp_path: Path,
    suffix: str,
    save: Callable[[Any, Path], Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / f"model{suffix}"
    save(pipeline, path)
    loaded = load_model(path, Trust(pickle=True))
    np.testing.assert_array_equal(loaded.predict(heart.frame), pipeline.predict(heart.frame))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"ssba: warning: {path} is a pickle: loading it runs any code that its author put in\n"


def test_pickle_of_a_class_from_a_module_that_is_not_here_says_how_to_find_it(tmp_path: Path) -> None:
    # What pickle writes for an object of the class `Model` of a module `train`.
    path = write(tmp_path / "model.pkl", b"ctrain_script\nModel\n.")
    with pytest.raises(ModelError, match=r"needs the module train_script; .* in PYTHONPATH$"):
        load_model(path, Trust(pickle=True))


def test_onnx_session_explains_like_the_model_it_was_made_from(
    on_numbers: Pipeline, heart: ssba.datasets.Heart, tmp_path: Path
) -> None:
    rows = heart.frame[NUMBERS]
    exported = to_onnx(on_numbers, rows.to_numpy(np.float32)[:1], options={"zipmap": False})
    session = load_model(write(tmp_path / "model.onnx", exported.SerializeToString()))
    assert session.get_providers() == ["CPUExecutionProvider"]
    ill = rows[on_numbers.predict(rows) == "disease"].iloc[0]
    best = ssba.Explainer(session, rows, "no disease").explain(ill).best
    assert best is not None
    nearest = ssba.Explainer(on_numbers, rows, "no disease").explain(ill).best
    assert nearest is not None
    # ONNX computes in 32 bits, so the boundary may lie some 1e-6 elsewhere, and answers have few digits.
    assert best.distance == pytest.approx(nearest.distance, rel=0.01)


@pytest.mark.parametrize("suffix", [".ubj", ".json"])
def test_xgboost_booster_predicts_as_before(heart: ssba.datasets.Heart, tmp_path: Path, suffix: str) -> None:
    rows, ill = heart.frame[NUMBERS], (heart.target == "disease").astype(int)
    trained = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 2}, xgboost.DMatrix(rows, ill), num_boost_round=5
    )
    trained.save_model(tmp_path / f"model{suffix}")
    loaded = load_model(tmp_path / f"model{suffix}")
    np.testing.assert_array_equal(loaded.inplace_predict(rows), trained.inplace_predict(rows))


@pytest.mark.parametrize("suffix", [".skops", ".onnx", ".ubj", ".json", ".pkl", ".joblib"])
@pytest.mark.parametrize("content", [b"", b"neither fish nor fowl", b"PK\x03\x04 broken", b"{}"])
def test_damaged_model_is_refused_by_name_in_one_line(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = write(tmp_path / f"model{suffix}", content)
    with pytest.raises(ModelError, match=f"^--model {re.escape(str(path))} ") as refused:
        load_model(path, Trust(pickle=True))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        ("skops", "m.skops", "reading a skops file needs skops: pip install 'ssba[skops]'"),
        ("onnxruntime", "m.onnx", "running an ONNX model needs onnxruntime: pip install 'ssba[onnx]'"),
        ("xgboost", "m.ubj", "reading an XGBoost model needs xgboost: pip install xgboost"),
        ("pyarrow", "t.parquet", "reading a Parquet file needs pyarrow: pip install 'ssba[arrow]'"),
    ],
)
def test_missing_library_is_told_with_the_way_to_install_it(
    tmp_path: Path, module: str, name: str, told: str
) -> None:
    path = write(tmp_path / name, b"")
    read = "read_table" if name.endswith(".parquet") else "load_model"
    program = (
        f"import sys; from pathlib import Path; sys.modules[{module!r}] = None\n"
        f"from ssba.apps.loading import {read}\nfrom ssba.errors import MissingExtra\n"
        f"try: {read}(Path({str(path)!r}))\n"
        "except MissingExtra as missing: print(missing)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{told}\n"
