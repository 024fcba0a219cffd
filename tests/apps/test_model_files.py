"""Loading models from files: what they predict, and what is refused, in one line."""

import operator
import pickle
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch
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
from ssba.apps.model_files import ModelFile, Trust, load_model
from ssba.errors import ArgumentError, ModelError

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


def test_unknown_ending_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"must end in one of \.skops, \.onnx, \.ubj, \.json, \.txt, "):
        load_model(ModelFile(write(tmp_path / "model.h5", b"x")))


def test_missing_file_is_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "none.skops"
    with pytest.raises(ArgumentError, match=f"^--model {re.escape(str(path))}: there is no such file"):
        load_model(ModelFile(path))


def test_skops_pipeline_predicts_as_before_without_further_trust(
    pipeline: Pipeline, heart: ssba.datasets.Heart, tmp_path: Path
) -> None:
    skops_io.dump(pipeline, tmp_path / "model.skops")
    loaded = load_model(ModelFile(tmp_path / "model.skops"))
    np.testing.assert_array_equal(
        loaded.predict_proba(heart.frame), pipeline.predict_proba(heart.frame), strict=True
    )


def test_skops_type_that_is_not_known_is_listed_and_needs_trust(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    skops_io.dump(make_pipeline(FunctionTransformer(operator.neg), LogisticRegression()), path)
    with pytest.raises(
        ModelError,
        match=r"_operator\.neg; if you .* add --trust-type _operator\.neg, or write into the "
        r"project file: trust_types = \[\"_operator\.neg\"\]$",
    ):
        load_model(ModelFile(path))
    loaded = load_model(ModelFile(path), Trust(types=("_operator.neg",)))
    assert loaded[0].func is operator.neg


def test_trusting_one_type_does_not_trust_another(heart: ssba.datasets.Heart, tmp_path: Path) -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(heart.frame[NUMBERS], heart.target)
    skops_io.dump(make_pipeline(FunctionTransformer(operator.neg), forest), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"harmless: sklearn\.tree\._tree\.Tree; if you"):
        load_model(ModelFile(tmp_path / "model.skops"), Trust(types=("_operator.neg",)))


def test_pickle_trust_is_no_trust_in_types_of_a_skops_file(tmp_path: Path) -> None:
    skops_io.dump(FunctionTransformer(operator.neg), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"_operator\.neg"):
        load_model(ModelFile(tmp_path / "model.skops"), Trust(pickle=True))


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
        load_model(ModelFile(path))
    assert not (tmp_path / "sprung").exists()
    # The wire is a real one: with trust it does run.
    load_model(ModelFile(path), Trust(pickle=True))
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
    loaded = load_model(ModelFile(path), Trust(pickle=True))
    np.testing.assert_array_equal(loaded.predict(heart.frame), pipeline.predict(heart.frame))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"ssba: warning: {path} is a pickle: loading it runs any code that its author put in\n"


def test_pickle_of_a_class_from_a_module_that_is_not_here_says_how_to_find_it(tmp_path: Path) -> None:
    # What pickle writes for an object of the class `Model` of a module `train`.
    path = write(tmp_path / "model.pkl", b"ctrain_script\nModel\n.")
    with pytest.raises(ModelError, match=r"needs the module train_script; .* in PYTHONPATH$"):
        load_model(ModelFile(path), Trust(pickle=True))


def test_onnx_session_explains_like_the_model_it_was_made_from(
    on_numbers: Pipeline, heart: ssba.datasets.Heart, tmp_path: Path
) -> None:
    rows = heart.frame[NUMBERS]
    exported = to_onnx(on_numbers, rows.to_numpy(np.float32)[:1], options={"zipmap": False})
    session = load_model(ModelFile(write(tmp_path / "model.onnx", exported.SerializeToString())))
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
    loaded = load_model(ModelFile(tmp_path / f"model{suffix}"))
    np.testing.assert_array_equal(loaded.inplace_predict(rows), trained.inplace_predict(rows))


@pytest.mark.parametrize("suffix", [".txt", ".lgb"])
def test_lightgbm_booster_predicts_as_before_and_its_classes_are_0_and_1(
    heart: ssba.datasets.Heart, tmp_path: Path, suffix: str
) -> None:
    rows, ill = heart.frame[NUMBERS], (heart.target == "disease").astype(int)
    settings = {"objective": "binary", "num_leaves": 4, "verbose": -1}
    trained = lightgbm.train(settings, lightgbm.Dataset(rows, ill), num_boost_round=5)
    trained.save_model(tmp_path / f"model{suffix}")
    loaded = load_model(ModelFile(tmp_path / f"model{suffix}"))
    np.testing.assert_array_equal(loaded.predict(rows), trained.predict(rows))
    explainer = ssba.Explainer(loaded, rows, 0)
    assert explainer.classes == (0, 1)
    best = explainer.explain(rows.iloc[np.asarray(trained.predict(rows)).argmax()]).best
    assert best is not None
    answer = pd.DataFrame([best.values])[NUMBERS]
    assert np.asarray(trained.predict(answer))[0] < 0.5


class Net(torch.nn.Sequential):
    """Five numbers in, the logits of two classes out."""

    def __init__(self) -> None:
        super().__init__(torch.nn.Linear(5, 3), torch.nn.Dropout(), torch.nn.Linear(3, 2))


@pytest.fixture
def net_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the class is found, as a project file names it."""
    module = types.ModuleType("hospital_nets")
    vars(module).update(Net=Net, number=3, words=str)
    monkeypatch.setitem(sys.modules, "hospital_nets", module)
    return "hospital_nets:Net"


@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_torch_weights_are_put_into_a_new_module_in_eval_mode(
    tmp_path: Path, net_module: str, suffix: str
) -> None:
    trained = Net()
    torch.save(trained.state_dict(), tmp_path / f"model{suffix}")
    loaded = load_model(ModelFile(tmp_path / f"model{suffix}", module=net_module))
    assert isinstance(loaded, Net)
    assert not loaded.training
    rows = torch.ones(4, 5)
    torch.testing.assert_close(loaded(rows), trained.eval()(rows), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (None, 'module is None; .* in the project file: module = "package.module:Class"'),
        ("hospital_nets", "module is 'hospital_nets'; name the class"),
        ("hospital_nets:Nat", "hospital_nets has no class Nat"),
        ("hospital_nets:number", "hospital_nets has no class number"),
        ("hospital_nets:words", "hospital_nets:words makes a str, not a torch.nn.Module"),
        ("no_such_package:Net", "needs the module no_such_package; .* in PYTHONPATH"),
        ("torch.nn:Identity", "does not fit the module torch.nn:Identity: .* Unexpected key"),
    ],
)
def test_module_that_does_not_fit_is_told_in_one_line(
    tmp_path: Path, net_module: str, module: str | None, told: str
) -> None:
    torch.save(Net().state_dict(), tmp_path / "model.pt")
    with pytest.raises(ModelError, match=told) as refused:
        load_model(ModelFile(tmp_path / "model.pt", module=module))
    assert "\n" not in str(refused.value)


def test_torch_file_runs_nothing_even_where_pickles_are_trusted(tmp_path: Path, net_module: str) -> None:
    torch.save(Tripwire(tmp_path / "sprung"), tmp_path / "model.pt")
    with pytest.raises(ModelError, match="cannot be loaded: Weights only load failed"):
        load_model(ModelFile(tmp_path / "model.pt", module=net_module), Trust(pickle=True))
    assert not (tmp_path / "sprung").exists()
    torch.save(torch.ones(3), tmp_path / "tensor.pt")
    with pytest.raises(ModelError, match=r"holds a Tensor, not weights; write them with torch\.save"):
        load_model(ModelFile(tmp_path / "tensor.pt", module=net_module))


@pytest.mark.parametrize("suffix", [".skops", ".onnx", ".ubj", ".json", ".txt", ".pkl", ".joblib", ".pt"])
@pytest.mark.parametrize("content", [b"", b"neither fish nor fowl", b"PK\x03\x04 broken", b"{}"])
def test_damaged_model_is_refused_by_name_in_one_line(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = write(tmp_path / f"model{suffix}", content)
    with pytest.raises(ModelError, match=f"^--model {re.escape(str(path))} ") as refused:
        load_model(ModelFile(path, module="torch.nn:Identity"), Trust(pickle=True))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        ("skops", "m.skops", "reading a skops file needs skops: pip install 'ssba[skops]'"),
        ("onnxruntime", "m.onnx", "running an ONNX model needs onnxruntime: pip install 'ssba[onnx]'"),
        ("xgboost", "m.ubj", "reading an XGBoost model needs xgboost: pip install xgboost"),
        ("lightgbm", "m.txt", "reading a LightGBM model needs lightgbm: pip install lightgbm"),
        ("torch", "m.pt", "running a torch module needs torch: pip install 'ssba[torch]'"),
    ],
)
def test_missing_library_is_told_with_the_way_to_install_it(
    tmp_path: Path, module: str, name: str, told: str
) -> None:
    path = write(tmp_path / name, b"")
    program = (
        f"import sys; from pathlib import Path; sys.modules[{module!r}] = None\n"
        "from ssba.apps.model_files import MissingExtra, ModelFile, load_model\n"
        f"try: load_model(ModelFile(Path({str(path)!r})))\n"
        "except MissingExtra as missing: print(missing)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{told}\n"
