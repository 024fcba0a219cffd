"""Feet and edges of planes within bounds, against linear and quadratic programs; normals in closed form."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize
from tests.search.lanes import Lanes, judge_of, lane, lanes, weighted
from tests.support import Matrix, setting

from ssba.columns.distance import Norm
from ssba.columns.features import numeric
from ssba.search.planes import edges, feet, label_normals, score_slopes, unit
from ssba.search.regions import Regions

NORMAL = np.array([1.0, -2.0, 0.5, 0.25])
ORIGIN = [0.0] * 4
FRAME = np.array([[-9.0] * 4, [9.0] * 4])
SPACE = setting(FRAME, scale="none")
ON_PLANE = 2 * NORMAL / (NORMAL @ NORMAL) + np.array([2.0, 1.0, 0.0, 0.0])
JUDGE = judge_of(lambda Z: Z[:, 0], "labels")
MIXED = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}
BOXES: list[list[str]] = [[], ["x1 >= -0.25"], ["x1 >= -0.25", "x0 <= 0.5"], ["x0 >= 0.5"], ["x2 >= 0.3"]]
FAR = np.array([0.5, 0.3, 4.0, 4.0])
LINES = [["x0 <= x1"], ["x0 + x1 >= 1", "x2 <= 0.2"], ["x0 + x1 + x2 == 0.5", "x3 <= x0"]]

NUMBERS = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
CLOSE = (0.01, 8.0, 12)


def one_lane(*texts: str, norm: Norm = "l2") -> Lanes:
    return lane(setting(FRAME, norm=norm, scale="none"), ORIGIN, JUDGE, *texts)


def foot(one: Lanes, z: Any, normal: Any) -> Matrix:
    found: Matrix = feet(one.ledger, np.array([z], dtype=float), np.array([normal], dtype=float), one.at)[0]
    return found


def squared(u: Any) -> float:
    return float(u @ u)


def shortest(regions: Regions, normal: Matrix, right: float, norm: str) -> float:
    """Return the length of the shortest row on a plane within the bounds, by a solver."""
    bounds = list(zip(regions.low[0], regions.high[0], strict=True))
    width = len(normal)
    if norm == "l2":
        # Begun from an inner point: solvers of this kind stop early at bounds.
        begin = np.clip(right * normal / (normal @ normal), regions.low[0], regions.high[0])
        solved = minimize(
            squared,
            begin,
            bounds=bounds,
            constraints=LinearConstraint(normal[None, :], right, right),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert solved.success
        return math.sqrt(solved.fun)
    # Variables u and t >= |u|; the sum of t is the L1 length.
    eye = np.eye(width)
    program = linprog(
        np.r_[np.zeros(width), np.ones(width)],
        A_ub=np.block([[eye, -eye], [-eye, -eye]]),
        b_ub=np.zeros(2 * width),
        A_eq=np.r_[normal, np.zeros(width)][None, :],
        b_eq=[right],
        bounds=[*bounds, *[(0, None)] * width],
    )
    assert program.success
    return float(program.fun or 0)


class TestFeet:
    @pytest.mark.parametrize("norm", ["l2", "l1"])
    @pytest.mark.parametrize("texts", BOXES)
    def test_they_are_the_nearest_points_of_plane_and_box(self, norm: Norm, texts: list[str]) -> None:
        """In the last two boxes the query is not inside."""
        one = one_lane(*texts, norm=norm)
        row = foot(one, ON_PLANE, NORMAL)
        assert one.region.contains(row[None, :]).all()
        assert row @ NORMAL == pytest.approx(2, abs=1e-9)
        best = shortest(one.regions, NORMAL, 2.0, norm)
        assert np.linalg.norm(row, ord=2 if norm == "l2" else 1) == pytest.approx(best, rel=1e-5)

    @settings(max_examples=30)
    @given(seed=st.integers(0, 10**6), width=st.integers(2, 7), norm=st.sampled_from(["l2", "l1"]))
    def test_random_planes_in_random_boxes(self, seed: int, width: int, norm: Norm) -> None:
        """Three planes at once, through rows inside the box, with the start on their near side."""
        rng = np.random.default_rng(seed)
        where = setting(np.array([[-9.0] * width, [9.0] * width]), norm=norm, scale="none")
        texts = [
            f"{low:.3f} <= x{j} <= {low + rng.uniform(0.2, 3):.3f}"
            for j, low in enumerate(rng.uniform(-2, 0.5, width))
        ]
        queries = np.zeros((3, width))
        all_lanes = lanes(where, list(queries), JUDGE, *texts)
        regions = all_lanes.regions
        normals = rng.normal(size=(3, width))
        z = regions.low + rng.random((3, width)) * (regions.high - regions.low)
        ahead = (normals * (z - regions.start)).sum(axis=1)
        normals *= np.where(ahead < 0, -1.0, 1.0)[:, None]
        found = feet(all_lanes.ledger, z, normals, all_lanes.at)
        rights = (normals * z).sum(axis=1)
        np.testing.assert_allclose((found * normals).sum(axis=1), rights, atol=1e-7)
        assert ((found >= regions.low - 1e-12) & (found <= regions.high + 1e-12)).all()
        lengths = np.linalg.norm(found, ord=2 if norm == "l2" else 1, axis=1)
        for number in range(3):
            best = shortest(regions, normals[number], rights[number], norm)
            assert lengths[number] <= best * (1 + 1e-4) + 1e-6

    def test_scales_decide_what_is_near(self) -> None:
        """Shortest in scaled units: along normal * scale**2."""
        scale = np.array([2.0, 1.0, 0.5, 4.0])
        where = setting(FRAME, scale=dict(zip(["x0", "x1", "x2", "x3"], scale, strict=True)))
        row = foot(lane(where, ORIGIN, JUDGE), ON_PLANE, NORMAL * scale)
        way = NORMAL * scale**2
        np.testing.assert_allclose(row, 2 * way / (NORMAL @ way), rtol=1e-9)

    @pytest.mark.parametrize("norm", ["l2", "l1"])
    def test_columns_without_a_slope_go_home_and_held_ones_stay(self, norm: Norm) -> None:
        one = one_lane("x3 == x.x3", norm=norm)
        row = foot(one, [1.0, 2.0, 3.0, 0.0], [2.0, 0, 0, 5.0])
        np.testing.assert_allclose(row, [1, 0, 0, 0])

    def test_levels_stay(self) -> None:
        row = foot(lane(MIXED, QUERY, JUDGE), [2.0, 1.0, 0.5, 1.0], [1.0, 1.0, 0.0, 0.0])
        np.testing.assert_allclose(row, [1.5, 1.5, 1.0, 1.0])

    def test_missing_cells_stay_missing(self) -> None:
        where = setting(
            pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0], "c": [0.0, 5.0, 1.0]}), scale="none"
        )
        row = foot(lane(where, {"a": None, "b": 0.0, "c": 0.0}, JUDGE), [math.nan, 3.0, 1.0], [7.0, 1.0, 1.0])
        np.testing.assert_allclose(row, [math.nan, 2.0, 2.0])

    @pytest.mark.parametrize("norm", ["l2", "l1"])
    def test_a_plane_out_of_reach_is_approached_as_far_as_the_bounds_allow(self, norm: Norm) -> None:
        one = one_lane("-1 <= x0 <= 1", "-1 <= x1 <= 1", "x2 == x.x2", "x3 == x.x3", norm=norm)
        np.testing.assert_allclose(foot(one, [5.0, -5.0, 0, 0], [1.0, -2.0, 0, 0]), [1, -1, 0, 0])


class TestRelations:
    @pytest.mark.parametrize("texts", LINES)
    def test_a_foot_is_the_nearest_row_beyond_the_plane_that_keeps_them(self, texts: list[str]) -> None:
        one = one_lane(*texts)
        region = one.region
        assert region.linear is not None
        z = region.pull_in(FAR[None, :])[0][0]
        row = foot(one, z, NORMAL)
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

    def test_levels_and_missing_cells_stay_as_they_are_in_the_row(self) -> None:
        frame = pd.DataFrame({"a": [0.0, 5.0], "b": [0.0, 5.0], "m": [None, 4.0], "c": ["u", "v"]})
        query = {"a": 0.0, "b": 0.0, "m": None, "c": "u"}
        one = lane(setting(frame, scale="none"), query, JUDGE, "a <= b")
        row = foot(one, [3.0, 4.0, math.nan, 1.0], [1.0, 0.0, 0.0, 0.0])
        np.testing.assert_allclose(row, [3, 3, math.nan, 1], atol=1e-5)


def nearest_beyond(normals: Matrix, offsets: Matrix) -> tuple[Matrix, int]:
    """Return the shortest u with ``normals @ u >= offsets``, and on how many planes it lies.

    It lies on some of them with weights that are not negative; every choice of planes is tried.
    """
    for size in range(1, len(normals) + 1):
        for chosen in itertools.combinations(range(len(normals)), size):
            some = normals[list(chosen)]
            weights = np.linalg.solve(some @ some.T, offsets[list(chosen)])
            u = weights @ some
            if (weights >= 0).all() and (normals @ u >= offsets - 1e-9).all():
                return u, size
    raise AssertionError("no row lies beyond all planes")


class TestEdges:
    def meet(self, normals: Any, offsets: Any, *texts: str) -> tuple[Matrix, bool]:
        """Return where up to three planes ``normals @ u == offsets`` meet, as a descent remembers them."""
        one = one_lane(*texts)
        normals, offsets = np.array(normals, dtype=float), np.array(offsets, dtype=float)
        points = normals * (offsets / (normals**2).sum(axis=1))[:, None]
        empty = np.zeros((3 - len(normals), 4))
        points, padded = np.concatenate([empty, points]), np.concatenate([empty, normals])
        row, found = edges(one.ledger, one.at, points[None], padded[None], np.array([len(normals)]))
        return row[0], bool(found[0])

    @settings(max_examples=30)
    @given(seed=st.integers(0, 10**6), count=st.integers(2, 3))
    def test_they_are_the_nearest_rows_beyond_all_planes(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        normals, offsets = rng.normal(size=(count, 4)), rng.uniform(0.5, 2, count)
        # Planes that are almost parallel meet far away, where no solver is exact.
        assume(np.linalg.eigvalsh(normals @ normals.T).min() > 0.05)
        row, found = self.meet(normals, offsets)
        best, count_on = nearest_beyond(normals, offsets)
        assert found == (count_on > 1)
        if found:
            np.testing.assert_allclose(row, best, rtol=1e-5, atol=1e-5)

    def test_a_right_angle_is_met_at_its_corner(self) -> None:
        row, found = self.meet([[1, 0, 0, 0], [0, 2, 0, 0]], [1.5, 4.0])
        assert found
        np.testing.assert_allclose(row, [1.5, 2, 0, 0], atol=1e-6)

    def test_there_is_none_where_the_foot_of_one_plane_lies_beyond_the_other(self) -> None:
        assert not self.meet([[1, 0, 0, 0], [1, 0.1, 0, 0]], [2.0, 1.0])[1]

    def test_there_is_none_beside_relations(self) -> None:
        assert not self.meet([[1, 0, 0, 0], [0, 2, 0, 0]], [1.5, 4.0], "x0 <= x1")[1]

    def test_planes_that_are_almost_the_same_do_not_blow_up(self) -> None:
        row, _ = self.meet([[1, 0, 0, 0], [1, 1e-9, 0, 0]], [1.0, 1.0])
        assert np.abs(row).max() < 10


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
    how = np.full(len(z), width), np.full(len(z), steepest), np.full(len(z), 2**halvings)
    guess = np.zeros_like(z) if guess is None else np.array(guess, dtype=float, ndmin=2)
    return np.asarray(label_normals(one.ledger, z, one.at, how, guess))


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
    return np.asarray(score_slopes(one.ledger, z, one.at, np.full(len(z), width), here))


def broad(one: Lanes, z: Matrix, width: float) -> Matrix:
    return np.asarray(score_slopes(one.ledger, z, one.at, np.full(len(z), width)))


@pytest.mark.parametrize("slopes", [narrow, broad])
class TestScores:
    def test_the_slope_of_a_plane_is_exact(self, slopes: Any) -> None:
        found = slopes(lane(NUMBERS, ORIGIN, judge_of(margin, "scores")), ON_PLANE[None, :], 0.05)
        np.testing.assert_allclose(found, [NORMAL], rtol=1e-9)

    def test_it_is_in_scaled_units(self, slopes: Any) -> None:
        scale = {"x0": 2.0, "x1": 1.0, "x2": 0.1, "x3": 5.0}
        one = lane(setting(NUMBERS.Z, scale=scale), ORIGIN, judge_of(margin, "scores"))
        found = slopes(one, ON_PLANE[None, :], 0.05)
        np.testing.assert_allclose(found, [NORMAL * list(scale.values())], rtol=1e-9)

    def test_at_a_bound_it_is_taken_inward(self, slopes: Any) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(margin, "scores"))
        found = slopes(one, np.array([[9.0, 9.0, -9.0, 9.0]]), 0.05)
        np.testing.assert_allclose(found, [NORMAL], rtol=1e-9)
        assert one.region.contains(one.asked).all()

    def test_held_columns_have_none(self, slopes: Any) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(margin, "scores"), "x1 == x.x1", "x2 == x.x2")
        np.testing.assert_allclose(slopes(one, np.zeros((1, 4)), 0.05), [[1, 0, 0, 0.25]], rtol=1e-9)

    def test_on_a_plateau_there_is_none(self, slopes: Any) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(lambda Z: np.full(len(Z), 0.5), "scores"))
        assert not slopes(one, ON_PLANE[None, :], 0.05).any()

    def test_one_model_call_is_enough_for_all_rows(self, slopes: Any) -> None:
        two = lanes(NUMBERS, [ORIGIN, [1.0] * 4], judge_of(lambda Z: (Z**2).sum(axis=1), "scores"))
        z = np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0]])
        found = slopes(two, z, 1e-4)
        assert len(two.calls) == 1
        np.testing.assert_allclose(found, 2 * z, atol=2e-4)

    def test_a_score_that_is_not_finite_gives_no_slope(self, slopes: Any) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(lambda Z: np.where(Z[:, 0] == 0, margin(Z), -np.inf), "scores"))
        found = slopes(one, np.zeros((1, 4)), 0.05)
        np.testing.assert_allclose(found, [np.where(np.arange(4) == 0, 0.0, NORMAL)], rtol=1e-9)

    def test_where_the_budget_ends_there_is_none(self, slopes: Any) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(margin, "scores"), most=0)
        assert not slopes(one, np.zeros((1, 4)), 0.05).any()


def test_a_slope_over_whole_numbers_takes_whole_steps() -> None:
    weights = np.array([0.3, 2.0, -1.0, 0.0])
    one = lane(MIXED, QUERY, judge_of(lambda Z: weighted(Z, weights), "scores"))
    np.testing.assert_allclose(narrow(one, np.array([[1.0, 2.0, 0.5, 0.0]]), 1e-3), [weights], rtol=1e-6)


def test_a_broad_slope_sees_over_steps_that_a_narrow_one_does_not() -> None:
    one = lane(NUMBERS, ORIGIN, judge_of(lambda Z: (np.floor(4 * Z[:, :2]) / 4).sum(axis=1), "scores"))
    z = np.array([[0.6, 0.4, 0.0, 0.0]])
    assert not narrow(one, z, 1e-3).any()
    assert cosine(broad(one, z, 2.0)[0], np.array([1.0, 1.0, 0.0, 0.0])) > 0.99


class TestLabels:
    def test_labels_alone_show_the_normal_of_a_plane(self) -> None:
        (found,) = by_labels(lane(NUMBERS, ORIGIN, judge_of(margin, "labels")), ON_PLANE)
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
        one = lane(NUMBERS, ORIGIN, judge_of(lambda Z: weighted(Z, z / 2) - 2, "labels"))
        assert cosine(by_labels(one, z)[0], z) > 0.9999

    def test_it_is_in_scaled_units(self) -> None:
        scale = np.array([2.0, 1.0, 0.5, 4.0])
        where = setting(NUMBERS.Z, scale=dict(zip(["x0", "x1", "x2", "x3"], scale, strict=True)))
        (found,) = by_labels(lane(where, ORIGIN, judge_of(margin, "labels")), ON_PLANE)
        assert cosine(found, NORMAL * scale) > 0.999

    def test_what_is_steeper_than_the_look_is_cut_off(self) -> None:
        z = np.array([1.0, 3.0, 0.0, 0.0])
        one = lane(NUMBERS, ORIGIN, judge_of(lambda Z: Z[:, 0] - 1, "labels"))
        (found,) = by_labels(one, z, (0.01, 0.3, 8))
        # In both columns the slopes of the log radius, -0.9 and 0.3 times sqrt(10), are cut off at 0.3.
        along = z / np.linalg.norm(z)
        assert np.abs(found - along).max() <= 0.3 * (1 + 1e-9)

    def test_around_a_guess_a_narrow_look_sees_a_steep_boundary(self) -> None:
        z = np.array([1.0, 3.0, 0.0, 0.0])
        one = lane(NUMBERS, ORIGIN, judge_of(lambda Z: Z[:, 0] + 0.05 * Z[:, 2] - 1, "labels"))
        (found,) = by_labels(one, z, (0.01, 0.3, 8), np.array([2.0, 0.0, 0.0, 0.0]))
        assert cosine(found, np.array([1.0, 0.0, 0.05, 0.0])) > 0.999

    @pytest.mark.parametrize("guess", [-NORMAL, np.array([0.0, 0.0, 0.0, 1.0])])
    def test_a_guess_that_cannot_be_is_no_worse_than_none(self, guess: Any) -> None:
        (found,) = by_labels(lane(NUMBERS, ORIGIN, judge_of(margin, "labels")), ON_PLANE, guess=guess)
        assert cosine(found, NORMAL) > 0.9999

    def test_held_columns_have_no_part_and_keep_their_value(self) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(margin, "labels"), "x1 == x.x1")
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

    def test_with_few_columns_each_call_divides_by_more(self) -> None:
        """32 cells are eight times four: seven rows a column, then three."""
        one = lane(NUMBERS, ORIGIN, judge_of(margin, "labels"))
        by_labels(one, ON_PLANE, (0.05, 2.0, 5))
        assert [len(rows) for rows, _ in one.calls] == [7 * 4, 3 * 4]

    @pytest.mark.parametrize(("cells", "calls"), [(32, [12] * 5), (6, [2 * 12, 12])])
    def test_with_many_columns_it_costs_a_row_or_two_a_column_and_call(
        self, cells: int, calls: list[int]
    ) -> None:
        where = setting(np.random.default_rng(0).normal(size=(40, 12)), scale="none")
        one = lane(where, [0.0] * 12, judge_of(lambda Z: Z.sum(axis=1) - 2, "labels"))
        how = np.array([0.05]), np.array([2.0]), np.array([cells])
        label_normals(one.ledger, np.full((1, 12), 1 / 6), one.at, how, np.zeros((1, 12)))
        assert [len(rows) for rows, _ in one.calls] == calls

    def test_every_row_has_a_look_of_its_own(self) -> None:
        two = lanes(NUMBERS, [ORIGIN, ORIGIN], judge_of(margin, "labels"))
        z = np.stack([ON_PLANE, ON_PLANE])
        how = np.array([0.05, 0.01]), np.array([2.0, 8.0]), np.array([4, 4096])
        found = label_normals(two.ledger, z, two.at, how, np.zeros_like(z))
        # Four parts at once; eight parts four times.
        assert two.ledger.asked.tolist() == [3 * 4, 4 * 7 * 4]
        assert cosine(found[1], NORMAL) > 0.9999 > cosine(found[0], NORMAL)

    def test_only_rows_inside_the_bounds_are_asked_about(self) -> None:
        one = lane(NUMBERS, ORIGIN, judge_of(margin, "labels"), "x0 <= 2.5", "x1 >= -0.5")
        by_labels(one, [2.5, 0.2, 0.9, 1.8], (0.05, 2.0, 5))
        assert one.region.contains(one.asked).all()
