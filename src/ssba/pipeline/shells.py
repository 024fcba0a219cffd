"""All legal rows from the query outward, where these are few: the first to reach is the nearest there is."""

import math
from collections.abc import Iterator, Sequence

from ssba.boundary.bisection import Asking
from ssba.pipeline.metering import capped
from ssba.pipeline.state import QueryState
from ssba.search.archive import Archive
from ssba.search.exhaust import Extent, ask_all, extent_of, legal_rows_within

# More rows than this are not asked for the sake of an exact answer.
MAX_ENUMERATED = 8000
# Rows come in shells: the first has so many of the coarsest steps, each other is so many times as wide.
_FIRST, _WIDER = 4.0, 1.5


def search_in_shells(state: QueryState) -> Asking[bool]:
    """Ask about ever more distant legal rows until one reaches the target; tell whether that could be done.

    It can where evidence is asked for, and the budget allows for all rows.
    """
    options, archives = state.options, state.region_archives
    if not options.evidence or options.wants_few or options.radius is not None:
        return False
    extents = [extent_of(archive.region, state.engine.metric, MAX_ENUMERATED) for archive in archives]
    known = [extent for extent in extents if extent is not None]
    allowed = min(MAX_ENUMERATED, state.limits.rows - state.rows_asked)
    if len(known) < len(extents) or sum(extent.rows for extent in known) > allowed:
        return False
    for inner, outer in _shells(known):
        for archive in archives:
            yield from _ask_between(state, archive, (inner, outer))
        # All rows within the shell were asked; what time left unasked is marked in its archive.
        if state.found.best_distance <= outer or any(archive.stopped for archive in archives):
            break
    state.found.exhausted = not any(archive.stopped for archive in archives)
    return True


def _shells(extents: Sequence[Extent]) -> Iterator[tuple[float, float]]:
    inner, outer = 0.0, _FIRST * max(extent.step for extent in extents) or 1.0
    while inner <= max(extent.farthest for extent in extents):
        yield inner, outer
        inner, outer = outer, _WIDER * outer


def _ask_between(state: QueryState, archive: Archive, radii: tuple[float, float]) -> Asking[None]:
    """Ask about the legal rows of a region between two distances, nearest first, until one reaches."""
    rows = legal_rows_within(archive.region, state.engine.metric, radii[1], MAX_ENUMERATED)
    assert rows is not None
    distances = state.distance(rows)
    beyond = int((distances < radii[0]).sum())
    search = ask_all(rows[beyond:], distances[beyond:], lambda: state.found.best_distance)
    yield from capped(state, search, archive, math.inf)
