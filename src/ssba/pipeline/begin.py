"""What a search begins with: archives, background rows that are answers already, and rows to start from."""

import numpy as np

from ssba.columns.space import Matrix
from ssba.index.encoded_points import EncodedPoints
from ssba.index.retrieval.finder import Query as Lookup
from ssba.models.targets import Goal, Reply
from ssba.pipeline.asking import chosen, judged
from ssba.pipeline.state import QueryState, States
from ssba.search.archive import Archive
from ssba.search.starts import Pool
from ssba.search.stored import Stored

# Stored boundary points that a query's search looks at: the nearest that meet its constraints.
_STORED = 1000
# As many of them are starts beside background rows, where no plane can be laid.
_STARTS = 64
# Of the background rows that meet the constraints, so many of the nearest are judged first.
_JUDGED_FIRST = 64


def begin(state: QueryState) -> None:
    """Give a query its archives, with the background rows that are known to be what it asks for.

    The model was asked about these when the explainer was built. They take no rows, so that there is an
    answer for every budget; and since they are there for every budget, a larger one is not worse for it.
    They have archives of their own, in order not to lead the searches.
    """
    state.found.archives = [Archive(region, state.engine.metric) for region in state.query.regions]
    state.found.known = [Archive(region, state.engine.metric) for region in state.query.regions]
    rows = _known_rows(state)
    for archive in state.found.known if len(rows) else ():
        archive.record(rows, Reply(np.ones(len(rows), dtype=bool), None))


def _known_rows(state: QueryState) -> Matrix:
    """Return background rows that give the query what it asks for, the nearest such among them."""
    reaching = state.engine.background.reaching(state.query.goal)
    rows = state.engine.background.rows[reaching]
    feasible = np.zeros(len(rows), dtype=bool)
    for region in state.query.regions:
        feasible |= np.asarray(region.contains(rows))
    rows, numbers = rows[feasible], reaching[feasible]
    order = np.argsort(state.distance(rows), kind="stable")
    first, count = 0, _JUDGED_FIRST
    while first < len(order):
        some = order[first : first + count]
        reply = judged(state, rows[some], chosen(state.engine.judging.predicted, numbers[some]))
        if reply.reached.any():
            return np.asarray(rows[some][reply.reached])
        first, count = first + count, 2 * count
    return rows[:0]


def give_pools(states: States, boundary: EncodedPoints | None) -> None:
    """Give every query the rows that its searches start from."""
    pools: dict[Goal, Pool] = {}
    for state in states:
        if state.query.goal not in pools:
            pools[state.query.goal] = state.engine.background.pool(state.query.goal)
        state.pool = pools[state.query.goal]
    if boundary is not None and states:
        queries = [Lookup(state.x, state.query.regions) for state in states]
        for state, hits in zip(states, boundary.nearest(queries, _STORED), strict=True):
            state.stored = Stored(hits.rows, boundary.reaching(hits.position, state.query.goal))
            points = hits.rows[state.stored.reaching][:_STARTS]
            state.pool = Pool(np.concatenate([points, state.pool.reaching]), state.pool.guesses)
