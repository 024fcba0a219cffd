"""Queries from the row to the explanation, stage by stage, all of them side by side.

    compile -> predict -> begin -> solve exactly -> search -> gather evidence -> apply options
    -> tighten exactly -> verify -> bounded

A query's outcome depends on nothing but the query, its constraints and the explainer, so it is the same alone
or among others. `explain`, `explain_many` and all advice take this way; advice that compares many searches
of one query ends before the bounded move, or asks for nothing but that.

The rows that searches ask are the same for every budget, up to where it ends. So a larger budget can only add
candidates. Only where it allows for all legal rows are these asked instead, which gives the exact answer.
"""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.layout import RowLabel
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.compile import Compiled, clashing, compile_queries
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.index.encoded_points import EncodedPoints
from ssba.interrupts import is_interrupted
from ssba.models.model import Output
from ssba.models.targets import Goal, describe, resolve
from ssba.options import Budget, Options
from ssba.pipeline.asking import goal_reply, reader_of, shown_answers, told, verdicts
from ssba.pipeline.begin import begin, give_starts
from ssba.pipeline.bounded_moves import bounded_moves, nearest_moves
from ssba.pipeline.course import Stage
from ssba.pipeline.evidence import ask_all_nearer, evidence_of, gather_evidence, search_in_shells
from ssba.pipeline.look import LOOK_ROWS, look
from ssba.pipeline.margins import ball_holds, find_room_nearer, push_off_boundary
from ssba.pipeline.max_changes import refuse_too_few_changes, search_few
from ssba.pipeline.nearest_rows import run_stages, search_nearest
from ssba.pipeline.other_columns import search_other_columns, sparsify
from ssba.pipeline.solve_exactly import is_told_by_trees, looks_inside, solve_exactly, tighten_exactly
from ssba.pipeline.state import Limits, Query, QueryState, Spent, States, Vector
from ssba.pipeline.verify import verify
from ssba.results.explanation import Evidence, Explanation, Status, Stopped
from ssba.version import __version__

# So many requests are taken through all stages together: more would hold more rows in memory at a time, and
# hardly be quicker. Where the model is on a device of its own, a call with more rows costs hardly more.
TOGETHER, BESIDE = 512, 2048


@dataclass(frozen=True)
class Request:
    """What is asked of an engine about one row; `compiled` and `goal` where they are known already.

    `row_label` is the row's label in a pandas index, which its explanation bears.
    """

    x: Vector
    constraints: tuple[Constraint, ...] = ()
    options: Options = field(default_factory=Options)
    compiled: Compiled | None = None
    goal: Goal | None = None
    row_label: RowLabel | None = None


def explain_requests(
    engine: Engine,
    requests: Sequence[Request],
    budget: Budget,
    boundary: EncodedPoints | None = None,
    tell: Callable[[float], object] | None = None,
    limits: Limits | None = None,
) -> list[Explanation]:
    """Take all requests from the row to the explanation.

    `tell` learns, in queries, by how much more of them is done; in the end that is their number. After Ctrl-C
    no more of them are begun (`ssba.interrupts`). `limits` are what is left of the budget, if not all of it.
    """
    limits, found = limits or Limits.from_now(budget, tell), list[Explanation]()
    device = engine.judging.model.on_device
    together = BESIDE if device is not None and device.is_apart else TOGETHER
    for first in range(0, len(requests), together):
        some = requests[first : first + together]
        explain = unbegun if is_interrupted() else partial(_explain, limits=limits, boundary=boundary)
        found += explain(engine, some, budget)
    return found


def unbegun(engine: Engine, requests: Sequence[Request], budget: Budget) -> list[Explanation]:
    """Return what can be said about requests that the call was interrupted before: the model is not asked."""
    nothing = Compiled((), complete=False)
    states = [_state(engine, one, Limits(budget.rows), nothing) for one in requests]
    return _explanations(states, [one.row_label for one in requests], budget, 0.0)


def _explain(
    engine: Engine,
    requests: Sequence[Request],
    budget: Budget,
    limits: Limits,
    boundary: EncodedPoints | None,
) -> list[Explanation]:
    """Take some requests from the row to the explanation, all of them together."""
    begun, course = time.perf_counter(), limits.course
    states = compiled_states(engine, requests, limits)
    for state in states:
        _name_clash(state)
        if state.options.max_changes is not None:
            refuse_too_few_changes(state)
    predict([state for state in states if state.found.status is not Status.INFEASIBLE])
    open_states = [state for state in states if state.found.status is None]
    course.expect(len(states))
    search(open_states, boundary)
    without = [state for state in open_states if not state.found.answers]
    course.finish(state for state in open_states if state.found.answers)
    # Of each query without an answer the model is asked several times, one after the other.
    if without and not is_interrupted():
        bounded_moves(without, boundary)
    for state in open_states:
        state.found.status = _status(state)
    course.end()
    seconds = (time.perf_counter() - begun) / max(1, len(states))
    return _explanations(states, [one.row_label for one in requests], budget, seconds)


