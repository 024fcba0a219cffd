"""Proofs that were false once: rewritten from what strangers found, each with the truth by enumeration."""

import itertools
import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.support import every

import ssba
from ssba.pipeline import solve_exactly as opening
from ssba.results.explanation import Evidence, Explanation
from ssba.whitebox.exact import Exact, nearest_exact

RANDOM = np.random.default_rng(0)
SPEEDS = pd.DataFrame({"speed": RANDOM.choice([50, 100], 400), "b": RANDOM.normal(size=400)})
GRID = pd.DataFrame(RANDOM.integers(0, 7, (300, 3)), columns=list("abc"))


def truth(model: Any, legal: pd.DataFrame, query: dict[str, Any], target: Any) -> float:
    """The distance of the nearest of all legal rows that reaches."""
    away = np.sqrt(((legal - np.array(list(query.values()))) ** 2).sum(axis=1))
    return (
        float(away[model.predict(legal) == target].min())
        if (model.predict(legal) == target).any()
        else math.inf
    )


def check(found: Explanation, limit: float) -> None:
    """Nothing is claimed that enumeration contradicts."""
    evidence = found.evidence
    if evidence.lower_bound is not None:
        assert evidence.lower_bound <= limit * (1 + 1e-9)
    if evidence.proof == "unreachable" or (evidence.proof and found.best is None):
        assert math.isinf(limit)
    elif evidence.proof:
        assert found.best is not None
        assert found.best.distance <= limit * 1.0011
    assert evidence.sentence in repr(found)


# That is what the encoder says of every speed in the gap.
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="ignore", drop="first"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ],
)
@pytest.mark.parametrize("rule", ["speed <= 100", "speed >= 76"])
@pytest.mark.parametrize("last", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)])
def test_whole_numbers_behind_an_encoder(encoder: Any, rule: str, last: Any) -> None:
    y = np.where((SPEEDS["speed"] == 50) | (SPEEDS["b"] > 2), "ok", "fine")
    steps = make_column_transformer((encoder, ["speed"]), ("passthrough", ["b"]))
    model = make_pipeline(steps, last).fit(SPEEDS, y)
    query = {"speed": 100, "b": 0.0}
    explainer = ssba.Explainer(model, SPEEDS, "ok", distance=ssba.Distance(scale="none"))
    legal = pd.DataFrame({"speed": range(76 if ">=" in rule else 50, 101), "b": 0.0})
    found = explainer.explain(query, ["b == x.b", rule], prove=True)
    check(found, truth(model, legal, query, "ok"))
    assert found.evidence.proof in (None, "exhausted")


def test_zeros_that_stand_for_missing_cells() -> None:
    opened = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        data = pd.DataFrame(
            {
                "glucose": random.normal(120, 30, 768).round().clip(44, 199).astype(int),
                "bmi": random.normal(32, 7, 768).round(1).clip(18, 67),
            }
        )
        y = data["glucose"] + 2 * data["bmi"] + random.normal(size=768) * 15 > 190
        data.loc[random.integers(768), "glucose"] = 0
        scaled = make_pipeline(SimpleImputer(missing_values=0), StandardScaler())
        steps = make_column_transformer((scaled, ["glucose"]), (StandardScaler(), ["bmi"]))
        model = make_pipeline(steps, LogisticRegression()).fit(data, y)
        query = {"glucose": 44, "bmi": 45.0}
        found = ssba.Explainer(model, data, True, distance=ssba.Distance(scale="none")).explain(
            query, ["bmi == x.bmi", "glucose <= 70"]
        )
        legal = pd.DataFrame({"glucose": range(71), "bmi": 45.0})
        check(found, truth(model, legal, query, True))
        opened += found.evidence.proof in ("optimal", "unreachable")
    assert opened == 0


