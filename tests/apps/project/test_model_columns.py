"""Columns that a project names, its data have, and its model takes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ssba.apps.project.locations import Locations
from ssba.apps.project.model_columns import columns_taken
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import ProjectSettings
from ssba.errors import SchemaError, SsbaError

_rng = np.random.default_rng(0)
ROWS = pd.DataFrame({"income": _rng.normal(50, 10, 60), "debt": _rng.normal(20, 5, 60)})
GRANTED = (ROWS["income"] > 2 * ROWS["debt"]).astype(int)
TABLE = ROWS.assign(client=[f"c{number}" for number in range(60)], job=["cook", "none"] * 30)
PLAIN = LogisticRegression().fit(ROWS, GRANTED)
CHOOSING = make_pipeline(
    make_column_transformer((StandardScaler(), ["income", "debt"])), LogisticRegression()
).fit(TABLE.drop(columns="job"), GRANTED)


def opened(model: Any, table: pd.DataFrame = TABLE, **settings: Any) -> OpenedProject:
    said = ProjectSettings(model="m", data="d", **settings)
    return OpenedProject(said, Path(), table, model, Locations("ssba.toml"))


@pytest.mark.parametrize("model", [PLAIN, CHOOSING], ids=["plain", "one that chooses columns"])
def test_a_column_that_the_model_takes_cannot_be_left_out(model: Any) -> None:
    with pytest.raises(SchemaError) as refused:
        opened(model, TABLE[["income", "debt"]], id="debt").explainer()
    assert str(refused.value) == (
        "ssba.toml: id: the model takes column 'debt', so it cannot be left out; remove it here"
    )


def test_a_column_of_the_data_that_is_another_only_by_its_case_is_named() -> None:
    with pytest.raises(SsbaError, match=r"do not have; .*; is 'DEBT' meant to be 'debt'\?"):
        opened(PLAIN, TABLE.rename(columns={"debt": "DEBT"}), ignore=("job",)).explainer()


def test_a_column_that_the_model_takes_has_to_be_in_the_data() -> None:
    with pytest.raises(SchemaError) as refused:
        opened(PLAIN, TABLE[["income", "job"]], ignore=("job",)).explainer()
    assert str(refused.value) == (
        "ssba.toml: data: the model takes column 'debt', which the data do not have; their columns are "
        "'income', 'job'"
    )


def test_columns_that_the_model_was_not_trained_on_are_to_be_left_out() -> None:
    table = TABLE.assign(**{"home town": "Ulm"})
    with pytest.raises(SchemaError) as refused:
        opened(PLAIN, table, ignore=("client",)).explainer()
    assert str(refused.value) == (
        "ssba.toml: model: the model was not trained on columns 'job', 'home town' of the data; leave out "
        "what it does not take: --ignore job --ignore 'home town', or in the project file ignore = "
        '["client", "job", "home town"]'
    )


def test_a_model_that_chooses_columns_may_do_without_some_and_with_others() -> None:
    assert opened(CHOOSING, id="client", ignore=("job",)).explainer().classes == (0, 1)
    assert opened(CHOOSING, ignore=("client",)).explainer().classes == (0, 1)


@pytest.mark.parametrize(
    "picked",
    [
        ["income", "debt"],
        [0, 1],
        slice(0, 2),
        [True, True, False],
        make_column_selector(dtype_include="number"),
    ],
    ids=["names", "numbers", "slice", "mask", "selector"],
)
def test_columns_that_a_model_drops_are_not_among_those_it_takes(picked: Any) -> None:
    columns = make_column_transformer((StandardScaler(), picked), ("drop", ["client"]))
    model = make_pipeline(columns, LogisticRegression()).fit(TABLE.drop(columns="job"), GRANTED)
    assert columns_taken(model) == ["income", "debt"]


def test_a_name_that_lightgbm_stored_with_underscores_is_known_again() -> None:
    rows = ROWS.rename(columns={"debt": "own debt"})
    parameters = {"objective": "binary", "verbose": -1, "min_data_in_leaf": 5}
    model = lightgbm.train(parameters, lightgbm.Dataset(rows, GRANTED), 5)
    assert columns_taken(model, ["own debt", "income"]) == ["income", "own debt"]
    assert opened(model, rows).explainer().classes == (0, 1)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("model", "names"),
    [
        (PLAIN, ["income", "debt"]),
        (make_pipeline(StandardScaler(), LogisticRegression()).fit(ROWS, GRANTED), ["income", "debt"]),
        (make_pipeline(FunctionTransformer(), LogisticRegression()).fit(ROWS.to_numpy(), GRANTED), None),
        (LogisticRegression().fit(ROWS.to_numpy(), GRANTED), None),
        (
            xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(ROWS, GRANTED), 2),
            ["income", "debt"],
        ),
        (
            lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(ROWS, GRANTED), 2),
            ["income", "debt"],
        ),
        (
            lightgbm.train(
                {"objective": "binary", "verbose": -1}, lightgbm.Dataset(ROWS.to_numpy(), GRANTED), 2
            ),
            None,
        ),
        (
            lightgbm.train(
                {"objective": "binary", "verbose": -1},
                lightgbm.Dataset(ROWS.rename(columns={"debt": "own debt"}), GRANTED),
                2,
            ),
            ["income", "own_debt"],
        ),
        (len, None),
        (SimpleNamespace(feature_names=["one", "two"]), None),
    ],
    ids=[
        "scikit-learn",
        "pipeline",
        "pipeline of arrays",
        "array",
        "XGBoost",
        "LightGBM",
        "no names",
        "names with spaces",
        "function",
        "something else",
    ],
)
def test_columns_are_known_from_the_model(model: Any, names: list[str] | None) -> None:
    assert columns_taken(model) == names