def search_requests(
    engine: Engine,
    requests: Sequence[Request],
    limits: Limits,
    done: Callable[[], object],
    search_open: Callable[[States], None] | None = None,
) -> list[QueryState]:
    """Search for answers to requests about one row whose goal is known, and end there.

    `search_open` is what searches where the model's inside does not tell; all that there is, if not given.
    """
    states = compiled_states(engine, requests, limits)
    searched = _not_there_yet(states)
    search(searched, None, search_open)
    for _ in searched:
        done()
    return states


def look_at_requests(
    engine: Engine,
    requests: Sequence[Request],
    rows: int,
    known: Matrix,
    done: Callable[[], object],
) -> list[QueryState]:
    """Find out in few rows whether requests about one row have an answer at all, and end there.

    `known` are rows that reach the goal, under whatever constraints.
    """
    limits = Limits(min(rows, LOOK_ROWS), until_found=True)
    return search_requests(engine, requests, limits, done, partial(look, known=known, search=search_queries))


def move_requests(engine: Engine, requests: Sequence[Request]) -> list[QueryState]:
    """Find the feasible rows nearest to boundary points for requests about one row, without a search."""
    states = compiled_states(engine, requests, Limits(rows=0))
    moving = _not_there_yet(states)
    begin(moving)
    nearest_moves(moving)
    return states


def compiled_states(engine: Engine, requests: Sequence[Request], limits: Limits) -> list[QueryState]:
    """Compile the constraints of requests into regions; those that share their constraints together."""
    compiled = [request.compiled for request in requests]
    same: dict[int, list[int]] = {}
    for number, request in enumerate(requests):
        if request.compiled is None:
            same.setdefault(id(request.constraints), []).append(number)
    for numbers in same.values():
        X = np.stack([requests[number].x for number in numbers])
        rules = requests[numbers[0]].constraints
        found = compile_queries(engine.space, engine.metric, X, rules, limits.deadline)
        for number, one in zip(numbers, found, strict=True):
            compiled[number] = one
    return [
        _state(engine, request, limits, one)
        for request, one in zip(requests, compiled, strict=True)
        if one is not None
    ]


def _state(engine: Engine, request: Request, limits: Limits, compiled: Compiled) -> QueryState:
    """Return a query at its beginning; without a region it is infeasible, where that is certain."""
    query = Query(
        request.x, request.constraints, request.options, compiled.regions, compiled.complete, request.goal
    )
    state = QueryState(engine, query, Spent(limits))
    if not query.regions:
        # Without a region nothing can be asked; that nothing meets the constraints is said only if certain.
        state.found.status = Status.INFEASIBLE if compiled.complete else Status.OUT_OF_BUDGET
    return state


def _name_clash(state: QueryState) -> None:
    """Name the constraints that contradict each other, none of which can be left out."""
    if state.found.status is Status.INFEASIBLE:
        engine, query = state.engine, state.query
        asked = engine.space, engine.metric, query.x, query.constraints
        state.found.clash = tuple(one.text for one in clashing(*asked, state.limits.deadline))


def predict(states: States) -> None:
    """Ask the model about the rows themselves: that gives each query its goal, or ends it."""
    if not states:
        return
    judging, course = states[0].engine.judging, states[0].limits.course
    rows = np.array([state.x for state in states])
    begun = time.monotonic()
    answers = verdicts(judging, rows, rows)
    course.last_call = time.monotonic() - begun
    target = states[0].engine.target
    goals = [resolve(target, one) for one in shown_answers(answers)]
    said = told(judging, goals, answers)
    for state, goal, (prediction, score) in zip(states, goals, said, strict=True):
        state.query = replace(state.query, known_goal=goal, prediction=prediction, score=score)
        state.spent.verified_rows += 1
    reached = reader_of(states, [True] * len(states))(rows, np.arange(len(states)), answers).reached
    for number in np.flatnonzero(reached).tolist():
        if _has_room(states[number]):
            states[number].found.status = Status.ALREADY_THERE


def is_there(state: QueryState, mine: Output) -> bool:
    """Tell whether a query reaches its goal as it is, with a ball around it where one was asked for."""
    return bool(goal_reply(state, mine).reached[0]) and _has_room(state)


def _has_room(state: QueryState) -> bool:
    """Tell whether the ball around a query that reaches does, too, where one was asked for."""
    return state.options.radius is None or ball_holds(state, state.x)


def _not_there_yet(states: States) -> list[QueryState]:
    """Return, of queries about one row, those that there is something to search for."""
    mine = verdicts(states[0].engine.judging, states[0].x[None, :], states[0].x)
    return [state for state in states if state.query.regions and not is_there(state, mine)]


