"""What a constraint says once the query is known, as facts about encoded cells.

A clause becomes a conjunction of facts. `holds` tests them on a finished row and
`atoms` turns the very same facts into atoms of a region, so that both
use the same numbers, bit for bit.

Missing cells. A cell of the new row can only be missing because it was missing in the
query and stayed so. A fact about such a cell asks for nothing: it is met. Where the new
cell is there, but a cell of the query it is compared with is missing (or the comparison
is undefined for this query, such as a division by zero), the fact fails. A guard fires
only if every clause of it is known to be true; so a rule whose guard looks at a
missing cell asks for nothing either.

Numbers mean their decimal digits: ``0.1 * 3 <= 0.3`` holds, and so does ``0.9`` for ``within 50%`` of 0.6.
Sums and products are worked out in fractions, so that nothing is rounded, and a number of a 32-bit column
means the digits that such a number is shown with. Only sums over several columns (0/1 columns not counted) of
which one has no step are sums of floats: real numbers have more digits than anybody reads.

Equality is exact between single cells and values. Over several columns of the new row, or
with arithmetic, it allows `EQUALITY_SLACK` relative to the largest term: columns of real numbers cannot be
had exactly there.
"""

import math
import operator as op
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from ssba.columns.features import Feature, declaring
from ssba.constraints.language.digits import digits, nearest_float
from ssba.constraints.language.tree import (
    Arithmetic,
    Changes,
    Clause,
    Comparison,
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
    new_columns,
)
from ssba.errors import ConstraintError, SchemaError

EQUALITY_SLACK = Fraction(1, 10**9)
# A column of 32-bit floats cannot come nearer to an equality than its own rounding.
_COARSER = 1000

Exactly = TypeVar("Exactly", Fraction, float)

_COMPARE = {"<=": op.le, "<": op.lt, ">=": op.ge, ">": op.gt, "==": op.eq, "!=": op.ne}
_OPPOSITE: dict[Operator, Operator] = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "!=", "!=": "=="}
_MIRRORED: dict[Operator, Operator] = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class Query:
    """The encoded cells of the query that matter, NaN where missing, and the features."""

    cells: Mapping[str, float]
    features: Mapping[str, Feature]

    def is_missing(self, column: str) -> bool:
        return math.isnan(self.cells[column])

    def magnitude(self, column: str) -> Fraction:
        """How large cells of a column are, for a relative tolerance."""
        feature = self.features[column]
        sizes = (self.cells[column], feature.data_low, feature.data_high)
        return max((abs(Fraction(size)) for size in sizes if math.isfinite(size)), default=Fraction(0))

    def digits(self, column: str) -> Fraction | None:
        """The query's number in a column, as its digits say; None where it is missing."""
        cell = self.cells[column]
        return None if math.isnan(cell) else digits(cell, short=self.features[column].is_single)


def encode(
    columns: Iterable[str], row: Mapping[str, Any], features: Mapping[str, Feature]
) -> dict[str, float]:
    """Encode the named cells of a row in user units."""
    return {column: features[column].code(row[column]) for column in columns}


@dataclass(frozen=True)
class Settled:
    """True or false whatever the new row holds, as long as no cell of it is missing."""

    truth: bool
    columns: tuple[str, ...] = ()

    def test(self, cells: Mapping[str, float]) -> bool:
        return self.truth

    def negated(self) -> "Settled":
        return replace(self, truth=not self.truth)


@dataclass(frozen=True)
class Inequality:
    """The sum of coefficient times cell, compared with a number.

    A single column has the coefficient 1. `slack` widens ``==`` and narrows ``!=``; `short` names the columns
    of 32-bit numbers, and `real` tells that sums are those of floats.
    """

    terms: tuple[tuple[str, Fraction], ...]
    operator: Operator
    right: Fraction
    slack: Fraction = Fraction(0)
    short: frozenset[str] = field(default=frozenset())
    real: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.terms)

    def test(self, cells: Mapping[str, float]) -> bool:
        if self.real:
            total = sum(float(coefficient) * cells[column] for column, coefficient in self.terms)
            return _compare(float(total), self.operator, float(self.right), float(self.slack))
        parts = (
            coefficient * digits(cells[column], short=column in self.short)
            for column, coefficient in self.terms
        )
        return _compare(sum(parts, Fraction(0)), self.operator, self.right, self.slack)

    def negated(self) -> "Inequality":
        return replace(self, operator=_OPPOSITE[self.operator])

    def solved(self) -> "Inequality":
        """Divide by the coefficient of the only column."""
        ((column, coefficient),) = self.terms
        return replace(
            self,
            terms=((column, Fraction(1)),),
            operator=_MIRRORED[self.operator] if coefficient < 0 else self.operator,
            right=self.right / coefficient,
            slack=self.slack / abs(coefficient),
        )


