"""Rows are asked about block by block, each block once."""

from typing import Any

import numpy as np

from ssba.engine.asked_rows import AskedRows
from ssba.models.model import Output
from ssba.models.targets import Reach, ValueBetween

ROWS = np.arange(40.0)[:, None]


class Asking:
    """A model that notes what it is asked."""

    def __init__(self) -> None:
        self.batches: list[list[float]] = []

    def __call__(self, rows: Any) -> Output:
        self.batches.append(rows[:, 0].tolist())
        return Output(labels=rows[:, 0] % 2 == 0, scores=np.c_[-rows[:, 0], rows[:, 0]])


def asked_rows() -> tuple[AskedRows, Asking]:
    asking = Asking()
    known = AskedRows(ROWS, (10, 20, 30, 40), asking(ROWS[:10]), asking, (False, True))
    asking.batches.clear()
    return known, asking


def test_the_first_block_needs_no_asking() -> None:
    known, asking = asked_rows()
    found = known.nearest_reaching(Reach(True), ROWS[:, 0], lambda begins, found: False)
    assert found.tolist() == [0, 2, 4, 6, 8]
    assert asking.batches == []


def test_further_blocks_come_nearest_first_as_long_as_they_are_wanted() -> None:
    known, asking = asked_rows()
    seen = []

    def wanted(begins: float, found: Any) -> bool:
        seen.append((begins, sum(map(len, found))))
        return len(seen) < 3

    found = known.nearest_reaching(Reach(True), np.abs(ROWS[:, 0] - 33), wanted)
    assert seen == [(0.0, 5), (4.0, 10), (14.0, 15)]
    assert found.tolist() == [*range(0, 10, 2), *range(30, 40, 2), *range(20, 30, 2)]
    assert asking.batches == [list(range(30, 40)), list(range(20, 30))]


def test_no_block_is_asked_about_twice() -> None:
    known, asking = asked_rows()
    for _ in range(2):
        assert known.reached(Reach(False)).tolist() == [False, True] * 20
    assert known.labels.tolist() == [True, False] * 20
    assert len(asking.batches) == 3


def test_answers_come_in_the_order_of_the_numbers() -> None:
    known, _ = asked_rows()
    answers = known.answers(np.array([31, 2, 15, 30, 3]))
    assert answers.labels is not None
    assert answers.scores is not None
    assert answers.labels.tolist() == [False, True, False, True, False]
    assert answers.scores[:, 1].tolist() == [31, 2, 15, 30, 3]
    assert known.answers(np.empty(0, dtype=int)).labels is not None


def test_goals_beyond_those_that_are_kept_are_judged_again() -> None:
    known = AskedRows(ROWS, (40,), Output(values=ROWS[:, 0]), Asking(), None)
    for i in [*range(100), 0]:
        assert known.reached(ValueBetween(i, i + 1)).sum() == max(0, min(2, 40 - i))
