"""Whether a query has an answer at all, in few rows; which one is the nearest does not matter here.

Rows that reach under other constraints are pulled into the regions first. Where none of them reaches there,
the score is followed uphill from the best of them.
"""

import numpy as np

from ssba.columns.space import Matrix
from ssba.pipeline.asking import asked, capped
from ssba.pipeline.nearest_rows import run_stages
from ssba.pipeline.state import QueryState, Searching, States
from ssba.search.archive import Archive
from ssba.search.climb import climb_in_few_calls
from ssba.search.lanes import different

LOOK_ROWS = 400
"""What a look may spend: 9 in 10 of the searches that find anything do so within 240 rows."""

# Of the rows that reach elsewhere so many are asked about in a region: those that being pulled in changes
# least, and as many that come nearest to the query.
_PULLED = 24


def pull_in_known(states: States, known: Matrix) -> None:
    """Ask about rows that reach elsewhere, and of the background, pulled into the regions of queries."""
    run_stages(states, [_pulled_in(state, known) for state in states])


def _pulled_in(state: QueryState, known: Matrix) -> Searching[None]:
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


def can_climb(state: QueryState) -> bool:
    """Tell whether a row can be followed uphill by score; with few changes allowed that leads nowhere."""
    return state.engine.judging.gives_margins and state.options.max_changes is None


def follow_scores(states: States) -> None:
    """Go uphill in the regions of queries for which nothing was found, from the best misses."""
    run_stages(states, [_uphill(state) for state in states])


def _uphill(state: QueryState) -> Searching[None]:
    for archive in sorted(state.region_archives, key=_by_margin):
        if archive.miss is not None and not state.found.has_hits and state.may_go_on:
            yield from capped(state, climb_in_few_calls(archive.region, archive.miss), archive)


def _by_margin(archive: Archive) -> float:
    return -archive.miss_margin
