"""How far a number may move, by the spread of the data."""

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import Feature
from ssba.constraints.constraint import within

# Outliers are values beyond these quantiles where they widen the spread by more than this factor.
_INNER = (0.01, 0.99)
_WIDENED = 1.25
# Percentages from this one on are rounded to fives.
_COARSE, _PERCENT_STEP = 10, 5
# A percentage is of use while the smallest values do not lose nearly all of their room.
_SMALLEST = 0.1


def room(feature: Feature, numbers: NDArray[np.float64]) -> tuple[tuple[str, ...], str]:
    """Propose that a number moves by about one standard deviation, and say so.

    It becomes a percentage of each query's own value where all values lie on one side of zero and away from
    it, else an amount.

    Examples
    --------
    >>> room(Feature("chol", "numeric"), np.linspace(150, 350, 200))
    (('chol within 25%',), 'about one standard deviation (58) at the median')
    >>> room(Feature("oldpeak", "numeric", step=0.1), np.linspace(0, 4, 41))
    (('oldpeak within 1.2',), 'about one standard deviation (1.18)')
    """
    spread, without_outliers = _spread(numbers)
    if not spread:
        return (), ""
    size = f"{float(f'{spread:.3g}'):,.12g}{' days' if feature.kind == 'date' else ''}"
    deviation = f"one standard deviation ({size}{without_outliers})"
    middle = abs(float(np.median(numbers)))
    may_share = feature.kind != "date" and _is_away_from_zero(numbers, middle)
    percent = _percent(spread, middle) if may_share else None
    if percent is not None:
        return (within(feature.name, percent=percent).text,), f"about {deviation} at the median"
    amount = _short(spread, feature.step)
    why = f"about {deviation}" if amount < 2 * spread else f"one step, which is more than {deviation}"
    return (within(feature.name, amount=amount).text,), why


def _spread(numbers: NDArray[np.float64]) -> tuple[float, str]:
    """Return the standard deviation, with outliers drawn in where these widen it much, and words for that."""
    low, high = np.quantile(numbers, _INNER)
    inner = float(np.clip(numbers, low, high).std())
    spread = float(numbers.std())
    if 0 < _WIDENED * inner < spread:
        return inner, ", leaving outliers aside"
    return spread, ""


def _percent(spread: float, middle: float) -> int | None:
    """Return the spread as a percentage; None where it is too small or too large to be written as one."""
    percent = 100 * spread / middle
    step = _PERCENT_STEP if percent >= _COARSE else 1
    return round(percent / step) * step if 0.7 <= percent <= 100 else None


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
