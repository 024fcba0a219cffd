"""Where no slope leads: single columns, draws around rows, other levels, and the few columns that matter."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.search.lanes import DRAWS, REPLIES, Judge, Lanes, judge_of, lane, lanes, weighted
from tests.support import Setting, labels_only, setting

from ssba.search.elsewhere import (
    along_columns,
    around_best,
    columns_that_matter,
    columns_that_tell,
    elsewhere,
    other_levels,
    thin_out,
)
from ssba.search.lanes import Draws, Herd
from ssba.search.settings import SETTINGS

WHERE = setting(
    pd.DataFrame({"r": [-5.0, 4.5] * 6, "s": [4.5, -5.0] * 6, "c": list("uvw") * 4, "d": list("pq") * 6}),
    scale="none",
    weights={"c": 0.5, "d": 0.5},
)
QUERY = {"r": 0.0, "s": 0.0, "c": "u", "d": "p"}
WORTH = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 2.5]])

WIDTH = 200
BOTH = pytest.mark.parametrize("reply", REPLIES)


def box(row: Any, judge: Judge, *texts: str) -> Lanes:
    """Return a ledger around the origin that knows one row."""
    width = len(row)
    where = setting(np.array([[-5.0] * width, [5.0] * width]), scale="none")
    return lane(where, [0.0] * width, judge, *texts).knows(row)


class TestAroundBest:
    @pytest.mark.parametrize("width", [2, 3])
    def test_it_gets_into_a_corner(self, width: int) -> None:
        row = np.ones(width)
        row[0] = 1.1
        before, best = float(np.linalg.norm(row)), math.sqrt(width)
        found = []
        for seed in range(5):
            one = box(row, labels_only(lambda Z: (Z >= 1).all(axis=1)))
            around_best(one.ledger, one.at, Draws((seed,)))
            assert best <= one.distance < before
            found.append(one.distance)
        assert np.mean(found) - best < 0.5 * (before - best)

    def test_what_is_asked_is_feasible_and_nearer_than_the_best(self) -> None:
        judge = labels_only(lambda Z: Z[:, 0] + Z[:, 1] >= 1.8)
        one = box([1.5, 1.0, 0.4], judge, "x2 >= 0.3", "x0 <= 2")
        before = one.distance
        around_best(one.ledger, one.at, DRAWS)
        assert one.region.contains(one.asked).all()
        assert (np.linalg.norm(one.calls[0][0], axis=1) < before).all()

    def test_where_nothing_is_nearer_each_ball_is_drawn_once(self) -> None:
        one = box([1.0, 0.0, 0.0], labels_only(lambda Z: Z[:, 0] >= 1))
        around_best(one.ledger, one.at, DRAWS)
        assert one.distance == 1.0
        assert [len(rows) for rows, _ in one.calls] == [16, 16, 16]

    @pytest.mark.parametrize("width", [1, 9])
    def test_one_column_or_many_are_left_alone(self, width: int) -> None:
        one = box(np.full(width, 2.0), labels_only(lambda Z: (Z >= 1).all(axis=1)))
        around_best(one.ledger, one.at, DRAWS)
        elsewhere(one.ledger, one.at, None, DRAWS)
        assert one.calls == []


@pytest.mark.parametrize("reply", REPLIES)
class TestElsewhere:
    def test_another_arm_of_the_boundary_is_found_and_gone_down(self, reply: str) -> None:
        """Around (1.5, 0, 0) nothing is nearer, but behind the query a plane begins at 0.6."""
        one = box(
            [1.5, 0.0, 0.0], judge_of(lambda Z: np.maximum(Z[:, 0] - 1.5, -Z[:, 0] - Z[:, 1] - 0.85), reply)
        )
        elsewhere(one.ledger, one.at, one.start_margin, DRAWS)
        best = 0.85 / math.sqrt(2)
        assert best <= one.distance <= 1.01 * best

    def test_only_feasible_rows_are_asked_about(self, reply: str) -> None:
        one = box([1.5, 0.0, 0.0], judge_of(lambda Z: Z[:, 0] - 1.5, reply), "x1 <= 0.2", "x0 >= -0.1")
        elsewhere(one.ledger, one.at, one.start_margin, DRAWS)
        assert one.region.contains(one.asked).all()
        assert len(one.asked) >= SETTINGS.starts.trials // 2


class TestAlongColumns:
    def test_a_single_column_that_does_it_is_found(self) -> None:
        one = box(
            [1.0, 1.0, 1.0, 0.0], labels_only(lambda Z: (Z[:, :3].sum(axis=1) >= 3) | (Z[:, 3] <= -0.9))
        )
        along_columns(one.ledger, one.at)
        assert 0.9 <= one.distance <= 0.9 * (1 + 5e-4)
        assert not one.ledger.best_row[0, :3].any()

    def test_it_costs_two_rows_a_column_where_there_is_none(self) -> None:
        one = box([1.0, 1.0, 1.0, 0.0], labels_only(lambda Z: Z[:, :3].sum(axis=1) >= 3))
        along_columns(one.ledger, one.at)
        assert len(one.asked) == 8
        assert (np.linalg.norm(one.asked, axis=1) < math.sqrt(3)).all()

    def test_held_columns_and_bounds_are_kept(self) -> None:
        one = box([1.0, 1.0], labels_only(lambda Z: Z.sum(axis=1) >= 2), "x1 <= 1", "x0 >= 0")
        along_columns(one.ledger, one.at)
        assert one.region.contains(one.asked).all()

    def test_a_bound_that_lies_nearer_than_the_best_row_is_asked_about(self) -> None:
        """The best row is 2 away; the third column does it at its bound, 0.5 away, and nowhere before."""
        one = box([2.0, 0.0, 0.0], labels_only(lambda Z: (Z[:, 0] >= 2) | (Z[:, 2] <= -0.5)), "x2 >= -0.5")
        along_columns(one.ledger, one.at)
        assert one.distance == 0.5
        assert one.ledger.best_row[0].tolist() == [0.0, 0.0, -0.5]

    def test_what_a_relation_moves_along_is_asked_about_where_it_is_feasible_and_nearer(self) -> None:
        one = box([2.0, 0.0, 0.0], labels_only(lambda Z: Z[:, 0] >= 2), "x1 + x2 <= 0.5")
        along_columns(one.ledger, one.at)
        assert len(one.asked) > 1
        assert one.region.contains(one.asked).all()
        assert (np.linalg.norm(one.asked, axis=1) < 2).all()

    def test_regions_without_a_row_that_reaches_are_left_out(self) -> None:
        where = setting(np.array([[-5.0] * 3, [5.0] * 3]), scale="none")
        two = lanes(where, [[0.0] * 3, [1.0] * 3], labels_only(lambda Z: Z[:, 0] >= 2))
        two.ledger.add_known(np.array([[2.0, 1.0, 0.0]]), np.array([0]))
        along_columns(two.ledger, two.at)
        assert two.ledger.asked[1] == 0
        assert 2 <= two.ledger.best[0] <= 2 * (1 + 5e-4)


def margin(Z: Any) -> Any:
    """Levels w and q together are worth 2.5 of the 3 that are needed, and little alone."""
    return Z[:, 0] + 0.5 * Z[:, 1] + WORTH[Z[:, 2].astype(int), Z[:, 3].astype(int)] - 3.0


def tried(reply: str, *texts: str, ends: Any = ((2.8, 0.5, 0.0, 0.0),), most: float = math.inf) -> Lanes:
    """Begin with a row that reaches with the query's own levels."""
    one = lane(WHERE, QUERY, judge_of(margin, reply), *texts, most=most).knows(ends)
    rows = np.array(ends, dtype=float)
    other_levels(one.ledger, Herd(rows, np.zeros(len(rows), dtype=np.int64)), one.at)
    return one


