"""The path of queries through the rooms: compile, search, verify, answer. All queries side by side.

A query's outcome depends on nothing but the query, its constraints and the explainer, so it is the
same alone or among others.
"""

import itertools
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.answer.result import Counterfactual, Explanation, Status
from ssba.boundary.bisection import Asking
from ssba.engine import Engine
from ssba.problem.compile import clashing, compile_regions
from ssba.problem.constraints import Constraint, holds
from ssba.problem.models import Output
from ssba.problem.oracle import Oracle
from ssba.problem.region import Region
from ssba.problem.space import Matrix
from ssba.problem.targets import Goal, Reply, describe, resolve, shown
from ssba.run.local import drive
from ssba.search.archive import Archive, recorded
from ssba.search.bounded import Approach, Surroundings, approach, bounded_search
from ssba.search.pick import pick_order
from ssba.search.refine import Effort, nearest_search
from ssba.version import __version__

Vector = NDArray[np.float64]

# Answers whose margin is thinner than this share of the largest score are asked about once more, alone:
# a batch and a single row may differ in the last bits of their sums.
_THIN = 2.0**-13
_SPARES = 48
# How much longer a change may get for the sake of fewer digits.
_SHORTER = 1e-3


@dataclass(frozen=True)
class Limits:
    """What a call may spend: model rows for each query, a moment to stop at, and how many answers to give."""

    rows: float
    deadline: float
    k: int

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return time.monotonic() > self.deadline


@dataclass
class Case:
    """One query on its way: what was asked, and what is known so far."""

    x: Vector
    constraints: tuple[Constraint, ...]
    regions: tuple[Region, ...] = ()
    goal: Goal | None = None
    prediction: Any = None
    score: float | None = None
    status: Status | None = None
    archives: list[Archive] = field(default_factory=list)
    pool: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    answers: list[Counterfactual] = field(default_factory=list)
    bounded: Counterfactual | None = None
    clash: tuple[str, ...] = ()
    ran_out: bool = False
    verified_rows: int = 0
    offers: Iterator[Matrix] = field(default_factory=lambda: iter(()))
    different: int = 0

    @property
    def rows_used(self) -> int:
        """Model rows spent on this query."""
        return self.rows_asked + self.verified_rows

    @property
    def rows_asked(self) -> int:
        """Model rows that the searches spent."""
        return sum(archive.rows_asked for archive in self.archives)

    @property
    def has_hits(self) -> bool:
        """Whether the search found any row that reached the target."""
        return any(archive.found is not None for archive in self.archives)


def answer_queries(
    engine: Engine,
    cases: Sequence[Case],
    limits: Limits,
    boundary: Matrix | None,
    done: Callable[[], object],
) -> list[Explanation]:
    """Take all cases from the query to the explanation."""
    begun = time.perf_counter()
    for case in cases:
        _compile(engine, case)
    _predict(engine, [case for case in cases if case.status is None])
    searching = [case for case in cases if case.status is None]
    for _ in range(len(cases) - len(searching)):
        done()
    _search(engine, searching, limits, boundary, done)
    for case in searching:
        case.ran_out = any(archive.stopped for archive in case.archives)
    _verify(engine, [case for case in searching if case.has_hits], limits.k)
    left = [case for case in searching if not case.answers]
    _last_resort(engine, left, limits, boundary)
    _conclude(searching)
    seconds = (time.perf_counter() - begun) / max(1, len(cases))
    return [_explanation(engine, case, seconds) for case in cases]


def _compile(engine: Engine, case: Case) -> None:
    case.regions = compile_regions(engine.space, engine.metric, case.x, case.constraints)
    if not case.regions:
        case.status = Status.INFEASIBLE
        clash = clashing(engine.space, engine.metric, case.x, case.constraints)
        case.clash = tuple(one.text for one in clash)


def _predict(engine: Engine, cases: Sequence[Case]) -> None:
    if not cases:
        return
    verdicts = _verdicts(engine, np.stack([case.x for case in cases]))
    for case, mine in zip(cases, verdicts, strict=True):
        label = None if mine.labels is None else mine.labels[0]
        case.goal = resolve(engine.target, label)
        case.prediction, case.score = _told(engine, case.goal, mine)
        case.verified_rows += 1
        if engine.judge(case.goal, mine).reached[0]:
            case.status = Status.ALREADY_THERE


def _verdicts(engine: Engine, rows: Matrix) -> list[Output]:
    """Ask the model itself about rows: in one batch, or one by one where the batch matters."""
    oracle = engine.oracle()
    if engine.batch_matters:
        return [oracle.verdict(rows[i : i + 1]) for i in range(len(rows))]
    output = oracle.verdict(rows)
    return [_slice(output, i, i + 1) for i in range(len(rows))]


def _told(engine: Engine, goal: Goal, output: Output) -> tuple[Any, float | None]:
    """Return prediction and score of one row; the score without the bits that depend on its batch."""
    (prediction,), (score,) = shown(goal, output, engine.model.classes)
    return prediction, None if score is None else float(f"{score:.9g}")


