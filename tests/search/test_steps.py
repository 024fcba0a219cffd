"""Steps told from smooth boundaries; broad steps; columns one by one, taken back, a step or level away."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from tests.search.lanes import REPLIES, Lanes, judge_of, lane, lanes, weighted
from tests.support import Matrix, Setting, labels_only, setting

from ssba.columns.features import numeric
from ssba.search.descend import Ways, ways_from
from ssba.search.lanes import Herd
from ssba.search.regions import Numbers
from ssba.search.steps import (
    broad_steps,
    has_steps,
    is_rough,
    largest_only,
    leave_out,
    neighbours,
    pairs_within,
    pull_back,
    shows_face,
    steps_of,
    tidy,
)

SIX = setting(np.array([[-5.0] * 6, [5.0] * 6]), scale="none")
FIVE = setting(np.array([[-5.0] * 5, [5.0] * 5]), scale="none")
CORNER = np.array([0.82, 0.56, 0.02, 0.02, 0.02, 0.0])
FACES = {
    "a face": (lambda Z: Z[:, 0] >= 1, True),
    "a plane": (lambda Z: Z @ np.ones(6) >= 6, False),
    "a ball": (lambda Z: np.linalg.norm(Z - 2, axis=1) <= math.sqrt(6), False),
    "a corner": (lambda Z: (Z >= 1).all(axis=1), True),
}

WIDTH = 5
BOX = setting(np.array([[-4.0] * WIDTH, [4.0] * WIDTH]), scale="none")
ORIGIN = [0.0] * WIDTH
FAR = [[3.0, 2.0, -2.0, 1.0, 1.0], [2.0, 3.0, -3.0, -1.0, 0.5], [1.5, 0.8, -3.0, 0.0, 3.0]]
MIXED = setting(
    pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]}),
    scale="none",
)

SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
START = [0.0] * 4
KINDS = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


def standing(one: Lanes, rows: Any, normal: Any = None) -> Ways:
    """Return ways that have ended at rows, with the normals that were seen there."""
    rows = np.array(rows, dtype=float, ndmin=2)
    ways = ways_from(one.ledger, rows, one.at, None)
    if normal is not None:
        ways.normal = np.array(normal, dtype=float, ndmin=2)
    return ways


@pytest.mark.parametrize(
    ("reached", "rough"),
    [
        (lambda Z: (Z >= CORNER[:5]).all(axis=1), True),
        (lambda Z: Z @ CORNER[:5] >= CORNER @ CORNER - 1e-9, False),
        (lambda Z: np.linalg.norm(Z, axis=1) >= np.linalg.norm(CORNER) - 1e-9, False),
    ],
)
def test_a_corner_from_which_no_column_can_go_back_is_told_from_a_slope(reached: Any, rough: bool) -> None:
    """At the corner a column that goes back a little is lost, whatever the others do; not so on a slope."""
    one = lane(FIVE, [0.0] * 5, labels_only(reached))
    rows = CORNER[None, :5]
    assert is_rough(one.ledger, rows, one.at, one.ledger.distance(rows, one.at), 4e-4).tolist() == [rough]


@pytest.mark.parametrize(
    ("reached", "stepped"),
    [
        pytest.param(lambda Z: (Z >= CORNER)[:, :5].all(axis=1), True, id="a corner"),
        pytest.param(lambda Z: Z @ CORNER >= CORNER @ CORNER - 1e-9, False, id="a slope"),
    ],
)
def test_a_column_that_can_go_back_for_little_is_no_step_yet(reached: Any, stepped: bool) -> None:
    """The last column is not needed: without it, it shows whether this is a corner or a slope."""
    row = CORNER + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.06])
    one = lane(SIX, [0.0] * 6, labels_only(reached)).knows(row)
    assert has_steps(one.ledger, standing(one, row), by_labels=True).tolist() == [stepped]


class TestFace:
    @pytest.mark.parametrize("name", FACES)
    def test_one_across_a_column_is_told_from_a_smooth_boundary(self, name: str) -> None:
        reached, told = FACES[name]
        one = lane(SIX, [0.0] * 6, labels_only(reached))
        face, smooth = shows_face(one.ledger, standing(one, np.ones(6), np.ones(6)))
        assert (face.tolist(), smooth.tolist()) == ([told], [not told])

    def test_columns_at_their_bound_cannot_tell_it(self) -> None:
        bounds = [f"x{j} <= 1" for j in range(6)]
        one = lane(SIX, [0.0] * 6, labels_only(lambda Z: Z[:, 0] >= 1), *bounds)
        face, smooth = shows_face(one.ledger, standing(one, np.ones(6), np.ones(6)))
        assert not face.any()
        assert not smooth.any()
        assert one.calls == []

    def test_every_way_is_told_about_for_itself(self) -> None:
        """Below a column of 0.5 rows are on a face, above it on a plane."""

        def reached(Z: Any) -> Any:
            return np.where(Z[:, 5] < 0.5, Z[:, 0] >= 1, Z[:, :5] @ np.ones(5) >= 5)

        two = lanes(SIX, [[0.0] * 6, [0.0] * 5 + [2.0]], labels_only(reached))
        rows = [[1.0] * 5 + [0.0], [1.0] * 5 + [2.0]]
        face, smooth = shows_face(two.ledger, standing(two, rows, [[1.0] * 5 + [0.0]] * 2))
        assert face.tolist() == [True, False]
        assert smooth.tolist() == [False, True]


def test_the_largest_changes_alone_come_for_several_numbers_of_them() -> None:
    one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z[:, 0] >= 1))
    rows, of = largest_only(one.ledger, np.array([[0.1, -3.0, 0.0, 2.0, 1.0]]), zeros(1))
    assert of.tolist() == [0, 0, 0]
    assert rows.tolist() == [[0, -3, 0, 0, 0], [0, -3, 0, 2, 0], [0, -3, 0, 2, 1]]


class TestTidy:
    def test_small_changes_that_are_not_needed_are_left_out(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: (Z[:, 0] >= 1) & (Z[:, 2] <= -0.5)))
        one.knows([[1.0, 0.01, -0.5, -0.02, 0.03]])
        herd = tidy(one.ledger, one.at)
        one.ledger.ask(herd.rows, herd.at)
        assert one.ledger.best_row.tolist() == [[1.0, 0.0, -0.5, 0.0, 0.0]]

    def test_where_all_changes_are_needed_it_costs_a_row_for_each_number_of_them(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z.sum(axis=1) >= 4)).knows(
            [[1.0, 1.0, 1.0, 1.0, 0.0]]
        )
        herd = tidy(one.ledger, one.at)
        one.ledger.ask(herd.rows, herd.at)
        assert np.count_nonzero(one.asked, axis=1).tolist() == [1, 2, 3]

    def test_where_nothing_was_found_nothing_is_asked(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z[:, 0] >= 9))
        herd = tidy(one.ledger, one.at)
        one.ledger.ask(herd.rows, herd.at)
        assert one.calls == []


class TestLeaveOut:
    def test_small_changes_that_are_not_needed_go_back_beside_smaller_ones_that_are(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: (Z[:, 0] >= 1) & (Z[:, 2] <= -0.01)))
        one.knows([[1.0, 0.02, -0.01, -0.05, 0.03]])
        leave_out(one.ledger, one.at, Herd(one.regions.start[:0], zeros(0)))
        assert one.ledger.best_row.tolist() == [[1.0, 0.0, -0.01, 0.0, 0.0]]
        assert len(one.calls) == 2

    def test_of_those_that_are_needed_in_sum_the_smallest_go_back(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: (Z[:, 0] >= 1) & (Z[:, 1:].sum(axis=1) >= 0.099)))
        one.knows([[1.0, 0.03, 0.03, 0.02, 0.07]])
        leave_out(one.ledger, one.at, Herd(one.regions.start[:0], zeros(0)))
        assert one.ledger.best_row.tolist() == [[1.0, 0.0, 0.03, 0.0, 0.07]]

    def test_large_changes_are_not_asked_about(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z.sum(axis=1) >= 4))
        one.knows([[1.0, 1.0, 1.0, 1.0, 0.0]])
        more = Herd(np.array([[2.0, 2.0, 0.0, 0.0, 0.0]]), zeros(1))
        leave_out(one.ledger, one.at, more)
        assert one.asked.tolist() == more.rows.tolist()


def after(where: Setting, query: Any, margin: Any, reply: str, rows: Any, *texts: str) -> Lanes:
    """Bring some rows that reach the target nearer by broad steps, and take their columns back."""
    one = lane(where, query, judge_of(margin, reply), *texts)
    rows = one.region.pull_in(np.array(rows, dtype=float))[0]
    one.knows(rows)
    herd = broad_steps(one.ledger, Herd(rows, np.zeros(len(rows), dtype=np.int64)))
    pull_back(one.ledger, herd.rows, herd.at, within=1 / 100)
    return one


def corner(Z: Any) -> Any:
    """Three steps, all of which are needed."""
    needed = (Z[:, 0] >= 1.0) & (Z[:, 1] >= 0.5) & (Z[:, 2] <= -0.7)
    return np.where(needed, 0.5, -0.5)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_corner_of_steps_is_closed_in_on(reply: str) -> None:
    best = math.sqrt(1 + 0.25 + 0.49)
    assert best <= after(BOX, ORIGIN, corner, reply, FAR).distance <= 1.1 * best


@pytest.mark.parametrize("reply", REPLIES)
def test_stairs_are_gone_down_as_a_whole(reply: str) -> None:
    """Steps of a quarter, down a plane on the whole: a narrow look would see single steps only."""

    def stairs(Z: Any) -> Any:
        return (np.floor(4 * Z[:, :2]) / 4).sum(axis=1) - 2 + 1e-9

    one = after(BOX, ORIGIN, stairs, reply, [[2.0, 0.1, 0, 0, 0]])
    # On the grid of steps the nearest row is (1, 1).
    assert math.sqrt(2) <= one.distance <= 1.05 * math.sqrt(2)


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("texts", [[], ["x0 <= 2", "x4 == x.x4"]])
def test_all_it_asks_about_is_feasible(reply: str, texts: list[str]) -> None:
    one = after(BOX, ORIGIN, corner, reply, FAR, *texts)
    assert len(one.asked)
    assert one.region.contains(one.asked).all()


def levels(Z: Any) -> Any:
    return np.where((Z[:, 0] >= 1) & ((Z[:, 2] == 1) | (Z[:, 1] >= 3)), 0.5, -0.5)


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_numbers_and_levels_stay_legal(reply: str) -> None:
    """r >= 1 and level v: sqrt(2), nearer than n >= 3."""
    one = after(MIXED, {"r": 0.0, "n": 0, "c": "u"}, levels, reply, [[3.0, 4.0, 1.0], [2.0, 3.0, 2.0]])
    assert one.region.contains(one.asked).all()
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(one.asked)), one.asked)
    assert math.sqrt(2) <= one.distance <= 1.1 * math.sqrt(2)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_forest_of_many_columns_is_come_down_far(reply: str) -> None:
    """Begun at the background rows on the other side, whose nearest is the first start."""
    rows = np.random.default_rng(0).normal(size=(400, 10))
    model = RandomForestClassifier(12, max_depth=6, random_state=0).fit(rows, rows[:, :6].sum(axis=1) > 1)

    def margin(Z: Any) -> Any:
        return model.predict_proba(Z)[:, 1] - 0.5 - 1e-12

    query = rows[margin(rows) < 0][0]
    others = rows[margin(rows) >= 0]
    near = others[np.argsort(np.linalg.norm(others - query, axis=1))[:6]]
    one = after(setting(rows, scale="none"), query, margin, reply, near)
    assert one.distance < 0.5 * np.linalg.norm(near[0] - query)
    assert (margin(one.found) >= 0).all()


def is_legal(where: Setting, rows: Matrix) -> bool:
    """Tell whether rows come back from the user's form as they went in."""
    return np.array_equal(where.space.encode(where.space.decode(rows)), rows, equal_nan=True)


