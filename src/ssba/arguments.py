"""One wording for every bad argument: who, which parameter, what came, what is allowed."""

import math
import numbers
from collections.abc import Mapping
from typing import Any

from ssba.errors import ArgumentError


def whole(who: str, value: Any, at_least: int) -> int:
    """Return a whole number, or refuse it.

    >>> whole("k", 3, at_least=1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ArgumentError(f"{who} is {value!r:.80}; give a whole number, {at_least} or more")
    return int(value)


def number(who: str, value: Any, allowed: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a real number strictly between `low` and `high` (an infinite end is no limit), or refuse it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentError(f"{who} is {value!r:.80}; give {allowed}")
    try:
        real = float(value)
    except OverflowError:
        real = math.nan
    if math.isnan(real) or (low > -math.inf and real <= low) or (high < math.inf and real >= high):
        raise ArgumentError(f"{who} is {value!r:.80}; give {allowed}")
    return real


def mapping(who: str, value: Any, example: str) -> dict[str, Any]:
    """Return a mapping from column names as a dict, or refuse it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{who} is {value!r:.80}; give a mapping from column names, such as {example}")
    return {str(name): given for name, given in value.items()}
