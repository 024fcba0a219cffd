from typing import Any

import numpy as np
import pandas as pd
from tests.advice.cases import context_of

import ssba
from ssba.advice.context import Context
from ssba.advice.plan.units import first_units, split_unit, whole_unit

DATA = pd.DataFrame(np.random.default_rng(0).integers(0, 60, size=(300, 3)), columns=["a", "b", "c"])


def context(constraints: Any = ()) -> Context:
    explainer = ssba.Explainer(lambda rows: rows["a"] > 30, DATA, target=True)
    return context_of(explainer, {"a": 5, "b": 50, "c": 10}, constraints)


def test_each_changed_column_is_a_unit_that_moves_at_once() -> None:
    x, z = np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 2.0, 4.0, np.nan])
    assert [unit.columns for unit in first_units(x, z)] == [(0,), (2,)]
    assert [unit.visits for unit in first_units(x, z)] == [1, 1]


def test_linked_whole_numbers_stay_on_their_line_in_steps_that_are_short_enough() -> None:
    linked = context(["a + b == 55", "a + 2 * b >= 56"])
    z = np.array([26.0, 29.0, 10.0])
    unit = split_unit(linked, linked.x, whole_unit(linked.x, z, (0, 1)), {0: 7.0})
    assert (unit.levels.sum(axis=1) == 55).all()
    assert np.abs(np.diff(unit.levels, axis=0)).max() <= 7
    # 21 in parts of at most 6, which leaves one for rounding at either end.
    assert unit.visits == 4


def test_a_visit_is_never_empty_and_never_goes_back() -> None:
    linked = context(["a + 2 * b >= 105", "a + 2 * b <= 107"])
    z = np.array([45.0, 30.0, 10.0])
    unit = split_unit(linked, linked.x, whole_unit(linked.x, z, (0, 1)), {0: 3.0})
    moves = np.diff(unit.levels, axis=0)
    assert (moves * np.sign(z - linked.x)[:2] >= 0).all()
    assert moves.any(axis=1).all()
    assert np.abs(moves[:, 0]).max() <= 3


def test_steps_may_be_far_more_than_are_tried_one_by_one() -> None:
    fine = ssba.numeric(step=0.01)
    data = pd.DataFrame({"a": np.linspace(0, 100, 50), "b": np.linspace(0, 100, 50)})
    explainer = ssba.Explainer(lambda rows: rows["a"] > 50, data, True, features={"a": fine, "b": fine})
    linked = context_of(explainer, {"a": 1.0, "b": 1.0}, ["7 * a - 3 * b == 4"])
    # From 1, 1 to 34, 78: 3,300 and 7,700 steps, of which every 1,100th part is legal for both.
    unit = split_unit(linked, linked.x, whole_unit(linked.x, np.array([34.0, 78.0]), (0, 1)), {0: 1.0})
    assert np.abs(np.diff(unit.levels[:, 0])).max() <= 1
    assert unit.visits < 40
    assert (unit.levels == np.round(unit.levels, 2)).all()


def test_a_unit_without_a_limit_moves_at_once() -> None:
    free = context()
    unit = whole_unit(free.x, np.array([26.0, 29.0, 10.0]), (0, 1))
    assert split_unit(free, free.x, unit, {2: 1.0}) is unit
