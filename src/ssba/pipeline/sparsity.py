"""Fewer changed columns at a price in distance, and answers by different columns."""

from collections import deque

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.constraints.regions.freeze import holding
from ssba.constraints.regions.region import Region
from ssba.pipeline.max_changes import Part, part_of, search_part
from ssba.pipeline.metering import asking, capped
from ssba.pipeline.state import QueryState, Vector
from ssba.search.few import forced_columns
from ssba.search.pick import pick_order
from ssba.search.sparse import column_sets, stretched_to

# Where no quick try works, so many of the least useful columns are left out in a search of their own.
_SETS_SEARCHED = 2
# With a column held, the nearest answer's other changes are tried at so many times its length.
_FACTORS = (1.02, 1.1, 1.25, 1.5, 2.0, 3.0, 6.0)
# Searches for further levers, for each answer wanted.
_SEARCHES_AN_ANSWER = 4


def sparsify(state: QueryState) -> Asking[None]:
    """Look for rows with fewer changes that are not much longer than the nearest answer."""
    if state.found.has_hits:
        row = state.found.nearest_row
        row = yield from _fewer_columns(state, state.query.region_of(row), row)
        state.found.levers.append(row)


def search_levers(state: QueryState) -> Asking[None]:
    """Look for answers by other columns: hold a column of a known answer, and search again.

    An answer whose set of changed columns does not contain that of another leaves one of its columns as it
    is. Which one is found by trying: each column of each answer, on top of what was held to find it.
    """
    options = state.options
    if options.diversity != "levers" or options.k == 1 or not state.found.levers:
        return
    region = state.query.region_of(state.found.levers[0])
    waiting = deque(_held_next(state, frozenset(), state.found.levers[0]))
    seen = set(waiting)
    for _ in range(_SEARCHES_AN_ANSWER * options.k):
        out = state.limits.rows <= state.rows_asked or state.limits.is_over()
        if not waiting or out or _count_levers(state) == options.k:
            return
        held = waiting.popleft()
        found = yield from _search_holding(state, region, held)
        if found is not None:
            state.found.levers.append(found)
            more = [one for one in _held_next(state, held, found) if one not in seen]
            waiting.extend(more)
            seen.update(more)


def _count_levers(state: QueryState) -> int:
    rows = np.stack(state.found.levers)
    return pick_order(rows, state.x, state.engine.metric, state.options.k, 0, diversity="levers")[1]


def _held_next(state: QueryState, held: frozenset[int], row: Vector) -> list[frozenset[int]]:
    """Return what to hold so as not to get the row's columns again, the most important of them first."""
    parts = state.engine.metric.parts(row[None, :], state.x)[0]
    changed = np.flatnonzero(changed_cells(row[None, :], state.x)[0])
    return [held | {int(j)} for j in changed[np.argsort(-parts[changed], kind="stable")]]


def _search_holding(state: QueryState, region: Region, held: frozenset[int]) -> Asking[Vector | None]:
    """Search with some columns held, and for few columns there; return the answer, if there is one."""
    part = holding(region, np.isin(np.arange(len(state.x)), list(held)), state.engine.metric)
    if part is None:
        return None
    free = frozenset(int(j) for j in np.flatnonzero(part.free))
    row, length = state.found.nearest_row, state.found.best_distance
    longer = [stretched_to(part, state.engine.metric, row, factor * length) for factor in _FACTORS]
    starts = np.stack([one for one in longer if one is not None] or [part.start])
    archive = yield from search_part(state, Part(part, free, starts))
    if not archive.has_found:
        return None
    return (yield from _fewer_columns(state, part, archive.nearest(1)[0]))


def _fewer_columns(state: QueryState, region: Region, row: Vector) -> Asking[Vector]:
    """Leave out columns of an answer as long as the price allows it; return the row with the fewest.

    First all smaller sets of columns are tried at once, with the row's own changes stretched to what the
    price allows; the smallest set that works is searched. Where none works the least useful columns
    are left out in a search of their own.
    """
    longest = state.options.price * float(state.distance(row[None, :])[0])
    forced = forced_columns(region)
    while state.limits.rows > state.rows_asked and not state.limits.is_over():
        parts = state.engine.metric.parts(row[None, :], state.x)[0]
        changed = np.flatnonzero(changed_cells(row[None, :], state.x)[0])
        columns = [int(j) for j in changed[np.argsort(parts[changed], kind="stable")]]
        tries = _tries(state, region, row, column_sets(columns, forced), longest)
        reached = yield from _which_reach(state, region, tries)
        fewer = [one for one, hit in zip(tries, reached, strict=True) if hit][:1]
        largest = max((len(one.free) for one in tries), default=0)
        fewer = fewer or [one for one in tries if len(one.free) == largest][:_SETS_SEARCHED]
        found = yield from _first_within(state, fewer, longest)
        if found is None:
            return row
        row = found
    return row


def _tries(
    state: QueryState, region: Region, row: Vector, sets: list[tuple[int, ...]], longest: float
) -> list[Part]:
    """Return the parts of the region for sets of columns, each with the row stretched to start from."""
    tries = []
    for columns in sets:
        part = part_of(region, columns, state.engine.metric)
        start = None if part is None else stretched_to(part, state.engine.metric, row, longest)
        if part is not None and start is not None:
            tries.append(Part(part, frozenset(columns), start[None, :]))
    return tries


def _which_reach(state: QueryState, region: Region, tries: list[Part]) -> Asking[list[bool]]:
    if not tries:
        return []
    rows = np.concatenate([one.starts for one in tries])
    archive = state.new_archive(region)
    reply = yield from capped(state, asking(rows), archive, len(rows))
    return [False] * len(rows) if reply is None else [bool(one) for one in reply.reached]


def _first_within(state: QueryState, parts: list[Part], longest: float) -> Asking[Vector | None]:
    """Search parts of a region until one has an answer that is not too long."""
    for part in parts:
        archive = yield from search_part(state, part)
        if archive.best_distance <= longest:
            return np.asarray(archive.nearest(1)[0])
    return None
