"""Searches side by side: answers in order, shared model calls, each its own share of a reply."""

from typing import Any

import numpy as np
from tests.support import answered, labels_only, scored

from ssba.boundary.bisection import Asking
from ssba.search.together import together


def asking(rows: list[list[float]], times: int) -> Asking[list[Any]]:
    """Ask about the same rows again and again, and return all replies."""
    replies = []
    for _ in range(times):
        reply = yield np.array(rows)
        replies.append((reply.reached.tolist(), None if reply.margin is None else reply.margin.tolist()))
    return replies


def silent(answer: str) -> Asking[str]:
    yield from ()
    return answer


def test_each_search_gets_the_replies_to_its_own_rows() -> None:
    one, other = answered(
        together([asking([[1.0], [-2.0]], 1), asking([[3.0]], 2)]), scored(lambda Z: Z[:, 0])
    )
    assert one == [([True, False], [1.0, -2.0])]
    assert other == [([True], [3.0])] * 2


def test_without_scores_there_are_no_margins() -> None:
    (one,) = answered(together([asking([[1.0]], 1)]), labels_only(lambda Z: Z[:, 0] > 0))
    assert one == [([True], None)]


def test_the_longest_search_decides_how_many_model_calls_there_are() -> None:
    calls: list[int] = []

    def judge(Z: Any) -> Any:
        calls.append(len(Z))
        return scored(lambda Z: Z[:, 0])(Z)

    searches = [asking([[1.0], [2.0]], times) for times in (1, 4, 2)]
    lengths = [len(replies) for replies in answered(together(searches), judge)]
    assert lengths == [1, 4, 2]
    assert calls == [6, 4, 2, 2]


def test_searches_that_ask_nothing_answer_at_once() -> None:
    searches: list[Asking[Any]] = [silent("a"), asking([[1.0]], 1), silent("b")]
    first, middle, last = answered(together(searches), labels_only(lambda Z: Z[:, 0] > 0))
    assert (first, last) == ("a", "b")
    assert len(middle) == 1
    assert answered(together([silent("a")]), labels_only(lambda Z: Z[:, 0] > 0)) == ["a"]


def test_no_search_asks_nothing() -> None:
    none: list[Asking[str]] = []
    assert answered(together(none), labels_only(lambda Z: Z[:, 0] > 0)) == []


def test_a_search_may_ask_about_no_rows() -> None:
    searches = [asking([[1.0]], 1), emptily()]
    assert answered(together(searches), labels_only(lambda Z: Z[:, 0] > 0)) == [[([True], None)], [[]]]


def emptily() -> Asking[list[Any]]:
    reply = yield np.empty((0, 1))
    return [reply.reached.tolist()]
