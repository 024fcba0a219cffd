"""What a search begins with: archives, background rows that are answers already, and rows to start from."""

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import blocks, lowest
from ssba.columns.distance import nearest_numbers
from ssba.columns.space import Matrix
from ssba.index.encoded_points import EncodedPoints
from ssba.index.retrieval.finder import Query as Lookup
from ssba.models.targets import Reply
from ssba.pipeline.asking import judged
from ssba.pipeline.state import QueryState, States
from ssba.search.archive import Archive, Share
from ssba.search.regions import Numbers, Regions
from ssba.search.starts import hold_all
from ssba.search.stored import Stored

# Stored boundary points that a query's search looks at: the nearest that meet its constraints.
_STORED = 1000
# As many of them are starts beside background rows, where no plane can be laid.
_STARTS = 64
# Of the background rows that meet the constraints, so many of the nearest are judged first.
_JUDGED_FIRST = 64


def begin(states: States) -> None:
    """Give queries their archives, with the background rows that are known to be what they ask for.

    What the model says about these belongs to the explainer. They take no rows of the query, so that there
    is an answer for every budget; and since they are there for every budget, a larger one is not worse for
    it. They have archives of their own, in order not to lead the searches.
    """
    if not states:
        return
    engine, X = states[0].engine, np.array([state.x for state in states])
    held = np.array([_held(state) for state in states])
    goals = [state.query.goal for state in states]
    reaching = engine.background.reaching(X, held, goals, states[0].limits.is_over)
    for state, near in zip(states, reaching, strict=True):
        state.near = near
        state.found.archives = [Archive(region, engine.metric) for region in state.query.regions]
        state.found.known = [Archive(region, engine.metric) for region in state.query.regions]
    _note_nearest([state for state in states if _takes_any_hit(state)])
    for state in states:
        if not _takes_any_hit(state):
            _note_judged(state)


def _held(state: QueryState) -> NDArray[np.bool_]:
    """Return the columns that all regions of a query hold."""
    first, *others = state.query.regions
    return np.all([first.held, *(one.held for one in others)], axis=0) if others else np.asarray(first.held)


def _takes_any_hit(state: QueryState) -> bool:
    """Tell whether any row in the query's only region that reaches the goal is what it asks for."""
    return state.options.asks_only_for_goal and len(state.query.regions) == 1


def _note_nearest(states: States) -> None:
    """Give plain queries the nearest of the known rows that lie in their regions."""
    by_rows: dict[int, list[QueryState]] = {}
    for state in states:
        by_rows.setdefault(id(state.near), []).append(state)
    for same in by_rows.values():
        engine = same[0].engine
        rows = engine.judging.known.rows[same[0].near]
        regions = Regions(tuple(state.query.regions[0] for state in same), np.arange(len(same)))
        whole = hold_all(regions, regions.query, rows)
        held = np.flatnonzero(whole)
        _note(same, held, rows, *nearest_numbers(engine.metric, regions.x[held], rows, _JUDGED_FIRST))
        cut = np.flatnonzero(~whole)
        for part in blocks(len(cut), rows.size):
            some = cut[part]
            far = engine.metric.distance(rows, regions.x[some][:, None])
            far = np.where(regions.contains_each(rows, some), far, np.inf)
            order = lowest(far, _JUDGED_FIRST)
            _note(same, some, rows, order, np.take_along_axis(far, order, axis=1))


def _note(states: States, numbers: Numbers, rows: Matrix, order: Numbers, far: Matrix) -> None:
    """Give some of the queries those of their nearest rows that lie in their regions."""
    counts = np.isfinite(far).sum(axis=1).tolist()
    for number, own, lengths, count in zip(numbers.tolist(), order, far, counts, strict=True):
        if count:
            states[number].found.known[0].add(Share(rows, own[:count]), lengths[:count])


def _note_judged(state: QueryState) -> None:
    """Give a query the known rows that are what it asks for, where that takes more than to reach the goal."""
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
