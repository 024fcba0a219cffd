"""A larger budget is never worse, for every option; time ends a call; only rows that were asked count."""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba

BUDGETS = (1, 3, 10, 25, 50, 100, 200, 400, 1000, 2500)
COLUMNS = ["x0", "x1", "x2"]
LEVELS = pd.Series([0.0, 0.7, -0.5], index=list("abc"))
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "three answers": {"k": 3},
    "plausible": {"plausible": True},
    "ball": {"margin": ssba.ball(0.15)},
    "one change": {"max_changes": 1},
    "two changes": {"max_changes": 2},
    "sparsity": {"sparsity": "balanced"},
    "levers": {"k": 2, "diversity": "levers"},
    "no evidence": {"evidence": 0},
    "score margin": {"margin": ssba.score_margin(0.1)},
}
RULES: dict[str, Callable[[Any], list[str]]] = {
    "none": lambda x: [],
    "one way": lambda x: ["x0 >= x.x0"],
    "relation": lambda x: [f"x0 + x2 <= {x['x0'] + x['x2'] - 1}"],
    "regions": lambda x: ["if x0 changes: x2 >= x.x2 + 0.2", "x1 != x.x1"],
}


@dataclass
class Problem:
    """A model over numbers, whole numbers or categories, with labels or scores, and a query that misses."""

    seed: int
    kind: str
    by_labels: bool
    data: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        numbers = rng.normal(size=(150, 3)) if self.kind != "whole" else rng.integers(-6, 7, size=(150, 3))
        self.data = pd.DataFrame(numbers, columns=COLUMNS)
        if self.kind == "mixed":
            self.data["x1"] = rng.integers(0, 9, 150)
            self.data["c"] = rng.choice(list("abc"), 150)
        self.weights = rng.normal(size=(2, 3))
        sums = self.sums(self.data)
        self.least = np.array([np.quantile(sums[:, 0], 0.6), np.quantile(sums[:, 1], 0.4)])

    def sums(self, rows: pd.DataFrame) -> Any:
        shift = LEVELS[rows["c"]].to_numpy() if "c" in rows else np.zeros(len(rows))
        return rows[COLUMNS].to_numpy(float) @ self.weights.T + shift[:, None]

    def margin(self, rows: pd.DataFrame) -> Any:
        return (self.sums(rows) - self.least).min(axis=1)

    def model(self, rows: pd.DataFrame) -> Any:
        margin = self.margin(rows)
        return margin > 0 if self.by_labels else 1 / (1 + np.exp(-margin))

    @property
    def query(self) -> Any:
        return self.data[self.margin(self.data) <= 0].iloc[self.seed].to_dict()

    @property
    def explainer(self) -> ssba.Explainer:
        return ssba.Explainer(
            self.model, self.data, target=True if self.by_labels else 1, distance=ssba.Distance(scale="none")
        )


PROBLEMS = [
    Problem(seed, kind, by_labels)
    for seed, (kind, by_labels) in enumerate(itertools.product(("numbers", "whole", "mixed"), (True, False)))
]


def sweep() -> Iterator[Any]:
    """Every rule with every option, each with one of the problems; with all of them it takes minutes."""
    for i, rules in enumerate(RULES):
        for j, option in enumerate(OPTIONS):
            for k, problem in enumerate(PROBLEMS):
                name = f"{rules}, {option}, {problem.kind}, {'labels' if problem.by_labels else 'scores'}"
                marks = () if (i + j) % len(PROBLEMS) == k else (pytest.mark.slow,)
                if option != "score margin" or not problem.by_labels:
                    yield pytest.param(problem, rules, option, id=name, marks=marks)


@pytest.mark.parametrize(("problem", "rules", "option"), list(sweep()))
def test_a_larger_budget_is_never_worse(problem: Problem, rules: str, option: str) -> None:
    """The nearest row found and the first answer never get farther; sparsity and levers trade distance."""
    wishes, query = OPTIONS[option], problem.query
    nearest, best = math.inf, math.inf
    explainer = problem.explainer
    for rows in BUDGETS:
        told = explainer.explain(query, RULES[rules](query), budget=ssba.Budget(rows=rows), **wishes)
        found = math.inf if told.best is None else told.best.distance
        assert (told.evidence.nearer_than or math.inf) <= nearest * (1 + 1e-9), rows
        assert found <= best * (1.0011 if option not in ("sparsity", "levers") else math.inf), rows
        assert told.status != "bounded" or told.bounded is not None
        nearest, best = min(nearest, told.evidence.nearer_than or math.inf), min(best, found)


