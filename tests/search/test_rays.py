"""Rays and the race along them: distances in closed form, crossings of planes, brackets that hold."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.columns.distance import Norm
from ssba.columns.features import numeric
from ssba.models.targets import Reply
from ssba.search.rays import Crossings, Rays, race, rays_to

SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
REGION = SPACE.region([0.0] * 4)
NORMAL = np.array([1.0, -2.0, 0.5, 0.25])
FRAME = pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]})
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}


def mixed(norm: Norm = "l2") -> Any:
    return setting(
        FRAME,
        {"s": numeric(step=0.1)},
        norm=norm,
        scale={"r": 2.0, "n": 3.0, "s": 0.5},
        weights={"r": 1.5, "c": 0.7},
    )


def margin(Z: Any) -> Any:
    return Z @ NORMAL - 2


def ends_beyond(count: int, seed: int = 0) -> Matrix:
    """Return rows on the target side of the plane."""
    rows = np.random.default_rng(seed).uniform(-9, 9, size=(20 * count, 4))
    found: Matrix = rows[margin(rows) >= 0.5][:count]
    return found


def everyone(rays: Rays) -> Any:
    return np.arange(len(rays.a))


class TestRays:
    def test_they_lead_from_the_start_to_their_ends(self) -> None:
        ends = ends_beyond(5)
        rays = rays_to(REGION, SPACE.metric, ends)
        np.testing.assert_array_equal(rays.at(everyone(rays), np.ones(5)), ends)
        np.testing.assert_array_equal(rays.at(everyone(rays), np.zeros(5)), np.zeros((5, 4)))
        np.testing.assert_allclose(
            rays.at(np.array([3, 1]), np.array([0.5, 0.25])), ends[[3, 1]] * [[0.5], [0.25]]
        )

    def test_they_keep_the_levels_of_their_ends(self) -> None:
        where = mixed()
        ends = np.array([[4.0, 3.0, 0.0, 1.0], [-4.0, -3.0, 2.0, 0.0]])
        rays = rays_to(where.region(QUERY), where.metric, ends)
        for share in (0.0, 0.3, 1.0):
            assert rays.at(everyone(rays), np.full(2, share))[:, 3].tolist() == [1.0, 0.0]

    def test_their_points_are_legal(self) -> None:
        where = mixed()
        region = where.region(QUERY, "n <= 3")
        rays = rays_to(region, where.metric, np.array([[4.0, 3.0, 0.0, 1.0]] * 50))
        rows = rays.at(everyone(rays), np.linspace(0, 1, 50))
        assert region.contains(rows).all()
        np.testing.assert_array_equal(where.space.encode(where.space.decode(rows)), rows)

    def test_missing_cells_stay_missing(self) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
        region = where.region({"a": None, "b": 1.0})
        rays = rays_to(region, where.metric, np.array([[math.nan, 3.0], [math.nan, 5.0]]))
        rows = rays.at(everyone(rays), np.full(2, 0.5))
        np.testing.assert_array_equal(rows, [[math.nan, 2.0], [math.nan, 3.0]])
        np.testing.assert_allclose(rays.distances(np.full(2, 0.5)), where.metric.distance(rows, region.x))


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("texts", [[], ["r >= 1"], ["r >= 1", "c == 'v'"]])
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_distances_along_rays_are_those_of_their_rows(
    norm: Norm, texts: list[str], seed: int, share: float
) -> None:
    """The grid is left out: it moves rows by up to half a step. In L1 the rays here do not turn around."""
    where = setting(
        FRAME, {"n": numeric()}, norm=norm, scale={"r": 2.0, "n": 3.0, "s": 0.5}, weights={"r": 1.5, "c": 0.7}
    )
    region = where.region(QUERY, *texts)
    ends = np.random.default_rng(seed).uniform([1.0, -5, 0, 0], [5, 5, 2, 0], size=(6, 4))
    ends[:, 3] = [0, 1, 1, 0, 1, 0] if "c == 'v'" not in texts else 1
    rays = rays_to(region, where.metric, ends)
    rows = region.start + share * (ends - region.start)
    rows[:, 3] = ends[:, 3]
    expected = where.metric.distance(rows, region.x)
    np.testing.assert_allclose(rays.distances(np.full(6, share)), expected, rtol=1e-9, atol=1e-9)
    # Whoever asks at which share a distance is gets the share back, as distances grow along these rays.
    for i, distance in enumerate(expected):
        assert rays.shares(float(distance))[i] == pytest.approx(share, rel=1e-6, abs=1e-6)


def test_a_ray_without_a_way_is_all_at_its_end() -> None:
    where = mixed()
    region = where.region(QUERY)
    rays = rays_to(region, where.metric, np.array([[0.0, 0.0, 1.0, 1.0]]))
    assert rays.a.tolist() == [0.0]
    assert rays.shares(0.1).tolist() == [1.0]
    np.testing.assert_allclose(rays.distances(np.array([0.5])), [0.7])


def test_a_distance_before_the_start_is_at_the_start() -> None:
    region = SPACE.region([0.0] * 4, "x0 >= 2")
    rays = rays_to(region, SPACE.metric, np.array([[5.0, 5.0, 0.0, 0.0]]))
    assert rays.shares(1.0).tolist() == [0.0]


class Plane:
    """The race toward a plane, where every ray's crossing is known."""

    def __init__(self, count: int, scores: bool, seed: int = 0) -> None:
        self.ends = ends_beyond(count, seed)
        self.rays = rays_to(REGION, SPACE.metric, self.ends)
        self.judge = scored(margin) if scores else labels_only(lambda Z: margin(Z) >= 0)
        self.margins = (-2.0, margin(self.ends)) if scores else None
        # A ray to end e crosses at the share 2 / (NORMAL @ e).
        self.crossings = np.sort(np.linalg.norm(self.ends, axis=1) * 2 / (self.ends @ NORMAL))
        self.asked: list[Matrix] = []

    def run(self, keep: int, tolerance: float, nearest: float = 0.0) -> Crossings:
        def judge(Z: Any) -> Reply:
            self.asked.append(Z)
            return self.judge(Z)

        return answered(race(self.rays, keep, tolerance, self.margins, nearest), judge)


