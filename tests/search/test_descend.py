"""Down the boundary: planes, balls and edges in closed form, and what a way down says about where it ends."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.search.lanes import REPLIES, Lanes, judge_of, lane, lanes, weighted
from tests.support import Matrix, setting

from ssba.search.descend import Stepper, Ways, between, descend, ways_from
from ssba.search.regions import Numbers
from ssba.search.settings import SETTINGS

WIDTH = 6
ORIGIN = [0.0] * WIDTH
SPACE = setting(np.array([[-9.0] * WIDTH, [9.0] * WIDTH]), scale="none")
NORMAL = np.array([1.0, -2.0, 0.5, 0.25, 0.7, -0.3])
NORMAL /= np.linalg.norm(NORMAL)
# On the plane NORMAL @ z == 1, twice as far as the nearest row there.
ASIDE = np.array([2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
ASIDE /= np.linalg.norm(ASIDE)
ON_PLANE = NORMAL + math.sqrt(3) * ASIDE
FACES = np.array([[1.0, 0.2, 0.2, 0.3, -0.2, 0.1], [-0.2, 0.7, 0.7, 0.2, 0.3, 0.1]])
# A direction in which neither face is left.
ACROSS = np.array([0.0, 1.0, -1.0, 0.0, 0.0, 0.0])


def plane(Z: Any) -> Any:
    return weighted(Z, NORMAL) - 1


def ball(Z: Any) -> Any:
    return 2 - np.linalg.norm(Z - 3 * NORMAL, axis=-1)


def on_ball(aside: float) -> Matrix:
    """Return a row on the near side of the ball, some way beside its nearest row."""
    back = -NORMAL * math.sqrt(4 - aside**2)
    row: Matrix = 3 * NORMAL + back + aside * ASIDE
    return row


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


def ways_of(one: Lanes, rows: Any) -> Ways:
    """Return ways down from a row of each region, or from several of the only one."""
    rows = np.array(rows, dtype=float, ndmin=2)
    at = one.at if len(one.at) == len(rows) else zeros(len(rows))
    return ways_from(one.ledger, rows, at, one.judge(rows).margin)


def down(one: Lanes, rows: Any, rounds: int = 12, ceiling: float | None = None) -> Ways:
    ways = ways_of(one, rows)
    limit = None if ceiling is None else np.full(len(ways.at), ceiling)
    descend(one.ledger, ways, one.start_margin, rounds, limit)
    return ways


def along(margin: Any, reply: str, *texts: str) -> Lanes:
    return lane(SPACE, ORIGIN, judge_of(margin, reply), *texts)


def test_ways_measure_from_the_query() -> None:
    ways = ways_of(along(plane, "labels", "x0 >= 3"), [3.0, 4.0, 0, 0, 0, 0])
    assert ways.distance.tolist() == [5]
    assert not ways.settled.any()


def test_some_ways_can_be_taken_and_put_back() -> None:
    ways = ways_of(along(plane, "labels"), np.arange(18.0).reshape(3, 6))
    some = ways.take(np.array([2, 0]))
    some.row += 1
    some.look_at(np.array([0]), SETTINGS.descent.next_look)
    ways.put(np.array([2, 0]), some)
    assert ways.row[:, 0].tolist() == [1.0, 6.0, 13.0]
    assert (ways.steepest == SETTINGS.descent.next_look.steepest).tolist() == [False, False, True]


@pytest.mark.parametrize("reply", REPLIES)
class TestDescend:
    def test_a_plane_is_gone_down_to_its_foot(self, reply: str) -> None:
        found = down(along(plane, reply), ON_PLANE)
        assert 1 - 1e-9 <= found.distance[0] <= 1.01
        assert found.settled.all()
        assert not found.flat.any()

    def test_a_plane_is_known_to_be_straight_and_a_ball_is_not(self, reply: str) -> None:
        """By scores exactly, so after two looks; by labels it takes closer ones to tell."""
        assert not down(along(ball, reply), on_ball(1.2)).straight.any()
        assert down(along(plane, "scores"), ON_PLANE).straight.all()

    def test_a_ball_is_gone_down_to_its_near_side(self, reply: str) -> None:
        assert 1 - 1e-9 <= down(along(ball, reply), on_ball(1.2)).distance[0] <= 1.01

    def test_where_it_ends_the_target_is_reached(self, reply: str) -> None:
        for margin, row in ((plane, ON_PLANE), (ball, on_ball(1.2))):
            found = down(along(margin, reply), row)
            assert margin(found.row)[0] >= 0
            assert found.distance[0] == pytest.approx(np.linalg.norm(found.row), rel=1e-12)

    def test_it_never_ends_farther_than_it_began(self, reply: str) -> None:
        def wavy(Z: Any) -> Any:
            return np.sin(3 * weighted(Z, NORMAL)) + 0.3 * np.sin(5 * Z[:, 0]) - 0.2

        rows = np.random.default_rng(0).uniform(-3, 3, size=(60, WIDTH))
        rows = rows[wavy(rows) >= 0][:8]
        found = down(along(wavy, reply), rows)
        assert (found.distance <= np.linalg.norm(rows, axis=1) * (1 + 1e-12)).all()

    def test_more_rounds_are_never_worse(self, reply: str) -> None:
        distances = [down(along(ball, reply), on_ball(1.2), rounds).distance[0] for rounds in range(6)]
        assert distances[0] == pytest.approx(np.linalg.norm(on_ball(1.2)))
        assert distances == sorted(distances, reverse=True)

    def test_without_rounds_nothing_is_asked(self, reply: str) -> None:
        one = along(plane, reply)
        np.testing.assert_array_equal(down(one, ON_PLANE, rounds=0).row, [ON_PLANE])
        assert one.calls == []

    def test_a_foot_beyond_the_ceiling_is_left(self, reply: str) -> None:
        """The foot of the plane is at 1: worth going for below 1.5, not below 0.8."""
        assert down(along(plane, reply), ON_PLANE, ceiling=1.5).distance[0] < 1.01
        assert down(along(plane, reply), ON_PLANE, ceiling=0.8).distance[0] == pytest.approx(2)

    def test_only_feasible_rows_are_asked_about(self, reply: str) -> None:
        one = along(plane, reply, "x1 >= -0.4", "-0.2 <= x2 <= 0.3")
        down(one, one.region.pull_in(np.array([[3.0, 0.5, 0.2, 2.0, 2.0, 0.0]]))[0])
        assert len(one.asked)
        assert one.region.contains(one.asked).all()

    def test_bounds_are_gone_along(self, reply: str) -> None:
        """With x1 held at -0.2 or more the nearest row has x1 = -0.2, and the rest along the normal."""
        rest = np.where(np.arange(WIDTH) == 1, 0.0, NORMAL)
        best = rest * (1 + 0.2 * NORMAL[1]) / (rest @ rest) - 0.2 * np.eye(WIDTH)[1]
        assert plane(best[None, :])[0] == pytest.approx(0, abs=1e-12)
        row = best + 1.0 * np.array([0, 0, -NORMAL[3], NORMAL[2], 0, 0])
        found = down(along(plane, reply, "x1 >= -0.2"), row)
        assert found.distance[0] == pytest.approx(np.linalg.norm(best), rel=0.01)

    def test_columns_that_the_model_ignores_go_home(self, reply: str) -> None:
        one = along(lambda Z: Z[:, 0] + Z[:, 1] + Z[:, 2] - 3, reply)
        found = down(one, [3.0, 0.0, 0.0, 1.0, -2.0, 1.5])
        assert math.sqrt(3) <= found.distance[0] <= 1.01 * math.sqrt(3)

    def test_ways_side_by_side_do_not_disturb_each_other(self, reply: str) -> None:
        """One that settles at once, one on a plane and one that goes on: each as it goes alone."""
        rows = np.stack([1.0001 * NORMAL, ON_PLANE, NORMAL + 3 * ASIDE])
        judge = judge_of(lambda Z: plane(Z) + 0.05 * np.sin(3 * Z[:, 2]), reply)
        rows = np.stack([row * (1 + 0.2 * (judge(row[None, :]).reached[0] == 0)) for row in rows])
        together = lanes(SPACE, [ORIGIN] * 3, judge)
        all_ways = down(together, rows)
        for number in range(3):
            alone = lanes(SPACE, [ORIGIN], judge)
            np.testing.assert_array_equal(down(alone, rows[number]).row[0], all_ways.row[number])
            np.testing.assert_array_equal(alone.asked, together.asked_of(number))

    def test_it_stops_where_the_budget_ends(self, reply: str) -> None:
        one = lane(SPACE, ORIGIN, judge_of(ball, reply), most=11)
        found = down(one, on_ball(1.2))
        assert one.ledger.asked.tolist() == [11]
        assert ball(found.row)[0] >= -1e-12


@pytest.mark.parametrize(("reply", "most"), [("scores", 1.04), ("labels", 1.11)])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.4, 0.45, 0.5, 0.55, 0.7, 1.0])
def test_an_edge_is_nearly_found_from_either_face(reply: str, most: float, share: float) -> None:
    """Beyond two planes at once; the shortest row with ``FACES @ u == 1`` lies on their edge.

    One way down may stall beside it: by scores where it begins on the crease itself (share 0.5), where the
    slope is that of neither face, by labels also elsewhere.
    """
    one = along(lambda Z: np.stack([weighted(Z, face) - 1 for face in FACES]).min(axis=0), reply)
    best = np.linalg.lstsq(FACES, np.ones(2), rcond=None)[0]
    aside = np.linalg.lstsq(FACES, np.array([share, 1 - share]), rcond=None)[0]
    assert down(one, best + aside + 0.5 * ACROSS).distance[0] <= most * np.linalg.norm(best)


def test_a_plateau_of_scores_is_flat() -> None:
    found = down(along(lambda Z: np.where(Z[:, 0] >= 1, 0.5, -0.5), "scores"), [1.2, 0.5, 0.5, 0, 0, 0])
    assert found.flat.all()
    assert found.settled.all()


def test_labels_of_one_column_give_no_normal() -> None:
    others = [f"x{column} == x.x{column}" for column in range(1, WIDTH)]
    one = along(lambda Z: Z[:, 0] - 1, "labels", *others)
    assert down(one, [1.2, 0, 0, 0, 0, 0]).flat.all()
    assert one.calls == []


def test_a_row_whose_numbers_are_the_starts_gives_no_normal() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 5.0], "b": [0.0, 5.0], "c": ["u", "v"]}), scale="none")
    one = lane(where, {"a": 1.0, "b": 1.0, "c": "u"}, judge_of(lambda Z: Z[:, 2] - 0.5, "labels"))
    found = down(one, [1.0, 1.0, 1.0], 5)
    assert found.flat.all()
    assert found.distance.tolist() == [1]
    assert one.calls == []


@pytest.mark.parametrize("reply", REPLIES)
class TestStepper:
    def step(self, one: Lanes, row: Any, aims: Any) -> tuple[Matrix, bool]:
        row = np.array([row], dtype=float)
        far = one.ledger.distance(row, zeros(1))
        stepper = Stepper(one.ledger, row, zeros(1), far, 5e-3, one.start_margin)
        rows, _, found = stepper.step_to(np.array(aims, dtype=float), zeros(len(aims)))
        return rows[0], bool(found[0])

    def test_it_ends_at_the_nearest_crossing(self, reply: str) -> None:
        aims = np.stack([ON_PLANE + share * (NORMAL - ON_PLANE) for share in (0.2, 0.9, 0.5)])
        row, found = self.step(along(plane, reply), ON_PLANE, aims)
        assert found
        expected = np.linalg.norm(aims[1])
        assert expected * (1 - 1e-9) <= np.linalg.norm(row) <= expected * 1.006

    def test_aims_that_lead_nowhere_nearer_are_refused(self, reply: str) -> None:
        row, found = self.step(along(plane, reply), 1.0001 * NORMAL, [ON_PLANE, -NORMAL])
        assert not found
        np.testing.assert_array_equal(row, 1.0001 * NORMAL)

    def test_levels_of_where_one_stands_are_kept(self, reply: str) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0], "b": [0.0, 5.0], "c": ["u", "v"]}), scale="none")
        judge = judge_of(lambda Z: Z[:, 0] - 2 + Z[:, 2], reply)
        one = lane(where, {"a": 0.0, "b": 0.0, "c": "u"}, judge)
        row, found = self.step(one, [2.0, 3.0, 1.0], [[2.0, 1.0, 0.0]])
        assert found
        assert (one.asked[:, 2] == 1).all()
        # The ray to (2, 1) crosses a >= 1 at (1, 0.5).
        np.testing.assert_allclose(row, [1, 0.5, 1], rtol=0.02)


def test_rows_between_come_by_row_and_share() -> None:
    found = between(np.array([[0.0], [10.0]]), np.array([[1.0], [20.0]]), np.array([0.5, 1.0]))
    assert found.tolist() == [[0.5], [1.0], [15.0], [20.0]]