def search(
    states: States,
    boundary: EncodedPoints | None,
    search_open: Callable[[States], None] | None = None,
) -> None:
    """Find answers: exactly where the model can be read, else by search; and check them."""
    if not states:
        return
    begin(states)
    states[0].limits.course.begin(states, looks_inside=looks_inside(states[0]))
    wanting = solve_exactly(states)
    give_starts(wanting, boundary)
    for state in wanting:
        _check_neighbours(state)
    (search_open or search_queries)(wanting)
    tighten_exactly(wanting)
    for state in states:
        state.spent.ran_out = state.was_stopped
    verify([state for state in states if state.found.has_hits])


def _check_neighbours(state: QueryState) -> None:
    """Refuse to call anything plausible where there is hardly any data to tell by."""
    goal = state.query.goal
    if state.options.plausible and (count := len(state.engine.background.neighbourhood(goal).rows)) < 2:
        raise ArgumentError(
            f"plausible=True needs at least 2 different background rows that reach {describe(goal)}, but "
            f"there are {count} without missing cells; give more data, or leave plausible out"
        )


def _status(state: QueryState) -> Status:
    if state.found.answers:
        return Status.FOUND
    if state.spent.ran_out or state.found.bounded is None:
        # Without a row that shows how far one gets, it is not known that there is none to be found.
        return Status.OUT_OF_BUDGET
    return Status.BOUNDED


def _stopped(state: QueryState, evidence: Evidence) -> Stopped:
    """Say why the search ended: nothing was left to find, it settled, or something ended it before."""
    found, spent = state.found, state.spent
    if found.status in (Status.INFEASIBLE, Status.ALREADY_THERE) or evidence.proof is not None:
        return "exact"
    if spent.stopped_by is not None:
        return spent.stopped_by
    # Compiling constraints, and rows that are asked before any search, end with the time alone.
    return state.limits.time_ended_by or "settled"


def _explanations(
    states: States, labels: Sequence[RowLabel | None], budget: Budget, seconds: float
) -> list[Explanation]:
    """Put together what the user gets; what queries share is worked out once."""
    if not states:
        return []
    engine, found = states[0].engine, list[Explanation]()
    goals = {state.query.known_goal for state in states}
    targets = {goal: engine.target_text if goal is None else describe(goal) for goal in (*goals, engine.goal)}
    # Queries mostly share one tuple of constraints; comparing these by value would take longer.
    lists = {id(own): own for own in (state.query.constraints for state in states)}
    texts = {name: tuple(one.text for one in own) for name, own in lists.items()}
    versions = {"ssba": __version__, "numpy": np.__version__, "python": platform.python_version()}
    rows = engine.space.rows_values(np.array([state.x for state in states]))
    for state, row, label in zip(states, rows, labels, strict=True):
        query, known, evidence = state.query, state.found, evidence_of(state)
        assert known.status is not None
        goal = query.known_goal or engine.goal
        one = Explanation(
            status=known.status,
            query=row,
            prediction=query.prediction,
            score=query.score,
            target=targets[goal],
            goal=goal,
            constraints=texts[id(query.constraints)],
            options=query.options,
            budget=budget,
            counterfactuals=tuple(known.answers),
            bounded=known.bounded,
            obstacles=known.obstacles,
            clash=known.clash,
            evidence=evidence,
            stopped=_stopped(state, evidence),
            rows_used=state.rows_used,
            seconds=seconds,
            seed=engine.seed,
            columns=engine.columns,
            metric=engine.metric.norm,
            layout=engine.space.layout,
            row_label=label,
            model=engine.judging.model.name,
            model_fingerprint=engine.judging.model.fingerprint,
            versions=dict(versions),
        )
        found.append(one)
    return found


def search_queries(states: States) -> None:
    """Search for what the queries ask for; all finds are in their archives."""
    if not states:
        return
    course = states[0].limits.course
    plain = [state for state in states if state.options.max_changes is None and not state.has_enough]
    plain = [state for state in plain if not is_told_by_trees(state)]
    exact = set(map(id, search_in_shells(plain)))
    search_nearest([state for state in plain if id(state) not in exact or state.options.k > 1])
    few = [state for state in states if state.options.max_changes is not None]
    course.reach(few, Stage.NEAREST, part=0)
    run_stages(few, [search_few(state, int(state.options.max_changes or 0)) for state in few])
    course.reach(states, Stage.NEAREST)
    course.reach(states, Stage.EVIDENCE, part=0)
    gather_evidence(states)
    course.reach(states, Stage.EVIDENCE)
    further = [state for state in states if state.options.asks_for_more]
    course.reach(further, Stage.FURTHER, part=0)
    run_stages(further, [_search_on(state) for state in further])
    # Room is made around what the search found, whether or not the budget allows for this.
    ask_all_nearer([state for state in states if state.options.radius is not None])


def _search_on(state: QueryState) -> Asking[None]:
    """Search for what is asked for beside the nearest row."""
    if state.options.price > 1:
        yield from sparsify(state)
    if state.options.k > 1 and state.options.diversity != "distance":
        yield from search_other_columns(state)
    if state.options.radius is not None:
        yield from push_off_boundary(state)
        yield from find_room_nearer(state)
    state.limits.course.reach([state], Stage.FURTHER)
