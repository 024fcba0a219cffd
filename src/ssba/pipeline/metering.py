"""Searches within the budget, and a note of every feasible row that they asked in vain."""

import math
from collections.abc import Callable

import numpy as np

from ssba.boundary.bisection import Answer, Asking
from ssba.columns.space import Matrix
from ssba.models.targets import Reply
from ssba.pipeline.case import Case, Limits, Vector
from ssba.search.archive import Archive, recorded

# Rows wait to be measured until there are this many: one large step costs less than many small ones.
_ROWS_AT_ONCE = 1024


def tried(
    case: Case, search: Asking[Answer], archive: Archive, most: float, limits: Limits
) -> Asking[Answer | None]:
    """Run a search within the case's budget, and for at most so many rows of its own.

    What it asks does not depend on the budget, which only ends it: so what a larger budget asks begins with
    all that a smaller one asked. Only the budget's or the time's end counts as having been stopped.
    """
    was_stopped = archive.stopped

    def left() -> float:
        return limits.rows - case.rows_asked

    answer = yield from watched(case, search, archive, archive.rows_asked + most, limits, left)
    if left() > 0 and not limits.is_over():
        archive.stopped = was_stopped
    return answer


def watched(
    case: Case,
    search: Asking[Answer],
    archive: Archive,
    rows: float,
    limits: Limits,
    left: Callable[[], float] = lambda: math.inf,
) -> Asking[Answer | None]:
    """Run a search until its archive has asked so many rows, or none are left; note misses in the case.

    What a scouting search asks are not all rows that the request allows, so that they are not noted.
    """
    running = recorded(search, archive, rows, limits.is_over, left)
    waiting: list[Matrix] = []
    count = 0
    try:
        asked = next(running)
        while True:
            reply = yield asked
            if not case.scouting:
                waiting.append(asked[~reply.reached])
                count += len(waiting[-1])
            if count >= _ROWS_AT_ONCE:
                case.missed.append(_distances(archive, waiting))
                waiting.clear()
                count = 0
            asked = running.send(reply)
    except StopIteration as end:
        answer: Answer | None = end.value
        return answer
    finally:
        running.close()
        if waiting:
            case.missed.append(_distances(archive, waiting))


def asking(rows: Matrix) -> Asking[Reply | None]:
    """Ask about rows once; return the reply, None without rows."""
    return (yield rows) if len(rows) else None


def _distances(archive: Archive, waiting: list[Matrix]) -> Vector:
    """Return how far from the query the feasible ones among the rows lie."""
    rows = np.concatenate(waiting)
    feasible = rows[archive.region.contains(rows)]
    return np.asarray(archive.metric.distance(feasible, archive.region.x))
