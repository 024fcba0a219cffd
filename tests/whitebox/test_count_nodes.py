"""Nodes are counted as they are read, library by library, and a large model is told by its count."""

from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ssba.whitebox import read_model
from ssba.whitebox.count_nodes import count_nodes
from ssba.whitebox.read_model import is_quickly_read
from ssba.whitebox.tree_readers import read_trees

X = np.random.default_rng(3).normal(size=(150, 3))
Y = (X[:, 0] > 0.4).astype(int) + (X[:, 1] > 0.2)
TREES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(4, random_state=0),
    "regressor": ExtraTreesRegressor(4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=4),
    "one a class": OneVsRestClassifier(RandomForestClassifier(3, random_state=0)),
    "xgboost": xgboost.XGBClassifier(n_estimators=4, n_jobs=1),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1),
    "catboost": catboost.CatBoostClassifier(
        iterations=4, verbose=0, allow_writing_files=False, thread_count=1
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_the_count_is_that_of_the_trees_as_read(name: str) -> None:
    model = TREES[name].fit(X, Y)
    assert count_nodes(model) == len(read_trees(model, lambda: X).nodes.left)


def test_boosters_are_counted_like_the_models_around_them() -> None:
    for name, inner in (("xgboost", "get_booster"), ("lightgbm", "booster_")):
        model = TREES[name].fit(X, Y)
        booster = getattr(model, inner)
        assert count_nodes(booster() if callable(booster) else booster) == count_nodes(model)


@pytest.mark.parametrize("model", [LogisticRegression(), LogisticRegression().fit, "text"])
def test_what_is_no_model_of_trees_has_no_count(model: Any) -> None:
    assert count_nodes(model) is None
    assert not is_quickly_read(model)


def test_few_nodes_are_quickly_read_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_pipeline(StandardScaler(), RandomForestClassifier(4, random_state=0)).fit(X, Y)
    nodes = count_nodes(model[-1])
    assert nodes is not None
    assert is_quickly_read(model)
    monkeypatch.setattr(read_model, "_QUICKLY_READ", nodes - 1)
    assert not is_quickly_read(model)