def test_a_row_on_an_exact_tie_that_the_model_decides_for_the_target() -> None:
    legal = pd.DataFrame(itertools.product(range(7), repeat=3), columns=list("abc"))
    proved = 0
    for weights, offset, target in itertools.product(
        [(2, 1, -3), (3, 1, -3), (1, -1, 0), (2, -2, 1)], (0, -7, 2), (False, True)
    ):
        model = Perceptron().fit(GRID, GRID["a"] > GRID["b"])
        model.coef_[:], model.intercept_[:] = weights, offset
        missing = legal[model.predict(legal) != target]
        if len(missing) in (0, len(legal)):
            continue
        query = missing.iloc[len(missing) // 2].to_dict()
        found = ssba.Explainer(model, GRID, target, distance=ssba.Distance(scale="none")).explain(query)
        check(found, truth(model, legal, query, target))
        proved += found.evidence.proof is not None
    assert proved >= 20


def test_trees_with_rules_whose_cheapest_row_is_far() -> None:
    data = GRID[["a", "b"]] % 4
    legal = pd.DataFrame(itertools.product(range(4), repeat=2), columns=["a", "b"])
    for seed, rule in itertools.product((20, 50, 3), ("if a changes: b >= 2", "if a >= 2: b >= 3")):
        y = np.random.default_rng(seed).random((4, 4))[data["a"], data["b"]] > 0.5
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data, y)
        explainer = ssba.Explainer(model, data, target=True, distance=ssba.Distance(scale="none"))
        for query in ({"a": 2, "b": 0}, {"a": 3, "b": 0}, {"a": 0, "b": 1}):
            allowed = legal["b"] >= 2 if "changes" in rule else (legal["a"] < 2) | (legal["b"] >= 3)
            if "changes" in rule:
                allowed |= legal["a"] == query["a"]
            check(explainer.explain(query, [rule], prove=True), truth(model, legal[allowed], query, True))


LINE = pd.DataFrame({"a": np.arange(40) % 10, "b": np.arange(40) // 10})


def misread(monkeypatch: pytest.MonkeyPatch, bound: float) -> Explanation:
    """Explain with a linear model whose inside claims a bound that is not true."""
    model = LogisticRegression(C=1e4).fit(LINE, LINE["a"] >= 5)
    monkeypatch.setattr(opening, "nearest_exact", lambda *_, **__: Exact(None, bound, proved=True))
    return ssba.Explainer(model, LINE, True, distance=ssba.Distance(scale="none")).explain({"a": 1, "b": 0})


@pytest.mark.parametrize("bound", [7.0, math.inf])
def test_a_reading_that_a_row_contradicts_is_dropped(bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = misread(monkeypatch, bound)
    assert found.best is not None
    assert found.best.distance == 4.0
    assert found.evidence.reading_contradicted
    assert found.evidence.lower_bound is None
    assert found.evidence.proof in (None, "exhausted")
    assert "contradicts" in found.evidence.sentence
    assert "contradicts" in repr(found)


def test_a_bound_that_holds_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = misread(monkeypatch, 3.0)
    assert not found.evidence.reading_contradicted
    assert found.evidence.lower_bound == 3.0
    assert found.evidence.proof in (None, "exhausted")


def test_a_contradicted_reading_is_written_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found = misread(monkeypatch, 7.0)
    assert Explanation.from_json(found.to_json()).evidence == found.evidence
    assert found.evidence.reading_contradicted


def test_no_evidence_is_without_a_sentence() -> None:
    odd = [Evidence(proof="optimal"), Evidence(share=0.1, drawn=3), Evidence(lower_bound=0.0)]
    for evidence in odd:
        assert isinstance(evidence.sentence, str)


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(30, random_state=0)])
def test_a_proof_ends_with_the_time_of_the_budget(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = GRID.astype(float) + 0.01 * RANDOM.normal(size=GRID.shape)
    model.fit(data, data.sum(axis=1) > 10)
    deadlines = []

    def noted(opened: Any, question: Any, **known: Any) -> Any:
        deadlines.append(question.deadline)
        return nearest_exact(opened, question, **known)

    monkeypatch.setattr(opening, "nearest_exact", noted)
    query = data[model.predict(data) == 0].iloc[0].to_dict()
    budget = ssba.Budget(seconds=60)
    begun = time.monotonic()
    ssba.Explainer(model, data, target=1).explain(query, prove=True, budget=budget)
    assert deadlines
    assert every(begun <= one <= begun + 120 for one in deadlines)
