"""Looking inside the model, where it can be opened: the exact nearest row, and a bound on its distance.

Linear models are always solved exactly, since that takes milliseconds, and less than a second with many
free categories. Trees are looked at before the search with the little work that `prove="auto"` allows, and
after it, where the call asks for a proof, with as much as it takes.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.errors import ArgumentError
from ssba.options import SHORTER
from ssba.pipeline.asking import asking
from ssba.pipeline.course import Stage
from ssba.pipeline.nearest_rows import run_stages
from ssba.pipeline.state import QueryState, States, Vector
from ssba.search.archive import Archive, recorded
from ssba.search.settings import SETTINGS
from ssba.whitebox.additive import Additive
from ssba.whitebox.exact import (
    Exact,
    Question,
    nearest_by_cpsat,
    nearest_by_search,
    nearest_exact,
    nearest_quickly,
)
from ssba.whitebox.read_model import Closed, Opened
from ssba.whitebox.scoring import CannotTell

# A row on the boundary itself may miss it by a rounding error: these are a little farther out.
_OUTWARD = np.array([0.0, 1e-9, 1e-7, 1e-5])
_TIME_IS_UP = {
    "seconds": "the time of the budget ran out before the proof was done",
    "interrupted": "the call was interrupted before the proof was done",
}
_WORK_IS_DONE = "the proof was not done within the work that is spent on one"
_TOO_MANY_WAYS = "there are too many ways to meet the constraints to look at all of them"
# Of a bound: a row that reaches so much nearer contradicts it.
_APART = 1e-6


def looks_inside(state: QueryState) -> bool:
    """Tell whether there is an opened model to be looked at before a search."""
    judging = state.engine.judging
    if judging.opened_linear is not None:
        return _wants_nearest(state)
    return _may_open_trees(state) and judging.opened_trees is not None


def solve_exactly(states: States) -> list[QueryState]:
    """Solve what opened models allow without a search; return the queries that still want one."""
    if not states:
        return []
    judging, looked_at = states[0].engine.judging, [state for state in states if looks_inside(state)]
    if looked_at:
        opened = judging.opened_linear or judging.opened_trees
        assert opened is not None
        _look(looked_at, opened)
    states[0].limits.course.finish(state for state in states if _needs_no_search(state))
    return [state for state in states if not _needs_no_search(state)]


def is_told_by_trees(state: QueryState) -> bool:
    """Whether opened trees over very many columns gave a near row, and the nearest is all that is asked for.

    There a search takes its whole budget and finds nothing nearer. With fewer columns it sometimes does, as
    where linear rows tie columns to each other, or few of them may change.
    """
    found, options = state.found, state.options
    return (
        state.engine.judging.opened_linear is None
        and found.lower_bound is not None
        and found.has_hits
        and options.k == 1
        and options.price == 1
        and options.max_changes is None
        and all(
            region.linear is None and region.free.sum() > SETTINGS.race.many_columns
            for region in state.query.regions
        )
        and not is_contradicted(state)
    )


def tighten_exactly(states: States) -> None:
    """After the search: add the exact row where there is a nearer one, and a bound."""
    if not states:
        return
    judging = states[0].engine.judging
    opened: Opened | Closed | None = judging.opened_linear
    if opened is not None:
        wanted = [state for state in states if state.found.lower_bound is None]
    else:
        wanted = [state for state in states if state.options.prove is True and _is_open(state)]
        opened = judging.opened if wanted else None
    if isinstance(opened, Closed):
        for state in wanted:
            state.found.unproved = opened.reason
    elif opened is not None and wanted:
        _look(wanted, opened, thoroughly=True)
    states[0].limits.course.reach(states, Stage.PROOF)


def _wants_nearest(state: QueryState) -> bool:
    """Whether the nearest row of all is the answer, or the first of several."""
    return state.options.price == 1 and not state.options.limits


def _may_open_trees(state: QueryState) -> bool:
    """Whether the nearest row of opened trees is the answer, or what the search for it begins with."""
    options = state.options
    wants_only_few = not options.plausible and options.margin is None
    return options.prove is not False and wants_only_few and not state.limits.is_over()


def _needs_no_search(state: QueryState) -> bool:
    options = state.options
    is_all = options.k == 1 and options.price == 1
    return is_all and state.found.is_settled and not is_contradicted(state)


def _is_open(state: QueryState) -> bool:
    """Whether the nearest row is not known yet, and the model's inside may still tell."""
    return not state.found.is_settled and not is_contradicted(state)


def _look(states: States, opened: Opened, *, thoroughly: bool = False) -> None:
    found = []
    for state in states:
        rows = _solve(state, opened, thoroughly)
        rows += _counterexamples(state)
        found += [(state, archive, row) for archive, row in rows]
        state.limits.course.reach([state], Stage.PROOF if thoroughly else Stage.LOOK)
    searches: list[Asking[None]] = [_offer(state, archive, row) for state, archive, row in found]
    run_stages([state for state, _, _ in found], searches)


def _offer(state: QueryState, archive: Archive, row: Vector) -> Asking[None]:
    region = archive.region
    rows = region.snap(np.where(np.isnan(row), row, row + _OUTWARD[:, None] * (row - region.start)))
    # Whatever is left of the budget of rows; time still ends it.
    yield from recorded(asking(np.unique(rows, axis=0)), archive, lambda: np.inf, state.limits.is_over)


