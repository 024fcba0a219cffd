"""The archive keeps what reached, nearest first; a search spends no row twice and none too many."""

import math
from collections.abc import Generator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded, share_out

PLANE = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]), scale="none")
WHOLE = setting(np.array([[-9, -9], [9, 9]]), scale="none")
HOLED = setting(pd.DataFrame({"a": [0.0, 9.0, None], "b": [0.0, 9.0, 5.0]}), scale="none")

QUERIES = [([0.0, 0.0], ["x0 <= 4"]), ([1.0, 2.0], ["x0 + x1 <= 5"]), ([0.0, 5.0], [])]


def reached(Z: Any) -> Any:
    return Z[:, 0] >= 2


def archive(where: Any = PLANE, *texts: str) -> Archive:
    return Archive(where.region([0, 0], *texts), where.metric)


def asking(*batches: Any) -> Generator[Matrix, Reply, None]:
    for batch in batches:
        yield np.array(batch, dtype=float)


def run(search: Any, kept: Archive, rows: float = math.inf, judge: Any = None) -> list[Matrix]:
    asked: list[Matrix] = []

    def remember(Z: Any) -> Reply:
        asked.append(Z.copy())
        reply: Reply = (judge or labels_only(reached))(Z)
        return reply

    answered(recorded(search, kept, lambda: rows - kept.rows_asked, lambda: False), remember)
    return asked


def test_what_reached_is_kept_nearest_first() -> None:
    kept = archive()
    run(asking([[3, 4], [1, 0], [2, 0]], [[5, 0], [2.5, 0]]), kept)
    assert kept.nearest(9).tolist() == [[2, 0], [2.5, 0], [3, 4], [5, 0]]
    assert kept.best_distance == 2.0
    assert np.concatenate(kept.hits).tolist() == [[3, 4], [2, 0], [5, 0], [2.5, 0]]


def test_rows_outside_the_region_are_never_kept() -> None:
    kept = archive(PLANE, "x0 <= 4", "x0 + x1 <= 5")
    run(asking([[4.5, 0], [3, 3], [2, 1]]), kept)
    assert kept.nearest(9).tolist() == [[2, 1]]


def test_an_empty_archive_has_no_rows_and_an_infinite_distance() -> None:
    kept = archive()
    run(asking([[0, 0]]), kept)
    assert kept.best_distance == math.inf
    assert kept.nearest(3).shape == (0, 2)


def test_the_best_miss_is_the_feasible_row_with_the_highest_margin() -> None:
    kept = archive(PLANE, "x1 <= 1")
    run(asking([[0, 0], [1, 1], [1.9, 5]], [[1.5, 0]], [[0.5, 0]]), kept, judge=scored(lambda Z: Z[:, 0] - 2))
    assert kept.miss is not None
    assert kept.miss.tolist() == [1.5, 0]
    assert kept.miss_margin == pytest.approx(-0.5)


@pytest.mark.parametrize("where", [PLANE, WHOLE, HOLED], ids=["plane", "whole", "missing"])
def test_nearest_rows_are_different_rows(where: Any) -> None:
    query = [0, 0] if where is not HOLED else {"a": None, "b": 0.0}
    kept = Archive(where.region(query), where.metric)
    rows = np.array([[0.0, 3.0], [3.0, 0.0], [0.0, 3.0], [3.0, 0.0], [0.0, 3.0]])
    if where is HOLED:
        rows = np.array([[math.nan, 3.0], [math.nan, 4.0], [math.nan, 3.0], [math.nan, 4.0], [math.nan, 3.0]])
    kept.record(rows, Reply(np.ones(5, dtype=bool), None))
    nearest = kept.nearest(5)
    assert len({row.tobytes() for row in nearest}) == len(nearest) == 2


@given(st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1), max_size=6))
def test_on_a_grid_no_row_is_asked_about_twice_and_replies_are_the_same(
    batches: list[list[tuple[int, int]]],
) -> None:
    replies: list[Any] = []

    def search() -> Generator[Matrix, Reply, None]:
        for batch in batches:
            rows = np.array(batch, dtype=float)
            reply = yield rows
            replies.append((rows, reply))

    kept = archive(WHOLE)
    asked = run(search(), kept, judge=scored(lambda Z: Z[:, 0] + 0.25 * Z[:, 1]))
    every = [tuple(row) for rows in asked for row in rows.tolist()]
    assert len(every) == len(set(every)) == kept.rows_asked
    for rows, reply in replies:
        np.testing.assert_array_equal(reply.margin, rows[:, 0] + 0.25 * rows[:, 1])
        np.testing.assert_array_equal(reply.reached, reply.margin >= 0)


