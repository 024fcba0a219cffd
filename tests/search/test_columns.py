"""Columns one by one: taken back, one step or one level away; always legal and feasible."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import DRAWS, Lanes, judge_of, lane, lanes, weighted
from tests.support import Matrix, Setting, labels_only, setting

from ssba.columns.features import numeric
from ssba.search.columns import neighbours, pairs_within, pull_back, steps_of
from ssba.search.regions import Numbers

SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
ORIGIN = [0.0] * 4
MIXED = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


def is_legal(where: Setting, rows: Matrix) -> bool:
    """Tell whether rows come back from the user's form as they went in."""
    return np.array_equal(where.space.encode(where.space.decode(rows)), rows, equal_nan=True)


def pulled(one: Lanes, rows: Any, **how: Any) -> Matrix:
    """Take back the columns of rows of the only region."""
    rows = np.array(rows, dtype=float)
    return pull_back(one.ledger, rows, zeros(len(rows)), DRAWS, **how)[0]


def by(reached: Any, *texts: str, where: Setting = SPACE, query: Any = ORIGIN) -> Lanes:
    return lane(where, query, labels_only(reached), *texts)


class TestPullBack:
    def test_columns_that_do_nothing_go_all_the_way_back(self) -> None:
        rows = np.array([[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 1.0]])
        before = rows.copy()
        found = pulled(by(lambda Z: Z[:, 0] >= 2), rows)
        np.testing.assert_array_equal(rows, before)
        # The least sixteenth of the change that still reaches is 7 of 16 of 5, and 8 of 16 of 4.
        np.testing.assert_allclose(found, [[5 * 7 / 16, 0, 0, 0], [2.0, 0, 0, 0]])

    @pytest.mark.parametrize("sections", [1, 2, 5])
    def test_more_sections_come_nearer_to_the_limit(self, sections: int) -> None:
        one = by(lambda Z: (Z[:, 0] >= 2) & (Z[:, 1] >= 0.7))
        (found,) = pulled(one, [[5.0, 3.0, 0, 0]], sections=sections)
        assert 2 <= found[0] <= 2 + 5 * 4.0**-sections
        assert 0.7 <= found[1] <= 0.7 + 3 * 4.0**-sections

    def test_columns_that_can_go_back_together_take_few_model_calls(self) -> None:
        one = by(lambda Z: Z[:, 0] >= 2)
        pulled(one, [[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 0.0]])
        # Seven cells alone; 1, 2 or all 3 and 1 or both together; two cells in two sections; then as found.
        assert [len(rows) for rows, _ in one.calls] == [7, 3 + 2, 2 * 3, 2 * 3, 2]

    def test_of_columns_that_cannot_go_together_one_stays(self) -> None:
        """Either of x0 and x1 will do; which one goes is a matter of the order, each row's own."""
        found = pulled(by(lambda Z: (Z[:, 0] >= 2) | (Z[:, 1] >= 2)), [[4.0, 3.9, 0.0, 0.0]] * 20)
        assert ((found[:, :2] == 0).sum(axis=1) == 1).all()
        assert set(np.flatnonzero((found == 0).all(axis=0))) == {2, 3}

    def test_rows_that_cannot_become_worthwhile_are_left_out(self) -> None:
        """All can go back but x0, which is at 2 or more: 5 may come down to that, 2 is there."""
        one = by(lambda Z: Z[:, 0] >= 2)
        rows = [[5.0, 3.0, 0.0, 0.0], [9.0, 0.0, 1.0, 0.0], [2.0, 8.0, 8.0, 8.0]]
        found = pulled(one, rows, worthwhile=np.array([6.0]))
        np.testing.assert_allclose(found, [[5 * 7 / 16, 0, 0, 0], [2.0, 0, 0, 0]])
        assert not (np.concatenate([asked for asked, _ in one.calls[1:]])[:, 0] > 5).any()

    def test_rows_keep_their_regions(self) -> None:
        two = lanes(SPACE, [ORIGIN, [1.0] * 4], labels_only(lambda Z: Z[:, 0] >= 2))
        rows = np.array([[4.0, 3.0, 0, 0], [3.0, 3.0, 3.0, 3.0]])
        found, of = pull_back(two.ledger, rows, two.at, DRAWS)
        assert of.tolist() == [0, 1]
        np.testing.assert_allclose(found, [[2, 0, 0, 0], [2, 1, 1, 1]])

    def test_levels_go_back_or_stay(self) -> None:
        rows = np.array([[2.0, 3.0, 0.5, 1.0], [2.0, 3.0, 0.5, 1.0]])
        for reached, level in [(lambda Z: Z[:, 0] >= 1, 0.0), (lambda Z: Z[:, 3] == 1, 1.0)]:
            assert (pulled(by(reached, where=MIXED, query=QUERY), rows)[:, 3] == level).all()

    def test_where_nothing_moved_nothing_is_asked(self) -> None:
        one = by(lambda Z: Z[:, 0] >= 2)
        pulled(one, np.zeros((2, 4)))
        assert one.calls == []

    def test_no_rows_are_no_problem(self) -> None:
        assert pulled(by(lambda Z: Z[:, 0] >= 2), np.empty((0, 4))).shape == (0, 4)

    def test_a_missing_cell_of_the_query_is_left_alone(self) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
        one = by(lambda Z: Z[:, 1] >= 2, where=where, query={"a": None, "b": 0.0})
        np.testing.assert_allclose(pulled(one, [[math.nan, 4.0]]), [[math.nan, 2.0]])

    @pytest.mark.parametrize("texts", [[], ["r + n <= 3"], ["n >= 1", "c == 'v'"]])
    @settings(max_examples=25)
    @given(seed=st.integers(0, 10**6))
    def test_rows_still_reach_stay_feasible_and_are_no_farther(self, texts: list[str], seed: int) -> None:
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=4)
        region = MIXED.region(QUERY, *texts)
        rows, fine = region.pull_in(rng.uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4)))
        rows = rows[fine]
        right = np.quantile(weighted(rows, weights), 0.6)
        rows = rows[weighted(rows, weights) >= right]
        one = lane(MIXED, QUERY, judge_of(lambda Z: weighted(Z, weights) - right, "labels"), *texts)
        found = pulled(one, rows)
        assert len(found) == len(rows)
        assert (weighted(found, weights) >= right).all()
        assert region.contains(found).all()
        assert is_legal(MIXED, found)
        before, after = (MIXED.metric.distance(Z, region.start) for Z in (rows, found))
        assert (after <= before + 1e-12).all()

    def test_nothing_is_asked_twice_on_a_grid(self) -> None:
        one = by(lambda Z: Z[:, 1] >= 2, "r == x.r", where=MIXED, query=QUERY)
        pulled(one, [[0.0, 5.0, 0.2, 1.0], [0.0, 4.0, 1.8, 0.0], [0.0, 5.0, 1.0, 1.0]])
        assert len({row.tobytes() for row in one.asked}) == len(one.asked) == one.ledger.asked[0]


