"""CatBoost's exported trees: borders of 32 bits, missing cells by the column's rule, what is not opened."""

from typing import Any

import catboost
import numpy as np
import pandas as pd
import pytest
from tests.whitebox.worlds import raw_by_leaves

from ssba.columns.space import build_space
from ssba.models.model import adapt
from ssba.whitebox.catboost_reader import catboost_model
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import Closed, Opened, open_model

QUIET: dict[str, Any] = {"iterations": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 3))
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
FRAME = pd.DataFrame(
    {"dose": X[:, 0], "job": RANDOM.choice(list("abcde"), 200), "code": RANDOM.integers(0, 4, 200)}
)


def opened(model: Any, rows: Any) -> Opened | Closed:
    space, Z = build_space(rows)
    return open_model(model, adapt(model, rows), space, Z)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_numbers_beside_a_border_go_where_the_model_sends_them(policy: str) -> None:
    model = catboost.CatBoostClassifier(grow_policy=policy, **QUIET).fit(X, Y)
    trees = opened(model, X)
    assert isinstance(trees, Trees)
    cuts = [(j, cut) for j, own in enumerate(trees.cuts) for cut in own]
    assert len(cuts) > 5
    for j, cut in cuts:
        rows = np.tile(X[0], (2, 1))
        rows[:, j] = cut, np.nextafter(cut, np.inf)
        mine = raw_by_leaves(trees, rows)
        assert np.allclose(mine[:, 0], model.predict(rows, prediction_type="RawFormulaVal"), atol=1e-12)


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_numbers_go_where_the_column_sends_them(mode: str) -> None:
    gappy = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
    model = catboost.CatBoostClassifier(nan_mode=mode, **QUIET).fit(gappy, Y)
    trees = opened(model, gappy)
    assert isinstance(trees, Trees)
    assert trees.takes_missing(np.array([True, False, True]))


def test_statistics_of_the_target_are_not_opened() -> None:
    model = catboost.CatBoostClassifier(cat_features=["job"], **QUIET).fit(FRAME, Y)
    assert opened(model, FRAME) == Closed(
        "CatBoost with categorical features uses target statistics, which are not opened; train it with "
        "one_hot_max_size at least the number of levels to do without them"
    )


def test_whole_numbers_that_are_categories_must_be_declared() -> None:
    model = catboost.CatBoostClassifier(cat_features=["job", "code"], one_hot_max_size=9, **QUIET)
    found = opened(model.fit(FRAME, FRAME["code"] % 2), FRAME)
    assert isinstance(found, Closed)
    assert found.reason.startswith("column 'code' holds numbers, but the model splits it as categories")


def test_other_losses_are_not_opened() -> None:
    model = catboost.CatBoostRegressor(loss_function="Poisson", **QUIET).fit(X, Y)
    assert opened(model, X) == Closed("CatBoost's loss Poisson is not one that can be opened")


def test_the_model_is_not_changed_by_being_read() -> None:
    model = catboost.CatBoostClassifier(**QUIET).fit(X, Y)
    before = model.predict_proba(X)
    catboost_model(model, lambda: X)
    np.testing.assert_array_equal(model.predict_proba(X), before)
