"""Answers by other columns: columns of a known answer are held, and the search goes on without them.

Whatever set of columns reaches the target leaves a column of the nearest answer as it is, unless it contains
all of them. So the nearest answer by another set is the nearest of those with one of these columns held; the
next comes from there in the same way.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.constraints.regions.freeze import holding
from ssba.constraints.regions.region import Region
from ssba.pipeline.max_changes import Part, search_parts
from ssba.pipeline.sparsity import fewer_columns
from ssba.pipeline.state import QueryState, Searching, Vector
from ssba.search.pick import pick_order
from ssba.search.sparse import stretched_to

# With a column held, the nearest answer's other changes are tried at so many times its length.
_FACTORS = (1.02, 1.1, 1.25, 1.5, 2.0, 3.0, 6.0)
# Searches with columns held, for each answer wanted.
_SEARCHES_AN_ANSWER = 4
# Of the ways to meet the constraints, the nearest so many are searched each time.
_MOST_REGIONS = 4

Held = frozenset[int]


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
    most = _SEARCHES_AN_ANSWER * state.options.k
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