@pytest.mark.parametrize("reply", REPLIES)
class TestOtherLevels:
    def test_two_levels_at_once_and_their_numbers_are_found(self, reply: str) -> None:
        """With w and q 0.5 is left for a plane with the slopes 1 and 0.5; steps cost a little more."""
        best = math.hypot(0.5 / 3.05 * math.hypot(2.8, 0.5), math.sqrt(0.5))
        assert tried(reply).distance == pytest.approx(best, rel=0.03)

    def test_levels_that_are_not_allowed_or_held_are_left_alone(self, reply: str) -> None:
        one = tried(reply, "c in {'u', 'v'}", "d == x.d")
        assert one.region.contains(one.asked).all()
        assert set(one.asked[:, 2]) == {0.0, 1.0}
        # With v it is 2.5 for the plane, and 0.5 for the level.
        best = math.hypot(2.5 / 3.05 * math.hypot(2.8, 0.5), 0.5)
        assert one.distance == pytest.approx(best, rel=3e-3)

    def test_levels_that_cost_as_much_as_the_best_row_are_not_followed(self, reply: str) -> None:
        one = lane(WHERE, QUERY, judge_of(lambda Z: Z[:, 0] - 0.4, reply)).knows([[0.4, 0.0, 0.0, 0.0]])
        other_levels(one.ledger, Herd(np.array([[0.4, 0.0, 0.0, 0.0]]), one.at), one.at)
        assert one.distance == pytest.approx(0.4)
        # Each changed level costs 0.5: only the start's own are worth looking at more closely.
        assert len(one.calls) <= 12

    def test_nothing_is_asked_where_nothing_was_found(self, reply: str) -> None:
        one = lane(WHERE, QUERY, judge_of(margin, reply))
        other_levels(one.ledger, Herd(one.regions.start[:0], one.at[:0]), one.at)
        assert one.calls == []

    def test_the_budget_ends_it(self, reply: str) -> None:
        one = tried(reply, most=9)
        assert one.ledger.asked.tolist() == [9]


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_numbers_are_changed_by_a_step_with_numbers_to_go_with_them(reply: str) -> None:
    """At n = 1 the plane of the two real numbers begins at 0.5; at n = 0, where the search stands, at 3."""
    frame = pd.DataFrame({"r": [-5.0, 4.5], "s": [-5.0, 4.5], "n": [-5, 5]})
    where, row = setting(frame, scale="none"), np.array([[2.0, 1.0, 0.0]])
    judge = judge_of(lambda Z: Z[:, 0] + Z[:, 1] - np.where(Z[:, 2] == 1, 0.5, 3.0), reply)
    one = lane(where, {"r": 0.0, "s": 0.0, "n": 0}, judge).knows(row)
    other_levels(one.ledger, Herd(row, one.at), one.at)
    # From 2.24; steps of whole numbers along a ray leave the rest to the moves that follow.
    assert math.hypot(0.5 / math.sqrt(2), 1.0) <= one.distance <= 1.501


