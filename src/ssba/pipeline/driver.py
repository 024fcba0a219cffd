"""Runs searches side by side in this process, so that all of them share each model call."""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

Question = TypeVar("Question")
Reply = TypeVar("Reply")


def drive(
    searches: Sequence[Generator[Question, Reply, None]],
    ask: Callable[[Sequence[tuple[int, Question]]], Sequence[Reply]],
    done: Callable[[int], object] = lambda _: None,
    side_by_side: int = 256,
) -> None:
    """Run all searches to their end; `ask` gets the open questions of many at once, with their numbers.

    A search sees only the replies to its own questions, so it takes the same way alone or among others.
    At most `side_by_side` run at a time; as one ends (`done` is told its number) the next begins.
    """
    waiting = iter(range(len(searches)))
    open_questions: dict[int, Question] = {}
    while True:
        while len(open_questions) < side_by_side and (number := next(waiting, None)) is not None:
            _advance(searches, number, None, open_questions, done)
        if not open_questions:
            return
        asked = list(open_questions.items())
        open_questions.clear()
        for (number, _), reply in zip(asked, ask(asked), strict=True):
            _advance(searches, number, reply, open_questions, done)


def _advance(
    searches: Sequence[Generator[Question, Reply, None]],
    number: int,
    reply: Reply | None,
    open_questions: dict[int, Question],
    done: Callable[[int], object],
) -> None:
    search = searches[number]
    try:
        open_questions[number] = next(search) if reply is None else search.send(reply)
    except StopIteration:
        done(number)
