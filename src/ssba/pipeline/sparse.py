"""Fewer changed columns at a price in distance, and answers by different columns."""

from collections import deque

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.constraints.regions.freeze import holding
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.pipeline.case import Case, Limits, Vector
from ssba.pipeline.few import Part, part_of, search_part
from ssba.pipeline.metering import asking, tried
from ssba.search.archive import Archive
from ssba.search.few import changed_cells, forced_columns
from ssba.search.pick import pick_order
from ssba.search.sparse import column_sets, stretched_to

# Where no quick try works, so many of the least useful columns are left out in a search of their own.
_SETS_SEARCHED = 2
# With a column held, the nearest answer's other changes are tried at so many times its length.
_FACTORS = (1.02, 1.1, 1.25, 1.5, 2.0, 3.0, 6.0)
# Searches for further levers, for each answer wanted.
_SEARCHES_AN_ANSWER = 4


def sparsify(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Look for rows with fewer changes that are not much longer than the nearest answer."""
    if case.request.price > 1 and case.has_hits:
        row = case.nearest_row
        row = yield from _fewer_columns(engine, case, _region_of(case, row), row, limits)
        case.levers.append(row)


def search_levers(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Look for answers by other columns: hold a column of a known answer, and search again.

    An answer whose set of changed columns does not contain that of another leaves one of its columns as it
    is. Which one is found by trying: each column of each answer, on top of what was held to find it.
    """
    request = case.request
    if request.diversity != "levers" or request.k == 1 or not case.levers:
        return
    region = _region_of(case, case.levers[0])
    waiting = deque(_held_next(engine, case, frozenset(), case.levers[0]))
    seen = set(waiting)
    for _ in range(_SEARCHES_AN_ANSWER * request.k):
        out = limits.rows <= case.rows_asked or limits.is_over()
        if not waiting or out or _count_levers(engine, case) == request.k:
            return
        held = waiting.popleft()
        found = yield from _search_holding(engine, case, region, held, limits)
        if found is not None:
            case.levers.append(found)
            more = [one for one in _held_next(engine, case, held, found) if one not in seen]
            waiting.extend(more)
            seen.update(more)


def _count_levers(engine: Engine, case: Case) -> int:
    rows = np.stack(case.levers)
    return pick_order(rows, case.x, engine.metric, case.request.k, 0, diversity="levers")[1]


def _held_next(engine: Engine, case: Case, held: frozenset[int], row: Vector) -> list[frozenset[int]]:
    """Return what to hold so as not to get the row's columns again, the most important of them first."""
    parts = engine.metric.parts(row[None, :], case.x)[0]
    changed = np.flatnonzero(changed_cells(row[None, :], case.x)[0])
    return [held | {int(j)} for j in changed[np.argsort(-parts[changed], kind="stable")]]


def _search_holding(
    engine: Engine, case: Case, region: Region, held: frozenset[int], limits: Limits
) -> Asking[Vector | None]:
    """Search with some columns held, and for few columns there; return the answer, if there is one."""
    part = holding(region, np.isin(np.arange(len(case.x)), list(held)), engine.metric)
    if part is None:
        return None
    free = frozenset(int(j) for j in np.flatnonzero(part.free))
    row, length = case.nearest_row, case.best_distance
    longer = [stretched_to(part, engine.metric, row, factor * length) for factor in _FACTORS]
    starts = np.stack([one for one in longer if one is not None] or [part.start])
    archive = yield from search_part(engine, case, Part(part, free, starts), limits)
    if not archive.has_found:
        return None
    return (yield from _fewer_columns(engine, case, part, archive.nearest(1)[0], limits))


def _region_of(case: Case, row: Vector) -> Region:
    return next(region for region in case.regions if region.contains(row[None, :])[0])


def _fewer_columns(engine: Engine, case: Case, region: Region, row: Vector, limits: Limits) -> Asking[Vector]:
    """Leave out columns of an answer as long as the price allows it; return the row with the fewest.

    First all smaller sets of columns are tried at once, with the row's own changes stretched to what the
    price allows; the smallest set that works is searched. Where none works the least useful columns
    are left out in a search of their own.
    """
    longest = case.request.price * float(engine.metric.distance(row[None, :], case.x)[0])
    forced = forced_columns(region)
    while limits.rows > case.rows_asked and not limits.is_over():
        parts = engine.metric.parts(row[None, :], case.x)[0]
        changed = np.flatnonzero(changed_cells(row[None, :], case.x)[0])
        columns = [int(j) for j in changed[np.argsort(parts[changed], kind="stable")]]
        tries = _tries(engine, region, row, column_sets(columns, forced), longest)
        reached = yield from _which_reach(engine, case, region, tries, limits)
        fewer = [one for one, hit in zip(tries, reached, strict=True) if hit][:1]
        largest = max((len(one.free) for one in tries), default=0)
        fewer = fewer or [one for one in tries if len(one.free) == largest][:_SETS_SEARCHED]
        found = yield from _first_within(engine, case, fewer, longest, limits)
        if found is None:
            return row
        row = found
    return row


def _tries(
    engine: Engine, region: Region, row: Vector, sets: list[tuple[int, ...]], longest: float
) -> list[Part]:
    """Return the parts of the region for sets of columns, each with the row stretched to start from."""
    tries = []
    for columns in sets:
        part = part_of(region, columns, engine.metric)
        start = None if part is None else stretched_to(part, engine.metric, row, longest)
        if part is not None and start is not None:
            tries.append(Part(part, frozenset(columns), start[None, :]))
    return tries


def _which_reach(
    engine: Engine, case: Case, region: Region, tries: list[Part], limits: Limits
) -> Asking[list[bool]]:
    if not tries:
        return []
    rows = np.concatenate([one.starts for one in tries])
    archive = Archive(region, engine.metric)
    case.archives.append(archive)
    reply = yield from tried(case, asking(rows), archive, len(rows), limits)
    return [False] * len(rows) if reply is None else [bool(one) for one in reply.reached]


def _first_within(
    engine: Engine, case: Case, parts: list[Part], longest: float, limits: Limits
) -> Asking[Vector | None]:
    """Search parts of a region until one has an answer that is not too long."""
    for part in parts:
        archive = yield from search_part(engine, case, part, limits)
        if archive.best_distance <= longest:
            return np.asarray(archive.nearest(1)[0])
    return None
