"""Numbers as their decimal digits mean them, in fractions; and the floats nearest to a limit so read."""

import math
from fractions import Fraction

import numpy as np


def digits(number: float, *, short: bool = False) -> Fraction:
    """Return the number that a float's digits show; `short` ones are those of 32 bits.

    >>> digits(0.1), digits(0.10000000149011612, short=True)
    (Fraction(1, 10), Fraction(1, 10))
    """
    if short:
        with np.errstate(over="ignore"):
            single = np.float32(number)
        if np.isfinite(single):
            return Fraction(str(single))
    return Fraction(repr(float(number)))


def highest_at_most(limit: Fraction, *, short: bool = False) -> float:
    """Return the largest float whose digits show no more than a limit; infinite where none does.

    >>> highest_at_most(Fraction(2, 3)), highest_at_most(Fraction(9, 10))
    (0.6666666666666666, 0.9)
    """
    near = nearest_float(limit)
    if not short:
        if math.isinf(near) or digits(near) <= limit:
            return near
        return math.nextafter(near, -math.inf)
    with np.errstate(over="ignore"):
        single = np.float32(near)
    if np.isfinite(single) and digits(float(single), short=True) > limit:
        single = np.nextafter(single, np.float32(-np.inf))
    return float(single) if np.isfinite(single) else near


def nearest_float(number: Fraction) -> float:
    """Return a fraction as a float, infinite where it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
