"""The search that a query would have without a limit on how many columns may change, in one of its regions.

A limit on changes makes it first, for what it shows about columns; and what it finds that changes few enough
of them is an answer.
"""

import numpy as np

from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.pipeline.asking import asked
from ssba.pipeline.nearest_rows import Hunt, ledger_of
from ssba.pipeline.state import QueryState, Searching
from ssba.search.archive import Archive
from ssba.search.evidence import draw_rows
from ssba.search.lanes import Draws
from ssba.search.starts import Pool

# What the search may spend that goes on from a drawn row which reached the target.
ROWS_FROM_A_DRAW = 600
# Rows are drawn so many at a time.
BLOCK = 256
# Rows are drawn at most so many times.
ATTEMPTS = 2

_SALT = 59


def draws_of(state: QueryState, attempt: int, block: int) -> Draws:
    """Return the random numbers that rows are drawn with for evidence."""
    return Draws((state.engine.seed, _SALT, attempt, block))


def search_plainly(state: QueryState, region: Region) -> Searching[list[Archive]]:
    """Search a region without the limits that options set, with its draws; return what was found, in parts.

    A drawn row that reaches is a nearer answer, and the search goes on from it.
    """
    found: list[Archive] = yield Hunt(((region, state.pool),), freely=True)
    for attempt in range(ATTEMPTS):
        nearest = min(archive.best_distance for archive in found)
        if not np.isfinite(nearest) or not state.may_go_on or state.has_enough:
            break
        drawn = state.new_archive(region, state.found.scouts)
        yield from asked(state, _drawn(state, region, nearest, attempt), drawn, freely=True)
        found.append(drawn)
        if drawn.best_distance >= nearest:
            break
        rows = drawn.nearest(16)
        pool = Pool(rows[state.distance(rows) < nearest])
        found += yield Hunt(((region, pool),), ROWS_FROM_A_DRAW, freely=True)
    return found


def _drawn(state: QueryState, region: Region, radius: float, attempt: int) -> Matrix:
    ledger = ledger_of([state], [(0, region)], freely=[True])
    rows = [np.empty((0, len(state.x)))]
    for block in range(0, state.options.evidence, BLOCK):
        count = np.array([min(BLOCK, state.options.evidence - block)])
        some, _ = draw_rows(ledger, np.array([0]), np.array([radius]), count, draws_of(state, attempt, block))
        rows.append(some)
    return np.concatenate(rows)
