"""The search under a limit on how many columns may change: in the regions that hold all but a few columns.

A short search without the limit and single changes tell which columns are useful; rows that change only a few
of these are asked; and the most promising sets of columns are searched one after the other. Where more
columns must change than may, for certain, the query is infeasible.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ssba.arrays import Mask
from ssba.columns.distance import Metric, changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.compile import compile_query, needed_for
from ssba.constraints.regions.freeze import holding, part_holding
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.pipeline.asking import asked, capped
from ssba.pipeline.nearest_rows import Hunt
from ssba.pipeline.plain_search import search_plainly
from ssba.pipeline.state import QueryState, Searching, Vector
from ssba.results.explanation import Status
from ssba.search.archive import Archive
from ssba.search.climb import changed_once
from ssba.search.exhaust import MAX_ENUMERATED, legal_rows_within
from ssba.search.few import (
    MOST_SETS,
    NEXT_TO_NOTHING,
    Singles,
    all_sets,
    best_singles,
    forced_columns,
    nearer_by_bisection,
    set_probes,
    sets_to_try,
    usefulness,
)
from ssba.search.starts import Pool

# The last search begins from so many rows.
_FOLLOWED = 16
_SETS_BISECTED = 32
_SETS_SEARCHED = 4
# What the search of one set of columns may spend: so much, and so much for each column.
_ROWS_A_SET, _ROWS_A_COLUMN = 150, 50
_TOLERANCE, _FINE = 0.01, 1e-4
_MOST_ROWS = 600


@dataclass(frozen=True)
class Part:
    """A region that holds all but some columns, and rows to begin with there."""

    region: Region
    free: frozenset[int]
    starts: Matrix


def search_few(state: QueryState, most: int) -> Searching[None]:
    """Search all regions of a state for rows that change at most so many columns."""
    for archive in state.region_archives:
        if state.found.begins_nearer(archive.region) and not state.has_enough:
            yield from _search_region(state, archive, most)


def _search_region(state: QueryState, archive: Archive, most: int) -> Searching[None]:
    region = archive.region
    yield from asked(state, region.start[None, :], archive)
    known, order, singles = yield from _columns_by_use(state, archive, most)
    parts = [
        Part(part, frozenset(columns), set_probes(part, known, singles))
        for columns, part in _feasible_parts(state, region, order, most)
    ]
    reached = yield from _probe(state, archive, parts)
    promising = [part for part in _most_promising(parts, reached) if state.found.begins_nearer(part.region)]
    if promising:
        archives = yield from search_parts(state, promising)
        best = min(archives, key=lambda archive: archive.best_distance)
        if best.has_found and not state.has_enough:
            # The best set of columns is worth a search that goes to its end.
            yield Hunt(((best.region, Pool(best.nearest(_FOLLOWED))),))


def _feasible_parts(
    state: QueryState, region: Region, order: list[int], most: int
) -> list[tuple[tuple[int, ...], Region]]:
    """Return the most useful small sets of columns whose change alone is feasible, and what they may be.

    The columns in which the feasible row nearest to the query differs are one such set if they are few.
    Where relations rule out all sets that seemed useful, others are tried.
    """
    moved = np.flatnonzero(changed_cells(region.start[None, :], region.x)[0]).tolist()
    forced = forced_columns(region)
    sets = dict.fromkeys([*sets_to_try(order, moved, most), *sets_to_try(order, forced, most)])
    found = _parts(state, region, sets)
    if found or region.linear is None:
        return found
    related = [j for j in order if (region.linear.A[:, j] != 0).any()]
    others = (one for one in all_sets(related, forced, most) if one not in sets)
    return _parts(state, region, itertools.islice(others, MOST_SETS))


def _parts(
    state: QueryState, region: Region, sets: Iterable[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], Region]]:
    found = []
    for columns in sets:
        part = None if state.limits.is_over() else part_of(region, columns, state.engine.metric)
        if part is not None:
            found.append((columns, part))
    return found


def _most_promising(parts: list[Part], reached: list[float]) -> list[Part]:
    """Return the parts that lie in no other, the one first that holds the nearest row known."""
    widest = [one for one in parts if not any(one.free < other.free for other in parts)]

    def nearest(one: Part) -> float:
        return min(near for near, other in zip(reached, parts, strict=True) if other.free <= one.free)

    return sorted(widest, key=nearest)[:_SETS_SEARCHED]


def part_of(region: Region, columns: tuple[int, ...] | frozenset[int], metric: Metric) -> Region | None:
    """Return the part of a region in which only `columns` may change."""
    return holding(region, _others(region, columns), metric)


def _others(region: Region, columns: Iterable[int]) -> Mask:
    return ~np.isin(np.arange(len(region.x)), list(columns))


def search_parts(state: QueryState, parts: Sequence[Part]) -> Searching[list[Archive]]:
    """Search parts of regions for the nearest rows, from the parts' own starts and the usual ones."""
    pools = [state.pool.with_guesses(part.starts) if len(part.starts) else state.pool for part in parts]
    wished = zip((part.region for part in parts), pools, strict=True)
    rows = [min(_ROWS_A_SET + _ROWS_A_COLUMN * len(part.free), _MOST_ROWS) for part in parts]
    archives: list[Archive] = yield Hunt(tuple(wished), sum(rows))
    for archive in archives:
        if archive.has_found:
            # The search may have come to its limit before it came all the way back.
            search = nearer_by_bisection(archive.region, archive.nearest(1), _FINE)
            yield from capped(state, search, archive)
    return archives


