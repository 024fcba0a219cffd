"""What a constraint says once the query is known, as facts about encoded cells.

A clause becomes a conjunction of facts. `holds` tests them on a finished row and
`constraint_atoms` turns the very same facts into atoms of a region, so that both
use the same numbers, bit for bit.

Missing cells. A cell of the new row can only be missing because it was missing in the
query and stayed so. A fact about such a cell asks for nothing: it is met. Where the new
cell is there, but a cell of the query it is compared with is missing (or the comparison
is undefined for this query, such as a division by zero), the fact fails. A guard fires
only if every clause of it is known to be true; so a rule whose guard looks at a
missing cell asks for nothing either.

Equality is exact between single cells and values. Over several columns of the new row, or
with arithmetic, it allows `EQUALITY_SLACK` relative to the largest term, which rounding needs.
"""

import math
import operator as op
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ssba.errors import ConstraintError, SchemaError
from ssba.problem.constraint_tree import (
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
    new_columns,
)
from ssba.problem.features import Feature

EQUALITY_SLACK = 1e-9

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

    def magnitude(self, column: str) -> float:
        """How large cells of a column are, for a relative tolerance."""
        feature = self.features[column]
        sizes = (self.cells[column], feature.data_low, feature.data_high)
        return max((abs(size) for size in sizes if math.isfinite(size)), default=0.0)


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

    A single column has the coefficient 1. `slack` widens ``==`` and narrows ``!=``.
    """

    terms: tuple[tuple[str, float], ...]
    operator: Operator
    right: float
    slack: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.terms)

    def test(self, cells: Mapping[str, float]) -> bool:
        return _compare(
            sum(coefficient * cells[column] for column, coefficient in self.terms),
            self.operator,
            self.right,
            self.slack,
        )

    def negated(self) -> "Inequality":
        return replace(self, operator=_OPPOSITE[self.operator])


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


def within_bounds(clause: Within, value: float) -> tuple[float, float]:
    """Return the lowest and highest value a `Within` allows around the query's value.

    >>> within_bounds(Within("t", Number(20), percent=True), -130.0)
    (-156.0, -104.0)
    """
    size = float(clause.size.value)
    reach = abs(value) * size / 100 if clause.percent else size
    return value - reach, value + reach


def level_code(feature: Feature, value: Value) -> float:
    """Return the code of a value in a column: its level's index, or the number itself."""
    if feature.levels:
        try:
            return feature.code(value.value)
        except SchemaError as error:
            raise ConstraintError(str(error)) from None
    if not isinstance(value, Number):
        raise ConstraintError(
            f"column {feature.name!r} is {feature.kind}, but {value.text} is not a number; "
            f"write a number, or declare the column with features={{{feature.name!r}: ssba.categorical()}}"
        )
    return float(value.value)


def _within(clause: Within, query: Query) -> tuple[Fact, ...]:
    low, high = within_bounds(clause, query.cells[clause.column])
    terms = ((clause.column, 1.0),)
    return Inequality(terms, ">=", low), Inequality(terms, "<=", high)


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
    feature = levelled(left, right, query.features)
    if feature is not None and feature.is_discrete:
        return _same_level(left, right, operator == "==", query)
    if feature is not None:  # ordinal: levels stand for their ranks
        left, right = (_ranked(side, feature) for side in (left, right))
    return _inequality(left, operator, right, query)


def levelled(left: Expression, right: Expression, features: Mapping[str, Feature]) -> Feature | None:
    """Return the first feature with levels that two sides of a comparison name, if any."""
    named = (features[side.column] for side in (left, right) if isinstance(side, New | Old))
    return next((feature for feature in named if feature.levels), None)


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
    terms = tuple((name, one.coefficient(name) - other.coefficient(name)) for name in columns)
    number = other.constant - one.constant
    if not all(math.isfinite(value) for value in (number, *dict(terms).values())):
        return Settled(False, columns)
    is_plain = len(columns) <= 1 and not isinstance(left, Arithmetic) and not isinstance(right, Arithmetic)
    slack = 0.0 if is_plain or operator not in ("==", "!=") else _slack(terms, (one, other), query)
    if all(coefficient == 0 for _, coefficient in terms):
        return Settled(_compare(0.0, operator, number, slack), columns)
    fact = Inequality(terms, operator, number, slack)
    if len(terms) > 1:
        return fact
    bound = _solved(fact)
    if not math.isfinite(bound.right + bound.slack):
        return Settled(False, columns)
    if is_plain and operator in ("==", "!="):
        return Among(columns[0], frozenset({bound.right}), operator == "==")
    return bound


def _solved(fact: Inequality) -> Inequality:
    """Divide by the coefficient of the only column."""
    ((column, coefficient),) = fact.terms
    operator = _MIRRORED[fact.operator] if coefficient < 0 else fact.operator
    return Inequality(((column, 1.0),), operator, fact.right / coefficient, fact.slack / abs(coefficient))


def _compare(left: float, operator: Operator, right: float, slack: float) -> bool:
    if operator in ("==", "!="):
        return (right - slack <= left <= right + slack) == (operator == "==")
    return bool(_COMPARE[operator](left, right))


def _slack(terms: tuple[tuple[str, float], ...], sides: tuple["_Linear", "_Linear"], query: Query) -> float:
    sizes = [abs(coefficient) * query.magnitude(column) for column, coefficient in terms]
    # A column of 32-bit floats cannot come nearer to an equality than its own rounding.
    coarse = any(query.features[column].is_single for column, _ in terms)
    slack = EQUALITY_SLACK * (1000 if coarse else 1)
    return slack * max(*sizes, *(abs(side.constant) for side in sides))


@dataclass(frozen=True)
class _Linear:
    """A constant plus coefficients times cells of the new row; NaN where undefined for the query."""

    constant: float
    coefficients: Mapping[str, float]

    def coefficient(self, column: str) -> float:
        return self.coefficients.get(column, 0.0)

    def scaled(self, sign: str, factor: float) -> "_Linear":
        return _Linear(
            _scale(self.constant, sign, factor),
            {column: _scale(value, sign, factor) for column, value in self.coefficients.items()},
        )


def _scale(value: float, sign: str, factor: float) -> float:
    if sign == "*":
        return value * factor
    return value / factor if factor else math.nan


def _linear(expression: Expression, query: Query) -> _Linear:
    match expression:
        case Number(value):
            return _Linear(float(value), {})
        case New(column):
            return _Linear(0.0, {column: 1.0})
        case Old(column):
            return _Linear(query.cells[column], {})
        case Arithmetic():
            return _total(expression, query) if expression.is_sum else _multiplied(expression, query)
    raise ConstraintError(f"{expression.text} is not a number and cannot be compared with one")


def _total(expression: Arithmetic, query: Query) -> _Linear:
    constant, coefficients = 0.0, dict[str, float]()
    for sign, term in (("+", expression.first), *expression.rest):
        part, factor = _linear(term, query), -1.0 if sign == "-" else 1.0
        constant += factor * part.constant
        for column, coefficient in part.coefficients.items():
            coefficients[column] = coefficients.get(column, 0.0) + factor * coefficient
    return _Linear(constant, coefficients)


def _multiplied(expression: Arithmetic, query: Query) -> _Linear:
    product = _linear(expression.first, query)
    for sign, term in expression.rest:
        factor = _linear(term, query)
        # The reader lets at most one factor contain cells of the new row, and no divisor.
        if factor.coefficients:
            product = factor.scaled("*", product.constant)
        else:
            product = product.scaled(sign, factor.constant)
    return product
