"""Normals and feet of perpendiculars: planes in closed form, linear and quadratic programs."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.columns.features import numeric
from ssba.models.targets import Reply
from ssba.search.normals import (
    Look,
    broad_score_normal,
    foot,
    label_normal,
    movable,
    score_normal,
    unit_rows,
)

NORMAL = np.array([1.0, -2.0, 0.5, 0.25])
UNIT = NORMAL / np.linalg.norm(NORMAL)
SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
REGION = SPACE.region([0.0] * 4)
EVERY = list(range(4))
# On the plane NORMAL @ z == 2, away from the foot of the perpendicular.
ON_PLANE = 2 * NORMAL / (NORMAL @ NORMAL) + np.array([2.0, 1.0, 0.0, 0.0])
CLOSE = Look(width=0.01, steepest=8.0, halvings=12)
MIXED = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}
BY_LABELS = labels_only(lambda Z: margin(Z) >= 0)


def margin(Z: Any) -> Any:
    return Z @ NORMAL - 2


def beyond(normal: Matrix, right: float) -> Callable[[Any], Reply]:
    return labels_only(lambda Z: Z @ normal >= right)


def cosine(one: Matrix, other: Matrix) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


class TestUnitRows:
    def test_each_has_a_one_in_its_column(self) -> None:
        np.testing.assert_array_equal(unit_rows([2, 0], np.zeros(3)), [[0, 0, 1], [1, 0, 0]])

    def test_they_scatter_values_back(self) -> None:
        np.testing.assert_array_equal(np.array([5.0, 7.0]) @ unit_rows([2, 0], np.zeros(3)), [7, 0, 5])


class TestMovable:
    def test_numbers_that_are_free_can_move(self) -> None:
        region = MIXED.region(QUERY, "n == x.n")
        assert movable(region, region.start) == [0, 2]

    def test_a_missing_cell_cannot(self) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
        region = where.region({"a": None, "b": 0.0})
        assert movable(region, np.array([1.0, 1.0])) == [1]
        assert movable(where.region({"a": 1.0, "b": 0.0}), np.array([math.nan, 1.0])) == [1]


def unit(way: Matrix) -> Matrix:
    return np.asarray(way / np.linalg.norm(way))


@pytest.mark.parametrize("normal_of", [score_normal, broad_score_normal])
class TestScoreNormal:
    def test_the_slope_of_the_score_is_the_normal(self, normal_of: Any) -> None:
        normal = answered(normal_of(REGION, ON_PLANE, EVERY, 0.05), scored(margin))
        np.testing.assert_allclose(normal, unit(NORMAL), rtol=1e-9)

    def test_it_is_in_scaled_units(self, normal_of: Any) -> None:
        scale = {"x0": 2.0, "x1": 1.0, "x2": 0.1, "x3": 5.0}
        where = setting(SPACE.Z, scale=scale)
        normal = answered(normal_of(where.region([0.0] * 4), ON_PLANE, EVERY, 0.05), scored(margin))
        np.testing.assert_allclose(normal, unit(NORMAL * list(scale.values())), rtol=1e-9)

    def test_at_a_bound_it_is_taken_inward(self, normal_of: Any) -> None:
        asked: list[Matrix] = []

        def judge(Z: Any) -> Any:
            asked.append(Z)
            return scored(margin)(Z)

        z = np.array([9.0, 9.0, -9.0, 9.0])
        normal = answered(normal_of(REGION, z, EVERY, 0.05), judge)
        np.testing.assert_allclose(normal, unit(NORMAL), rtol=1e-9)
        assert REGION.contains(np.concatenate(asked)).all()

    def test_only_the_columns_asked_for_have_a_slope(self, normal_of: Any) -> None:
        normal = answered(normal_of(REGION, ON_PLANE, [0, 3], 0.05), scored(margin))
        np.testing.assert_allclose(normal, unit(np.array([1.0, 0.0, 0.0, 0.25])), rtol=1e-9)

    def test_without_scores_or_on_a_plateau_there_is_none(self, normal_of: Any) -> None:
        for judge in (scored(lambda Z: np.full(len(Z), 0.5)), BY_LABELS):
            assert not answered(normal_of(REGION, ON_PLANE, EVERY, 0.05), judge).any()

    def test_one_model_call_is_enough(self, normal_of: Any) -> None:
        calls: list[int] = []

        def judge(Z: Any) -> Any:
            calls.append(len(Z))
            return scored(margin)(Z)

        answered(normal_of(REGION, ON_PLANE, EVERY, 0.05), judge)
        assert calls in ([5], [8])


def test_a_slope_over_whole_numbers_takes_whole_steps() -> None:
    weights = np.array([0.3, 2.0, -1.0, 0.0])
    region = MIXED.region(QUERY)
    z = np.array([1.0, 2.0, 0.5, 0.0])
    normal = answered(score_normal(region, z, [0, 1, 2], 1e-3), scored(lambda Z: Z @ weights))
    np.testing.assert_allclose(normal, unit(weights), rtol=1e-6)


def test_a_broad_slope_sees_over_steps_that_a_narrow_one_does_not() -> None:
    stairs = scored(lambda Z: np.floor(4 * Z[:, 0]) / 4 + np.floor(4 * Z[:, 1]) / 4)
    z = np.array([0.6, 0.4, 0.0, 0.0])
    assert not answered(score_normal(REGION, z, EVERY, 1e-3), stairs).any()
    broad = answered(broad_score_normal(REGION, z, EVERY, 2.0), stairs)
    assert cosine(broad, np.array([1.0, 1.0, 0.0, 0.0])) > 0.99


class TestLabelNormal:
    def test_labels_alone_show_the_normal_of_a_plane(self) -> None:
        assert cosine(answered(label_normal(REGION, ON_PLANE, EVERY, CLOSE), BY_LABELS), UNIT) > 0.9999

    @given(st.integers(0, 10**6), st.integers(2, 12))
    def test_it_is_as_exact_as_the_look_in_any_direction(self, seed: int, width: int) -> None:
        """Halvings leave 2 steepest / 2**halvings of the slope open in each tangent direction.

        The width of the look adds an error of that order, since a plane's log radius is not straight.
        """
        rng = np.random.default_rng(seed)
        normal = rng.normal(size=width)
        normal /= np.linalg.norm(normal)
        region = setting(np.array([[-99.0] * width, [99.0] * width]), scale="none").region([0.0] * width)
        aside = rng.normal(size=width)
        aside -= (aside @ normal) * normal
        z = normal + 0.8 * aside / np.linalg.norm(aside)
        look = Look(width=1e-3, steepest=2.0, halvings=10)
        found = answered(
            label_normal(region, z, list(range(width)), look), labels_only(lambda Z: Z @ normal >= 1)
        )
        most = math.sqrt(width) * (2 * 2.0 / 2**10 + 2e-3)
        np.testing.assert_allclose(found / (found @ normal), normal, atol=2 * most)

    @pytest.mark.parametrize("axis", EVERY)
    def test_a_ray_along_an_axis_is_no_exception(self, axis: int) -> None:
        for sign in (-1.0, 1.0):
            z = np.where(np.arange(4) == axis, sign * 2.0, 0.0)
            search = label_normal(REGION, z, EVERY, CLOSE)
            found = answered(search, beyond(z / 2, 2.0))
            assert cosine(found, z) > 0.9999

    def test_what_is_steeper_than_the_look_is_cut_off(self) -> None:
        look = Look(width=0.01, steepest=0.3, halvings=8)
        z = np.array([1.0, 3.0, 0.0, 0.0])
        normal = answered(label_normal(REGION, z, EVERY, look), labels_only(lambda Z: Z[:, 0] >= 1))
        # The true slope along the tangent is 3, of which 0.3 is seen.
        slope = math.tan(math.acos(cosine(normal, z)))
        assert slope == pytest.approx(0.3, rel=0.02)

    def test_around_a_guess_a_narrow_look_sees_a_steep_boundary(self) -> None:
        look = Look(width=0.01, steepest=0.3, halvings=8)
        z = np.array([1.0, 3.0, 0.0, 0.0])
        judge = labels_only(lambda Z: Z[:, 0] + 0.05 * Z[:, 2] >= 1)
        guessed = answered(label_normal(REGION, z, EVERY, look, np.array([2.0, 0.0, 0.0, 0.0])), judge)
        assert cosine(guessed, np.array([1.0, 0.0, 0.05, 0.0])) > 0.999

    @pytest.mark.parametrize("guess", [-UNIT, np.array([0.0, 0.0, 0.0, 1.0])])
    def test_a_guess_that_cannot_be_is_no_worse_than_none(self, guess: Any) -> None:
        assert cosine(answered(label_normal(REGION, ON_PLANE, EVERY, CLOSE, guess), BY_LABELS), UNIT) > 0.9999

    def test_columns_left_out_have_no_part_and_keep_their_value(self) -> None:
        asked: list[Matrix] = []

        def judge(Z: Any) -> Any:
            asked.append(Z)
            return BY_LABELS(Z)

        z = np.array([3.0, 0.5, 0.0, 0.0])
        normal = answered(label_normal(REGION, z, [0, 2, 3], CLOSE), judge)
        assert normal[1] == 0
        assert (np.concatenate(asked)[:, 1] == 0.5).all()

    def test_held_columns_have_no_part(self) -> None:
        region = SPACE.region([0.0] * 4, "x1 == x.x1")
        z = np.array([2.0, 0.0, 0.0, 0.0])
        normal = answered(label_normal(region, z, movable(region, z), CLOSE), BY_LABELS)
        assert normal[1] == 0
        assert cosine(normal, np.array([1.0, 0.0, 0.5, 0.25])) > 0.9999

    def test_it_costs_the_halvings_times_the_tangents(self) -> None:
        calls: list[int] = []

        def judge(Z: Any) -> Any:
            calls.append(len(Z))
            return BY_LABELS(Z)

        answered(label_normal(REGION, ON_PLANE, EVERY, Look(0.05, 2.0, 5)), judge)
        assert calls == [3] * 5

    def test_only_rows_inside_the_bounds_are_asked_about(self) -> None:
        region = SPACE.region([0.0] * 4, "x0 <= 2.5", "x1 >= -0.5")
        z = np.array([2.5, 0.2, 0.9, 1.8])

        def judge(Z: Any) -> Any:
            assert region.contains(Z).all()
            return BY_LABELS(Z)

        answered(label_normal(region, z, EVERY, Look(0.05, 2.0, 5)), judge)


def squared(u: Any) -> float:
    return float(u @ u)


BOXES: list[list[str]] = [[], ["x1 >= -0.25"], ["x1 >= -0.25", "x0 <= 0.5"], ["x0 >= 0.5"], ["x2 >= 0.3"]]


class TestFoot:
    @pytest.mark.parametrize("norm", ["l2", "l1"])
    @pytest.mark.parametrize("texts", BOXES)
    def test_it_is_the_nearest_point_of_plane_and_box(self, norm: str, texts: list[str]) -> None:
        """Checked against linear and quadratic programs; in the last two boxes the query is not inside."""
        region = SPACE.region([0.0] * 4, *texts)
        row = foot(region, ON_PLANE, NORMAL, EVERY, norm)
        assert region.contains(row[None, :]).all()
        assert margin(row) == pytest.approx(0, abs=1e-9)
        bounds = list(zip(region.lower, region.upper, strict=True))
        if norm == "l2":
            plane = LinearConstraint(NORMAL[None, :], 2, 2)
            best = math.sqrt(minimize(squared, np.zeros(4), bounds=bounds, constraints=plane).fun)
        else:
            # Variables u and t >= |u|; the sum of t is the L1 length.
            eye = np.eye(4)
            program = linprog(
                np.r_[np.zeros(4), np.ones(4)],
                A_ub=np.block([[eye, -eye], [-eye, -eye]]),
                b_ub=np.zeros(8),
                A_eq=np.r_[NORMAL, np.zeros(4)][None, :],
                b_eq=[2],
                bounds=[*bounds, *[(0, None)] * 4],
            )
            assert program.success
            best = float(program.fun or 0)
        assert np.linalg.norm(row, ord=2 if norm == "l2" else 1) == pytest.approx(best, rel=1e-5)

    def test_scales_decide_what_is_near(self) -> None:
        """Shortest in scaled units: along normal * scale**2."""
        scale = np.array([2.0, 1.0, 0.5, 4.0])
        where = setting(SPACE.Z, scale=dict(zip(["x0", "x1", "x2", "x3"], scale, strict=True)))
        row = foot(where.region([0.0] * 4), ON_PLANE, NORMAL * scale, EVERY, "l2")
        way = NORMAL * scale**2
        np.testing.assert_allclose(row, 2 * way / (NORMAL @ way), rtol=1e-9)

    @pytest.mark.parametrize("norm", ["l2", "l1"])
    def test_columns_without_a_slope_go_home_and_those_not_looked_at_stay(self, norm: str) -> None:
        row = foot(REGION, np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 0, 0, 0]), [0, 1, 2], norm)
        np.testing.assert_allclose(row, [1, 0, 0, 4])

    def test_levels_stay(self) -> None:
        region = MIXED.region(QUERY)
        row = foot(region, np.array([2.0, 1.0, 0.5, 1.0]), np.array([1.0, 1.0, 0.0, 0.0]), [0, 1, 2], "l2")
        np.testing.assert_allclose(row, [1.5, 1.5, 1.0, 1.0])

    @pytest.mark.parametrize("norm", ["l2", "l1"])
    def test_a_plane_out_of_reach_is_approached_as_far_as_the_bounds_allow(self, norm: str) -> None:
        region = SPACE.region([0.0] * 4, "-1 <= x0 <= 1", "-1 <= x1 <= 1", "x2 == x.x2", "x3 == x.x3")
        row = foot(region, np.array([5.0, -5.0, 0.0, 0.0]), np.array([1.0, -2.0, 0.0, 0.0]), [0, 1], norm)
        np.testing.assert_allclose(row, [1, -1, 0, 0])


FAR = np.array([0.5, 0.3, 4.0, 4.0])
LINES = [["x0 <= x1"], ["x0 + x1 >= 1", "x2 <= 0.2"], ["x0 + x1 + x2 == 0.5", "x3 <= x0"]]


class TestNearestBeyond:
    @pytest.mark.parametrize("texts", LINES)
    def test_it_is_the_nearest_row_beyond_the_plane_that_keeps_the_lines(self, texts: list[str]) -> None:
        region = SPACE.region([0.0] * 4, *texts)
        assert region.linear is not None
        z = region.pull_in(FAR[None, :])[0][0]
        row = region.nearest_beyond(z, NORMAL)
        solved = minimize(
            squared,
            z,
            bounds=list(zip(region.lower, region.upper, strict=True)),
            constraints=[
                LinearConstraint(region.linear.A, -np.inf, region.linear.b),
                LinearConstraint(NORMAL[None, :], NORMAL @ z, np.inf),
            ],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert NORMAL @ row >= NORMAL @ z - 1e-5
        assert (region.linear.violation(row[None, :]) <= 1e-5).all()
        assert np.linalg.norm(row) == pytest.approx(math.sqrt(solved.fun), rel=1e-4)

    @pytest.mark.parametrize("texts", LINES)
    def test_a_foot_goes_there(self, texts: list[str]) -> None:
        region = SPACE.region([0.0] * 4, *texts)
        z = region.pull_in(FAR[None, :])[0][0]
        np.testing.assert_array_equal(foot(region, z, NORMAL, EVERY, "l2"), region.nearest_beyond(z, NORMAL))

    def test_levels_and_missing_cells_stay_as_they_are_in_the_row(self) -> None:
        frame = pd.DataFrame(
            {"a": [0.0, 5.0], "b": [0.0, 5.0], "m": [None, 4.0], "c": ["u", "v"]},
        )
        region = setting(frame, scale="none").region({"a": 0.0, "b": 0.0, "m": None, "c": "u"}, "a <= b")
        row = region.nearest_beyond(np.array([3.0, 4.0, math.nan, 1.0]), np.array([1.0, 0.0, 0.0, 0.0]))
        np.testing.assert_allclose(row, [3, 3, math.nan, 1], atol=1e-5)
