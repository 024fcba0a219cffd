"""Searches take turns: each goes on where it was left, for a number of rows that no budget decides."""

from collections.abc import Generator
from typing import Any

import numpy as np
from tests.support import Matrix, answered, labels_only

from ssba.models.targets import Reply
from ssba.search.turns import Waiting, in_turns


def asking(name: float, batches: int, size: int = 10) -> Generator[Matrix, Reply, None]:
    for _ in range(batches):
        yield np.full((size, 1), name)


def run(searches: list[Waiting], turn: int) -> list[float]:
    """Return who asked, one number a model call."""
    asked: list[float] = []

    def judge(Z: Any) -> Reply:
        asked.append(float(Z[0, 0]))
        reply: Reply = labels_only(lambda rows: rows[:, 0] > 99)(Z)
        return reply

    answered(in_turns(searches, turn), judge)
    return asked


def test_every_round_of_turns_is_twice_as_long() -> None:
    order = run([Waiting(asking(1, 7)), Waiting(asking(2, 4))], turn=20)
    assert order == [1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 1]


def test_a_turn_ends_with_the_batch_that_fills_it() -> None:
    assert run([Waiting(asking(1, 4)), Waiting(asking(2, 1))], turn=15) == [1, 1, 2, 1, 1]


def test_a_search_that_is_of_no_use_any_more_is_left_out_for_good() -> None:
    useful = iter([True, False, True])
    closed: list[bool] = []

    def search() -> Generator[Matrix, Reply, None]:
        try:
            yield from asking(1, 9)
        finally:
            closed.append(True)

    order = run([Waiting(search(), lambda: next(useful)), Waiting(asking(2, 3))], turn=10)
    assert order == [1, 2, 2, 2]
    assert closed == [True]


def test_searches_that_ask_nothing_end() -> None:
    assert run([Waiting(asking(1, 0)), Waiting(asking(2, 1))], turn=10) == [2]
