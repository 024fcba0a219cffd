"""A look tells in few rows whether a query has an answer at all; what it finds is checked as ever."""

from typing import Any

import numpy as np
import pytest

import ssba
from ssba.advice.context import Context
from ssba.advice.probing import Find, Prober
from ssba.pipeline.answer import look_at_requests
from ssba.pipeline.look import LOOK_ROWS
from ssba.progress import unwatched

DATA = np.random.default_rng(0).uniform(-4, 4, size=(300, 3))


def chance(rows: Any) -> Any:
    """Score x0 + sin(x1) against 2."""
    up = 1 / (1 + np.exp(-(rows[:, 0] + np.sin(rows[:, 1]) - 2)))
    return np.column_stack([1 - up, up])


def label(rows: Any) -> Any:
    return chance(rows).argmax(axis=1)


@pytest.fixture(scope="module", params=[chance, label])
def context(request: pytest.FixtureRequest) -> Context:
    engine = ssba.Explainer(request.param, DATA, target=1, distance=ssba.Distance(scale="none"))._engine
    return Context(engine, engine.space.encode_row([0.0, 0.0, 0.0]))


def looked(context: Context, *bounds: float) -> list[Find]:
    rules = [[ssba.constraint(f"x0 <= {bound}")] for bound in bounds]
    found = Prober(context.goal, 100_000).looks([context.with_constraints(one) for one in rules])
    assert all(one is not None for one in found)
    return [one for one in found if one is not None]


def test_answers_are_found_where_there_are_some_and_only_there(context: Context) -> None:
    # sin(x1) is 1 at most, so that x0 has to be 1 at least.
    *there, none = looked(context, 3.0, 1.5, 1.1, 0.9)
    for one in there:
        assert one.best is not None
        assert one.best.values["x0"] + np.sin(one.best.values["x1"]) >= 2
        assert not one.is_nearest
    assert none.best is None


def test_a_look_that_misses_takes_few_rows(context: Context) -> None:
    (none,) = looked(context, 0.9)
    assert none.rows_used <= LOOK_ROWS


def test_rows_that_reach_elsewhere_are_where_it_begins(context: Context) -> None:
    rows = context.engine.space.encode(np.array([[1.2, np.pi / 2, 0.0]]))
    tight = context.with_constraints([ssba.constraint("x0 <= 1.1")])
    (state,) = look_at_requests(context.engine, [tight.request(context.goal)], LOOK_ROWS, rows, unwatched)
    assert state.found.answers
    assert state.rows_asked <= 50


def test_a_small_budget_is_kept(context: Context) -> None:
    tight = context.with_constraints([ssba.constraint("x0 <= 0.9")])
    (state,) = look_at_requests(
        context.engine, [tight.request(context.goal)], 10, context.x[None, :][:0], unwatched
    )
    assert state.rows_asked <= 10
