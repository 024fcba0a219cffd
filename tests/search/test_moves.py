"""Each move alone: normals known in closed form, columns taken back, rows that stay feasible."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, linprog, minimize
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.problem.features import numeric
from ssba.search import moves

RNG = np.random.default_rng(0)
NORMAL = np.array([1.0, -2.0, 0.5, 0.25])
UNIT = NORMAL / np.linalg.norm(NORMAL)
SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
REGION = SPACE.region([0.0] * 4)
# On the plane NORMAL @ z == 2, away from the foot of the perpendicular.
ON_PLANE = 2 * NORMAL / (NORMAL @ NORMAL) + np.array([2.0, 1.0, 0.0, 0.0])
MIXED = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}


def squared(u: Any) -> float:
    return float(u @ u)


def margin(Z: Any) -> Any:
    return Z @ NORMAL - 2


def aligned(normal: Matrix) -> float:
    return float(normal @ UNIT / np.linalg.norm(normal))


def test_the_slope_of_the_score_is_the_normal() -> None:
    normal = answered(moves.score_normal(REGION, ON_PLANE, list(range(4)), 0.05), scored(margin))
    np.testing.assert_allclose(normal, NORMAL, rtol=1e-9)


def test_the_slope_is_taken_inward_at_a_bound() -> None:
    z = np.array([9.0, 9.0, -9.0, 9.0])
    asked: list[Matrix] = []

    def judge(Z: Any) -> Any:
        asked.append(Z)
        return scored(margin)(Z)

    normal = answered(moves.score_normal(REGION, z, list(range(4)), 0.05), judge)
    np.testing.assert_allclose(normal, NORMAL, rtol=1e-9)
    assert REGION.contains(asked[0]).all()


def test_without_scores_or_on_a_plateau_there_is_no_slope() -> None:
    flat = scored(lambda Z: np.full(len(Z), 0.5))
    for judge in (flat, labels_only(lambda Z: margin(Z) >= 0)):
        assert not answered(moves.score_normal(REGION, ON_PLANE, list(range(4)), 0.05), judge).any()


def test_labels_alone_show_the_normal_of_a_plane() -> None:
    search = moves.label_normal(REGION, ON_PLANE, list(range(4)), 0.01, np.random.default_rng(1))
    assert aligned(answered(search, labels_only(lambda Z: margin(Z) >= 0))) > 0.999


def test_held_columns_have_no_part_in_the_normal() -> None:
    region = SPACE.region([0.0] * 4, "x1 == x.x1")
    z = np.array([2.0, 0.0, 0.0, 0.0])
    movable = [0, 2, 3]
    search = moves.label_normal(region, z, movable, 0.01, np.random.default_rng(1))
    normal = answered(search, labels_only(lambda Z: margin(Z) >= 0))
    assert normal[1] == 0
    expected = np.array([1.0, 0.0, 0.5, 0.25])
    assert normal @ expected / np.linalg.norm(normal) / np.linalg.norm(expected) > 0.999


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("texts", [[], ["x1 >= -0.25"], ["x1 >= -0.25", "x0 <= 0.5"]])
def test_the_foot_on_a_plane_is_the_nearest_feasible_point(norm: str, texts: list[str]) -> None:
    """Checked against linear and quadratic programs on the same plane and box."""
    region = SPACE.region([0.0] * 4, *texts)
    rows = moves.plane_feet(region, ON_PLANE, NORMAL, norm)
    assert region.contains(rows).all()
    bounds = list(zip(region.lower, region.upper, strict=True))
    if norm == "l2":
        plane = LinearConstraint(NORMAL[None, :], 2, 2)
        best = math.sqrt(minimize(squared, np.zeros(4), bounds=bounds, constraints=plane).fun)
    else:
        halves = [(0, high) for _, high in bounds] + [(0, -low) for low, _ in bounds]
        best = float(
            linprog(np.ones(8), A_eq=np.r_[NORMAL, -NORMAL][None, :], b_eq=[2], bounds=halves).fun or 0
        )
    reaching = rows[margin(rows) >= -1e-9]
    lengths = np.linalg.norm(reaching, ord=2 if norm == "l2" else 1, axis=1)
    assert lengths.min() == pytest.approx(best, rel=1e-5)


def test_closing_in_returns_rows_on_the_target_side_next_to_the_boundary() -> None:
    rows = RNG.uniform(-9, 9, size=(200, 4))
    rows = rows[margin(rows) >= 0]
    closed = answered(moves.close_in(REGION, rows, 1e-3), labels_only(lambda Z: margin(Z) >= 0))
    assert (margin(closed) >= 0).all()
    assert (margin(closed) <= 1e-3 * (margin(rows) + 2)).all()


def test_columns_that_do_nothing_are_taken_back() -> None:
    rows = np.array([[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 1.0]])
    asked: list[Matrix] = []

    def judge(Z: Any) -> Any:
        asked.append(Z.copy())
        return labels_only(lambda Z: Z[:, 0] >= 2)(Z)

    before = rows.copy()
    answered(moves.pull_back(REGION, rows, np.random.default_rng(0)), judge)
    np.testing.assert_array_equal(rows, before)
    every = np.concatenate(asked)
    hits = every[every[:, 0] >= 2]
    assert np.abs(hits).sum(axis=1).min() < 2.5
    assert (np.abs(hits[:, 1:]).sum(axis=1) == 0).any()


@pytest.mark.parametrize("texts", [[], ["r + n <= 3", "s - r >= 0.5"], ["c == x.c", "r >= x.r"]])
def test_mixtures_draws_and_neighbours_are_feasible_and_legal(texts: list[str]) -> None:
    region = MIXED.region(QUERY, *texts)
    parents, fine = region.pull_in(RNG.uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4)))
    parents = parents[fine]
    made = [
        moves.recombined(region, parents, 40, np.random.default_rng(0)),
        moves.scattered_around(region, parents, 40, 0.3, np.random.default_rng(0)),
        moves.neighbours(region, parents[0]),
    ]
    for rows in made:
        assert len(rows)
        assert region.contains(rows).all()
        np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(rows)), rows)


def test_mixtures_take_every_cell_from_a_parent() -> None:
    region = MIXED.region(QUERY)
    parents = np.array([[1.0, 2.0, 0.5, 0.0], [3.0, 4.0, 1.5, 1.0]])
    mixed = moves.recombined(region, parents, 50, np.random.default_rng(0))
    for column in range(4):
        assert set(mixed[:, column]) == set(parents[:, column])


def test_neighbours_are_one_step_or_one_level_away() -> None:
    region = MIXED.region(QUERY)
    rows = moves.neighbours(region, np.array([1.0, 2.0, 0.3, 0.0]))
    expected = [[1, 1, 0.3, 0], [1, 3, 0.3, 0], [1, 2, 0.2, 0], [1, 2, 0.4, 0], [1, 2, 0.3, 1]]
    moved = [row for row in rows.tolist() if row != [1.0, 2.0, 0.3, 0.0]]
    assert sorted(moved) == sorted([float(cell) for cell in row] for row in expected)


def test_a_region_of_real_numbers_has_no_neighbours() -> None:
    assert moves.neighbours(REGION, ON_PLANE).shape == (0, 4)


def test_a_path_is_plain_only_where_every_point_is_legal_and_feasible() -> None:
    assert moves.path_of(REGION).plain
    assert not moves.path_of(MIXED.region(QUERY)).plain
