"""Searches within the budget, and a note of every feasible row that they asked in vain."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ssba.boundary.bisection import Answer, Asking
from ssba.columns.space import Matrix
from ssba.models.targets import Reply
from ssba.pipeline.state import QueryState, Vector
from ssba.search.archive import Archive, recorded

# Rows wait to be measured until there are this many: one large step costs less than many small ones.
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Freely:
    """Rows that are asked about without the limits that options set: all that counts is the goal."""

    rows: Matrix


def capped(state: QueryState, search: Asking[Answer], archive: Archive, most: float) -> Asking[Answer | None]:
    """Run a search within the query's budget, and for at most so many rows of its own; note its misses.

    What it asks does not depend on the budget, which only ends it: so what a larger budget asks begins with
    all that a smaller one asked. Only the budget's or the time's end counts as having been stopped.
    """
    was_stopped = archive.stopped
    running = recorded(search, archive, archive.rows_asked + most, state.limits.is_over, _left(state))
    answer = yield from metered(state, running, archive)
    _note_end(state, archive, was_stopped)
    return answer


def scouted(
    state: QueryState, search: Asking[Answer], archive: Archive, most: float
) -> Asking[Answer | None]:
    """Run a search that looks around without the limits that options set; what it finds are no answers.

    Its misses are not noted: they are not all rows that the options allow.
    """
    state.found.scouts.append(archive)
    running = recorded(search, archive, most, state.limits.is_over, _left(state))
    try:
        asked = next(running)
        while True:
            asked = running.send((yield Freely(asked)))
    except StopIteration as end:
        answer: Answer | None = end.value
        return answer
    finally:
        running.close()
        _note_end(state, archive, was_stopped=False)


def _left(state: QueryState) -> Callable[[], float]:
    return lambda: state.limits.rows - state.rows_asked


def _note_end(state: QueryState, archive: Archive, was_stopped: bool) -> None:
    left = state.limits.rows - state.rows_asked
    if left > 0 and not state.limits.is_over():
        archive.stopped = was_stopped
    elif archive.stopped:
        state.spent.stopped_by = "rows" if left <= 0 else state.limits.time_ended_by


def metered(state: QueryState, running: Asking[Answer | None], archive: Archive) -> Asking[Answer | None]:
    """Run a search, and note how far its misses are from the query."""
    waiting: list[Matrix] = []
    count = 0
    try:
        asked = next(running)
        while True:
            reply = yield asked
            waiting.append(asked[~reply.reached])
            count += len(waiting[-1])
            if count >= _ROWS_AT_ONCE:
                state.found.missed.append(_distances(archive, waiting))
                waiting.clear()
                count = 0
            asked = running.send(reply)
    except StopIteration as end:
        answer: Answer | None = end.value
        return answer
    finally:
        running.close()
        if waiting:
            state.found.missed.append(_distances(archive, waiting))


def offered(state: QueryState, rows: Matrix, archive: Archive) -> Asking[None]:
    """Ask about rows whatever the budget of rows is; time still ends it."""
    yield from metered(state, recorded(asking(rows), archive, math.inf, state.limits.is_over), archive)


def asking(rows: Matrix) -> Asking[Reply | None]:
    """Ask about rows once; return the reply, None without rows."""
    return (yield rows) if len(rows) else None


def _distances(archive: Archive, waiting: list[Matrix]) -> Vector:
    """Return how far from the query the feasible ones among the rows lie."""
    rows = np.concatenate(waiting)
    feasible = rows[archive.region.contains(rows)]
    return np.asarray(archive.metric.distance(feasible, archive.region.x))