def pulled(one: Lanes, rows: Any, **how: Any) -> Matrix:
    """Take back the columns of rows of the only region."""
    rows = np.array(rows, dtype=float)
    return np.asarray(pull_back(one.ledger, rows, zeros(len(rows)), **how)[0])


def by(reached: Any, *texts: str, where: Setting = SPACE, query: Any = START) -> Lanes:
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
    def test_a_column_comes_as_near_to_the_limit_as_it_is_told(self, sections: int) -> None:
        one = by(lambda Z: (Z[:, 0] >= 2) & (Z[:, 1] >= 0.7))
        (found,) = pulled(one, [[5.0, 3.0, 0, 0]], within=4.0**-sections)
        assert 2 <= found[0] <= 2 + 5 * 4.0**-sections
        assert 0.7 <= found[1] <= 0.7 + 3 * 4.0**-sections

    def test_columns_that_can_go_back_together_take_few_model_calls(self) -> None:
        one = by(lambda Z: Z[:, 0] >= 2)
        pulled(one, [[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 0.0]])
        # Seven cells alone; 1, 2 or all 3 and 1 or both together; two cells in two sections; then as found.
        assert [len(rows) for rows, _ in one.calls] == [7, 3 + 2, 2 * 3, 2 * 3, 2]

    def test_of_columns_that_cannot_go_together_one_stays(self) -> None:
        """Either of x0 and x1 will do: the larger change goes, and the other comes down to 2."""
        found = pulled(by(lambda Z: (Z[:, 0] >= 2) | (Z[:, 1] >= 2)), [[4.0, 3.2, 0.0, 0.0]])
        assert found.tolist() == [[0.0, 2.0, 0.0, 0.0]]

    def test_rows_that_cannot_become_worthwhile_are_left_out(self) -> None:
        """All can go back but x0, which is at 2 or more: 5 may come down to that, 2 is there."""
        one = by(lambda Z: Z[:, 0] >= 2)
        rows = [[5.0, 3.0, 0.0, 0.0], [9.0, 0.0, 1.0, 0.0], [2.0, 8.0, 8.0, 8.0]]
        found = pulled(one, rows, worthwhile=np.array([6.0]))
        np.testing.assert_allclose(found, [[5 * 7 / 16, 0, 0, 0], [2.0, 0, 0, 0]])
        assert not (np.concatenate([asked for asked, _ in one.calls[1:]])[:, 0] > 5).any()

    def test_rows_keep_their_regions(self) -> None:
        two = lanes(SPACE, [START, [1.0] * 4], labels_only(lambda Z: Z[:, 0] >= 2))
        rows = np.array([[4.0, 3.0, 0, 0], [3.0, 3.0, 3.0, 3.0]])
        found, of = pull_back(two.ledger, rows, two.at)
        assert of.tolist() == [0, 1]
        np.testing.assert_allclose(found, [[2, 0, 0, 0], [2, 1, 1, 1]])

    def test_levels_go_back_or_stay(self) -> None:
        rows = np.array([[2.0, 3.0, 0.5, 1.0], [2.0, 3.0, 0.5, 1.0]])
        for reached, level in [(lambda Z: Z[:, 0] >= 1, 0.0), (lambda Z: Z[:, 3] == 1, 1.0)]:
            assert (pulled(by(reached, where=KINDS, query=QUERY), rows)[:, 3] == level).all()

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
        region = KINDS.region(QUERY, *texts)
        rows, fine = region.pull_in(rng.uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4)))
        rows = rows[fine]
        right = np.quantile(weighted(rows, weights), 0.6)
        rows = rows[weighted(rows, weights) >= right]
        one = lane(KINDS, QUERY, judge_of(lambda Z: weighted(Z, weights) - right, "labels"), *texts)
        found = pulled(one, rows)
        assert len(found) == len(rows)
        assert (weighted(found, weights) >= right).all()
        assert region.contains(found).all()
        assert is_legal(KINDS, found)
        before, after = (KINDS.metric.distance(Z, region.start) for Z in (rows, found))
        assert (after <= before + 1e-12).all()

    def test_nothing_is_asked_twice_on_a_grid(self) -> None:
        one = by(lambda Z: Z[:, 1] >= 2, "r == x.r", where=KINDS, query=QUERY)
        pulled(one, [[0.0, 5.0, 0.2, 1.0], [0.0, 4.0, 1.8, 0.0], [0.0, 5.0, 1.0, 1.0]])
        assert len({row.tobytes() for row in one.asked}) == len(one.asked) == one.ledger.asked[0]


