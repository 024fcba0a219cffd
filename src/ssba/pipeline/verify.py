"""The last check: rows as a person will read them, every constraint, and the model's own word."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.constraint import holds
from ssba.models.model import Output
from ssba.models.targets import Reply
from ssba.options import SHORTER
from ssba.pipeline.asking import judged, prediction_and_score, predictions
from ssba.pipeline.few_digits import short_forms
from ssba.pipeline.margins import ball_holds, ball_rows
from ssba.pipeline.state import QueryState, States, Vector
from ssba.results.explanation import Counterfactual
from ssba.search.pick import APART, NEARER, pick_order

# Answers whose margin is thinner than this share of the largest score are asked about once more, alone:
# a batch and a single row may differ in the last bits of their sums.
_THIN = 2.0**-13


def verify(states: States) -> None:
    """Check the best rows of every query, as written, and ask the model itself; the next where one fails.

    Where none passes, more and more are offered at a time, until there are no more: so whatever passes is
    found, however many nearer rows do not. Only the first are checked once the time is up.
    """
    checks = [_check_of(state) for state in states]
    open_checks, at_once = checks, 1
    while open_checks:
        offered = [
            (one, group)
            for one in open_checks
            for group in itertools.islice(one.offers, at_once * one.wanted)
        ]
        if not offered:
            break
        _accept(offered)
        open_checks = [one for one in open_checks if one.wanted > 0]
        at_once *= 2
        if states[0].limits.is_over():
            break
    for state in states:
        _put_in_order(state)


@dataclass(frozen=True)
class _Check:
    """The rows to check for one query, each in several forms, and how many different answers there may be."""

    state: QueryState
    offers: Iterator[Matrix]
    different: int

    @property
    def wanted(self) -> int:
        return self.different - len(self.state.found.answers)


def _put_in_order(state: QueryState) -> None:
    """Nearest first; other columns in the order of choice behind the nearest; few changes in that order."""
    options, answers = state.options, state.found.answers
    if options.diversity == "levers" or (options.diversity == "distance" and options.sparsity == "none"):
        answers.sort(key=lambda answer: answer.distance)
    elif options.sparsity == "none" and answers:
        # Where the first was refused, what stands in for it was accepted last.
        answers.insert(0, answers.pop(answers.index(min(answers, key=lambda answer: answer.distance))))


def _is_different(state: QueryState, z: Vector) -> bool:
    """Tell whether a row differs from all answers so far, as `pick_order` means it.

    A spare that stands in for a refused row may be much like another answer.
    """
    changed = changed_cells(z[None, :], state.x)[0]
    ours = {name for name, moved in zip(state.engine.space.names, changed, strict=True) if moved}
    nearest = min((one.distance for one in state.found.answers), default=0.0)
    for one in state.found.answers:
        theirs = set(one.changes)
        if not (ours <= theirs or theirs <= ours):
            continue
        if state.options.diversity == "levers":
            if _is_worth_having(state, (ours, z), (theirs, one)):
                continue
            return False
        row = state.engine.space.encode_row(one.values)
        apart = float(state.engine.metric.distance(z[None, :], row)[0])
        # Rows in few digits may lie a little nearer to each other than those that were picked.
        if apart < (APART - 2 * SHORTER) * nearest:
            return False
    return True


def _is_worth_having(
    state: QueryState, ours: tuple[set[str], Vector], theirs: tuple[set[str], Counterfactual]
) -> bool:
    """Tell whether, of two sets of columns one inside the other, the larger is much nearer."""
    (own, z), (other, answer) = ours, theirs
    far = float(state.distance(z[None, :])[0])
    larger, smaller = (far, answer.distance) if own > other else (answer.distance, far)
    return own != other and larger <= (NEARER + 2 * SHORTER) * smaller


def _check_of(state: QueryState) -> _Check:
    """Line up the rows to check: up to `k` different ones, then spares that stand in for refused ones."""
    options, found, metric = state.options, state.found, state.engine.metric
    rows = found.hits
    if options.radius is not None:
        rows = np.stack(found.robust_rows) if found.robust_rows else rows[:0]
    order, different = pick_order(
        rows, state.x, metric, options.k, len(rows), diversity=options.diversity, price=options.price
    )
    if options.diversity == "levers" and found.by_columns and options.radius is None:
        rows, spares = np.stack(found.by_columns), rows[order]
        order, different = pick_order(rows, state.x, metric, options.k, 0, diversity=options.diversity)
        rows, order = np.concatenate([rows, spares]), [*order, *range(len(rows), len(rows) + len(spares))]
    return _Check(state, (short_forms(state, rows[i]) for i in order), different)


def _accept(offered: Sequence[tuple[_Check, Matrix]]) -> None:
    """Give each query, of the groups of rows offered for it, the first row that passes every check."""
    engine, limits = offered[0][0].state.engine, offered[0][0].state.limits
    rows = np.concatenate([group for _, group in offered])
    queries = np.concatenate([np.tile(one.state.x, (len(group), 1)) for one, group in offered])
    written = engine.space.encode(engine.space.decode(rows))
    outputs = predictions(engine.judging, rows, queries)
    begin = 0
    for one, group in offered:
        state, end = one.state, begin + len(group)
        state.spent.verified_rows += len(group)
        enough = len(state.found.answers) >= (1 if limits.is_over() else one.different)
        for i in range(begin, begin if enough else end):
            if _is_different(state, written[i]) and passes(state, written[i], outputs[i]):
                state.found.answers.append(counterfactual(state, written[i], outputs[i]))
                break
        begin = end


def passes(state: QueryState, z: Vector, verdict: Output) -> bool:
    """Check a row as written: constraints, the model's own word, and that word for the row alone."""
    reply = judged(state, z[None, :], verdict)
    if not reply.reached[0] or not is_feasible(state, z):
        return False
    if _is_thin(state, reply):
        alone = state.engine.judging.oracle().verdict(z[None, :], np.isnan(state.x))
        if not judged(state, z[None, :], alone).reached[0]:
            return False
    return state.options.radius is None or ball_holds(state, z)


