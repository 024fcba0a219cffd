"""A climb by score: to the best row of a box, with nothing changed in vain."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.constraints.regions.region import Region
from ssba.search.climb import changed_once, climb
from ssba.search.settings import SETTINGS

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


def test_single_changes_lead_to_the_ends_of_columns_and_to_other_levels() -> None:
    frame = pd.DataFrame({"a": [-1.0, 3.0], "c": ["u", "v"]})
    region = setting(pd.concat([frame, frame.assign(c="w")])).region({"a": 0.0, "c": "u"})
    rows = changed_once(region, region.start, (1.0,))
    assert sorted(rows.tolist()) == [[-1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [3.0, 0.0]]


def test_a_side_without_an_end_is_tried_some_scales_away() -> None:
    region = WHERE.region([0.0, 0.0, 0.0], "x0 >= -1e9", "x1 == x.x1", "x2 == x.x2")
    assert changed_once(region, region.start, (1.0,))[:, 0].min() == -SETTINGS.starts.reach