def _search(
    engine: Engine,
    cases: Sequence[Case],
    limits: Limits,
    boundary: Matrix | None,
    done: Callable[[], object],
) -> None:
    pools: dict[Goal | None, Matrix] = {}
    for case in cases:
        case.archives = [Archive(region, engine.metric) for region in case.regions]
        if case.goal not in pools:
            pools[case.goal] = _pool(engine, case, boundary)
        case.pool = pools[case.goal]
    _run(engine, cases, [_nearest(engine, case, limits) for case in cases], done)


def _pool(engine: Engine, case: Case, boundary: Matrix | None) -> Matrix:
    assert case.goal is not None
    own = engine.pool(case.goal)
    return own if boundary is None else np.concatenate([boundary, own])


def _nearest(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Search one region after the other; one that begins beyond the best answer so far is left out."""
    for number, archive in enumerate(case.archives):
        best = min(one.best_distance for one in case.archives)
        if float(engine.metric.distance(archive.region.start[None, :], case.x)[0]) >= best:
            continue
        share = (limits.rows - case.rows_asked) / (len(case.archives) - number)
        search = nearest_search(archive, case.pool, engine.seed, Effort())
        yield from recorded(search, archive, share, limits.is_over)


def _run(
    engine: Engine,
    cases: Sequence[Case],
    searches: Sequence[Asking[None]],
    done: Callable[[], object] = lambda: None,
) -> None:
    """Drive the searches of all cases, in shared model calls."""
    oracle = engine.oracle()
    goals = [case.goal for case in cases]
    drive(searches, lambda asked: _ask(engine, oracle, goals, asked), lambda _: done())


def _ask(
    engine: Engine, oracle: Oracle, goals: Sequence[Any], asked: Sequence[tuple[int, Matrix]]
) -> list[Reply]:
    if len(asked) > 1 and engine.batch_matters:
        # Each query keeps a batch of its own then, as it has when it comes alone.
        return [reply for one in asked for reply in _ask(engine, oracle, goals, [one])]
    output = oracle.output(np.concatenate([rows for _, rows in asked]))
    ends = list(itertools.accumulate((len(rows) for _, rows in asked), initial=0))
    step = engine.margin_step
    replies = (
        engine.judge(goals[number], _slice(output, begin, end))
        for (number, _), (begin, end) in zip(asked, itertools.pairwise(ends), strict=True)
    )
    return [
        Reply(one.reached, None if one.margin is None else np.round(one.margin / step) * step)
        for one in replies
    ]


def _slice(output: Output, begin: int, end: int) -> Output:
    parts = (output.labels, output.scores, output.values)
    return Output(*(None if part is None else part[begin:end] for part in parts))


def _verify(engine: Engine, cases: Sequence[Case], k: int) -> None:
    """Check the best rows of every case, as written, and ask the model itself; the next where one fails."""
    for case in cases:
        _prepare_offers(engine, case, k)
    open_cases = list(cases)
    while open_cases:
        offered = [
            (case, group)
            for case in open_cases
            for group in itertools.islice(case.offers, case.different - len(case.answers))
        ]
        if not offered:
            break
        _accept(engine, offered)
        open_cases = [case for case in open_cases if len(case.answers) < case.different]
    for case in cases:
        case.answers.sort(key=lambda answer: answer.distance)


def _prepare_offers(engine: Engine, case: Case, k: int) -> None:
    """Line up the rows to check: up to `k` different ones, then spares that stand in for refused ones."""
    rows = np.concatenate([hits for archive in case.archives for hits in archive.hits])
    order, case.different = pick_order(rows, case.x, engine.metric, k, _SPARES)
    case.offers = (_shorter(engine, case, rows[i]) for i in order)


def _shorter(engine: Engine, case: Case, row: Vector) -> Matrix:
    """Return the row with its changed numbers in few digits, the fewest first, and last as it was found.

    Rounding goes away from the query, so that it rather adds to the change than undoes it, and costs at
    most a small share of the distance. What a person reads is then the very number that was scored.
    """
    rough = ~engine.space.grid.stepped & ~engine.metric.discrete & (row != case.x) & ~np.isnan(row - case.x)
    if not rough.any():
        return row[None, :]
    magnitude = np.floor(np.log10(engine.metric.scale))
    away = np.sign(np.nan_to_num(row - case.x))
    forms = []
    for digits in (1, 2, 3, 4):
        power = 10.0 ** (digits - magnitude)
        short = np.where(away > 0, np.ceil(row * power), np.floor(row * power)) / power
        forms.append(np.where(rough, short, row))
    rows = engine.space.grid.snap(np.stack(forms))
    longest = (1 + _SHORTER) * float(engine.metric.distance(row[None, :], case.x)[0])
    return np.concatenate([rows[engine.metric.distance(rows, case.x) <= longest], row[None, :]])


def _accept(engine: Engine, offered: Sequence[tuple[Case, Matrix]]) -> None:
    """Append to each case, of every group of rows offered for it, the first that passes every check."""
    rows = np.concatenate([group for _, group in offered])
    written = engine.space.encode(engine.space.decode(rows))
    verdicts = _verdicts(engine, rows)
    begin = 0
    for case, group in offered:
        end = begin + len(group)
        case.verified_rows += len(group)
        for i in range(begin, end):
            if _passes(engine, case, written[i], verdicts[i]):
                case.answers.append(_counterfactual(engine, case, written[i], verdicts[i]))
                break
        begin = end


def _passes(engine: Engine, case: Case, z: Vector, verdict: Output) -> bool:
    """Check a row as written: constraints, the model's own word, and that word for the row alone."""
    assert case.goal is not None
    reply = engine.judge(case.goal, verdict)
    if not reply.reached[0] or not _is_feasible(engine, case, z):
        return False
    if not _is_thin(engine, reply):
        return True
    alone = engine.oracle().verdict(z[None, :])
    return bool(engine.judge(case.goal, alone).reached[0])


def _is_thin(engine: Engine, reply: Reply) -> bool:
    return reply.margin is None or abs(float(reply.margin[0])) < _THIN * engine.score_size


def _is_feasible(engine: Engine, case: Case, z: Vector) -> bool:
    """Check a finished row against every constraint in user units, and against the declared columns."""
    if not any(region.contains(z[None, :])[0] for region in case.regions):
        return False
    query, row = engine.space.row_values(case.x), engine.space.row_values(z)
    return all(holds(one, query, row, engine.space.by_name) for one in case.constraints)


def _counterfactual(
    engine: Engine, case: Case, z: Vector, output: Output, to_go: float | None = None
) -> Counterfactual:
    assert case.goal is not None
    query, row = engine.space.row_values(case.x), engine.space.row_values(z)
    prediction, score = _told(engine, case.goal, output)
    return Counterfactual(
        values=row,
        changes={name: (query[name], row[name]) for name in row if query[name] != row[name]},
        distance=float(engine.metric.distance(z[None, :], case.x)[0]),
        prediction=prediction,
        score=score,
        distance_to_boundary=to_go,
    )


def _last_resort(engine: Engine, cases: Sequence[Case], limits: Limits, boundary: Matrix | None) -> None:
    """Where no row reached the target: try those nearest to the boundary; one is the bounded move."""
    if not cases:
        return
    points = _boundary_points(engine, boundary, limits)
    approaches: dict[int, list[Approach]] = {id(case): [] for case in cases}
    _run(
        engine,
        cases,
        [_toward_boundary(engine, case, points, limits, approaches[id(case)]) for case in cases],
    )
    _verify(engine, [case for case in cases if case.has_hits], limits.k)
    for case in cases:
        if not case.answers:
            case.bounded = _bounded_move(engine, case, approaches[id(case)])


def _toward_boundary(
    engine: Engine, case: Case, points: Matrix, limits: Limits, found: list[Approach]
) -> Asking[None]:
    for number, archive in enumerate(case.archives):
        share = (limits.rows - case.rows_asked) / (len(case.archives) - number)
        rows = archive.rows_asked + share
        around = Surroundings(
            unconstrained=lambda row: compile_regions(engine.space, engine.metric, row, ())[0],
            pool=case.pool,
            seed=engine.seed,
            rows=rows,
            is_over=limits.is_over,
        )
        known = approach(archive.region, engine.metric, points)
        search = bounded_search(archive, known, around)
        found.append(known)
        nearer = yield from recorded(search, archive, rows, limits.is_over)
        if nearer is not None:
            found.append(nearer)


def _boundary_points(engine: Engine, boundary: Matrix | None, limits: Limits) -> Matrix:
    own = engine.background[:0] if limits.is_over() else engine.own_boundary
    return own if boundary is None else np.concatenate([own, boundary])


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
    misses = [archive.miss for archive in case.archives if archive.miss is not None]
    rest = [(None, row) for row in (*misses, *(region.start for region in case.regions))]
    for to_go, row in (*offers, *rest):
        written = engine.space.encode(engine.space.decode(row[None, :]))[0]
        if _is_feasible(engine, case, written):
            case.verified_rows += 1
            output = engine.oracle().verdict(written[None, :])
            if _passes(engine, case, written, output):
                # The budget ended before the search could ask about it.
                case.answers.append(_counterfactual(engine, case, written, output))
                return None
            return _counterfactual(engine, case, written, output, to_go)
    return None


def _conclude(cases: Sequence[Case]) -> None:
    for case in cases:
        if case.answers:
            case.status = Status.FOUND
        elif case.ran_out:
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
        counterfactuals=tuple(case.answers),
        bounded=case.bounded,
        clash=case.clash,
        rows_used=case.rows_used,
        seconds=seconds,
        seed=engine.seed,
        metric=engine.metric.norm,
        units={one.name: one.unit for one in engine.space.features if one.unit},
        versions={"ssba": __version__, "numpy": np.__version__, "python": platform.python_version()},
        model_fingerprint=engine.model.fingerprint,
    )


def limits_from_now(rows: int, seconds: float | None, k: int) -> Limits:
    """Turn a budget into limits that start now."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    return Limits(rows, deadline, k)
