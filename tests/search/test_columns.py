"""Columns one by one: taken back, capped, mixed, one step or one level away; always legal and feasible."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, Setting, answered, labels_only, setting

from ssba.problem.features import numeric
from ssba.problem.region import Region
from ssba.problem.targets import Reply
from ssba.search import columns
from ssba.search.archive import Archive, recorded

RNG = np.random.default_rng(0)
SPACE = setting(np.array([[-9.0] * 4, [9.0] * 4]), scale="none")
REGION = SPACE.region([0.0] * 4)
MIXED = setting(
    pd.DataFrame({"r": [-5.0, 5.0], "n": [-5, 5], "s": [0.0, 2.0], "c": ["u", "v"]}),
    {"s": numeric(step=0.1)},
    scale="none",
)
QUERY = {"r": 0.0, "n": 0, "s": 1.0, "c": "u"}


def archive_of(where: Setting, region: Region) -> Archive:
    return Archive(region, where.metric)


def is_legal(where: Setting, rows: Matrix) -> bool:
    """Tell whether rows come back from the user's form as they went in."""
    return np.array_equal(where.space.encode(where.space.decode(rows)), rows, equal_nan=True)


class TestPullBack:
    def test_columns_that_do_nothing_go_all_the_way_back(self) -> None:
        rows = np.array([[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 1.0]])
        before = rows.copy()
        search = columns.pull_back(archive_of(SPACE, REGION), rows, np.random.default_rng(0))
        found = answered(search, labels_only(lambda Z: Z[:, 0] >= 2))
        np.testing.assert_array_equal(rows, before)
        # The smallest of the shares 0, 0.2, ... 0.8 that still reaches is 0.4 of 5, and 0.6 of 4.
        np.testing.assert_allclose(found, [[2.0, 0, 0, 0], [2.4, 0, 0, 0]])

    def test_it_costs_one_model_call_a_column(self) -> None:
        calls: list[int] = []

        def judge(Z: Any) -> Reply:
            calls.append(len(Z))
            return labels_only(lambda Z: Z[:, 0] >= 2)(Z)

        rows = np.array([[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 0.0]])
        answered(columns.pull_back(archive_of(SPACE, REGION), rows, np.random.default_rng(0)), judge)
        assert len(calls) <= 4
        # Five shares for each of the seven cells that differ from the start.
        assert sum(calls) == 5 * 7

    def test_levels_go_back_or_stay(self) -> None:
        region = MIXED.region(QUERY)
        rows = np.array([[2.0, 3.0, 0.5, 1.0], [2.0, 3.0, 0.5, 1.0]])
        for judge, level in [(lambda Z: Z[:, 0] >= 1, 0.0), (lambda Z: Z[:, 3] == 1, 1.0)]:
            search = columns.pull_back(archive_of(MIXED, region), rows, np.random.default_rng(0))
            assert (answered(search, labels_only(judge))[:, 3] == level).all()

    def test_where_nothing_moved_nothing_is_asked(self) -> None:
        search = columns.pull_back(archive_of(SPACE, REGION), np.zeros((2, 4)), np.random.default_rng(0))
        answered(search, lambda Z: pytest.fail("asked"))

    def test_a_missing_cell_of_the_query_is_left_alone(self) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
        region = where.region({"a": None, "b": 0.0})
        search = columns.pull_back(
            archive_of(where, region), np.array([[math.nan, 4.0]]), np.random.default_rng(0)
        )
        found = answered(search, labels_only(lambda Z: Z[:, 1] >= 2))
        np.testing.assert_allclose(found, [[math.nan, 2.4]])

    @pytest.mark.parametrize("texts", [[], ["r + n <= 3"], ["n >= 1", "c == 'v'"]])
    @given(seed=st.integers(0, 10**6))
    def test_rows_still_reach_stay_feasible_and_are_no_farther(self, texts: list[str], seed: int) -> None:
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=4)
        region = MIXED.region(QUERY, *texts)
        rows, fine = region.pull_in(rng.uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4)))
        rows = rows[fine]
        right = np.quantile(rows @ weights, 0.6)
        rows = rows[rows @ weights >= right]
        found = answered(
            columns.pull_back(archive_of(MIXED, region), rows, rng),
            labels_only(lambda Z: Z @ weights >= right),
        )
        assert (found @ weights >= right).all()
        assert region.contains(found).all()
        assert is_legal(MIXED, found)
        before, after = (MIXED.metric.distance(Z, region.start) for Z in (rows, found))
        assert (after <= before + 1e-12).all()


