"""What constraints leave of single columns, and how far default ranges give way."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Setting, setting

from ssba.columns.features import Declaration, integer, numeric
from ssba.constraints.constraint import constraint
from ssba.constraints.regions.region import Region

WHOLE = setting(pd.DataFrame({"a": [0, 5, 2], "b": [1, 9, 3], "c": [0, 1, 1]}), scale="none")
QUERY = {"a": 1, "b": 3, "c": 0}


def ends(where: Setting, column: str, *texts: str, query: Any = None) -> list[tuple[float, float]]:
    found = where.regions(where.space.encode_row(query or QUERY), [constraint(text) for text in texts])
    return [_ends(one, where.space.index(column)) for one in found]


def _ends(region: Region, j: int) -> tuple[float, float]:
    return float(region.lower[j]), float(region.upper[j])


def test_without_a_word_a_column_stays_where_data_and_query_are() -> None:
    assert ends(WHOLE, "a") == [(0, 5)]
    assert ends(WHOLE, "a", query={**QUERY, "a": 8}) == [(0, 8)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a >= 2", (2, 5)), ("a >= -3", (-3, 5)), ("a <= 9", (0, 9)), ("2 <= a <= 20", (2, 20))],
)
def test_what_asks_for_a_side_replaces_the_default_there(text: str, wanted: tuple[float, float]) -> None:
    assert ends(WHOLE, "a", text) == [wanted]


def test_the_other_side_has_no_end_where_its_default_would_contradict() -> None:
    ((low, high),) = ends(WHOLE, "a", "a >= 7")
    assert low == 7
    assert high > 1e15
    bounded = setting(pd.DataFrame({"a": [0, 5, 2]}), {"a": integer(high=30)})
    assert ends(bounded, "a", "a >= 7", query={"a": 1}) == [(7, 30)]


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        (integer(low=7), (7, math.inf)),
        (integer(low=7, high=30), (7, 30)),
        (integer(low=3, high=30), (3, 5)),
        (integer(high=-2), (-math.inf, -2)),
        (numeric(step=2, high=-1), (-math.inf, -2)),
    ],
)
def test_the_default_gives_way_to_a_declared_range_that_it_would_contradict(
    declared: Declaration, wanted: tuple[float, float]
) -> None:
    where = setting(pd.DataFrame({"a": [0.0, 5.0, 2.0]}), {"a": declared})
    assert ends(where, "a", query={"a": 1.0}) == [wanted]


def test_the_default_gives_way_where_no_legal_value_of_it_is_left() -> None:
    # Of the multiples of 0.5 the data's range has 80 and none from 80.1 on.
    where = setting(pd.DataFrame({"a": [0.0, 80.3]}), {"a": numeric(step=0.5)})
    assert ends(where, "a", "a >= 80.1", query={"a": 1.0}) == [(80.5, math.inf)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a != 7", [(0, 5)]),
        ("a != 3", [(0, 2), (4, 5)]),
        ("a not in {0, 5, 7}", [(1, 4)]),
        ("a changes", [(0, 0), (2, 5)]),
        ("if a <= 4: b >= 100", [(5, 5), (0, 5)]),
    ],
)
def test_what_only_forbids_opens_nothing(text: str, wanted: list[tuple[float, float]]) -> None:
    assert sorted(ends(WHOLE, "a", text)) == sorted(wanted)


def test_what_is_asked_and_what_is_forbidden_hold_together() -> None:
    # Only what is asked for opens a side: 6 or more, but not 7.
    lows = [low for low, _ in sorted(ends(WHOLE, "a", "a >= 6", "a != 7"))]
    assert lows == [6, 8]
    assert ends(WHOLE, "a", "a >= 2", "a != 9") == [(2, 5)]


class TestRelations:
    def test_ranges_that_meet_a_relation_stay(self) -> None:
        assert ends(WHOLE, "a", "a + b >= 14") == [(0, 5)]
        assert ends(WHOLE, "b", "a + b >= 14") == [(1, 9)]

    def test_each_column_may_go_as_far_as_the_relation_needs(self) -> None:
        # With b at its least, 1, a must be 29; with a at 0, b must be 30.
        assert ends(WHOLE, "a", "a + b >= 30") == [(0, 29)]
        assert ends(WHOLE, "b", "a + b >= 30") == [(1, 30)]
        assert ends(WHOLE, "c", "a + b >= 30") == [(0, 1)]

    def test_strict_needs_one_step_more(self) -> None:
        assert ends(WHOLE, "a", "a + b > 30") == [(0, 30)]

    def test_a_side_that_was_asked_for_stays(self) -> None:
        assert ends(WHOLE, "b", "a + b >= 30", "b <= 12") == [(1, 12)]

    def test_relations_that_need_each_other_widen_in_turn(self) -> None:
        (found,) = WHOLE.regions(
            WHOLE.space.encode_row(QUERY),
            [constraint(text) for text in ("a >= b + 20", "b >= c + 20", "c >= 0", "c <= 1")],
        )
        a, b, c = found.start
        assert a >= b + 20
        assert b >= c + 20
        assert np.abs(found.start).max() < 100