@pytest.mark.parametrize("by_labels", [True, False])
def test_a_background_row_that_is_an_answer_as_it_is_needs_no_budget(by_labels: bool) -> None:
    problem = Problem(0, "numbers", by_labels)
    reaching = problem.data[problem.margin(problem.data) > 0]
    nearest = np.linalg.norm(reaching - pd.Series(problem.query), axis=1).min()
    told = problem.explainer.explain(problem.query, budget=ssba.Budget(rows=1))
    assert told.best is not None
    assert told.best.distance <= nearest * 1.001
    assert told.evidence.nearer_than == pytest.approx(nearest) or told.evidence.nearer_than < nearest


def test_a_bounded_move_never_reaches() -> None:
    """With one row the search asks about the query only; the feasible row next to the boundary reaches."""
    data = np.r_[np.random.default_rng(0).uniform(-1, 0.9, size=(200, 2)), [[1.0, 1.0]]]
    explainer = ssba.Explainer(lambda rows: rows.sum(axis=1) > 1.9, data, target=True)
    told = explainer.explain([0.0, 0.0], ["x0 >= 0.97", "x1 <= 0.99"], budget=ssba.Budget(rows=1))
    assert told.status == "out_of_budget"
    assert told.bounded is None or not told.bounded.prediction


class TestOnlyAskedRowsCount:
    """By labels, what was guessed from known rows used to be recorded as if it had reached."""

    @pytest.mark.parametrize(
        ("seed", "wishes"),
        [(27, {"sparsity": "balanced"}), (27, {"k": 2, "diversity": "levers"}), (30, OPTIONS["levers"])],
    )
    def test_no_row_is_nearer_than_the_nearest_that_reaches(self, seed: int, wishes: Any) -> None:
        rng = np.random.default_rng(seed)
        data = pd.DataFrame({f"a{i}": rng.integers(0, 8, 150) for i in range(4)})

        def odd(rows: pd.DataFrame) -> Any:
            passed = [rows.a0 > 3, rows.a1 > 4, rows.a2 > 2]
            return np.sum(passed, axis=0) % 2 == 1

        query = data[~odd(data)].iloc[0].to_dict()
        least = query["a0"] + query["a1"] + query["a3"] - 2
        every = pd.DataFrame(list(itertools.product(range(8), repeat=4)), columns=list(data))
        every = every[(every.a0 + every.a1 + every.a3 <= least) & odd(every)]
        truth = np.linalg.norm(every - np.array(list(query.values())), axis=1).min()
        explainer = ssba.Explainer(odd, data, target=True, distance=ssba.Distance(scale="none"))
        told = explainer.explain(query, [f"a0 + a1 + a3 <= {least}"], **wishes)
        assert told.evidence.nearer_than is not None
        assert told.evidence.nearer_than >= truth * (1 - 1e-9)

    def test_a_background_row_with_a_missing_cell_is_a_guess(self) -> None:
        """Such rows were not asked about when the explainer was built, even where the query misses it too."""
        rng = np.random.default_rng(3)
        data = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
        data.loc[:30, "c"] = np.nan
        asked: list[Any] = []

        def model(rows: pd.DataFrame) -> Any:
            reached = rows["a"].to_numpy() > np.where(rows["c"].isna(), 1.5, 0.3)
            asked.append(rows[reached & rows["c"].isna()][["a", "b"]].to_numpy())
            return reached

        explainer = ssba.Explainer(model, data, target=True, distance=ssba.Distance(scale="none"))
        told = explainer.explain({"a": 0.0, "b": 0.0, "c": None})
        assert told.evidence.nearer_than == pytest.approx(np.linalg.norm(np.concatenate(asked), axis=1).min())
        assert told.evidence.nearer_than == pytest.approx(1.5, rel=0.01)


class TestTime:
    """Time is a fake clock that only model calls move, so that this holds on any machine."""

    @pytest.mark.parametrize("call", [0.05, 0.4, 3.0])
    @pytest.mark.parametrize("option", ["plain", "ball", "one change", "levers", "three answers"])
    @pytest.mark.parametrize("reachable", [True, False])
    def test_a_call_ends_within_its_seconds_and_one_model_call(
        self, monkeypatch: pytest.MonkeyPatch, call: float, option: str, reachable: bool
    ) -> None:
        now = [1000.0]
        problem = Problem(2, "mixed", by_labels=True)

        def slow(rows: pd.DataFrame) -> Any:
            now[0] += call
            return problem.model(rows)

        explainer = ssba.Explainer(slow, problem.data, target=True, distance=ssba.Distance(scale="none"))
        rules = [] if reachable else ["x0 == x.x0", "x2 == x.x2", "c == x.c"]
        explainer.explain(problem.query, budget=ssba.Budget(rows=1))
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        begun = now[0]
        told = explainer.explain(problem.query, rules, budget=ssba.Budget(seconds=1.0), **OPTIONS[option])
        monkeypatch.undo()
        # What the query is predicted to be, and the last word on an answer, in a batch and alone.
        assert now[0] - begun <= max(1.0 + call, 3 * call) + 1.0
        assert told.status in ("found", "out_of_budget", "bounded")
