"""Normals from scores and from labels: planes in closed form, in scaled units, for many rows at once."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import Lanes, judge_of, lane, lanes, weighted
from tests.support import Matrix, setting

from ssba.columns.features import numeric
from ssba.search.normals import broad_slopes, label_normals, score_slopes, unit

NORMAL = np.array([1.0, -2.0, 0.5, 0.25])
SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
ORIGIN = [0.0] * 4
# On the plane NORMAL @ z == 2, away from the foot of the perpendicular.
ON_PLANE = 2 * NORMAL / (NORMAL @ NORMAL) + np.array([2.0, 1.0, 0.0, 0.0])
MIXED = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}
CLOSE = (0.01, 8.0, 12)


def margin(Z: Any) -> Any:
    return weighted(Z, NORMAL) - 2


def cosine(one: Matrix, other: Matrix) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def by_labels(
    one: Lanes, z: Any, look: tuple[float, float, int] = CLOSE, guess: Matrix | None = None
) -> Matrix:
    """Return the normals that labels show near a row of each region."""
    z = np.array(z, dtype=float, ndmin=2)
    width, steepest, halvings = look
    how = np.full(len(z), width), np.full(len(z), steepest), np.full(len(z), halvings)
    guess = np.zeros_like(z) if guess is None else np.array(guess, dtype=float, ndmin=2)
    return label_normals(one.ledger, z, one.at, how, guess)


class TestUnit:
    def test_directions_have_length_one_and_zeros_stay_zeros(self) -> None:
        directions, length = unit(np.array([[3.0, 4.0], [0.0, 0.0], [-2.0, 0.0]]))
        np.testing.assert_allclose(directions, [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]])
        np.testing.assert_allclose(length, [5, 0, 2])

    @pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
    def test_slopes_whose_squares_leave_the_range_of_numbers_have_directions(self, size: float) -> None:
        directions, length = unit(np.array([[3.0, 4.0]]) * size)
        np.testing.assert_allclose(directions, [[0.6, 0.8]])
        np.testing.assert_allclose(length, 5 * size)

    def test_no_rows_have_no_directions(self) -> None:
        assert unit(np.empty((0, 3)))[0].shape == (0, 3)


def narrow(one: Lanes, z: Matrix, width: float) -> Matrix:
    here = np.asarray(one.judge(z).margin)
    return score_slopes(one.ledger, z, one.at, here, np.full(len(z), width))


def broad(one: Lanes, z: Matrix, width: float) -> Matrix:
    return broad_slopes(one.ledger, z, one.at, np.full(len(z), width))


@pytest.mark.parametrize("slopes", [narrow, broad])
class TestScores:
    def test_the_slope_of_a_plane_is_exact(self, slopes: Any) -> None:
        found = slopes(lane(SPACE, ORIGIN, judge_of(margin, "scores")), ON_PLANE[None, :], 0.05)
        np.testing.assert_allclose(found, [NORMAL], rtol=1e-9)

    def test_it_is_in_scaled_units(self, slopes: Any) -> None:
        scale = {"x0": 2.0, "x1": 1.0, "x2": 0.1, "x3": 5.0}
        one = lane(setting(SPACE.Z, scale=scale), ORIGIN, judge_of(margin, "scores"))
        found = slopes(one, ON_PLANE[None, :], 0.05)
        np.testing.assert_allclose(found, [NORMAL * list(scale.values())], rtol=1e-9)

    def test_at_a_bound_it_is_taken_inward(self, slopes: Any) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, "scores"))
        found = slopes(one, np.array([[9.0, 9.0, -9.0, 9.0]]), 0.05)
        np.testing.assert_allclose(found, [NORMAL], rtol=1e-9)
        assert one.region.contains(one.asked).all()

    def test_held_columns_have_none(self, slopes: Any) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, "scores"), "x1 == x.x1", "x2 == x.x2")
        np.testing.assert_allclose(slopes(one, np.zeros((1, 4)), 0.05), [[1, 0, 0, 0.25]], rtol=1e-9)

    def test_on_a_plateau_there_is_none(self, slopes: Any) -> None:
        one = lane(SPACE, ORIGIN, judge_of(lambda Z: np.full(len(Z), 0.5), "scores"))
        assert not slopes(one, ON_PLANE[None, :], 0.05).any()

    def test_one_model_call_is_enough_for_all_rows(self, slopes: Any) -> None:
        two = lanes(SPACE, [ORIGIN, [1.0] * 4], judge_of(lambda Z: (Z**2).sum(axis=1), "scores"))
        z = np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0]])
        found = slopes(two, z, 1e-4)
        assert len(two.calls) == 1
        np.testing.assert_allclose(found, 2 * z, atol=2e-4)

    def test_a_score_that_is_not_finite_gives_no_slope(self, slopes: Any) -> None:
        one = lane(SPACE, ORIGIN, judge_of(lambda Z: np.where(Z[:, 0] == 0, margin(Z), -np.inf), "scores"))
        found = slopes(one, np.zeros((1, 4)), 0.05)
        np.testing.assert_allclose(found, [np.where(np.arange(4) == 0, 0.0, NORMAL)], rtol=1e-9)

    def test_where_the_budget_ends_there_is_none(self, slopes: Any) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, "scores"), most=0)
        assert not slopes(one, np.zeros((1, 4)), 0.05).any()


def test_a_slope_over_whole_numbers_takes_whole_steps() -> None:
    weights = np.array([0.3, 2.0, -1.0, 0.0])
    one = lane(MIXED, QUERY, judge_of(lambda Z: weighted(Z, weights), "scores"))
    np.testing.assert_allclose(narrow(one, np.array([[1.0, 2.0, 0.5, 0.0]]), 1e-3), [weights], rtol=1e-6)


def test_a_broad_slope_sees_over_steps_that_a_narrow_one_does_not() -> None:
    one = lane(SPACE, ORIGIN, judge_of(lambda Z: (np.floor(4 * Z[:, :2]) / 4).sum(axis=1), "scores"))
    z = np.array([[0.6, 0.4, 0.0, 0.0]])
    assert not narrow(one, z, 1e-3).any()
    assert cosine(broad(one, z, 2.0)[0], np.array([1.0, 1.0, 0.0, 0.0])) > 0.99


class TestLabels:
    def test_labels_alone_show_the_normal_of_a_plane(self) -> None:
        (found,) = by_labels(lane(SPACE, ORIGIN, judge_of(margin, "labels")), ON_PLANE)
        assert cosine(found, NORMAL) > 0.9999

    @settings(max_examples=40)
    @given(st.integers(0, 10**6), st.integers(2, 12))
    def test_it_is_as_exact_as_the_look_in_any_direction(self, seed: int, width: int) -> None:
        """Halvings leave 2 steepest / 2**halvings of the slope open in each column.

        The angle of the look adds an error of that order, since a plane's log radius is not straight.
        """
        rng = np.random.default_rng(seed)
        (normal, aside), _ = unit(rng.normal(size=(2, width)))
        aside -= (aside @ normal) * normal
        z = normal + 0.8 * aside / np.linalg.norm(aside)
        where = setting(np.array([[-99.0] * width, [99.0] * width]), scale="none")
        one = lane(where, [0.0] * width, judge_of(lambda Z: weighted(Z, normal) - 1, "labels"))
        (found,) = by_labels(one, z, (1e-3, 2.0, 10))
        most = math.sqrt(width) * (2 * 2.0 / 2**10 + 2e-3)
        np.testing.assert_allclose(found / (found @ normal), normal, atol=2 * most)

    @pytest.mark.parametrize("axis", range(4))
    @pytest.mark.parametrize("sign", [-1.0, 1.0])
    def test_a_ray_along_an_axis_is_no_exception(self, axis: int, sign: float) -> None:
        z = np.where(np.arange(4) == axis, sign * 2.0, 0.0)
        one = lane(SPACE, ORIGIN, judge_of(lambda Z: weighted(Z, z / 2) - 2, "labels"))
        assert cosine(by_labels(one, z)[0], z) > 0.9999

    def test_it_is_in_scaled_units(self) -> None:
        scale = np.array([2.0, 1.0, 0.5, 4.0])
        where = setting(SPACE.Z, scale=dict(zip(["x0", "x1", "x2", "x3"], scale, strict=True)))
        (found,) = by_labels(lane(where, ORIGIN, judge_of(margin, "labels")), ON_PLANE)
        assert cosine(found, NORMAL * scale) > 0.999

    def test_what_is_steeper_than_the_look_is_cut_off(self) -> None:
        z = np.array([1.0, 3.0, 0.0, 0.0])
        one = lane(SPACE, ORIGIN, judge_of(lambda Z: Z[:, 0] - 1, "labels"))
        (found,) = by_labels(one, z, (0.01, 0.3, 8))
        # In both columns the slopes of the log radius, -0.9 and 0.3 times sqrt(10), are cut off at 0.3.
        along = z / np.linalg.norm(z)
        assert np.abs(found - along).max() <= 0.3 * (1 + 1e-9)

    def test_around_a_guess_a_narrow_look_sees_a_steep_boundary(self) -> None:
        z = np.array([1.0, 3.0, 0.0, 0.0])
        one = lane(SPACE, ORIGIN, judge_of(lambda Z: Z[:, 0] + 0.05 * Z[:, 2] - 1, "labels"))
        (found,) = by_labels(one, z, (0.01, 0.3, 8), np.array([2.0, 0.0, 0.0, 0.0]))
        assert cosine(found, np.array([1.0, 0.0, 0.05, 0.0])) > 0.999

    @pytest.mark.parametrize("guess", [-NORMAL, np.array([0.0, 0.0, 0.0, 1.0])])
    def test_a_guess_that_cannot_be_is_no_worse_than_none(self, guess: Any) -> None:
        (found,) = by_labels(lane(SPACE, ORIGIN, judge_of(margin, "labels")), ON_PLANE, guess=guess)
        assert cosine(found, NORMAL) > 0.9999

    def test_held_columns_have_no_part_and_keep_their_value(self) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, "labels"), "x1 == x.x1")
        (found,) = by_labels(one, [2.0, 0.0, 0.0, 0.0])
        assert found[1] == 0
        assert cosine(found, np.array([1.0, 0.0, 0.5, 0.25])) > 0.9999
        assert not one.asked[:, 1].any()

    def test_a_missing_cell_has_no_part(self) -> None:
        where = setting(
            pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0], "c": [0.0, 5.0, 1.0]}), scale="none"
        )
        judge = judge_of(lambda Z: Z[:, 1] + Z[:, 2] - 2, "labels")
        (found,) = by_labels(lane(where, {"a": None, "b": 0.0, "c": 0.0}, judge), [math.nan, 1.5, 0.5])
        assert found[0] == 0
        assert cosine(found[1:], np.array([1.0, 1.0])) > 0.999

    def test_it_costs_the_halvings_times_the_columns(self) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, "labels"))
        by_labels(one, ON_PLANE, (0.05, 2.0, 5))
        assert [len(rows) for rows, _ in one.calls] == [4] * 5

    def test_every_row_has_a_look_of_its_own(self) -> None:
        two = lanes(SPACE, [ORIGIN, ORIGIN], judge_of(margin, "labels"))
        z = np.stack([ON_PLANE, ON_PLANE])
        how = np.array([0.05, 0.01]), np.array([2.0, 8.0]), np.array([2, 12])
        found = label_normals(two.ledger, z, two.at, how, np.zeros_like(z))
        assert two.ledger.asked.tolist() == [2 * 4, 12 * 4]
        assert cosine(found[1], NORMAL) > 0.9999 > cosine(found[0], NORMAL)

    def test_only_rows_inside_the_bounds_are_asked_about(self) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, "labels"), "x0 <= 2.5", "x1 >= -0.5")
        by_labels(one, [2.5, 0.2, 0.9, 1.8], (0.05, 2.0, 5))
        assert one.region.contains(one.asked).all()
