"""Looking inside the model, where it can be opened: the exact nearest row, and a bound on its distance.

Linear models are always solved exactly, since that takes milliseconds, and less than a second with many
free categories. Trees take seconds and are opened only where the call asks for a proof.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.pipeline.asking import run_searches
from ssba.pipeline.case import SHORTER, Case, Limits, Vector
from ssba.pipeline.metering import asking, watched
from ssba.search.archive import Archive
from ssba.whitebox.additive import Additive
from ssba.whitebox.exact import Exact, Question, nearest_by_cpsat, nearest_by_search, nearest_exact
from ssba.whitebox.read_model import Opened

# A row on the boundary itself may miss it by a rounding error: these are a little farther out.
_OUTWARD = np.array([0.0, 1e-9, 1e-7, 1e-5])
# Of a bound: a row that reaches so much nearer contradicts it.
_APART = 1e-6


def solve_inside(engine: Engine, cases: Sequence[Case], limits: Limits) -> list[Case]:
    """Solve what linear models allow without a search; return the cases that still want one."""
    opened = engine.opened_linear
    plain = [case for case in cases if opened is not None and _is_plain(case)]
    if opened is None or not plain:
        return list(cases)
    _look(engine, plain, opened, limits)
    settled = {id(case) for case in plain if case.is_settled and not is_contradicted(case)}
    return [case for case in cases if id(case) not in settled]


def look_inside(engine: Engine, cases: Sequence[Case], limits: Limits) -> None:
    """After the search: add the exact row where there is a nearer one, and a bound."""
    opened: Opened | None = engine.opened_linear
    if opened is None and any(case.request.prove for case in cases):
        opened = engine.opened
    wanted = [case for case in cases if isinstance(opened, Additive) or case.request.prove]
    if opened is not None and wanted:
        _look(engine, [case for case in wanted if case.lower_bound is None], opened, limits)


def _is_plain(case: Case) -> bool:
    """Whether the nearest row of all is the whole answer."""
    request = case.request
    return request.k == 1 and request.price == 1 and not request.wishes


def _look(engine: Engine, cases: Sequence[Case], opened: Opened, limits: Limits) -> None:
    found = []
    for case in cases:
        rows = _solve(engine, case, opened, limits) if case.knows_all_regions else []
        rows += _counterexamples(engine, case)
        found += [(case, archive, row) for archive, row in rows]
    searches: list[Asking[None]] = [_offer(case, archive, row, limits) for case, archive, row in found]
    run_searches(engine, [case for case, _, _ in found], searches, clock=limits.clock)


def _offer(case: Case, archive: Archive, row: Vector, limits: Limits) -> Asking[None]:
    region = archive.region
    rows = region.snap(np.where(np.isnan(row), row, row + _OUTWARD[:, None] * (row - region.start)))
    rows = np.unique(rows, axis=0)
    yield from watched(case, asking(rows), archive, math.inf, limits)


def _solve(engine: Engine, case: Case, opened: Opened, limits: Limits) -> list[tuple[Archive, Vector]]:
    """Return the nearest rows by region, and keep the least of their bounds; none where one is unknown."""
    rows: list[tuple[Archive, Vector]] = []
    bounds = []
    for archive in case.region_archives:
        begins = archive.region.begins
        if begins >= case.best_distance:
            bounds.append(begins)
            continue
        exact = None if limits.is_over() else _nearest(engine, case, archive, opened, limits)
        if exact is None:
            return rows
        bounds.append(max(begins, exact.lower_bound))
        if exact.row is not None:
            rows.append((archive, exact.row))
    case.lower_bound = min(bounds)
    return rows


def _counterexamples(engine: Engine, case: Case) -> list[tuple[Archive, Vector]]:
    """Return background rows that reach the goal nearer than the bound says any can, the nearest by region.

    There is none, unless the model is not what it was read as.
    """
    if case.lower_bound is None:
        return []
    assert case.goal is not None
    known = engine.neighbourhood(case.goal).rows
    distance = engine.metric.distance(known, case.x)
    nearer = np.argsort(distance, kind="stable")[: int((distance < case.lower_bound * (1 - _APART)).sum())]
    found = []
    for archive in case.region_archives:
        inside = known[nearer][archive.region.contains(known[nearer])]
        found += [(archive, row) for row in inside[:1]]
    return found


def _nearest(engine: Engine, case: Case, archive: Archive, opened: Opened, limits: Limits) -> Exact | None:
    assert case.goal is not None
    goal = case.goal

    def reached(rows: Matrix) -> NDArray[np.bool_]:
        case.verified_rows += len(rows)
        return np.asarray(engine.judge(goal, engine.oracle().verdict(rows, np.isnan(case.x))).reached)

    question = Question(goal, archive.region, engine.metric, reached, limits.deadline)
    known = archive.nearest(1)[0] if archive.has_found else None
    if isinstance(opened, Additive):
        return nearest_exact(opened, question, known=known)
    near = nearest_by_search(opened, question, known=known)
    known = known if near is None else near
    exact = nearest_exact(opened, question, known=known)
    if exact is None or exact.proved or limits.is_over():
        return exact
    return _better(exact, _by_cpsat(opened, question, known if exact.row is None else exact.row))


def _by_cpsat(opened: Opened, question: Question, known: Vector | None) -> Exact | None:
    """Ask the solver of the extra `exact`, if it is installed."""
    try:
        return None if isinstance(opened, Additive) else nearest_by_cpsat(opened, question, known=known)
    except ArgumentError:
        return None


def _better(one: Exact, other: Exact | None) -> Exact:
    if other is None:
        return one
    row = other.row if other.row is not None else one.row
    return Exact(row, max(one.lower_bound, other.lower_bound), other.proved)


def is_contradicted(case: Case) -> bool:
    """Tell whether a row reached the target nearer than the opened model said any could.

    Then the model is not what it was read as, and nothing read off it holds.
    """
    if case.lower_bound is None:
        return False
    found = min((one.best_distance for one in case.scouts), default=case.best_distance)
    return min(found, case.best_distance) < case.lower_bound * (1 - _APART)


def is_optimal(case: Case, distance: float) -> bool:
    """Tell whether a distance is the proved bound, up to what an answer in few digits may add."""
    if case.lower_bound is None or is_contradicted(case):
        return False
    return distance <= case.lower_bound * (1 + SHORTER) * (1 + 1e-9)
