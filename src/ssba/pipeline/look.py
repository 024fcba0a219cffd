"""Whether a query has an answer at all, in few rows; which one is the nearest does not matter here.

Rows that reach under other constraints are pulled into the regions first. Where none of them reaches there,
the score is followed uphill from the best of them.
"""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.pipeline.asking import asked, capped
from ssba.pipeline.nearest_rows import run_stages
from ssba.pipeline.state import QueryState, Searching, States, Vector
from ssba.search.archive import Archive
from ssba.search.lanes import different
from ssba.search.regions import Regions
from ssba.search.starts import combined_changes, single_changes

LOOK_ROWS = 400
"""What a look may spend: 9 in 10 of the searches that find anything do so within 240 rows."""

# Of the rows that reach elsewhere so many are asked about in a region: those that being pulled in changes
# least, and as many that come nearest to the query.
_PULLED = 24
# Columns go these shares of the way to their ends, all in one call, for so many rounds at most.
_SHARES = (1.0, 0.4, 0.1, 0.03, 0.01, 0.003)
_ROUNDS = 12


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
            yield from capped(state, _climb(archive.region, archive.miss), archive)


def _by_margin(archive: Archive) -> float:
    return -archive.miss_margin


def _climb(region: Region, row: Vector) -> Asking[None]:
    """Change one column at a time, and then all that helped together, until a row reaches or nothing helps.

    What all changes together come to is asked about along with what would follow from there, for fewer calls.
    """
    regions = Regions((region,), np.zeros(1, dtype=np.int64))
    rows = _changed(regions, row)
    reply = yield np.concatenate([row[None, :], rows])
    margin, margins = float(_margins(reply)[0]), _margins(reply)[1:]
    for _ in range(_ROUNDS):
        helped = margins > margin
        if not helped.any() or reply.reached.any():
            return
        rows, margins = rows[helped], margins[helped]
        best = int(np.argmax(margins))
        whose = np.zeros(len(rows), dtype=np.int64)
        together, fine = region.pull_in(combined_changes(row[None, :], rows, whose, margins))
        joint = together[0] if fine[0] else rows[best]
        further = _changed(regions, joint)
        reply = yield np.concatenate([joint[None, :], further])
        if _margins(reply)[0] >= margins[best]:
            row, margin, rows, margins = joint, float(_margins(reply)[0]), further, _margins(reply)[1:]
            continue
        row, margin = rows[best], float(margins[best])
        rows = _changed(regions, row)
        reply = yield rows
        margins = _margins(reply)


def _margins(reply: Reply) -> Vector:
    return np.asarray(reply.margin, dtype=np.float64)


def _changed(regions: Regions, row: Vector) -> Matrix:
    """Return a row with one column changed at a time, by each of some shares of the way to its ends."""
    count = len(_SHARES)
    rows, _ = single_changes(
        regions, np.tile(row, (count, 1)), np.zeros(count, dtype=np.int64), np.array(_SHARES)
    )
    return np.asarray(rows[different(rows)])
