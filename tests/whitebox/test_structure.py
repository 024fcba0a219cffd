"""Which pipelines are opened: told by the types and settings of their steps, never by what the data shows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from tests.support import every

from ssba.columns.space import build_space
from ssba.models.model import adapt
from ssba.whitebox.read_model import Closed, Opened, open_model
from ssba.whitebox.structure import affine_problem, columnwise_problem

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "speed": RANDOM.choice([50, 100], 200),
        "job": RANDOM.choice(["a", "b", "c"], 200),
        "dose": RANDOM.normal(size=200),
    }
)
CLASS = (FRAME["speed"] == 50) ^ (FRAME["dose"] > 1) | (FRAME["job"] == "b")
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
RANKED = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
NO_SPEED = ("drop", ["job"])


def opened(*steps: Any) -> list[Opened | Closed]:
    """What is read of a linear model and of a tree behind the steps."""
    space, Z = build_space(FRAME)
    models = [make_pipeline(*steps, last) for last in (LogisticRegression(), DecisionTreeClassifier())]
    return [open_model(model.fit(FRAME, CLASS), adapt(model, FRAME), space, Z) for model in models]


ENCODED_NUMBERS = {
    "by name": make_column_transformer((ONE_HOT, ["speed", "job"]), ("passthrough", ["dose"])),
    "by one name": make_column_transformer((RANKED, ["speed"]), ("passthrough", ["dose"])),
    "by place": make_column_transformer((ONE_HOT, [0]), ("passthrough", [2])),
    "by a negative place": make_column_transformer((ONE_HOT, [-3]), ("passthrough", [2])),
    "by a slice of places": make_column_transformer((ONE_HOT, slice(0, 2)), ("passthrough", [2])),
    "by a slice of names": make_column_transformer((ONE_HOT, slice("speed", "job")), ("passthrough", [2])),
    "by a mask": make_column_transformer((ONE_HOT, [True, False, False]), ("passthrough", [2])),
    "by a selector": make_column_transformer(
        (ONE_HOT, make_column_selector(dtype_include="int64")), ("passthrough", ["dose"])
    ),
    "as the remainder": make_column_transformer(("passthrough", ["dose"]), NO_SPEED, remainder=RANKED),
    "after an imputer": make_column_transformer(
        (make_pipeline(SimpleImputer(), ONE_HOT), ["speed"]), ("passthrough", ["dose"])
    ),
    "in a union": make_column_transformer(
        (make_union(StandardScaler(), ONE_HOT), ["speed"]), ("passthrough", ["dose"])
    ),
    "in a nested transformer": make_column_transformer(
        (ColumnTransformer([("inner", ONE_HOT, ["speed"])]), ["job", "speed"]), ("passthrough", ["dose"])
    ),
    "of a rare value": make_column_transformer(
        (SimpleImputer(missing_values=75), ["speed"]), ("passthrough", ["dose"])
    ),
}


@pytest.mark.parametrize("name", ENCODED_NUMBERS)
def test_numbers_whose_values_are_told_apart_one_by_one_keep_a_model_closed(name: str) -> None:
    reasons = [one.reason for one in opened(ENCODED_NUMBERS[name]) if isinstance(one, Closed)]
    assert len(reasons) == 2
    assert every("column 'speed' holds numbers" in reason for reason in reasons)


def test_an_encoder_behind_another_step_may_get_any_column() -> None:
    first = make_column_transformer((RANKED, ["job"]), remainder="passthrough")
    found = opened(first, make_column_transformer((ONE_HOT, [1]), remainder="passthrough"))
    assert every(isinstance(one, Closed) for one in found)


ENCODED_LEVELS = {
    "by name": make_column_transformer((ONE_HOT, ["job"]), ("passthrough", ["speed", "dose"])),
    "of few levels": make_column_transformer(
        (OneHotEncoder(min_frequency=0.4), ["job"]), (StandardScaler(), ["speed", "dose"])
    ),
    "by a selector": make_column_transformer(
        (ONE_HOT, make_column_selector(dtype_include=["object", "string"])), remainder=MinMaxScaler()
    ),
    "after an imputer": make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), ONE_HOT), ["job"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["speed", "dose"]),
    ),
    "of a level that stands for none": make_column_transformer(
        (make_pipeline(SimpleImputer(missing_values="c", strategy="most_frequent"), ONE_HOT), ["job"]),
        remainder=FunctionTransformer(),
    ),
    "in a nested transformer": make_column_transformer(
        (ColumnTransformer([("inner", ONE_HOT, ["job"])]), ["speed", "job"]),
        ("passthrough", ["speed", "dose"]),
    ),
}


@pytest.mark.parametrize("name", ENCODED_LEVELS)
def test_levels_may_be_encoded(name: str) -> None:
    assert not any(isinstance(one, Closed) for one in opened(ENCODED_LEVELS[name]))


def test_clipped_numbers_grow_but_are_not_affine() -> None:
    clipped = make_column_transformer((MinMaxScaler(clip=True), ["speed", "dose"]))
    linear, trees = opened(clipped)
    assert linear == Closed("a MinMaxScaler in the pipeline clips its values")
    assert not isinstance(trees, Closed)


def test_columns_that_are_mixed_are_affine_but_not_columnwise() -> None:
    linear, trees = opened(make_column_transformer((PCA(2), ["speed", "dose"])))
    assert not isinstance(linear, Closed)
    assert trees == Closed("the step PCA in front of the trees mixes columns")


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_an_imputer_of_missing_cells_leaves_numbers_alone(missing: Any) -> None:
    space, _ = build_space(FRAME)
    steps = [SimpleImputer(missing_values=missing)]
    assert affine_problem(steps, space) is None
    assert columnwise_problem(steps, space) is None


def test_a_step_that_is_not_known_keeps_a_model_closed() -> None:
    space, _ = build_space(FRAME)
    reason = "the step FunctionTransformer in the pipeline is not one that can be read"
    assert affine_problem([FunctionTransformer(np.log1p)], space) == reason
    assert columnwise_problem([Pipeline([("log", FunctionTransformer(np.log1p))])], space) == reason