class TestCapped:
    def test_many_small_changes_take_the_place_of_a_large_one(self) -> None:
        """Half-space x0 + x1 + x2 + x3 >= 4: nearest (1, 1, 1, 1), begun at (3.4, 0.8, 0.8, 0.8)."""
        z = np.array([3.4, 0.8, 0.8, 0.8])
        found = answered(
            columns.capped(archive_of(SPACE, REGION), z), labels_only(lambda Z: Z.sum(axis=1) >= 4)
        )
        assert (found.sum(axis=1) >= 4).all()
        assert np.linalg.norm(found, axis=1).min() < 2.1 < np.linalg.norm(z)

    def test_levels_and_rows_that_cannot_be_capped_stay(self) -> None:
        region = MIXED.region(QUERY)
        z = np.array([2.0, 3.0, 1.0, 1.0])
        found = answered(columns.capped(archive_of(MIXED, region), z), labels_only(lambda Z: Z[:, 1] >= 3))
        assert (found[:, 3] == 1).all()
        assert (found[:, 1] >= 3).all()
        assert region.contains(found).all()
        assert is_legal(MIXED, found)

    def test_only_rows_inside_the_bounds_are_asked_about(self) -> None:
        region = SPACE.region([0.0] * 4, "x0 <= 2", "x1 >= -0.5")

        def judge(Z: Any) -> Reply:
            assert region.contains(Z).all()
            return labels_only(lambda Z: Z[:, 0] >= 1.5)(Z)

        answered(columns.capped(archive_of(SPACE, region), np.array([2.0, -0.5, 1.0, 0.0])), judge)


@pytest.mark.parametrize("texts", [[], ["r + n <= 3", "s - r >= 0.5"], ["c == x.c", "r >= x.r"]])
def test_mixtures_draws_and_neighbours_are_feasible_and_legal(texts: list[str]) -> None:
    region = MIXED.region(QUERY, *texts)
    parents, fine = region.pull_in(RNG.uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4)))
    parents = parents[fine]
    made = [
        columns.recombined(region, parents, 40, np.random.default_rng(0)),
        columns.scattered_around(region, parents, 40, 0.3, np.random.default_rng(0)),
        columns.neighbours(region, parents[0]),
    ]
    for rows in made:
        assert len(rows)
        assert region.contains(rows).all()
        assert is_legal(MIXED, rows)


def test_mixtures_take_every_cell_from_a_parent() -> None:
    region = MIXED.region(QUERY)
    parents = np.array([[1.0, 2.0, 0.5, 0.0], [3.0, 4.0, 1.5, 1.0]])
    mixed = columns.recombined(region, parents, 50, np.random.default_rng(0))
    for column in range(4):
        assert set(mixed[:, column]) == set(parents[:, column])


def test_draws_stretch_the_changes_of_their_parents() -> None:
    parents = np.array([[1.0, -2.0, 0.0, 4.0]])
    drawn = columns.scattered_around(REGION, parents, 400, 0.2, np.random.default_rng(0))
    assert (drawn[:, 2] == 0).all()
    factors = drawn[:, [0, 1, 3]] / parents[:, [0, 1, 3]]
    assert (factors > 0).all()
    # Factors are log-normal of width 0.2; 1,200 draws pin mean and width of their logarithm.
    assert np.log(factors).mean() == pytest.approx(0, abs=0.03)
    assert np.log(factors).std() == pytest.approx(0.2, rel=0.1)


