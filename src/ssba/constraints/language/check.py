"""Whether a constraint fits the columns: their names, kinds and levels."""

from collections.abc import Iterable, Mapping

from ssba.arguments import is_number
from ssba.columns.features import Feature, declaring, unknown_columns
from ssba.constraints.language.facts import dated, level_code, levelled
from ssba.constraints.language.tree import (
    Arithmetic,
    Changes,
    Clause,
    Comparison,
    Constraint,
    Expression,
    MayFill,
    Membership,
    New,
    Number,
    Old,
    Operator,
    Text,
    Transition,
    Truth,
    Value,
    Within,
    cells,
    column_text,
    columns,
)
from ssba.errors import ConstraintError


def check(constraint: Constraint, features: Mapping[str, Feature]) -> None:
    """Raise `ConstraintError` if a constraint does not fit the features.

    Reported are unknown columns and levels, order or arithmetic where there is none, and
    values of the wrong kind.

    Examples
    --------
    >>> from ssba.constraints.language.parser import constraint
    >>> from ssba.columns.features import Feature
    >>> check(constraint("120 <= chl <= 240"), {"chol": Feature("chol", "numeric")})
    Traceback (most recent call last):
    ...
    ssba.errors.ConstraintError: constraint '120 <= chl <= 240': unknown column 'chl' (did you mean 'chol'?);
    columns are 'chol'
    """
    where = f"constraint {constraint.text!r}"
    if strangers := sorted(columns(constraint) - set(features)):
        unknown = unknown_columns(strangers, list(features), where)
        raise ConstraintError(f"{unknown}{_meant(strangers[0], unknown, constraint, features)}")
    try:
        for clause in constraint.guard + constraint.clauses:
            _check_clause(clause, features)
    except ConstraintError as error:
        raise ConstraintError(f"{where}: {error}") from None


def _meant(stranger: str, unknown: str, constraint: Constraint, features: Mapping[str, Feature]) -> str:
    """Say how to write what an unknown column may have been meant to be."""
    if (dotted := f"x.{stranger}") in features:
        return f"; the column {dotted!r} is written in backticks: {column_text(dotted)}"
    if stranger.lower() in ("true", "false"):
        return f"; a truth value is written {stranger.capitalize()}"
    # What is near to a column's name, or stands behind x., is hardly a level without its quotes.
    is_column = "did you mean" in unknown or f"x.{stranger}" in constraint.text
    return "" if is_column else f"; a level is written in quotes: '{stranger}'"


def _check_clause(clause: Clause, features: Mapping[str, Feature]) -> None:
    match clause:
        case Comparison():
            for pair in clause.pairs:
                _check_pair(*pair, features)
            _ensure_range(clause, features)
        case Membership():
            _ensure_values(features[clause.cell.column], clause.values)
        case Transition(column, moves):
            _ensure_values(features[column], [value for start, ends in moves for value in (start, *ends)])
        case Within(column, _, percent):
            _ensure_numeric(features[column], "'within' needs numbers")
            if percent and features[column].kind == "date":
                raise ConstraintError(
                    f"column {column!r} holds dates, of which there is no percentage; give days, as in "
                    f"within({column!r}, amount=30)"
                )
        case Changes() | MayFill():
            pass


def _ensure_values(feature: Feature, values: Iterable[Value]) -> None:
    for value in values:
        level_code(feature, value)


def _ensure_numeric(feature: Feature, why: str) -> None:
    if not _holds_numbers(feature):
        could_be = all(map(is_number, feature.levels))
        remedy = (
            f"declare it: {declaring(feature.name, 'numeric')}" if could_be else "give the data in numbers"
        )
        raise ConstraintError(
            f"column {feature.name!r} is {feature.kind}, but {why}; compare it with its levels "
            f"({', '.join(map(repr, feature.levels))}), or {remedy}"
        )


def _holds_numbers(feature: Feature) -> bool:
    return feature.counts or not feature.levels


