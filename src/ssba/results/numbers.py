"""Numbers as people read them: scores, predicted values, distances, and long numbers of columns."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_DIGITS, _ALL_DIGITS = 4, 17
# Values of columns are written in full up to so many digits; in prose longer ones are cut to these.
_VALUE_DIGITS = 6
# Whole numbers from here on have more digits than doubles do.
_LARGE = 1e16

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def short(number: float, *others: float, digits: int = _DIGITS) -> str:
    """Write a number in four digits: in more where it has more before the point, or looked like another.

    >>> short(0.342511), short(1000460.3), short(0.89996, 0.9), short(-0.0)
    ('0.3425', '1000460', '0.89996', '0')
    """
    for count in range(digits, _ALL_DIGITS):
        written = _written(number, count)
        if all(other == number or _written(other, count) != written for other in others):
            return written
    return _written(number, _ALL_DIGITS)


def short_value(number: float, *others: float) -> str:
    """Write a number of a column in prose: in full, unless that takes many digits.

    >>> short_value(240.5), short_value(-0.1398549236535486), short_value(250000.0)
    ('240.5', '-0.139855', '250000')
    """
    return short(number, *others, digits=_VALUE_DIGITS)


def signed(number: float) -> str:
    """Write a gain: its sign, and three digits.

    >>> signed(0.12345), signed(-25000.4), signed(0.0)
    ('+0.123', '-25000', '+0')
    """
    return f"{'' if number < 0 else '+'}{short(number, digits=3)}"


def _written(number: float, digits: int) -> str:
    whole = len(f"{abs(number):.0f}") if 1 <= abs(number) < _LARGE else 0
    return f"{number + 0.0:.{max(digits, whole)}g}"


@dataclass(frozen=True)
class Numbers:
    """The scores, or predicted values, of one text: each is written the same way all through it.

    Different ones look different, and one that misses the target does not look like a limit of it.

    Attributes
    ----------
    together : tuple of float
        All scores and predicted values of the text.
    limits : tuple of float
        The numbers that the target names.
    """

    together: tuple[float, ...] = ()
    limits: tuple[float, ...] = ()

    def write(self, number: float | None, reached: bool = True) -> str:
        """Write one of them, of a row that reaches the target or does not.

        >>> numbers = Numbers.of("a probability of 'well' of at least 0.9", [0.2, 0.899961])
        >>> numbers.write(0.899961, reached=False), numbers.write(0.2), numbers.write(None)
        ('0.89996', '0.2', 'none')
        """
        if number is None:
            return "none"
        # What is enough by the last bits only may look like the limit.
        return short(number, *self.together, *(() if reached else self.limits))

    @classmethod
    def of(cls, target: str, values: Iterable[Any]) -> "Numbers":
        """Return the numbers of a text about this target; values that are no floats are left out."""
        together = dict.fromkeys(one for one in values if isinstance(one, float) and math.isfinite(one))
        # Of two classes that with a probability above one half is predicted.
        return cls(tuple(together), (0.5, *map(float, _NUMBER.findall(target))))
