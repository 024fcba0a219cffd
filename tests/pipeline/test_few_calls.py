"""Where calls are dear: few of them, answers that are as good but on trees, and the word of the model."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from tests.support import every

import ssba
from ssba.pipeline import state

MOST = {"scores": 25, "labels": 40}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 12))
ABOVE = (X[:, :4].sum(axis=1) + X[:, 4] * X[:, 5] > 1).astype(int)
FRAME = pd.DataFrame(
    {"dose": RNG.integers(0, 9, 300), "level": RNG.normal(size=300), "ward": RNG.choice(["a", "b", "c"], 300)}
)
IS_HIGH = (FRAME["dose"] + 2 * FRAME["level"] + (FRAME["ward"] == "b") > 5).to_numpy().astype(int)


class Counted:
    """A model asked by labels or by scores, that counts its calls."""

    def __init__(self, model: Any, by: str) -> None:
        self.ask = model.predict if by == "labels" else model.predict_proba
        self.calls = 0

    def __call__(self, rows: Any) -> Any:
        self.calls += 1
        return self.ask(rows)


class Round:
    """The target lies outside of a ball."""

    def predict(self, rows: Any) -> Any:
        return (self.predict_proba(rows)[:, 1] > 0.5).astype(int)

    def predict_proba(self, rows: Any) -> Any:
        outside = 1 / (1 + np.exp(6 - (np.asarray(rows, dtype=float) ** 2).sum(axis=1)))
        return np.column_stack([1 - outside, outside])


def frame_model() -> Any:
    codes = FRAME.assign(ward=FRAME["ward"].map({"a": 0, "b": 1, "c": 2}))
    forest = RandomForestClassifier(20, random_state=0).fit(codes.to_numpy(float), IS_HIGH)

    class Coded:
        def predict(self, rows: Any) -> Any:
            return forest.predict(self.codes(rows))

        def predict_proba(self, rows: Any) -> Any:
            return forest.predict_proba(self.codes(rows))

        def codes(self, rows: Any) -> Any:
            return rows.assign(ward=rows["ward"].map({"a": 0, "b": 1, "c": 2})).to_numpy(float)

    return Coded()


MODELS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "logistic": lambda: (LogisticRegression().fit(X, ABOVE), X, X[ABOVE == 0][:4]),
    "network": lambda: (
        MLPClassifier((16,), max_iter=300, random_state=0).fit(X, ABOVE),
        X,
        X[ABOVE == 0][:4],
    ),
    "forest": lambda: (RandomForestClassifier(20, random_state=0).fit(X, ABOVE), X, X[ABOVE == 0][:4]),
    "mixed": lambda: (frame_model(), FRAME, FRAME[IS_HIGH == 0][:4]),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("by", ["labels", "scores"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"k": 3}, {"plausible": True}])
def test_a_query_takes_few_calls(options: dict[str, Any], name: str, by: str) -> None:
    model, data, queries = MODELS[name]()
    counted = Counted(model, by)
    explainer = ssba.Explainer(counted, data, target=1)
    explainer.explain_many(queries, progress=False)
    for i in range(len(queries)):
        before = counted.calls
        few = explainer.explain(queries[i : i + 1], calls="few", **options)
        assert counted.calls - before <= MOST[by]
        assert few.status.value == "found"


@pytest.mark.parametrize("by", ["labels", "scores"])
@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"max_changes": 2}, 200),
        ({"margin": ssba.ball(0.1)}, 130),
        ({"sparsity": "strong"}, 200),
        ({"k": 2, "diversity": "levers"}, 450),
    ],
)
def test_what_asks_for_more_than_the_nearest_row_has_calls_of_its_own(
    options: dict[str, Any], most: int, by: str
) -> None:
    """Nearest are rows that change all columns; the search for those takes all calls that it may."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(300, 6))
    counted = Counted(Round(), by)
    explainer = ssba.Explainer(counted, data, target=1)
    for i in np.flatnonzero(Round().predict(data) == 0)[:2]:
        before = counted.calls
        few = explainer.explain(data[i], calls="few", **options)
        assert counted.calls - before <= most
        many = explainer.explain(data[i], **options)
        assert few.status.value == many.status.value == "found"
        assert len(few.counterfactuals) == len(many.counterfactuals)
        assert few.best is not None
        assert many.best is not None
        if "k" not in options:
            assert len(few.best.changes) <= len(many.best.changes) + 1
        assert few.best.distance < 1.2 * many.best.distance