def test_minus_zero_is_zero() -> None:
    kept = archive(WHOLE)
    run(asking([[0.0, 1.0]], [[-0.0, 1.0]]), kept)
    assert kept.rows_asked == 1


def test_labels_only_replies_have_no_margin_when_repeated() -> None:
    seen: list[Reply] = []

    def search() -> Generator[Matrix, Reply, None]:
        for _ in range(2):
            seen.append((yield np.array([[3.0, 0.0], [0.0, 0.0]])))

    run(search(), archive(WHOLE))
    for reply in seen:
        assert reply.margin is None
        assert reply.reached.tolist() == [True, False]


@pytest.mark.parametrize("where", [PLANE, WHOLE], ids=["plane", "whole"])
@given(st.integers(0, 12), st.lists(st.integers(1, 5), max_size=5))
def test_the_budget_is_never_exceeded(where: Any, budget: int, sizes: list[int]) -> None:
    counter = iter(range(-1000, 1000))
    batches = [[[next(counter) % 19 - 9, 0] for _ in range(size)] for size in sizes]
    kept = archive(where)
    asked = run(asking(*batches), kept, rows=budget)
    assert sum(map(len, asked)) == kept.rows_asked <= budget
    assert kept.stopped is (sum(sizes) > budget) or where is WHOLE


def test_a_search_that_is_over_asks_nothing_more() -> None:
    kept = archive()
    turns = iter([False, False, True])
    asked: list[Any] = []

    def judge(Z: Any) -> Reply:
        asked.append(Z)
        return Reply(reached(Z), None)

    answered(
        recorded(asking([[1, 0]], [[2, 0]], [[3, 0]]), kept, lambda: math.inf, lambda: next(turns)), judge
    )
    assert len(asked) == 2
    assert kept.stopped
    assert kept.best_distance == 2.0


def test_a_search_that_ended_by_itself_was_not_stopped() -> None:
    kept = archive()
    run(asking([[1, 0]], [[2, 0]]), kept, rows=2)
    assert not kept.stopped


def test_stopping_closes_the_search() -> None:
    closed = []

    def search() -> Generator[Matrix, Reply, None]:
        try:
            while True:
                yield np.zeros((1, 2))
        finally:
            closed.append(True)

    run(search(), archive(), rows=3)
    assert closed == [True]


def test_what_was_found_before_counts_with_what_is_asked() -> None:
    kept = archive()
    rows = np.array([[2.0, 0.0], [3.0, 0.0]])
    kept.add(rows, kept.metric.distance(rows, kept.region.x))
    assert kept.best_distance == 2
    assert kept.rows_asked == 0
    run(asking([[2.5, 0.0]]), kept)
    assert kept.nearest(9)[:, 0].tolist() == [2, 2.5, 3]
    assert np.concatenate(kept.hits)[:, 0].tolist() == [2, 3, 2.5]


def archives() -> list[Archive]:
    return [Archive(PLANE.region(x, *texts), PLANE.metric) for x, texts in QUERIES]


def test_rows_equally_far_stay_in_the_order_in_which_they_came() -> None:
    made = archives()
    rows = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 2.0], [-2.0, 0.0]])
    share_out(made, [(rows, np.array([0, 0, 0, 0]), PLANE.metric.distance(rows, np.zeros(2)))])
    assert made[0].nearest(9).tolist() == [[0, 1], [2, 0], [0, 2], [-2, 0]]
    assert [archive.has_found for archive in made] == [True, False, False]


def test_what_is_added_joins_what_was_recorded_before() -> None:
    archive = archives()[0]
    archive.record(np.array([[3.0, 0.0], [8.0, 0.0]]), Reply(np.ones(2, dtype=bool), None))
    archive.add(np.array([[2.0, 0.0], [4.0, 0.0]]), np.array([2.0, 4.0]))
    assert archive.nearest(9).tolist() == [[2, 0], [3, 0], [4, 0]]
    assert archive.nearest(1).tolist() == [[2, 0]]
    assert archive.best_distance == 2.0
    assert np.concatenate(archive.hits).tolist() == [[3, 0], [2, 0], [4, 0]]
