"""Random numbers by purpose, equal rows, and groups of rows: the same whoever else is there."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import on_torch

from ssba.search.lanes import (
    Draws,
    Herd,
    are_repeats,
    different,
    first_of_each,
    nearest_different,
    rank_within,
    row_keys,
)

CELLS = st.sampled_from([0.0, -0.0, 1.0, 0.1 + 0.2, 0.3, float("nan"), float("inf")])
groups = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 1.0, 2.5, math.inf])), max_size=12)


def test_a_path_draws_the_same_numbers_again() -> None:
    one, other = Draws((3,)).of("swap", 2), Draws((3,)).of("swap", 2)
    assert one.generator.random() == other.generator.random() == one.generator.random()


def test_seeds_moves_and_rounds_draw_different_numbers() -> None:
    draws = [
        Draws((3,)),
        Draws((4,)),
        Draws((3,)).of("swap"),
        Draws((3,)).of("swap", 1),
        Draws((3,)).of("back"),
        Draws((3,)).of("back").of("swap"),
        Draws((3,)).of("swap").of("back"),
    ]
    assert len({one.generator.random() for one in draws}) == len(draws)


def test_a_block_with_more_rows_begins_with_the_rows_of_a_smaller_one() -> None:
    """So what a region draws does not depend on how many rows another one needs."""
    one = Draws((0,)).of("ball")
    larger, smaller = (one.generator.normal(size=(count, 4)) for count in (9, 3))
    np.testing.assert_array_equal(larger[:3], smaller)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=12))
def test_as_by_comparing_cell_by_cell(rows: list[tuple[float, float]]) -> None:
    cells = np.array(rows, dtype=float).reshape(-1, 2)

    def same(i: int, j: int) -> bool:
        return bool(np.array_equal(cells[i], cells[j], equal_nan=True))

    firsts = [i for i in range(len(cells)) if not any(same(i, j) for j in range(i))]
    assert different(cells) == firsts
    keys = row_keys(cells)
    pairs = list(combinations(range(len(cells)), 2))
    assert [keys[i] == keys[j] for i, j in pairs] == [same(i, j) for i, j in pairs]


def test_rows_without_cells_are_all_equal() -> None:
    assert different(np.empty((3, 0))) == [0]


def test_parts_of_larger_arrays_are_told_by_their_own_cells() -> None:
    cells = np.array([[1.0, 5.0, 2.0], [1.0, 6.0, 2.0], [1.0, 6.0, 3.0]])
    assert different(cells[:, ::2]) == [0, 2]


def test_rows_on_torch() -> None:
    assert different(on_torch(np.array([[1.0], [2.0], [1.0]]))) == [0, 1]


class TestGroups:
    @given(groups)
    def test_the_first_of_each_group_is_its_least_and_earliest(self, drawn: list[tuple[int, float]]) -> None:
        group, value = np.array([g for g, _ in drawn], dtype=np.int64), np.array([v for _, v in drawn])
        expected = [
            min((i for i in range(len(drawn)) if drawn[i][0] == name), key=lambda i: (drawn[i][1], i))
            for name in sorted({name for name, _ in drawn})
        ]
        assert first_of_each(group, value).tolist() == expected

    @given(groups)
    def test_ranks_count_from_zero_in_each_group(self, drawn: list[tuple[int, float]]) -> None:
        group = np.sort(np.array([g for g, _ in drawn], dtype=np.int64))
        expected = [int((group[:i] == name).sum()) for i, name in enumerate(group)]
        assert rank_within(group).tolist() == expected

    @pytest.mark.parametrize("cell", [1.0, math.nan])
    def test_repeats_are_equal_rows_of_one_region(self, cell: float) -> None:
        rows = np.array([[cell, 1.0], [cell, 1.0], [cell, 1.0], [cell, -1.0]])
        far = np.ones(4)
        assert are_repeats(rows, np.array([0, 0, 1, 1]), far).tolist() == [False, True, False, False]
        assert are_repeats(rows[:0], np.zeros(0, dtype=np.int64), far[:0]).tolist() == []

    def test_repeats_are_seen_past_other_rows_that_are_as_far(self) -> None:
        rows = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
        far = np.array([1.0, 1.0, 1.0, 2.0, 2.0])
        at = np.zeros(5, dtype=np.int64)
        assert are_repeats(rows, at, far).tolist() == [
            False,
            False,
            True,
            False,
            True,
        ]


def test_the_nearest_different_rows_come_region_by_region() -> None:
    rows, at = np.array([[4.0], [1.0], [2.0], [2.0], [3.0]]), np.array([1, 0, 1, 1, 1])
    assert nearest_different(rows, at, rows[:, 0], 2).tolist() == [1, 2, 4]
    assert nearest_different(rows, at, rows[:, 0], np.inf).tolist() == [1, 2, 4, 0]


class TestHerd:
    def test_further_rows_stand_behind_those_of_their_region(self) -> None:
        one = Herd(np.array([[1.0], [2.0]]), np.array([0, 1]))
        more = one.and_(Herd(np.array([[3.0], [4.0]]), np.array([0, 2])))
        assert more.at.tolist() == [0, 0, 1, 2]
        assert more.rows.ravel().tolist() == [1, 3, 2, 4]
        assert more.of(np.array([0, 2])).rows.ravel().tolist() == [1, 3, 4]
