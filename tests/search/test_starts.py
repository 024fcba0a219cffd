"""Where a search begins: along the slope, at background rows, corners and random rows, and by a climb."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import DRAWS, Judge, Lanes, lane, lanes, weighted
from tests.support import Matrix, Setting, labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.lanes import Herd
from ssba.search.starts import (
    Pool,
    Pools,
    climbed_ends,
    combined_changes,
    corners,
    further_ends,
    known_ends,
    reach,
    scattered,
    single_changes,
    slope_ends,
)

RNG = np.random.default_rng(0)
BOX = np.r_[RNG.uniform(-1, 1, size=(100, 3)), [[-5.0] * 3, [5.0] * 3]]
CUBE = setting(BOX, scale="none")
ORIGIN = [0.0, 0.0, 0.0]
NOTHING = np.empty((0, 3))
MIXED = setting(pd.DataFrame({"c": list("uvwuvw"), "o": [True, False] * 3, "n": [1, 2, 3, 4, 5, 6]}))
QUERY = {"c": "u", "o": True, "n": 1}
NORMAL = np.array([3.0, -1.0, 0.5, 0.0])
POOL = np.random.default_rng(0).normal(size=(200, 4)) * 2
WHERE = setting(np.concatenate([POOL, [[-9.0] * 4, [9.0] * 4]]), scale="none")

ROWS = np.random.default_rng(3).uniform(-4, 4, size=(60, 3))
ROWS_AND_TARGET = setting(np.concatenate([ROWS, [[-5.0] * 3, [5.0] * 3]]), scale="none")
JUDGE = labels_only(lambda Z: Z[:, 0] >= 1)
POOLED = setting(
    pd.DataFrame({"a": [0.0, 5.0, None, 3.0], "n": [0, 5, 4, 3], "c": ["u", "v", "w", "v"]}), scale="none"
)


def first(Z: Any) -> Any:
    return Z[:, 0] - 0.5


LABELS, SCORES = labels_only(lambda Z: first(Z) >= 0), scored(first)


BOTH = pytest.mark.parametrize("judge", [LABELS, SCORES], ids=["labels", "scores"])


def found(
    where: Setting, query: Any, judge: Judge, *texts: str, pool: Matrix | None = None
) -> tuple[Lanes, Herd]:
    """Look for ends as a search does: known rows, then further ones, then a climb where there are scores."""
    one = lane(where, query, judge, *texts)
    start = one.ledger.ask(one.regions.start, one.at)
    pool = where.Z if pool is None else pool
    pools = one.pools(pool[np.asarray(judge(pool).reached)] if len(pool) else pool)
    ends = known_ends(one.ledger, pools, one.at)
    left = np.setdiff1d(one.at, ends.at)
    if len(left):
        ends = ends.and_(further_ends(one.ledger, pools, left, DRAWS))
    left = np.setdiff1d(one.at, ends.at)
    if len(left) and start.margin is not None:
        ends = ends.and_(climbed_ends(one.ledger, left))
    return one, ends


class TestKnownRows:
    @pytest.mark.parametrize(("judge", "rows"), [(LABELS, 0), (SCORES, 16)], ids=["labels", "scores"])
    def test_background_rows_that_are_feasible_need_not_be_asked_about(self, judge: Judge, rows: int) -> None:
        """By labels they are known to reach the target; scores are asked for, of the nearest 16."""
        one = lane(CUBE, ORIGIN, judge)
        ends = known_ends(one.ledger, one.pools(), one.at)
        nearest = np.sort(np.linalg.norm(BOX[first(BOX) >= 0], axis=1))
        assert one.distance == nearest[0]
        assert len(one.asked) == rows
        np.testing.assert_allclose(np.linalg.norm(ends.rows, axis=1), nearest[: len(ends.rows)])
        assert len(ends.rows) == 16

    def test_where_one_of_the_nearest_is_not_feasible_there_are_none(self) -> None:
        one = lane(CUBE, ORIGIN, LABELS, "x1 == x.x1")
        assert len(known_ends(one.ledger, one.pools(), one.at).at) == 0

    def test_regions_have_their_own(self) -> None:
        two = lanes(CUBE, [ORIGIN, [-0.5, 0.5, 0.0]], LABELS)
        ends = known_ends(two.ledger, two.pools(), two.at)
        for number in range(2):
            far = np.linalg.norm(BOX[first(BOX) >= 0] - two.regions.x[number], axis=1)
            assert two.ledger.best[number] == pytest.approx(far.min())
            assert (ends.at == number).sum() == 16


@BOTH
class TestEnds:
    @pytest.mark.parametrize("texts", [[], ["x1 == x.x1"], ["x0 + x1 <= 0.8", "x2 >= 1"], ["x0 <= 0.6"]])
    def test_they_reach_are_feasible_and_have_their_margins(self, judge: Judge, texts: list[str]) -> None:
        one, ends = found(CUBE, ORIGIN, judge, *texts)
        assert len(ends.at)
        assert (first(ends.rows) >= 0).all()
        assert one.region.contains(ends.rows).all()
        assert (ends.margin is None) == (judge is LABELS)
        if ends.margin is not None:
            np.testing.assert_array_equal(ends.margin, first(ends.rows))

    def test_without_any_there_are_none(self, judge: Judge) -> None:
        one, ends = found(CUBE, ORIGIN, judge, "x0 <= 0.4")
        assert len(ends.at) == 0
        assert one.distance == math.inf

    def test_where_few_are_found_further_rows_are_asked_about(self, judge: Judge) -> None:
        """One background row reaches inside the region: it alone would be a lonely start."""
        pool = np.array([[0.9, 0.0, 0.3], [0.8, 4.0, 0.0]])
        one, ends = found(CUBE, ORIGIN, judge, "x1 <= 1", "x2 <= 0.2", pool=pool)
        assert len(ends.rows) >= 3
        assert len(one.asked) > 2

    def test_only_feasible_rows_are_ever_asked_about(self, judge: Judge) -> None:
        texts = ["x0 + x1 + x2 == 0.5", "x0 - x1 >= -0.25", "x0 <= 0.4"]
        one, ends = found(CUBE, ORIGIN, judge, *texts)
        assert len(ends.at) == 0
        assert len(one.asked) > 100
        assert one.region.contains(one.asked).all()


def test_they_hold_the_nearest_background_row_pulled_in() -> None:
    _, ends = found(CUBE, ORIGIN, LABELS, "x1 == x.x1")
    pulled = BOX[first(BOX) >= 0] * [1.0, 0.0, 1.0]
    assert np.linalg.norm(ends.rows, axis=1).min() == np.linalg.norm(pulled, axis=1).min()


def test_rows_that_do_not_reach_after_all_are_no_ends() -> None:
    """Background rows reach by x1, which is held at the query's value."""
    _, ends = found(CUBE, ORIGIN, labels_only(lambda Z: Z[:, 1] > 0.5), "x1 == x.x1")
    assert len(ends.at) == 0