def _columns_by_use(
    state: QueryState, archive: Archive, most: int
) -> Searching[tuple[Vector, list[int], Singles]]:
    """Return a row that shows where each free column should go, the columns in order, and each alone."""
    region = archive.region
    found = yield from _scout(state, archive, most)
    singles = yield from _try_singles(state, archive)
    known = singles.values
    if len(found):
        known = np.where(changed_cells(found[:1], region.start)[0], found[0], known)
    use = usefulness(state.engine.metric.parts(found, state.x), singles.alone, singles.gains)
    return known, [int(j) for j in np.argsort(-use, kind="stable") if region.free[j]], singles


def _try_singles(state: QueryState, archive: Archive) -> Searching[Singles]:
    """Change one column at a time as far as it goes, and come back from where the target was reached."""
    region = archive.region
    probes = changed_once(region, region.start, (1.0,))
    reach, slopes = np.full(len(probes), np.inf), np.zeros(len(probes))
    reply = yield from asked(state, probes, archive)
    if reply is not None:
        if reply.margin is not None:
            far = state.engine.metric.distance(probes, region.start)
            slopes = reply.margin / np.maximum(far, NEXT_TO_NOTHING)
            slopes -= slopes.min()
        near = yield from _nearer(state, archive, probes[reply.reached])
        reach[reply.reached] = state.engine.metric.distance(near, region.start)
    return best_singles(region, probes, reach, slopes)


def _nearer(state: QueryState, archive: Archive, rows: Matrix) -> Searching[Matrix]:
    """Bisect from the start to rows that reached the target; rows as they are where the budget ends."""
    if not len(rows):
        return rows
    search = nearer_by_bisection(archive.region, rows, _TOLERANCE)
    near = yield from capped(state, search, archive)
    return rows if near is None else near


def _scout(state: QueryState, archive: Archive, most: int) -> Searching[Matrix]:
    """Search without the limit on changes; return the nearest rows that reached the target.

    What changes few enough columns is an answer: so none is farther than the plain answer that qualifies.
    """
    scouts = yield from search_plainly(state, archive.region)
    hits = [rows for scout in scouts if scout.has_found for rows in scout.hits]
    if hits and not state.options.plausible:
        rows = np.concatenate(hits)
        few = rows[changed_cells(rows, state.x).sum(axis=1) <= most]
        archive.record(few, Reply(np.ones(len(few), dtype=bool), None))
    return np.asarray(min(scouts, key=lambda scout: scout.best_distance).nearest(8))


def _probe(state: QueryState, archive: Archive, parts: list[Part]) -> Searching[list[float]]:
    """Ask about the starts of all parts at once; return how near each has a row that reached the target."""
    rows = [part.starts for part in parts]
    if not any(map(len, rows)):
        return [np.inf] * len(parts)
    starts, owner = np.concatenate(rows), np.repeat(np.arange(len(parts)), list(map(len, rows)))
    reply = yield from asked(state, starts, archive)
    reached = np.zeros(len(starts), dtype=bool) if reply is None else reply.reached
    distances = np.where(reached, state.distance(starts), np.inf)
    first = [int(i) for i in np.lexsort([distances, owner])[np.r_[True, np.diff(np.sort(owner)) > 0]]]
    best = sorted((i for i in first if reached[i]), key=lambda i: (distances[i], i))[:_SETS_BISECTED]
    near = yield from _nearer(state, archive, starts[best])
    distances[best] = state.distance(near)
    return [float(np.min(distances[owner == i], initial=np.inf)) for i in range(len(parts))]


def refuse_too_few_changes(state: QueryState) -> None:
    """Call a state infeasible where it is certain that more columns must change than may."""
    most = state.options.max_changes
    if most is None or state.found.status is not None or not state.query.has_all_regions:
        return
    engine, limits = state.engine, state.limits
    if not force_too_many(state.query.regions, most, engine.metric):
        return

    def forcing(rest: Sequence[Constraint]) -> bool:
        compiled = compile_query(engine.space, engine.metric, state.x, rest, limits.deadline)
        return (
            not limits.is_over()
            and compiled.complete
            and force_too_many(compiled.regions, most, engine.metric)
        )

    state.found.status = Status.INFEASIBLE
    limit = next(one for one in state.options.limits if one.startswith("max_changes"))
    state.found.clash = (*(one.text for one in needed_for(forcing, state.query.constraints)), limit)


def force_too_many(regions: Sequence[Region], most: int, metric: Metric) -> bool:
    """Tell whether it is certain that more columns must change than may, in every region.

    A column must change where its own cell is not legal, whatever the others are. What relations ask of
    several columns together only counts where no other column may change, or where all legal rows that change
    so few can be listed; else it is left to the search.
    """
    return all(_forces_too_many(region, most, metric) for region in regions)


def _forces_too_many(region: Region, most: int, metric: Metric) -> bool:
    forced = forced_columns(region)
    if len(forced) > most or region.linear is None:
        return len(forced) > most
    if len(forced) == most:
        return part_holding(region, _others(region, forced), metric).is_empty
    rows = legal_rows_within(region, metric, math.inf, MAX_ENUMERATED, most)
    return rows is not None and not len(rows)


def allow_few(regions: Sequence[Region], most: int, metric: Metric) -> bool:
    """Tell whether a feasible row is known, of any region, that changes at most so many columns."""
    return any(_allows_few(region, most, metric) for region in regions)


def _allows_few(region: Region, most: int, metric: Metric) -> bool:
    if changed_cells(region.start[None, :], region.x).sum() <= most:
        return True
    forced, free = forced_columns(region), np.flatnonzero(region.free).tolist()
    if len(forced) > most or region.linear is None:
        return False
    sets = itertools.islice(all_sets(free, forced, most), MOST_SETS)
    return any(part_of(region, columns, metric) is not None for columns in sets)
