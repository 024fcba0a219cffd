"""Nearest rows of linear models against closed forms, many-start SLSQP and enumeration."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    ElasticNet,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.support import Setting, setting

import ssba
from ssba.columns.distance import Norm
from ssba.constraints.regions.polytope import bound_l1, bound_l2, nearest_l1, nearest_l2
from ssba.constraints.regions.region import Region
from ssba.models.answers import Model
from ssba.models.model import adapt
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween, judge
from ssba.whitebox.additive import Additive
from ssba.whitebox.exact import Exact, Question, nearest_exact
from ssba.whitebox.read_model import Closed, open_model

DATA = np.random.default_rng(3).normal(size=(300, 4)) * [1.0, 5.0, 0.2, 1.0] + [0.0, 40.0, 0.0, 1.0]
SUM = (DATA - DATA.mean(axis=0)) / DATA.std(axis=0) @ [1.0, -0.7, 0.5, 0.2]
TWO = (SUM > 0.4).astype(int)
THREE = TWO + (SUM > 1.2)

Question_ = tuple[Setting, Model, Additive]


def opened(
    model: Any, data: Any, norm: Norm = "l2", features: Any = None, target: Goal | None = None
) -> Question_:
    made = setting(data, features, norm)
    adapted = adapt(
        model,
        made.space.decode(made.Z),
        wants_numbers=isinstance(target, ValueBetween),
        wants_probabilities=isinstance(target, Probability),
    )
    found = open_model(model, adapted, made.space, made.Z)
    assert isinstance(found, Additive)
    return made, adapted, found


def check(answer: Exact | None, made: Setting, model: Model, goal: Goal, region: Region) -> float:
    """The row is legal, reaches by the model's own word, and lies at its bound; return its distance."""
    assert answer is not None
    assert answer.row is not None
    assert region.contains(answer.row[None, :])[0]
    output = model.verdict(made.space.decode(answer.row[None, :]))
    assert judge(goal, output, model.classes).reached[0]
    distance = float(made.metric.distance(answer.row[None, :], region.x)[0])
    assert answer.proved
    assert answer.lower_bound <= distance <= answer.lower_bound * (1 + 1e-6)
    return distance


def other_class(model: Any, row: Any) -> Goal:
    return Leave(model.predict(row)[0])


BINARY = {
    "logistic": LogisticRegression(),
    "svm": LinearSVC(),
    "kernel svm": SVC(kernel="linear"),
    "sgd": SGDClassifier(random_state=0),
    "ridge": RidgeClassifier(),
    "perceptron": Perceptron(),
    "discriminant": LinearDiscriminantAnalysis(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "squeezed": make_pipeline(MinMaxScaler(), LogisticRegression()),
    "rotated": make_pipeline(RobustScaler(), PCA(3), LogisticRegression()),
}


@pytest.mark.parametrize("name", BINARY)
def test_a_half_space_without_bounds_has_a_closed_form(name: str) -> None:
    model = BINARY[name].fit(DATA, TWO)
    made, adapted, additive = opened(model, DATA)
    wide = [f"x{j} >= -1e6" for j in range(4)] + [f"x{j} <= 1e6" for j in range(4)]
    for query in DATA[:5]:
        region = made.region(query, *wide)
        answer = nearest_exact(additive, Question(other_class(model, query[None, :]), region, made.metric))
        slope = additive.weight[0] * made.metric.scale
        limit = abs(float(model.decision_function(query[None, :])[0])) / np.linalg.norm(slope)
        found = check(answer, made, adapted, other_class(model, query[None, :]), region)
        assert found == pytest.approx(limit, rel=1e-6)


def by_slsqp(made: Setting, region: Region, margin: Any, extra: Any = ()) -> float:
    """The shortest of several SLSQP runs over the columns, in units of the metric."""
    random = np.random.default_rng(0)
    best = math.inf
    scale, x = made.metric.scale, region.x
    bounds = list(zip((region.lower - x) / scale, (region.upper - x) / scale, strict=True))
    conditions: Any = [{"type": "ineq", "fun": lambda u: margin(x + u * scale)}, *extra]
    for _ in range(10):
        start = np.array([random.uniform(low, high) for low, high in bounds])
        run: Any = minimize  # its stubs know no lists of mixed constraints
        solved = run(
            lambda u: float(u @ u),
            start,
            method="SLSQP",
            bounds=bounds,
            constraints=conditions,
            options={"ftol": 1e-12},
        )
        if solved.success:
            best = min(best, math.sqrt(solved.fun))
    return best


def test_boxes_and_linear_rows_against_slsqp() -> None:
    model = LogisticRegression().fit(DATA, TWO)
    made, adapted, additive = opened(model, DATA)
    solved = 0
    for query in DATA[:8]:
        text = "x0 + x3 <= 1.5", "x1 - 30 * x2 >= 30", "x0 <= 1", "x3 == x.x3"
        goal = other_class(model, query[None, :])
        try:
            region = made.region(query, *text)
        except ValueError:
            continue  # this query cannot meet the constraints
        answer = nearest_exact(additive, Question(goal, region, made.metric))
        sign = 1.0 if goal == Leave(0) else -1.0
        extra = [
            {"type": "ineq", "fun": lambda u, x=region.x: 1.5 - (x + u * made.metric.scale)[[0, 3]].sum()},
            {"type": "ineq", "fun": lambda u, x=region.x: (x + u * made.metric.scale) @ [0, 1, -30, 0] - 30},
        ]
        limit = by_slsqp(
            made, region, lambda z, sign=sign: sign * float(model.decision_function(z[None, :])[0]), extra
        )
        if math.isinf(limit):
            assert answer is not None
            assert answer.lower_bound == math.inf
            continue
        solved += 1
        assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-5)
    assert solved >= 3


