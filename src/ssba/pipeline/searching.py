"""The searches of one case, one after the other on one budget.

The rows asked are the same for every budget, up to where it ends. So a larger budget can only add candidates.
Only where it allows for all legal rows are these asked instead, which gives the exact answer.
"""

import math

from ssba.boundary.bisection import Asking
from ssba.engine import Engine
from ssba.pipeline.case import Case, Limits
from ssba.pipeline.evidence import ask_all_nearer, gather_evidence, with_draws
from ssba.pipeline.few import search_few
from ssba.pipeline.metering import tried
from ssba.pipeline.robust import make_room
from ssba.pipeline.shells import ask_outward
from ssba.pipeline.sparse import search_levers, sparsify
from ssba.search.archive import Archive
from ssba.search.refine import Effort, nearest_search
from ssba.search.turns import Waiting, in_turns


def search_case(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Search for what the case asks for; all finds are in its archives."""
    if case.request.max_changes is None:
        yield from _nearest(engine, case, limits)
    else:
        yield from search_few(engine, case, case.request.max_changes, limits)
    yield from gather_evidence(engine, case, limits)
    yield from sparsify(engine, case, limits)
    yield from search_levers(engine, case, limits)
    yield from make_room(engine, case, limits)
    if case.request.radius is not None:
        # Room is made around what the search found, whether or not the budget allows for this.
        yield from ask_all_nearer(engine, case, limits)


def _nearest(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Search all regions in turns, the nearest first; one that begins beyond the best answer is left out."""
    if (yield from ask_outward(engine, case, limits)):
        return
    searches = [_in_region(engine, case, archive, limits) for archive in case.region_archives]
    yield from with_draws(engine, case, in_turns(searches), limits)


def _in_region(engine: Engine, case: Case, archive: Archive, limits: Limits) -> Waiting:
    stored = case.stored and case.stored.inside(archive.region)
    search = nearest_search(archive, case.pool, engine.seed, Effort(), stored)
    running = tried(case, search, archive, math.inf, limits)
    return Waiting(running, lambda: case.begins_nearer(archive.region))
