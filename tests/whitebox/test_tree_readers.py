"""Every library's trees, as read, give the model's own scores: on random rows and at the thresholds."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.whitebox.worlds import raw_by_leaves

from ssba.columns.space import Matrix, Space, build_space
from ssba.models.model import adapt
from ssba.whitebox.floats import last_true
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import Closed, open_model

MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "tree of numbers": lambda: DecisionTreeRegressor(random_state=0),
    "forest": lambda: RandomForestClassifier(10, random_state=0),
    "forest of impure leaves": lambda: RandomForestClassifier(10, min_samples_leaf=7, random_state=0),
    "forest of numbers": lambda: RandomForestRegressor(10, min_samples_leaf=3, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(10, random_state=0),
    "extra trees of numbers": lambda: ExtraTreesRegressor(10, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=10, random_state=0),
    "boosting of numbers": lambda: GradientBoostingRegressor(n_estimators=10, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "histogram boosting of numbers": lambda: HistGradientBoostingRegressor(max_iter=10, random_state=0),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=10, n_jobs=1),
    "xgboost of numbers": lambda: xgboost.XGBRegressor(n_estimators=10, n_jobs=1),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1),
    "lightgbm of numbers": lambda: lightgbm.LGBMRegressor(n_estimators=10, n_jobs=1, verbose=-1),
    "scaled forest": lambda: make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
}


def fitted(name: str, classes: int = 2, dtype: Any = np.float64) -> tuple[Any, Any]:
    X, y = make_classification(
        n_samples=300, n_features=6, n_informative=5, n_redundant=0, n_classes=classes, random_state=3
    )
    X = X.astype(dtype)
    return MODELS[name]().fit(X, y), X


def opened_trees(model: Any, rows: Any) -> tuple[Trees, Space, Matrix]:
    space, Z = build_space(rows)
    opened = open_model(model, adapt(model, rows), space, Z)
    assert isinstance(opened, Trees)
    return opened, space, Z


def scores_of(trees: Trees, raw: Matrix) -> Matrix:
    scores = trees.scoring.output(raw).scores
    assert scores is not None
    return scores


def probing_rows(trees: Trees, Z: Matrix) -> Matrix:
    """Random rows, rows with cells exactly at cuts, and rows one float beyond them."""
    random = np.random.default_rng(0)
    spread = Z.max(axis=0) - Z.min(axis=0)
    anywhere = random.uniform(Z.min(axis=0) - spread, Z.max(axis=0) + spread, (1000, Z.shape[1]))
    at = anywhere.copy()
    for j, cuts in enumerate(trees.cuts):
        if len(cuts):
            at[:, j] = random.choice(cuts, len(at))
    return np.concatenate([anywhere, at, np.nextafter(at, np.inf)])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_trees_as_read_give_the_models_answers(name: str, classes: int) -> None:
    model, X = fitted(name, classes)
    trees, _, Z = opened_trees(model, X)
    rows = probing_rows(trees, Z)
    raw = raw_by_leaves(trees, rows)
    if hasattr(model, "classes_"):
        # Probabilities differ from leaf to leaf, so that a row in a wrong leaf shows.
        assert np.allclose(scores_of(trees, raw), model.predict_proba(rows), rtol=0, atol=1e-5)
        return
    values = trees.scoring.output(raw).values
    assert values is not None
    assert np.allclose(values, model.predict(rows), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", [name for name in MODELS if name != "scaled forest"])
def test_trees_of_a_single_column_are_read(name: str) -> None:
    _, X = fitted("tree")
    model = MODELS[name]().fit(X[:, :1], X[:, 0] > 0.3)
    trees, _, _ = opened_trees(model, X[:, :1])
    raw = raw_by_leaves(trees, X[:, :1])
    if hasattr(model, "classes_"):
        assert np.allclose(scores_of(trees, raw), model.predict_proba(X[:, :1]), rtol=0, atol=1e-5)
    else:
        values = trees.scoring.output(raw).values
        assert values is not None
        assert np.allclose(values, model.predict(X[:, :1]), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ["forest", "histogram boosting", "xgboost", "lightgbm"])
def test_cells_of_32_bits_are_told_apart_where_the_model_does(name: str) -> None:
    model, X = fitted(name, dtype=np.float32)
    trees, space, Z = opened_trees(model, X)
    rows = space.grid.snap(probing_rows(trees, Z))
    mine = scores_of(trees, raw_by_leaves(trees, rows))
    assert np.allclose(mine, model.predict_proba(rows.astype(np.float32)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["tree", "histogram boosting", "xgboost"])
def test_missing_cells_go_the_way_the_tree_learned(name: str) -> None:
    _, X = fitted("tree")
    X[::3, 0] = np.nan
    model = MODELS[name]().fit(X, X[:, 1] > np.where(np.isnan(X[:, 0]), 0.5, -0.5))
    space, Z = build_space(X)
    trees = open_model(model, adapt(model, X), space, Z)
    assert isinstance(trees, Trees)
    assert trees.takes_missing(np.any(np.isnan(Z), axis=0))
    mine = scores_of(trees, raw_by_leaves(trees, Z))
    assert np.allclose(mine, model.predict_proba(X), rtol=0, atol=1e-5)


def test_early_stopping_uses_the_rounds_that_predict_uses() -> None:
    _, X = fitted("tree")
    y = (X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 0).astype(int)
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    trees, _, Z = opened_trees(model, X)
    assert np.allclose(scores_of(trees, raw_by_leaves(trees, Z)), model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(PolynomialFeatures(), DecisionTreeClassifier()),
        make_pipeline(PolynomialFeatures(), LogisticRegression()),
        make_pipeline(QuantileTransformer(n_quantiles=50), DecisionTreeClassifier()),
        make_pipeline(PowerTransformer(), DecisionTreeClassifier()),
        GradientBoostingClassifier(n_estimators=3, init=DecisionTreeClassifier(max_depth=1)),
        xgboost.XGBClassifier(n_estimators=3, booster="dart", n_jobs=1),
        xgboost.XGBRegressor(n_estimators=3, objective="count:poisson", n_jobs=1),
    ],
)
def test_what_we_cannot_read_stays_closed(model: Any) -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 4, 100), random.normal(size=(100, 2))]).astype(float)
    model.fit(X, (X[:, 0] * X[:, 1] > 0.5).astype(int))
    space, Z = build_space(X)
    numbers = hasattr(model, "objective")
    assert isinstance(open_model(model, adapt(model, X, wants_numbers=numbers), space, Z), Closed)


def test_a_booster_that_answers_with_numbers_of_classes_stays_closed() -> None:
    X, y = zeros_and_halves()
    settings = {"objective": "multi:softmax", "num_class": 2, "nthread": 1}
    booster = xgboost.train(settings, xgboost.DMatrix(X, y.astype(int)), 3)
    space, Z = build_space(X)
    found = open_model(booster, adapt(booster, X, wants_numbers=True), space, Z)
    assert found == Closed("an XGBoost Booster with objective multi:softmax answers with numbers of classes")


def test_too_many_levels_stay_closed() -> None:
    names = [f"k{i}" for i in range(70)]
    data = pd.DataFrame({"c": pd.Categorical(names * 4, categories=names), "a": np.arange(280) % 9})
    model = HistGradientBoostingClassifier(max_iter=3).fit(data, data["a"] > 4)
    space, Z = build_space(data)
    found = open_model(model, adapt(model, data), space, Z)
    assert found == Closed("column 'c' has 70 levels, and trees are opened with up to 63")


def zeros_and_halves() -> tuple[Matrix, Any]:
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(-2, 3, 300), random.normal(size=300)]).astype(float)
    return X, X[:, 0] ** 2 + X[:, 1] > 1.5


QUIET: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "n_estimators": 5}
OTHER_MEANINGS: dict[str, Any] = {
    "xgboost reads zeros as missing": xgboost.XGBClassifier(n_estimators=5, n_jobs=1, missing=0.0),
    "xgboost compares raw sums with a half": xgboost.XGBClassifier(
        n_estimators=5, n_jobs=1, objective="binary:logitraw"
    ),
    "lightgbm reads zeros as missing": lightgbm.LGBMClassifier(zero_as_missing=True, **QUIET),
    "lightgbm has linear leaves": lightgbm.LGBMClassifier(linear_tree=True, **QUIET),
    "lightgbm stops adding up": lightgbm.LGBMClassifier(
        pred_early_stop=True, pred_early_stop_freq=1, pred_early_stop_margin=0.1, **QUIET
    ),
    "lightgbm leaves the first trees out": lightgbm.LGBMClassifier(start_iteration_predict=2, **QUIET),
    "lightgbm squares its sums": lightgbm.LGBMRegressor(reg_sqrt=True, **QUIET),
    "lightgbm asks class by class": lightgbm.LGBMClassifier(objective="multiclassova", num_class=2, **QUIET),
    "lightgbm averages": lightgbm.LGBMClassifier(
        boosting_type="rf", subsample=0.5, subsample_freq=1, **QUIET
    ),
    "boosting begins with another model": GradientBoostingRegressor(n_estimators=3, init=LinearRegression()),
    "histogram boosting counts": HistGradientBoostingRegressor(max_iter=3, loss="poisson"),
}


REASONS = {
    "xgboost reads zeros as missing": "XGBoost reads 0.0 as a missing cell",
    "xgboost compares raw sums with a half": "XGBoost's objective binary:logitraw is not one that",
    "lightgbm reads zeros as missing": "the LightGBM model reads zeros as missing cells",
    "lightgbm has linear leaves": "the leaves of the LightGBM model are linear models",
    "lightgbm stops adding up": "LightGBM's setting pred_early_stop leaves trees out of the sums",
    "lightgbm leaves the first trees out": "LightGBM's setting start_iteration_predict leaves trees out of",
    "lightgbm squares its sums": "LightGBM's objective regression sqrt is not one that can be opened",
    "lightgbm asks class by class": "LightGBM's objective multiclassova num_class:2 sigmoid:1 is not",
    "lightgbm averages": "LightGBM averages the trees of this model instead of adding them up",
    "boosting begins with another model": "the boosting begins with what another model says of the row",
    "histogram boosting counts": "the model as read disagrees with its own scores at",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHER_MEANINGS)
def test_trees_that_mean_something_else_than_sums_of_leaves_stay_closed(name: str) -> None:
    X, y = zeros_and_halves()
    model = OTHER_MEANINGS[name].fit(X, y.astype(int))
    space, Z = build_space(X)
    numbers = not hasattr(model, "classes_")
    found = open_model(model, adapt(model, X, wants_numbers=numbers), space, Z)
    assert isinstance(found, Closed)
    assert found.reason.startswith(REASONS[name])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1, base_score=0.2),
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1, num_parallel_tree=3, subsample=0.5),
        xgboost.XGBRFClassifier(n_estimators=5, n_jobs=1),
        xgboost.XGBClassifier(n_estimators=5, n_jobs=1, monotone_constraints=(1, 0)),
        lightgbm.LGBMClassifier(boosting_type="dart", drop_rate=0.5, **QUIET),
        lightgbm.LGBMClassifier(monotone_constraints=[1, 0], sigmoid=2.0, **QUIET),
        GradientBoostingClassifier(n_estimators=5, init="zero"),
        GradientBoostingClassifier(n_estimators=5, loss="exponential"),
        HistGradientBoostingClassifier(max_iter=5, monotonic_cst=[1, 0]),
        RandomForestClassifier(5, class_weight="balanced", max_depth=3, monotonic_cst=[1, 0]),
    ],
)
def test_settings_that_keep_sums_of_leaves_are_read(model: Any) -> None:
    X, y = zeros_and_halves()
    trees, _, Z = opened_trees(model.fit(X, y.astype(int)), X)
    rows = probing_rows(trees, Z)
    rows[:, 0] = np.round(rows[:, 0])
    labels = trees.scoring.output(raw_by_leaves(trees, rows)).labels
    assert labels is not None
    assert (labels == model.predict(rows)).mean() == 1.0


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_early_stopping_of_lightgbm_uses_the_rounds_that_predict_uses() -> None:
    _, X = fitted("tree")
    y = (X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1)
    stop = lightgbm.early_stopping(3, verbose=False)
    model.fit(X[:200], y[:200], eval_X=(X[200:],), eval_y=(y[200:],), callbacks=[stop])
    assert 0 < model.best_iteration_ < 200
    trees, _, Z = opened_trees(model, X)
    assert np.allclose(
        scores_of(trees, raw_by_leaves(trees, Z)), np.asarray(model.predict_proba(X)), atol=1e-9
    )


def test_the_last_value_of_a_condition_is_found_to_the_last_bit() -> None:
    random = np.random.default_rng(0)
    ends = np.concatenate([random.normal(size=50), random.normal(size=50) * 1e-300, [0.0, -0.0, 1e25]])
    no = np.zeros(len(ends), dtype=bool)
    far = np.full(len(ends), 1e30)
    assert (last_true(lambda v: v <= ends, -far, far, no, no) == ends).all()
    below = last_true(lambda v: v < ends, -far, far, no, no)
    assert (below < ends).all()
    assert (np.nextafter(below, np.inf) >= ends).all()


def test_a_condition_that_never_or_always_holds_has_no_last_value() -> None:
    no, far = np.zeros(2, dtype=bool), np.full(2, 10.0)
    assert last_true(lambda v: np.array([False, True]) & (v == v), -far, far, no, no).tolist() == [
        -np.inf,
        np.inf,
    ]
