"""Where a limit on changed columns contradicts the constraints: how many columns must change."""

from collections.abc import Sequence

from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.compile import compile_query
from ssba.engine import Engine
from ssba.pipeline.case import Case, Limits
from ssba.results.explanation import Status
from ssba.search.few import forced_columns


def refuse_too_few_changes(engine: Engine, case: Case, limits: Limits) -> None:
    """Call a case infeasible where it is certain that more columns must change than may.

    A column must change where its own cell is not legal, whatever the others are. What relations ask of
    several columns together is left to the search.
    """
    most = case.request.max_changes
    if most is None or case.status is not None or not case.knows_all_regions:
        return
    if any(len(forced_columns(region)) <= most for region in case.regions):
        return
    case.status = Status.INFEASIBLE
    wish = next(one for one in case.request.wishes if one.startswith("max_changes"))
    case.clash = (*(one.text for one in _forcing(engine, case, most, limits)), wish)


def _forcing(engine: Engine, case: Case, most: int, limits: Limits) -> list[Constraint]:
    """Return constraints that together force too many changes, none of which can be left out."""
    kept = list(case.constraints)
    for position in reversed(range(len(kept))):
        rest = kept[:position] + kept[position + 1 :]
        if not limits.is_over() and _force_too_many(engine, case, rest, most, limits):
            kept = rest
    return kept


def _force_too_many(
    engine: Engine, case: Case, constraints: Sequence[Constraint], most: int, limits: Limits
) -> bool:
    compiled = compile_query(engine.space, engine.metric, case.x, constraints, limits.deadline)
    return compiled.complete and all(len(forced_columns(region)) > most for region in compiled.regions)