@dataclass(frozen=True)
class Among:
    """A cell is, or with `inside` false is not, one of some codes."""

    column: str
    codes: frozenset[float]
    inside: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def test(self, cells: Mapping[str, float]) -> bool:
        return (cells[self.column] in self.codes) == self.inside

    def negated(self) -> "Among":
        return replace(self, inside=not self.inside)


@dataclass(frozen=True)
class SameLevel:
    """Two cells without order hold, or with `same` false do not hold, the same level."""

    left: str
    right: str
    matches: frozenset[tuple[float, float]]
    same: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.left, self.right)

    def test(self, cells: Mapping[str, float]) -> bool:
        return ((cells[self.left], cells[self.right]) in self.matches) == self.same

    def negated(self) -> "SameLevel":
        return replace(self, same=not self.same)


Fact = Settled | Inequality | Among | SameLevel


def is_met(fact: Fact, cells: Mapping[str, float]) -> bool:
    """Whether a fact holds for an encoded row, or is about a missing cell."""
    return any(math.isnan(cells[column]) for column in fact.columns) or fact.test(cells)


def facts(clause: Clause, query: Query) -> tuple[Fact, ...]:
    """Return what a clause says about the new row, all of which must be so."""
    match clause:
        case Comparison():
            return tuple(_compared(*pair, query) for pair in clause.pairs)
        case Membership():
            return (_member(clause, query),)
        case Changes(column):
            if query.is_missing(column):
                return (Settled(True, (column,)),)
            return (Among(column, frozenset({query.cells[column]}), inside=False),)
        case MayFill():
            return ()
    if query.is_missing(clause.column):
        return (Settled(False, (clause.column,)),)
    return _within(clause, query) if isinstance(clause, Within) else (_moved(clause, query),)


def level_code(feature: Feature, value: Value) -> float:
    """Return the code of a value in a column: its level's index, or the number itself."""
    if feature.levels or feature.kind == "date":
        try:
            return feature.code(value.value)
        except SchemaError as error:
            spelling = _spelling(feature, value)
            hint = spelling and f"column {feature.name!r}: {value.text} is no level of it; write {spelling}"
            raise ConstraintError(hint or str(error)) from None
    if not isinstance(value, Number):
        raise ConstraintError(
            f"column {feature.name!r} is {feature.kind}, but {value.text} is not a number; "
            f"write a number, or declare the column: {declaring(feature.name, 'categorical')}"
        )
    return float(np.float32(value.value)) if feature.is_single else float(value.value)


def _spelling(feature: Feature, value: Value) -> str | None:
    """Return how a level is written that was given with quotes it has not, or without those it has."""
    given = str(value.value)
    if True in feature.levels and given.lower() in ("true", "false"):
        return f"{given.capitalize()}, without quotes"
    own = next((level for level in feature.levels if str(level) == given), None)
    if own is None:
        return None
    return f"{Text(own).text}, in quotes" if isinstance(own, str) else f"{own}, without quotes"


def _within(clause: Within, query: Query) -> tuple[Fact, ...]:
    value, size = query.digits(clause.column), _fraction(clause.size)
    assert value is not None
    reach = abs(value) * size / 100 if clause.percent else size
    terms, short = ((clause.column, Fraction(1)),), _short([clause.column], query)
    low, high = value - reach, value + reach
    return Inequality(terms, ">=", low, short=short), Inequality(terms, "<=", high, short=short)


def _fraction(number: Number) -> Fraction:
    return Fraction(number.value) if isinstance(number.value, int) else digits(number.value)


def _short(columns: Iterable[str], query: Query) -> frozenset[str]:
    return frozenset(column for column in columns if query.features[column].is_single)


