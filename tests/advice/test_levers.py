"""The menu of levers: half-spaces and switches in closed form, proofs, the heart data, and the budget."""

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from tests.problems import half_space
from tests.support import every

import ssba
from ssba.advice.context import Context
from ssba.advice.levers import lever_table
from ssba.options import Options

DATA = np.random.default_rng(0).uniform(-4, 4, size=(400, 4))
ORIGIN = [0.0, 0.0, 0.0, 0.0]


def context_of(model: Any, row: Any, *texts: str, **wishes: Any) -> Context:
    engine = ssba.Explainer(model, DATA, target=True, distance=ssba.Distance(scale="none"))._engine
    given = tuple(ssba.constraint(text) for text in texts)
    return Context(engine, engine.space.encode_row(row), given, Options(**wishes))


WEIGHTS = np.array([3.0, 2.0, 1.0, 0.0])


def test_levers_of_a_plane_are_those_whose_columns_reach_it_and_at_the_right_distance() -> None:
    # Columns end just below 4, so that a set reaches 10 only if its weights add up to more than 2.5.
    menu = lever_table(context_of(half_space(*WEIGHTS, at=10).logistic(DATA), ORIGIN))
    ends = DATA.max(axis=0)
    for size in (1, 2, 3):
        for columns in itertools.combinations(range(4), size):
            names = {f"x{j}" for j in columns}
            reach = WEIGHTS[list(columns)] @ ends[list(columns)]
            is_unable = any(set(one.columns) == names for one in menu.unable)
            assert is_unable == (reach <= 10)
    told = {one.columns: one.distance for one in menu.levers}
    # 10 / 3 alone; together 10 / sqrt(3^2 + 2^2) and 10 / sqrt(3^2 + 2^2 + 1^2).
    assert told["x0",] == pytest.approx(10 / 3, rel=2e-3)
    assert told["x0", "x1"] == pytest.approx(10 / np.sqrt(13), rel=2e-3)
    # Only 4% nearer than without the third column: not worth telling.
    assert ("x0", "x1", "x2") not in told
    assert ("x0", "x3") not in told


def test_what_a_linear_model_cannot_do_is_proved() -> None:
    menu = lever_table(context_of(half_space(*WEIGHTS, at=10).logistic(DATA), ORIGIN))
    assert menu.unable
    assert {(one.status, one.proof) for one in menu.unable} == {("unreachable", "unreachable")}
    assert {one.proof for one in menu.levers} == {"optimal"}
    assert menu.sets_untried == 0


def test_levers_obey_the_constraints_and_hold_all_other_columns() -> None:
    context = context_of(
        half_space(*WEIGHTS, at=6).logistic(DATA), ORIGIN, "x0 <= 1", "x1 within 1.5", "x3 == x.x3"
    )
    menu = lever_table(context)
    assert {one.columns for one in menu.levers} == {("x0", "x1", "x2"), ("x0", "x2"), ("x1", "x2")}
    for one in menu.levers:
        values = np.array([one.values[f"x{j}"] for j in range(4)])
        assert {f"x{j}" for j in np.flatnonzero(values)} == set(one.columns) == set(one.changes)
        assert values[0] <= 1
        assert abs(values[1]) <= 1.5
        assert WEIGHTS @ values > 6
        assert one.distance == pytest.approx(np.linalg.norm(values))


def test_switches_of_a_closed_model_are_found_one_by_one() -> None:
    steps = np.array([1.0, 1.5, 2.0])
    context = context_of(lambda rows: (rows[:, :3] > steps).any(axis=1), ORIGIN)
    menu = lever_table(context, max_columns=2)
    assert [one.columns for one in menu.levers] == [("x0",), ("x1",), ("x2",)]
    assert [one.distance for one in menu.levers] == pytest.approx(steps, rel=5e-3)
    unable = {one.columns: one for one in menu.unable}
    assert set(unable) == {("x3",)}
    # Only looked for: a search proves nothing about a closed model.
    assert unable["x3",].status == "not_found"
    assert unable["x3",].rows_asked > 50
    assert "Not found to be enough alone: x3" in menu.sentence


