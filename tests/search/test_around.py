"""The end of a way down: draws around the best row, close competitors, and doubts about steps."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support import Matrix, answered, every, labels_only, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.descend import standing
from ssba.search.refine import SEVERAL_WAYS, _around, _best_of, _has_steps, _shows_face, nearest_search
from ssba.search.starts import Pool


class Search:
    """A row that reaches the target, and what the draws around it make of it."""

    def __init__(self, row: Any, reached: Any, *texts: str) -> None:
        width = len(row)
        where = setting(np.array([[-5.0] * width, [5.0] * width]), scale="none")
        self.archive = Archive(where.region([0.0] * width, *texts), where.metric)
        self.archive.record(np.array([row]), Reply(np.array([True]), None))
        self.reached = reached
        self.asked: list[tuple[Matrix, float]] = []

    def run(self, seed: int = 0) -> float:
        def remember(Z: Any) -> Reply:
            self.asked.append((Z, self.archive.best_distance))
            return labels_only(self.reached)(Z)

        search = _around(self.archive, np.random.default_rng(seed))
        answered(recorded(search, self.archive, math.inf, lambda: False), remember)
        return self.archive.best_distance


@pytest.mark.parametrize("width", [2, 3])
def test_it_gets_into_a_corner(width: int) -> None:
    row = np.ones(width)
    row[0] = 1.1
    before = float(np.linalg.norm(row))
    found = [Search(row, lambda Z: (Z >= 1).all(axis=1)).run(seed) for seed in range(5)]
    gap = before - math.sqrt(width)
    assert every(math.sqrt(width) <= one < before for one in found)
    assert np.mean(found) - math.sqrt(width) < 0.5 * gap


def test_what_is_asked_is_feasible_and_nearer_than_the_best() -> None:
    one = Search([1.5, 1.0, 0.4], lambda Z: Z[:, 0] + Z[:, 1] >= 1.8, "x2 >= 0.3", "x0 <= 2")
    one.run()
    assert one.asked
    assert every(one.archive.region.contains(rows).all() for rows, _ in one.asked)
    rows, best = one.asked[0]
    assert (np.linalg.norm(rows, axis=1) < best).all()


def test_where_nothing_is_nearer_each_ball_is_drawn_once() -> None:
    one = Search([1.0, 0.0, 0.0], lambda Z: Z[:, 0] >= 1)
    assert one.run() == 1.0
    assert [len(rows) for rows, _ in one.asked] == [24, 24, 24]


@pytest.mark.parametrize("width", [1, 9])
def test_one_column_or_many_are_left_alone(width: int) -> None:
    one = Search(np.full(width, 2.0), lambda Z: (Z >= 1).all(axis=1))
    one.run()
    assert not one.asked


@pytest.mark.parametrize("seed", range(5))
def test_the_whole_search_ends_in_the_corner(seed: int) -> None:
    rows = np.random.default_rng(seed).uniform(-3, 3, size=(400, 2))
    where = setting(rows, scale="none")

    def reached(Z: Any) -> Any:
        return (Z > [0.5, 1.2]).all(axis=1)

    archive = Archive(where.region([0.0, 0.0]), where.metric)
    search = nearest_search(archive, Pool(rows[reached(rows)]), 0)
    answered(recorded(search, archive, math.inf, lambda: False), labels_only(reached))
    assert archive.best_distance <= 1.002 * 1.3


def test_a_close_competitor_gets_another_round() -> None:
    """The first row is the foot of its plane; the other is a little farther, but its plane is nearer."""
    where = setting(np.array([[-5.0] * 3, [5.0] * 3]), scale="none")
    archive = Archive(where.region([0.0] * 3), where.metric)
    judge = labels_only(lambda Z: (Z[:, 0] >= 1) | (Z[:, 1] <= -0.8))
    rows = [np.array([1.0, 0.0, 0.0]), np.array([0.0, -0.8, 0.69])]
    ways = [standing(archive, row) for row in rows]
    assert ways[0].distance < ways[1].distance < 1.1 * ways[0].distance
    best = answered(_best_of(archive, ways, None, SEVERAL_WAYS), judge)
    assert best.distance < 0.9


def test_a_competitor_far_behind_is_given_up_unasked() -> None:
    where = setting(np.array([[-5.0] * 3, [5.0] * 3]), scale="none")
    archive = Archive(where.region([0.0] * 3), where.metric)
    ways = [standing(archive, np.array([size, 0.0, 0.0])) for size in (1.0, 1.2)]
    best = answered(_best_of(archive, ways, None, SEVERAL_WAYS), lambda Z: pytest.fail("asked"))
    assert best.distance == 1.0


CORNER = np.array([0.82, 0.56, 0.02, 0.02, 0.02, 0.0])


@pytest.mark.parametrize(
    ("reached", "stepped"),
    [
        pytest.param(lambda Z: (Z >= CORNER)[:, :5].all(axis=1), True, id="a corner"),
        pytest.param(lambda Z: Z @ CORNER >= CORNER @ CORNER - 1e-9, False, id="a slope"),
    ],
)
def test_a_column_that_can_go_back_for_little_is_no_step_yet(reached: Any, stepped: bool) -> None:
    """The last column is not needed: without it, it shows whether this is a corner or a slope."""
    where = setting(np.array([[-5.0] * 6, [5.0] * 6]), scale="none")
    archive = Archive(where.region([0.0] * 6), where.metric)
    row = CORNER + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.06])
    archive.record(row[None, :], Reply(np.array([True]), None))
    search = recorded(
        _has_steps(archive, standing(archive, row), 4e-4, True), archive, math.inf, lambda: False
    )
    assert answered(search, labels_only(reached)) == stepped


@pytest.mark.parametrize(
    ("reached", "told"),
    [
        pytest.param(lambda Z: Z[:, 0] >= 1, True, id="a face"),
        pytest.param(lambda Z: Z @ np.ones(6) >= 6, False, id="a plane"),
        pytest.param(lambda Z: np.linalg.norm(Z - 2, axis=1) <= math.sqrt(6), False, id="a ball"),
        pytest.param(lambda Z: (Z >= 1).all(axis=1), True, id="a corner"),
    ],
)
def test_a_face_across_one_column_is_told_from_a_smooth_boundary(reached: Any, told: bool) -> None:
    where = setting(np.array([[-5.0] * 6, [5.0] * 6]), scale="none")
    archive = Archive(where.region([0.0] * 6), where.metric)
    best = replace(standing(archive, np.ones(6)), normal=np.ones(6))
    assert answered(_shows_face(archive, best), labels_only(reached)) == told


def test_columns_at_their_bound_cannot_tell_a_face() -> None:
    where = setting(np.array([[-5.0] * 6, [5.0] * 6]), scale="none")
    bounds = [f"x{j} <= 1" for j in range(6)]
    archive = Archive(where.region([0.0] * 6, *bounds), where.metric)
    best = replace(standing(archive, np.ones(6)), normal=np.ones(6))
    assert answered(_shows_face(archive, best), lambda Z: pytest.fail("asked")) is None
