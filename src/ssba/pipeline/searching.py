"""The searches of one query, one after the other on one budget.

The rows asked are the same for every budget, up to where it ends. So a larger budget can only add candidates.
Only where it allows for all legal rows are these asked instead, which gives the exact answer.
"""

import math

from ssba.boundary.bisection import Asking
from ssba.pipeline.evidence import ask_all_nearer, gather_evidence, with_draws
from ssba.pipeline.margins import push_off_boundary
from ssba.pipeline.max_changes import search_few
from ssba.pipeline.metering import capped
from ssba.pipeline.other_columns import search_other_columns
from ssba.pipeline.shells import search_in_shells
from ssba.pipeline.sparsity import sparsify
from ssba.pipeline.state import QueryState
from ssba.search.archive import Archive
from ssba.search.refine import nearest_search
from ssba.search.turns import Waiting, in_turns


def search_query(state: QueryState) -> Asking[None]:
    """Search for what the query asks for; all finds are in its archives."""
    if state.options.max_changes is None:
        yield from _nearest(state)
    else:
        yield from search_few(state, state.options.max_changes)
    yield from gather_evidence(state)
    if state.options.price > 1:
        yield from sparsify(state)
    if state.options.k > 1 and state.options.diversity != "distance":
        yield from search_other_columns(state)
    if state.options.radius is not None:
        yield from push_off_boundary(state)
        # Room is made around what the search found, whether or not the budget allows for this.
        yield from ask_all_nearer(state)


def _nearest(state: QueryState) -> Asking[None]:
    """Search all regions in turns, the nearest first; one that begins beyond the best answer is left out."""
    is_exact = yield from search_in_shells(state)
    if is_exact and state.options.k == 1:
        return
    searches = [_in_region(state, archive) for archive in state.region_archives]
    yield from with_draws(state, in_turns(searches))


def _in_region(state: QueryState, archive: Archive) -> Waiting:
    stored = state.stored and state.stored.inside(archive.region)
    search = nearest_search(archive, state.pool, state.engine.seed, stored)
    running = capped(state, search, archive, math.inf)
    return Waiting(running, lambda: state.found.begins_nearer(archive.region))