class TestNeighbours:
    @pytest.mark.parametrize("texts", [[], ["r + n <= 3", "s - r >= 0.5"], ["c == x.c", "r >= x.r"]])
    @pytest.mark.parametrize("pairs", [False, True])
    def test_they_are_feasible_and_legal(self, texts: list[str], pairs: bool) -> None:
        one = by(lambda Z: Z[:, 0] > 9, *texts, where=KINDS, query=QUERY)
        drawn = np.random.default_rng(0).uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4))
        parents, fine = one.region.pull_in(drawn)
        rows, of = neighbours(one.regions, parents[fine], zeros(int(fine.sum())), pairs)
        assert set(of) == set(range(int(fine.sum())))
        assert one.region.contains(rows).all()
        assert is_legal(KINDS, rows)

    def test_they_are_one_step_or_one_level_away(self) -> None:
        one = by(lambda Z: Z[:, 0] > 9, where=KINDS, query=QUERY)
        rows, _ = neighbours(one.regions, np.array([[1.0, 2.0, 0.3, 0.0]]), zeros(1))
        expected = [[1, 1, 0.3, 0], [1, 3, 0.3, 0], [1, 2, 0.2, 0], [1, 2, 0.4, 0], [1, 2, 0.3, 1]]
        moved = [row for row in rows.tolist() if row != [1.0, 2.0, 0.3, 0.0]]
        assert sorted(moved) == sorted([float(cell) for cell in row] for row in expected)

    def test_pairs_take_two_steps_of_different_columns_at_once(self) -> None:
        where = setting(np.array([[-9, -9], [9, 9]]), scale="none")
        one = by(lambda Z: Z[:, 0] > 9, where=where, query=[0, 0])
        rows, _ = neighbours(one.regions, np.array([[2.0, 2.0]]), zeros(1), pairs=True)
        steps = {(2 + i, 2 + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(2, 2)}
        assert {(int(a), int(b)) for a, b in rows.tolist()} == steps

    def test_a_region_of_real_numbers_has_none(self) -> None:
        one = by(lambda Z: Z[:, 0] > 9)
        rows, of = neighbours(one.regions, np.ones((1, 4)), zeros(1))
        assert rows.shape == (0, 4)
        assert len(of) == 0

    def test_steps_say_whose_they_are_and_in_which_column(self) -> None:
        one = by(lambda Z: Z[:, 0] > 9, where=KINDS, query=QUERY)
        z = np.array([[1.0, 2.0, 0.3, 0.0], [0.0, 0.0, 1.0, 1.0]])
        rows, of, column = steps_of(one.regions, z, zeros(2))
        assert (np.diff(of) >= 0).all()
        changed = rows != z[of]
        assert (changed.sum(axis=1) <= 1).all()
        assert changed[np.arange(len(of)), column].sum() == changed.sum()

    def test_pairs_within_groups_are_all_pairs_of_members(self) -> None:
        first, second = pairs_within(np.array([0, 0, 0, 2, 2]))
        assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (3, 4)]
