"""Rays and the race along them: distances in closed form, crossings of planes, brackets that hold."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import REPLIES, Lanes, judge_of, lane, lanes, lanes_in, weighted
from tests.support import Matrix, Setting, every, setting

from ssba.columns.distance import Norm
from ssba.columns.features import numeric
from ssba.search.rays import Crossings, Rays, race, rays_to
from ssba.search.regions import Numbers

SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
ORIGIN = [0.0] * 4
NORMAL = np.array([1.0, -2.0, 0.5, 0.25])
FRAME = pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]})
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}
SCALE: dict[str, Any] = {"scale": {"r": 2.0, "n": 3.0, "s": 0.5}, "weights": {"c": 0.7}}


def margin(Z: Any) -> Any:
    return weighted(Z, NORMAL) - 2


def mixed() -> Setting:
    return setting(FRAME, {"s": numeric(step=0.1)}, **SCALE)


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


def rays_of(one: Lanes, ends: Any) -> Rays:
    """Return the rays to ends in the only region."""
    ends = np.array(ends, dtype=float)
    return rays_to(one.ledger, ends, zeros(len(ends)))


def at_share(rays: Rays, share: float) -> Matrix:
    return np.asarray(rays.all_rows(np.full(len(rays.a), share)))


def ends_beyond(count: int, seed: int = 0) -> Matrix:
    """Return rows on the target side of the plane."""
    rows = np.random.default_rng(seed).uniform(-9, 9, size=(20 * count, 4))
    found: Matrix = rows[margin(rows) >= 0.5][:count]
    return found


class TestRays:
    def test_they_lead_from_the_start_to_their_ends(self) -> None:
        ends = ends_beyond(5)
        rays = rays_of(lane(SPACE, ORIGIN, judge_of(margin, "labels")), ends)
        np.testing.assert_array_equal(at_share(rays, 1.0), ends)
        np.testing.assert_array_equal(at_share(rays, 0.0), np.zeros((5, 4)))
        some = rays.rows(np.array([3, 1]), np.array([0.5, 0.25]))
        np.testing.assert_allclose(some, ends[[3, 1]] * [[0.5], [0.25]])
        np.testing.assert_array_equal(at_share(rays.take(np.array([2])), 1.0), ends[[2]])

    def test_each_begins_at_the_start_of_its_own_region(self) -> None:
        two = lanes(SPACE, [ORIGIN, [1.0] * 4], judge_of(margin, "labels"), "x0 >= x.x0 + 1")
        rays = rays_to(two.ledger, np.full((2, 4), 3.0), np.array([1, 0]))
        np.testing.assert_array_equal(at_share(rays, 0.0), [[2.0, 1, 1, 1], [1.0, 0, 0, 0]])
        np.testing.assert_allclose(rays.distances(np.zeros(2)), [1, 1])

    def test_they_keep_the_levels_of_their_ends(self) -> None:
        one = lane(mixed(), QUERY, judge_of(lambda Z: Z[:, 0], "labels"))
        rays = rays_of(one, [[4.0, 3.0, 0.0, 1.0], [-4.0, -3.0, 2.0, 0.0]])
        for share in (0.0, 0.3, 1.0):
            assert at_share(rays, share)[:, 3].tolist() == [1.0, 0.0]

    def test_their_points_are_legal(self) -> None:
        where = mixed()
        one = lane(where, QUERY, judge_of(lambda Z: Z[:, 0], "labels"), "n <= 3")
        rays = rays_of(one, [[4.0, 3.0, 0.0, 1.0]] * 50)
        rows = rays.rows(np.arange(50), np.linspace(0, 1, 50))
        assert one.region.contains(rows).all()
        np.testing.assert_array_equal(where.space.encode(where.space.decode(rows)), rows)

    def test_missing_cells_stay_missing(self) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
        one = lane(where, {"a": None, "b": 1.0}, judge_of(lambda Z: Z[:, 1], "labels"))
        rays = rays_of(one, [[math.nan, 3.0], [math.nan, 5.0]])
        rows = at_share(rays, 0.5)
        np.testing.assert_array_equal(rows, [[math.nan, 2.0], [math.nan, 3.0]])
        np.testing.assert_allclose(rays.distances(np.full(2, 0.5)), one.ledger.distance(rows, zeros(2)))

    def test_one_without_a_way_is_all_at_its_end(self) -> None:
        rays = rays_of(lane(mixed(), QUERY, judge_of(lambda Z: Z[:, 0], "labels")), [[0.0, 0.0, 1.0, 1.0]])
        assert rays.a.tolist() == [0.0]
        assert rays.shares(np.array([0.1])).tolist() == [1.0]
        np.testing.assert_allclose(rays.distances(np.array([0.5])), [0.7])

    def test_a_distance_before_the_start_is_at_the_start(self) -> None:
        rays = rays_of(lane(SPACE, ORIGIN, judge_of(margin, "labels"), "x0 >= 2"), [[5.0, 5.0, 0.0, 0.0]])
        assert rays.shares(np.array([1.0])).tolist() == [0.0]


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("texts", [[], ["r >= 1"], ["r >= 1", "c == 'v'"]])
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_distances_along_rays_are_those_of_their_rows(
    norm: Norm, texts: list[str], seed: int, share: float
) -> None:
    """The grid is left out: it moves rows by up to half a step. In L1 the rays here do not turn around."""
    where = setting(FRAME, {"n": numeric()}, norm, **SCALE)
    one = lane(where, QUERY, judge_of(lambda Z: Z[:, 0], "labels"), *texts)
    ends = np.random.default_rng(seed).uniform([1.0, -5, 0, 0], [5, 5, 2, 0], size=(6, 4))
    ends[:, 3] = [0, 1, 1, 0, 1, 0] if "c == 'v'" not in texts else 1
    rays, start = rays_of(one, ends), one.region.start
    rows = start + share * (ends - start)
    rows[:, 3] = ends[:, 3]
    expected = one.ledger.distance(rows, zeros(6))
    np.testing.assert_allclose(rays.distances(np.full(6, share)), expected, rtol=1e-9, atol=1e-9)
    # Whoever asks at which share a distance is gets the share back, as distances grow along these rays.
    np.testing.assert_allclose(rays.shares(expected), share, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1e-120, 1e-30, 1e30, 1e120])
def test_lengths_whose_fourth_powers_leave_the_range_of_numbers_have_shares(size: float) -> None:
    where = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]) * size, scale="none")
    one = lane(where, [0.0, 0.0], judge_of(lambda Z: Z[:, 0], "labels"))
    rays = rays_of(one, [[3 * size, 4 * size]])
    np.testing.assert_allclose(rays.shares(np.array([2.5 * size])), [0.5])


class Plane:
    """The race toward a plane, where every ray's crossing is known."""

    def __init__(self, count: int, reply: str, seed: int = 0) -> None:
        self.ends = ends_beyond(count, seed)
        self.lane = lane(SPACE, ORIGIN, judge_of(margin, reply))
        self.rays = rays_of(self.lane, self.ends)
        self.margins = (np.full(count, -2.0), margin(self.ends)) if reply == "scores" else None
        # A ray to end e crosses at the share 2 / (NORMAL @ e).
        self.crossings = np.sort(np.linalg.norm(self.ends, axis=1) * 2 / (self.ends @ NORMAL))

    def run(self, keep: int, tolerance: float, nearest: float | None = None) -> Crossings:
        count = len(self.ends)
        near = None if nearest is None else np.full(count, nearest)
        return race(self.rays, zeros(count), keep, tolerance, nearest=near, margins=self.margins)