class TestNeighbours:
    def test_they_are_one_step_or_one_level_away(self) -> None:
        rows = columns.neighbours(MIXED.region(QUERY), np.array([1.0, 2.0, 0.3, 0.0]))
        expected = [[1, 1, 0.3, 0], [1, 3, 0.3, 0], [1, 2, 0.2, 0], [1, 2, 0.4, 0], [1, 2, 0.3, 1]]
        moved = [row for row in rows.tolist() if row != [1.0, 2.0, 0.3, 0.0]]
        assert sorted(moved) == sorted([float(cell) for cell in row] for row in expected)

    def test_a_region_of_real_numbers_has_none(self) -> None:
        assert columns.neighbours(REGION, np.ones(4)).shape == (0, 4)


LEVELS = setting(
    pd.DataFrame({"r": [0.0, 1.0] * 6, "c": list("uvw") * 4, "d": list("pq") * 6, "b": [True, False] * 6}),
    scale="none",
    weights={"d": 0.5, "b": 2.0},
)


class TestOtherLevels:
    def archive(self, best: float, *texts: str) -> Archive:
        """Return an archive whose best row lies at a distance."""
        region = LEVELS.region({"r": 0.0, "c": "u", "d": "p", "b": True}, "r <= 9", *texts)
        archive = archive_of(LEVELS, region)
        if math.isfinite(best):
            row = region.start + np.array([best, 0.0, 0.0, 0.0])
            archive.record(row[None, :], Reply(np.array([True]), None))
        return archive

    def test_they_are_the_start_with_up_to_two_levels_changed_nearest_first(self) -> None:
        archive = self.archive(math.inf)
        rows = columns.other_levels(archive, 99)
        start = archive.region.start
        everything = [
            [0.0, c, d, b]
            for c, d, b in itertools.product(range(3), range(2), range(2))
            if sum([c != start[1], d != start[2], b != start[3]]) <= 2
        ]
        assert sorted(rows.tolist()) == sorted(everything)
        distances = LEVELS.metric.distance(rows, archive.region.x)
        assert (np.diff(distances) >= 0).all()
        assert distances[0] == 0

    def test_levels_that_cost_as_much_as_the_best_row_are_left_out(self) -> None:
        archive = self.archive(1.05)
        rows = columns.other_levels(archive, 99)
        # The start, d alone (0.5) and c alone (1, two ways); c and d together are 1.118.
        assert len(rows) == 4
        assert (LEVELS.metric.distance(rows, archive.region.x) < 1.05).all()

    def test_there_are_at_most_as_many_as_asked_for(self) -> None:
        assert len(columns.other_levels(self.archive(math.inf), 3)) == 3

    def test_levels_that_are_not_allowed_or_held_are_left_out(self) -> None:
        archive = self.archive(math.inf, "c in {'u', 'w'}", "b == x.b")
        rows = columns.other_levels(archive, 99)
        assert archive.region.contains(rows).all()
        assert len(rows) == 4


class TestNearestOf:
    def test_they_come_nearest_first_and_each_once(self) -> None:
        rows = np.array([[3.0, 0, 0, 0], [1.0, 0, 0, 0], [-1.0, 0, 0, 0], [1.0, 0, 0, 0], [2.0, 0, 0, 0]])
        archive = archive_of(SPACE, REGION)
        assert columns.nearest_of(archive, rows, 3)[:, 0].tolist() == [1.0, -1.0, 2.0]
        assert columns.nearest_of(archive, rows, 9)[:, 0].tolist() == [1.0, -1.0, 2.0, 3.0]


def test_taking_back_asks_nothing_twice_on_a_grid() -> None:
    region = MIXED.region(QUERY, "r == x.r")
    archive = archive_of(MIXED, region)
    asked: list[Matrix] = []

    def judge(Z: Any) -> Reply:
        asked.append(Z)
        return labels_only(lambda Z: Z[:, 1] >= 2)(Z)

    rows = np.array([[0.0, 5.0, 0.2, 1.0], [0.0, 4.0, 1.8, 0.0], [0.0, 5.0, 1.0, 1.0]])
    search = columns.pull_back(archive, rows, np.random.default_rng(0))
    answered(recorded(search, archive, math.inf, lambda: False), judge)
    every = np.concatenate(asked)
    assert len({row.tobytes() for row in every}) == len(every) == archive.rows_asked