class TestNeighbours:
    @pytest.mark.parametrize("texts", [[], ["r + n <= 3", "s - r >= 0.5"], ["c == x.c", "r >= x.r"]])
    @pytest.mark.parametrize("pairs", [0, 3])
    def test_they_are_feasible_and_legal(self, texts: list[str], pairs: int) -> None:
        one = by(lambda Z: Z[:, 0] > 9, *texts, where=MIXED, query=QUERY)
        drawn = np.random.default_rng(0).uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4))
        parents, fine = one.region.pull_in(drawn)
        rows, of = neighbours(one.regions, parents[fine], zeros(int(fine.sum())), pairs)
        assert set(of) == set(range(int(fine.sum())))
        assert one.region.contains(rows).all()
        assert is_legal(MIXED, rows)

    def test_they_are_one_step_or_one_level_away(self) -> None:
        one = by(lambda Z: Z[:, 0] > 9, where=MIXED, query=QUERY)
        rows, _ = neighbours(one.regions, np.array([[1.0, 2.0, 0.3, 0.0]]), zeros(1))
        expected = [[1, 1, 0.3, 0], [1, 3, 0.3, 0], [1, 2, 0.2, 0], [1, 2, 0.4, 0], [1, 2, 0.3, 1]]
        moved = [row for row in rows.tolist() if row != [1.0, 2.0, 0.3, 0.0]]
        assert sorted(moved) == sorted([float(cell) for cell in row] for row in expected)

    def test_pairs_take_two_steps_of_different_columns_at_once(self) -> None:
        where = setting(np.array([[-9, -9], [9, 9]]), scale="none")
        one = by(lambda Z: Z[:, 0] > 9, where=where, query=[0, 0])
        rows, _ = neighbours(one.regions, np.array([[2.0, 2.0]]), zeros(1), pairs=9)
        steps = {(2 + i, 2 + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(2, 2)}
        assert {(int(a), int(b)) for a, b in rows.tolist()} == steps

    def test_a_region_of_real_numbers_has_none(self) -> None:
        one = by(lambda Z: Z[:, 0] > 9)
        rows, of = neighbours(one.regions, np.ones((1, 4)), zeros(1))
        assert rows.shape == (0, 4)
        assert len(of) == 0

    def test_steps_say_whose_they_are_and_in_which_column(self) -> None:
        one = by(lambda Z: Z[:, 0] > 9, where=MIXED, query=QUERY)
        z = np.array([[1.0, 2.0, 0.3, 0.0], [0.0, 0.0, 1.0, 1.0]])
        rows, of, column = steps_of(one.regions, z, zeros(2))
        assert (np.diff(of) >= 0).all()
        changed = rows != z[of]
        assert (changed.sum(axis=1) <= 1).all()
        assert changed[np.arange(len(of)), column].sum() == changed.sum()

    def test_pairs_within_groups_are_all_pairs_of_their_first_members(self) -> None:
        first, second = pairs_within(np.array([0, 0, 0, 2, 2]), 1)
        assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (3, 4)]
        first, second = pairs_within(np.array([0, 0, 0, 2, 2]), 9)
        assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (3, 4)]
