"""How far queries have come: what a bar is told grows steadily and ends with their number."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import ssba
from ssba.engine import Settings, build_engine
from ssba.options import Budget, Options
from ssba.pipeline.answer import Request, explain_requests
from ssba.pipeline.course import Stage, milestones

X = np.random.default_rng(0).normal(size=(3000, 5))


def bowl(rows: Any) -> Any:
    return rows[:, 0] + rows[:, 1] ** 2 > 1


def scores(rows: Any) -> Any:
    return 1 / (1 + np.exp(-(rows[:, 0] + rows[:, 1] ** 2 - 1)))


QUERIES = X[~bowl(X)][:200]


def told(model: Any, queries: Any = QUERIES, **options: Any) -> list[float]:
    """What is told while queries are explained: the place after each update, in queries."""
    steps: list[float] = []
    engine = build_engine(model, X, Settings(target=1 if model is not bowl else True))
    requests = [Request(x, (), Options(**options)) for x in queries]
    explain_requests(engine, requests, Budget(), None, steps.append)
    return list(itertools.accumulate(steps))


@pytest.mark.parametrize("model", [bowl, scores], ids=["labels", "scores"])
def test_bar_of_200_queries_moves_steadily(model: Any) -> None:
    places = told(model)
    steps = np.diff([0.0, *places])
    assert len(places) >= 20
    assert (steps > 0).all()
    assert steps.max() <= 0.25 * 200
    assert places[-1] == 200


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (bowl, {"k": 3}),
        (bowl, {"max_changes": 1}),
        (bowl, {"sparsity": "strong", "margin": 0.05}),
        (scores, {"plausible": True}),
        (LogisticRegression().fit(X, bowl(X)), {}),
        (RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, bowl(X)), {"prove": True}),
    ],
    ids=["k", "max_changes", "sparsity and margin", "plausible", "linear", "proof"],
)
def test_it_ends_with_their_number_whatever_is_asked(model: Any, options: dict[str, Any]) -> None:
    places = told(model, X[:20], **options)
    assert (np.diff([0.0, *places]) > 0).all()
    assert places[-1] == 20


def test_queries_that_are_there_already_do_not_push_it_forward() -> None:
    there = X[bowl(X)][:180]
    places = told(bowl, np.concatenate([there, QUERIES[:20]]))
    assert np.diff([0.0, *places]).max() <= 0.25 * 200
    assert places[-1] == 200


def test_parts_of_a_batch_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssba.pipeline.answer.TOGETHER", 8)
    places = told(bowl, QUERIES[:20])
    assert {8.0, 16.0, 20.0} <= set(places)


def test_answers_do_not_depend_on_somebody_watching() -> None:
    explainer = ssba.Explainer(bowl, X, target=True)
    quiet, shown = (explainer.explain_many(QUERIES[:10], progress=one) for one in (False, True))
    assert [(one.best, one.rows_used) for one in quiet] == [(one.best, one.rows_used) for one in shown]


@given(
    k=st.integers(1, 5),
    prove=st.sampled_from([True, False, "auto"]),
    sparsity=st.sampled_from(["none", "strong"]),
    inside=st.booleans(),
)
def test_milestones_lead_from_0_to_1(k: int, prove: Any, sparsity: Any, inside: bool) -> None:
    found = milestones(Options(k=k, prove=prove, sparsity=sparsity), looks_inside=inside)
    assert len(found) == len(Stage) + 1
    assert found[0] == 0
    assert found[-1] == pytest.approx(1)
    assert (np.diff(found) >= 0).all()
