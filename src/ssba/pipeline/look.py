"""Whether a query has an answer at all, in few rows; which one is the nearest does not matter here.

Rows that reach under other constraints are pulled into the regions first. Where none of them reaches there,
the score is followed uphill from the best of them.
"""

from collections.abc import Callable

import numpy as np

from ssba.columns.space import Matrix
from ssba.pipeline.asking import asked, capped
from ssba.pipeline.nearest_rows import run_stages
from ssba.pipeline.state import QueryState, Searching, States
from ssba.search.climb import climb_in_few_calls
from ssba.search.lanes import different

LOOK_ROWS = 400
"""What a look may spend: 9 in 10 of the searches that find anything do so within 240 rows."""

# Of the rows that reach elsewhere so many are asked about in a region: those that being pulled in changes
# least, and as many that come nearest to the query.
_PULLED = 24


def look(states: States, known: Matrix, search: Callable[[States], None]) -> None:
    """Look for rows that reach in the regions of queries; `known` are some that reach elsewhere.

    Without scores to follow there is a `search`, as with few changes allowed, where they lead nowhere.
    """
    run_stages(states, [_pulled_in(state, known) for state in states])
    climbing, others = list[QueryState](), list[QueryState]()
    for state in states:
        if not state.found.has_hits:
            leads = state.engine.judging.gives_margins and state.options.max_changes is None
            (climbing if leads else others).append(state)
    run_stages(climbing, [_uphill(state) for state in climbing])
    search(others)


def _pulled_in(state: QueryState, known: Matrix) -> Searching[None]:
    """Ask about rows that reach elsewhere, and of the background, pulled into the regions of a query."""
    background = state.engine.judging.known.rows[state.near]
    background = background[~np.isnan(background).any(axis=1)]
    known = np.concatenate([known, background])
    for archive in state.region_archives:
        rows, fine = archive.region.pull_in(known)
        rows = rows[fine]
        moved = np.asarray(state.engine.metric.distance(rows, known[fine]))
        orders = [np.argsort(far, kind="stable")[:_PULLED] for far in (moved, state.distance(rows))]
        rows = rows[np.concatenate(orders)]
        yield from asked(state, rows[different(rows)], archive)
        if state.found.has_hits:
            return


def _uphill(state: QueryState) -> Searching[None]:
    """Go uphill in the regions of a query for which nothing was found, from the best misses."""
    for archive in sorted(state.region_archives, key=lambda archive: -archive.miss_margin):
        if archive.miss is not None and not state.found.has_hits and state.may_go_on:
            yield from capped(state, climb_in_few_calls(archive.region, archive.miss), archive)
