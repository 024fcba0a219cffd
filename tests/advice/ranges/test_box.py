from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.advice.ranges.box import Box, corners, drawn, grow, peel, point_box, slab


def unit_box(width: int, step: float = 0.0, size: float = 1.0) -> Box:
    zeros = np.zeros(width)
    return point_box(zeros, zeros - size, zeros + size, zeros + step, zeros > 0)


def rng() -> Any:
    return np.random.default_rng(0)


class TestDrawn:
    def test_numbers_fill_the_box_evenly(self) -> None:
        rows = drawn(np.array([-1.0, 2.0]), np.array([1.0, 6.0]), np.zeros(2), 4000, rng())
        assert (rows >= [-1, 2]).all()
        assert (rows <= [1, 6]).all()
        assert rows.mean(axis=0) == pytest.approx([0.0, 4.0], abs=0.1)

    def test_steps_are_equally_likely_and_both_ends_are_among_them(self) -> None:
        rows = drawn(np.array([2.0]), np.array([5.0]), np.array([1.0]), 4000, rng())
        values, counts = np.unique(rows, return_counts=True)
        assert values.tolist() == [2, 3, 4, 5]
        assert counts.min() > 850

    def test_a_point_is_drawn_again_and_again(self) -> None:
        assert (drawn(np.ones(3), np.ones(3), np.zeros(3), 5, rng()) == 1).all()


class TestGrow:
    @pytest.mark.parametrize("width", [1, 3, 9])
    def test_where_everything_holds_it_grows_to_the_limits(self, width: int) -> None:
        calls = []

        def holds(rows: Any) -> Any:
            calls.append(len(rows))
            return np.ones(len(rows), dtype=bool)

        box = grow(unit_box(width), holds, 10_000, 8, rng())
        # Steps double: an eighth, a quarter, a half and the rest, asked about alone and together.
        assert len(calls) <= 8
        assert (box.low == -1).all()
        assert (box.high == 1).all()

    @pytest.mark.parametrize("step", [0.0, 0.125])
    def test_a_box_in_a_disc_stays_inside_and_cannot_grow_much(self, step: float) -> None:
        box = grow(unit_box(2, step), lambda rows: (rows**2).sum(axis=1) <= 0.5, 20_000, 32, rng())
        ends = np.maximum(-box.low, box.high)
        assert (ends**2).sum() <= 0.5 + 1e-9
        # Of the largest square, with a side of 1 and an area of 1, at least three quarters.
        assert np.prod(box.high - box.low) >= 0.75
        assert (box.low <= 0).all()
        assert (box.high >= 0).all()

    def test_a_corner_on_the_boundary_grows_to_the_other_side_only(self) -> None:
        box = grow(unit_box(3), lambda rows: rows.sum(axis=1) >= 0, 10_000, 16, rng())
        assert box.low.tolist() == [0, 0, 0]
        assert box.high.tolist() == [1, 1, 1]

    def test_many_columns_are_held_by_their_worst_corner(self) -> None:
        # A random corner of 20 columns is hardly ever the worst one.
        zeros = np.zeros(20)
        box = point_box(zeros, zeros - 1, zeros + 1, zeros, zeros > 0)
        box = grow(box, lambda rows: rows.sum(axis=1) >= -2, 50_000, 8, rng())
        assert box.low.sum() >= -2 - 1e-9

    def test_it_keeps_to_its_rows(self) -> None:
        asked = []

        def holds(rows: Any) -> Any:
            asked.append(len(rows))
            return (rows**2).sum(axis=1) <= 0.5

        grow(unit_box(4), holds, 300, 8, rng())
        assert sum(asked) - sum(asked[-10:]) <= 300


class TestPeel:
    @given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 10_000), st.sampled_from([0.0, 0.25]))
    def test_no_failing_row_is_left_inside_and_the_center_stays(
        self, width: int, count: int, seed: int, step: float
    ) -> None:
        start = unit_box(width, step)
        box = Box(start.center, start.low_limit, start.high_limit, *_limits(start))
        failing = drawn(box.low, box.high, box.step, count, np.random.default_rng(seed))
        failing = failing[(failing != 0).any(axis=1)]
        cut = peel(box, failing)
        inside = ((failing >= cut.low) & (failing <= cut.high)).all(axis=1)
        assert not inside.any()
        assert (cut.low <= 0).all()
        assert (cut.high >= 0).all()

    def test_the_center_itself_is_never_cut_away(self) -> None:
        box = unit_box(2)
        assert (peel(box, box.center[None, :]).low == box.low).all()


def _limits(box: Box) -> tuple[Any, ...]:
    return box.low_limit, box.high_limit, box.step, box.worst


def test_a_slab_lies_beyond_the_old_end() -> None:
    box = unit_box(2, step=0.25)
    rows = slab(box, box.with_end(3, 0.5), 3, 20, rng())
    assert rows[:, 1].min() == 0.25
    assert rows[:, 1].max() == 0.5
    assert (rows[:, 0] == 0).all()


def test_few_columns_show_all_their_corners() -> None:
    start = unit_box(3)
    box = Box(start.center, start.low_limit, start.high_limit, *_limits(start))
    assert len(np.unique(corners(box, 5, rng()), axis=0)) == 8
