"""Constraints: hard conditions on the new row, in the user's columns and units.

Made by the constructors below or read from text by `constraint`; both give the same
objects. `check` compares one with the features, `holds` tests a finished row, and
`alternatives` says, for a query, where the rows that meet it lie.
"""

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, cast, final, overload

import numpy as np

from ssba.columns.dates import date_text, day_number
from ssba.columns.features import Feature, unknown_columns
from ssba.constraints.language.atoms import (
    Atom,
    Bound,
    Conjunction,
    Fill,
    Keep,
    Levels,
    Linear,
    alternatives,
    reads_values,
)
from ssba.constraints.language.check import check
from ssba.constraints.language.facts import Query, encode, facts, is_met
from ssba.constraints.language.parser import constraint
from ssba.constraints.language.tree import (
    Comparison,
    Constraint,
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
    columns,
)
from ssba.errors import ConstraintError

__all__ = [
    "Atom",
    "Bound",
    "ColumnRules",
    "Conjunction",
    "Constraint",
    "Fill",
    "Keep",
    "Levels",
    "Linear",
    "alternatives",
    "between",
    "check",
    "columns",
    "constraint",
    "decrease",
    "fixed",
    "holds",
    "increase",
    "may_fill",
    "one_of",
    "only",
    "reads_values",
    "relation",
    "transition",
    "within",
]


_MAKERS: dict[Operator, str] = {"==": "fixed", ">=": "increase", "<=": "decrease"}


@final
@dataclass(frozen=True)
class ColumnRules:
    """Several columns compared with the query's values: those named, or with `others` all but those.

    It becomes one constraint a column, so that each can be named, and relaxed, by itself.
    """

    columns: tuple[str, ...]
    operator: Operator = "=="
    others: bool = False

    def constraints(self, features: Mapping[str, Feature]) -> tuple[Constraint, ...]:
        """Return the constraints, for a problem with these columns."""
        if strangers := [name for name in self.columns if name not in features]:
            who = "only" if self.others else _MAKERS[self.operator]
            raise ConstraintError(unknown_columns(strangers, list(features), f"{who}(...)"))
        named = [name for name in features if name not in self.columns] if self.others else self.columns
        return tuple(_compared_with_query(name, self.operator) for name in named)


@overload
def fixed(column: Hashable, /) -> Constraint: ...
@overload
def fixed(*columns: Hashable | Iterable[Hashable]) -> Constraint | ColumnRules: ...
def fixed(*columns: Hashable | Iterable[Hashable]) -> Constraint | ColumnRules:
    """Columns keep the query's values; a missing cell stays missing.

    Examples
    --------
    >>> print(fixed("sex"))
    sex == x.sex
    >>> fixed("sex", "age") == fixed(["sex", "age"])
    True
    """
    return _compared(columns, "==")


def only(*columns: Hashable | Iterable[Hashable]) -> ColumnRules:
    """Only these columns may change; all others keep the query's values.

    Examples
    --------
    >>> only("chol", "trestbps").columns
    ('chol', 'trestbps')
    """
    return ColumnRules(_columns("only", columns), others=True)


@overload
def increase(column: Hashable, /) -> Constraint: ...
@overload
def increase(*columns: Hashable | Iterable[Hashable]) -> Constraint | ColumnRules: ...
def increase(*columns: Hashable | Iterable[Hashable]) -> Constraint | ColumnRules:
    """Columns stay or go up; ordinal columns, in rank.

    Examples
    --------
    >>> print(increase("age"))
    age >= x.age
    >>> increase("age", "education") == increase(["age", "education"])
    True
    """
    return _compared(columns, ">=")


@overload
def decrease(column: Hashable, /) -> Constraint: ...
@overload
def decrease(*columns: Hashable | Iterable[Hashable]) -> Constraint | ColumnRules: ...
def decrease(*columns: Hashable | Iterable[Hashable]) -> Constraint | ColumnRules:
    """Columns stay or go down; ordinal columns, in rank.

    Examples
    --------
    >>> print(decrease("max HR"))
    `max HR` <= x.`max HR`
    """
    return _compared(columns, "<=")


