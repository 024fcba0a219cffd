"""The last check: rows as a person will read them, every constraint, and the model's own word.

A row is allowed by the regions, the number of changes, and every constraint in user units.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.constraint import holds
from ssba.constraints.language.tree import Constraint
from ssba.constraints.surely_holds import surely_hold
from ssba.models.model import Output
from ssba.models.targets import Reply
from ssba.options import SHORTER
from ssba.pipeline.asking import by_goal, change_limits, reader_of, told, verdicts
from ssba.pipeline.few_digits import short_forms
from ssba.pipeline.margins import ball_holds, ball_rows
from ssba.pipeline.state import QueryState, States, Vector
from ssba.results.explanation import Counterfactual
from ssba.search.lanes import rank_within
from ssba.search.pick import APART, NEARER, pick_order
from ssba.search.regions import Mask, Numbers, Regions

# Answers whose margin is thinner than this share of the largest score are asked about once more, alone:
# a batch and a single row may differ in the last bits of their sums.
_THIN = 2.0**-13


def verify(states: States) -> None:
    """Check the best rows of every query, as written, and ask the model itself; the next where one fails.

    Where none passes, more and more are offered at a time, until there are no more: so whatever passes is
    found, however many nearer rows do not. Only the first are checked once the time is up.
    """
    open_checks, at_once = [_check_of(state) for state in states], 1
    while open_checks:
        offered = [
            (one, row) for one in open_checks for row in itertools.islice(one.offers, at_once * one.wanted)
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
    """The rows to check for one query, how many different answers there may be, and the answers so far."""

    state: QueryState
    offers: Iterator[Vector]
    different: int
    accepted: list[Vector] = field(default_factory=list)

    @property
    def wanted(self) -> int:
        return self.different - len(self.accepted)

    @property
    def has_enough(self) -> bool:
        return len(self.accepted) >= (1 if self.state.limits.is_over() else self.different)


def _put_in_order(state: QueryState) -> None:
    """Nearest first; other columns in the order of choice behind the nearest; few changes in that order."""
    options, answers = state.options, state.found.answers
    if len(answers) < 2:
        return
    if options.diversity == "levers" or (options.diversity == "distance" and options.sparsity == "none"):
        answers.sort(key=lambda answer: answer.distance)
    elif options.sparsity == "none":
        # Where the first was refused, what stands in for it was accepted last.
        answers.insert(0, answers.pop(answers.index(min(answers, key=lambda answer: answer.distance))))


def _is_different(state: QueryState, z: Vector, earlier: Sequence[Vector]) -> bool:
    """Tell whether a row differs from all answers so far, as `pick_order` means it.

    A spare that stands in for a refused row may be much like another answer.
    """
    if not earlier:
        return True
    rows = np.stack([z, *earlier])
    (far, *others), changed = state.distance(rows).tolist(), changed_cells(rows, state.x)
    apart = state.engine.metric.distance(rows[:1], rows[1:]).tolist()
    for theirs, distance, gap in zip(changed[1:], others, apart, strict=True):
        inside, around = bool((changed[0] <= theirs).all()), bool((changed[0] >= theirs).all())
        if not (inside or around):
            continue
        if state.options.diversity == "levers":
            larger, smaller = (far, distance) if around else (distance, far)
            # Of two sets of columns one inside the other, the larger is of interest where it is much nearer.
            if inside != around and larger <= (NEARER + 2 * SHORTER) * smaller:
                continue
            return False
        # Rows in few digits may lie a little nearer to each other than those that were picked.
        if gap < (APART - 2 * SHORTER) * min(others):
            return False
    return True


def _check_of(state: QueryState) -> _Check:
    """Line up the rows to check: up to `k` different ones, then spares that stand in for refused ones."""
    options, found, metric = state.options, state.found, state.engine.metric
    if options.k == 1 and options.price == 1 and options.radius is None and options.diversity != "levers":
        return _Check(state, _nearest_first(state), 1)
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
    return _Check(state, iter(rows[order]), different)


def _nearest_first(state: QueryState) -> Iterator[Vector]:
    """Yield all rows that reached, as `pick_order` has them for one answer; the first is mostly enough."""
    yield state.found.nearest_row
    rows = state.found.hits
    order, _ = pick_order(rows, state.x, state.engine.metric, 1, len(rows))
    yield from rows[order[1:]]


def _accept(offered: Sequence[tuple[_Check, Vector]]) -> None:
    """Give each query, of the forms of each row offered for it, the first that passes every check."""
    checks = [one for one, _ in offered]
    engine = checks[0].state.engine
    x = np.array([one.state.x for one in checks])
    forms = short_forms(engine, np.array([row for _, row in offered]), x)
    written = engine.space.encode(engine.space.decode(forms.rows))
    output = verdicts(engine.judging, forms.rows, x[forms.of])
    asked = _Asked([one.state for one in checks], forms.of, written, output)
    ends = np.searchsorted(forms.of, np.arange(len(offered) + 1)).tolist()
    parts = [range(begin, end) for begin, end in itertools.pairwise(ends)]
    for one, part in zip(checks, parts, strict=True):
        one.state.spent.verified_rows += len(part)
    # Of many queries together; the other answers of each only if there is still time.
    first = {id(one): (one, part) for one, part in zip(reversed(checks), reversed(parts), strict=True)}
    asked.ask_alone(next(asked.promising(*one), None) for one in first.values())
    states, numbers = [], []
    for one, part in zip(checks, parts, strict=True):
        number = None if one.has_enough else asked.first_passing(one, part)
        if number is not None:
            one.accepted.append(written[number])
            states.append(one.state)
            numbers.append(number)
    chosen = np.array(numbers, dtype=np.int64)
    answers = counterfactuals(states, written[chosen], output.take(chosen))
    for state, answer in zip(states, answers, strict=True):
        state.found.answers.append(answer)


@dataclass(frozen=True)
class _Asked:
    """Rows as written, each with the number of its query among some, and what the model says about them."""

    states: States
    of: Numbers
    rows: Matrix
    output: Output
    _stand_alone: dict[int, bool] = field(default_factory=dict)

    def first_passing(self, check: _Check, numbers: range) -> int | None:
        """Return the first of a query's rows that passes every check and is unlike its other answers."""
        for i in self.promising(check, numbers):
            self.ask_alone([i])
            radius = check.state.options.radius
            if self._stand_alone[i] and (radius is None or ball_holds(check.state, self.rows[i])):
                return i
        return None

    def promising(self, check: _Check, numbers: range) -> Iterator[int]:
        """Yield those of a query's rows that pass all checks but the last, for which each is asked alone."""
        for i in numbers:
            if (
                self._reaching_inside[i]
                and _is_different(check.state, self.rows[i], check.accepted)
                and _hold(check.state, self.rows[i], self._unsure.get(i, ()))
            ):
                yield i

    def ask_alone(self, numbers: Iterable[int | None]) -> None:
        """Ask about rows alone, where their batch might decide and that is not known yet."""
        fresh = [i for i in numbers if i is not None and i not in self._stand_alone]
        self._stand_alone.update(dict.fromkeys(fresh, True))
        thin = [i for i in fresh if self._thin[i]]
        if thin:
            of = self.of[thin]
            x = np.stack([self.states[number].x for number in of])
            alone = self.states[0].engine.judging.oracle().alone(self.rows[thin], np.isnan(x))
            reply = reader_of(self.states)(self.rows[thin], of, alone)
            self._stand_alone.update(zip(thin, np.asarray(reply.reached).tolist(), strict=True))

    @cached_property
    def _reply(self) -> Reply:
        return reader_of(self.states)(self.rows, self.of, self.output)

    @cached_property
    def _thin(self) -> Mask:
        if self._reply.margin is None:
            return np.ones(len(self.rows), dtype=bool)
        return np.asarray(np.abs(self._reply.margin) < _THIN * self.states[0].engine.judging.score_size)

    @cached_property
    def _reaching_inside(self) -> Mask:
        """Which rows give their query what it asks for, and lie in one of its regions."""
        return np.asarray(self._reply.reached & lie_inside(self.states, self.of, self.rows))

    @cached_property
    def _unsure(self) -> dict[int, list[Constraint]]:
        return unsure_constraints(self.states, self.of, self.rows)