def test_corners_reach_where_no_background_row_does() -> None:
    one, _ = found(CUBE, ORIGIN, labels_only(lambda Z: (Z > 4.9).all(axis=1)), pool=NOTHING)
    assert one.distance < math.inf


def test_random_rows_reach_where_corners_do_not() -> None:
    one, _ = found(
        CUBE, ORIGIN, labels_only(lambda Z: (np.abs(Z[:, :2] - 2.5) < 1).all(axis=1)), pool=NOTHING
    )
    assert one.distance < math.inf


def test_a_climb_by_score_reaches_what_neither_corners_nor_luck_do() -> None:
    """A small diamond in 12 columns, far from every corner; its score leads to it, column by column."""
    target = np.linspace(0.5, 2.0, 12)
    where = setting(np.r_[[[-5.0] * 12], [[5.0] * 12]], scale="none")
    judge = scored(lambda Z: 3.0 - np.abs(Z - target).sum(axis=1))
    one, ends = found(where, [0.0] * 12, judge, pool=np.empty((0, 12)))
    assert one.distance < math.inf
    assert (np.asarray(judge(ends.rows).reached)).all()
    by_labels, _ = found(where, [0.0] * 12, labels_only(lambda Z: judge(Z).reached), pool=np.empty((0, 12)))
    assert by_labels.distance == math.inf