def _ensure_calculable(side: Arithmetic, features: Mapping[str, Feature]) -> None:
    # A sum may have many terms, so its text is written for an error only, not for each of them.
    named = (features[cell.column] for cell in cells(side))
    if (feature := next((one for one in named if not _holds_numbers(one)), None)) is not None:
        _ensure_numeric(feature, f"{side.text!r} calculates with it")


def _check_pair(
    left: Expression, operator: Operator, right: Expression, features: Mapping[str, Feature]
) -> None:
    for side in (left, right):
        if isinstance(side, Arithmetic):
            _ensure_calculable(side, features)
    _ensure_dates(left, right, features)
    feature = levelled(left, operator, right, features)
    if feature is None:
        _ensure_numbers(left, right, features)
    else:
        _check_levels(feature, (left, right), operator, features)


def _ensure_dates(left: Expression, right: Expression, features: Mapping[str, Feature]) -> None:
    """Refuse to compare a column of dates, as it is, with what is no date; differences of dates are days."""
    for side, other in ((left, right), (right, left)):
        if not isinstance(side, New | Old) or features[side.column].kind != "date":
            continue
        if isinstance(other, Number | Text | Truth):
            level_code(features[side.column], other)
        elif isinstance(other, New | Old) and features[other.column].kind != "date":
            raise ConstraintError(
                f"column {side.column!r} holds dates and {other.column!r} is {features[other.column].kind}: "
                "they cannot be compared; a number of days is added to a date, as in 'x.start + 30'"
            )
        elif isinstance(other, Arithmetic) and not any(
            features[cell.column].kind == "date" for cell in cells(other)
        ):
            raise ConstraintError(
                f"column {side.column!r} holds dates, and {other.text!r} is a calculation without one; write "
                f"a date in quotes, as in {side.column} >= '2024-01-31'"
            )


def _ensure_numbers(left: Expression, right: Expression, features: Mapping[str, Feature]) -> None:
    """Refuse texts and truth values where no column with levels is compared."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Text) and dated(left, right, features) is not None:
            continue
        if isinstance(side, Text | Truth):
            if isinstance(other, New | Old):
                level_code(features[other.column], side)
            raise ConstraintError(f"{side.text} is not a number and cannot be compared with {other.text}")


def _check_levels(
    feature: Feature,
    sides: tuple[Expression, Expression],
    operator: Operator,
    features: Mapping[str, Feature],
) -> None:
    if feature.is_discrete and operator not in ("==", "!="):
        raise ConstraintError(
            f"column {feature.name!r} is {feature.kind}, so {operator!r} has no meaning for it; compare with "
            f"'==' or 'in', or declare its order: {declaring(feature.name, 'ordinal')}"
        )
    for side in sides:
        match side:
            case Number() | Text() | Truth():
                level_code(feature, side)
            case New(column) | Old(column):
                _ensure_comparable(feature, features[column])
            case Arithmetic():
                _ensure_numeric(feature, f"{side.text!r} is a number")


def _ensure_comparable(one: Feature, other: Feature) -> None:
    same_kind = one.is_discrete == other.is_discrete and bool(one.levels) == bool(other.levels)
    if not same_kind or (not one.is_discrete and one.levels != other.levels):
        raise ConstraintError(
            f"columns {one.name!r} ({one.kind}) and {other.name!r} ({other.kind}) cannot be compared; both "
            "must be numbers, or have levels without order, or the same levels in the same order"
        )


def _ensure_range(comparison: Comparison, features: Mapping[str, Feature]) -> None:
    match comparison:
        case Comparison(
            (Number() | Text() | Truth() as low, New(column), Number() | Text() | Truth() as high),
            ("<" | "<=", "<" | "<="),
        ) if _place(features[column], low) > _place(features[column], high):
            raise ConstraintError(
                f"{low.text} is above {high.text}, so no value of {column!r} lies between them; swap them"
            )


def _place(feature: Feature, value: Value) -> float:
    """Return where a value lies among those of a column; beside 0 and 1 there are other numbers."""
    if feature.counts and isinstance(value, Number):
        return float(value.value)
    return level_code(feature, value)
