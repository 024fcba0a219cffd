"""Rows to begin with: the nearest of each region's pool, as they are and pulled in."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import lanes
from tests.support import labels_only, setting

from ssba.search.pools import Pool, Pools

ROWS = np.random.default_rng(3).uniform(-4, 4, size=(60, 3))
WHERE = setting(np.concatenate([ROWS, [[-5.0] * 3, [5.0] * 3]]), scale="none")
JUDGE = labels_only(lambda Z: Z[:, 0] >= 1)


class TestPool:
    def test_guesses_stand_in_front_of_rows_that_reach(self) -> None:
        pool = Pool(ROWS[:2]).with_guesses(ROWS[2:3]).with_guesses(ROWS[3:5]).with_reaching(ROWS[5:6])
        np.testing.assert_array_equal(pool.rows, ROWS[[3, 4, 2, 5, 0, 1]])
        assert pool.guess_count == 3
        assert Pool(ROWS).guess_count == 0


class TestNearest:
    @settings(max_examples=20)
    @given(seed=st.integers(0, 10**6), most=st.integers(1, 80))
    def test_they_are_those_whose_way_into_the_bounds_ends_nearest(self, seed: int, most: int) -> None:
        queries = np.random.default_rng(seed).uniform(-3, 3, size=(3, 3))
        three = lanes(WHERE, list(queries), JUDGE, "x0 <= x.x0 + 1", "x1 == x.x1")
        pools = Pools(three.ledger, [Pool(ROWS), Pool(ROWS[:7])], np.array([0, 1, 0]))
        found = pools.nearest(three.at, most)
        for number, pool in enumerate((ROWS, ROWS[:7], ROWS)):
            mine = found.rows[found.at == number]
            clipped = np.clip(pool, three.regions.low[number], three.regions.high[number])
            far = np.linalg.norm(clipped - queries[number], axis=1)
            order = np.argsort(far, kind="stable")[:most]
            np.testing.assert_array_equal(mine, pool[order])
            inside = three.regions.parts[number].contains(mine)
            np.testing.assert_array_equal(found.known[found.at == number], inside)

    def test_guesses_are_never_known(self) -> None:
        one = lanes(WHERE, [[0.0] * 3], JUDGE)
        found = Pools(one.ledger, [Pool(ROWS[:4], ROWS[4:8])], np.array([0])).nearest(one.at, 8)
        known = {tuple(row) for row in found.rows[found.known].tolist()}
        assert known == {tuple(row) for row in ROWS[:4].tolist()}

    def test_an_empty_pool_has_none(self) -> None:
        two = lanes(WHERE, [[0.0] * 3, [1.0] * 3], JUDGE)
        pools = Pools(two.ledger, [Pool(ROWS[:0]), Pool(ROWS)], np.array([0, 1]))
        assert len(pools.nearest(np.array([0]), 5).at) == 0
        assert set(pools.nearest(two.at, 5).at) == {1}

    def test_some_regions_have_theirs_without_the_others(self) -> None:
        two = lanes(WHERE, [[0.0] * 3, [1.0] * 3], JUDGE)
        found = two.pools(ROWS).nearest(two.at, 9)
        some = found.of(np.array([1]), 4)
        np.testing.assert_array_equal(some.rows, two.pools(ROWS).nearest(np.array([1]), 4).rows)


MIXED = setting(
    pd.DataFrame({"a": [0.0, 5.0, None, 3.0], "n": [0, 5, 4, 3], "c": ["u", "v", "w", "v"]}), scale="none"
)


class TestPulledIn:
    def test_rows_are_feasible_in_order_and_each_once(self) -> None:
        two = lanes(WHERE, [[0.0] * 3, [1.0, 2.0, 0.0]], JUDGE, "x0 + x1 <= 2", "x2 <= 0.5")
        found = two.pools(np.concatenate([ROWS, ROWS[:9]])).pulled_in(two.at, 20)
        assert two.regions.contains(found.rows, found.at).all()
        for number in range(2):
            mine = found.rows[found.at == number]
            assert (np.diff(two.ledger.distance(mine, np.full(len(mine), number))) >= 0).all()
            assert len({row.tobytes() for row in mine}) == len(mine)

    def test_missing_cells_take_the_querys_value_and_levels_come_both_ways(self) -> None:
        one = lanes(MIXED, [{"a": 1.5, "n": 0, "c": "u"}], JUDGE)
        found = one.pools(MIXED.Z[2:3]).pulled_in(one.at, 5)
        assert found.rows.tolist() == [[1.5, 4.0, 0.0], [1.5, 4.0, 2.0]]


class TestFarther:
    def test_they_are_feasible_rows_of_all_distances_beyond_the_nearest(self) -> None:
        rows = np.random.default_rng(4).uniform(-4, 4, size=(500, 3))
        one = lanes(WHERE, [[0.0] * 3], JUDGE, "x1 <= 1")
        far = one.pools(rows).farther(0)
        assert one.region.contains(far).all()
        lengths = np.linalg.norm(far, axis=1)
        pulled = np.sort(np.linalg.norm(np.minimum(rows, [9, 1, 9]), axis=1))
        assert len(far) == 128
        assert lengths.min() >= pulled[48] * (1 - 1e-12)
        assert lengths.max() == pulled[-1]

    def test_few_rows_have_none_beyond_the_nearest(self) -> None:
        one = lanes(WHERE, [[0.0] * 3], JUDGE)
        assert len(one.pools(ROWS[:9]).farther(0)) == 0
