"""All cases from the query to the explanation, stage by stage."""

import platform
import time
from collections.abc import Callable, Sequence

import numpy as np

from ssba.constraints.regions.compile import clashing, compile_query
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.index.boundary_set import BoundarySet
from ssba.models.targets import describe, resolve
from ssba.pipeline.asking import goal_reply, run_searches, told, verdicts
from ssba.pipeline.begin import begin, give_pools
from ssba.pipeline.bounded import last_resort
from ssba.pipeline.case import Case, Limits
from ssba.pipeline.evidence import evidence_of
from ssba.pipeline.fewest import refuse_too_few_changes
from ssba.pipeline.robust import ball_holds
from ssba.pipeline.searching import search_case
from ssba.pipeline.solve_exactly import look_inside, solve_inside
from ssba.pipeline.verify import verify
from ssba.results.explanation import Explanation, Status
from ssba.version import __version__


def answer_queries(
    engine: Engine,
    cases: Sequence[Case],
    limits: Limits,
    boundary: BoundarySet | None,
    done: Callable[[], object],
) -> list[Explanation]:
    """Take all cases from the query to the explanation."""
    begun = time.perf_counter()
    for case in cases:
        _compile(engine, case, limits)
        refuse_too_few_changes(engine, case, limits)
    _predict(engine, [case for case in cases if case.status is None], limits)
    searching = [case for case in cases if case.status is None]
    for _ in range(len(cases) - len(searching)):
        done()
    for case in searching:
        begin(engine, case)
    wanting = solve_inside(engine, searching, limits)
    for _ in range(len(searching) - len(wanting)):
        done()
    _search(engine, wanting, limits, boundary, done)
    look_inside(engine, wanting, limits)
    for case in searching:
        case.ran_out = case.was_stopped
    verify(engine, [case for case in searching if case.has_hits], limits)
    left = [case for case in searching if not case.answers]
    give_pools(engine, left, boundary)
    last_resort(engine, left, limits, boundary)
    _conclude(searching)
    seconds = (time.perf_counter() - begun) / max(1, len(cases))
    return [_explanation(engine, case, seconds) for case in cases]


def _compile(engine: Engine, case: Case, limits: Limits) -> None:
    asked = engine.space, engine.metric, case.x, case.constraints
    compiled = compile_query(*asked, limits.deadline)
    case.regions, case.knows_all_regions = compiled.regions, compiled.complete
    if case.regions:
        return
    # Without a region nothing can be asked; that nothing meets the constraints is said only if it is certain.
    case.status = Status.INFEASIBLE if compiled.complete else Status.OUT_OF_BUDGET
    if compiled.complete:
        case.clash = tuple(one.text for one in clashing(*asked, limits.deadline))


def _predict(engine: Engine, cases: Sequence[Case], limits: Limits) -> None:
    if not cases:
        return
    queries = np.stack([case.x for case in cases])
    begun = time.monotonic()
    answers = verdicts(engine, queries, queries)
    limits.clock.last_call = time.monotonic() - begun
    for case, mine in zip(cases, answers, strict=True):
        label = None if mine.labels is None else mine.labels[0]
        case.goal = resolve(engine.target, label)
        case.prediction, case.score = told(engine, case.goal, mine)
        case.verified_rows += 1
        there = bool(goal_reply(engine, case, mine).reached[0])
        if there and (case.request.radius is None or ball_holds(engine, case, case.x)):
            case.status = Status.ALREADY_THERE


def _search(
    engine: Engine,
    cases: Sequence[Case],
    limits: Limits,
    boundary: BoundarySet | None,
    done: Callable[[], object],
) -> None:
    give_pools(engine, cases, boundary)
    for case in cases:
        _check_neighbours(engine, case)
    searches = [search_case(engine, case, limits) for case in cases]
    run_searches(engine, cases, searches, done, limits.clock)


def _check_neighbours(engine: Engine, case: Case) -> None:
    """Refuse to call anything plausible where there is hardly any data to tell by."""
    assert case.goal is not None
    if case.request.plausible and (count := len(engine.neighbourhood(case.goal).rows)) < 2:
        raise ArgumentError(
            f"plausible=True needs at least 2 background rows that reach {describe(case.goal)}, but there "
            f"are {count} without missing cells; give more data, or leave plausible out"
        )


def _conclude(cases: Sequence[Case]) -> None:
    for case in cases:
        if case.answers:
            case.status = Status.FOUND
        elif case.ran_out or case.bounded is None:
            # Without a row that shows how far one gets, it is not known that there is none to be found.
            case.status = Status.OUT_OF_BUDGET
        else:
            case.status = Status.BOUNDED


def _explanation(engine: Engine, case: Case, seconds: float) -> Explanation:
    assert case.status is not None
    return Explanation(
        status=case.status,
        query=engine.space.row_values(case.x),
        prediction=case.prediction,
        score=case.score,
        target=engine.target_text if case.goal is None else describe(case.goal),
        constraints=tuple(one.text for one in case.constraints),
        wishes=case.request.wishes,
        counterfactuals=tuple(case.answers),
        bounded=case.bounded,
        clash=case.clash,
        evidence=evidence_of(engine, case),
        rows_used=case.rows_used,
        seconds=seconds,
        seed=engine.seed,
        metric=engine.metric.norm,
        units={one.name: one.unit for one in engine.space.features if one.unit},
        versions={"ssba": __version__, "numpy": np.__version__, "python": platform.python_version()},
        model_fingerprint=engine.model.fingerprint,
    )