@pytest.mark.parametrize("goal", [Reach(0), Reach(1), Reach(2), Leave(1)])
def test_three_classes_against_slsqp(goal: Goal) -> None:
    model = LogisticRegression(max_iter=1000).fit(DATA, THREE)
    made, adapted, additive = opened(model, DATA)

    label = goal.label  # type: ignore[union-attr]
    others = [k for k in range(3) if k != label]

    def lead(z: Any, one: int, other: int) -> float:
        scores = model.decision_function(z[None, :])[0]
        return float(scores[one] - scores[other])

    for query in DATA[:5]:
        region = made.region(query)
        if judge(goal, adapted.verdict(query[None, :]), adapted.classes).reached[0]:
            continue
        if isinstance(goal, Leave):
            limit = min(by_slsqp(made, region, lambda z, k=k: lead(z, k, label)) for k in others)
        else:
            limit = by_slsqp(made, region, lambda z: min(lead(z, label, k) for k in others))
        answer = nearest_exact(additive, Question(goal, region, made.metric))
        assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-4)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), ElasticNet(alpha=0.01)])
def test_a_band_of_numbers_is_entered_at_its_edge(model: Any) -> None:
    model.fit(DATA, SUM)
    goal = ValueBetween(2.0, 2.5)
    made, adapted, additive = opened(model, DATA, target=goal)
    for query in DATA[:5]:
        region = made.region(query)
        answer = nearest_exact(additive, Question(goal, region, made.metric))
        limit = by_slsqp(made, region, lambda z: 0.25 - abs(float(model.predict(z[None, :])[0]) - 2.25))
        assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-5, abs=1e-6)


def test_a_wished_probability_is_a_shifted_half_space() -> None:
    model = LogisticRegression().fit(DATA, TWO)
    goal = Probability(1, 0.9)
    made, adapted, additive = opened(model, DATA, target=goal)
    wide = [f"x{j} >= -1e6" for j in range(4)] + [f"x{j} <= 1e6" for j in range(4)]
    query = DATA[TWO == 0][0]
    region = made.region(query, *wide)
    answer = nearest_exact(additive, Question(goal, region, made.metric))
    missing = math.log(9.0) - float(model.decision_function(query[None, :])[0])
    limit = missing / np.linalg.norm(model.coef_[0] * made.metric.scale)
    assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-6)


