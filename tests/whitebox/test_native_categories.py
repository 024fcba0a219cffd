"""Trees that split categories themselves: the nearest of all rows of a small world is what is proved."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tests.support import Matrix, setting
from tests.whitebox.worlds import World, check, opened_world, raw_by_leaves

import ssba
from ssba.models.model import adapt
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween
from ssba.whitebox.exact import nearest_by_cpsat, nearest_by_search, nearest_exact
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import open_model

LEVELS = ("p", "q", "r", "s", "t")
WHOLE = {"a": ssba.integer(), "b": ssba.integer()}
LIGHTGBM: dict[str, Any] = {
    "n_estimators": 6,
    "min_data_per_group": 1,
    "min_child_samples": 3,
    "cat_smooth": 1,
    "n_jobs": 1,
    "verbose": -1,
}
XGBOOST: dict[str, Any] = {"n_estimators": 6, "max_depth": 3, "enable_categorical": True, "n_jobs": 1}
CATBOOST: dict[str, Any] = {
    "iterations": 6,
    "depth": 3,
    "cat_features": ["c", "e"],
    "one_hot_max_size": 9,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
}


def frame(seed: int, *, missing: bool, in_categories: bool = True) -> pd.DataFrame:
    """Whole numbers and categories; with cells missing, where that is asked for."""
    random = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": random.integers(0, 4, 150).astype(float),
            "c": pd.Categorical(random.choice(LEVELS, 150), categories=list(LEVELS)),
            "b": random.integers(0, 3, 150),
            "e": pd.Categorical(random.choice(["no", "yes"], 150)),
        }
    )
    if missing:
        data.loc[random.random(150) < 0.2, "a"] = np.nan
        if in_categories:
            data.loc[random.random(150) < 0.2, "c"] = None
    return data


def answers_of(data: pd.DataFrame, seed: int) -> Any:
    """A table of random numbers, looked up by the cells of a row."""
    table = np.random.default_rng(seed).random((5, 6, 3, 2))
    place = data["a"].fillna(4).astype(int), data["c"].cat.codes, data["b"], data["e"].cat.codes
    return table[tuple(np.asarray(one) for one in place)]


def classes_of(data: pd.DataFrame, seed: int, count: int) -> Any:
    return np.minimum((answers_of(data, seed) * count).astype(int), count - 1)


def xgboost_booster(data: pd.DataFrame, y: Any) -> Any:
    rows = xgboost.DMatrix(data, y, enable_categorical=True)
    several = {"objective": "multi:softprob", "num_class": y.max() + 1}
    goal = several if y.max() > 1 else {"objective": "binary:logistic"}
    return xgboost.train({"max_depth": 3, "nthread": 1, **goal}, rows, 6)


def lightgbm_booster(data: pd.DataFrame, y: Any) -> Any:
    several = {"objective": "multiclass", "num_class": y.max() + 1}
    goal = several if y.max() > 1 else {"objective": "binary"}
    settings = {**LIGHTGBM, **goal}
    return lightgbm.train(settings, lightgbm.Dataset(data, y), settings.pop("n_estimators"))


CLASSIFIERS: dict[str, Callable[[Any, Any], Any]] = {
    "lightgbm": lambda data, y: lightgbm.LGBMClassifier(**LIGHTGBM).fit(data, y),
    "lightgbm, one level at a time": lambda data, y: lightgbm.LGBMClassifier(
        max_cat_to_onehot=9, **LIGHTGBM
    ).fit(data, y),
    "lightgbm booster": lightgbm_booster,
    "xgboost": lambda data, y: xgboost.XGBClassifier(**XGBOOST).fit(data, y),
    "xgboost, one level at a time": lambda data, y: xgboost.XGBClassifier(max_cat_to_onehot=9, **XGBOOST).fit(
        data, y
    ),
    "xgboost, sets of levels": lambda data, y: xgboost.XGBClassifier(max_cat_to_onehot=1, **XGBOOST).fit(
        data, y
    ),
    "xgboost booster": xgboost_booster,
    "histogram boosting": lambda data, y: HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=3, categorical_features="from_dtype"
    ).fit(data, y),
    "catboost": lambda data, y: catboost.CatBoostClassifier(**CATBOOST).fit(data, y),
    "catboost, level by level": lambda data, y: catboost.CatBoostClassifier(
        grow_policy="Depthwise", **CATBOOST
    ).fit(data, y),
    "catboost, leaf by leaf": lambda data, y: catboost.CatBoostClassifier(
        grow_policy="Lossguide", **CATBOOST
    ).fit(data, y),
}


def world(model: Any, data: Any, goal: Goal, features: Any = None) -> World:
    made = setting(data, WHOLE if features is None else features)
    opened = opened_world(model, data, goal, made)
    assert isinstance(opened.opened, Trees)
    return opened


def every_row(one: World, *, missing: tuple[str, ...] = ()) -> Matrix:
    """Every row of the world, with missing cells in some of the columns."""
    values = [np.arange(len(feature.levels) or 4.0) for feature in one.setting.space.features]
    names = one.setting.space.names
    some = [
        np.append(own, np.nan) if name in missing else own for name, own in zip(names, values, strict=True)
    ]
    return np.array(list(itertools.product(*some)))


def can_miss(name: str) -> tuple[str, ...]:
    """CatBoost refuses a missing category."""
    return ("a",) if "catboost" in name else ("a", "c")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_trees_as_read_give_the_models_probabilities_on_every_row(
    name: str, missing: bool, classes: int
) -> None:
    data = frame(classes, missing=missing, in_categories="c" in can_miss(name))
    one = world(CLASSIFIERS[name](data, classes_of(data, 3, classes)), data, Reach(1))
    assert isinstance(one.opened, Trees)
    assert one.opened.coded.tolist() == [False, True, False, True]
    assert one.opened.takes_missing(np.arange(4) == 0)
    assert one.opened.takes_missing(np.arange(4) <= 1) == ("c" in can_miss(name))
    rows = every_row(one, missing=can_miss(name) if missing else ())
    mine = one.opened.scoring.output(raw_by_leaves(one.opened, rows)).scores
    asked = one.model.verdict(one.setting.space.decode(rows)).scores
    assert mine is not None
    assert asked is not None
    assert np.allclose(mine, asked, rtol=0, atol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_proved_is_the_nearest_of_all_rows(name: str, missing: bool) -> None:
    proved = []
    goals: tuple[Goal, ...] = (Reach(1), Leave(0))
    for seed, goal in enumerate(goals):
        data = frame(seed, missing=missing, in_categories="c" in can_miss(name))
        one = world(CLASSIFIERS[name](data, classes_of(data, seed, 3)), data, goal)
        queries = [row for _, row in data[~one.reached(goal, one.setting.Z)].iterrows()]
        # One free column less, and one linear row more.
        for query, rule in itertools.product(queries[:4], ("b == x.b", "c != 'q'", "b + 2 * a <= 5")):
            if any(pd.isna(query[column]) for column in ("a", "c") if column in rule):
                continue
            region = one.setting.region(query, rule)
            question, limit = one.question(goal, region), one.limit(goal, region)
            answer = nearest_exact(one.opened, question)
            check(answer, question, limit)
            proved.append(answer.proved)
    assert len(proved) > 8
    assert np.mean(proved) > 0.95


@pytest.mark.parametrize("name", ["lightgbm", "xgboost, sets of levels", "catboost"])
def test_local_search_and_cpsat_know_sets_of_levels(name: str) -> None:
    data = frame(5, missing=False)
    goal = Reach(1)
    one = world(CLASSIFIERS[name](data, classes_of(data, 5, 3)), data, goal)
    assert isinstance(one.opened, Trees)
    for query in data.index[:6]:
        region = one.setting.region(data.loc[query])
        question, limit = one.question(goal, region), one.limit(goal, region)
        near = nearest_by_search(one.opened, question)
        assert question.distance(near) >= limit * (1 - 1e-9)
        check(nearest_by_cpsat(one.opened, question, known=near), question, limit)


REGRESSORS: dict[str, Callable[[Any, Any], Any]] = {
    "lightgbm": lambda data, y: lightgbm.LGBMRegressor(**LIGHTGBM).fit(data, y),
    "xgboost": lambda data, y: xgboost.XGBRegressor(**XGBOOST).fit(data, y),
    "histogram boosting": lambda data, y: HistGradientBoostingRegressor(
        max_iter=6, categorical_features="from_dtype"
    ).fit(data, y),
    "catboost": lambda data, y: catboost.CatBoostRegressor(**CATBOOST).fit(data, y),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_of_trees_with_categories_are_proved(name: str) -> None:
    data = frame(2, missing=False)
    model = REGRESSORS[name](data, answers_of(data, 2))
    seen = np.sort(model.predict(data))
    goal = ValueBetween(float(seen[-15]), math.inf)
    one = world(model, data, goal)
    for query in data.index[:5]:
        region = one.setting.region(data.loc[query])
        question, limit = one.question(goal, region), one.limit(goal, region)
        check(nearest_exact(one.opened, question), question, limit)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram boosting", "catboost"])
def test_a_probability_of_trees_with_categories_is_proved(name: str) -> None:
    data, goal = frame(6, missing=False), Probability(1, 0.6)
    one = world(CLASSIFIERS[name](data, classes_of(data, 6, 2)), data, goal)
    for query in data.index[:5]:
        region = one.setting.region(data.loc[query])
        question, limit = one.question(goal, region), one.limit(goal, region)
        check(nearest_exact(one.opened, question), question, limit)


@pytest.mark.parametrize("name", ["lightgbm", "histogram boosting", "catboost"])
def test_a_level_that_training_never_saw_goes_where_the_model_sends_it(name: str) -> None:
    trained = frame(7, missing="catboost" not in name)
    wider = trained.assign(c=trained["c"].cat.set_categories([*LEVELS[::-1], "unheard of"]))
    levels = {"c": ssba.categorical([*LEVELS[::-1], "unheard of"]), **WHOLE}
    one = world(CLASSIFIERS[name](trained, classes_of(trained, 7, 2)), wider, Reach(1), levels)
    assert isinstance(one.opened, Trees)
    rows = every_row(one)
    assert len(rows) == 4 * 6 * 4 * 2
    mine = one.opened.scoring.output(raw_by_leaves(one.opened, rows)).labels
    np.testing.assert_array_equal(mine, one.model.labels(one.setting.space.decode(rows)).labels)


def test_xgboost_knows_the_categories_of_polars() -> None:
    data = frame(8, missing=False)
    other = pl.DataFrame(
        {
            "a": data["a"].to_list(),
            "c": pl.Series(data["c"].to_list(), dtype=pl.Enum(["t", "é", "p", "q", "r", "s"])),
            "b": data["b"].to_list(),
            "e": pl.Series(data["e"].to_list(), dtype=pl.Enum(["no", "yes"])),
        }
    )
    model = xgboost.XGBClassifier(**XGBOOST).fit(other, classes_of(data, 8, 2))
    one = world(model, other, Reach(1))
    rows = every_row(one)
    assert isinstance(one.opened, Trees)
    mine = one.opened.scoring.output(raw_by_leaves(one.opened, rows)).labels
    np.testing.assert_array_equal(mine, one.model.labels(one.setting.space.decode(rows)).labels)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: lightgbm.LGBMClassifier(**LIGHTGBM).fit(X, y, categorical_feature=[1]),
        lambda X, y: xgboost.XGBClassifier(feature_types=["q", "c", "q"], **XGBOOST).fit(X, y),
        lambda X, y: HistGradientBoostingClassifier(max_iter=6, categorical_features=[1]).fit(X, y),
    ],
)
def test_codes_of_an_array_are_categories_once_they_are_declared(fit: Callable[[Any, Any], Any]) -> None:
    data = frame(9, missing=False)
    X = np.column_stack([data["a"], data["c"].cat.codes, data["b"]]).astype(float)
    model = fit(X, classes_of(data, 9, 2))
    plain = setting(X)
    closed = open_model(model, adapt(model, X), plain.space, plain.Z)
    assert getattr(closed, "reason", "") == (
        "column 'x1' holds numbers, but the model splits it as categories; declare it with "
        "features={'x1': ssba.categorical()}"
    )
    whole = {"x0": ssba.integer(), "x1": ssba.categorical(), "x2": ssba.integer()}
    one = world(model, X, Reach(1), whole)
    for query in X[:5]:
        region = one.setting.region(query)
        question, limit = one.question(Reach(1), region), one.limit(Reach(1), region)
        check(nearest_exact(one.opened, question), question, limit)
