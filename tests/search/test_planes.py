"""Feet of perpendiculars and edges of planes within bounds, against linear and quadratic programs."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize
from tests.search.lanes import Lanes, judge_of, lane, lanes
from tests.support import Matrix, setting

from ssba.columns.distance import Norm
from ssba.columns.features import numeric
from ssba.search.planes import edges, feet
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


BOXES: list[list[str]] = [[], ["x1 >= -0.25"], ["x1 >= -0.25", "x0 <= 0.5"], ["x0 >= 0.5"], ["x2 >= 0.3"]]


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


FAR = np.array([0.5, 0.3, 4.0, 4.0])
LINES = [["x0 <= x1"], ["x0 + x1 >= 1", "x2 <= 0.2"], ["x0 + x1 + x2 == 0.5", "x3 <= x0"]]


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
