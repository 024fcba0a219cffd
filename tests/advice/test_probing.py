"""Many searches within one budget: what is found is what `explain` finds, and the budget is kept."""

import itertools
from typing import Any

import numpy as np
import pytest

import ssba
from ssba.advice.context import Context
from ssba.advice.probing import Prober, find_of

DATA = np.random.default_rng(0).uniform(-4, 4, size=(300, 3))


def curved(rows: Any) -> Any:
    return rows[:, 0] + np.sin(rows[:, 1]) > 2


@pytest.fixture(scope="module")
def context() -> Context:
    engine = ssba.Explainer(curved, DATA, target=True, distance=ssba.Distance(scale="none"))._engine
    return Context(engine, engine.space.encode_row([0.0, 0.0, 0.0]))


def under(context: Context, *bounds: float) -> list[Context]:
    return [context.with_constraints([ssba.constraint(f"x0 <= {bound}")]) for bound in bounds]


def test_a_search_finds_what_explain_finds(context: Context) -> None:
    contexts = under(context, 3, 1.5, 0.5)
    prober = Prober(context.goal, most_rows=20_000)
    for one, found in zip(contexts, prober.search(contexts, rows=10_000), strict=True):
        told = find_of(one.explain())
        assert found is not None
        assert (found.best is None) == (told.best is None)
        if found.best is not None and told.best is not None:
            assert found.best == told.best
    assert 0 < prober.rows_used <= 20_000
    assert not prober.ran_out


def test_rows_are_not_spent_beyond_the_budget(context: Context) -> None:
    prober = Prober(context.goal, most_rows=1_000)
    found = prober.search(under(context, *np.linspace(0.1, 0.8, 8)), rows=400)
    assert found[0] is not None
    assert found[-1] is None
    assert prober.ran_out
    assert prober.rows_used <= 1_000 + 50


def test_what_is_reserved_is_left(context: Context) -> None:
    prober = Prober(context.goal, most_rows=1_000)
    prober.search(under(context, *np.linspace(0.1, 0.8, 8)), rows=300, reserve=600)
    assert prober.rows_left >= 500


def test_a_move_is_told_where_nothing_is_found_and_fewer_constraints_are_no_worse(context: Context) -> None:
    prober = Prober(context.goal, most_rows=10_000)
    tight, loose = prober.moves(under(context, 0.2, 0.6))
    assert tight is not None
    assert loose is not None
    assert 0 < loose.to_go <= tight.to_go
    near, found = prober.search_or_move(under(context, 0.6, 3))
    assert near is not None
    assert near.move is not None
    assert near.move.values["x0"] <= 0.6
    assert found is not None
    assert found.to_go == 0
    assert found.move is found.best


def test_contradictions_and_queries_that_are_there_have_no_answer(context: Context) -> None:
    clash = context.with_constraints([ssba.constraint("x0 >= 2"), ssba.constraint("x0 <= 1")])
    prober = Prober(context.goal, most_rows=10_000)
    (nothing,) = prober.search([clash])
    assert nothing is not None
    assert not nothing.is_feasible
    assert nothing.rows_used == 0
    there = Context(context.engine, context.engine.space.encode_row([4.0, 0.0, 0.0]))
    assert prober.is_there(there)
    (none,) = prober.search([there])
    assert none is not None
    assert none.best is None


def test_first_finds_tell_whether_there_is_an_answer_in_fewer_rows(context: Context) -> None:
    contexts = under(context, 3, 1.5, 0.5)
    prober, thorough = (Prober(context.goal, most_rows=20_000) for _ in range(2))
    first, nearest = prober.first_finds(contexts), thorough.search(contexts)
    for own, one, best in zip(contexts, first, nearest, strict=True):
        assert one is not None
        assert best is not None
        assert (one.best is None) == (best.best is None)
        if one.best is not None and best.best is not None:
            assert one.best.distance >= best.best.distance
            assert own.is_feasible(own.encode(one.best.values)[None, :]).all()
            assert not one.is_nearest
    assert [one is not None and one.best is None for one in first] == [False, False, True]
    assert prober.rows_used < 0.5 * thorough.rows_used


def test_first_finds_are_remembered_unless_the_budget_ended_the_search(context: Context) -> None:
    prober = Prober(context.goal, most_rows=20_000)
    contexts = under(context, 3, 0.5)
    found = prober.first_finds(contexts)
    used = prober.rows_used
    assert prober.first_finds(contexts, rows=10_000) == found
    assert prober.rows_used == used
    (cut,) = prober.first_finds(under(context, 0.4), rows=5)
    assert cut is not None
    assert not cut.is_complete
    (whole,) = prober.first_finds(under(context, 0.4), rows=2_000)
    assert whole is not None
    assert whole.is_complete
    assert whole.rows_used > cut.rows_used


def test_a_search_is_not_complete_where_a_larger_budget_would_have_all_rows_asked() -> None:
    # Of 5,184 rows below the bound one reaches, which is not in the data: only asking about all finds it.
    lone = (3, 11, 4)
    grid = np.array([row for row in itertools.product(range(18), repeat=3) if row != lone])

    def model(rows: Any) -> Any:
        return (rows[:, 0] >= 16) | (rows == lone).all(axis=1)

    engine = ssba.Explainer(model, grid, target=True)._engine
    (context,) = under(Context(engine, engine.space.encode_row([8, 8, 8])), 15)
    prober = Prober(context.goal, most_rows=20_000)
    (few,) = prober.first_finds([context], rows=2_000)
    assert few is not None
    assert (few.best, few.is_complete) == (None, False)
    (whole,) = prober.first_finds([context], rows=10_000)
    assert whole is not None
    assert whole.is_complete
    assert whole.best is not None
    assert tuple(whole.best.values.values()) == lone
