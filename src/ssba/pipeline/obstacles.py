"""What stops a bounded move: the constraints that the boundary point nearest to it breaks, and how far."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.columns.features import Feature
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint, holds
from ssba.constraints.language.tree import columns
from ssba.constraints.relaxing.looser import ladders, needed
from ssba.pipeline.state import QueryState, Vector
from ssba.results.explanation import Obstacle

# A step of a number without steps, in scales of its column.
_SMALL_STEP = 1e-3


def obstacles_of(state: QueryState, move: Vector, point: Vector | None) -> tuple[Obstacle, ...]:
    """Return the constraints and limits between a bounded move and the boundary point nearest to it.

    No model is asked. Without a boundary point these are the constraints that are tight at the move: one
    step of one of their columns breaks them.
    """
    space = state.engine.space
    if point is None:
        return tuple(Obstacle(one.text) for one in state.query.constraints if _is_tight(state, one, move))
    query, wanted = space.row_values(state.x), space.row_values(space.grid.snap(point[None, :])[0])
    found = [
        Obstacle(one.text, _relaxed(one, query, wanted, space.by_name))
        for one in state.query.constraints
        if not holds(one, query, wanted, space.by_name)
    ]
    most = state.options.max_changes
    count = int(changed_cells(point[None, :], state.x).sum())
    if most is not None and count > most:
        found.append(Obstacle(f"max_changes={most}", f"let {count} columns change instead of {most}"))
    return tuple(found)


def _is_tight(state: QueryState, constraint: Constraint, move: Vector) -> bool:
    space = state.engine.space
    query = space.row_values(state.x)
    for name in columns(constraint):
        for near in _neighbours(state, move, space.index(name)):
            if not holds(constraint, query, space.row_values(near), space.by_name):
                return True
    return False


def _neighbours(state: QueryState, row: Vector, column: int) -> Matrix:
    """Return the row with one column at the next values up and down, or at each other level."""
    feature = state.engine.space.features[column]
    if np.isnan(row[column]):
        return row[None, :][:0]
    if feature.is_discrete:
        values = np.arange(len(feature.levels), dtype=float)
    else:
        step = feature.step or _SMALL_STEP * float(state.engine.metric.scale[column])
        values = row[column] + np.array([-step, step])
        values = values[(values >= 0) & (values < len(feature.levels))] if feature.has_levels else values
    rows = np.repeat(row[None, :], len(values), axis=0)
    rows[:, column] = values
    return rows


def _relaxed(
    constraint: Constraint,
    query: Mapping[str, Any],
    wanted: Mapping[str, Any],
    features: Mapping[str, Feature],
) -> str | None:
    """Say how far a constraint must be loosened for a row; None where only leaving it out will do."""
    amounts = [
        (ladder, amount)
        for ladder in ladders(constraint, query, features, wanted)
        if (amount := needed(ladder, query, wanted, features)) is not None
    ]
    if not amounts:
        return None
    ladder, amount = min(amounts, key=lambda one: one[0].size(one[1]))
    return ladder.says(ladder.above(amount))
