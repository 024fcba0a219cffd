"""Steps before the last one: scalers, one-hot columns, and columns side by side."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

import ssba
from ssba.errors import ModelError, SchemaError

Floats = NDArray[np.float64]

_rng = np.random.default_rng(11)
NUMBERS = _rng.normal(size=(240, 2)) * [3.0, 0.2] + [50.0, 1.0]
CODES = np.stack([_rng.integers(0, 4, 240), _rng.integers(1, 3, 240)], axis=1)
X = np.concatenate([NUMBERS, CODES], axis=1)
Y = X[:, 0] / 3 - 17 + (X[:, 2] == 2) + _rng.normal(size=240) > 0
FRESH = np.concatenate(
    [
        _rng.normal(size=(400, 2)) * [9.0, 0.6] + [50.0, 1.0],
        _rng.integers(0, 4, (400, 1)),
        _rng.integers(1, 3, (400, 1)),
    ],
    axis=1,
)


def same_shares(model: Any, data: Any = X, rows: Floats = FRESH, asked: Any = FRESH) -> None:
    twin = ssba.to_torch(model, data)
    shares = twin(torch.tensor(rows)).numpy()
    np.testing.assert_allclose(shares, model.predict_proba(asked), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2)),
        MinMaxScaler(clip=True),
        RobustScaler(),
        RobustScaler(with_centering=False),
        MaxAbsScaler(),
        FunctionTransformer(),
        "passthrough",
    ],
    ids=str,
)
def test_scalers(scaler: Any) -> None:
    same_shares(make_pipeline(scaler, LogisticRegression(max_iter=1000)).fit(X, Y))


@pytest.mark.parametrize(
    "last", [RandomForestClassifier(8, random_state=0), HistGradientBoostingClassifier(max_iter=5)]
)
def test_trees_see_the_same_scaled_numbers(last: Any) -> None:
    same_shares(make_pipeline(StandardScaler(), MinMaxScaler(), last).fit(X, Y))


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_codes_become_columns_of_0_and_1(drop: str | None) -> None:
    encode = ColumnTransformer(
        [("codes", OneHotEncoder(drop=drop), [2, 3]), ("low", MinMaxScaler(), slice(1, 2))],
        remainder=StandardScaler(),
    )
    same_shares(make_pipeline(encode, LogisticRegression()).fit(X, Y))


def test_a_code_of_no_known_category_is_zero_in_all_columns() -> None:
    encode = ColumnTransformer(
        [("codes", OneHotEncoder(handle_unknown="ignore"), [2])], remainder="passthrough"
    )
    model = make_pipeline(encode, StandardScaler(), LogisticRegression()).fit(X, Y)
    unknown = FRESH.copy()
    unknown[:, 2] = 17
    same_shares(model, rows=unknown, asked=unknown)


@pytest.mark.parametrize("last", [LogisticRegression(), Ridge()])
def test_codes_with_gaps_are_compared_on_codes_that_the_encoder_knows(last: Any) -> None:
    gaps = X.copy()
    gaps[:, 2] = np.array([0, 3, 7, 40])[CODES[:, 0]]
    encode = ColumnTransformer([("codes", OneHotEncoder(), [2])], remainder=StandardScaler())
    agreement = ssba.to_torch(make_pipeline(encode, last).fit(gaps, Y), gaps).agreement
    assert agreement.near_rows > 100
    assert agreement.near_differing == 0


def test_a_missing_cell_may_be_a_category() -> None:
    gaps = X.copy()
    gaps[::5, 2] = np.nan
    encode = ColumnTransformer([("codes", OneHotEncoder(), [2])], remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(gaps, Y)
    same_shares(model, data=gaps, rows=gaps, asked=gaps)


def test_columns_that_are_dropped_and_pipelines_inside() -> None:
    inner = make_pipeline(RobustScaler(), MinMaxScaler())
    encode = ColumnTransformer(
        [("inner", inner, [1, 0]), ("none", "drop", [3]), ("empty", StandardScaler(), [])],
        remainder="passthrough",
    )
    same_shares(make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, Y))


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_by_name_of_a_frame_of_numbers(library: Any) -> None:
    def frame(rows: Floats) -> Any:
        cells = {name: rows[:, j] for j, name in enumerate(["weight", "dose", "ward", "sex"])}
        return library.DataFrame({**cells, "ward": cells["ward"].astype(int), "sex": cells["sex"] == 1})

    encode = ColumnTransformer([("codes", OneHotEncoder(), ["ward"])], remainder=StandardScaler())
    model = make_pipeline(encode, LogisticRegression()).fit(frame(X), Y)
    as_numbers = np.column_stack([FRESH[:, :3], FRESH[:, 3] == 1])
    same_shares(model, data=frame(X), rows=as_numbers, asked=frame(FRESH))


@pytest.mark.parametrize("last", [MLPClassifier((6,), max_iter=2000, random_state=0), SVC()])
def test_labels_behind_steps(last: Any) -> None:
    encode = ColumnTransformer([("codes", OneHotEncoder(), [2, 3])], remainder=StandardScaler())
    model = make_pipeline(encode, last).fit(X, Y)
    twin = ssba.to_torch(model, X)
    np.testing.assert_array_equal(twin(torch.tensor(FRESH)).argmax(dim=1).numpy() == 1, model.predict(FRESH))


class TestRefused:
    def test_a_step_of_another_kind_by_its_name(self) -> None:
        model = make_pipeline(PowerTransformer(), LogisticRegression()).fit(X, Y)
        with pytest.raises(
            ModelError, match=r"Pipeline: the step PowerTransformer in the pipeline.*It knows linear"
        ):
            ssba.to_torch(model, X)

    def test_a_step_of_another_kind_beside_others(self) -> None:
        encode = ColumnTransformer([("bent", PowerTransformer(), [0])], remainder="passthrough")
        with pytest.raises(ModelError, match="the step PowerTransformer"):
            ssba.to_torch(make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, Y), X)

    def test_functions_of_the_users_own(self) -> None:
        model = make_pipeline(FunctionTransformer(np.abs), LogisticRegression(max_iter=1000)).fit(X, Y)
        with pytest.raises(ModelError, match="the step FunctionTransformer"):
            ssba.to_torch(model, X)

    def test_rare_categories_put_together(self) -> None:
        encode = ColumnTransformer([("codes", OneHotEncoder(max_categories=2), [2])], remainder="passthrough")
        with pytest.raises(ModelError, match="OneHotEncoder in the pipeline puts rare categories together"):
            ssba.to_torch(make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, Y), X)

    def test_text_columns_with_what_to_do(self) -> None:
        people = pd.DataFrame({"age": X[:, 0], "ward": np.array(list("abcd"))[CODES[:, 0]]})
        encode = ColumnTransformer([("ward", OneHotEncoder(), ["ward"])], remainder="passthrough")
        model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(people, Y)
        with pytest.raises(SchemaError, match=r"column 'ward' holds str.*write codes in its place"):
            ssba.to_torch(model, people)

    def test_columns_in_another_order(self) -> None:
        people = pd.DataFrame({"age": X[:, 0], "dose": X[:, 1]})
        model = LogisticRegression().fit(people, Y)
        with pytest.raises(
            SchemaError, match=r"\['dose', 'age'\], but LogisticRegression was fitted on \['age', "
        ):
            ssba.to_torch(model, people[["dose", "age"]])
