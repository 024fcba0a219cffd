"""Center and start of a region with linear rows: feasible, legal, near, or proof that there is none."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Setting, setting

from ssba.columns.features import integer, numeric
from ssba.constraints.constraint import constraint

WHOLE = setting(np.array([[0, 0, 0], [6, 6, 6]]), scale="none")


def starts(where: Setting, query: Any, *texts: str) -> list[list[float]]:
    found = where.regions(where.space.encode_row(query), [constraint(text) for text in texts])
    return [region.start.tolist() for region in found]


def test_the_start_is_the_query_where_it_meets_the_lines() -> None:
    assert starts(WHOLE, [3, 2, 1], "x0 + x1 <= 5", "x0 - x2 >= 2") == [[3.0, 2.0, 1.0]]


def test_whole_numbers_meet_a_line_that_rounding_would_break() -> None:
    ((a, b, c),) = starts(WHOLE, [3, 3, 3], "2 * x0 + 3 * x1 == 17", "x2 == x.x2")
    assert 2 * a + 3 * b == 17
    assert c == 3


def test_no_whole_numbers_on_a_line_is_a_contradiction() -> None:
    assert starts(WHOLE, [3, 3, 3], "2 * x0 + 4 * x1 == 7") == []
    assert starts(WHOLE, [3, 3, 3], "3 * x0 + 3 * x1 > 18", "3 * x0 + 3 * x1 < 21") == []


def test_lines_beyond_declared_bounds_are_a_contradiction() -> None:
    where = setting(np.array([[0.0, 0.0], [6.0, 6.0]]), {"x0": numeric(high=6), "x1": numeric(high=6)})
    assert starts(where, [1.0, 1.0], "x0 + x1 >= 13") == []
    assert starts(where, [1.0, 1.0], "x0 + x1 >= 12") == [[6.0, 6.0]]


def test_the_datas_range_gives_way_to_a_line_but_only_where_it_must() -> None:
    where = setting(np.array([[0.0, 0.0], [6.0, 6.0]]))
    ((a, b),) = starts(where, [1.0, 1.0], "x0 + x1 >= 13")
    assert a + b >= 13
    ((a, b),) = starts(where, [1.0, 1.0], "x0 + x1 >= 11")
    assert max(a, b) <= 6


@given(
    st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(lambda row: sum(map(bool, row)) > 1),
    st.integers(-12, 12),
    st.sampled_from(["<=", ">=", "==", "<", ">"]),
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
)
def test_on_a_small_grid_a_start_is_found_exactly_where_one_exists(
    row: list[int], right: int, operator: str, x: list[int]
) -> None:
    """Every one of the 343 rows is tried by hand; the start is also no further than twice the nearest."""
    bounded = {f"x{i}": integer(low=0, high=6) for i in range(3)}
    where = setting(np.array([[0, 0, 0], [6, 6, 6]]), bounded, norm="l1", scale="none")
    text = " + ".join(f"{factor} * x{i}" for i, factor in enumerate(row)) + f" {operator} {right}"
    found = starts(where, x, text)
    compare = {"<=": np.less_equal, ">=": np.greater_equal, "==": np.equal, "<": np.less, ">": np.greater}
    every = np.array(list(itertools.product(range(7), repeat=3)))
    feasible = every[compare[operator](every @ row, right)]
    assert bool(found) == bool(len(feasible))
    if found:
        gaps = np.abs(feasible - x).sum(axis=1)
        assert found[0] in feasible.tolist()
        assert np.abs(np.array(found[0]) - x).sum() <= 2 * gaps.min()


def test_steps_and_real_numbers_mix_in_one_line() -> None:
    frame = pd.DataFrame({"n": [0, 9], "s": [0.0, 5.0], "r": [0.0, 1.0]})
    where = setting(frame, {"s": numeric(step=0.1)})
    ((n, s, r),) = starts(where, {"n": 1, "s": 0.1, "r": 0.5}, "n + s + r >= 7.25", "n - 10 * s == 0")
    assert n == round(n)
    assert s == round(s, 1)
    assert n + s + r >= 7.25
    assert n - 10 * s == pytest.approx(0, abs=1e-8)


def test_a_strict_line_is_not_touched() -> None:
    where = setting(np.array([[0.0, 0.0], [6.0, 6.0]]))
    ((a, b),) = starts(where, [1.0, 1.0], "x0 + x1 > 3")
    assert 3 < a + b < 3.01


def test_the_center_has_room_and_lies_in_the_bounds() -> None:
    where = setting(np.array([[0.0, 0.0], [6.0, 6.0]]))
    region = where.region([1.0, 1.0], "x0 + x1 <= 8", "x0 - x1 <= 1")
    assert region.linear is not None
    assert (region.linear.A @ region.center < region.linear.b).all()
    assert (region.lower <= region.center).all()
    assert (region.center <= region.upper).all()


def test_lines_about_cells_that_stay_missing_ask_nothing() -> None:
    frame = pd.DataFrame({"a": [0.0, 20.0, 5.0], "b": [0.0, 20.0, None]})
    where = setting(frame)
    for texts in (["a + b >= 10"], ["a + b >= 30"], ["a + b <= 4"]):
        (start,) = starts(where, {"a": 5.0, "b": None}, *texts)
        np.testing.assert_array_equal(start, [5.0, math.nan])


def test_lines_about_cells_that_may_be_filled_hold_once_they_are() -> None:
    frame = pd.DataFrame({"a": [0.0, 20.0, 5.0], "b": [0.0, 20.0, None]})
    where = setting(frame)
    x = where.space.encode_row({"a": 5.0, "b": None})
    for text in ("a + b >= 10", "a + b <= 4"):
        for region in where.regions(x, [constraint(text), constraint("b may be filled")]):
            rows, fine = region.pull_in(np.array([[1.0, 1.0], [15.0, 15.0], [3.0, math.nan]]))
            for row in rows[fine]:
                kept = math.isnan(row[1])
                assert kept or (row.sum() >= 10 if ">=" in text else row.sum() <= 4)
            assert region.contains(region.start[None, :])[0]


@pytest.mark.parametrize("text", ["x0 + x1 == 10", "x0 + x1 + x2 == 10", "0.3 * x0 + x1 == 2"])
def test_equalities_over_32_bit_columns_have_a_start(text: str) -> None:
    where = setting(np.array([[0, 0, 0], [9, 9, 9]], dtype=np.float32))
    assert len(starts(where, [1.1, 2.2, 3.3], text)) == 1