def _moved(clause: Transition, query: Query) -> Fact:
    feature, now = query.features[clause.column], query.cells[clause.column]
    reachable = {
        level_code(feature, end)
        for start, ends in clause.moves
        if level_code(feature, start) == now
        for end in ends
    }
    return Among(clause.column, frozenset(reachable | {now}))


def _member(clause: Membership, query: Query) -> Fact:
    column = clause.cell.column
    codes = frozenset(level_code(query.features[column], value) for value in clause.values)
    if isinstance(clause.cell, New):
        return Among(column, codes, clause.inside)
    return Settled(not query.is_missing(column) and (query.cells[column] in codes) == clause.inside)


def _compared(left: Expression, operator: Operator, right: Expression, query: Query) -> Fact:
    feature = levelled(left, operator, right, query.features)
    if feature is not None and feature.is_discrete:
        return _same_level(left, right, operator == "==", query)
    feature = feature or dated(left, right, query.features)
    if feature is not None:  # ordinal levels stand for their ranks, dates for their days
        left, right = (_ranked(side, feature) for side in (left, right))
    return _inequality(left, operator, right, query)


def levelled(
    left: Expression, operator: str, right: Expression, features: Mapping[str, Feature]
) -> Feature | None:
    """Return the first feature with levels that two sides of a comparison name; None if numbers are compared.

    Columns of 0 and 1, or of truth values, are numbers where an order is asked for, or where another number
    is on the other side.
    """
    sides = (left, right)
    named = [features[side.column] for side in sides if isinstance(side, New | Old)]
    with_levels = [feature for feature in named if feature.levels]
    if all(feature.counts for feature in with_levels):
        calculates = any(isinstance(side, Arithmetic) for side in sides) or len(with_levels) < len(named)
        if calculates or operator not in ("==", "!="):
            return None
    return next(iter(with_levels), None)


def dated(left: Expression, right: Expression, features: Mapping[str, Feature]) -> Feature | None:
    """Return the column of dates that is compared with a date in quotes, if any."""
    for side, other in ((left, right), (right, left)):
        named = [features[cell.column] for cell in cells(side)]
        if isinstance(other, Text) and named and named[0].kind == "date":
            return named[0]
    return None


def _ranked(side: Expression, feature: Feature) -> Expression:
    return Number(level_code(feature, side)) if isinstance(side, Number | Text | Truth) else side


def _same_level(left: Expression, right: Expression, same: bool, query: Query) -> Fact:
    match left, right:
        case New(one), New(other):
            levels = (query.features[column].levels for column in (one, other))
            return SameLevel(one, other, _matches(*levels), same)
        case (New(column), level) | (level, New(column)):
            return _is_level(column, level, same, query)
    levels_of_query = _level(left, query), _level(right, query)
    return Settled(None not in levels_of_query and (levels_of_query[0] == levels_of_query[1]) == same)


def _is_level(column: str, side: Expression, same: bool, query: Query) -> Fact:
    wanted = _level(side, query)
    if wanted is None:
        return Settled(False, (column,))
    levels = query.features[column].levels
    return Among(column, frozenset(float(code) for code, level in enumerate(levels) if level == wanted), same)


def _matches(left: tuple[Any, ...], right: tuple[Any, ...]) -> frozenset[tuple[float, float]]:
    return frozenset(
        (float(left.index(level)), float(right.index(level))) for level in left if level in right
    )


def _level(side: Expression, query: Query) -> Any:
    """Return the user's level that a literal or a cell of the query holds; None if missing."""
    match side:
        case Old(column):
            return query.features[column].value(query.cells[column])
        case Number() | Text() | Truth():
            return side.value
    raise ConstraintError(f"{side.text} cannot be compared with the levels of a column")


