"""Several searches of one query side by side, so that they share each model call."""

from collections.abc import Sequence
from typing import Any

from ssba.arrays import Array, namespace
from ssba.boundary.bisection import Answer, Asking
from ssba.models.targets import Reply


def together(searches: Sequence[Asking[Answer]]) -> Asking[list[Answer]]:
    """Run searches to their end, asking the questions of all in one; return their answers in order."""
    answers: dict[int, Any] = {}
    open_questions: dict[int, Array] = {}
    for number, search in enumerate(searches):
        _advance(number, search, None, open_questions, answers)
    while open_questions:
        asked = dict(open_questions)
        open_questions.clear()
        rows = list(asked.values())
        reply = yield namespace(*rows).concat(rows)
        begin = 0
        for number, own in asked.items():
            end = begin + own.shape[0]
            margin = None if reply.margin is None else reply.margin[begin:end]
            _advance(
                number, searches[number], Reply(reply.reached[begin:end], margin), open_questions, answers
            )
            begin = end
    return [answers[number] for number in range(len(searches))]


def _advance(
    number: int,
    search: Asking[Answer],
    reply: Reply | None,
    open_questions: dict[int, Array],
    answers: dict[int, Answer],
) -> None:
    try:
        open_questions[number] = next(search) if reply is None else search.send(reply)
    except StopIteration as end:
        answers[number] = end.value