@pytest.mark.parametrize("reply", REPLIES)
class TestRace:
    @pytest.mark.parametrize("keep", [1, 3])
    @pytest.mark.parametrize("tolerance", [0.1, 4e-4])
    def test_the_nearest_crossings_win(self, reply: str, keep: int, tolerance: float) -> None:
        plane = Plane(40, reply)
        found = plane.run(keep, tolerance)
        assert len(found.rows) == len(found.near) == len(found.far) == keep
        # With scores the halves that look worse are left on an estimate, which a plane makes exact.
        np.testing.assert_allclose(found.far, plane.crossings[:keep], rtol=tolerance * 1.01)

    def test_rows_reach_and_brackets_hold(self, reply: str) -> None:
        found = Plane(40, reply).run(3, 1e-3)
        assert (margin(found.rows) >= 0).all()
        lengths = np.linalg.norm(found.rows, axis=1)
        np.testing.assert_allclose(lengths, found.far, rtol=1e-9)
        true = lengths * 2 / (found.rows @ NORMAL)
        assert (found.near <= true * (1 + 1e-12)).all()
        assert (true <= found.far * (1 + 1e-12)).all()
        assert (found.far <= found.near * (1 + 1e-3)).all()
        assert (np.diff(found.far) >= 0).all()
        if found.margin is not None:
            np.testing.assert_allclose(found.margin, margin(found.rows), atol=1e-9)

    def test_only_rows_of_the_rays_are_asked_about(self, reply: str) -> None:
        plane = Plane(10, reply)
        plane.run(2, 1e-3)
        ways = plane.ends / np.linalg.norm(plane.ends, axis=1, keepdims=True)
        asked = plane.lane.asked
        np.testing.assert_allclose((asked @ ways.T).max(axis=1), np.linalg.norm(asked, axis=1))

    def test_more_places_than_rays_keep_them_all(self, reply: str) -> None:
        assert len(Plane(2, reply).run(5, 1e-3).rows) == 2

    def test_one_ray_is_closed_in_on(self, reply: str) -> None:
        plane = Plane(1, reply)
        found = plane.run(1, 1e-6)
        assert found.far[0] == pytest.approx(plane.crossings[0], rel=1.01e-6)
        assert len(plane.lane.calls) <= 9

    def test_on_a_grid_the_rows_are_legal_and_reach(self, reply: str) -> None:
        where = mixed()

        def reach(Z: Any) -> Any:
            return Z[:, 0] + Z[:, 1] + 3 * Z[:, 3] - 5

        ends = np.array([[4.0, 3.0, 0.0, 0.0], [1.0, 1.0, 2.0, 1.0], [5.0, 5.0, 1.0, 1.0]])
        rays = rays_of(lane(where, QUERY, judge_of(reach, reply)), ends)
        margins = (np.full(3, -5.0), reach(ends)) if reply == "scores" else None
        found = race(rays, zeros(3), 3, 1e-3, margins=margins)
        assert (reach(found.rows) >= 0).all()
        np.testing.assert_array_equal(where.space.encode(where.space.decode(found.rows)), found.rows)

    def test_no_rays_are_no_race(self, reply: str) -> None:
        one = lane(SPACE, ORIGIN, judge_of(margin, reply))
        margins = (np.empty(0), np.empty(0)) if reply == "scores" else None
        found = race(rays_of(one, np.empty((0, 4))), zeros(0), 1, 1e-3, margins=margins)
        assert len(found.rows) == len(found.near) == 0
        assert one.calls == []

    def test_where_the_budget_ends_the_rows_still_reach(self, reply: str) -> None:
        for most in range(0, 40, 7):
            plane = Plane(10, reply)
            plane.lane.ledger.door.most[:] = most
            found = plane.run(2, 1e-6)
            assert (margin(found.rows) >= -1e-12).all()
            assert len(found.rows) == 2
            assert len(plane.lane.asked) <= most


