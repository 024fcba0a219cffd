"""Trials: the model's word on the query with some cells edited, and what is missing to an answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.advice.rows import changed_columns, changes_between, is_answer, reaches
from ssba.arguments import mapping
from ssba.columns.features import Feature, unknown_columns
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint, between, columns, fixed, holds, one_of
from ssba.constraints.regions.region import Region
from ssba.errors import SchemaError
from ssba.models.targets import describe
from ssba.pipeline.margins import ball_holds
from ssba.results.explanation import Counterfactual
from ssba.results.trial import Trial
from ssba.results.words import cell


def try_values(context: Context, values: Mapping[str, Any]) -> Trial:
    """Return what the model says about the query with some cells edited, and what is still missing.

    That is the way to the nearest answer that keeps all edited cells; where none was found, to the nearest
    answer of the query, which may move the edited cells on or back.

    Parameters
    ----------
    context : Context
        The query with its constraints.
    values : mapping
        Column -> the value to try; all other cells are the query's.
    """
    edits = _known(context, values)
    z = context.written(context.encode({**context.query, **edits})[None, :])[0]
    outcome = _asking(context, margin=None).score(np.stack([context.x, z]), as_given=True)
    held = _holding_all(context, z, edits)
    enough = bool(held.regions) and is_answer(held, z)
    missing = _NOTHING if enough else _missing(context, held, z)
    lacks_limits = bool(outcome.reached[1]) and not enough
    features = context.engine.space.features
    return Trial(
        tried=changes_between(context, context.x, z),
        values=context.decode(z),
        prediction=outcome.predictions[1],
        score=outcome.scores[1],
        score_before=outcome.scores[0],
        reached=bool(outcome.reached[1]),
        broken=(*_broken_texts(context, z), *(_lacking(context, z) if lacks_limits else ())),
        outside=tuple(_outside(context, held, j, z) for j in _stray_columns(context, z)),
        enough=enough,
        answer=missing.answer,
        missing=missing.changes,
        distance_left=missing.distance,
        keeps=not set(edits) & set(missing.changes),
        target=describe(context.goal),
        units={one.name: one.unit for one in features if one.unit},
    )


def _known(context: Context, values: Mapping[str, Any]) -> dict[str, Any]:
    edits = mapping("values", values, '{"chol": 220}')
    names = context.engine.space.names
    if strangers := [name for name in edits if name not in names]:
        raise SchemaError(unknown_columns(strangers, names, "values"))
    return edits


def _broken(context: Context, z: Matrix) -> list[Constraint]:
    query, row, known = context.query, context.decode(z), context.engine.space.by_name
    return [one for one in context.constraints if not holds(one, query, row, known)]


def _broken_texts(context: Context, z: Matrix) -> tuple[str, ...]:
    """Return what an edited row breaks: constraints, and the number of columns that may change."""
    most = context.options.max_changes
    too_many = most is not None and len(changed_columns(context.x, z)) > most
    return (*(one.text for one in _broken(context, z)), *([f"max_changes={most}"] if too_many else ()))


def _lacking(context: Context, z: Matrix) -> tuple[str, ...]:
    """Return what a row that reaches the target lacks beside that: the margin, or that it is plausible."""
    if (np.isnan(z) & ~np.isnan(context.x)).any():
        return ()
    each = (_asking(context, max_changes=None, **other) for other in ({"plausible": False}, {"margin": None}))
    return tuple(limit for one in each for limit in one.options.limits if not _has_limits(one, z))


def _has_limits(context: Context, z: Matrix) -> bool:
    passes = bool(reaches(context, z[None, :]).reached[0])
    return passes and (context.options.radius is None or ball_holds(context.state, z))


def _asking(context: Context, **other: Any) -> Context:
    """Return the same query with other options."""
    return replace(context, options=replace(context.options, **other), known_goal=context.goal)


def _stray_columns(context: Context, z: Matrix) -> list[int]:
    """Return changed columns whose cell lies in no region, without a constraint on it that is broken."""
    names = context.engine.space.names
    said = {name for one in _broken(context, z) for name in columns(one) if len(columns(one)) == 1}
    return [
        j
        for j in changed_columns(context.x, z)
        if names[j] not in said
        and context.regions
        and not any(_fits(one, j, z[j]) for one in context.regions)
    ]


def _fits(region: Region, j: int, code: float) -> bool:
    """Tell whether a region lets a changed cell have this code, whatever the other cells are."""
    if region.held[j] or np.isnan(code) or not _is_on_grid(region, j, code):
        return False
    if region.discrete[j]:
        return bool(region.allowed[j, int(code)])
    return bool(region.lower[j] <= code <= region.upper[j])


def _is_on_grid(region: Region, j: int, code: float) -> bool:
    row = np.nan_to_num(region.x).copy()
    row[j] = code
    return bool(region.grid.snap(row[None, :])[0, j] == code)


def _outside(context: Context, held: Context, j: int, z: Matrix) -> str:
    """Say how a cell lies outside of what the query's own regions allow."""
    feature = context.engine.space.features[j]
    name = feature.name
    if np.isnan(context.x[j]):
        return f"{name} is missing in the query, and no constraint says that it may be filled"
    if np.isnan(z[j]):
        return f"{name} has a value in the query, which cannot be taken away"
    value = cell(feature.value(float(z[j])), feature.unit)
    if not _is_on_grid(context.regions[0], j, z[j]):
        return f"{name} = {value} lies between two steps of its column"
    if held.regions:
        return f"{name} = {value} lies beyond what the data show"
    return f"{name} = {value} lies outside of what its column may hold"


@dataclass(frozen=True)
class _Missing:
    """What is missing from an edited row to an answer."""

    answer: Counterfactual | None
    changes: dict[str, tuple[Any, Any]]
    distance: float | None


_NOTHING = _Missing(None, {}, None)


def _missing(context: Context, held: Context, z: Matrix) -> _Missing:
    """Search for the nearest answer that keeps the edits, else for the nearest one of the query."""
    for asked in (held, context):
        best = asked.with_constraints(asked.constraints, replace(asked.options, k=1)).explain().best
        if best is not None:
            row = context.encode(best.values)
            distance = float(context.engine.metric.distance(row[None, :], z)[0])
            return _Missing(best, changes_between(context, z, row), distance)
    return _NOTHING


def _holding_all(context: Context, z: Matrix, edits: Iterable[str]) -> Context:
    """Return the query with further constraints that hold every edited cell at its new value."""
    features = context.engine.space.by_name
    held = [_holding(context, features[name], z) for name in edits]
    return context.with_constraints([*context.constraints, *held])


def _holding(context: Context, feature: Feature, z: Matrix) -> Constraint:
    j = context.engine.space.index(feature.name)
    value = feature.value(float(z[j]))
    if z[j] == context.x[j] or value is None:
        return fixed(feature.name)
    return one_of(feature.name, [value]) if feature.has_levels else between(feature.name, value, value)
