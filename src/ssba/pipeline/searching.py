"""The searches of all queries, one after the other on the budget of each.

The rows asked are the same for every budget, up to where it ends. So a larger budget can only add candidates.
Only where it allows for all legal rows are these asked instead, which gives the exact answer.
"""

from ssba.boundary.bisection import Asking
from ssba.pipeline.course import Stage
from ssba.pipeline.driving import run_stages
from ssba.pipeline.evidence import ask_all_nearer, gather_evidence
from ssba.pipeline.margins import push_off_boundary
from ssba.pipeline.max_changes import search_few
from ssba.pipeline.nearest_rows import search_nearest
from ssba.pipeline.other_columns import search_other_columns
from ssba.pipeline.shells import search_in_shells
from ssba.pipeline.sparsity import sparsify
from ssba.pipeline.state import QueryState, States


def search_queries(states: States) -> None:
    """Search for what the queries ask for; all finds are in their archives."""
    if not states:
        return
    course = states[0].limits.course
    plain = [state for state in states if state.options.max_changes is None and not state.has_enough]
    exact: set[int] = set()
    run_stages(plain, [_in_shells(state, exact) for state in plain])
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


def _in_shells(state: QueryState, exact: set[int]) -> Asking[None]:
    if (yield from search_in_shells(state)):
        exact.add(id(state))


def _search_on(state: QueryState) -> Asking[None]:
    """Search for what is asked for beside the nearest row."""
    if state.options.price > 1:
        yield from sparsify(state)
    if state.options.k > 1 and state.options.diversity != "distance":
        yield from search_other_columns(state)
    if state.options.radius is not None:
        yield from push_off_boundary(state)
        # Room is made around what the search found, whether or not the budget allows for this.
        yield from ask_all_nearer(state)
    state.limits.course.reach([state], Stage.FURTHER)