@pytest.mark.parametrize(
    "texts", [["n == x.n"], ["n == x.n", "o == x.o"], ["n == x.n", "o == x.o", "c == x.c"]]
)
@pytest.mark.parametrize("judge", [labels_only(lambda Z: Z[:, 0] > 9), scored(lambda Z: Z[:, 0] - 9)])
def test_nothing_to_find_among_levels_alone_ends_quietly(texts: list[str], judge: Judge) -> None:
    one, ends = found(MIXED, QUERY, judge, *texts)
    assert one.distance == math.inf
    assert len(ends.at) == 0


def test_levels_are_tried_without_background_rows() -> None:
    one, _ = found(MIXED, QUERY, labels_only(lambda Z: Z[:, 0] == 2), "n == x.n", pool=NOTHING)
    assert one.distance < math.inf


def test_a_background_rows_missing_cell_takes_the_querys_value() -> None:
    frame = pd.DataFrame({"a": [0.0, 5.0, None, None], "b": [0.0, 5.0, 4.0, 3.0]})
    where = setting(frame, scale="none")
    judge = labels_only(lambda Z: Z[:, 1] > 2)
    one, ends = found(where, {"a": 1.5, "b": 0.0}, judge, pool=where.Z[2:])
    np.testing.assert_array_equal(one.asked[1:3], [[1.5, 3.0], [1.5, 4.0]])
    np.testing.assert_array_equal(ends.rows[:2], one.asked[1:3])


class TestSingleChanges:
    @pytest.mark.parametrize("share", [1.0, 0.4])
    def test_they_change_one_column_each_and_stay_inside(self, share: float) -> None:
        one = lane(MIXED, QUERY, LABELS, "n <= 5", "c in {'u', 'w'}")
        rows, of = single_changes(one.regions, one.regions.start, one.at, np.array([share]))
        changed = rows != one.region.start
        assert (changed.sum(axis=1) == 1).all()
        assert one.region.contains(rows).all()
        assert changed.any(axis=0).all()
        assert (of == 0).all()

    def test_where_nothing_is_free_there_is_none(self) -> None:
        one = lane(MIXED, QUERY, LABELS, "c == x.c", "o == x.o", "n == x.n")
        assert len(single_changes(one.regions, one.regions.start, one.at, np.ones(1))[0]) == 0

    def test_those_that_helped_most_come_together(self) -> None:
        base = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
        rows = np.array([[2.0, 0, 0], [3.0, 0, 0], [0, 5.0, 0], [1.0, 1.0, 7.0]])
        best = combined_changes(base, rows, np.array([0, 0, 0, 1]), np.array([0.2, 0.1, 0.3, 0.1]))
        assert best.tolist() == [[2.0, 5.0, 0.0], [1.0, 1.0, 7.0]]


class TestDrawnRows:
    def test_few_columns_have_all_their_corners(self) -> None:
        one = lane(CUBE, ORIGIN, LABELS, "x2 == x.x2", "x0 <= 2")
        rows = corners(one.regions, 0, DRAWS)
        expected = {(a, b, 0.0) for a in (0.0, -5.0, 2.0) for b in (0.0, -5.0, 5.0)}
        assert {tuple(row) for row in rows.tolist()} == expected

    def test_random_rows_lie_between_the_ends_and_keep_what_is_held(self) -> None:
        one = lane(MIXED, QUERY, LABELS, "n <= 4", "o == x.o", "c in {'u', 'w'}")
        rows = scattered(one.regions, 0, 200, DRAWS)
        assert ((rows[:, 2] >= 1) & (rows[:, 2] <= 4)).all()
        assert set(rows[:, 0]) == {0.0, 2.0}
        assert (rows[:, 1] == one.region.start[1]).all()

    def test_without_bounds_there_are_some_scales_around_the_start_to_draw_between(self) -> None:
        one = lane(CUBE, ORIGIN, LABELS)
        low, high = reach(one.regions, one.at)
        assert low.tolist() == [[-5.0] * 3]
        assert high.tolist() == [[5.0] * 3]


def plane(Z: Any) -> Any:
    return weighted(Z, NORMAL) - 2


