"""Looking inside the model, where it can be opened: the exact nearest row, and a bound on its distance.

Linear models are always solved exactly, since that takes milliseconds, and less than a second with many
free categories. Trees take seconds and are opened only where the call asks for a proof.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.columns.space import Matrix
from ssba.errors import ArgumentError
from ssba.options import SHORTER
from ssba.pipeline.asking import run_searches
from ssba.pipeline.metering import offered
from ssba.pipeline.state import QueryState, States, Vector
from ssba.progress import unwatched
from ssba.search.archive import Archive
from ssba.whitebox.additive import Additive
from ssba.whitebox.exact import Exact, Question, nearest_by_cpsat, nearest_by_search, nearest_exact
from ssba.whitebox.read_model import Closed, Opened
from ssba.whitebox.scoring import CannotTell

# A row on the boundary itself may miss it by a rounding error: these are a little farther out.
_OUTWARD = np.array([0.0, 1e-9, 1e-7, 1e-5])
TIME_IS_UP = "the time of the budget ran out before the proof was done"
_WORK_IS_DONE = "the proof was not done within the work that is spent on one"
_TOO_MANY_WAYS = "there are too many ways to meet the constraints to look at all of them"
# Of a bound: a row that reaches so much nearer contradicts it.
_APART = 1e-6


def solve_exactly(states: States) -> list[QueryState]:
    """Solve what linear models allow without a search; return the queries that still want one."""
    opened = states[0].engine.judging.opened_linear if states else None
    plain = [state for state in states if opened is not None and _is_plain(state)]
    if opened is None or not plain:
        return list(states)
    _look(plain, opened)
    settled = {
        id(state)
        for state in plain
        if state.options.k == 1 and state.found.is_settled and not is_contradicted(state)
    }
    return [state for state in states if id(state) not in settled]


def tighten_exactly(states: States, done: Callable[[], object] = unwatched) -> None:
    """After the search: add the exact row where there is a nearer one, and a bound; `done` counts queries."""
    if not states:
        return
    judging = states[0].engine.judging
    opened: Opened | Closed | None = judging.opened_linear
    if opened is None and any(state.options.prove for state in states):
        opened = judging.opened
    wanted = [state for state in states if isinstance(opened, Additive) or state.options.prove]
    wanted = [state for state in wanted if state.found.lower_bound is None]
    looked = 0
    if isinstance(opened, Closed):
        for state in wanted:
            state.found.unproved = opened.reason
    elif opened is not None and wanted:
        _look(wanted, opened, done)
        looked = len(wanted)
    for _ in range(len(states) - looked):
        done()


def _is_plain(state: QueryState) -> bool:
    """Whether the nearest row of all is the answer, or the first of several."""
    return state.options.price == 1 and not state.options.limits


def _look(states: States, opened: Opened, done: Callable[[], object] = unwatched) -> None:
    found = []
    for state in states:
        rows = _solve(state, opened)
        rows += _counterexamples(state)
        found += [(state, archive, row) for archive, row in rows]
        done()
    searches: list[Asking[None]] = [_offer(state, archive, row) for state, archive, row in found]
    run_searches([state for state, _, _ in found], searches)


def _offer(state: QueryState, archive: Archive, row: Vector) -> Asking[None]:
    region = archive.region
    rows = region.snap(np.where(np.isnan(row), row, row + _OUTWARD[:, None] * (row - region.start)))
    rows = np.unique(rows, axis=0)
    yield from offered(state, rows, archive)


def _solve(state: QueryState, opened: Opened) -> list[tuple[Archive, Vector]]:
    """Return the nearest rows by region, and keep the least of their bounds; none where one is unknown."""
    rows: list[tuple[Archive, Vector]] = []
    bounds = []
    state.found.unproved = None
    if not state.query.has_all_regions:
        state.found.unproved = TIME_IS_UP if state.limits.is_over() else _TOO_MANY_WAYS
        return rows
    for archive in state.region_archives:
        begins = archive.region.begins
        if begins >= state.found.best_distance:
            bounds.append(begins)
            continue
        try:
            exact = _nearest(state, archive, opened)
        except CannotTell as reason:
            state.found.unproved = str(reason)
            return rows
        if not exact.proved:
            state.found.unproved = _unfinished(state)
        bounds.append(max(begins, exact.lower_bound))
        if exact.row is not None:
            rows.append((archive, exact.row))
    state.found.lower_bound = min(bounds)
    return rows


def _counterexamples(state: QueryState) -> list[tuple[Archive, Vector]]:
    """Return background rows that reach the goal nearer than the bound says any can, the nearest by region.

    There is none, unless the model is not what it was read as.
    """
    if state.found.lower_bound is None:
        return []
    bound = state.found.lower_bound * (1 - _APART)
    nearer = state.engine.background.reaching_within(state.x, bound, state.query.goal)
    found = []
    for archive in state.region_archives:
        inside = nearer[archive.region.contains(nearer)]
        found += [(archive, row) for row in inside[:1]]
    return found


def _unfinished(state: QueryState) -> str:
    return TIME_IS_UP if state.limits.is_over() else _WORK_IS_DONE


def _nearest(state: QueryState, archive: Archive, opened: Opened) -> Exact:
    if state.limits.is_over():
        raise CannotTell(TIME_IS_UP)
    goal = state.query.goal

    def reached(rows: Matrix) -> NDArray[np.bool_]:
        state.spent.verified_rows += len(rows)
        judging = state.engine.judging
        return np.asarray(judging.reply(goal, judging.oracle().verdict(rows, np.isnan(state.x))).reached)

    question = Question(goal, archive.region, state.engine.metric, reached, state.limits.deadline)
    known = archive.nearest(1)[0] if archive.has_found else None
    if isinstance(opened, Additive):
        return nearest_exact(opened, question, known=known)
    near = nearest_by_search(opened, question, known=known)
    known = known if near is None else near
    exact = nearest_exact(opened, question, known=known)
    if exact.proved or state.limits.is_over():
        return exact
    return _better(exact, _by_cpsat(opened, question, known if exact.row is None else exact.row))


def _by_cpsat(opened: Opened, question: Question, known: Vector | None) -> Exact | None:
    """Ask the solver of the extra `exact`, if it is installed."""
    try:
        return None if isinstance(opened, Additive) else nearest_by_cpsat(opened, question, known=known)
    except (ArgumentError, CannotTell):
        return None


def _better(one: Exact, other: Exact | None) -> Exact:
    if other is None:
        return one
    row = other.row if other.row is not None else one.row
    return Exact(row, max(one.lower_bound, other.lower_bound), other.proved)


def is_contradicted(state: QueryState) -> bool:
    """Tell whether a row reached the target nearer than the opened model said any could.

    Then the model is not what it was read as, and nothing read off it holds.
    """
    if state.found.lower_bound is None:
        return False
    found = min((one.best_distance for one in state.found.scouts), default=state.found.best_distance)
    return min(found, state.found.best_distance) < state.found.lower_bound * (1 - _APART)


def is_optimal(state: QueryState, distance: float) -> bool:
    """Tell whether a distance is the proved bound, up to what an answer in few digits may add."""
    if state.found.lower_bound is None or is_contradicted(state):
        return False
    return distance <= state.found.lower_bound * (1 + SHORTER) * (1 + 1e-9)
