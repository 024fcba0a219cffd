"""What plans, ranges and trials ask about rows: are they feasible, do they reach, are they answers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.advice.context import Context
from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint, columns, holds
from ssba.models.targets import Goal, Reply, ValueBetween
from ssba.pipeline.asking import judged, verdicts
from ssba.pipeline.verify import passes

Mask = NDArray[np.bool_]


def is_answer(context: Context, z: Matrix) -> bool:
    """Tell whether a written row, perhaps one that a user gave, would be returned as a counterfactual."""
    return passes(context.state, z, verdicts(context.engine.judging, z[None, :], z))


def reaches(context: Context, Z: Matrix) -> Reply:
    """Tell which rows reach the target with all that the request adds, but for a ball around them."""
    if not len(Z):
        return Reply(np.zeros(0, dtype=bool), None)
    return judged(context.state, Z, verdicts(context.engine.judging, Z, context.x))


def inside_regions(context: Context, Z: Matrix) -> Mask:
    """Tell which rows lie in one of the query's regions: a quick check, before the one in user units."""
    inside = np.zeros(len(Z), dtype=bool)
    for region in context.regions:
        inside |= np.asarray(region.contains(Z))
    return inside


def feasible_rows(context: Context, Z: Matrix) -> Mask:
    """Tell which rows meet every constraint in user units and hold legal values.

    As `Context.is_feasible`; for many rows that share cells, each constraint is asked once for
    each combination of cells that it names.
    """
    feasible = inside_regions(context, Z)
    most = context.options.max_changes
    if most is not None:
        feasible &= changed_cells(Z, context.x).sum(axis=1) <= most
    for one in context.constraints:
        _rule_out(context, one, Z, feasible)
    return feasible


def _rule_out(context: Context, one: Constraint, Z: Matrix, feasible: Mask) -> None:
    """Mark as infeasible, in place, the rows that break one constraint."""
    space = context.engine.space
    places = sorted(space.index(name) for name in columns(one))
    known: dict[bytes, bool] = {}
    query = context.query
    for i in np.flatnonzero(feasible):
        key = Z[i, places].tobytes()
        if key not in known:
            known[key] = holds(one, query, space.row_values(Z[i]), space.by_name)
        feasible[i] = known[key]


def progress(goal: Goal, scores: Sequence[float | None]) -> Matrix:
    """Return how far rows have come toward the goal, higher is nearer; NaN where there are no scores.

    For a class that is its score. For an interval of numbers it is how deep inside the number lies,
    negative for one outside.
    """
    known = np.array([math.nan if score is None else score for score in scores], dtype=np.float64)
    if not isinstance(goal, ValueBetween):
        return known
    return np.asarray(np.minimum(known - goal.low, goal.high - known))


def changed_columns(x: Matrix, z: Matrix) -> list[int]:
    """Return the positions of the cells in which two rows differ."""
    return [int(i) for i in np.flatnonzero(changed_cells(z, x))]


def changes_between(context: Context, before: Matrix, after: Matrix) -> dict[str, tuple[Any, Any]]:
    """Return what differs between two rows, in the user's values: column -> (before, after)."""
    old, new = context.decode(before), context.decode(after)
    names = context.engine.space.names
    return {names[i]: (old[names[i]], new[names[i]]) for i in changed_columns(before, after)}