class TestSlope:
    def ends(self, judge: Judge, *texts: str, pool: Matrix = POOL) -> tuple[Lanes, Herd]:
        one = lane(WHERE, [0.0] * 4, judge, *texts)
        assert one.start_margin is not None
        pools = one.pools(pool[plane(pool) >= 0])
        return one, slope_ends(one.ledger, pools, one.start_margin, one.at)[0]

    def test_it_leads_along_the_normal_of_a_plane(self) -> None:
        one, ends = self.ends(scored(plane))
        (row,) = ends.rows
        assert row @ NORMAL / (np.linalg.norm(row) * np.linalg.norm(NORMAL)) > 0.9999
        assert ends.margin == pytest.approx(plane(ends.rows))
        # One row a column for the slope, and two along it.
        assert one.ledger.asked.tolist() == [4 + 2]

    def test_a_score_that_flattens_out_is_followed_no_farther_than_the_data(self) -> None:
        """The logistic score hardly rises at the query: a straight line would lead far beyond."""
        _, ends = self.ends(scored(lambda Z: 1 / (1 + np.exp(-4 * plane(Z))) - 0.5))
        nearest = np.linalg.norm(POOL[plane(POOL) >= 0], axis=1).min()
        assert np.linalg.norm(ends.rows[0]) <= 1.15 * nearest * (1 + 1e-9)

    def test_bounds_and_lines_hold(self) -> None:
        one, ends = self.ends(scored(plane), "x0 <= 0.5", "x0 + x1 >= -3")
        assert one.region.contains(ends.rows).all()
        assert ends.rows[0, 0] == 0.5

    @pytest.mark.parametrize(
        "judge",
        [
            pytest.param(scored(lambda Z: np.where(plane(Z) >= 0, 0.5, -0.5)), id="flat, as trees are"),
            pytest.param(
                scored(lambda Z: np.where(Z[:, 0] >= 8, 1.0, -2 + 1e-3 * Z[:, 0])), id="one column only"
            ),
            pytest.param(scored(lambda Z: np.minimum(plane(Z), -1.0)), id="nothing that way reaches"),
        ],
    )
    def test_where_it_leads_nowhere_there_are_no_ends(self, judge: Judge) -> None:
        assert len(self.ends(judge)[1].at) == 0

    def test_without_a_feasible_row_that_reaches_nothing_is_asked(self) -> None:
        one, ends = self.ends(scored(plane), pool=POOL[plane(POOL) < 0])
        assert len(ends.at) == 0
        assert one.calls == []

    @pytest.mark.parametrize("margin", [0.0, -np.finfo(np.float64).tiny, -1e-300, -1e-20])
    def test_a_score_that_is_all_but_high_enough_is_a_legitimate_one(self, margin: float) -> None:
        """The way up is known then, and a row a little that way reaches; no cell is undefined."""

        def tie(Z: Any) -> Any:
            return np.where((Z == 0).all(axis=1), margin, Z.sum(axis=1))

        one = lane(WHERE, [0.0] * 4, lambda Z: Reply(tie(Z) > 0, tie(Z)))
        assert one.start_margin is not None
        ends, _ = slope_ends(one.ledger, one.pools(), one.start_margin, one.at)
        assert np.isfinite(one.asked).all()
        assert 0 < np.linalg.norm(ends.rows[0]) < 0.01


class TestPool:
    def test_guesses_stand_in_front_of_rows_that_reach(self) -> None:
        pool = Pool(ROWS[:2]).with_guesses(ROWS[2:3]).with_guesses(ROWS[3:5]).with_reaching(ROWS[5:6])
        np.testing.assert_array_equal(pool.rows, ROWS[[3, 4, 2, 5, 0, 1]])
        assert pool.guess_count == 3
        assert Pool(ROWS).guess_count == 0