def passes(state: QueryState, z: Vector, verdict: Output) -> bool:
    """Check a row as written: constraints, the model's own word, and that word for the row alone."""
    asked = _Asked([state], np.zeros(1, dtype=np.int64), z[None, :], verdict)
    return asked.first_passing(_Check(state, iter(()), 1), range(1)) is not None


def counterfactual(
    state: QueryState, z: Vector, output: Output, to_go: float | None = None
) -> Counterfactual:
    """Write a checked row for the user; `to_go` is what a bounded move leaves to the boundary."""
    return counterfactuals([state], z[None, :], output, to_go)[0]


def counterfactuals(
    states: States, Z: Matrix, output: Output, to_go: float | None = None
) -> list[Counterfactual]:
    """Write checked rows, one of each query, for the user."""
    if not states:
        return []
    engine, x = states[0].engine, np.array([state.x for state in states])
    queries, rows = engine.space.rows_values(x), engine.space.rows_values(Z)
    far = np.asarray(engine.metric.distance(Z, x)).tolist()
    near = _near(states, Z)
    said = told(engine.judging, [state.query.goal for state in states], output)
    return [
        Counterfactual(
            values=row,
            changes={name: (query[name], cell) for name, cell in row.items() if query[name] != cell},
            distance=far[i],
            prediction=said[i][0],
            score=said[i][1],
            distance_to_boundary=to_go,
            distance_to_data=None if math.isinf(near[i]) else near[i],
            rows_around=None if state.options.radius is None else len(ball_rows(state, Z[i], engine.seed)),
            layout=engine.space.layout,
        )
        for i, (state, query, row) in enumerate(zip(states, queries, rows, strict=True))
    ]


