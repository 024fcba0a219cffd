"""The driver shares model calls between searches, which cannot tell that they are not alone."""

from collections.abc import Generator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.pipeline.nearest_rows import drive

Log = list[tuple[int, int]]


def search(name: int, questions: int, log: Log) -> Generator[int, int, None]:
    """Ask a chain of questions, each made of the reply before."""
    question = name
    for _ in range(questions):
        reply = yield question
        log.append((question, reply))
        question = reply + 1


def answer(question: int) -> int:
    return 3 * question % 1009


def run(lengths: Sequence[int], side_by_side: int) -> tuple[list[Log], list[int]]:
    logs: list[Log] = [[] for _ in lengths]
    batches: list[int] = []

    def ask(asked: Sequence[tuple[int, int]]) -> list[int]:
        batches.append(len(asked))
        return [answer(question) for _, question in asked]

    searches = [search(i, length, logs[i]) for i, length in enumerate(lengths)]
    drive(searches, ask, side_by_side)
    return logs, batches


LENGTHS = st.lists(st.integers(0, 8), max_size=20)


@given(LENGTHS, st.integers(1, 6))
def test_a_search_sees_the_same_replies_alone_or_among_others(lengths: list[int], side_by_side: int) -> None:
    logs, _ = run(lengths, side_by_side)
    for i, length in enumerate(lengths):
        alone: Log = []
        drive([search(i, length, alone)], lambda asked: [answer(question) for _, question in asked])
        assert logs[i] == alone
        assert len(alone) == length


@given(LENGTHS, st.integers(1, 6))
def test_no_more_run_at_a_time_than_allowed_and_no_call_is_empty(
    lengths: list[int], side_by_side: int
) -> None:
    _, batches = run(lengths, side_by_side)
    assert sum(batches) == sum(lengths)
    assert set(batches) <= set(range(1, side_by_side + 1))


def test_searches_of_one_length_share_every_call() -> None:
    _, batches = run([5] * 8, side_by_side=8)
    assert batches == [8] * 5


def test_a_long_search_is_joined_by_those_that_waited() -> None:
    _, batches = run([6, 1, 1, 1, 1], side_by_side=2)
    assert batches == [2, 2, 2, 2, 1, 1]


def test_questions_come_with_the_number_of_their_search() -> None:
    seen: list[int] = []

    def ask(asked: Sequence[tuple[int, int]]) -> list[int]:
        seen.extend(number for number, _ in asked)
        return [0 for _ in asked]

    drive([search(i, 1, []) for i in range(3)], ask)
    assert seen == [0, 1, 2]


def test_an_error_of_the_model_ends_the_run_and_is_not_swallowed() -> None:
    def ask(asked: Sequence[tuple[int, int]]) -> list[int]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive([search(0, 1, [])], ask)


def test_a_wrong_number_of_replies_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        drive([search(0, 1, []), search(1, 1, [])], lambda asked: [0])


def test_no_searches_ask_nothing() -> None:
    drive([], lambda asked: pytest.fail("asked"))


def test_a_question_that_is_put_off_is_asked_again_with_the_next_ones() -> None:
    logs: list[Log] = [[], [], []]
    asked_together: list[list[int]] = []

    def ask(asked: Sequence[tuple[int, int]]) -> list[int | None]:
        asked_together.append([number for number, _ in asked])
        waiting = len({number for number, _ in asked}) > 1
        return [None if waiting and number == 0 else answer(question) for number, question in asked]

    drive([search(i, length, logs[i]) for i, length in enumerate([1, 2, 3])], ask)
    assert asked_together == [[0, 1, 2], [0, 1, 2], [0, 2], [0]]
    assert [len(log) for log in logs] == [1, 2, 3]
