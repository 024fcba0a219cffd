"""Stages of many queries side by side: each asks about rows, or for a search, and waits for what came of it.

A stage of a query is a generator. It sees only the replies to its own questions, so it takes the same way
alone or among others. All that is asked at a time is asked in one model call, or searched in one search.
"""

import itertools
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import numpy as np

from ssba.columns.space import Matrix
from ssba.models.targets import Reply
from ssba.pipeline.metering import Freely
from ssba.pipeline.nearest_rows import Hunt, door_of, hunt
from ssba.pipeline.state import QueryState, States

Question = TypeVar("Question")
Answered = TypeVar("Answered")

Stage = Generator[Any, Any, None]
"""Yields rows and is sent a `Reply`, or yields a `Hunt` and is sent archives."""


def run_stages(states: States, stages: Sequence[Stage]) -> None:
    """Drive a stage of each query to its end; queries share model calls and searches."""

    def answer(asked: Sequence[tuple[int, Any]]) -> list[Any]:
        answers: list[Any] = [None] * len(asked)
        hunts = [i for i, (_, question) in enumerate(asked) if isinstance(question, Hunt)]
        for i, found in zip(hunts, hunt([(states[asked[i][0]], asked[i][1]) for i in hunts]), strict=True):
            answers[i] = found
        for freely in (False, True):
            rows = [
                i
                for i, (_, question) in enumerate(asked)
                if not isinstance(question, Hunt) and isinstance(question, Freely) == freely
            ]
            replies = _replies([(states[asked[i][0]], asked[i][1]) for i in rows], freely=freely)
            for i, reply in zip(rows, replies, strict=True):
                answers[i] = reply
        return answers

    drive(stages, answer)


def _replies(asked: Sequence[tuple[QueryState, Matrix | Freely]], *, freely: bool) -> list[Reply]:
    """Ask about the rows of several queries in one call."""
    if not asked:
        return []
    states = [state for state, _ in asked]
    rows = [one.rows if isinstance(one, Freely) else one for _, one in asked]
    sizes = [len(own) for own in rows]
    query = np.repeat(np.arange(len(asked)), sizes)
    reply = door_of(states, freely=freely).ask(np.concatenate(rows), query)
    ends = np.cumsum([0, *sizes]).tolist()
    return [
        Reply(reply.reached[begin:end], None if reply.margin is None else reply.margin[begin:end])
        for begin, end in itertools.pairwise(ends)
    ]


def drive(
    searches: Sequence[Generator[Question, Answered, None]],
    ask: Callable[[Sequence[tuple[int, Question]]], Sequence[Answered]],
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
    searches: Sequence[Generator[Question, Answered, None]],
    number: int,
    reply: Answered | None,
    open_questions: dict[int, Question],
    done: Callable[[int], object],
) -> None:
    search = searches[number]
    try:
        open_questions[number] = next(search) if reply is None else search.send(reply)
    except StopIteration:
        done(number)
