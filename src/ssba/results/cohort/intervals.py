"""Numbers from few cases with exact intervals, so that small groups are not over-read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, betaincinv

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A share or a median with its exact 95% interval.

    Attributes
    ----------
    value : float or None
        The share or the median; None where there is no case, or where the median is without limit.
    low, high : float or None
        The interval. A missing `low` says that there are too few cases for any interval; `high` alone
        is missing where the interval is without limit.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    def is_below(self, other: "Estimate") -> bool:
        """Whether this interval lies wholly below the other, so that the values differ beyond chance.

        >>> share_of(1, 40).is_below(share_of(30, 40)), share_of(1, 4).is_below(share_of(3, 4))
        (True, False)
        """
        return self.high is not None and other.low is not None and self.high < other.low


def share_of(part: int, count: int) -> Estimate:
    """Return the share of cases, with the exact binomial interval (Clopper and Pearson).

    Examples
    --------
    >>> nine = share_of(9, 10)
    >>> nine.value, round(nine.low, 3), round(nine.high, 3)
    (0.9, 0.555, 0.997)
    """
    if not count:
        return Estimate(None)
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(part, count - part + 1, tail)) if part else 0.0
    high = float(betaincinv(part + 1, count - part, 1 - tail)) if part < count else 1.0
    return Estimate(part / count, low, high)


def median_of(values: Sequence[float]) -> Estimate:
    """Return the median with the interval between two of the values that holds for any distribution.

    Infinite values are cases beyond every other one. Fewer than six cases have no 95% interval.

    Examples
    --------
    >>> median_of([3.0, 1.0, 2.0])
    Estimate(value=2.0, low=None, high=None)
    >>> median_of([1.0, 2.0, 3.0, 4.0, 5.0, math.inf])
    Estimate(value=3.5, low=1.0, high=None)
    """
    if not values:
        return Estimate(None)
    ordered = sorted(values)
    middle = _finite(_middle(ordered))
    place = _place_of_low(len(ordered))
    if place is None:
        return Estimate(middle)
    return Estimate(middle, _finite(ordered[place]), _finite(ordered[-1 - place]))


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """Return the smallest, the quartiles, the 90% quantile and the largest; empty without values.

    >>> quantiles([1.0, 2.0, 3.0])
    {'min': 1.0, '25%': 1.5, 'median': 2.0, '75%': 2.5, '90%': 2.8, 'max': 3.0}
    """
    if not values:
        return {}
    shares = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "90%": 0.9, "max": 1.0}
    return {name: float(f"{np.quantile(values, share):.9g}") for name, share in shares.items()}


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _place_of_low(count: int) -> int | None:
    """Return the last place whose value lies above the median with at most half of what is left to chance.

    The number of values below the median is binomial with a chance of one half.
    """
    by_chance = bdtr(np.arange((count + 1) // 2), count, 0.5)
    fitting = int((by_chance <= (1 - CONFIDENCE) / 2).sum())
    return fitting - 1 if fitting else None