def test_l1_moves_the_column_that_gains_most() -> None:
    model = LogisticRegression().fit(DATA, TWO)
    made, adapted, additive = opened(model, DATA, "l1")
    wide = [f"x{j} >= -1e6" for j in range(4)] + [f"x{j} <= 1e6" for j in range(4)]
    for query in DATA[:5]:
        region = made.region(query, *wide)
        goal = other_class(model, query[None, :])
        answer = nearest_exact(additive, Question(goal, region, made.metric))
        gains = np.abs(model.coef_[0] * made.metric.scale)
        limit = abs(float(model.decision_function(query[None, :])[0])) / gains.max()
        assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-6)
        assert answer is not None
        assert answer.row is not None
        assert (answer.row != region.x).sum() == 1


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_whole_numbers_and_steps_against_enumeration(norm: Norm) -> None:
    rows = np.column_stack([np.round(DATA[:, 0] * 3), np.round(DATA[:, 1] / 4), DATA[:, 2]])
    model = LogisticRegression().fit(rows, TWO)
    features = {"x0": ssba.integer(), "x1": ssba.integer()}
    made, adapted, additive = opened(model, rows, norm, features)
    weight, offset = model.coef_[0], float(model.intercept_[0])
    for query in rows[:6]:
        region = made.region(query)
        goal = other_class(model, query[None, :])
        sign = 1.0 if goal == Leave(0) else -1.0
        limit = math.inf
        for a, b in itertools.product(
            np.arange(region.lower[0], region.upper[0] + 1), np.arange(region.lower[1], region.upper[1] + 1)
        ):
            # What the whole numbers leave to do, the real number does.
            margin = sign * (weight @ [a, b, query[2]] + offset)
            c = query[2] if margin >= 0 else query[2] - margin / (sign * weight[2])
            if region.lower[2] <= c <= region.upper[2]:
                limit = min(limit, float(made.metric.distance(np.array([[a, b, c]]), region.x)[0]))
        answer = nearest_exact(additive, Question(goal, region, made.metric))
        assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("norm", ["l2", "gower"])
def test_categories_and_levels_against_enumeration(norm: Norm) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 70, 250),
            "job": random.choice(["a", "b", "c", "d"], 250),
            "size": random.choice(["S", "M", "L"], 250),
            "dose": random.normal(size=250),
        }
    )
    y = frame["age"] / 20 + (frame["job"] == "b") - (frame["size"] == "S") + frame["dose"] > 2.6
    steps = make_column_transformer((StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["job", "size"]))
    model = make_pipeline(steps, LogisticRegression()).fit(frame, y)
    made, adapted, additive = opened(model, frame, norm, {"size": ssba.ordinal(["S", "M", "L"])})
    for i in range(4):
        region = made.region(frame.iloc[i].to_dict(), "job != 'd'" if frame["job"][i] != "d" else "age >= 20")
        goal = other_class(model, frame.iloc[[i]])
        limit = math.inf
        jobs = [code for code in range(4) if region.allowed[1, code]]
        ages = np.arange(region.lower[0], region.upper[0] + 1)
        rows = np.array(list(itertools.product(ages, jobs, range(3), [region.x[3]])), dtype=float)
        scores = model.decision_function(made.space.decode(rows)) * (1.0 if goal == Leave(False) else -1.0)
        slope = additive.weight[0, 3] * (1.0 if goal == Leave(False) else -1.0)
        rows[:, 3] = np.where(scores >= 0, rows[:, 3], rows[:, 3] - scores / slope)
        rows = rows[(rows[:, 3] >= region.lower[3]) & (rows[:, 3] <= region.upper[3])]
        limit = float(made.metric.distance(rows, region.x).min())
        answer = nearest_exact(additive, Question(goal, region, made.metric), work=10**6)
        assert check(answer, made, adapted, goal, region) == pytest.approx(limit, rel=1e-6)


def test_columns_of_32_bits_get_legal_rows_on_the_right_side() -> None:
    rows = DATA.astype(np.float32)
    model = LogisticRegression().fit(rows, TWO)
    made, _, additive = opened(model, rows)
    for query in rows[:5]:
        region = made.region(query)
        goal = other_class(model, query[None, :])
        answer = nearest_exact(additive, Question(goal, region, made.metric))
        assert answer is not None
        assert answer.row is not None
        assert region.contains(answer.row[None, :])[0]
        assert (answer.row == answer.row.astype(np.float32)).all()
        assert model.predict(answer.row[None, :].astype(np.float32))[0] != model.predict(query[None, :])[0]


