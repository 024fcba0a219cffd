"""Smaller sets of columns, and rows stretched to a length over them."""

import numpy as np
import pandas as pd
import pytest
from tests.support import setting

from ssba.search.sparse import column_sets, stretched_to

X = np.random.default_rng(2).uniform(-2, 2, size=(100, 3))


def test_sets_leave_out_the_least_useful_or_any_single_column() -> None:
    assert column_sets([3, 1, 2, 0], []) == [(0,), (2, 0), (1, 2, 0), (3, 2, 0), (3, 1, 0), (3, 1, 2)]
    assert column_sets([5], []) == []
    assert column_sets([], []) == []


def test_what_must_change_is_never_left_out() -> None:
    assert column_sets([3, 1, 2], [1]) == [(1,), (1, 2), (1, 3)]
    assert column_sets([3], [3]) == []


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_row_is_stretched_to_the_length_over_the_free_columns(norm: str) -> None:
    mine = setting(X, norm=norm, scale="none")  # type: ignore[arg-type]
    region = mine.region([0.0, 0.0, 0.0], "x2 == x.x2")
    row = stretched_to(region, mine.metric, np.array([0.3, -0.4, 0.5]), 1.0)
    assert row is not None
    assert row[2] == 0
    assert row[0] / row[1] == pytest.approx(-0.75)
    assert mine.metric.distance(row[None, :], region.x)[0] == pytest.approx(1.0, rel=2e-3)
    assert mine.metric.distance(row[None, :], region.x)[0] <= 1.0


def test_bounds_and_steps_are_kept() -> None:
    frame = pd.DataFrame({"n": range(10), "a": np.linspace(0, 1, 10)})
    mine = setting(frame, scale="none")
    region = mine.region({"n": 4, "a": 0.5})
    row = stretched_to(region, mine.metric, np.array([5.0, 0.6]), 3.7)
    assert row is not None
    assert region.contains(row[None, :])[0]
    assert row[0] == 7


def test_none_where_nothing_fits() -> None:
    mine = setting(X, scale="none")
    region = mine.region([0.0, 0.0, 0.0], "x0 >= 1")
    assert stretched_to(region, mine.metric, np.array([1.5, 0.0, 0.0]), 0.9) is None
    held = mine.region([0.0, 0.0, 0.0], "x0 == x.x0", "x1 == x.x1")
    assert stretched_to(held, mine.metric, np.array([1.5, 0.5, 0.0]), 0.9) is None
