"""Other levels and whole numbers than those of the best row, with the numbers that go with them."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.search.lanes import REPLIES, Lanes, judge_of, lane
from tests.support import setting

from ssba.search.levels import other_levels
from ssba.search.swaps import Herd

WHERE = setting(
    pd.DataFrame({"r": [-5.0, 4.5] * 6, "s": [4.5, -5.0] * 6, "c": list("uvw") * 4, "d": list("pq") * 6}),
    scale="none",
    weights={"c": 0.5, "d": 0.5},
)
QUERY = {"r": 0.0, "s": 0.0, "c": "u", "d": "p"}
WORTH = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 2.5]])


def margin(Z: Any) -> Any:
    """Levels w and q together are worth 2.5 of the 3 that are needed, and little alone."""
    return Z[:, 0] + 0.5 * Z[:, 1] + WORTH[Z[:, 2].astype(int), Z[:, 3].astype(int)] - 3.0


def tried(reply: str, *texts: str, ends: Any = ((2.8, 0.5, 0.0, 0.0),), most: float = math.inf) -> Lanes:
    """Begin with a row that reaches with the query's own levels."""
    one = lane(WHERE, QUERY, judge_of(margin, reply), *texts, most=most).knows(ends)
    rows = np.array(ends, dtype=float)
    other_levels(one.ledger, Herd(rows, np.zeros(len(rows), dtype=np.int64)), one.at, one.start_margin)
    return one


@pytest.mark.parametrize("reply", REPLIES)
class TestOtherLevels:
    def test_two_levels_at_once_and_their_numbers_are_found(self, reply: str) -> None:
        """With w and q 0.5 is left for a plane with the slopes 1 and 0.5."""
        best = math.hypot(0.5 / math.hypot(1.0, 0.5), math.sqrt(0.5))
        assert best <= tried(reply).distance <= 1.01 * best

    def test_levels_that_are_not_allowed_or_held_are_left_alone(self, reply: str) -> None:
        one = tried(reply, "c in {'u', 'v'}", "d == x.d")
        assert one.region.contains(one.asked).all()
        assert set(one.asked[:, 2]) == {0.0, 1.0}
        # With v it is 2.5 for the plane, and 0.5 for the level.
        best = math.hypot(2.5 / math.hypot(1.0, 0.5), 0.5)
        assert best <= one.distance <= 1.01 * best

    def test_levels_that_cost_as_much_as_the_best_row_are_not_followed(self, reply: str) -> None:
        one = lane(WHERE, QUERY, judge_of(lambda Z: Z[:, 0] - 0.4, reply)).knows([[0.4, 0.0, 0.0, 0.0]])
        other_levels(one.ledger, Herd(np.array([[0.4, 0.0, 0.0, 0.0]]), one.at), one.at, one.start_margin)
        assert one.distance == pytest.approx(0.4)
        # Each changed level costs 0.5: only the start's own are worth looking at more closely.
        assert len(one.calls) <= 12

    def test_nothing_is_asked_where_nothing_was_found(self, reply: str) -> None:
        one = lane(WHERE, QUERY, judge_of(margin, reply))
        other_levels(one.ledger, Herd(one.regions.start[:0], one.at[:0]), one.at, one.start_margin)
        assert one.calls == []

    def test_the_budget_ends_it(self, reply: str) -> None:
        one = tried(reply, most=9)
        assert one.ledger.asked.tolist() == [9]


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_numbers_are_changed_by_a_step_with_numbers_to_go_with_them(reply: str) -> None:
    """At n = 1 the plane of the two real numbers begins at 0.5; at n = 0, where the search stands, at 3."""
    frame = pd.DataFrame({"r": [-5.0, 4.5], "s": [-5.0, 4.5], "n": [-5, 5]})
    where, row = setting(frame, scale="none"), np.array([[2.0, 1.0, 0.0]])
    judge = judge_of(lambda Z: Z[:, 0] + Z[:, 1] - np.where(Z[:, 2] == 1, 0.5, 3.0), reply)
    one = lane(where, {"r": 0.0, "s": 0.0, "n": 0}, judge).knows(row)
    other_levels(one.ledger, Herd(row, one.at), one.at, one.start_margin)
    # From 2.24; steps of whole numbers along a ray leave the rest to the moves that follow.
    assert math.hypot(0.5 / math.sqrt(2), 1.0) <= one.distance <= 1.5
