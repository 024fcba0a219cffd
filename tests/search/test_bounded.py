"""The bounded move: of all feasible rows the one nearest to a boundary point."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from tests.support import setting

from ssba.columns.distance import Norm
from ssba.search.bounded import MOST_PAIRS, approach

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("norm", ["l2", "l1", "gower"])
def test_in_a_box_no_feasible_row_is_nearer_to_any_boundary_point(norm: Norm) -> None:
    """All legal rows of a small mixed box are tried by hand."""
    frame = pd.DataFrame({"n": range(9), "m": range(0, 18, 2), "c": list("uvwuvwuvw")})
    where = setting(frame, norm=norm)
    region = where.region({"n": 4, "m": 6, "c": "u"}, "3 <= n <= 5", "m <= 7", "c in {'u', 'w'}")
    points = np.c_[RNG.integers(0, 9, 60), RNG.integers(0, 17, 60), RNG.integers(0, 3, 60)].astype(float)
    found = approach(region, where.metric, points)
    legal = np.array(list(itertools.product(range(3, 6), range(8), (0, 2))), dtype=float)
    best = min(float(where.metric.distance(legal, point).min()) for point in points)
    assert found.distances[0] == pytest.approx(best, abs=1e-12)
    assert region.contains(found.rows).all()


def test_pairs_come_nearest_first_and_belong_together() -> None:
    where = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]), scale="none")
    region = where.region([0.0, 0.0], "x0 <= 1", "x1 <= 1")
    points = RNG.uniform(-9, 9, size=(200, 2))
    found = approach(region, where.metric, points)
    assert len(found.rows) == len(found.points) == len(found.distances) == MOST_PAIRS
    assert (np.diff(found.distances) >= 0).all()
    for row, point, distance in zip(found.rows, found.points, found.distances, strict=True):
        assert distance == np.linalg.norm(row - point)
        assert point.tolist() in points.tolist()
        np.testing.assert_array_equal(row, np.clip(point, -9, 1))


def test_a_missing_cell_of_a_boundary_point_takes_the_querys_value() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 9.0, None], "b": [0.0, 9.0, 5.0]}), scale="none")
    found = approach(where.region({"a": 2.0, "b": 1.0}, "b <= 3"), where.metric, np.array([[math.nan, 7.0]]))
    assert found.rows.tolist() == [[2.0, 3.0]]
    assert found.distances.tolist() == [4.0]


def test_with_linear_rows_only_feasible_rows_are_offered() -> None:
    where = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]), scale="none")
    region = where.region([0.0, 0.0], "x0 + x1 <= 2")
    found = approach(region, where.metric, RNG.uniform(-9, 9, size=(100, 2)))
    assert region.contains(found.rows).all()


def test_no_boundary_points_give_no_rows() -> None:
    where = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]))
    assert len(approach(where.region([0.0, 0.0]), where.metric, np.empty((0, 2))).rows) == 0
