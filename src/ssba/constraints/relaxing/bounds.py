"""Comparisons with their bounds moved outward: a number along its scale, an ordinal level by ranks."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ssba.columns.dates import day_number, short_date
from ssba.columns.features import Feature, is_missing
from ssba.constraints.language.facts import level_code, levelled
from ssba.constraints.language.tree import (
    Arithmetic,
    Clause,
    Comparison,
    Expression,
    Membership,
    New,
    Number,
    Old,
    Text,
    Truth,
    new_columns,
)
from ssba.constraints.relaxing.ladder import Ladder, Loosened, Setting, choice, literal, plain, step_at, tidy

# What sums may be off by, as a share of their terms.
_ROUNDING = 1e-9

Moved = Callable[[Expression], tuple[Clause, ...]]


def bounds_further_out(comparison: Comparison, setting: Setting) -> Iterator[Ladder]:
    """Yield the ways to loosen a comparison, pair by pair of a chain."""
    for number in range(len(comparison.operators)):
        pair = _Pair(comparison, number)
        feature = levelled(pair.left, pair.operator, pair.right, setting.features)
        if feature is not None and feature.is_discrete:
            yield from _other_levels(pair, setting)
        elif pair.operator in ("<=", "<", ">=", ">"):
            yield from _moved(pair.cell, pair.bound, pair.outward, pair.with_bound, feature, setting)
        elif pair.operator == "==":
            yield from _moved(pair.cell, pair.bound, 1, pair.up_to, feature, setting)
            yield from _moved(pair.cell, pair.bound, -1, pair.down_to, feature, setting)


@dataclass(frozen=True)
class _Pair:
    """Two neighbouring operands of a comparison, one of which is taken for the bound of the other."""

    comparison: Comparison
    number: int

    @property
    def left(self) -> Expression:
        return self.comparison.operands[self.number]

    @property
    def right(self) -> Expression:
        return self.comparison.operands[self.number + 1]

    @property
    def operator(self) -> str:
        return self.comparison.operators[self.number]

    @property
    def bound_is_left(self) -> bool:
        return bool(new_columns(self.right)) and not new_columns(self.left)

    @property
    def bound(self) -> Expression:
        return self.left if self.bound_is_left else self.right

    @property
    def cell(self) -> Expression:
        return self.right if self.bound_is_left else self.left

    @property
    def outward(self) -> int:
        """Which way the bound of an inequality moves: 1 for up, -1 for down."""
        return 1 if (self.operator in ("<=", "<")) != self.bound_is_left else -1

    @property
    def others(self) -> tuple[Clause, ...]:
        """The other pairs of the chain, as comparisons of their own."""
        return tuple(
            Comparison((left, right), (operator,))
            for place, (left, operator, right) in enumerate(self.comparison.pairs)
            if place != self.number
        )

    def with_bound(self, bound: Expression) -> tuple[Clause, ...]:
        """Return the comparison with another bound; inside a chain the pair becomes one of its own."""
        operands = list(self.comparison.operands)
        place = self.number if self.bound_is_left else self.number + 1
        operands[place] = bound
        if place in (0, len(operands) - 1):
            return (replace(self.comparison, operands=tuple(operands)),)
        pair = tuple(operands[self.number : self.number + 2])
        return (*self.others, Comparison(pair, self.comparison.operators[self.number : self.number + 1]))

    def up_to(self, bound: Expression) -> tuple[Clause, ...]:
        """Return an equality as a range that goes up from where it held."""
        return (*self.others, Comparison((self.bound, self.cell, bound), ("<=", "<=")))

    def down_to(self, bound: Expression) -> tuple[Clause, ...]:
        """Return an equality as a range that goes down from where it held."""
        return (*self.others, Comparison((bound, self.cell, self.bound), ("<=", "<=")))


def _other_levels(pair: _Pair, setting: Setting) -> Iterator[Ladder]:
    """Allow another level beside the one that ``==`` asks for, or the one that ``!=`` refuses."""
    match pair.cell, pair.bound:
        case New(column), Old() | Number() | Text() | Truth() as level:
            named = setting.x[level.column] if isinstance(level, Old) else level.value
        case _:
            return
    levels = setting.features[column].levels
    if is_missing(named) or named not in levels:
        return
    code = float(levels.index(named))
    allowed = {code} if pair.operator == "==" else {float(one) for one in range(len(levels))} - {code}
    for other in setting.others(column, allowed):
        members = tuple(literal(levels[int(one)]) for one in sorted(allowed | {other}))
        words = f"let {column} also be {literal(levels[int(other)]).text}"
        yield choice((*pair.others, Membership(New(column), members)), words)


def _moved(
    cell: Expression, bound: Expression, outward: int, moved: Moved, feature: Feature | None, setting: Setting
) -> Iterator[Ladder]:
    """Move a bound outward, up or down."""
    if feature is not None:
        yield from _by_ranks(cell, bound, outward, moved, feature, setting)
        return
    gap = _gap(cell, bound, outward, setting)
    if gap is not None:
        yield gap.ladder(lambda amount: moved(_plus(bound, outward * amount)), moved(bound))


def _by_ranks(
    cell: Expression, bound: Expression, outward: int, moved: Moved, feature: Feature, setting: Setting
) -> Iterator[Ladder]:
    rank = _rank(bound, feature, setting)
    if rank is None or not isinstance(cell, New):
        return
    most = len(feature.levels) - 1 - rank if outward > 0 else rank

    def level(amount: float) -> Any:
        return feature.levels[rank + outward * round(amount)]

    if most > 0:
        yield Ladder(
            at=lambda amount: moved(literal(level(amount))),
            says=lambda amount: _goes(cell.column, outward, level(amount), level(0)),
            most=float(most),
            scale=len(feature.levels) - 1.0,
            step=1.0,
        )


def _rank(bound: Expression, feature: Feature, setting: Setting) -> int | None:
    match bound:
        case Old(column):
            return None if is_missing(setting.x[column]) else int(feature.code(setting.x[column]))
        case Number() | Text() | Truth():
            return int(level_code(feature, bound))
    return None


@dataclass(frozen=True)
class _Gap:
    """What an inequality asks, as one number: the sum of coefficients times cells is at most `limit`."""

    coefficients: Mapping[str, float]
    limit: float
    setting: Setting

    @property
    def width(self) -> float:
        """How far the sum ranges in the data."""
        ranges = {column: self.setting.range_of(column) for column in self.coefficients}
        return sum(abs(self.coefficients[column]) * (high - low) for column, (low, high) in ranges.items())

    @property
    def reach(self) -> float:
        """What has to be added to the limit for it to refuse nothing in the data's range."""
        return (
            sum(
                max(coefficient * end for end in self.setting.range_of(column))
                for column, coefficient in self.coefficients.items()
            )
            - self.limit
        )

    @property
    def is_beyond(self) -> bool:
        """Whether it refuses nothing in the data's range as it is, but for rounding."""
        return self.reach <= _ROUNDING * (abs(self.limit) + self.width)

    @property
    def step(self) -> float | None:
        """The step of the limit where its columns go in steps; None where any number matters."""
        steps = [self.setting.features[column].number_step for column in self.coefficients]
        sizes = [abs(coefficient) for coefficient in self.coefficients.values()]
        if len(steps) == 1 and steps[0]:
            return step_at(sizes[0] * steps[0], self.limit)
        is_whole = all(step == 1 for step in steps) and all(size.is_integer() for size in sizes)
        return step_at(1.0, self.limit) if is_whole else None

    @property
    def _has_dates(self) -> bool:
        return any(self.setting.features[column].kind == "date" for column in self.coefficients)

    def ladder(self, at: Loosened, original: tuple[Clause, ...]) -> Ladder:
        """Return the ladder that adds to the limit."""
        outline = partial(
            Ladder,
            at,
            # A limit beyond the data was set on purpose: it may go as far again as the data do.
            most=tidy(self.width if self.is_beyond else self.reach),
            # The size of a date tells only how far it is from an arbitrary first day.
            scale=self.width if self._has_dates else abs(self.limit) or self.width,
            step=self.step,
            beyond=self.is_beyond,
        )
        if len(self.coefficients) > 1:
            return outline(says=lambda amount: f"ask for {_text(at(amount))} instead of {_text(original)}")
        ((column, coefficient),) = self.coefficients.items()
        outward = 1 if coefficient > 0 else -1

        def says(amount: float) -> str:
            ends = (tidy((self.limit + more) / coefficient) for more in (0.0, amount))
            now, then = (self.setting.number(column, end) for end in ends)
            if self._has_dates:
                return f"let {column} be as {'late' if outward > 0 else 'early'} as {then} instead of {now}"
            return _goes(column, outward, self.setting.shown(column, then), now)

        return outline(says=says, base=outward * self.limit, sign=float(outward))


