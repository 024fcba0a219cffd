"""No undefined or out-of-range cell reaches a model, whatever the data, the query and the model's ties.

The oracle checks every row and raises, so that each test of the whole suite would fail if one got there. Here
strange problems are sent through models that look at their rows themselves.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba

SEEDS = range(5)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"k": 3},
    {"max_changes": 1},
    {"sparsity": "strong"},
    {"k": 2, "diversity": "levers"},
    {"margin": ssba.ball(0.2)},
    {"plausible": True},
]


class Recorder:
    """Counts the rows it is asked about, and those with a cell that the data's columns cannot hold."""

    def __init__(self, score: Any, *, by_labels: bool, missing: frozenset[str] = frozenset()) -> None:
        self.score, self.by_labels, self.missing = score, by_labels, missing
        self.rows = self.bad = 0

    def __call__(self, rows: pd.DataFrame) -> Any:
        self.rows += len(rows)
        for name in rows:
            cells = rows[name]
            if cells.dtype.kind in "fiu":
                numbers = cells.to_numpy(float)
                fine = np.isfinite(numbers) | (np.isnan(numbers) & (name in self.missing))
            else:
                fine = cells.isin(["a", "b", "c"]).to_numpy()
            self.bad += int((~fine).sum())
        score = self.score(rows)
        return score > 0.5 if self.by_labels else score


def squash(total: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(total, -700, 700)))


def frame(rng: np.random.Generator, seed: int) -> pd.DataFrame:
    """Return data with a constant, a tiny and a huge column, a 32-bit one, whole numbers and levels."""
    rows = (1, 2, 3, 40, 200)[seed % 5]
    return pd.DataFrame(
        {
            "a": np.round(rng.normal(size=rows), seed % 3),
            "constant": 1.0,
            "tiny": rng.normal(size=rows) * 1e-200,
            "huge": rng.normal(size=rows) * 1e150,
            "single": rng.normal(size=rows).astype(np.float32),
            "whole": rng.integers(-3, 4, rows),
            "level": rng.choice(["a", "b", "c"], rows),
        }
    )


def sums(rows: pd.DataFrame) -> Any:
    huge = rows["huge"].to_numpy() / 1e150
    return rows["a"].to_numpy() + rows["whole"].to_numpy() + 0.5 * huge + rows["tiny"].to_numpy() * 1e200


def explained(explainer: ssba.Explainer, query: Any, rules: list[str]) -> int:
    """Ask with every option; return how many were answered. Too little data for one is told in words."""
    answered = 0
    for wishes in OPTIONS:
        try:
            explainer.explain(query, rules, budget=ssba.Budget(rows=600), **wishes)
            answered += 1
        except ssba.errors.InternalError:
            raise
        except ssba.SsbaError:
            continue
    return answered


# That a column holds a single value is told at every turn.
@pytest.mark.filterwarnings("ignore::ssba.SsbaWarning")
@pytest.mark.parametrize(
    "scale", ["std", *(pytest.param(one, marks=pytest.mark.slow) for one in ("mad", "none"))]
)
@pytest.mark.parametrize("by_labels", [True, False])
def test_strange_columns(scale: Any, by_labels: bool) -> None:
    asked = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        data = frame(rng, seed)
        model = Recorder(lambda rows: squash(sums(rows)), by_labels=by_labels)
        target = True if by_labels else 1
        try:
            explainer = ssba.Explainer(model, data, target=target, distance=ssba.Distance(scale=scale))
        except ssba.SsbaError:
            continue
        for i in range(min(2, len(data))):
            explained(explainer, data.iloc[i].to_dict(), [["whole <= x.whole + 2"], []][i])
        asked += model.rows
        assert model.bad == 0
    assert asked > 500


@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("weight", [1.0, 1e-6, 1e-12])
def test_queries_whose_score_is_an_exact_tie(by_labels: bool, weight: float) -> None:
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=list("xyz"))
    model = Recorder(lambda rows: squash(weight * rows.to_numpy().sum(axis=1)), by_labels=by_labels)
    explainer = ssba.Explainer(
        model, data, target=True if by_labels else 1, distance=ssba.Distance(scale="none")
    )
    for query in ([0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1e-17, 0.0, -1e-17]):
        assert explained(explainer, query, []) == len(OPTIONS)
        assert explained(explainer, query, ["x + y <= x.x + x.y"]) == len(OPTIONS)
    assert model.bad == 0


@pytest.mark.parametrize("by_labels", [True, False])
def test_missing_cells_of_the_query_are_all_that_is_ever_missing(by_labels: bool) -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("wxyz"))
    data = data.mask(rng.random(data.shape) < 0.1)

    def score(rows: pd.DataFrame) -> Any:
        return squash(2 * rows.fillna(0.0).to_numpy().sum(axis=1) - 1)

    for missing in ((), ("x",), ("w", "z")):
        model = Recorder(score, by_labels=by_labels, missing=frozenset(missing))
        explainer = ssba.Explainer(model, data, target=True if by_labels else 1)
        query = {name: None if name in missing else -0.5 for name in data}
        assert explained(explainer, query, []) == len(OPTIONS)
        assert explained(explainer, query, ["x may be filled", "y + w <= 0"]) == len(OPTIONS)
        assert model.bad == 0
