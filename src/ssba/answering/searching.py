"""The searches of one case, one after the other on one budget.

The rows asked are the same for every budget, up to where it ends. So a larger budget can only add candidates.
"""

from ssba.answering.case import Case, Limits
from ssba.answering.few import search_few
from ssba.answering.outward import ask_outward
from ssba.answering.proving import gather_evidence, with_draws
from ssba.answering.robust import make_room
from ssba.answering.sparse import search_levers, sparsify
from ssba.answering.watching import watched
from ssba.boundary.bisection import Asking
from ssba.engine import Engine
from ssba.search.refine import Effort, nearest_search


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


def _nearest(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Search one region after the other; one that begins beyond the best answer so far is left out."""
    if (yield from ask_outward(engine, case, limits)):
        return
    for number, archive in enumerate(case.archives):
        if not case.begins_nearer(archive):
            continue
        share = (limits.rows - case.rows_asked) / (len(case.archives) - number)
        stored = case.stored and case.stored.inside(archive.region)
        search = nearest_search(archive, case.pool, engine.seed, Effort(), stored)
        running = watched(case, search, archive, share, limits)
        yield from with_draws(engine, case, running, limits)
