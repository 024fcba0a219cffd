"""Answers by other columns, and by fewer: the search goes on without columns of a known answer.

Whatever set of columns reaches the target leaves a column of the nearest answer as it is, unless it contains
all of them. So the nearest answer by another set is the nearest of those with one of these columns held; the
next comes from there in the same way. Fewer columns have a price in distance.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.constraints.regions.freeze import holding
from ssba.constraints.regions.region import Region
from ssba.pipeline.asking import asked
from ssba.pipeline.max_changes import Part, part_of, search_parts
from ssba.pipeline.state import QueryState, Searching, Vector
from ssba.search.few import column_sets, forced_columns, stretched_to
from ssba.search.pick import pick_order

# With a column held, the nearest answer's other changes are tried at so many times its length.
_FACTORS = (1.02, 1.1, 1.25, 1.5, 2.0, 3.0, 6.0)

# Searches with columns held, for each answer wanted.
_SEARCHES_AN_ANSWER = 4

# Of the ways to meet the constraints, the nearest so many are searched each time.
_MOST_REGIONS = 4
Held = frozenset[int]

# Where no quick try works, so many of the least useful columns are left out in a search of their own.
_SETS_SEARCHED = 2


@dataclass
class _Known:
    """What was found with which columns held, and what of it is still to be followed, nearest first."""

    state: QueryState
    found: dict[Held, Vector | None] = field(default_factory=dict)
    waiting: list[tuple[float, int, Held]] = field(default_factory=list)

    def add(self, held: Held, row: Vector | None) -> None:
        self.found[held] = row
        if row is not None:
            far = float(self.state.distance(row[None, :])[0])
            heapq.heappush(self.waiting, (far, len(self.found), held))

    def implied(self, held: Held) -> Vector | None:
        """Return the nearest row with some columns held where one found with fewer held leaves them all."""
        for fewer, row in self.found.items():
            if fewer < held and row is not None and not self._changed(row)[list(held)].any():
                return row
        return None

    def next_held(self, held: Held) -> Iterator[Held]:
        """Yield what to hold so as not to get an answer's columns again, the most important of them first."""
        row = self.found[held]
        assert row is not None
        parts = self.state.engine.metric.parts(row[None, :], self.state.x)[0]
        changed = np.flatnonzero(self._changed(row))
        for j in changed[np.argsort(-parts[changed], kind="stable")]:
            if held | {int(j)} not in self.found:
                yield held | {int(j)}

    def _changed(self, row: Vector) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(changed_cells(row[None, :], self.state.x)[0])


def search_other_columns(state: QueryState) -> Searching[None]:
    """Look for the nearest answers by other sets of columns, until there are as many as asked for."""
    if not state.found.has_hits:
        return
    rows, known = state.found.by_columns, _Known(state)
    if not rows:
        rows.append(state.found.nearest_row)
    known.add(frozenset(), rows[0])
    followed: list[Vector] = []
    while known.waiting:
        held = heapq.heappop(known.waiting)[2]
        row = known.found[held]
        assert row is not None
        followed.append(row)
        if _count(state, followed) == state.options.k:
            return
        for more in known.next_held(held):
            found = known.implied(more)
            if found is None:
                if not _may_search(state):
                    state.found.column_searches_left += 1
                    continue
                state.found.column_searches += 1
                found = yield from _search_holding(state, more)
                rows += [] if found is None else [found]
            known.add(more, found)


def _may_search(state: QueryState) -> bool:
    """Tell whether there may be another search: where calls are dear, one for each answer by levers."""
    most = state.options.k * _SEARCHES_AN_ANSWER
    if state.has_few_calls:
        most = state.options.k if state.options.diversity == "levers" else 0
    return state.may_go_on and state.found.column_searches < most


def _count(state: QueryState, rows: list[Vector]) -> int:
    """Return how many different answers rows are, by their columns alone."""
    found, metric = np.stack(rows), state.engine.metric
    if state.options.diversity == "levers":
        return pick_order(found, state.x, metric, state.options.k, 0, diversity="levers")[1]
    return len(np.unique(changed_cells(found, state.x), axis=0))


def _search_holding(state: QueryState, held: Held) -> Searching[Vector | None]:
    """Search with some columns held, and for few columns there; return the answer, if there is one."""
    best: Vector | None = None
    nearest = np.inf
    regions = sorted(state.query.regions, key=lambda region: region.begins)[:_MOST_REGIONS]
    for region in regions:
        part = holding(region, np.isin(np.arange(len(state.x)), list(held)), state.engine.metric)
        if part is None or part.begins >= nearest:
            continue
        (archive,) = yield from search_parts(state, [Part(part, _free(part), _starts(state, part))])
        if archive.best_distance < nearest:
            nearest, best = archive.best_distance, archive.nearest(1)[0]
            if state.options.price > 1:
                best = yield from fewer_columns(state, part, best)
    return best


def _free(part: Region) -> frozenset[int]:
    return frozenset(int(j) for j in np.flatnonzero(part.free))


def _starts(state: QueryState, part: Region) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the nearest answer's other changes, made longer to make up for what is held."""
    row, length = state.found.nearest_row, state.found.best_distance
    longer = [stretched_to(part, state.engine.metric, row, factor * length) for factor in _FACTORS]
    return np.stack([one for one in longer if one is not None] or [part.start])


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
    while state.may_go_on:
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
    reply = yield from asked(state, rows, archive)
    return [False] * len(rows) if reply is None else [bool(one) for one in reply.reached]


def _first_within(state: QueryState, parts: list[Part], longest: float) -> Searching[Vector | None]:
    """Search parts of a region until one has an answer that is not too long."""
    if not parts:
        return None
    archives = yield from search_parts(state, parts)
    return next((np.asarray(one.nearest(1)[0]) for one in archives if one.best_distance <= longest), None)