def _solve(state: QueryState, opened: Opened, thoroughly: bool) -> list[tuple[Archive, Vector]]:
    """Return the nearest rows by region, and keep the least of their bounds; none where one is unknown."""
    rows: list[tuple[Archive, Vector]] = []
    bounds = []
    state.found.unproved = None
    if not state.query.has_all_regions:
        state.found.unproved = time_is_up(state) or _TOO_MANY_WAYS
        return rows
    open_regions = sum(state.found.begins_nearer(archive.region) for archive in state.region_archives)
    for archive in state.region_archives:
        begins = archive.region.begins
        if not state.found.begins_nearer(archive.region):
            bounds.append(begins)
            continue
        try:
            exact = _nearest(state, archive, opened, None if thoroughly else 1 / open_regions)
        except CannotTell as reason:
            state.found.unproved = str(reason)
            return rows
        if not exact.proved:
            state.found.unproved = time_is_up(state) or _WORK_IS_DONE
        bounds.append(max(begins, exact.lower_bound))
        if exact.row is not None:
            rows.append((archive, exact.row))
    # What little work has shown before still holds.
    state.found.lower_bound = max(min(bounds), state.found.lower_bound or 0.0)
    return rows


def _counterexamples(state: QueryState) -> list[tuple[Archive, Vector]]:
    """Return background rows that reach the goal nearer than the bound says any can, the nearest by region.

    There is none, unless the model is not what it was read as.
    """
    if state.found.lower_bound is None:
        return []
    bound = state.found.lower_bound * (1 - _APART)
    nearer = state.engine.background.reaching_within(state.x, bound, state.query.goal)
    if state.options.max_changes is not None:
        nearer = nearer[changed_cells(nearer, state.x).sum(axis=1) <= state.options.max_changes]
    found = []
    for archive in state.region_archives:
        inside = nearer[archive.region.contains(nearer)]
        found += [(archive, row) for row in inside[:1]]
    return found


def time_is_up(state: QueryState) -> str | None:
    """Say that a proof had no time, where that is so."""
    ended = state.limits.time_ended_by
    return None if ended is None else _TIME_IS_UP[ended]


def _nearest(state: QueryState, archive: Archive, opened: Opened, share: float | None) -> Exact:
    """Look for the nearest row of a region: of trees with a share of little work, or with all it takes."""
    if (why := time_is_up(state)) is not None:
        raise CannotTell(why)
    question = _question(state, archive)
    if isinstance(opened, Additive):
        return nearest_exact(opened, question, known=archive.nearest(1)[0] if archive.has_found else None)
    known = _known_row(state, archive)
    if share is not None:
        return nearest_quickly(opened, question, known=known, share=share)
    exact = nearest_exact(opened, question, known=known)
    if exact.proved or state.limits.is_over():
        return exact
    known = known if exact.row is None else exact.row
    near = nearest_by_search(opened, question, known=known)
    exact = replace(exact, row=known if near is None else near)
    try:
        # The solver of the extra `exact`, if it is installed.
        other = nearest_by_cpsat(opened, question, known=exact.row)
    except (ArgumentError, CannotTell):
        return exact
    row = exact.row if other.row is None else other.row
    return Exact(row, max(exact.lower_bound, other.lower_bound), other.proved)


def _question(state: QueryState, archive: Archive) -> Question:
    goal = state.query.goal

    def reached(rows: Matrix) -> NDArray[np.bool_]:
        state.spent.verified_rows += len(rows)
        judging = state.engine.judging
        return np.asarray(judging.reply(goal, judging.oracle().verdict(rows, np.isnan(state.x))).reached)

    deadline, most = state.limits.deadline, state.options.max_changes
    return Question(goal, archive.region, state.engine.metric, reached, deadline, most)


def _known_row(state: QueryState, archive: Archive) -> Vector | None:
    """Return the nearest row of a region that is known to be what the query asks for."""
    place = [one is archive for one in state.region_archives].index(True)
    known = min(archive, state.found.known[place], key=lambda one: one.best_distance)
    return known.nearest(1)[0] if known.has_found else None


def is_contradicted(state: QueryState) -> bool:
    """Tell whether a row reached the target nearer than the opened model said any could.

    Then the model is not what it was read as, and nothing read off it holds.
    """
    if state.found.lower_bound is None:
        return False
    # Scouts ignore the limit on changes, and so do the bounds of linear models, but not those of trees.
    is_linear = state.engine.judging.opened_linear is not None
    counted = state.found.scouts if is_linear or state.options.max_changes is None else []
    found = min((one.best_distance for one in counted), default=state.found.best_distance)
    return min(found, state.found.best_distance) < state.found.lower_bound * (1 - _APART)


def is_optimal(state: QueryState, distance: float) -> bool:
    """Tell whether a distance is the proved bound, up to what an answer in few digits may add."""
    if state.found.lower_bound is None or is_contradicted(state):
        return False
    return distance <= state.found.lower_bound * (1 + SHORTER) * (1 + 1e-9)
