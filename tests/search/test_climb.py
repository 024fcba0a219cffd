"""A climb by score: to the best row of a box, with nothing changed in vain."""

from typing import Any

import numpy as np
import pytest
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.constraints.regions.region import Region
from ssba.search.climb import climb

WHERE = setting(np.array([[-4.0, -4.0, -4.0], [4.0, 4.0, 4.0]]), scale="none")


def region_of(*texts: str) -> Region:
    return WHERE.region([0.0, 0.0, 0.0], *texts)


def bump(rows: Matrix) -> Any:
    """Highest at x0 = 1, x1 = 2; x2 does nothing."""
    return -((rows[:, 0] - 1) ** 2) - (rows[:, 1] - 2) ** 2


def climbed(region: Region, threshold: float) -> Any:
    """Climb the bump for a target that asks for so much of it."""
    return answered(climb(region, region.start), scored(lambda rows: bump(rows) - threshold))


def test_it_ends_at_the_best_row_and_leaves_what_does_not_count() -> None:
    assert climbed(region_of(), 9.0) == pytest.approx([1.0, 2.0, 0.0], abs=0.01)


def test_it_stays_in_the_region() -> None:
    assert climbed(region_of("x1 <= 0.5", "x0 == x.x0"), 9.0) == pytest.approx([0.0, 0.5, 0.0])


@pytest.mark.parametrize("threshold", [0.5, 3.0, 1e6])
def test_the_way_does_not_depend_on_how_much_is_asked_for(threshold: float) -> None:
    np.testing.assert_array_equal(climbed(region_of(), threshold), climbed(region_of(), 9.0))


def test_it_ends_where_a_row_reaches() -> None:
    assert bump(climbed(region_of(), -3.0)[None, :])[0] >= -3.0


def test_without_scores_there_is_nothing_to_follow() -> None:
    region = region_of()
    judge = labels_only(lambda rows: rows[:, 0] > 9)
    assert answered(climb(region, region.start), judge) is None
