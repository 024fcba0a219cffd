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


def test_a_unit_without_a_limit_moves_at_once() -> None:
    free = context()
    unit = whole_unit(free.x, np.array([26.0, 29.0, 10.0]), (0, 1))
    assert split_unit(free, free.x, unit, {2: 1.0}) is unit