def test_expecting_nobody_before_a_distance_saves_rows() -> None:
    spent = []
    for nearest in (0.0, 1.9):
        one = lane(SPACE, ORIGIN, judge_of(lambda Z: Z[:, 0] - 2, "labels"))
        rays = rays_of(one, [[2.1, 0.0, 0.0, 0.0]])
        found = race(rays, zeros(1), 1, 1e-4, nearest=np.array([nearest]))
        assert 2 <= found.far[0] <= 2 * (1 + 1e-4)
        spent.append(len(one.asked))
    # From 0 to 2.1 it takes 14 halvings to get to 2e-4, from 1.9 to 2.1 it takes 10. With few columns, a ray
    # that is alone is asked about at 7 shares at once, which are three halvings.
    assert spent == [5 * 7, 4 * 7]


def test_of_several_crossings_of_a_ray_the_first_seen_counts() -> None:
    """Between 1.3 and 1.4 and beyond 3 the target is reached; brackets stay brackets all the same."""

    def reached(Z: Any) -> Any:
        length = np.linalg.norm(Z, axis=1)
        return np.where(((length >= 1.3) & (length <= 1.4)) | (length >= 3), 1.0, -1.0)

    one = lane(SPACE, ORIGIN, judge_of(reached, "labels"))
    rays = rays_of(one, [[4.0, 0.0, 0.0, 0.0], [0.0, 3.9, 0.0, 0.0], [0.0, 0.0, 3.8, 0.0]])
    found = race(rays, zeros(3), 3, 1e-3)
    assert (reached(found.rows) > 0).all()
    assert (found.near < found.far).all()
    assert (found.far <= found.near * (1 + 1e-3)).all()
    seen = np.linalg.norm(one.asked[reached(one.asked) > 0], axis=1)
    if seen.min() < 1.5:
        assert found.far[0] <= 1.4


def test_a_hit_among_misses_of_one_call_bounds_the_first_crossing() -> None:
    """Asked at eighths of 4, the target is reached at 1.5 and from 3 on: the crossing before 1.5 counts."""
    one = lane(
        SPACE, ORIGIN, judge_of(lambda Z: np.where(np.abs(Z[:, 0] - 1.5) < 0.2, 1.0, Z[:, 0] - 3), "labels")
    )
    found = race(rays_of(one, [[4.0, 0.0, 0.0, 0.0]]), zeros(1), 1, 1e-4)
    assert 1.3 <= found.far[0] <= 1.3 * (1 + 1e-4)


def test_a_wrong_expectation_still_ends_at_a_row_that_reaches() -> None:
    plane = Plane(20, "labels")
    found = plane.run(1, 1e-4, nearest=1.5 * plane.crossings[0])
    assert (margin(found.rows) >= 0).all()