def test_a_column_of_few_whole_numbers_is_asked_in_full() -> None:
    counts = np.random.default_rng(1).integers(0, 12, size=(200, 2))
    explainer = ssba.Explainer(
        lambda rows: rows[:, 0] * rows[:, 1] >= 90, counts, target=True, distance=ssba.Distance(scale="none")
    )
    engine = explainer._engine
    menu = lever_table(Context(engine, engine.space.encode_row([5, 6])))
    assert [(one.columns, one.status, one.proof) for one in menu.unable] == [
        (("x0",), "unreachable", "exhausted"),
        (("x1",), "unreachable", "exhausted"),
    ]
    (pair,) = menu.levers
    assert pair.columns == ("x0", "x1")
    # Of all whole numbers up to 11 with a product of 90 or more, 9 and 10 are the nearest to 5 and 6.
    assert (pair.values["x0"], pair.values["x1"]) == (9, 10)


def test_trees_are_proved_unable_where_a_proof_is_wanted() -> None:
    trees = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0)
    trees.fit(DATA, DATA @ WEIGHTS > 10)
    menu = lever_table(context_of(trees, ORIGIN, prove=True), max_columns=1)
    assert {one.columns[0] for one in menu.unable} >= {"x2", "x3"}
    assert every(one.proof in ("unreachable", "exhausted") for one in menu.unable)


def test_a_column_that_must_change_belongs_to_every_lever() -> None:
    context = context_of(half_space(*WEIGHTS, at=10).logistic(DATA), ORIGIN, "x3 >= 1")
    menu = lever_table(context)
    assert every("x3" in one.columns for one in menu.levers)
    alone = {one.columns: one.proof for one in menu.unable}
    assert alone["x0",] == "infeasible"
    assert alone["x3",] == "unreachable"


def test_where_no_column_helps_one_proof_is_enough() -> None:
    context = context_of(half_space(*WEIGHTS, at=10).logistic(DATA), ORIGIN, "x0 <= 1", "x1 <= 1", "x2 <= 1")
    menu = lever_table(context)
    (one,) = menu.unable
    assert one.columns == ("x0", "x1", "x2", "x3")
    assert one.status == "unreachable"
    assert menu.sets_tried == 1
    assert not menu.levers


def test_a_limit_on_changes_limits_the_sets() -> None:
    menu = lever_table(context_of(half_space(*WEIGHTS, at=10).logistic(DATA), ORIGIN, max_changes=1))
    assert menu.max_columns == 1
    assert [one.columns for one in menu.levers] == [("x0",)]


def test_nothing_to_do_and_nothing_possible_are_said() -> None:
    there = lever_table(context_of(half_space(*WEIGHTS, at=10).logistic(DATA), [4.0, 0.0, 0.0, 0.0]))
    assert there.status == "already_there"
    assert "no lever is needed" in there.sentence
    clash = lever_table(context_of(half_space(*WEIGHTS, at=10).logistic(DATA), ORIGIN, "x0 >= 2", "x0 <= 1"))
    assert clash.status == "infeasible"
    assert (clash.levers, clash.unable) == ((), ())


def test_the_budget_is_kept_and_what_was_not_tried_is_counted() -> None:
    context = context_of(lambda rows: rows.sum(axis=1) > 9, ORIGIN)
    for most_rows in (1, 3_000, 9_000):
        menu = lever_table(context, most_rows=most_rows)
        assert menu.rows_used <= most_rows + 100
        assert menu.sets_tried + menu.sets_untried == 4 + 6 + 4
    with pytest.raises(ssba.errors.ArgumentError, match="max_columns is 0; give a whole number, from 1 to 3"):
        lever_table(context, max_columns=0)


def test_many_columns_are_no_reason_to_hang() -> None:
    rng = np.random.default_rng(0)
    data = rng.uniform(-1, 1, size=(200, 100))
    engine = ssba.Explainer(
        lambda rows: rows.sum(axis=1) > 0, data, target=True, distance=ssba.Distance(scale="none")
    )._engine
    menu = lever_table(Context(engine, engine.space.encode_row(np.full(100, -0.001))), most_rows=5_000)
    assert menu.rows_used <= 5_100
    assert menu.sets_untried > 160_000