@pytest.mark.parametrize("scores", [True, False])
class TestRace:
    @pytest.mark.parametrize("keep", [1, 3])
    @pytest.mark.parametrize("tolerance", [0.1, 4e-4])
    def test_the_nearest_crossings_win(self, scores: bool, keep: int, tolerance: float) -> None:
        plane = Plane(40, scores)
        found = plane.run(keep, tolerance)
        assert len(found.rows) == len(found.low) == len(found.high) == keep
        # With scores the halves that look worse are left on an estimate, which a plane makes exact.
        np.testing.assert_allclose(found.high, plane.crossings[:keep], rtol=tolerance * 1.01)

    def test_rows_reach_and_brackets_hold(self, scores: bool) -> None:
        plane = Plane(40, scores)
        found = plane.run(3, 1e-3)
        assert (margin(found.rows) >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(found.rows, axis=1), found.high, rtol=1e-9)
        lengths = np.linalg.norm(found.rows, axis=1)
        true = lengths * 2 / (found.rows @ NORMAL)
        assert (found.low <= true * (1 + 1e-12)).all()
        assert (true <= found.high * (1 + 1e-12)).all()
        assert (found.high[0] <= found.low[0] * (1 + 1e-3)).all()
        assert (np.diff(found.high) >= 0).all()

    def test_only_rows_of_the_rays_are_asked_about(self, scores: bool) -> None:
        plane = Plane(10, scores)
        plane.run(2, 1e-3)
        ways = plane.ends / np.linalg.norm(plane.ends, axis=1, keepdims=True)
        for row in np.concatenate(plane.asked):
            assert np.max(ways @ row) == pytest.approx(np.linalg.norm(row))

    def test_losers_are_left_early(self, scores: bool) -> None:
        plane = Plane(60, scores)
        plane.run(1, 1e-4)
        sizes = [len(rows) for rows in plane.asked]
        assert sizes[0] <= 60
        assert sum(sizes) < 60 * 5
        assert sizes[-1] < 10

    def test_more_places_than_rays_keep_them_all(self, scores: bool) -> None:
        found = Plane(2, scores).run(5, 1e-3)
        assert len(found.rows) == 2

    def test_one_ray_is_bisected(self, scores: bool) -> None:
        plane = Plane(1, scores)
        found = plane.run(1, 1e-6)
        assert found.high[0] == pytest.approx(plane.crossings[0], rel=1.01e-6)
        assert len(plane.asked) <= 24

    def test_on_a_grid_the_rows_are_legal_and_reach(self, scores: bool) -> None:
        where = mixed()
        region = where.region(QUERY)

        def reach(Z: Any) -> Any:
            return Z[:, 0] + Z[:, 1] + 3 * Z[:, 3] - 5

        ends = np.array([[4.0, 3.0, 0.0, 0.0], [1.0, 1.0, 2.0, 1.0], [5.0, 5.0, 1.0, 1.0]])
        rays = rays_to(region, where.metric, ends)
        margins = (-5.0, reach(ends)) if scores else None
        judge = scored(reach) if scores else labels_only(lambda Z: reach(Z) >= 0)
        found = answered(race(rays, 3, 1e-3, margins), judge)
        assert (reach(found.rows) >= 0).all()
        np.testing.assert_array_equal(where.space.encode(where.space.decode(found.rows)), found.rows)


