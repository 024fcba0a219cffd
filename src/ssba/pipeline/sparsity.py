"""Fewer changed columns at a price in distance."""

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.constraints.regions.region import Region
from ssba.pipeline.max_changes import Part, part_of, search_parts
from ssba.pipeline.metering import asking, capped
from ssba.pipeline.state import QueryState, Searching, Vector
from ssba.search.few import forced_columns
from ssba.search.sparse import column_sets, stretched_to

# Where no quick try works, so many of the least useful columns are left out in a search of their own.
_SETS_SEARCHED = 2


def sparsify(state: QueryState) -> Searching[None]:
    """Look for rows with fewer changes that are not much longer than the nearest answer."""
    if state.found.has_hits:
        row = state.found.nearest_row
        row = yield from fewer_columns(state, state.query.region_of(row), row)
        state.found.by_columns.append(row)


def fewer_columns(state: QueryState, region: Region, row: Vector) -> Searching[Vector]:
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


def _which_reach(state: QueryState, region: Region, tries: list[Part]) -> Searching[list[bool]]:
    if not tries:
        return []
    rows = np.concatenate([one.starts for one in tries])
    archive = state.new_archive(region)
    reply = yield from capped(state, asking(rows), archive, len(rows))
    return [False] * len(rows) if reply is None else [bool(one) for one in reply.reached]


def _first_within(state: QueryState, parts: list[Part], longest: float) -> Searching[Vector | None]:
    """Search parts of a region until one has an answer that is not too long."""
    if not parts:
        return None
    archives = yield from search_parts(state, parts)
    return next((np.asarray(one.nearest(1)[0]) for one in archives if one.best_distance <= longest), None)
