"""Queries begin with the known background rows that are answers already, the nearest of them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import every

from ssba.constraints.constraint import constraint
from ssba.engine import Engine, Settings, build_engine
from ssba.options import Options
from ssba.pipeline.answer import Request, compiled_states, predict
from ssba.pipeline.begin import begin
from ssba.pipeline.state import Limits, QueryState

_rng = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "a": _rng.normal(size=1500),
        "b": np.where(_rng.random(1500) < 0.1, np.nan, _rng.normal(size=1500)),
        "n": _rng.integers(0, 6, size=1500),
        "c": _rng.choice(["p", "q", "r"], size=1500),
    }
)
RULES = {
    "nothing": [],
    "bounds and levels": ["a <= 1", "n >= x.n", "c in {'p', 'q'}"],
    "a held column": ["c == x.c"],
    "a relation": ["a + n <= 4"],
    "two regions": ["if c changes: n >= x.n + 1"],
}


def model(rows: pd.DataFrame) -> Any:
    return rows["a"] + rows["b"].fillna(0) ** 2 + (rows["c"] == "r") > 1.6


@pytest.fixture(scope="module")
def engine() -> Engine:
    return build_engine(model, FRAME, Settings(target=True))


def begun(engine: Engine, X: Any, texts: list[str], options: Options | None = None) -> list[QueryState]:
    rules = tuple(map(constraint, texts))
    requests = [Request(x, rules, options or Options()) for x in X]
    states = compiled_states(engine, requests, Limits())
    predict(states)
    begin(states)
    return states


def queries(engine: Engine) -> Any:
    rows = FRAME[~model(FRAME)].head(30)
    return engine.space.encode(rows)


def nearest_feasible(state: QueryState) -> Any:
    """Return the 64 nearest of the rows that reach, looked at one region after the other."""
    rows = state.engine.judging.known.rows[state.near]
    feasible = np.any([region.contains(rows) for region in state.query.regions], axis=0)
    rows = rows[feasible]
    return rows[np.argsort(state.distance(rows), kind="stable")][:64]


def known(state: QueryState) -> Any:
    return [archive.nearest(64) for archive in state.found.known]


@pytest.mark.parametrize("texts", RULES.values(), ids=list(RULES))
def test_the_nearest_feasible_rows_that_reach_are_known_from_the_start(
    engine: Engine, texts: list[str]
) -> None:
    states = begun(engine, queries(engine), texts)
    for state in states:
        for archive in state.found.known:
            expected = nearest_feasible(state)
            expected = expected[archive.region.contains(expected)]
            if not len(expected):
                assert not archive.has_found
                continue
            np.testing.assert_array_equal(np.concatenate(archive.hits), expected)
            assert archive.best_distance == state.distance(expected)[0]
    assert any(archive.has_found for state in states for archive in state.found.known)


@pytest.mark.parametrize("texts", RULES.values(), ids=list(RULES))
def test_queries_that_begin_together_know_what_each_knows_alone(engine: Engine, texts: list[str]) -> None:
    X = queries(engine)
    together = begun(engine, X, texts)
    alone = [state for x in X for state in begun(engine, x[None, :], texts)]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.near, other.near)
        pairs = zip(known(one), known(other), strict=True)
        assert every(np.array_equal(*pair) for pair in pairs)


def test_options_that_ask_for_more_than_the_goal_are_looked_at_row_by_row(engine: Engine) -> None:
    for state in begun(engine, queries(engine), [], Options(max_changes=2)):
        found = [one for one in known(state) if len(one)]
        assert every((one != state.x).sum(axis=1).max() <= 2 for one in [state.x[None, :], *found])


def test_no_queries_begin_with_nothing() -> None:
    begin([])
