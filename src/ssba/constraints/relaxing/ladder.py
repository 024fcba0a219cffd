"""The ladder from something that was asked for to looser and looser versions of it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssba.columns.dates import short_date
from ssba.columns.features import Feature, is_missing
from ssba.constraints.language.tree import Clause, Number, Text, Truth, Value

Row = Mapping[str, Any]
Features = Mapping[str, Feature]
Loosened = Callable[[float], tuple[Clause, ...]]

NARROW = 0.95
"""A relaxation counts as the smallest where this share of it was seen not to be enough."""

# What sums leave behind so many digits is rounding.
_DIGITS = 12
# How far above an amount one in fewer digits may lie.
_ABOVE = 1.02


@dataclass(frozen=True)
class Ladder:
    """Looser and looser versions of something, by an amount above 0.

    Attributes
    ----------
    at : callable
        From the amount to the looser version; None where it is left out altogether.
    says : callable
        From the amount to words: "let chol go up to 264 instead of 240".
    most : float
        The largest amount: from there on, nothing that the data show is refused.
    scale : float
        What an amount is divided by to tell how large the relaxation is, relative to what was asked for.
        Infinite where that says nothing, since it is all or nothing.
    step : float or None
        Amounts are multiples of it; None where any amount will do.
    base, sign : float
        The number that a person reads is ``base + sign * amount``.
    beyond : bool
        Whether its end lies beyond the data, so that it allows more than leaving the constraint out, which
        brings the data's range back.
    """

    at: Callable[[float], Any]
    says: Callable[[float], str]
    most: float
    scale: float
    step: float | None = None
    base: float = 0.0
    sign: float = 1.0
    beyond: bool = False

    def size(self, amount: float) -> float:
        """Return how large a relaxation is, relative to what was asked for; infinite for leaving it out."""
        return math.inf if math.isinf(self.scale) else amount / self.scale

    def between(self, low: float, high: float) -> float:
        """Return an amount from the middle part of a bracket, with few digits; `high` where there is none."""
        if self.step is not None:
            rungs = round((high - low) / self.step)
            return tidy(low + rungs // 2 * self.step) if rungs > 1 else high
        third = (high - low) / 3
        return self._short(low + third, high - third)

    def above(self, amount: float) -> float:
        """Return the amount, or one with fewer digits that is at most 2% larger."""
        if self.step is not None:
            return min(tidy(math.ceil(tidy(amount / self.step)) * self.step), self.most)
        return min(self._short(amount, _ABOVE * amount), self.most)

    def below(self, amount: float) -> float:
        """Return the next smaller amount that matters: one step less, or 5% less where there are no steps."""
        return NARROW * amount if self.step is None else max(0.0, tidy(amount - self.step))

    def is_narrow(self, low: float, high: float) -> bool:
        """Tell whether a bracket is narrow: 5% less than `high` is at most `low`, or no rung lies between."""
        if self.step is not None and high - low < 1.5 * self.step:
            return True
        return NARROW * high <= low

    def _short(self, low: float, high: float) -> float:
        ends = sorted((self.base + self.sign * low, self.base + self.sign * high))
        amount = tidy(self.sign * (short_between(*ends) - self.base))
        return amount if low <= amount <= high else (low + high) / 2


def left_out(words: str) -> Ladder:
    """Return the ladder whose only rung leaves the thing out.

    >>> left_out("drop it").at(1.0) is None
    True
    """
    return Ladder(lambda amount: None, lambda amount: words, most=1.0, scale=math.inf, step=1.0)


def choice(clauses: tuple[Clause, ...], words: str) -> Ladder:
    """Return a ladder with one rung: a level more counts as much as a bound that moves by its own size."""
    return Ladder(lambda amount: clauses, lambda amount: words, most=1.0, scale=1.0, step=1.0)


@dataclass(frozen=True)
class Setting:
    """The query, the columns, and a row that one would like to have."""

    x: Row
    features: Features
    wanted: Row | None = None

    def range_of(self, column: str) -> tuple[float, float]:
        """Return the range of a column's numbers in the data and the query."""
        feature = self.features[column]
        ends = [feature.data_low, feature.data_high]
        if not is_missing(self.x[column]):
            ends.append(feature.code(self.x[column]))
        return min(ends), max(ends)

    def others(self, column: str, allowed: set[float]) -> list[float]:
        """Return the codes that could be allowed in a column, too: the wanted one, or all levels."""
        feature = self.features[column]
        if self.wanted is None:
            codes = [float(code) for code in range(len(feature.levels))]
        else:
            codes = [] if is_missing(self.wanted[column]) else [feature.code(self.wanted[column])]
        return [code for code in codes if code not in allowed]

    def number(self, column: str, number: float) -> Any:
        """Return a number of a column as the user has it; days as a date."""
        return short_date(number) if self.features[column].kind == "date" else plain(number)

    def shown(self, column: str, value: Any) -> str:
        """Write a value of a column, with its unit."""
        unit = self.features[column].unit
        return f"{value} {unit}" if unit else str(value)

    def shown_difference(self, column: str, amount: str) -> str:
        """Write how far a column moves, with its unit; dates move by days."""
        return f"{amount} days" if self.features[column].kind == "date" else self.shown(column, amount)


def tidy(number: float) -> float:
    """Return a number without the last bits that sums leave behind.

    >>> tidy(0.1 + 0.2)
    0.3
    """
    return float(f"{number:.{_DIGITS}g}")


def short_between(low: float, high: float) -> float:
    """Return a number between two others, both allowed, with as few digits as there is one.

    >>> short_between(23.54, 23.68), short_between(190.0, 310.0), short_between(0.3, 0.3)
    (23.6, 200.0, 0.3)
    """
    if not low < high:
        return low
    coarsest = -math.floor(math.log10(high - low)) - 1
    for decimals in range(coarsest, coarsest + 4):
        short = round((low + high) / 2, decimals)
        if low <= short <= high:
            return short
    return (low + high) / 2


def step_at(step: float, number: float) -> float | None:
    """Return a step where a number is one of its multiples, so that only whole steps from there matter.

    >>> step_at(0.5, 2.5), step_at(1.0, 216.3)
    (0.5, None)
    """
    return step if abs(number / step - round(number / step)) < 1e-9 else None


def plain(number: float) -> int | float:
    """Return a float as int where it is one."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def literal(value: Any) -> Value:
    """Return a value of a column as it is written in a constraint.

    >>> literal("typical").text, literal(2.0).text, literal(True).text
    ("'typical'", '2', 'True')
    """
    bare = value.item() if hasattr(value, "item") else value
    if isinstance(bare, bool):
        return Truth(bare)
    if isinstance(bare, str):
        return Text(bare)
    return Number(bare if isinstance(bare, int) else plain(float(bare)))
