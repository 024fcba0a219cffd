"""Where no row reached the target: a last try near the boundary, and the bounded move."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix
from ssba.constraints.regions.compile import compile_regions
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.index.boundary_set import BoundarySet
from ssba.pipeline.asking import run_searches, verdicts
from ssba.pipeline.case import Case, Limits
from ssba.pipeline.metering import tried
from ssba.pipeline.verify import counterfactual, is_feasible, passes, verify
from ssba.search.bounded import Approach, Surroundings, approach, bounded_search, nearest_to_box
from ssba.search.turns import Waiting, in_turns


@dataclass(frozen=True)
class _Points:
    """The boundary points that are known: some of the explainer's own, and those of a set."""

    own: Matrix
    stored: BoundarySet | None

    def nearest_to(self, region: Region, metric: Metric) -> Approach:
        """Return the feasible rows nearest to any of the points."""
        found = [self.own]
        for points in () if self.stored is None else self.stored.loaded():
            found.append(nearest_to_box(region, metric, points))
        return approach(region, metric, np.concatenate(found))


def last_resort(
    engine: Engine,
    cases: Sequence[Case],
    limits: Limits,
    boundary: BoundarySet | None,
    *,
    takes_any: bool = False,
) -> None:
    """Try the feasible rows nearest to the boundary; one reaches the target, or is the bounded move.

    These rows come after all that the search asked, so that a larger budget asks them, too. The bounded move
    itself is checked whatever the budget. A row that proves to reach only then is passed over: with a larger
    budget the search may end at a farther one, and a larger budget is never worse. `takes_any` takes it.
    """
    if not cases:
        return
    own = engine.background[:0] if limits.is_over() else engine.own_boundary(limits.is_over)
    points = _Points(own, boundary)
    approaches: dict[int, list[Approach]] = {id(case): [] for case in cases}
    searches = [_toward_boundary(engine, case, points, limits, approaches[id(case)]) for case in cases]
    run_searches(engine, cases, searches, clock=limits.clock)
    verify(engine, [case for case in cases if case.has_hits], limits)
    for case in cases:
        if not case.answers:
            _move(engine, case, approaches[id(case)], takes_any=takes_any)


def _toward_boundary(
    engine: Engine, case: Case, points: _Points, limits: Limits, found: list[Approach]
) -> Asking[None]:
    """Approach the boundary in all regions, in turns; `found` gets the rows that come near it."""
    around = Surroundings(
        unconstrained=lambda row: compile_regions(engine.space, engine.metric, row, ())[0],
        pool=case.pool,
        seed=engine.seed,
    )
    searches = []
    for archive in case.bounded_archives:
        if limits.is_over():
            break
        known = points.nearest_to(archive.region, engine.metric)
        found.append(known)
        search = bounded_search(archive, known, around)
        searches.append(Waiting(_noted(tried(case, search, archive, math.inf, limits), found)))
    yield from in_turns(searches)


def _noted(search: Asking[Approach | None], found: list[Approach]) -> Asking[None]:
    nearer = yield from search
    if nearer is not None:
        found.append(nearer)


def _move(engine: Engine, case: Case, approaches: Sequence[Approach], *, takes_any: bool) -> None:
    """Give the case its bounded move: the feasible row nearest to a boundary point that does not reach.

    Without boundary points it is the miss with the best score, or the feasible row nearest to the query.
    """
    offers = [
        (float(distance), row)
        for one in approaches
        for distance, row in zip(one.distances, one.rows, strict=True)
    ]
    offers.sort(key=lambda offer: offer[0])
    misses = [archive.miss for archive in case.bounded_archives if archive.miss is not None]
    rest = [(None, row) for row in (*misses, *(archive.region.start for archive in case.bounded_archives))]
    for to_go, row in (*offers, *rest):
        written = engine.space.encode(engine.space.decode(row[None, :]))[0]
        if not is_feasible(engine, case, written):
            continue
        case.verified_rows += 1
        output = verdicts(engine, written[None, :], case.x)[0]
        if not passes(engine, case, written, output):
            case.bounded = counterfactual(engine, case, written, output, to_go)
            return
        if takes_any:
            case.answers.append(counterfactual(engine, case, written, output))
            return
        # The budget ended before the search could ask about it.
        case.ran_out = True
