"""Steps told from smooth boundaries by labels, and small changes left out."""

import math
from typing import Any

import numpy as np
import pytest
from tests.search.lanes import Lanes, lane, lanes
from tests.support import labels_only, setting

from ssba.search.descend import Ways, ways_from
from ssba.search.regions import Numbers
from ssba.search.steps import has_steps, is_rough, largest_only, shows_face, tidy

SIX = setting(np.array([[-5.0] * 6, [5.0] * 6]), scale="none")
FIVE = setting(np.array([[-5.0] * 5, [5.0] * 5]), scale="none")
CORNER = np.array([0.82, 0.56, 0.02, 0.02, 0.02, 0.0])


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


def standing(one: Lanes, rows: Any, normal: Any = None) -> Ways:
    """Return ways that have ended at rows, with the normals that were seen there."""
    rows = np.array(rows, dtype=float, ndmin=2)
    ways = ways_from(one.ledger, rows, one.at, None)
    if normal is not None:
        ways.normal = np.array(normal, dtype=float, ndmin=2)
    return ways


@pytest.mark.parametrize(
    ("reached", "rough"),
    [
        (lambda Z: (Z >= CORNER[:5]).all(axis=1), True),
        (lambda Z: Z @ CORNER[:5] >= CORNER @ CORNER - 1e-9, False),
        (lambda Z: np.linalg.norm(Z, axis=1) >= np.linalg.norm(CORNER) - 1e-9, False),
    ],
)
def test_a_corner_from_which_no_column_can_go_back_is_told_from_a_slope(reached: Any, rough: bool) -> None:
    """At the corner a column that goes back a little is lost, whatever the others do; not so on a slope."""
    one = lane(FIVE, [0.0] * 5, labels_only(reached))
    rows = CORNER[None, :5]
    assert is_rough(one.ledger, rows, one.at, one.ledger.distance(rows, one.at), 4e-4).tolist() == [rough]


@pytest.mark.parametrize(
    ("reached", "stepped"),
    [
        pytest.param(lambda Z: (Z >= CORNER)[:, :5].all(axis=1), True, id="a corner"),
        pytest.param(lambda Z: Z @ CORNER >= CORNER @ CORNER - 1e-9, False, id="a slope"),
    ],
)
def test_a_column_that_can_go_back_for_little_is_no_step_yet(reached: Any, stepped: bool) -> None:
    """The last column is not needed: without it, it shows whether this is a corner or a slope."""
    row = CORNER + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.06])
    one = lane(SIX, [0.0] * 6, labels_only(reached)).knows(row)
    assert has_steps(one.ledger, standing(one, row), by_labels=True).tolist() == [stepped]


FACES = {
    "a face": (lambda Z: Z[:, 0] >= 1, True),
    "a plane": (lambda Z: Z @ np.ones(6) >= 6, False),
    "a ball": (lambda Z: np.linalg.norm(Z - 2, axis=1) <= math.sqrt(6), False),
    "a corner": (lambda Z: (Z >= 1).all(axis=1), True),
}


class TestFace:
    @pytest.mark.parametrize("name", FACES)
    def test_one_across_a_column_is_told_from_a_smooth_boundary(self, name: str) -> None:
        reached, told = FACES[name]
        one = lane(SIX, [0.0] * 6, labels_only(reached))
        face, smooth = shows_face(one.ledger, standing(one, np.ones(6), np.ones(6)))
        assert (face.tolist(), smooth.tolist()) == ([told], [not told])

    def test_columns_at_their_bound_cannot_tell_it(self) -> None:
        bounds = [f"x{j} <= 1" for j in range(6)]
        one = lane(SIX, [0.0] * 6, labels_only(lambda Z: Z[:, 0] >= 1), *bounds)
        face, smooth = shows_face(one.ledger, standing(one, np.ones(6), np.ones(6)))
        assert not face.any()
        assert not smooth.any()
        assert one.calls == []

    def test_every_way_is_told_about_for_itself(self) -> None:
        """Below a column of 0.5 rows are on a face, above it on a plane."""

        def reached(Z: Any) -> Any:
            return np.where(Z[:, 5] < 0.5, Z[:, 0] >= 1, Z[:, :5] @ np.ones(5) >= 5)

        two = lanes(SIX, [[0.0] * 6, [0.0] * 5 + [2.0]], labels_only(reached))
        rows = [[1.0] * 5 + [0.0], [1.0] * 5 + [2.0]]
        face, smooth = shows_face(two.ledger, standing(two, rows, [[1.0] * 5 + [0.0]] * 2))
        assert face.tolist() == [True, False]
        assert smooth.tolist() == [False, True]


def test_the_largest_changes_alone_come_for_several_numbers_of_them() -> None:
    one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z[:, 0] >= 1))
    rows, of = largest_only(one.ledger, np.array([[0.1, -3.0, 0.0, 2.0, 1.0]]), zeros(1))
    assert of.tolist() == [0, 0, 0]
    assert rows.tolist() == [[0, -3, 0, 0, 0], [0, -3, 0, 2, 0], [0, -3, 0, 2, 1]]


class TestTidy:
    def test_small_changes_that_are_not_needed_are_left_out(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: (Z[:, 0] >= 1) & (Z[:, 2] <= -0.5)))
        one.knows([[1.0, 0.01, -0.5, -0.02, 0.03]])
        tidy(one.ledger, one.at)
        assert one.ledger.best_row.tolist() == [[1.0, 0.0, -0.5, 0.0, 0.0]]

    def test_what_is_most_of_the_length_is_not_tried_without(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z.sum(axis=1) >= 4)).knows(
            [[1.0, 1.0, 1.0, 1.0, 0.0]]
        )
        tidy(one.ledger, one.at)
        # One column is half of the length, two are 0.71 and three 0.87 of it.
        assert len(one.asked) == 2

    def test_where_nothing_was_found_nothing_is_asked(self) -> None:
        one = lane(FIVE, [0.0] * 5, labels_only(lambda Z: Z[:, 0] >= 9))
        tidy(one.ledger, one.at)
        assert one.calls == []
