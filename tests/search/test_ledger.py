"""The only door to the model: what is counted, what is refused, what is kept."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from tests.search.lanes import Lanes, lane, lanes
from tests.support import labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.ledger import Door, Ledger
from ssba.search.regions import Numbers

NUMBERS = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]), scale="none")
WHOLE = setting(np.array([[-9, -9], [9, 9]]), scale="none")


def margin(Z: Any) -> Any:
    return Z[:, 0] - 2.0


SCORES, LABELS = scored(margin), labels_only(lambda Z: margin(Z) >= 0)
ROWS = np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 1.0], [0.0, 5.0], [2.0, 0.0]])


def two(judge: Any = SCORES, most: Any = math.inf, where: Any = NUMBERS) -> Lanes:
    """Return a ledger for two queries of one region each."""
    return lanes(where, [[0.0, 0.0], [1.0, 1.0]], judge, most=most)


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


class TestAsking:
    def test_replies_are_the_models(self) -> None:
        reply = two().ledger.ask(ROWS, zeros(5))
        assert reply.reached.tolist() == [False, True, True, False, True]
        assert reply.margin is not None
        np.testing.assert_array_equal(reply.margin, margin(ROWS))

    def test_without_scores_there_are_no_margins(self) -> None:
        one = two(LABELS)
        assert one.ledger.ask(ROWS, zeros(5)).margin is None
        assert one.ledger.ask(ROWS[:0], zeros(0)).margin is None

    def test_rows_and_calls_are_counted_by_query(self) -> None:
        one = two()
        one.ledger.ask(ROWS, np.array([0, 1, 0, 0, 1]))
        one.ledger.ask(ROWS[:1], np.array([1]))
        assert one.ledger.asked.tolist() == [3, 3]
        assert one.ledger.calls.tolist() == [1, 2]

    def test_where_one_row_is_enough_a_query_asks_no_more_once_it_has_one(self) -> None:
        one = two()
        one.ledger.door = replace(one.ledger.door, until_found=True)
        assert one.ledger.ask(ROWS[:2], np.array([0, 1])).reached.tolist() == [False, True]
        reply = one.ledger.ask(ROWS[1:3], np.array([0, 1]))
        assert reply.reached.tolist() == [True, False]
        assert one.ledger.asked.tolist() == [2, 1]
        assert one.ledger.is_open.tolist() == [True, False]

    def test_where_calls_are_dear_a_query_is_closed_after_some(self) -> None:
        one = two()
        one.ledger.door = replace(one.ledger.door, calls_left=np.array([1, 2]))
        for _ in range(3):
            one.ledger.ask(ROWS, np.array([0, 1, 0, 0, 1]))
        assert [len(rows) for rows, _ in one.calls] == [5, 2]
        assert one.ledger.is_open.tolist() == [False, False]

    def test_no_rows_are_no_call(self) -> None:
        one = two()
        assert len(one.ledger.ask(ROWS[:0], zeros(0)).reached) == 0
        assert one.calls == []

    def test_a_row_that_is_not_feasible_never_counts_as_reached(self) -> None:
        one = lane(NUMBERS, [0.0, 0.0], SCORES, "x1 <= 0.5")
        reply = one.ledger.ask(ROWS, zeros(5))
        assert reply.reached.tolist() == [False, True, False, False, True]
        np.testing.assert_array_equal(np.asarray(reply.margin), margin(ROWS))
        assert 1.0 not in one.found[:, 1]
        # Neither is it a miss: what is not feasible is no evidence of anything.
        assert np.concatenate([far for _, far in one.ledger.misses]).tolist() == [1.0]

    def test_every_row_goes_to_the_model_with_its_query(self) -> None:
        one = two()
        one.ledger.ask(ROWS, np.array([1, 0, 1, 0, 1]))
        np.testing.assert_array_equal(one.asked_of(1), ROWS[[0, 2, 4]])
        np.testing.assert_array_equal(one.asked_of(0), ROWS[[1, 3]])


class TestBudget:
    def test_what_is_beyond_it_is_not_asked_and_counts_as_missed(self) -> None:
        one = two(most=[2, 9])
        reply = one.ledger.ask(ROWS, zeros(5))
        assert reply.reached.tolist() == [False, True, False, False, False]
        assert np.isnan(np.asarray(reply.margin)[2:]).all()
        np.testing.assert_array_equal(one.asked, ROWS[:2])

    def test_a_query_that_wanted_more_is_closed_and_no_other(self) -> None:
        one = two(most=[2, 9])
        one.ledger.ask(ROWS, np.array([0, 1, 0, 0, 1]))
        assert one.ledger.is_open.tolist() == [False, True]
        assert one.ledger.goes_on(np.array([1, 0, 1])).tolist() == [True, False, True]
        one.ledger.ask(ROWS, np.array([0, 1, 0, 0, 1]))
        assert one.ledger.asked.tolist() == [2, 4]

    def test_one_that_is_just_enough_leaves_the_query_open(self) -> None:
        one = two(most=[5, 0])
        one.ledger.ask(ROWS, zeros(5))
        assert one.ledger.is_open.tolist() == [True, True]
        one.ledger.ask(ROWS[:1], zeros(1))
        assert one.ledger.is_open.tolist() == [False, True]

    def test_rows_that_are_known_cost_nothing(self) -> None:
        one = two(most=3, where=WHOLE)
        one.ledger.ask(ROWS[:3], zeros(3))
        reply = one.ledger.ask(ROWS[[0, 1, 1, 2]], zeros(4))
        assert reply.reached.tolist() == [False, True, True, True]
        assert one.ledger.is_open[0]
        assert one.ledger.asked[0] == 3

    def test_the_end_of_the_time_closes_all_queries(self) -> None:
        plain = two()
        over = [False, True]
        door = Door(plain.ledger.door.ask, True, np.full(2, np.inf), lambda: over.pop(0))
        ledger = Ledger(plain.regions, NUMBERS.metric, door)
        assert ledger.ask(ROWS, zeros(5)).reached.any()
        assert not ledger.ask(ROWS, zeros(5)).reached.any()
        assert not ledger.is_open.any()
        assert ledger.asked.tolist() == [5, 0]

    @given(
        st.lists(st.lists(st.integers(0, 1), max_size=6), max_size=6), st.integers(0, 9), st.integers(0, 9)
    )
    def test_no_query_ever_asks_more_than_it_may(
        self, asks: list[list[int]], first: int, second: int
    ) -> None:
        one = two(most=[first, second])
        wanted = np.zeros(2, dtype=int)
        for number, at in enumerate(asks):
            rows = np.column_stack([np.arange(len(at)) + 0.5, np.full(len(at), number)])
            one.ledger.ask(rows, np.array(at, dtype=np.int64))
            wanted += np.bincount(np.array(at, dtype=np.int64), minlength=2)
        assert one.ledger.asked.tolist() == np.minimum(wanted, [first, second]).tolist()
        assert one.ledger.is_open.tolist() == (wanted <= [first, second]).tolist()


class TestMemory:
    def test_on_a_grid_no_row_of_a_query_is_asked_about_twice(self) -> None:
        one = two(where=WHOLE)
        for _ in range(2):
            reply = one.ledger.ask(ROWS[[0, 1, 1, 0]], np.array([0, 0, 0, 1]))
            assert reply.reached.tolist() == [False, True, True, False]
            np.testing.assert_array_equal(np.asarray(reply.margin), [-1.0, 1.0, 1.0, -1.0])
        assert one.ledger.asked.tolist() == [2, 1]
        assert len(one.calls) == 1

    def test_missing_cells_are_known_again(self) -> None:
        where = setting(pd.DataFrame({"a": [0, 5, None], "b": [0, 5, 4]}, dtype="Int64"), scale="none")
        one = lane(where, {"a": None, "b": 0}, labels_only(lambda Z: Z[:, 1] >= 2))
        for _ in range(2):
            one.ledger.ask(np.array([[math.nan, 3.0]]), zeros(1))
        assert one.ledger.asked.tolist() == [1]


class TestFinds:
    def test_the_nearest_hit_is_the_best_row(self) -> None:
        one = two()
        one.ledger.ask(ROWS, zeros(5))
        assert one.ledger.best.tolist() == [2.0, math.inf]
        assert one.ledger.best_row[0].tolist() == [2.0, 0.0]
        one.ledger.ask(np.array([[3.0, 3.0]]), zeros(1))
        assert one.ledger.best[0] == 2.0
        assert one.ledger.best_row[1].tolist() == [1.0, 1.0]

    def test_the_best_of_a_query_is_that_of_its_regions(self) -> None:
        one = lane(NUMBERS, [0.0, 0.0], SCORES, "x1 != 1")
        assert one.regions.count == 2
        inside = one.regions.contains(np.array([[3.0, 4.0]] * 2), one.at)
        one.ledger.ask(np.array([[3.0, 4.0]]), np.flatnonzero(inside))
        assert one.ledger.best_of_query().tolist() == [5.0]
        assert sorted(one.ledger.best.tolist()) == [5.0, math.inf]

    def test_the_best_miss_by_score_is_kept_until_something_reaches(self) -> None:
        one = two()
        one.ledger.ask(np.array([[1.0, 0.0], [1.5, 3.0], [0.0, 0.0]]), np.array([0, 0, 1]))
        assert one.ledger.miss.tolist() == [[1.5, 3.0], [0.0, 0.0]]
        assert one.ledger.miss_margin.tolist() == [-0.5, -2.0]
        one.ledger.ask(np.array([[3.0, 0.0], [1.9, 0.0]]), zeros(2))
        one.ledger.ask(np.array([[1.99, 0.0]]), zeros(1))
        assert one.ledger.miss_margin[0] == -0.5

    def test_known_rows_are_finds_that_cost_nothing(self) -> None:
        one = lane(NUMBERS, [0.0, 0.0], LABELS, "x1 <= 4")
        one.knows([[3.0, 0.0], [2.5, 9.0]])
        assert one.ledger.best.tolist() == [3.0]
        assert len(one.found) == 1
        assert one.ledger.asked.tolist() == [0]

    def test_the_nearest_rows_come_in_order_and_each_once(self) -> None:
        one = two()
        rows = np.array([[4.0, 0.0], [2.0, 0.0], [3.0, 0.0], [2.0, 0.0], [2.0, 1.0], [5.0, 5.0]])
        one.ledger.ask(rows, np.array([0, 0, 0, 0, 1, 1]))
        found = one.ledger.nearest(np.array([0, 1]), 2)
        assert found.rows.tolist() == [[2.0, 0.0], [3.0, 0.0], [2.0, 1.0], [5.0, 5.0]]
        assert found.at.tolist() == [0, 0, 1, 1]
        only = one.ledger.nearest(np.array([1]), 9)
        assert only.rows.tolist() == [[2.0, 1.0], [5.0, 5.0]]
        assert only.at.tolist() == [1, 1]

    def test_where_nothing_was_found_there_is_no_nearest_row(self) -> None:
        found = two().ledger.nearest(np.array([0, 1]), 3)
        assert found.rows.shape == (0, 2)
        assert len(found.at) == 0

    def test_replies_of_other_kinds_are_read(self) -> None:
        """A door may answer with lists of Python's booleans."""
        one = lane(NUMBERS, [0.0, 0.0], lambda Z: Reply(np.array([row[0] >= 2 for row in Z], bool), None))
        assert one.ledger.ask(ROWS, zeros(5)).reached.sum() == 3


def test_a_row_that_is_asked_about_again_is_one_miss() -> None:
    """On a grid it is known what the model says, so that it is neither asked nor counted a second time."""
    frame = pd.DataFrame({"n": [-4, 4, 0], "m": [-4, 4, 1]})
    one = lane(setting(frame, scale="none"), {"n": 0, "m": 0}, labels_only(lambda Z: Z[:, 0] > 3))
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    for _ in range(2):
        one.ledger.ask(rows, np.zeros(3, dtype=np.int64))
    assert one.ledger.asked.tolist() == [2]
    assert sorted(np.concatenate([far for _, far in one.ledger.misses]).tolist()) == [1.0, 2.0]
