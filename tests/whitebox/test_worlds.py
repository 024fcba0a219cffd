"""Small worlds where every legal row can be asked: no bound is above the nearest of them."""

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.support import setting
from tests.whitebox.worlds import World, check, opened_world

import ssba
from ssba.columns.distance import Norm
from ssba.constraints.constraint import constraint
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween
from ssba.whitebox.additive import Additive
from ssba.whitebox.exact import Question, nearest_by_cpsat, nearest_by_search, nearest_exact
from ssba.whitebox.forest import Trees

RULES: list[list[str]] = [
    [],
    ["if a changes: b >= 2"],
    ["if a >= 2: b >= 3"],
    ["if c changes: a >= 2", "b <= x.b + 1"],
    ["if a >= 3: c == 'p'"],
    ["a + b <= 4"],
    ["a - b >= 1"],
    ["a + s >= 3"],
    ["a == x.a", "b == x.b", "s == x.s"],
    ["c != 'p'", "a + b >= 3"],
]


def frame(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": random.integers(0, 4, 120),
            "b": random.integers(0, 4, 120),
            "s": random.integers(0, 5, 120) * 0.5,
            "c": random.choice(["p", "q", "r"], 120),
        }
    )


def world(last: Any, seed: int, norm: Norm, goal: Goal) -> World:
    data = frame(seed)
    random = np.random.default_rng(seed)
    table = random.random((4, 4, 5, 3)) + np.arange(4)[:, None, None, None] / 4
    code = data["c"].map({"p": 0, "q": 1, "r": 2})
    value = table[data["a"], data["b"], (data["s"] * 2).astype(int), code]
    y = value if isinstance(goal, ValueBetween) else (value > np.median(value)).astype(int)
    steps = make_column_transformer((StandardScaler(), ["a", "b", "s"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(steps, last).fit(data, y)
    made = setting(data, {"s": ssba.numeric(step=0.5)}, norm)
    return opened_world(model, data, goal, made)


def questions(one: World, goal: Goal, queries: int = 2) -> list[tuple[Question, float]]:
    asked = []
    for i, rules in itertools.product(range(queries), RULES):
        query = frame(0).iloc[i].to_dict()
        if i % 2:
            query["s"] = 0.7  # off its step
        x = one.setting.space.encode_row(query)
        for region in one.setting.regions(x, [constraint(text) for text in rules]):
            asked.append((one.question(goal, region), one.limit(goal, region)))
    return asked


TREES: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "stump": lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
    "pure forest": lambda: RandomForestClassifier(4, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "boosting from zero": lambda: GradientBoostingClassifier(n_estimators=4, init="zero", random_state=0),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1),
}


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("name", TREES)
def test_trees_with_rules_are_proved_in_every_region(name: str, norm: Norm) -> None:
    goal: Goal = Reach(1) if norm == "l2" else Leave(1)
    one = world(TREES[name](), 1 if norm == "l2" else 2, norm, goal)
    asked = questions(one, goal)
    answers = [nearest_exact(one.opened, question) for question, _ in asked]
    for answer, (question, limit) in zip(answers, asked, strict=True):
        check(answer, question, limit)
    assert np.mean([answer is not None and answer.proved for answer in answers]) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "pure forest", "xgboost"])
def test_no_way_to_solve_trees_raises_or_claims_too_much(name: str) -> None:
    goal = Reach(1)
    one = world(TREES[name](), 3, "l2", goal)
    assert isinstance(one.opened, Trees)
    for question, limit in questions(one, goal):
        known = nearest_by_search(one.opened, question)
        assert question.distance(known) >= limit * (1 - 1e-9)
        if question.region.linear is None:
            check(nearest_by_cpsat(one.opened, question, known=known), question, limit)


@pytest.mark.parametrize("last", [DecisionTreeRegressor(max_depth=5), LinearRegression(), Lasso(alpha=0.01)])
def test_a_value_that_is_just_attained_is_reached(last: Any) -> None:
    value = float(world(last, 4, "l2", ValueBetween(0, 1)).model.labels(frame(4)).values[7])  # type: ignore[index]
    for goal in (
        ValueBetween(value, math.inf),
        ValueBetween(-math.inf, value),
        ValueBetween(value, value + 0.1),
    ):
        one = world(last, 4, "l2", goal)
        for question, limit in questions(one, goal):
            check(nearest_exact(one.opened, question), question, limit)


@pytest.mark.parametrize("share", [1 / 3, 0.5, 2 / 3, 0.6666666666, 0.6666666667, 1.0])
def test_a_share_of_votes_that_is_just_attained_is_reached(share: float) -> None:
    goal = Probability(1, share)
    one = world(RandomForestClassifier(3, random_state=0), 5, "l1", goal)
    assert isinstance(one.opened, Trees)
    assert one.opened.grain > 0
    for question, limit in questions(one, goal):
        check(nearest_exact(one.opened, question), question, limit)


@pytest.mark.parametrize("at_least", [0.5, 0.9, 0.999])
def test_a_probability_of_boosted_trees_that_is_just_attained_is_reached(at_least: float) -> None:
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1)
    goal: Goal = Probability(1, at_least)
    one = world(model, 6, "l2", goal)
    scores = one.model.verdict(frame(6)).scores
    assert scores is not None
    goal = Probability(1, min(float(scores[scores[:, 1] <= at_least, 1].max()), 0.9999))
    for question, limit in questions(one, goal):
        check(nearest_exact(one.opened, question), question, limit)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("last", [LogisticRegression(), SVC(kernel="linear"), Perceptron()])
def test_linear_models_with_rules(last: Any, norm: Norm) -> None:
    goal = Reach(1)
    one = world(last, 7, norm, goal)
    assert isinstance(one.opened, Additive)
    for question, limit in questions(one, goal):
        check(nearest_exact(one.opened, question), question, limit)


@pytest.mark.parametrize("last", [LogisticRegression(), RandomForestClassifier(5, random_state=0)])
def test_time_that_has_run_out_leaves_bounds_that_hold(last: Any) -> None:
    goal = Reach(1)
    one = world(last, 8, "l2", goal)
    for question, limit in questions(one, goal):
        late = replace(question, deadline=time.monotonic() - 1)
        answer = nearest_exact(one.opened, late)
        assert answer is not None
        assert answer.lower_bound <= limit * (1 + 1e-9)
        assert answer.row is None or question.distance(answer.row) >= limit * (1 - 1e-9)
        if isinstance(one.opened, Trees):
            near = nearest_by_search(one.opened, late)
            assert question.distance(near) >= limit * (1 - 1e-9)
            if question.region.linear is None:
                solver = nearest_by_cpsat(one.opened, late)
                assert solver is not None
                assert solver.lower_bound <= limit * (1 + 1e-9)