def test_out_of_reach_is_proved() -> None:
    model = LogisticRegression().fit(DATA, TWO)
    made, _, additive = opened(model, DATA)
    query = DATA[np.argmin(SUM)]
    region = made.region(query, "x0 <= x.x0 + 0.1", "x0 >= x.x0", "x1 == x.x1", "x2 == x.x2", "x3 == x.x3")
    answer = nearest_exact(additive, Question(Reach(1), region, made.metric))
    assert answer is not None
    assert answer == Exact(None, math.inf, proved=True)


def test_no_random_row_beats_the_bound_whatever_the_work() -> None:
    rows = np.column_stack([np.round(DATA[:, 0] * 2), DATA[:, 1:]])
    model = LogisticRegression().fit(rows, TWO)
    made, adapted, additive = opened(model, rows, features={"x0": ssba.integer()})
    random = np.random.default_rng(0)
    for query, work in itertools.product(rows[:4], (1, 40, 20_000)):
        region = made.region(query)
        goal = other_class(model, query[None, :])
        answer = nearest_exact(additive, Question(goal, region, made.metric), work=work)
        sample = query + random.normal(size=(5000, 4)) * made.metric.scale * random.uniform(0, 2, (5000, 1))
        sample = region.pull_in(sample)[0]
        sample = sample[judge(goal, adapted.verdict(sample), adapted.classes).reached]
        assert answer is not None
        assert answer.lower_bound <= made.metric.distance(sample, region.x).min()


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel="rbf"),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
        SVC(kernel="linear", decision_function_shape="ovr"),
    ],
)
def test_what_is_not_linear_stays_closed(model: Any) -> None:
    model.fit(DATA, THREE)
    made = setting(DATA)
    assert isinstance(open_model(model, adapt(model, DATA), made.space, made.Z), Closed)


def test_the_bounds_of_a_polytope_hold_for_any_multipliers() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        rows, n = int(random.integers(1, 4)), int(random.integers(2, 6))
        G, h = random.normal(size=(rows, n)), random.normal(size=rows) + 0.5
        low, high = -random.uniform(0, 3, n), random.uniform(0, 3, n)
        high = np.where(random.random(n) < 0.3, np.inf, high)
        points = random.uniform(low, np.minimum(high, 3.0), (2000, n))
        points = points[(points @ G.T >= h).all(axis=1)]
        for nearest, bound, cost in (
            (nearest_l2(G, h, low, high), bound_l2, (points**2).sum(axis=1)),
            (nearest_l1(G, h, low, high), bound_l1, np.abs(points).sum(axis=1)),
        ):
            if nearest.point is None:
                # Empty; beside a column without an end that may be clear but not proved.
                assert not len(points)
                continue
            assert (G @ nearest.point >= h - 1e-7).all()
            mine = (nearest.point**2).sum() if bound is bound_l2 else np.abs(nearest.point).sum()
            assert bound(nearest, G, h, low, high) == pytest.approx(mine, rel=1e-6, abs=1e-9)
            assert bound(nearest, G, h, low, high) <= cost.min(initial=math.inf) + 1e-9


def test_a_model_that_fails_when_it_is_probed_stays_closed() -> None:
    frame = pd.DataFrame({"job": ["a", "b", "c", "a"] * 10, "dose": np.linspace(0, 1, 40)})
    steps = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(steps, LogisticRegression()).fit(frame, frame["dose"] > 0.5)
    # The encoder has never seen the level 'd' and refuses it.
    made = setting(frame, {"job": ssba.categorical(["a", "b", "c", "d"])})
    assert isinstance(open_model(model, adapt(model, frame), made.space, made.Z), Closed)


def test_without_free_numbers_a_polytope_is_its_origin_or_empty() -> None:
    none = np.empty(0)
    assert nearest_l1(np.empty((1, 0)), np.array([1.0]), none, none).empty
    assert nearest_l2(np.empty((1, 0)), np.array([1.0]), none, none).empty
    assert nearest_l1(np.empty((1, 0)), np.array([-1.0]), none, none).point is not None
