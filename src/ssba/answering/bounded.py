"""Where no row reached the target: a last try near the boundary, and the bounded move."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssba.answer.result import Counterfactual
from ssba.answering.asking import run_searches
from ssba.answering.case import Case, Limits
from ssba.answering.verify import counterfactual, is_feasible, passes, verify
from ssba.answering.watching import watched
from ssba.boundary.bisection import Asking
from ssba.engine import Engine
from ssba.index.boundary_set import BoundarySet
from ssba.problem.compile import compile_regions
from ssba.problem.distance import Metric
from ssba.problem.region import Region
from ssba.problem.space import Matrix
from ssba.search.bounded import Approach, Surroundings, approach, bounded_search, nearest_to_box


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


def last_resort(engine: Engine, cases: Sequence[Case], limits: Limits, boundary: BoundarySet | None) -> None:
    """Try the feasible rows nearest to the boundary; one reaches the target, or is the bounded move."""
    if not cases:
        return
    points = _Points(engine.background[:0] if limits.is_over() else engine.own_boundary, boundary)
    approaches: dict[int, list[Approach]] = {id(case): [] for case in cases}
    run_searches(
        engine,
        cases,
        [_toward_boundary(engine, case, points, limits, approaches[id(case)]) for case in cases],
    )
    verify(engine, [case for case in cases if case.has_hits])
    for case in cases:
        if not case.answers:
            case.bounded = _bounded_move(engine, case, approaches[id(case)])


def _toward_boundary(
    engine: Engine, case: Case, points: _Points, limits: Limits, found: list[Approach]
) -> Asking[None]:
    archives = case.bounded_archives
    for number, archive in enumerate(archives):
        share = (limits.rows - case.rows_asked) / (len(archives) - number)
        rows = archive.rows_asked + share
        around = Surroundings(
            unconstrained=lambda row: compile_regions(engine.space, engine.metric, row, ())[0],
            pool=case.pool,
            seed=engine.seed,
            rows=rows,
            is_over=limits.is_over,
        )
        known = points.nearest_to(archive.region, engine.metric)
        search = bounded_search(archive, known, around)
        found.append(known)
        nearer = yield from watched(case, search, archive, rows, limits)
        if nearer is not None:
            found.append(nearer)


def _bounded_move(engine: Engine, case: Case, approaches: Sequence[Approach]) -> Counterfactual | None:
    """Return the feasible row nearest to a boundary point over all regions, as the model scores it.

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
        if is_feasible(engine, case, written):
            case.verified_rows += 1
            output = engine.oracle().verdict(written[None, :])
            if passes(engine, case, written, output):
                # The budget ended before the search could ask about it.
                case.answers.append(counterfactual(engine, case, written, output))
                return None
            return counterfactual(engine, case, written, output, to_go)
    return None