def _is_thin(state: QueryState, reply: Reply) -> bool:
    return reply.margin is None or abs(float(reply.margin[0])) < _THIN * state.engine.judging.score_size


def is_feasible(state: QueryState, z: Vector) -> bool:
    """Check a finished row against every constraint in user units, and against the declared columns."""
    if not any(region.contains(z[None, :])[0] for region in state.query.regions):
        return False
    most = state.options.max_changes
    if most is not None and changed_cells(z[None, :], state.x).sum() > most:
        return False
    query, row = state.engine.space.row_values(state.x), state.engine.space.row_values(z)
    return all(holds(one, query, row, state.engine.space.by_name) for one in state.query.constraints)


def counterfactual(
    state: QueryState, z: Vector, output: Output, to_go: float | None = None
) -> Counterfactual:
    """Write a checked row for the user; `to_go` is what a bounded move leaves to the boundary."""
    query, row = state.engine.space.row_values(state.x), state.engine.space.row_values(z)
    prediction, score = prediction_and_score(state.engine.judging, state.query.goal, output)
    return Counterfactual(
        values=row,
        changes={name: (query[name], row[name]) for name in row if query[name] != row[name]},
        distance=float(state.distance(z[None, :])[0]),
        prediction=prediction,
        score=score,
        distance_to_boundary=to_go,
        distance_to_data=_distance_to_data(state, z),
        rows_around=None if state.options.radius is None else len(ball_rows(state, z, state.engine.seed)),
    )


def _distance_to_data(state: QueryState, z: Vector) -> float | None:
    nearest = state.engine.background.distance_to(z, state.query.goal, state.limits.is_over)
    return None if math.isinf(nearest) else nearest
