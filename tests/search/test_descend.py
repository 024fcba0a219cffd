"""Down the boundary: planes, balls and edges in closed form, and what a descent says about where it ends."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.descend import Descent, Pace, broad_step, descend, standing, step_to

WIDTH = 6
SPACE = setting(np.array([[-9.0] * WIDTH, [9.0] * WIDTH]), scale="none")
NORMAL = np.array([1.0, -2.0, 0.5, 0.25, 0.7, -0.3])
NORMAL /= np.linalg.norm(NORMAL)
# On the plane NORMAL @ z == 1, twice as far as the nearest row there.
ASIDE = np.array([2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
ASIDE /= np.linalg.norm(ASIDE)
ON_PLANE = NORMAL + math.sqrt(3) * ASIDE
GAIN = 2e-3
FACES = np.array([[1.0, 0.2, 0.2, 0.3, -0.2, 0.1], [-0.2, 0.7, 0.7, 0.2, 0.3, 0.1]])
# A direction in which neither face is left.
ACROSS = np.array([0.0, 1.0, -1.0, 0.0, 0.0, 0.0])
REPLIES = ["scores", "labels"]


def plane(Z: Any) -> Any:
    return Z @ NORMAL - 1


def ball(Z: Any) -> Any:
    return 2 - np.linalg.norm(Z - 3 * NORMAL, axis=-1)


class Way:
    """A descent by scores or labels, with all that it asked."""

    def __init__(self, margin: Any, reply: str, *texts: str) -> None:
        self.archive = Archive(SPACE.region([0.0] * WIDTH, *texts), SPACE.metric)
        self.margin = margin
        self.judge = scored(margin) if reply == "scores" else labels_only(lambda Z: margin(Z) >= 0)
        self.start_margin = float(margin(np.zeros((1, WIDTH)))[0]) if reply == "scores" else None
        self.asked: list[Matrix] = []

    def remember(self, Z: Any) -> Reply:
        self.asked.append(Z)
        return self.judge(Z)

    def pace(self, rounds: int, ceiling: float = math.inf) -> Pace:
        return Pace(rounds, GAIN, self.start_margin, ceiling)

    def down(self, row: Matrix, rounds: int = 12, ceiling: float = math.inf) -> Descent:
        """Go down from a row on the boundary; all that is asked is recorded."""
        search = descend(self.archive, standing(self.archive, row), self.pace(rounds, ceiling))
        found = answered(recorded(search, self.archive, math.inf, lambda: False), self.remember)
        assert found is not None
        return found


def on_ball(aside: float) -> Matrix:
    """Return a row on the near side of the ball, some way beside its nearest row."""
    back = -NORMAL * math.sqrt(4 - aside**2)
    row: Matrix = 3 * NORMAL + back + aside * ASIDE
    return row


def test_standing_measures_from_the_query() -> None:
    archive = Archive(SPACE.region([0.0] * WIDTH, "x0 >= 3"), SPACE.metric)
    row = np.array([3.0, 4.0, 0, 0, 0, 0])
    assert standing(archive, row).distance == 5
    assert not standing(archive, row).settled


@pytest.mark.parametrize("reply", REPLIES)
class TestDescend:
    def test_a_plane_is_gone_down_to_its_foot(self, reply: str) -> None:
        way = Way(plane, reply)
        found = way.down(ON_PLANE)
        assert 1 - 1e-9 <= found.distance <= 1.01
        assert found.settled
        assert not found.flat

    def test_a_plane_is_known_to_be_straight(self, reply: str) -> None:
        """By scores exactly, so after two looks; by labels it takes closer ones to tell."""
        if reply == "scores":
            assert Way(plane, reply).down(ON_PLANE).straight
        bent = Way(ball, reply).down(on_ball(1.2))
        assert not bent.straight

    def test_a_ball_is_gone_down_to_its_near_side(self, reply: str) -> None:
        found = Way(ball, reply).down(on_ball(1.2))
        assert 1 - 1e-9 <= found.distance <= 1.01

    def test_where_it_ends_the_target_is_reached(self, reply: str) -> None:
        for margin, row in ((plane, ON_PLANE), (ball, on_ball(1.2))):
            found = Way(margin, reply).down(row)
            assert margin(found.row[None, :])[0] >= 0
            assert found.distance == pytest.approx(np.linalg.norm(found.row), rel=1e-12)

    def test_it_never_ends_farther_than_it_began(self, reply: str) -> None:
        def wavy(Z: Any) -> Any:
            return np.sin(3 * Z @ NORMAL) + 0.3 * np.sin(5 * Z[:, 0]) - 0.2

        for seed in range(6):
            rows = np.random.default_rng(seed).uniform(-3, 3, size=(50, WIDTH))
            row = rows[wavy(rows) >= 0][0]
            way = Way(wavy, reply)
            assert way.down(row).distance <= np.linalg.norm(row) * (1 + 1e-12)

    def test_more_rounds_are_never_worse(self, reply: str) -> None:
        distances = [Way(ball, reply).down(on_ball(1.2), rounds).distance for rounds in range(6)]
        assert distances[0] == np.linalg.norm(on_ball(1.2))
        assert distances == sorted(distances, reverse=True)

    def test_without_rounds_nothing_is_asked(self, reply: str) -> None:
        way = Way(plane, reply)
        np.testing.assert_array_equal(way.down(ON_PLANE, rounds=0).row, ON_PLANE)
        assert way.asked == []

    def test_a_foot_beyond_the_ceiling_is_left(self, reply: str) -> None:
        """The foot of the plane is at 1: worth going for below 1.5, not below 0.8."""
        assert Way(plane, reply).down(ON_PLANE, ceiling=1.5).distance < 1.01
        way = Way(plane, reply)
        assert way.down(ON_PLANE, ceiling=0.8).distance == pytest.approx(2)

    def test_only_feasible_rows_are_asked_about(self, reply: str) -> None:
        way = Way(plane, reply, "x1 >= -0.4", "-0.2 <= x2 <= 0.3")
        row = way.archive.region.pull_in(np.array([[3.0, 0.5, 0.2, 2.0, 2.0, 0.0]]))[0][0]
        way.down(row)
        assert way.archive.region.contains(np.concatenate(way.asked)).all()

    def test_bounds_are_gone_along(self, reply: str) -> None:
        """With x1 held at -0.2 or more the nearest row has x1 = -0.2, and the rest along the normal."""
        way = Way(plane, reply, "x1 >= -0.2")
        rest = np.where(np.arange(WIDTH) == 1, 0.0, NORMAL)
        best = rest * (1 + 0.2 * NORMAL[1]) / (rest @ rest) - 0.2 * np.eye(WIDTH)[1]
        assert plane(best[None, :])[0] == pytest.approx(0, abs=1e-12)
        row = best + 1.0 * np.array([0, 0, -NORMAL[3], NORMAL[2], 0, 0])
        assert way.down(row).distance == pytest.approx(np.linalg.norm(best), rel=0.01)

    def test_columns_that_the_model_ignores_go_home(self, reply: str) -> None:
        way = Way(lambda Z: Z[:, 0] + Z[:, 1] + Z[:, 2] - 3, reply)
        found = way.down(np.array([3.0, 0.0, 0.0, 1.0, -2.0, 1.5]))
        assert math.sqrt(3) <= found.distance <= 1.01 * math.sqrt(3)

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_an_edge_is_found_from_either_face(self, reply: str, share: float) -> None:
        """Beyond two planes at once; the shortest row with ``FACES @ u == 1`` lies on their edge."""
        way = Way(lambda Z: (Z @ FACES.T - 1).min(axis=-1), reply)
        best = np.linalg.lstsq(FACES, np.ones(2), rcond=None)[0]
        aside = np.linalg.lstsq(FACES, np.array([share, 1 - share]), rcond=None)[0]
        # One way down by labels may end a little beside the edge.
        most = 1.01 if reply == "scores" else 1.06
        assert way.down(best + aside + 0.5 * ACROSS).distance <= most * np.linalg.norm(best)


def test_a_plateau_of_scores_is_flat() -> None:
    way = Way(lambda Z: np.where(Z[:, 0] >= 1, 0.5, -0.5), "scores")
    found = way.down(np.array([1.2, 0.5, 0.5, 0.0, 0.0, 0.0]))
    assert found.flat
    assert found.settled


def test_labels_of_one_column_give_no_normal() -> None:
    others = [f"x{column} == x.x{column}" for column in range(1, WIDTH)]
    way = Way(lambda Z: Z[:, 0] - 1, "labels", *others)
    found = way.down(np.array([1.2, 0, 0, 0, 0, 0]))
    assert found.flat
    assert way.asked == []


def test_a_row_whose_numbers_are_the_starts_gives_no_normal() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 5.0], "b": [0.0, 5.0], "c": ["u", "v"]}), scale="none")
    archive = Archive(where.region({"a": 1.0, "b": 1.0, "c": "u"}), where.metric)
    search = descend(archive, standing(archive, np.array([1.0, 1.0, 1.0])), Pace(5, GAIN, None))
    found = answered(search, lambda Z: pytest.fail("asked"))
    assert found.flat
    assert found.distance == 1


@pytest.mark.parametrize("reply", REPLIES)
class TestStepTo:
    def test_it_ends_at_the_nearest_crossing(self, reply: str) -> None:
        way = Way(plane, reply)
        now = standing(way.archive, ON_PLANE)
        aims = np.stack([ON_PLANE + share * (NORMAL - ON_PLANE) for share in (0.2, 0.9, 0.5)])
        row = answered(step_to(way.archive, now, aims, way.pace(1)), way.remember)
        assert row is not None
        expected = np.linalg.norm(aims[1])
        assert expected * (1 - 1e-9) <= np.linalg.norm(row) <= expected * 1.006

    def test_aims_that_lead_nowhere_nearer_are_refused(self, reply: str) -> None:
        way = Way(plane, reply)
        now = standing(way.archive, 1.0001 * NORMAL)
        assert (
            answered(step_to(way.archive, now, np.stack([ON_PLANE, -NORMAL]), way.pace(1)), way.remember)
            is None
        )

    def test_levels_of_where_one_stands_are_kept(self, reply: str) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0], "b": [0.0, 5.0], "c": ["u", "v"]}), scale="none")
        archive = Archive(where.region({"a": 0.0, "b": 0.0, "c": "u"}), where.metric)
        judge = scored(lambda Z: Z[:, 0] - 2 + Z[:, 2])
        asked: list[Matrix] = []

        def remember(Z: Any) -> Reply:
            asked.append(Z)
            return judge(Z)

        now = standing(archive, np.array([2.0, 3.0, 1.0]))
        pace = Pace(1, GAIN, -2.0 if reply == "scores" else None)
        row = answered(step_to(archive, now, np.array([[2.0, 1.0, 0.0]]), pace), remember)
        assert row is not None
        assert (np.concatenate(asked)[:, 2] == 1).all()
        # The ray to (2, 1) crosses a >= 1 at (1, 0.5).
        np.testing.assert_allclose(row, [1, 0.5, 1], rtol=0.02)


@pytest.mark.parametrize("reply", REPLIES)
class TestBroadStep:
    def test_stairs_are_gone_down_as_a_whole(self, reply: str) -> None:
        """Steps of a quarter, down a plane on the whole: a narrow look would see single steps only."""

        def stairs(Z: Any) -> Any:
            return (np.floor(4 * Z[:, :2]) / 4).sum(axis=1) - 2 + 1e-9

        way = Way(stairs, reply)
        row = np.array([2.0, 0.1, 0, 0, 0, 0])
        search = broad_step(way.archive, row, 0.3, way.start_margin)
        found = answered(search, way.remember)
        assert stairs(found[None, :])[0] >= 0
        assert np.linalg.norm(found) < 0.95 * np.linalg.norm(row)

    def test_where_no_step_helps_the_row_stays(self, reply: str) -> None:
        way = Way(plane, reply)
        row = 1.0001 * NORMAL
        found = answered(broad_step(way.archive, row, 0.3, way.start_margin), way.remember)
        np.testing.assert_array_equal(found, row)

    def test_where_nothing_can_move_nothing_is_asked(self, reply: str) -> None:
        way = Way(plane, reply)
        found = answered(broad_step(way.archive, np.zeros(WIDTH), 0.3, way.start_margin), way.remember)
        assert not found.any()
        assert way.asked == []
