"""What a search begins with: archives, background rows that are answers already, and rows to start from."""

import numpy as np

from ssba.columns.space import Matrix
from ssba.index.encoded_points import EncodedPoints
from ssba.index.retrieval.finder import Query as Lookup
from ssba.models.targets import Reply
from ssba.pipeline.asking import judged
from ssba.pipeline.state import QueryState, States
from ssba.search.archive import Archive
from ssba.search.stored import Stored

# Stored boundary points that a query's search looks at: the nearest that meet its constraints.
_STORED = 1000
# As many of them are starts beside background rows, where no plane can be laid.
_STARTS = 64
# Of the background rows that meet the constraints, so many of the nearest are judged first.
_JUDGED_FIRST = 64


def begin(state: QueryState) -> None:
    """Give a query its archives, with the background rows that are known to be what it asks for.

    What the model says about these belongs to the explainer. They take no rows of the query, so that there
    is an answer for every budget; and since they are there for every budget, a larger one is not worse for
    it. They have archives of their own, in order not to lead the searches.
    """
    query, background = state.query, state.engine.background
    held = np.all([region.held for region in query.regions], axis=0)
    state.near = background.reaching(state.x, held, query.goal, state.limits.is_over)
    state.found.archives = [Archive(region, state.engine.metric) for region in state.query.regions]
    state.found.known = [Archive(region, state.engine.metric) for region in state.query.regions]
    rows = _known_rows(state)
    for archive in state.found.known if len(rows) else ():
        archive.record(rows, Reply(np.ones(len(rows), dtype=bool), None))


def _known_rows(state: QueryState) -> Matrix:
    """Return background rows that give the query what it asks for, the nearest such among them."""
    known = state.engine.judging.known
    rows = known.rows[state.near]
    feasible = np.zeros(len(rows), dtype=bool)
    for region in state.query.regions:
        feasible |= np.asarray(region.contains(rows))
    rows, numbers = rows[feasible], state.near[feasible]
    order = np.argsort(state.distance(rows), kind="stable")
    first, count = 0, _JUDGED_FIRST
    while first < len(order):
        some = order[first : first + count]
        reply = judged(state, rows[some], known.answers(numbers[some]))
        if reply.reached.any():
            return np.asarray(rows[some][reply.reached])
        first, count = first + count, 2 * count
    return rows[:0]


def give_starts(states: States, boundary: EncodedPoints | None) -> None:
    """Give every query the stored boundary points near it; refuse it where nothing shows a boundary."""
    for state in states:
        if not len(state.near) and not state.limits.is_over():
            state.engine.background.check_two_sides(state.query.goal)
    if boundary is not None and states:
        queries = [Lookup(state.x, state.query.regions) for state in states]
        for state, hits in zip(states, boundary.nearest(queries, _STORED), strict=True):
            state.stored = Stored(hits.rows, boundary.reaching(hits.position, state.query.goal))
            state.points = hits.rows[state.stored.reaching][:_STARTS]