@pytest.mark.parametrize("calls", [3, 6])
def test_rows_that_no_call_was_left_for_do_not_count_as_asked_about(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers from 0 to 7 in five columns; those whose sum is even and large reach."""
    monkeypatch.setattr(state, "_FEW_CALLS", {"scores": calls, "labels": calls})
    rows = np.array(list(itertools.product(range(8), repeat=5)), dtype=float)

    def reaches(rows: Any) -> Any:
        total = np.asarray(rows, dtype=float).sum(axis=1)
        return (total >= 22) & (total % 2 == 0)

    kinds = {f"x{j}": ssba.integer(low=0, high=7) for j in range(5)}
    explainer = ssba.Explainer(
        reaches, rows[::37], target=True, features=kinds, distance=ssba.Distance(scale="none")
    )
    for query in rows[[0, 900, 2500]]:
        found = explainer.explain(query, calls="few")
        nearest = np.linalg.norm(rows[reaches(rows)] - query, axis=1).min()
        far = np.inf if found.best is None else found.best.distance
        assert found.evidence.proof is None or far <= nearest * (1 + 1e-9)


def test_a_bounded_move_is_looked_for_with_calls_of_its_own() -> None:
    data = np.random.default_rng(0).normal(size=(300, 6))
    explainer = ssba.Explainer(Counted(Round(), "scores"), data, target=1)
    query = data[int(np.flatnonzero(Round().predict(data) == 0)[0])]
    rules = [*(f"x{j} within 0.05" for j in range(4)), "x4 == x.x4", "x5 == x.x5"]
    few, many = (explainer.explain(query, rules, calls=calls) for calls in ("few", "many"))
    assert few.bounded is not None
    assert many.bounded is not None
    assert few.bounded.distance_to_boundary == pytest.approx(many.bounded.distance_to_boundary, rel=0.05)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("by", ["labels", "scores"])
@pytest.mark.parametrize("name", ["logistic", "network", "mixed"])
def test_on_smooth_models_and_mixed_columns_answers_are_as_near(name: str, by: str) -> None:
    model, data, queries = MODELS[name]()
    explainer = ssba.Explainer(Counted(model, by), data, target=1)
    many = explainer.explain_many(queries, progress=False)
    few = explainer.explain_many(queries, progress=False, calls="few")
    ratios = [
        one.best.distance / other.best.distance
        for one, other in zip(few, many, strict=True)
        if one.best is not None and other.best is not None
    ]
    assert len(ratios) == len(queries)
    assert np.mean(ratios) < 1.02


@pytest.mark.parametrize("by", ["labels", "scores"])
def test_a_batch_gives_what_each_query_gives_alone(by: str) -> None:
    model, data, queries = MODELS["mixed"]()
    explainer = ssba.Explainer(Counted(model, by), data, target=1)
    together = explainer.explain_many(queries, progress=False, calls="few")
    alone = [explainer.explain(queries[i : i + 1], calls="few") for i in range(len(queries))]
    assert every(one.best is not None for one in together)
    assert [(one.best, one.rows_used) for one in together] == [(one.best, one.rows_used) for one in alone]


def test_a_search_that_its_calls_ended_says_so() -> None:
    forest = RandomForestClassifier(20, random_state=0).fit(X, ABOVE)
    query = X[forest.predict(X) == 0][0]
    found = ssba.Explainer(Counted(forest, "scores"), X, target=1).explain(query, calls="few")
    assert found.stopped == "calls"
    assert "few calls it was allowed; calls='many' may find a nearer answer" in found.sentence


def test_a_model_can_say_itself_that_its_calls_are_dear() -> None:
    model, data, queries = MODELS["logistic"]()
    counted = Counted(model, "labels")
    explainer = ssba.Explainer(ssba.Costly(counted), data, target=1)
    before = counted.calls
    few = explainer.explain(queries[1])
    few_calls, before = counted.calls - before, counted.calls
    many = explainer.explain(queries[1], calls="many")
    assert few_calls <= MOST["labels"] < counted.calls - before
    plain = ssba.Explainer(counted, data, target=1)
    assert plain.explain(queries[1], calls="few").best == few.best
    assert plain.explain(queries[1]).best == many.best
