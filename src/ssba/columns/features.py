"""Features: what a column means, said by the user or inferred from its dtype and values."""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import closest, is_number, listed, listing, mapping, meant, number
from ssba.columns.dates import date_text, day_number
from ssba.errors import ArgumentError, SchemaError

_HUGE = 1e300
LARGEST_SINGLE = 3.4028234663852886e38
# The largest whole number that a 64-bit float tells from both its neighbours.
LARGEST_EXACT = 2.0**53 - 1
_COUNTED = 1e21  # beyond it, a whole number is shown with few digits
_LONGEST = 30  # characters of a number that is shown as it was given

Kind = Literal["numeric", "integer", "ordinal", "categorical", "boolean", "date"]


@dataclass(frozen=True)
class Declaration:
    """What the user says about a column, made by `numeric`, `integer`, `ordinal`, ..."""

    kind: Kind
    levels: tuple[Any, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    step: float | None = None
    unit: str | None = None


def numeric(
    *, step: float | None = None, low: float = -math.inf, high: float = math.inf, unit: str | None = None
) -> Declaration:
    """Declare a column of real numbers.

    Parameters
    ----------
    step : float, optional
        Changed values are multiples of it (``0.1`` gives ``2.3``, never ``2.2999``).
    low, high : float
        Hard bounds, whatever the constraints say. Within them a changed value stays
        in the range of the background data, unless a constraint bounds the column.
    unit : str, optional
        Shown behind values.

    Examples
    --------
    >>> numeric(step=0.1, low=0, unit="mm").step
    0.1
    """
    if step is not None:
        step = number("numeric(step=...)", step, "a positive number, such as 0.1", low=0, high=_HUGE)
        if step_fraction(step) is None:
            raise ArgumentError(f"numeric(step={step!r}): give at most nine decimals, such as 0.001")
    return Declaration("numeric", (), *_range("numeric", low, high), step, unit)


def integer(*, low: float = -math.inf, high: float = math.inf, unit: str | None = None) -> Declaration:
    """Declare a column of whole numbers.

    >>> integer(unit="years").kind
    'integer'
    """
    return Declaration("integer", (), *_range("integer", low, high), 1.0, unit)


def ordinal(levels: Sequence[Any]) -> Declaration:
    """Declare a column of levels with an order, lowest first.

    >>> ordinal(["low", "middle", "high"]).levels
    ('low', 'middle', 'high')
    """
    return Declaration("ordinal", _levels("ordinal", levels, at_least=2))


def categorical(levels: Sequence[Any] | None = None) -> Declaration:
    """Declare a column of levels without an order; by default those seen in the data.

    >>> categorical(["red", "blue"]).kind
    'categorical'
    """
    return Declaration("categorical", () if levels is None else _levels("categorical", levels, at_least=1))


def boolean() -> Declaration:
    """Declare a column with two values, such as 0/1 or yes/no.

    >>> boolean().kind
    'boolean'
    """
    return Declaration("boolean")


def step_fraction(step: float) -> Fraction | None:
    """Return a step as a fraction that leaves room for exact products, or None where there is none.

    >>> step_fraction(0.1), step_fraction(1 / 3), step_fraction(1e-12)
    (Fraction(1, 10), Fraction(1, 3), None)
    """
    exact = Fraction(repr(step))
    near = exact.limit_denominator(10**9)
    return near if near and abs(near - exact) <= exact * Fraction(1, 10**15) else None


def _range(who: str, low: float, high: float) -> tuple[float, float]:
    low = number(f"{who}(low=...)", low, "a number")
    high = number(f"{who}(high=...)", high, "a number")
    if low > high:
        raise ArgumentError(f"{who}(low={low!r}, high={high!r}): low must not be above high")
    return low, high


def _levels(who: str, levels: Any, at_least: int) -> tuple[Any, ...]:
    wanted = f"give a list of at least {at_least} levels, text, numbers or booleans, each once"
    given = tuple(listed(f"{who}(...)", levels, wanted))
    odd = any(not isinstance(level, str | numbers.Real) or is_missing(level) for level in given)
    if odd or len(given) < at_least or len(set(given)) < len(given):
        raise ArgumentError(f"{who}({list(given)!r:.80}): {wanted}")
    return given


@dataclass(frozen=True)
class Feature:
    """One column of the problem: its kind, its legal values and the range seen in the data.

    `levels` are the user's own values in code order. `low` and `high` are declared hard
    bounds; `data_low` and `data_high` are what the background data shows, in encoded units; `storable`
    is what the column's dtype can hold. `why` tells what decided the kind, and `by_values` that the data's
    values did, not the user or the dtype. `decimals` is how many the numbers of the data have, where these
    are real numbers of few decimals.
    """

    name: str
    kind: Kind
    levels: tuple[Any, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    step: float | None = None
    unit: str | None = None
    data_low: float = -math.inf
    data_high: float = math.inf
    storable: tuple[float, float] = (-math.inf, math.inf)
    why: str = ""
    by_values: bool = False
    decimals: int | None = None

    @property
    def is_discrete(self) -> bool:
        """Whether values have no order, so that a change counts 1 whatever it is."""
        return self.kind in ("categorical", "boolean")

    @property
    def is_real(self) -> bool:
        """Whether any number will do, not just multiples of a step."""
        return self.kind == "numeric" and self.step is None

    @property
    def is_single(self) -> bool:
        """Whether the column keeps its numbers in 32 bits."""
        return self.storable[1] == LARGEST_SINGLE

    @property
    def has_levels(self) -> bool:
        """Whether values are levels rather than numbers."""
        return self.kind in ("ordinal", "categorical", "boolean")

    @property
    def counts(self) -> bool:
        """Whether the two values are 0 and 1, or False and True: constraints may calculate with them."""
        return self.kind == "boolean" and self.levels == (0, 1)

    @property
    def is_zero_one(self) -> bool:
        """Whether the two values are the numbers 0 and 1, so that they are their own codes."""
        return self.counts and not isinstance(self.levels[0], bool)

    @property
    def number_step(self) -> float | None:
        """The step of a column's numbers; None where any number will do, or where there are none."""
        return 1.0 if self.counts else self.step

    @property
    def is_constant(self) -> bool:
        """Whether the background data holds a single value."""
        return not self.data_low < self.data_high

    @property
    def accepted(self) -> tuple[float, float]:
        """Between what a number may lie: what the dtype holds; of a constant column, as declared besides."""
        low, high = self.storable
        return (max(low, self.low), min(high, self.high)) if self.is_constant else (low, high)

    def code(self, value: Any) -> float:
        """Encode one user value; NaN for a missing one.

        >>> Feature("pain", "ordinal", ("none", "some")).code("some")
        1.0
        """
        if is_missing(value):
            return math.nan
        if self.has_levels:
            return self._level_code(value)
        return self._in_range(self._days(value) if self.kind == "date" else self._number(value), value)

    def value(self, code: float) -> Any:
        """Decode one number to the user's value; None for a missing one."""
        if math.isnan(code):
            return None
        if self.levels:
            return self.levels[int(code)]
        if self.kind == "date":
            return date_text(code)
        return int(code) if self.kind == "integer" else float(code)

    def values(self, codes: NDArray[np.float64]) -> list[Any]:
        """Decode a column of numbers to the user's values.

        >>> Feature("pain", "ordinal", ("none", "some")).values(np.array([1.0, np.nan]))
        ['some', None]
        """
        cells: list[float] = codes.tolist()
        if self.kind == "numeric":
            return [None if cell != cell else cell for cell in cells]
        return [self.value(cell) for cell in cells]

    def _level_code(self, value: Any) -> float:
        try:
            return float(self.levels.index(value))
        except (ValueError, TypeError):
            raise SchemaError(self._unknown_level(value)) from None

    def _unknown_level(self, value: Any) -> str:
        if not self.levels:
            return (
                f"column {self.name!r}: unknown level {value!r}; the background data holds none; leave the "
                f"cell empty, or declare the column: {declaring(self.name, 'categorical')}"
            )
        near = closest(value, self.levels)
        more = "declare more with ssba.categorical([...]), or levels = [...] for it in a project file"
        hint = more if near is None else f"did you mean {near!r}?"
        if self.by_values:
            return (
                f"column {self.name!r}: {value!r} is neither 0 nor 1, but the background data holds only "
                f"these; correct the cell, or declare the column: {declaring(self.name, 'numeric')}"
            )
        return (
            f"column {self.name!r}: unknown level {value!r}; known levels are {listing(self.levels)}; {hint}"
        )

    def _number(self, value: Any) -> float:
        if not is_number(value):
            raise SchemaError(self._no_number(value))
        number = _as_float(value)
        if math.isinf(number):
            raise SchemaError(f"column {self.name!r}: {value!r:.60} is infinite or too large")
        if self.kind == "integer" and number != round(number):
            shown = ", as all its values in the background data are whole" if self.by_values else ""
            raise SchemaError(
                f"column {self.name!r}: {value!r} is not a whole number, but the column is integer{shown}; "
                f"round it, or declare the column: {declaring(self.name, 'numeric')}"
            )
        return number

    def _no_number(self, value: Any) -> str:
        said = f"column {self.name!r}: {value!r} is not a number; this column is {self.kind}."
        if isinstance(value, str) and _is_number_text(value):
            return f"{said} Give it as a number, without quotes: {value.strip()}"
        return f"{said} Convert the cell, or declare the column: {declaring(self.name, 'categorical')}"

    def _days(self, value: Any) -> float:
        days = day_number(value)
        if days is None:
            raise SchemaError(
                f"column {self.name!r}: {value!r:.60} is not a date; give one such as '2024-01-31' or "
                "'2024-01-31T12:30:00', or a datetime, without a time zone"
            )
        return days

    def _in_range(self, number: float, value: Any) -> float:
        least, most = self.accepted
        if least <= number <= most:
            return number
        low, high = self.storable
        if low <= number <= high:
            raise SchemaError(
                f"column {self.name!r}: {_shown(value)} is outside the declared range, {self.low:g} to "
                f"{self.high:g}, and cannot change, since the background data hold a single value; declare a "
                "range with this value, or give data in which the column varies"
            )
        if high == LARGEST_EXACT:
            raise SchemaError(inexact_number(self.name, number))
        ends = [date_text(end) if self.kind == "date" else f"{end:g}" for end in (low, high)]
        raise SchemaError(
            f"column {self.name!r}: {_shown(value)} is outside {ends[0]} to {ends[1]}, which its dtype can "
            "hold; correct the cell, or give the data in a wider dtype"
        )


def inexact_number(name: str, number: float) -> str:
    """Return a sentence about a whole number that is too large to be computed with exactly."""
    return (
        f"column {name!r} holds {_whole_text(number)}, beyond 2**53 (about 9 * 10**15), where "
        "ssba, which computes in 64-bit floats, cannot tell neighbouring whole numbers apart; leave an "
        "identifier out of model and data, or turn it into text; give a quantity in a larger unit (seconds "
        "instead of nanoseconds)"
    )


def _whole_text(number: float) -> str:
    """Write a large whole number with all its digits, or with few of them where nobody would count them."""
    return f"{int(number):,}" if abs(number) < _COUNTED else f"{number:g}"


def _shown(value: Any) -> str:
    """Write a number as it was given, but for one of hundreds of digits."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{float(value):g}"


def _is_number_text(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_missing(value: Any) -> bool:
    """Tell None, NaN and the frame libraries' own markers of a missing cell.

    >>> is_missing(float("nan")), is_missing(0)
    (True, False)
    """
    if value is None:
        return True
    if isinstance(value, numbers.Number):
        return bool(value != value)
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def whole_if_possible(cell: float) -> int | float:
    """Return a float as int where it is one, so that levels of a number column read as the user has them.

    >>> whole_if_possible(2.0), whole_if_possible(2.5)
    (2, 2.5)
    """
    return int(cell) if math.isfinite(cell) and cell == int(cell) else cell


def declaring(name: str, kind: Kind) -> str:
    """Say how a column is declared, in Python and in a project file.

    >>> print(declaring("loans", "numeric"))
    features={'loans': ssba.numeric()}, or kind = "numeric" for it in a project file
    """
    given = "[...]" if kind == "ordinal" else ""
    return f'features={{{name!r}: ssba.{kind}({given})}}, or kind = "{kind}" for it in a project file'


def unknown_columns(wanted: Iterable[str], known: Sequence[str], where: str) -> str:
    """Return a sentence about names that are not columns, with likely meanings.

    >>> unknown_columns(["chl"], ["age", "chol"], "features")
    "features: unknown column 'chl' (did you mean 'chol'?); columns are 'age', 'chol'"
    """
    parts = ", ".join(f"{name!r}{meant(name, known)}" for name in wanted)
    return f"{where}: unknown column {parts}; columns are {listing(known)}"


def declared(features: Mapping[str, Declaration] | None, names: Sequence[str]) -> dict[str, Declaration]:
    """Check the user's `features=` mapping: known columns, and declarations only."""
    given = mapping("features", features, '{"age": ssba.integer()}')
    if strangers := [name for name in given if name not in names]:
        raise SchemaError(unknown_columns(strangers, names, "features"))
    for name, declaration in given.items():
        if not isinstance(declaration, Declaration):
            raise ArgumentError(
                f"features[{name!r}] is {declaration!r}; use ssba.numeric(), ssba.integer(), "
                "ssba.ordinal([...]), ssba.categorical() or ssba.boolean()"
            )
    return given
