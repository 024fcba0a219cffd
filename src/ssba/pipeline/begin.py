"""What a case begins with: archives, background rows that are answers as they are, and rows to start from."""

from collections.abc import Sequence

import numpy as np

from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.index.boundary_set import BoundarySet
from ssba.index.retrieval.finder import Query
from ssba.models.targets import Goal, Reply
from ssba.pipeline.asking import chosen, judged
from ssba.pipeline.case import Case
from ssba.search.archive import Archive
from ssba.search.starts import Pool
from ssba.search.stored import Stored

# Stored boundary points that a query's search looks at: the nearest that meet its constraints.
_STORED = 1000
# As many of them are starts beside background rows, where no plane can be laid.
_STARTS = 64
# Of the background rows that meet the constraints, so many of the nearest are judged first.
_JUDGED_FIRST = 64


def begin(engine: Engine, case: Case) -> None:
    """Give a case its archives, with the background rows that are known to be what it asks for.

    The model was asked about these when the explainer was built. They take no rows, so that there is an
    answer for every budget; and since they are there for every budget, a larger one is not worse for it.
    They have archives of their own, in order not to lead the searches.
    """
    case.archives = [Archive(region, engine.metric) for region in case.regions]
    case.known = [Archive(region, engine.metric) for region in case.regions]
    rows = _known_rows(engine, case)
    for archive in case.known if len(rows) else ():
        archive.record(rows, Reply(np.ones(len(rows), dtype=bool), None))


def _known_rows(engine: Engine, case: Case) -> Matrix:
    """Return background rows that give the case what it asks for, the nearest such among them."""
    assert case.goal is not None
    reaching = engine.reaching(case.goal)
    rows = engine.background[reaching]
    feasible = np.zeros(len(rows), dtype=bool)
    for region in case.regions:
        feasible |= np.asarray(region.contains(rows))
    rows, numbers = rows[feasible], reaching[feasible]
    order = np.argsort(engine.metric.distance(rows, case.x), kind="stable")
    first, count = 0, _JUDGED_FIRST
    while first < len(order):
        some = order[first : first + count]
        reply = judged(engine, case, rows[some], chosen(engine.predicted, numbers[some]))
        if reply.reached.any():
            return np.asarray(rows[some][reply.reached])
        first, count = first + count, 2 * count
    return rows[:0]


def give_pools(engine: Engine, cases: Sequence[Case], boundary: BoundarySet | None) -> None:
    """Give every case the rows that its searches start from."""
    pools: dict[Goal | None, Pool] = {}
    for case in cases:
        if case.goal not in pools:
            assert case.goal is not None
            pools[case.goal] = engine.pool(case.goal)
        case.pool = pools[case.goal]
    if boundary is not None and cases:
        queries = [Query(case.x, case.regions) for case in cases]
        for case, hits in zip(cases, boundary.hits(queries, _STORED), strict=True):
            assert case.goal is not None
            case.stored = Stored(hits.rows, boundary.reaching(hits.position, case.goal))
            points = hits.rows[case.stored.reaching][:_STARTS]
            case.pool = Pool(np.concatenate([points, case.pool.reaching]), case.pool.guesses)