class TestNearest:
    @settings(max_examples=20)
    @given(seed=st.integers(0, 10**6), most=st.integers(1, 80))
    def test_they_are_those_whose_way_into_the_bounds_ends_nearest(self, seed: int, most: int) -> None:
        queries = np.random.default_rng(seed).uniform(-3, 3, size=(3, 3))
        three = lanes(ROWS_AND_TARGET, list(queries), JUDGE, "x0 <= x.x0 + 1", "x1 == x.x1")
        pools = Pools(three.ledger, [Pool(ROWS), Pool(ROWS[:7])], np.array([0, 1, 0]))
        found, known = pools.nearest(three.at, most)
        for number, pool in enumerate((ROWS, ROWS[:7], ROWS)):
            mine = found.rows[found.at == number]
            clipped = np.clip(pool, three.regions.low[number], three.regions.high[number])
            far = np.linalg.norm(clipped - queries[number], axis=1)
            order = np.argsort(far, kind="stable")[:most]
            np.testing.assert_array_equal(mine, pool[order])
            inside = three.regions.parts[number].contains(mine)
            np.testing.assert_array_equal(known[found.at == number], inside)

    def test_guesses_are_never_known(self) -> None:
        one = lanes(ROWS_AND_TARGET, [[0.0] * 3], JUDGE)
        found, known = Pools(one.ledger, [Pool(ROWS[:4], ROWS[4:8])], np.array([0])).nearest(one.at, 8)
        assert {tuple(row) for row in found.rows[known].tolist()} == {tuple(row) for row in ROWS[:4].tolist()}

    def test_an_empty_pool_has_none(self) -> None:
        two = lanes(ROWS_AND_TARGET, [[0.0] * 3, [1.0] * 3], JUDGE)
        pools = Pools(two.ledger, [Pool(ROWS[:0]), Pool(ROWS)], np.array([0, 1]))
        assert len(pools.nearest(np.array([0]), 5)[0].at) == 0
        assert set(pools.nearest(two.at, 5)[0].at) == {1}

    def test_some_regions_have_theirs_without_the_others(self) -> None:
        two = lanes(ROWS_AND_TARGET, [[0.0] * 3, [1.0] * 3], JUDGE)
        found, _ = two.pools(ROWS).nearest(two.at, 9)
        some, _ = two.pools(ROWS).nearest(np.array([1]), 4)
        np.testing.assert_array_equal(found.of(np.array([1]), 4).rows, some.rows)


class TestPulledIn:
    def test_rows_are_feasible_in_order_and_each_once(self) -> None:
        two = lanes(ROWS_AND_TARGET, [[0.0] * 3, [1.0, 2.0, 0.0]], JUDGE, "x0 + x1 <= 2", "x2 <= 0.5")
        found = two.pools(np.concatenate([ROWS, ROWS[:9]])).pulled_in(two.at, 20)
        assert two.regions.contains(found.rows, found.at).all()
        for number in range(2):
            mine = found.rows[found.at == number]
            assert (np.diff(two.ledger.distance(mine, np.full(len(mine), number))) >= 0).all()
            assert len({row.tobytes() for row in mine}) == len(mine)

    def test_missing_cells_take_the_querys_value_and_levels_come_both_ways(self) -> None:
        one = lanes(POOLED, [{"a": 1.5, "n": 0, "c": "u"}], JUDGE)
        found = one.pools(POOLED.Z[2:3]).pulled_in(one.at, 5)
        assert found.rows.tolist() == [[1.5, 4.0, 0.0], [1.5, 4.0, 2.0]]


class TestFarther:
    def test_they_are_feasible_rows_of_all_distances_beyond_the_nearest(self) -> None:
        rows = np.random.default_rng(4).uniform(-4, 4, size=(500, 3))
        one = lanes(ROWS_AND_TARGET, [[0.0] * 3], JUDGE, "x1 <= 1")
        far = one.pools(rows).farther(0)
        assert one.region.contains(far).all()
        lengths = np.linalg.norm(far, axis=1)
        pulled = np.sort(np.linalg.norm(np.minimum(rows, [9, 1, 9]), axis=1))
        assert len(far) == 96
        assert lengths.min() >= pulled[48] * (1 - 1e-12)
        assert lengths.max() == pulled[-1]

    def test_few_rows_have_none_beyond_the_nearest(self) -> None:
        one = lanes(ROWS_AND_TARGET, [[0.0] * 3], JUDGE)
        assert len(one.pools(ROWS[:9]).farther(0)) == 0
