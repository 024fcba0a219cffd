"""Which few columns to change: by how useful they are, in sets that hold what must change, and fewer."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.support import answered, every, labels_only, setting

from ssba.columns.distance import changed_cells
from ssba.search.few import (
    Singles,
    best_singles,
    column_sets,
    nearer_by_bisection,
    set_probes,
    sets_to_try,
    stretched_to,
    usefulness,
)

X = np.random.default_rng(2).uniform(-2, 2, size=(100, 3))


def test_a_missing_cell_that_stays_missing_is_no_change() -> None:
    rows = np.array([[1.0, np.nan, 2.0], [1.0, 0.0, 3.0]])
    told = changed_cells(rows, np.array([1.0, np.nan, 2.0]))
    assert told.tolist() == [[False, False, False], [False, True, True]]


class TestUsefulness:
    def test_a_column_that_needs_no_distance_is_the_best(self) -> None:
        told = usefulness(np.array([[0.5, 0.2]]), np.array([0.0, 1.0]), np.ones(2))
        assert told[0] == 1.0
        assert np.isfinite(told).all()

    def test_it_is_the_square_of_a_planes_weight(self) -> None:
        """Alone a column of weight w reaches the plane w @ u = 1 at a distance of 1 / w."""
        weights = np.array([2.0, 1.0, 0.5])
        none = np.empty((0, 3))
        np.testing.assert_allclose(usefulness(none, 1 / weights, np.zeros(3)), weights**2 / 4)
        # The foot of the plane is proportional to the weights.
        foot = weights[None, :] / (weights @ weights)
        np.testing.assert_allclose(usefulness(foot, np.full(3, np.inf), np.zeros(3)), weights**2 / 4)

    def test_gains_count_where_nothing_else_is_known(self) -> None:
        gains = np.array([0.1, -1.0, 0.2])
        none = np.empty((0, 3))
        assert usefulness(none, np.full(3, np.inf), gains).tolist() == [0.5, 0.0, 1.0]
        assert usefulness(none, np.array([np.inf, 1.0, np.inf]), gains).tolist() == [0.0, 1.0, 0.0]


class TestSets:
    def test_the_smallest_and_most_useful_come_first(self) -> None:
        assert sets_to_try([4, 1, 7], [], 2) == [(4,), (1,), (7,), (4, 1), (4, 7), (1, 7)]

    def test_each_holds_the_columns_that_must_change(self) -> None:
        assert sets_to_try([4, 1, 7], [1], 2) == [(1,), (1, 4), (1, 7)]
        assert sets_to_try([4, 1, 7], [1, 7, 9], 2) == []

    @pytest.mark.parametrize("size", [1, 2, 3, 6, 12])
    def test_none_is_larger_than_wanted_and_none_comes_twice(self, size: int) -> None:
        found = sets_to_try(list(range(30)), [], size)
        assert max(map(len, found)) == size
        assert len(set(found)) == len(found) <= 300
        assert every(len(one) <= len(other) for one, other in pairwise(found))


def test_each_column_keeps_its_best_probe() -> None:
    mine = setting(X, scale="none")
    region = mine.region([0.0, 0.0, 0.0])
    probes = np.array([[-2.0, 0, 0], [2.0, 0, 0], [0, -2.0, 0], [0, 2.0, 0]])
    told = best_singles(region, probes, np.array([1.5, 1.0, np.inf, np.inf]), np.array([0.1, 0.0, 0.3, 0.7]))
    assert told.alone.tolist() == [1.0, np.inf, np.inf]
    assert told.values.tolist() == [2.0, 2.0, 0.0]
    assert told.gains[1] == 0.7


def test_bisection_comes_back_to_where_the_target_is_just_reached() -> None:
    mine = setting(X, scale="none")
    region = mine.region([0.0, 0.0, 0.0])
    ends = np.array([[2.0, 0, 0], [1.5, 1.5, 0]])
    near = answered(nearer_by_bisection(region, ends, 0.01), labels_only(lambda rows: rows[:, 0] > 0.5))
    np.testing.assert_allclose(near[:, 0], 0.5, atol=0.03)


def test_probes_of_a_set_go_along_the_planes_normal() -> None:
    mine = setting(X, scale="none")
    region = mine.region([0.0, 0.0, 0.0], "x2 == x.x2")
    weights = np.array([2.0, 1.0, 1.0])
    singles = Singles(1 / weights, np.zeros(3), np.array([2.0, -2.0, 2.0]))
    rows = set_probes(region, np.array([1.0, 1.0, 1.0]), singles)
    np.testing.assert_allclose(rows[0], [0.4, -0.2, 0.0])
    assert (rows[:, 2] == 0).all()


def test_the_last_probe_of_a_set_takes_every_column_far_to_its_side() -> None:
    """The second column counts for little in what is known, and has to make up for the third, which stays."""
    mine = setting(X, scale="none")
    region = mine.region([0.0, 0.0, 0.0], "x2 == x.x2")
    singles = Singles(np.full(3, np.inf), np.zeros(3), np.zeros(3))
    *stretched, last = set_probes(region, np.array([1.0, -0.1, 1.0]), singles)
    assert max(abs(row[1]) for row in stretched) < 1
    assert last.tolist() == [region.upper[0], region.lower[1], 0.0]


def test_sets_leave_out_the_least_useful_or_any_single_column() -> None:
    assert column_sets([3, 1, 2, 0], []) == [(0,), (2, 0), (1, 2, 0), (3, 2, 0), (3, 1, 0), (3, 1, 2)]
    assert column_sets([5], []) == []
    assert column_sets([], []) == []


def test_what_must_change_is_never_left_out() -> None:
    assert column_sets([3, 1, 2], [1]) == [(1,), (1, 2), (1, 3)]
    assert column_sets([3], [3]) == []


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_row_is_stretched_to_the_length_over_the_free_columns(norm: str) -> None:
    mine = setting(X, norm=norm, scale="none")  # type: ignore[arg-type]
    region = mine.region([0.0, 0.0, 0.0], "x2 == x.x2")
    row = stretched_to(region, mine.metric, np.array([0.3, -0.4, 0.5]), 1.0)
    assert row is not None
    assert row[2] == 0
    assert row[0] / row[1] == pytest.approx(-0.75)
    assert mine.metric.distance(row[None, :], region.x)[0] == pytest.approx(1.0, rel=2e-3)
    assert mine.metric.distance(row[None, :], region.x)[0] <= 1.0


def test_bounds_and_steps_are_kept() -> None:
    frame = pd.DataFrame({"n": range(10), "a": np.linspace(0, 1, 10)})
    mine = setting(frame, scale="none")
    region = mine.region({"n": 4, "a": 0.5})
    row = stretched_to(region, mine.metric, np.array([5.0, 0.6]), 3.7)
    assert row is not None
    assert region.contains(row[None, :])[0]
    assert row[0] == 7


def test_none_where_nothing_fits() -> None:
    mine = setting(X, scale="none")
    region = mine.region([0.0, 0.0, 0.0], "x0 >= 1")
    assert stretched_to(region, mine.metric, np.array([1.5, 0.0, 0.0]), 0.9) is None
    held = mine.region([0.0, 0.0, 0.0], "x0 == x.x0", "x1 == x.x1")
    assert stretched_to(held, mine.metric, np.array([1.5, 0.5, 0.0]), 0.9) is None
