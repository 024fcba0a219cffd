"""Constraints without a search: how they read, whether they contradict each other, what they leave free."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssba.columns.features import Feature
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint, holds
from ssba.constraints.regions.compile import clashing, compile_query
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.results.constraint_check import Allowed, ConstraintCheck


def check_constraints(engine: Engine, x: Matrix, constraints: Sequence[Constraint]) -> ConstraintCheck:
    """Say what constraints leave of a row; the model is not asked."""
    space, query = engine.space, engine.space.row_values(x)
    compiled = compile_query(space, engine.metric, x, constraints)
    contradict = compiled.complete and not compiled.regions
    clash = clashing(space, engine.metric, x, constraints) if contradict else ()
    return ConstraintCheck(
        constraints=tuple(one.text for one in constraints),
        broken=tuple(one.text for one in constraints if not holds(one, query, query, space.by_name)),
        clash=tuple(one.text for one in clash),
        settled=bool(compiled.regions) or compiled.complete,
        may_change=tuple(_allowed(engine, compiled.regions, x)),
    )


def _allowed(engine: Engine, regions: Sequence[Region], x: Matrix) -> list[Allowed]:
    """Return the columns that some region lets change, with what all regions together allow."""
    found = []
    values = engine.space.row_values(x)
    for j, feature in enumerate(engine.space.features):
        free = [region for region in regions if not region.held[j]]
        choices = _choices(feature, free, j)
        now = values[feature.name]
        if any(choice not in (now, None) for choice in choices):
            levels = choices if feature.is_discrete else ()
            low, high = (None, None) if feature.is_discrete else choices
            found.append(Allowed(feature.name, now, low, high, levels))
    return found


def _choices(feature: Feature, free: Sequence[Region], j: int) -> tuple[Any, ...]:
    """Return the levels that a column may have; for a number the two ends of its interval."""
    if not free:
        return ()
    if feature.is_discrete:
        allowed = np.any([region.allowed[j] for region in free], axis=0)
        return tuple(level for level, fine in zip(feature.levels, allowed, strict=False) if fine)
    low, high = min(float(one.lower[j]) for one in free), max(float(one.upper[j]) for one in free)
    return feature.value(low), feature.value(high)