def _inequality(left: Expression, operator: Operator, right: Expression, query: Query) -> Fact:
    """Bring a comparison to the form: cells of the new row on the left, a number on the right."""
    columns = new_columns(left, right)
    one, other = _linear(left, query), _linear(right, query)
    if one is None or other is None:
        return Settled(False, columns)
    terms = tuple((name, one.coefficient(name) - other.coefficient(name)) for name in columns)
    number = other.constant - one.constant
    is_plain = len(columns) <= 1 and not isinstance(left, Arithmetic) and not isinstance(right, Arithmetic)
    slack = Fraction(0)
    if not is_plain and operator in ("==", "!="):
        slack = _slack(terms, (one, other), query)
    if all(coefficient == 0 for _, coefficient in terms):
        return Settled(_compare(Fraction(0), operator, number, slack), columns)
    numbers = [column for column in columns if not query.features[column].counts]
    real = len(numbers) > 1 and any(query.features[column].is_real for column in numbers)
    fact = Inequality(terms, operator, number, slack, _short(columns, query), real)
    if len(terms) > 1:
        _ensure_writable(fact, query, (left, right))
        return fact
    bound = fact.solved()
    _ensure_writable(bound, query, (left, right))
    if is_plain and operator in ("==", "!="):
        code = nearest_float(bound.right)
        if columns[0] in bound.short:
            code = float(np.float32(code))
        return Among(columns[0], frozenset({code}), operator == "==")
    return bound


def _ensure_writable(fact: Inequality, query: Query, sides: tuple[Expression, Expression]) -> None:
    """Refuse an inequality with numbers beyond what floats can hold: what it says could not be worked out."""
    sizes = (abs(coefficient) * max(query.magnitude(name), Fraction(1)) for name, coefficient in fact.terms)
    if not all(math.isfinite(nearest_float(number)) for number in (fact.right, fact.slack, *sizes)):
        left, right = (side.text for side in sides)
        raise ConstraintError(
            f"{left!r:.80} and {right!r:.80} cannot be compared: this needs numbers beyond "
            f"{sys.float_info.max:.1e}, the largest that can be calculated with; write smaller ones"
        )


def _compare(left: Exactly, operator: Operator, right: Exactly, slack: Exactly) -> bool:
    if operator in ("==", "!="):
        return (right - slack <= left <= right + slack) == (operator == "==")
    return bool(_COMPARE[operator](left, right))


def _slack(
    terms: tuple[tuple[str, Fraction], ...], sides: tuple["_Linear", "_Linear"], query: Query
) -> Fraction:
    sizes = [abs(coefficient) * query.magnitude(column) for column, coefficient in terms]
    coarse = any(query.features[column].is_single for column, _ in terms)
    slack = EQUALITY_SLACK * (_COARSER if coarse else 1)
    return slack * max(*sizes, *(abs(side.constant) for side in sides))


@dataclass(frozen=True)
class _Linear:
    """A constant plus coefficients times cells of the new row."""

    constant: Fraction
    coefficients: Mapping[str, Fraction]

    def coefficient(self, column: str) -> Fraction:
        return self.coefficients.get(column, Fraction(0))

    def scaled(self, factor: Fraction) -> "_Linear":
        return _Linear(
            self.constant * factor, {column: value * factor for column, value in self.coefficients.items()}
        )


def _linear(expression: Expression, query: Query) -> _Linear | None:
    """Work out an expression; None where the query leaves it undefined: a missing cell, a division by 0."""
    match expression:
        case Number():
            return _Linear(_fraction(expression), {})
        case New(column):
            return _Linear(Fraction(0), {column: Fraction(1)})
        case Old(column):
            cell = query.digits(column)
            return None if cell is None else _Linear(cell, {})
        case Arithmetic():
            return _total(expression, query) if expression.is_sum else _multiplied(expression, query)
    raise ConstraintError(f"{expression.text} is not a number and cannot be compared with one")


def _total(expression: Arithmetic, query: Query) -> _Linear | None:
    constant, coefficients = Fraction(0), dict[str, Fraction]()
    for sign, term in (("+", expression.first), *expression.rest):
        part, factor = _linear(term, query), -1 if sign == "-" else 1
        if part is None:
            return None
        constant += factor * part.constant
        for column, coefficient in part.coefficients.items():
            coefficients[column] = coefficients.get(column, Fraction(0)) + factor * coefficient
    return _Linear(constant, coefficients)


def _multiplied(expression: Arithmetic, query: Query) -> _Linear | None:
    product = _linear(expression.first, query)
    for sign, term in expression.rest:
        factor = _linear(term, query)
        if product is None or factor is None:
            return None
        # The reader lets at most one factor contain cells of the new row, and no divisor.
        if factor.coefficients:
            product = factor.scaled(product.constant)
        elif sign == "*":
            product = product.scaled(factor.constant)
        else:
            product = product.scaled(1 / factor.constant) if factor.constant else None
    return product
