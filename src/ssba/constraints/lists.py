"""Lists of constraints as users give them: objects or texts, one list for all rows or one a row.

Some are valid, but hardly do what was meant: for these there are hints.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import listed
from ssba.columns.features import Feature
from ssba.constraints.constraint import ColumnRules, Constraint, check, constraint
from ssba.constraints.language.tree import Within
from ssba.errors import ArgumentError, ConstraintError
from ssba.models.targets import Probability, ValueBetween, ValueChange, target_call

Rule = Constraint | ColumnRules | str
Constraints = Iterable[Rule] | Rule

# Multiples of a step that differ by less than this share of it are the same.
_ROUNDING = 1e-9
_MOST_TOLD = 20


def constraint_list(given: Any, features: Mapping[str, Feature]) -> tuple[Constraint, ...]:
    """Read one list of constraints; all that cannot be read or do not fit the columns are told together."""
    parsed: list[Constraint] = []
    errors: list[ConstraintError] = []
    for one in _members(given):
        try:
            parsed += _checked(one, features)
        except ConstraintError as error:
            errors.append(error)
    if len(errors) > 1:
        raise _together(errors)
    if errors:
        raise errors[0]
    return tuple(parsed)


def _checked(given: Any, features: Mapping[str, Feature]) -> Sequence[Constraint]:
    own = given.constraints(features) if isinstance(given, ColumnRules) else [constraint(given)]
    for one in own:
        check(one, features)
    return own


def _together(errors: Sequence[ConstraintError]) -> ConstraintError:
    """Return one error that tells several; of many, the first, and how many more."""
    told = errors[:_MOST_TOLD]
    more = [f"and {len(errors) - len(told)} more"] if len(errors) > len(told) else []
    return ConstraintError(
        "\n".join([f"{len(errors)} constraints do not fit:", *map(str, told), *more]),
        "; ".join([*(one.one_line for one in told), *more]),
    )


def constraints_by_row(
    given: Any, count: int, features: Mapping[str, Feature]
) -> Sequence[tuple[Constraint, ...]]:
    """Read one flat list for all of `count` rows, or a list with one list a row."""
    members = _members(given)
    if not any(isinstance(one, list | tuple) for one in members):
        return [constraint_list(members, features)] * count
    if len(members) != count or not all(isinstance(one, list | tuple) for one in members):
        raise ArgumentError(
            f"constraints holds {len(members)} entries for {count} rows; give one flat list for all "
            "rows, or a list with one list of constraints a row"
        )
    return [constraint_list(one, features) for one in members]


def refuse_targets(given: Any, classes: tuple[Any, ...] | None) -> None:
    """Refuse a desired outcome, such as a class of the model, in the place of constraints."""
    members = list(given) if isinstance(given, list | tuple) else [given]
    for one in [inner for own in members for inner in (own if isinstance(own, list | tuple) else [own])]:
        is_class = isinstance(one, str | Number) and one in (classes or ())
        if is_class or isinstance(one, Probability | ValueBetween | ValueChange):
            what = f"{one!r}, a class of the model" if is_class else f"{one!r}, a desired outcome"
            raise ArgumentError(f"constraints holds {what}; write toward({target_call(one)}).explain(...)")


def _members(given: Any) -> list[Any]:
    if isinstance(given, Constraint | ColumnRules | str):
        return [given]
    return listed(
        "constraints",
        given,
        """give a list of constraints or texts, such as [ssba.fixed("sex"), "age >= x.age"]""",
    )


def small_percents(
    X: NDArray[np.float64], by_row: Sequence[tuple[Constraint, ...]], features: Sequence[Feature]
) -> list[str]:
    """Return a hint for each constraint of less than one percent that leaves some row's number as it is.

    Whoever writes such a constraint mostly means a share: 0.2 for 20%.

    Examples
    --------
    >>> from ssba.constraints.constraint import within
    >>> rules, age = (within("age", percent=0.2),), Feature("age", "integer", step=1.0)
    >>> print(*small_percents(np.array([[54.0]]), [rules], [age]))
    'age within 0.2%' leaves age no value but 54: 0.2% of that is 0.108, less than a step of 1; percent=1 is
    one in a hundred: did you mean percent=20?
    """
    places = {one.name: place for place, one in enumerate(features)}
    hints: dict[Constraint, str] = {}
    for x, own in zip(X, by_row, strict=True):
        for one in own:
            clause = one.clauses[0]
            if one in hints or not isinstance(clause, Within) or one.guard or len(one.clauses) > 1:
                continue
            place = places[clause.column]
            if hint := _hint(clause, float(x[place]), features[place]):
                hints[one] = hint
    return list(hints.values())


def _hint(clause: Within, now: float, feature: Feature) -> str:
    percent, step = clause.size.value, feature.step
    if step is None or not clause.percent or not 0 < percent < 1 or math.isnan(now) or not now:
        return ""
    most = abs(now) * percent / 100
    if most >= step or _has_another(now, most, step):
        return ""
    return (
        f"{clause.text!r} leaves {clause.column} no value but {now:g}: {percent:g}% of that is {most:.3g}, "
        f"less than a step of {step:g}; percent=1 is one in a hundred: did you mean "
        f"percent={percent * 100:g}?"
    )


def _has_another(now: float, most: float, step: float) -> bool:
    """Tell whether a multiple of the step, other than the value itself, is at most so far away."""
    first, last = math.ceil((now - most) / step - _ROUNDING), math.floor((now + most) / step + _ROUNDING)
    return any(abs(one * step - now) > _ROUNDING * step for one in range(first, last + 1))