def _near(states: States, Z: Matrix) -> list[float]:
    """Return how far each row is from data that reach its goal."""
    near = np.empty(len(states))
    engine, limits = states[0].engine, states[0].limits
    for goal, rows in by_goal([state.query.goal for state in states]).items():
        near[rows] = engine.background.distances_to(Z[rows], goal, limits.is_over)
    return near.tolist()


def are_feasible(states: States, of: Numbers, rows: Matrix) -> Mask:
    """Check finished rows against every constraint in user units, and against the declared columns.

    Each comes with the number of its query.
    """
    if not len(rows):
        return np.zeros(0, dtype=bool)
    x = np.array([state.x for state in states])
    few = changed_cells(rows, x[of]).sum(axis=1) <= change_limits(states)[of]
    allowed = lie_inside(states, of, rows) & few
    for i, unsure in unsure_constraints(states, of, rows).items():
        allowed[i] = allowed[i] and _hold(states[int(of[i])], rows[i], unsure)
    return np.asarray(allowed)


def lie_inside(states: States, of: Numbers, rows: Matrix) -> Mask:
    """Tell which rows lie in one of the regions of their query."""
    parts = [state.query.regions for state in states]
    count = np.array([len(own) for own in parts])
    if not count.any():
        return np.zeros(len(rows), dtype=bool)
    first = np.cumsum(count) - count
    regions = Regions(tuple(itertools.chain(*parts)), np.repeat(np.arange(len(parts)), count))
    # Every row is held against each region of its query.
    number = np.repeat(np.arange(len(rows)), count[of])
    inside = regions.contains(rows[number], first[of[number]] + rank_within(number))
    return np.asarray(np.bincount(number[inside], minlength=len(rows)) > 0)


def unsure_constraints(states: States, of: Numbers, rows: Matrix) -> dict[int, list[Constraint]]:
    """Return for rows that may break a constraint, by their numbers, those that have to be looked at closely.

    Rows that share constraints are checked at once.
    """
    unsure: dict[int, list[Constraint]] = {}
    lists = {id(state.query.constraints): state.query.constraints for state in states}
    own = np.array([id(state.query.constraints) for state in states])[of]
    x, features = np.array([state.x for state in states]), states[0].engine.space.features
    for name, constraints in lists.items():
        some = np.flatnonzero(own == name)
        sure = surely_hold(constraints, x[of[some]], rows[some], features)
        for place in np.flatnonzero(~sure.all(axis=1)).tolist():
            unsure[int(some[place])] = [constraints[i] for i in np.flatnonzero(~sure[place]).tolist()]
    return unsure


def _hold(state: QueryState, z: Vector, constraints: Sequence[Constraint]) -> bool:
    """Check a finished row against constraints in user units."""
    if not constraints:
        return True
    space = state.engine.space
    query, row = space.rows_values(np.stack([state.x, z]))
    return all(holds(one, query, row, space.by_name) for one in constraints)
