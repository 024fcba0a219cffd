"""Columns one by one: taken back, one step or one level away; always legal and feasible."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, Setting, answered, labels_only, setting

from ssba.columns.features import numeric
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
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
        # The least sixteenth of the change that still reaches is 7 of 16 of 5, and 8 of 16 of 4.
        np.testing.assert_allclose(found, [[5 * 7 / 16, 0, 0, 0], [2.0, 0, 0, 0]])

    @pytest.mark.parametrize("sections", [1, 2, 5])
    def test_more_sections_come_nearer_to_the_limit(self, sections: int) -> None:
        search = columns.pull_back(
            archive_of(SPACE, REGION),
            np.array([[5.0, 3.0, 0, 0]]),
            np.random.default_rng(0),
            np.inf,
            sections,
        )
        found = answered(search, labels_only(lambda Z: (Z[:, 0] >= 2) & (Z[:, 1] >= 0.7)))[0]
        assert 2 <= found[0] <= 2 + 5 * 4.0**-sections
        assert 0.7 <= found[1] <= 0.7 + 3 * 4.0**-sections

    def test_columns_that_can_go_back_together_take_few_model_calls(self) -> None:
        calls: list[int] = []

        def judge(Z: Any) -> Reply:
            calls.append(len(Z))
            return labels_only(lambda Z: Z[:, 0] >= 2)(Z)

        rows = np.array([[5.0, 3.0, -4.0, 2.0], [4.0, -1.0, 1.0, 0.0]])
        answered(columns.pull_back(archive_of(SPACE, REGION), rows, np.random.default_rng(0)), judge)
        # Seven cells alone; 1, 2 or all 3 and 1 or both together; two cells in two sections; then as found.
        assert calls == [7, 3 + 2, 2 * 3, 2 * 3, 2]

    def test_of_columns_that_cannot_go_together_one_stays(self) -> None:
        """Either of x0 and x1 will do; which one goes is a matter of the order."""
        rows = np.array([[4.0, 3.9, 0.0, 0.0]] * 20)
        search = columns.pull_back(archive_of(SPACE, REGION), rows, np.random.default_rng(0))
        found = answered(search, labels_only(lambda Z: (Z[:, 0] >= 2) | (Z[:, 1] >= 2)))
        assert ((found[:, :2] == 0).sum(axis=1) == 1).all()
        assert set(np.flatnonzero((found == 0).all(axis=0))) == {2, 3}

    def test_rows_that_cannot_become_worthwhile_are_left_out(self) -> None:
        """All can go back but x0, which is at 2 or more: 5 may come down to that, 2 is there."""
        rows = np.array([[5.0, 3.0, 0.0, 0.0], [9.0, 0.0, 1.0, 0.0], [2.0, 8.0, 8.0, 8.0]])
        asked: list[Matrix] = []

        def judge(Z: Any) -> Reply:
            asked.append(Z)
            return labels_only(lambda Z: Z[:, 0] >= 2)(Z)

        search = columns.pull_back(archive_of(SPACE, REGION), rows, np.random.default_rng(0), 6.0)
        found = answered(search, judge)
        np.testing.assert_allclose(found, [[5 * 7 / 16, 0, 0, 0], [2.0, 0, 0, 0]])
        assert not (np.concatenate(asked[1:])[:, 0] > 5).any()

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
        np.testing.assert_allclose(found, [[math.nan, 2.0]])

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


@pytest.mark.parametrize("texts", [[], ["r + n <= 3", "s - r >= 0.5"], ["c == x.c", "r >= x.r"]])
def test_neighbours_are_feasible_and_legal(texts: list[str]) -> None:
    region = MIXED.region(QUERY, *texts)
    parents, fine = region.pull_in(RNG.uniform([-5, -5, 0, 0], [5, 5, 2, 1], size=(30, 4)))
    for row in parents[fine]:
        rows = columns.neighbours(region, row)
        assert len(rows)
        assert region.contains(rows).all()
        assert is_legal(MIXED, rows)


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
    {"r": numeric()},
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
