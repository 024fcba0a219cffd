"""Where a limit on changed columns contradicts the constraints: how many columns must change."""

from collections.abc import Sequence

from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.compile import compile_query
from ssba.pipeline.state import QueryState
from ssba.results.explanation import Status
from ssba.search.few import forced_columns


def refuse_too_few_changes(state: QueryState) -> None:
    """Call a state infeasible where it is certain that more columns must change than may.

    A column must change where its own cell is not legal, whatever the others are. What relations ask of
    several columns together is left to the search.
    """
    most = state.options.max_changes
    if most is None or state.found.status is not None or not state.query.has_all_regions:
        return
    if any(len(forced_columns(region)) <= most for region in state.query.regions):
        return
    state.found.status = Status.INFEASIBLE
    limit = next(one for one in state.options.limits if one.startswith("max_changes"))
    state.found.clash = (*(one.text for one in _forcing(state, most)), limit)


def _forcing(state: QueryState, most: int) -> list[Constraint]:
    """Return constraints that together force too many changes, none of which can be left out."""
    kept = list(state.query.constraints)
    for position in reversed(range(len(kept))):
        rest = kept[:position] + kept[position + 1 :]
        if not state.limits.is_over() and _force_too_many(state, rest, most):
            kept = rest
    return kept


def _force_too_many(state: QueryState, constraints: Sequence[Constraint], most: int) -> bool:
    compiled = compile_query(
        state.engine.space, state.engine.metric, state.x, constraints, state.limits.deadline
    )
    return compiled.complete and all(len(forced_columns(region)) > most for region in compiled.regions)
