"""Whatever the model and the frame: answers hold when the user asks the model about the row alone."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

import ssba

SMALL = ssba.Budget(rows=1200)

_rng = np.random.default_rng(11)
X = _rng.normal(size=(240, 4))
BULGE = X[:, 0] + X[:, 1] ** 2 - 0.7 * X[:, 2]
TWO = (BULGE > 0.6).astype(int)
THREE = np.array(["low", "middle", "high"])[np.digitize(BULGE, [0.2, 1.4])]
MIXED = pd.DataFrame(
    {
        "age": (50 + 10 * X[:, 0]).round().astype(int),
        "pain": _rng.choice(["none", "mild", "strong"], size=240),
        "bp": (130 + 15 * X[:, 1]).round(1),
        "smoker": _rng.random(240) < 0.4,
    }
)
RISK = (MIXED["age"] - 50) / 10 + (MIXED["pain"] == "strong") + (MIXED["bp"] - 130) / 15 + MIXED["smoker"]
ILL = np.where(RISK > 0.9, "ill", "well")
GRADE = np.array(["A", "B", "C"])[np.digitize(RISK, [0.2, 1.5])]
CATBOOST: dict[str, Any] = {
    "iterations": 15,
    "depth": 3,
    "verbose": 0,
    "thread_count": 1,
    "random_seed": 0,
    "allow_writing_files": False,
}

NUMBER_RULES: list[ssba.Constraint | str] = [ssba.fixed("x3"), "x2 <= x.x2", ssba.within("x1", amount=1.5)]
MIXED_RULES: list[ssba.Constraint | str] = [
    ssba.increase("age"),
    "if smoker changes: age >= x.age + 1",
    ssba.transition("pain", {"strong": ["mild"], "mild": ["none"]}),
]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    # Small batches on many threads spend their time waiting for each other.
    with threadpool_limits(1):
        yield


@dataclass(frozen=True)
class Case:
    """A model, rows in its form, and how a user asks it and reads its answer."""

    model: Any
    data: Any
    ask: Callable[[Any], list[Any]]
    target: Any
    reached: Callable[[Any, Any], bool]
    rules: list[ssba.Constraint | str]


def other(before: Any, after: Any) -> bool:
    return bool(before != after)


def equals(label: Any) -> Callable[[Any, Any], bool]:
    return lambda _, after: bool(after == label)


def predicts(model: Any) -> Callable[[Any], list[Any]]:
    return lambda rows: list(np.asarray(model.predict(rows)).reshape(-1))


def on_arrays(model: Any, y: Any = TWO) -> Case:
    return Case(model.fit(X, y), X, predicts(model), None, other, NUMBER_RULES)


def on_frame(model: Any, y: Any, data: Any = MIXED, target: Any = None) -> Case:
    encode = ColumnTransformer(
        [("levels", OneHotEncoder(handle_unknown="ignore"), ["pain", "smoker"])], remainder=StandardScaler()
    )
    pipeline = make_pipeline(encode, model).fit(data, y)
    reached = other if target is None else equals(target)
    return Case(pipeline, data, predicts(pipeline), target, reached, MIXED_RULES)


def pipeline_with_probability() -> Case:
    case = on_frame(LogisticRegression(), ILL)
    column = list(case.model.classes_).index("well")
    return Case(
        case.model,
        case.data,
        lambda rows: list(case.model.predict_proba(rows)[:, column]),
        ssba.probability("well", at_least=0.7),
        lambda _, after: after >= 0.7,
        MIXED_RULES,
    )


def regressor(model: Any, low: float, high: float) -> Case:
    return Case(
        model.fit(X, BULGE),
        X,
        predicts(model),
        ssba.value_between(low, high),
        lambda _, after: low <= after <= high,
        NUMBER_RULES,
    )


def forest_on_codes() -> Case:
    frame = MIXED.assign(pain=MIXED["pain"].astype("category"), bp=MIXED["bp"].astype("float32"))
    model = XGBClassifier(n_estimators=15, max_depth=3, n_jobs=1, enable_categorical=True)
    model.fit(frame, ILL == "ill")
    return Case(model, frame, predicts(model), None, other, MIXED_RULES)


def lightgbm_on_categories() -> Case:
    frame = MIXED.assign(pain=MIXED["pain"].astype("category"))
    model = LGBMClassifier(n_estimators=15, num_leaves=7, n_jobs=1, verbose=-1).fit(frame, GRADE)
    return Case(model, frame, predicts(model), None, other, MIXED_RULES)


def catboost_on_text() -> Case:
    model = CatBoostClassifier(**CATBOOST, cat_features=["pain", "smoker"])
    frame = MIXED.assign(smoker=np.where(MIXED["smoker"], "yes", "no"))
    model.fit(frame, GRADE)
    return Case(model, frame, predicts(model), None, other, MIXED_RULES)


def torch_module() -> Case:
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2)).eval()
    rows = X.astype(np.float32)

    def ask(given: Any) -> list[Any]:
        with torch.no_grad():
            return list(net(torch.from_numpy(given)).argmax(dim=1).numpy())

    return Case(net, rows, ask, None, other, NUMBER_RULES)


def onnx_session() -> Case:
    rows = X.astype(np.float32)
    forest = RandomForestClassifier(15, max_depth=5, random_state=0, n_jobs=1).fit(rows, THREE)
    written = to_onnx(forest, rows[:1], options={id(forest): {"zipmap": False}})
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def ask(given: Any) -> list[Any]:
        return list(session.run(None, {name: given})[0])

    return Case(session, rows, ask, None, other, NUMBER_RULES)


def function_of_labels() -> Case:
    def verdict(rows: Any) -> Any:
        return np.where(np.sin(2 * rows[:, 0]) + rows[:, 1] > 0.5, "yes", "no")

    return Case(verdict, X, lambda rows: list(verdict(rows)), "yes", equals("yes"), NUMBER_RULES)


def function_of_probabilities() -> Case:
    def chance(rows: pl.DataFrame) -> Any:
        return (1 / (1 + (-(rows["x0"] + rows["x1"] ** 2 - 0.6)).exp())).to_numpy()

    frame = pl.DataFrame(X, schema=["x0", "x1", "x2", "x3"])
    return Case(
        chance,
        frame,
        lambda rows: list(chance(rows)),
        ssba.probability(1, at_least=0.7),
        lambda _, after: after >= 0.7,
        NUMBER_RULES,
    )


def function_of_numbers() -> Case:
    def price(rows: pa.Table) -> Any:
        pain = np.array([2.0 if level == "strong" else 0.0 for level in rows["pain"].to_pylist()])
        return pain + 0.1 * np.asarray(rows["age"]) + np.asarray(rows["bp"]) / 15

    return Case(
        price,
        pa.Table.from_pandas(MIXED, preserve_index=False),
        lambda rows: list(price(rows)),
        ssba.value_between(15.0, 16.0),
        lambda _, after: 15.0 <= after <= 16.0,
        MIXED_RULES,
    )


CASES: dict[str, Callable[[], Case]] = {
    "logistic": lambda: on_arrays(LogisticRegression()),
    "RBF SVC": lambda: on_arrays(SVC()),
    "poly SVC": lambda: on_arrays(SVC(kernel="poly", C=10, degree=2)),
    "MLP": lambda: on_arrays(MLPClassifier((12, 8), solver="lbfgs", max_iter=200, random_state=0)),
    "random forest, three classes": lambda: on_arrays(
        RandomForestClassifier(20, max_depth=6, random_state=0, n_jobs=1), THREE
    ),
    "HistGradientBoosting": lambda: on_arrays(HistGradientBoostingClassifier(max_iter=15, random_state=0)),
    # Not a KD-tree: its own `predict` counts calls in what is pickled.
    "k-NN": lambda: on_arrays(KNeighborsClassifier(algorithm="brute")),
    "XGBoost": lambda: on_arrays(XGBClassifier(n_estimators=15, n_jobs=1)),
    "LightGBM, three classes": lambda: on_arrays(
        LGBMClassifier(n_estimators=10, num_leaves=7, n_jobs=1, verbose=-1), THREE
    ),
    "CatBoost": lambda: on_arrays(CatBoostClassifier(**CATBOOST)),
    "pipeline on raw columns, pandas": lambda: on_frame(LogisticRegression(), ILL, target="well"),
    "pipeline on raw columns, polars": lambda: on_frame(
        RandomForestClassifier(15, max_depth=6, random_state=0, n_jobs=1), GRADE, pl.from_pandas(MIXED)
    ),
    "pipeline, probability": pipeline_with_probability,
    "XGBoost on categories and 32-bit floats": forest_on_codes,
    "LightGBM on categories, three classes": lightgbm_on_categories,
    "CatBoost on text": catboost_on_text,
    "linear regression": lambda: regressor(LinearRegression(), 1.0, 1.2),
    "forest regression": lambda: regressor(
        RandomForestRegressor(10, max_depth=6, random_state=0, n_jobs=1), 1.0, 1.5
    ),
    "torch module": torch_module,
    "ONNX session": onnx_session,
    "function of labels": function_of_labels,
    "function of probabilities, polars": function_of_probabilities,
    "function of numbers, pyarrow": function_of_numbers,
}


def one_row(values: dict[str, Any], like: Any) -> Any:
    """Write one answer in the user's form, with the user's own tools."""
    if isinstance(like, pd.DataFrame):
        return pd.DataFrame([values]).astype(like.dtypes.to_dict())
    if isinstance(like, pl.DataFrame):
        return pl.DataFrame([values], schema=like.schema)
    if isinstance(like, pa.Table):
        return pa.Table.from_pylist([values], schema=like.schema)
    return np.array([list(values.values())], dtype=like.dtype)


def first_rows(data: Any, count: int) -> Any:
    return data.slice(0, count) if isinstance(data, pa.Table) else data[:count]


def single(data: Any, i: int) -> Any:
    """Row `i` in the form a user of that library has at hand."""
    if isinstance(data, np.ndarray):
        return data[i]
    if isinstance(data, pd.DataFrame):
        return data.iloc[i]
    return data.slice(i, 1)


@dataclass(frozen=True)
class Run:
    case: Case
    model_before: Any
    data_before: Any
    explainer: ssba.Explainer
    answers: ssba.results.Explanations


def snapshot(model: Any) -> Any:
    if isinstance(model, onnxruntime.InferenceSession):
        return None
    if callable(model) and not isinstance(model, torch.nn.Module):
        return None
    return pickle.dumps(model)


@cache
def run(name: str) -> Run:
    case = CASES[name]()
    before, data = snapshot(case.model), pickle.dumps(case.data)
    explainer = ssba.Explainer(case.model, case.data, case.target)
    answers = explainer.explain_many(first_rows(case.data, 5), case.rules, k=2, budget=SMALL)
    return Run(case, before, data, explainer, answers)


@pytest.mark.parametrize("name", CASES)
class TestEveryModel:
    def test_answers_reach_the_target_when_the_row_is_asked_about_alone(self, name: str) -> None:
        ran = run(name)
        found = [one for one in ran.answers if one.counterfactuals]
        assert found
        for explanation in found:
            before = ran.case.ask(one_row(explanation.query, ran.case.data))[0]
            for answer in explanation.counterfactuals:
                after = ran.case.ask(one_row(answer.values, ran.case.data))[0]
                assert ran.case.reached(before, after)

    def test_what_it_says_of_query_and_answer_is_what_the_model_says(self, name: str) -> None:
        ran = run(name)
        for explanation in ran.answers:
            told = [explanation.prediction, *(one.prediction for one in explanation.counterfactuals)]
            rows = [explanation.query, *(one.values for one in explanation.counterfactuals)]
            said = [ran.case.ask(one_row(row, ran.case.data))[0] for row in rows]
            if isinstance(ran.case.target, type(ssba.probability("well"))):
                told = [explanation.score, *(one.score for one in explanation.counterfactuals)]
            if isinstance(said[0], float | np.floating):
                assert told == pytest.approx([float(one) for one in said], rel=1e-5)
            else:
                assert told == said

    def test_constraints_hold_in_the_users_units(self, name: str) -> None:
        for explanation in run(name).answers:
            for answer in explanation.counterfactuals:
                assert_rules(explanation.query, answer.values)

    def test_neither_model_nor_data_is_changed(self, name: str) -> None:
        ran = run(name)
        assert snapshot(ran.case.model) == ran.model_before
        assert pickle.dumps(ran.case.data) == ran.data_before

    def test_one_by_one_gives_the_very_answers_of_the_batch(self, name: str) -> None:
        ran = run(name)
        for i in range(3):
            alone = ran.explainer.explain(single(ran.case.data, i), ran.case.rules, k=2, budget=SMALL)
            assert alone.status == ran.answers[i].status
            assert [one.values for one in alone.counterfactuals] == [
                one.values for one in ran.answers[i].counterfactuals
            ]

    def test_another_explainer_with_the_same_seed_gives_the_same_answer(self, name: str) -> None:
        ran = run(name)
        again = ssba.Explainer(ran.case.model, ran.case.data, ran.case.target)
        repeated = again.explain_many(first_rows(ran.case.data, 2), ran.case.rules, k=2, budget=SMALL)
        for one, other_one in zip(ran.answers[:2], repeated, strict=True):
            assert one.counterfactuals == other_one.counterfactuals
            assert one.model_fingerprint == other_one.model_fingerprint


def is_single(number: float) -> bool:
    return float(np.float32(number)) == number


def assert_rules(query: dict[str, Any], row: dict[str, Any]) -> None:
    """Check NUMBER_RULES or MIXED_RULES in plain Python."""
    assert list(row) == list(query)
    if "x3" in query:
        assert np.float64(row["x3"]).tobytes() == np.float64(query["x3"]).tobytes()
        assert row["x2"] <= query["x2"]
        # Numbers mean their digits, and 32 bits have seven of them.
        assert abs(row["x1"] - query["x1"]) <= 1.5 + (1e-6 if is_single(row["x1"]) else 1e-12)
        return
    assert type(row["age"]) is int
    assert row["age"] >= query["age"]
    if row["smoker"] != query["smoker"]:
        assert row["age"] >= query["age"] + 1
    moves = {"strong": ["strong", "mild"], "mild": ["mild", "none"], "none": ["none"]}
    assert row["pain"] in moves[query["pain"]]


class TestLastBits:
    def test_an_answer_of_a_32_bit_regressor_with_large_numbers_holds_alone(self) -> None:
        # Rounding of a batch and of a single row differ by about 1e-7 of the value, here by whole units.
        torch.manual_seed(0)
        last = torch.nn.Linear(64, 1)
        layers = [torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), last]
        net = torch.nn.Sequential(*layers).eval()
        rows = X.astype(np.float32)
        with torch.no_grad():
            last.weight.mul_(1e7)
            values = net(torch.from_numpy(rows)).numpy().ravel()
        wished = float(np.quantile(values, 0.7))
        explainer = ssba.Explainer(net, rows, ssba.value_between(low=wished))
        for explanation in explainer.explain_many(rows[values < wished][:40], budget=SMALL):
            assert explanation.best is not None
            with torch.no_grad():
                alone = net(torch.from_numpy(one_row(explanation.best.values, rows)))
            assert float(alone[0, 0]) >= wished
