"""Lists of constraints as users give them: objects or texts, one list for all rows or one a row."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

from ssba.arguments import listed
from ssba.columns.features import Feature
from ssba.constraints.constraint import ColumnRules, Constraint, check, constraint
from ssba.errors import ArgumentError
from ssba.models.targets import Probability, ValueBetween, ValueChange, target_call

Rule = Constraint | ColumnRules | str
Constraints = Iterable[Rule] | Rule


def constraint_list(given: Any, features: Mapping[str, Feature]) -> tuple[Constraint, ...]:
    """Read one list of constraints, and check that each fits the columns."""
    parsed: list[Constraint] = []
    for one in _members(given):
        parsed += one.constraints(features) if isinstance(one, ColumnRules) else [constraint(one)]
    for one in parsed:
        check(one, features)
    return tuple(parsed)


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
            raise ArgumentError(f"constraints holds {what}; give it by name: target={target_call(one)}")


def _members(given: Any) -> list[Any]:
    if isinstance(given, Constraint | ColumnRules | str):
        return [given]
    return listed(
        "constraints",
        given,
        """give a list of constraints or texts, such as [ssba.fixed("sex"), "age >= x.age"]""",
    )
