"""How far a number may move, by the spread of the data."""

import math

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import Feature
from ssba.constraints.constraint import within

# The quartiles of a normal distribution lie this many standard deviations apart.
_NORMAL_QUARTILES = 1.349
_PERCENT_STEP = 5
# A percentage is of use while the smallest values do not lose nearly all of their room.
_SMALLEST = 0.1


def room(feature: Feature, numbers: NDArray[np.float64]) -> tuple[tuple[str, ...], str]:
    """Propose that a number moves by about one standard deviation, and say so.

    The spread is taken from the quartiles, which outliers do not widen. It becomes a percentage of each
    query's own value where all values lie on one side of zero and away from it, else an amount.

    Examples
    --------
    >>> room(Feature("chol", "numeric"), np.linspace(150, 350, 200))[0]
    ('chol within 30%',)
    >>> room(Feature("oldpeak", "numeric", step=0.1), np.linspace(0, 4, 41))[0]
    ('oldpeak within 1.5',)
    """
    spread = _spread(numbers)
    if not spread:
        return (), ""
    middle = abs(float(np.median(numbers)))
    if _is_away_from_zero(numbers, middle) and spread <= middle:
        percent = math.ceil(100 * spread / middle / _PERCENT_STEP) * _PERCENT_STEP
        return (within(feature.name, percent=percent).text,), f"{percent}% is about one standard deviation"
    amount = _short(spread, feature.step)
    return (within(feature.name, amount=amount).text,), "about one standard deviation"


def _spread(numbers: NDArray[np.float64]) -> float:
    low, high = np.quantile(numbers, (0.25, 0.75))
    by_quartiles = float(high - low) / _NORMAL_QUARTILES
    return by_quartiles or float(numbers.std())


def _is_away_from_zero(numbers: NDArray[np.float64], middle: float) -> bool:
    one_side = bool((numbers > 0).all() or (numbers < 0).all())
    return one_side and float(np.abs(numbers).min()) >= _SMALLEST * middle


def _short(amount: float, step: float | None) -> float | int:
    """Round to two digits and to whole steps, at least one of them."""
    rounded = float(f"{amount:.2g}")
    if step:
        steps = max(1, round(rounded / step))
        rounded = float(f"{steps * step:.10g}")
    return int(rounded) if rounded == int(rounded) else rounded