def waves(seed: int) -> Any:
    """Return a margin that rays cross many times."""
    ways = np.random.default_rng(seed).normal(size=4)
    return lambda Z: np.sin(weighted(Z, ways)) - 0.3 + 0.01 * (Z * Z).sum(axis=1)


def wavy_ends(wavy: Any, seed: int, count: int) -> Matrix:
    rows = np.random.default_rng(seed).uniform(-9, 9, size=(200, 4))
    found: Matrix = rows[wavy(rows) >= 0][:count]
    return found


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), keep=st.integers(1, 4), reply=st.sampled_from(REPLIES))
def test_whatever_lies_along_the_rays_the_ends_of_brackets_were_seen(
    seed: int, keep: int, reply: str
) -> None:
    """Rays may cross many times here; the far end of a bracket reaches, its near end does not."""
    wavy = waves(seed)
    ends = wavy_ends(wavy, seed, 12)
    one = lane(SPACE, ORIGIN, judge_of(wavy, reply))
    rays = rays_of(one, ends)
    margins = (np.full(len(ends), wavy(np.zeros((1, 4)))[0]), wavy(ends)) if reply == "scores" else None
    found = race(rays, zeros(len(ends)), keep, 1e-3, margins=margins)
    assert len(found.rows) == min(keep, len(ends))
    assert (wavy(found.rows) >= 0).all()
    near = found.rows * (found.near / found.far)[:, None]
    assert (wavy(near) < 1e-9).all()
    assert one.region.contains(found.rows).all()


def raced(
    margin: Any, queries: list[Any], ends: list[Matrix], reply: str, keep: int = 3, tolerance: float = 0.03
) -> tuple[Lanes, Crossings]:
    """Run the races of some queries, each to its own ends, all at once."""
    one = lanes(SPACE, queries, judge_of(margin, reply))
    at, rows = np.repeat(np.arange(len(queries)), [len(mine) for mine in ends]), np.concatenate(ends)
    margins = None if one.start_margin is None else (one.start_margin[at], margin(rows))
    return one, race(rays_to(one.ledger, rows, at), at, keep, tolerance, margins=margins)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), keep=st.integers(1, 3), reply=st.sampled_from(REPLIES))
def test_races_at_the_same_time_do_not_disturb_each_other(seed: int, keep: int, reply: str) -> None:
    """Four queries race together and alone: the same rows are asked about, and the same ones win."""
    wavy = waves(seed)
    ends = [wavy_ends(wavy, seed + number, 2 + 3 * number) for number in range(4)]
    queries = [np.full(4, 0.3 * number) for number in range(4)]
    together, all_found = raced(wavy, queries, ends, reply, keep, 1e-3)
    assert every(np.diff(all_found.group) >= 0)
    for number in range(4):
        alone, found = raced(wavy, queries[number : number + 1], ends[number : number + 1], reply, keep, 1e-3)
        np.testing.assert_array_equal(together.asked_of(number), alone.asked)
        np.testing.assert_array_equal(all_found.rows[all_found.group == number], found.rows)


def test_a_race_by_scores_that_is_over_is_left_alone_while_others_run_on() -> None:
    """Around a dented ball rays cross at almost one distance: who is third depends on how long a race ran."""
    for seed in (400, 407, 479, 531):
        rng = np.random.default_rng(seed)
        ways, power = rng.normal(size=4) * 0.3, rng.uniform(0.5, 3)

        def ball(Z: Any, ways: Any = ways, power: float = power) -> Any:
            return (np.sqrt((Z * Z).sum(axis=1)) / 3) ** power - 1 + 0.05 * np.sin(weighted(Z, ways))

        ends = [wavy_ends(ball, seed * 7 + number, 16) for number in range(4)]
        queries = [np.full(4, 0.2 * number) for number in range(4)]
        together, all_found = raced(ball, queries, ends, "scores")
        for number in range(4):
            alone, found = raced(ball, queries[number : number + 1], ends[number : number + 1], "scores")
            np.testing.assert_array_equal(together.asked_of(number), alone.asked)
            np.testing.assert_array_equal(all_found.rows[all_found.group == number], found.rows)


def test_races_of_several_regions_of_a_query_are_told_apart() -> None:
    halves = [SPACE.region(ORIGIN, "x0 >= 0"), SPACE.region(ORIGIN, "x0 <= 0")]
    one = lanes_in(
        SPACE, [halves], judge_of(lambda Z: np.abs(Z[:, 0]) - np.where(Z[:, 0] > 0, 1, 2), "labels")
    )
    ends = np.array([[4.0, 0, 0, 0], [-4.0, 0, 0, 0]])
    found = race(rays_to(one.ledger, ends, np.array([0, 1])), np.array([0, 1]), 1, 1e-4)
    np.testing.assert_allclose(found.rows[:, 0], [1, -2], rtol=1e-4)
    np.testing.assert_allclose(one.ledger.best, [1, 2], rtol=1e-4)