def test_expecting_nobody_before_a_distance_saves_rows() -> None:
    end = np.array([[2.1, 0.0, 0.0, 0.0]])
    rays = rays_to(REGION, SPACE.metric, end)
    spent = []
    for nearest in (0.0, 1.9):
        asked: list[Matrix] = []

        def judge(Z: Any, asked: list[Matrix] = asked) -> Reply:
            asked.append(Z)
            return labels_only(lambda Z: margin(Z) >= 0)(Z)

        found = answered(race(rays, 1, 1e-4, nearest=nearest), judge)
        assert 2 <= found.high[0] <= 2 * (1 + 1e-4)
        spent.append(len(np.concatenate(asked)))
    # From 0 to 2.1 it takes 14 halvings to get to 2e-4, from 1.9 to 2.1 it takes 10. With few columns, a ray
    # that is alone is asked about at 7 shares at once, which are three halvings.
    assert spent == [5 * 7, 4 * 7]


def test_of_several_crossings_of_a_ray_the_first_seen_counts() -> None:
    """Between 1.3 and 1.4 and beyond 3 the target is reached; brackets stay brackets all the same."""
    ends = np.array([[4.0, 0.0, 0.0, 0.0], [0.0, 3.9, 0.0, 0.0], [0.0, 0.0, 3.8, 0.0]])

    def reached(Z: Any) -> Any:
        length = np.linalg.norm(Z, axis=1)
        return ((length >= 1.3) & (length <= 1.4)) | (length >= 3)

    found = answered(race(rays_to(REGION, SPACE.metric, ends), 3, 1e-3), labels_only(reached))
    assert reached(found.rows).all()
    assert (found.low < found.high).all()
    assert (found.high <= found.low * (1 + 1e-3)).all()


def test_a_wrong_expectation_still_ends_at_a_row_that_reaches() -> None:
    plane = Plane(20, False)
    found = plane.run(1, 1e-4, nearest=1.5 * plane.crossings[0])
    assert (margin(found.rows) >= 0).all()


@given(seed=st.integers(0, 10**6), keep=st.integers(1, 4), scores=st.booleans())
def test_whatever_lies_along_the_rays_the_ends_of_brackets_were_seen(
    seed: int, keep: int, scores: bool
) -> None:
    """Rays may cross many times here; the far end of a bracket reaches, its near end does not."""
    rng = np.random.default_rng(seed)
    waves = rng.normal(size=4)

    def wavy(Z: Any) -> Any:
        return np.sin(Z @ waves) - 0.3 + 0.01 * (Z * Z).sum(axis=-1)

    rows = rng.uniform(-9, 9, size=(200, 4))
    ends = rows[wavy(rows) >= 0][:12]
    rays = rays_to(REGION, SPACE.metric, ends)
    margins = (float(wavy(np.zeros(4))), wavy(ends)) if scores else None
    judge = scored(wavy) if scores else labels_only(lambda Z: wavy(Z) >= 0)
    found = answered(race(rays, keep, 1e-3, margins), judge)
    assert len(found.rows) == min(keep, len(ends))
    assert (wavy(found.rows) >= 0).all()
    near = found.rows * (found.low / found.high)[:, None]
    assert (wavy(near) < 1e-9).all()
    assert REGION.contains(found.rows).all()