def between(column: Hashable, low: Any = None, high: Any = None) -> Constraint:
    """The column lies between two values, both allowed; levels for ordinal columns. None: no limit.

    Examples
    --------
    >>> print(between("chol", 120, 240))
    120 <= chol <= 240
    >>> print(between("chol", None, 240))
    chol <= 240
    """
    who = f"between({column!r}, {low!r}, {high!r})"
    if low is None and high is None:
        raise ConstraintError(f"{who}: give at least one end, as in between({column!r}, None, 240)")
    if low is None or high is None:
        end, operator = (_value(high, who), "<=") if low is None else (_value(low, who), ">=")
        return Constraint((Comparison((New(_column(column)), end), (cast(Operator, operator),)),))
    ends = _value(low, who), _value(high, who)
    if isinstance(ends[0], Number) and isinstance(ends[1], Number) and ends[0].value > ends[1].value:
        raise ConstraintError(
            f"{who}: low is above high; did you mean between({column!r}, {high!r}, {low!r})?"
        )
    return Constraint((Comparison((ends[0], New(_column(column)), ends[1]), ("<=", "<=")),))


def within(
    column: Hashable, *bare: float, percent: float | None = None, amount: float | None = None
) -> Constraint:
    """The column moves by at most a percentage of the query's value, or by an amount.

    The percentage is of the size of the value, whatever its sign; a value of zero with
    `percent` cannot move. A bare number is refused, since it may be meant as either.

    Examples
    --------
    >>> print(within("trestbps", percent=20))
    trestbps within 20%
    >>> print(within("trestbps", amount=15))
    trestbps within 15
    """
    if bare:
        given = f"{bare[0]!r:.80}"
        raise ConstraintError(
            f"within({column!r}, {given}): say what {given} is, within({column!r}, amount={given}) in the "
            f"column's own units or within({column!r}, percent={given})"
        )
    who = f"within({column!r}, percent={percent!r}, amount={amount!r})"
    if (percent is None) == (amount is None):
        raise ConstraintError(f"{who}: give either percent or amount, as in within({column!r}, percent=20)")
    most = _value(amount if percent is None else percent, who)
    if not isinstance(most, Number) or most.value < 0:
        raise ConstraintError(f"{who}: {most.text} is not a number of at least 0")
    return Constraint((Within(_column(column), most, percent is not None),))


def one_of(column: Hashable, values: Iterable[Any]) -> Constraint:
    """The column takes one of some values.

    Examples
    --------
    >>> print(one_of("cp", ["typical", "atypical"]))
    cp in {'typical', 'atypical'}
    """
    who = f"one_of({column!r}, {values!r})"
    if allowed := _values(values, who):
        return Constraint((Membership(New(_column(column)), allowed),))
    raise ConstraintError(f"{who}: no value is allowed; give at least one, or use fixed({column!r})")


def transition(column: Hashable, moves: Mapping[Any, Iterable[Any]]) -> Constraint:
    """The column may go from a level to certain others, or stay.

    Parameters
    ----------
    column : str
        A column with levels, or with few numbers.
    moves : Mapping
        For each level the levels it may become. A level that is not a key may not change.

    Examples
    --------
    >>> print(transition("smoker", {"yes": ["no"], "former": ["no", "never"]}))
    smoker: 'yes' -> {'no'}, 'former' -> {'no', 'never'}
    """
    who = f"transition({column!r}, {moves!r})"
    if not isinstance(moves, Mapping) or not moves:
        raise ConstraintError(f"{who}: give a mapping such as {{'yes': ['no']}}, or use fixed({column!r})")
    steps = tuple((_value(start, who), _values(ends, who)) for start, ends in moves.items())
    return Constraint((Transition(_column(column), steps),))