def _gap(cell: Expression, bound: Expression, outward: int, setting: Setting) -> _Gap | None:
    """Read that `cell` is at most `bound` (outward: 1) or at least; None where that is undefined."""
    columns = new_columns(cell, bound)
    zero = dict.fromkeys(columns, 0.0)

    def difference(cells: Mapping[str, float]) -> float:
        return outward * (_value(cell, setting, cells) - _value(bound, setting, cells))

    constant = difference(zero)
    found = {column: tidy(difference({**zero, column: 1.0}) - constant) for column in columns}
    coefficients = {column: value for column, value in found.items() if value}
    ranges = [end for column in coefficients for end in setting.range_of(column)]
    if not coefficients or not all(map(math.isfinite, (constant, *coefficients.values(), *ranges))):
        return None
    return _Gap(coefficients, tidy(-constant), setting)


def _value(expression: Expression, setting: Setting, cells: Mapping[str, float]) -> float:
    """Work an expression out, given the new row's cells; NaN where the query leaves it undefined."""
    match expression:
        case Number(value):
            return float(value)
        case Text(text):
            days = day_number(text)
            return math.nan if days is None else days
        case New(column):
            return cells[column]
        case Old(column):
            return setting.features[column].code(setting.x[column])
        case Arithmetic():
            total = _value(expression.first, setting, cells)
            for sign, term in expression.rest:
                total = _calculated(total, sign, _value(term, setting, cells))
            return total
    return math.nan