def wide() -> Setting:
    rows = np.random.default_rng(0).normal(size=(120, WIDTH))
    return setting(np.r_[rows, [[-5.0] * WIDTH, [5.0] * WIDTH]], scale="none")


def steps(Z: Any) -> Any:
    """Steps of three columns out of 200."""
    return np.floor(4 * Z[:, [3, 50, 170]]).sum(axis=1) / 4 - 1.5


def end_of(one: Any, row: Any) -> Herd:
    rows = np.array([row], dtype=float)
    one.knows(rows)
    return Herd(rows, one.at, one.judge(rows).margin)


@BOTH
def test_columns_that_do_not_matter_go_back(reply: str) -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(steps, reply))
    row = np.random.default_rng(1).normal(size=WIDTH)
    row[[3, 50, 170]] = 1.0
    thin = thin_out(one.ledger, end_of(one, row))
    assert set(np.flatnonzero(thin.rows[0])) <= {3, 50, 170}
    assert len(one.asked) < WIDTH
    assert columns_that_matter(one.ledger, thin).sum() == np.count_nonzero(thin.rows)


@BOTH
def test_the_columns_that_tell_are_found(reply: str) -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(steps, reply))
    row = np.zeros(WIDTH)
    row[[3, 50, 170]] = 0.5
    one.knows(row)
    assert np.flatnonzero(columns_that_tell(one.ledger, one.at)[0]).tolist() == [3, 50, 170]


@BOTH
def test_steps_of_few_of_many_columns_are_come_down_to(reply: str) -> None:
    """Half a unit in each of the three columns."""
    found = lane(wide(), [0.0] * WIDTH, judge_of(steps, reply)).search()
    assert math.sqrt(0.75) <= found.distance <= 1.1 * math.sqrt(0.75)
    assert len(found.asked) < 6000


@BOTH
def test_a_plane_of_all_of_many_columns_is_found_none_the_less(reply: str) -> None:
    weights = np.random.default_rng(2).normal(size=WIDTH)
    weights /= np.linalg.norm(weights)
    found = lane(wide(), [0.0] * WIDTH, judge_of(lambda Z: weighted(Z, weights) - 1, reply)).search()
    assert 1 - 1e-9 <= found.distance <= 1.02


@BOTH
def test_scores_that_are_flat_at_the_query_hide_no_plane_of_many_columns(reply: str) -> None:
    """As those of a network that is sure of itself; near the boundary they rise."""
    weights = np.random.default_rng(2).normal(size=WIDTH)
    weights /= np.linalg.norm(weights)
    margin = judge_of(lambda Z: np.maximum(weighted(Z, weights) - 1, -0.5), reply)
    assert 1 - 1e-9 <= lane(wide(), [0.0] * WIDTH, margin).search().distance <= 1.02


def test_the_search_ends_with_all_columns_in_its_regions() -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(steps, "labels"))
    assert one.regions.free.sum() > SETTINGS.race.many_columns
    before = one.regions
    one.search()
    assert one.regions is before