def relation(text: str) -> Constraint:
    """Columns relate to each other by a linear comparison.

    Examples
    --------
    >>> print(relation("systolic-diastolic>=20"))
    systolic - diastolic >= 20
    """
    read = constraint(text)
    if read.guard or not all(isinstance(clause, Comparison) for clause in read.clauses):
        raise ConstraintError(
            f"relation({text!r}): expected a comparison such as 'systolic - diastolic >= 20'; "
            "other texts are read by constraint(...)"
        )
    return read


def may_fill(column: Hashable) -> Constraint:
    """A cell of the column that is missing in the query may be filled.

    Without it such a cell stays missing.

    Examples
    --------
    >>> print(may_fill("chol"))
    chol may be filled
    """
    return Constraint((MayFill(_column(column)),))


def holds(
    constraint: Constraint, x: Mapping[str, Any], row: Mapping[str, Any], features: Mapping[str, Feature]
) -> bool:
    """Whether a finished row meets a constraint, in user units and without tolerance.

    Only equalities over several columns or with arithmetic allow a relative 1e-9. What
    is missing in `row` is asked nothing; what is compared with a missing cell of `x` fails.

    Examples
    --------
    >>> from ssba.columns.features import Feature, unknown_columns
    >>> age = {"age": Feature("age", "integer")}
    >>> holds(increase("age"), {"age": 50}, {"age": 49}, age)
    False
    """
    named = columns(constraint)
    query, cells = Query(encode(named, x, features), features), encode(named, row, features)
    guard_false = (fact.negated() for clause in constraint.guard for fact in facts(clause, query))
    return any(is_met(fact, cells) for fact in guard_false) or all(
        is_met(fact, cells) for clause in constraint.clauses for fact in facts(clause, query)
    )


def _compared(given: tuple[Any, ...], operator: Operator) -> Constraint | ColumnRules:
    named = _columns(_MAKERS[operator], given)
    return _compared_with_query(named[0], operator) if len(named) == 1 else ColumnRules(named, operator)


def _compared_with_query(column: Hashable, operator: Operator) -> Constraint:
    name = _column(column)
    return Constraint((Comparison((New(name), Old(name)), (operator,)),))


def _column(name: Any) -> str:
    """Return a column's name as text: that of a frame may be a number or a tuple."""
    if name is None or isinstance(name, list | set | Mapping):
        raise ConstraintError(f"a column is named by a text, not by {name!r:.80}")
    return str(name)


def _columns(who: str, given: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the names of columns, given one by one or as a list."""
    members = given[0] if len(given) == 1 and isinstance(given[0], list | set | frozenset) else given
    names = tuple(dict.fromkeys(_column(name) for name in members))
    if not names:
        raise ConstraintError(f"{who}(): name at least one column")
    return names


def _value(value: Any, who: str) -> Value:
    match value:
        case str():
            return Text(str(value))
        case bool() | np.bool_():
            return Truth(bool(value))
        case numbers.Real():
            return Number(_finite(value, who))
    days = day_number(value)
    if days is not None:
        return Text(date_text(days))
    raise ConstraintError(
        f"{who}: {value!r} is neither a number, a text, True nor False, nor a date without a time zone"
    )


def _finite(value: numbers.Real, who: str) -> int | float:
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf
    if not math.isfinite(nearest):
        raise ConstraintError(f"{who}: {value!r} is not finite; for one side only write 'column >= number'")
    return int(value) if isinstance(value, numbers.Integral) else nearest


def _values(values: Iterable[Any], who: str) -> tuple[Value, ...]:
    try:
        members = None if isinstance(values, str) else list(values)
    except TypeError:
        members = None
    if members is None:
        raise ConstraintError(f"{who}: {values!r} is not a list of values; write [{values!r}]")
    read = dict.fromkeys(_value(value, who) for value in members)
    # A set has no order of its own, and the text should be the same in every process.
    return tuple(sorted(read, key=lambda value: value.text) if isinstance(values, Set) else read)
