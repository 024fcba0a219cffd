"""All legal rows within a radius, and none where they are too many to ask about."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.lanes import Lanes, judge_of, lane
from tests.support import labels_only, setting

from ssba.columns.distance import Norm
from ssba.columns.features import categorical, integer, numeric
from ssba.constraints.constraint import constraint
from ssba.search.exhaust import ask_few_nearer, ask_outward, extent_of, legal_rows_within

FRAME = pd.DataFrame(
    {"a": [0, 3, 8, 9], "b": [0.0, 0.5, 1.5, 2.0], "c": ["u", "v", "w", "u"], "d": [0.1, 0.2, 0.3, 0.9]}
)
KINDS: dict[str, Any] = {"a": integer(), "b": numeric(step=0.5), "c": categorical()}


def brute_force(mine: Any, region: Any, radius: float) -> set[tuple[float, ...]]:
    """Every combination of the columns' values in the data's range, kept if feasible and near."""
    d = float(region.x[3])
    grid = [(a, b, c, d) for a, b, c in itertools.product(range(10), [0.0, 0.5, 1.0, 1.5, 2.0], range(3))]
    rows = np.array(grid, dtype=float)
    kept = region.contains(rows) & (mine.metric.distance(rows, region.x) < radius)
    return {tuple(row) for row in rows[kept]}


@given(
    radius=st.floats(0.2, 4.0),
    norm=st.sampled_from(["l1", "l2"]),
    texts=st.lists(
        st.sampled_from(["a >= x.a", "a - 2 * b <= 3", "c != 'w'", "b <= 1"]), unique=True, max_size=3
    ),
)
def test_they_are_the_same_as_by_brute_force(radius: float, norm: Norm, texts: list[str]) -> None:
    mine = setting(FRAME, KINDS, norm)
    for region in mine.regions(
        mine.space.encode_row({"a": 3, "b": 0.5, "c": "u", "d": 0.2}),
        [constraint(text) for text in ("d == x.d", *texts)],
    ):
        rows = legal_rows_within(region, mine.metric, radius, most=10_000)
        assert rows is not None
        assert {tuple(row) for row in rows} == brute_force(mine, region, radius)
        assert len({tuple(row) for row in rows}) == len(rows)
        distances = mine.metric.distance(rows, region.x)
        assert (np.diff(distances) >= 0).all()


def test_a_free_column_of_real_numbers_makes_them_countless() -> None:
    mine = setting(FRAME, KINDS)
    region = mine.region({"a": 3, "b": 0.5, "c": "u", "d": 0.2})
    assert legal_rows_within(region, mine.metric, 1.0, most=10_000) is None


@pytest.mark.parametrize("texts", [[], ["a + b <= 20"]])
def test_more_than_wanted_are_none(texts: list[str]) -> None:
    mine = setting(FRAME, KINDS)
    region = mine.region({"a": 3, "b": 0.5, "c": "u", "d": 0.2}, "d == x.d", *texts)
    rows = legal_rows_within(region, mine.metric, np.inf, most=150)
    assert rows is not None
    assert len(rows) == 10 * 5 * 3
    assert legal_rows_within(region, mine.metric, np.inf, most=149) is None


def test_a_query_off_the_grid_may_keep_its_own_value() -> None:
    mine = setting(FRAME, KINDS)
    region = mine.region({"a": 3, "b": 0.7, "c": "u", "d": 0.2}, "d == x.d", "c == x.c", "a == x.a")
    rows = legal_rows_within(region, mine.metric, np.inf, most=10)
    assert rows is not None
    assert sorted(rows[:, 1]) == [0.0, 0.5, 0.7, 1.0, 1.5, 2.0]


def test_a_missing_cell_stays_missing_or_takes_a_legal_value() -> None:
    mine = setting(FRAME.astype({"a": "Int64"}), KINDS)
    query = {"a": None, "b": 0.5, "c": "u", "d": 0.2}
    held = ["d == x.d", "c == x.c", "b == x.b"]
    rows = legal_rows_within(mine.region(query, *held), mine.metric, np.inf, most=50)
    assert rows is not None
    assert np.isnan(rows[:, 0]).tolist() == [True]
    rows = legal_rows_within(mine.region(query, *held, "a may be filled"), mine.metric, np.inf, most=50)
    assert rows is not None
    assert sorted(rows[1:, 0]) == [float(value) for value in range(10)]


class TestOutward:
    """Rows 0 to 999 of a column are listed, and those from some number on reach."""

    @staticmethod
    def asked(first_hit: float, *, most: float = np.inf) -> Lanes:
        where = setting(pd.DataFrame({"a": range(-1000, 1001)}), {"a": integer()}, scale="none")
        one = lane(where, {"a": 0}, judge_of(lambda Z: Z[:, 0] - first_hit, "labels"), most=most)
        ask_outward(one.ledger, {0: np.arange(1000.0)[:, None]})
        return one

    def test_the_nearest_come_first_up_to_the_first_that_reaches(self) -> None:
        one = self.asked(first_hit=300)
        assert one.asked[:, 0].tolist() == sorted(one.asked[:, 0])
        assert 300 < len(one.asked) <= 300 + 128
        assert one.distance == 300

    def test_without_a_hit_all_are_asked_about(self) -> None:
        assert len(self.asked(first_hit=np.inf).asked) == 1000

    def test_nothing_listed_asks_nothing(self) -> None:
        one = lane(
            setting(FRAME, KINDS), {"a": 3, "b": 0.5, "c": "u", "d": 0.2}, labels_only(lambda Z: Z[:, 0] > 5)
        )
        ask_outward(one.ledger, {})
        assert not one.calls


class TestFewNearer:
    """Two whole numbers; the query knows a row that reaches at a distance of 7."""

    @staticmethod
    def asked(most: int, *, rows: float = np.inf) -> tuple[Lanes, Any]:
        frame = pd.DataFrame({"a": range(-20, 21), "b": range(-20, 21)})
        where = setting(frame, {"a": integer(), "b": integer()}, scale="none")
        reaches = judge_of(lambda Z: np.where((Z[:, 0] == 3) & (Z[:, 1] == -4), 1.0, Z[:, 0] - 6.5), "labels")
        one = lane(where, {"a": 0, "b": 0}, reaches, most=rows).knows([[7.0, 0.0]])
        return one, ask_few_nearer(one.ledger, one.at, most)

    def test_all_are_asked_about_where_they_are_few(self) -> None:
        one, done = self.asked(most=200)
        assert done.tolist() == [0]
        assert one.distance == one.ledger.exhausted[0] == 5

    def test_none_where_they_are_more(self) -> None:
        """149 pairs of whole numbers lie nearer than 7."""
        one, done = self.asked(most=100)
        assert not len(done)
        assert not one.calls
        assert one.ledger.exhausted[0] == 0

    def test_a_budget_that_ends_leaves_rows(self) -> None:
        one, done = self.asked(most=200, rows=20)
        assert not len(done)
        assert len(one.asked) == 20
        assert one.ledger.exhausted[0] == 0


@pytest.mark.parametrize(("step", "top"), [(0.1, 7), (0.3, 7), (0.05, 13), (0.7, 3)])
def test_the_topmost_value_of_a_32_bit_column_with_a_step_is_legal(step: float, top: int) -> None:
    """7 * 0.1 is above the largest 32-bit float that is 0.7: what is compared must be what is stored."""
    values = (np.arange(top + 1) * step).astype(np.float32)
    mine = setting(pd.DataFrame({"a": values}), {"a": numeric(step=step)}, scale="none")
    region = mine.region({"a": float(values[1])})
    rows = legal_rows_within(region, mine.metric, 1e6, 100)
    assert rows is not None
    assert sorted(rows[:, 0]) == sorted(np.float64(value) for value in values)
    extent = extent_of(region, mine.metric, 100)
    assert extent is not None
    assert extent.rows == top + 1


def test_rows_of_which_rounding_decides_whether_they_are_feasible_are_not_passed_over() -> None:
    """In 32 bits 120.3 is a little more, so that a sum of floats cannot tell that it meets the relation."""
    frame = pd.DataFrame({"a": [0.0, 20.0, 50.0], "b": np.array([119.45, 120.1, 120.56], dtype=np.float32)})
    mine = setting(frame, {"a": numeric(step=2.0), "b": numeric(step=0.01)})
    x = mine.space.encode_row({"a": 46.0, "b": np.float32(120.363)})
    rules = [constraint("0.3 * b + a <= 72.09")]
    (region,) = mine.regions(x, rules)
    row = mine.space.encode_row({"a": 36.0, "b": np.float32(120.3)})[None, :]
    assert region.may_contain(row)[0]
    assert not region.contains(row)[0]
    far = float(mine.metric.distance(row, region.x)[0])
    assert region.begins <= far
    assert legal_rows_within(region, mine.metric, far * 1.001, most=10_000) is None
    beyond = mine.space.encode_row({"a": 36.0, "b": np.float32(120.31)})[None, :]
    assert not region.may_contain(beyond)[0]
