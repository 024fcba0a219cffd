"""Torch modules, ONNX sessions and native boosters are asked in their own types."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skl2onnx
import torch
import xgboost
from numpy.typing import NDArray
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.support import every

from ssba.errors import ModelError
from ssba.models.model import adapt

Floats = NDArray[np.float64]

_rng = np.random.default_rng(7)
X = _rng.normal(size=(60, 3))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.6, "ill", "well")
THREE = np.digitize(X[:, 0] - X[:, 2], [-0.7, 0.7]) + 10
NUMBERS = X @ np.array([3.0, -2.0, 1.0])
MIXED = pd.DataFrame(
    {
        "age": np.round(X[:, 0] * 10 + 50),
        "pain": _rng.choice(["none", "mild", "strong"], size=60),
        "bp": X[:, 1],
    }
)


def mixed_pipeline(frame: Any) -> Any:
    encode = ColumnTransformer([("pain", OneHotEncoder(), ["pain"])], remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression()).fit(frame, TWO)


def network(outputs: int, *last: torch.nn.Module, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    torch.manual_seed(1)
    layers = (torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, outputs))
    return torch.nn.Sequential(*layers, *last).to(dtype).eval()


def forward(module: torch.nn.Module, dtype: torch.dtype = torch.float32) -> Floats:
    with torch.no_grad():
        answer = module(torch.as_tensor(X, dtype=dtype))
    return np.asarray(answer.double().numpy())


class TestTorch:
    def test_a_logit_is_class_1_above_zero(self) -> None:
        module = network(1)
        logits = forward(module)[:, 0]
        assert logits.min() < 0
        output = adapt(module, X).output(X)
        np.testing.assert_array_equal(output.labels, (logits > 0).astype(int))
        assert output.scores is not None
        np.testing.assert_allclose(output.scores[:, 1], 1 / (1 + np.exp(-logits)))

    def test_a_sigmoid_is_class_1_above_one_half(self) -> None:
        module = network(1, torch.nn.Sigmoid(), torch.nn.Flatten(0))
        adapted = adapt(module, X)
        assert adapted.classes == (0, 1)
        np.testing.assert_array_equal(adapted.labels(X).labels, (forward(module) > 0.5).astype(int))

    def test_class_logits_become_probabilities_by_softmax(self) -> None:
        module = network(3)
        adapted = adapt(module, X)
        assert adapted.classes == (0, 1, 2)
        assert adapted.gives_probabilities
        expected = np.exp(forward(module))
        scores = adapted.verdict(X).scores
        np.testing.assert_allclose(np.asarray(scores), expected / expected.sum(axis=1, keepdims=True))

    def test_class_probabilities_stay_as_they_are(self) -> None:
        module = network(3, torch.nn.Softmax(dim=1))
        np.testing.assert_array_equal(adapt(module, X).output(X).scores, forward(module))

    def test_regression_in_the_dtype_of_the_parameters(self) -> None:
        module = network(1, dtype=torch.float64)
        adapted = adapt(module, X, wants_numbers=True)
        assert adapted.classes is None
        np.testing.assert_array_equal(adapted.labels(X).values, forward(module, torch.float64)[:, 0])

    @pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame])
    def test_frames_of_numbers_are_given_as_a_tensor(self, convert: Callable[[Any], Any]) -> None:
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        module = network(3)
        np.testing.assert_array_equal(
            adapt(module, convert(frame)).labels(convert(frame)).labels, forward(module).argmax(axis=1)
        )

    def test_parameters_mode_and_gradients_stay(self) -> None:
        module = network(2)
        before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        adapt(module, X).verdict(X)
        assert not module.training
        assert every(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
        assert every(parameter.grad is None for parameter in module.parameters())

    @pytest.mark.parametrize(
        "layer", [torch.nn.Dropout(0.1), torch.nn.BatchNorm1d(8), torch.nn.LSTM(8, 8, 2, dropout=0.1)]
    )
    def test_training_mode_is_refused_where_it_matters(self, layer: torch.nn.Module) -> None:
        module = torch.nn.Sequential(torch.nn.Linear(3, 8), layer)
        with pytest.raises(ModelError, match=rf"training mode and contains {type(layer).__name__}.*eval\(\)"):
            adapt(module, X)
        assert module.training

    def test_training_mode_is_fine_where_it_changes_nothing(self) -> None:
        adapted = adapt(torch.nn.Linear(3, 2).train(), X)
        assert adapted.classes == (0, 1)

    def test_text_columns_are_refused_by_name(self) -> None:
        with pytest.raises(ModelError, match=r"column 'pain' is String.*function that encodes"):
            adapt(network(1), MIXED)

    def test_several_outputs_are_refused(self) -> None:
        class Twice(torch.nn.Module):
            def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
                return rows, rows

        with pytest.raises(ModelError, match="returned a tuple"):
            adapt(Twice(), X)


def session(model: Any, inputs: list[Any], **options: Any) -> onnxruntime.InferenceSession:
    onnx = skl2onnx.convert_sklearn(model, initial_types=inputs, options=options or None)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        onnx.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


class TestOnnx:
    whole = (("rows", FloatTensorType([None, 3])),)

    @pytest.mark.parametrize("zipmap", [True, False])
    def test_labels_and_probabilities_of_an_array_model(self, zipmap: bool) -> None:
        model = LogisticRegression().fit(X, TWO)
        adapted = adapt(session(model, list(self.whole), zipmap=zipmap), X)
        output = adapted.output(X)
        assert adapted.classes == ("ill", "well")
        assert adapted.gives_probabilities
        np.testing.assert_array_equal(output.labels, model.predict(X))
        np.testing.assert_allclose(np.asarray(output.scores), model.predict_proba(X), atol=1e-5)

    def test_integer_classes_that_the_sample_never_shows_are_counted_by_the_scores(self) -> None:
        model = LogisticRegression().fit(X, THREE - 10)
        few = X[THREE < 12]
        few = few[model.predict(few) < 2]
        adapted = adapt(session(model, list(self.whole), zipmap=False), few)
        assert adapted.classes == (0, 1, 2)
        assert adapted.has_scores

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_one_input_per_column(self, library: str) -> None:
        frame: Any = MIXED if library == "pandas" else pl.from_pandas(MIXED)
        kinds = {
            "age": FloatTensorType([None, 1]),
            "pain": StringTensorType([None, 1]),
            "bp": FloatTensorType([None, 1]),
        }
        pipeline = mixed_pipeline(MIXED)
        adapted = adapt(session(pipeline, list(kinds.items())), frame)
        np.testing.assert_array_equal(adapted.labels(frame).labels, pipeline.predict(MIXED))
        assert adapted.has_scores
        with pytest.raises(ModelError, match=r"no \['bp'\]"):
            adapted.labels(frame[["age", "pain"]])

    def test_an_array_feeds_the_inputs_of_the_columns_in_order(self) -> None:
        kinds = [(name, FloatTensorType([None, 1])) for name in ("a", "b", "c")]
        numeric = make_pipeline(
            ColumnTransformer([("all", StandardScaler(), [0, 1, 2])]), LogisticRegression()
        )
        adapted = adapt(session(numeric.fit(X, TWO), kinds), X)
        np.testing.assert_array_equal(adapted.labels(X).labels, numeric.predict(X))
        with pytest.raises(ModelError, match=r"no \['c'\]"):
            adapted.labels(X[:, :2])

    def test_a_frame_of_one_column_may_have_any_name(self) -> None:
        model = LogisticRegression().fit(X[:, :1], TWO)
        frame = pl.DataFrame({"dose": X[:, 0]})
        adapted = adapt(session(model, [("input", FloatTensorType([None, 1]))]), frame)
        np.testing.assert_array_equal(adapted.labels(frame).labels, model.predict(X[:, :1]))

    def test_floats_that_are_no_probabilities_need_a_target_of_numbers(self) -> None:
        with pytest.raises(ModelError, match=r"ONNX session, output 'variable'.*value_between"):
            adapt(session(LinearRegression().fit(X, NUMBERS), list(self.whole)), X)

    def test_one_float_output_is_numbers_when_they_are_wanted(self) -> None:
        model = LinearRegression().fit(X, NUMBERS)
        adapted = adapt(session(model, list(self.whole)), X, wants_numbers=True)
        np.testing.assert_allclose(
            np.asarray(adapted.labels(X).values), model.predict(X), rtol=1e-4, atol=1e-4
        )

    def test_a_frame_of_numbers_feeds_a_single_input(self) -> None:
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        forest = RandomForestClassifier(5, random_state=0, n_jobs=1).fit(X, TWO)
        labels = adapt(session(forest, list(self.whole)), frame).labels(frame).labels
        np.testing.assert_array_equal(labels, forest.predict(X))


class TestNativeBoosters:
    def test_they_give_probabilities(self) -> None:
        data = xgboost.DMatrix(X, label=TWO == "ill", feature_names=["a", "b", "c"])
        trees = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 3)
        leaves = lightgbm.train(
            {"objective": "multiclass", "num_class": 3, "verbosity": -1, "num_threads": 1},
            lightgbm.Dataset(X, THREE - 10),
            3,
        )
        ill = adapt(trees, X).output(X).scores
        assert ill is not None
        np.testing.assert_allclose(ill[:, 1], trees.predict(data))
        three = adapt(leaves, X)
        assert three.classes == (0, 1, 2)
        np.testing.assert_allclose(np.asarray(three.output(X).scores), np.asarray(leaves.predict(X)))

    def test_they_give_numbers(self) -> None:
        trees = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, label=NUMBERS), 3)
        for wants_numbers in (False, True):
            adapted = adapt(trees, X, wants_numbers=wants_numbers)
            assert adapted.classes is None
            np.testing.assert_allclose(np.asarray(adapted.labels(X).values), trees.inplace_predict(X))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_32_bits_are_asked_in_batches_of_one_size(dtype: Any) -> None:
    """Batches of other sizes would add in another order, and a row would not get the same answer in each."""
    sizes = set()

    class Sized(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2, dtype=dtype)

        def forward(self, rows: Any) -> Any:
            sizes.add(len(rows))
            return self.layer(rows)

    rows = np.random.default_rng(0).normal(size=(150, 3))
    model = adapt(Sized().eval(), rows)
    among = model.output(rows).scores
    assert among is not None
    for some in (slice(0, 1), slice(3, 80), slice(70, 150)):
        alone = model.output(rows[some]).scores
        assert alone is not None
        assert alone.shape == among[some].shape
        np.testing.assert_allclose(alone, among[some], rtol=0 if dtype == torch.float32 else 1e-12)
    assert sizes == ({64} if dtype == torch.float32 else {150, 1, 77, 80})
