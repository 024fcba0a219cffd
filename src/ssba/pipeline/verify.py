"""The last check: rows as a person will read them, every constraint, and the model's own word."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ssba.columns.space import Matrix
from ssba.constraints.constraint import holds
from ssba.engine import Engine
from ssba.models.model import Output
from ssba.models.targets import Reply
from ssba.pipeline.asking import judged, told, verdicts
from ssba.pipeline.case import SHORTER, Case, Limits, Vector
from ssba.pipeline.robust import ball_holds, ball_rows
from ssba.results.explanation import Counterfactual
from ssba.search.few import changed_cells
from ssba.search.pick import pick_order

# Answers whose margin is thinner than this share of the largest score are asked about once more, alone:
# a batch and a single row may differ in the last bits of their sums.
_THIN = 2.0**-13


def verify(engine: Engine, cases: Sequence[Case], limits: Limits | None = None) -> None:
    """Check the best rows of every case, as written, and ask the model itself; the next where one fails.

    Where none passes, more and more are offered at a time, until there are no more: so whatever passes is
    found, however many nearer rows do not. Only the first are checked once the time is up.
    """
    for case in cases:
        _prepare_offers(engine, case)
    open_cases, at_once = list(cases), 1
    while open_cases:
        offered = [
            (case, group)
            for case in open_cases
            for group in itertools.islice(case.offers, at_once * (case.different - len(case.answers)))
        ]
        if not offered:
            break
        _accept(engine, offered, limits)
        open_cases = [case for case in open_cases if len(case.answers) < case.different]
        at_once *= 2
        if limits is not None and limits.is_over():
            break
    for case in cases:
        _put_in_order(case)


def _put_in_order(case: Case) -> None:
    """Nearest first; where few changes were asked for, in the order of choice."""
    if case.request.diversity == "levers" or case.request.sparsity == "none":
        case.answers.sort(key=lambda answer: answer.distance)
    if case.request.diversity == "levers":
        # A spare that stood in for a refused row may change the columns of another answer, and more.
        kept: list[Counterfactual] = []
        for answer in case.answers:
            if all(_cross(answer, other) for other in kept):
                kept.append(answer)
        case.answers = kept


def _cross(one: Counterfactual, other: Counterfactual) -> bool:
    ours, theirs = set(one.changes), set(other.changes)
    return not (ours <= theirs or theirs <= ours)


def _prepare_offers(engine: Engine, case: Case) -> None:
    """Line up the rows to check: up to `k` different ones, then spares that stand in for refused ones."""
    request, rows = case.request, case.hits
    if request.radius is not None:
        rows = np.stack(case.roomy) if case.roomy else rows[:0]
    order, case.different = pick_order(
        rows, case.x, engine.metric, request.k, len(rows), diversity=request.diversity, price=request.price
    )
    if request.diversity == "levers" and case.levers and request.radius is None:
        rows, spares = np.stack(case.levers), rows[order]
        order, case.different = pick_order(
            rows, case.x, engine.metric, request.k, 0, diversity=request.diversity
        )
        rows, order = np.concatenate([rows, spares]), [*order, *range(len(rows), len(rows) + len(spares))]
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
    longest = (1 + SHORTER) * float(engine.metric.distance(row[None, :], case.x)[0])
    return np.concatenate([rows[engine.metric.distance(rows, case.x) <= longest], row[None, :]])


def _accept(engine: Engine, offered: Sequence[tuple[Case, Matrix]], limits: Limits | None) -> None:
    """Append to each case, of the groups of rows offered for it, the first row that passes every check."""
    rows = np.concatenate([group for _, group in offered])
    queries = np.concatenate([np.tile(case.x, (len(group), 1)) for case, group in offered])
    written = engine.space.encode(engine.space.decode(rows))
    answers = verdicts(engine, rows, queries)
    begin = 0
    for case, group in offered:
        end = begin + len(group)
        case.verified_rows += len(group)
        enough = len(case.answers) >= (1 if limits is not None and limits.is_over() else case.different)
        for i in range(begin, begin if enough else end):
            if passes(engine, case, written[i], answers[i]):
                case.answers.append(counterfactual(engine, case, written[i], answers[i]))
                break
        begin = end


def passes(engine: Engine, case: Case, z: Vector, verdict: Output) -> bool:
    """Check a row as written: constraints, the model's own word, and that word for the row alone."""
    reply = judged(engine, case, z[None, :], verdict)
    if not reply.reached[0] or not is_feasible(engine, case, z):
        return False
    if _is_thin(engine, reply):
        alone = engine.oracle().verdict(z[None, :], np.isnan(case.x))
        if not judged(engine, case, z[None, :], alone).reached[0]:
            return False
    return case.request.radius is None or ball_holds(engine, case, z)


def _is_thin(engine: Engine, reply: Reply) -> bool:
    return reply.margin is None or abs(float(reply.margin[0])) < _THIN * engine.score_size


def is_feasible(engine: Engine, case: Case, z: Vector) -> bool:
    """Check a finished row against every constraint in user units, and against the declared columns."""
    if not any(region.contains(z[None, :])[0] for region in case.regions):
        return False
    most = case.request.max_changes
    if most is not None and changed_cells(z[None, :], case.x).sum() > most:
        return False
    query, row = engine.space.row_values(case.x), engine.space.row_values(z)
    return all(holds(one, query, row, engine.space.by_name) for one in case.constraints)


def counterfactual(
    engine: Engine, case: Case, z: Vector, output: Output, to_go: float | None = None
) -> Counterfactual:
    """Write a checked row for the user; `to_go` is what a bounded move leaves to the boundary."""
    assert case.goal is not None
    query, row = engine.space.row_values(case.x), engine.space.row_values(z)
    prediction, score = told(engine, case.goal, output)
    return Counterfactual(
        values=row,
        changes={name: (query[name], row[name]) for name in row if query[name] != row[name]},
        distance=float(engine.metric.distance(z[None, :], case.x)[0]),
        prediction=prediction,
        score=score,
        distance_to_boundary=to_go,
        distance_to_data=_distance_to_data(engine, case, z),
        rows_around=None if case.request.radius is None else len(ball_rows(engine, case, z, engine.seed)),
    )


def _distance_to_data(engine: Engine, case: Case, z: Vector) -> float | None:
    assert case.goal is not None
    nearest = float(engine.neighbourhood(case.goal).distance(z[None, :])[0])
    return None if math.isinf(nearest) else nearest