def _calculated(left: float, sign: str, right: float) -> float:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    return left / right if right else math.nan


def _plus(expression: Expression, amount: float) -> Expression:
    """Add a number to an expression: to its last number where it ends in one."""
    match expression:
        case Number(value):
            return Number(plain(tidy(value + amount)))
        case Text(text) if (days := day_number(text)) is not None:
            return Text(short_date(days + amount))
        case Arithmetic(first, rest) if expression.is_sum:
            sign, last = rest[-1]
            if not isinstance(last, Number):
                return Arithmetic(first, (*rest, _signed(amount)))
            left = tidy((-last.value if sign == "-" else last.value) + amount)
            terms = (*rest[:-1], _signed(left)) if left else rest[:-1]
            return Arithmetic(first, terms) if terms else first
    return Arithmetic(expression, (_signed(amount),)) if amount else expression


def _signed(amount: float) -> tuple[str, Number]:
    return ("-" if amount < 0 else "+", Number(plain(tidy(abs(amount)))))


def _goes(column: str, outward: int, then: Any, now: Any) -> str:
    return f"let {column} go {'up' if outward > 0 else 'down'} to {then} instead of {now}"


def _text(clauses: tuple[Clause, ...]) -> str:
    return " and ".join(clause.text for clause in clauses)
