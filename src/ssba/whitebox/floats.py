"""Bisection in the order of floats, which ends at two neighbours."""

from collections.abc import Callable, Sequence

import numpy as np

from ssba.arrays import Integers, Mask, Vector


def last_true(
    holds: Callable[[Vector], Mask],
    low: Vector,
    high: Vector,
    whole: Mask,
    single: Mask,
    near: Sequence[Vector] = (),
) -> Vector:
    """Return the largest value from `low` to `high` for which a condition holds that holds up to some value.

    Minus infinity where it holds nowhere, plus infinity where it holds at `high`. Exact: all entries are
    bisected at once in the order of 64-bit floats (32-bit ones where `single`), or of whole numbers where
    `whole`. Values `near` the one looked for are tried first.

    Examples
    --------
    >>> no, ends = np.array([False]), (np.array([-10.0]), np.array([10.0]))
    >>> last_true(lambda v: v <= 0.3, *ends, no, no), last_true(lambda v: v < 3.5, *ends, ~no, no)
    (array([0.3]), array([3.]))
    """
    value = _from_keys(whole, single)
    below, above = _keys(low, whole, single), _keys(high, whole, single)
    at_low, at_high = holds(value(below)), holds(value(above))
    for guess in near:
        key = np.clip(_keys(guess, whole, single), below, above)
        left = holds(value(key))
        below, above = np.where(left, key, below), np.where(left, above, key)
    while (below + 1 < above).any():
        # Halved before they are added: the sum of two keys may not fit.
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        left = holds(value(middle))
        below, above = np.where(left, middle, below), np.where(left, above, middle)
    return np.where(at_high, np.inf, np.where(at_low, value(below), -np.inf))


def _keys(values: Vector, whole: Mask, single: Mask) -> Integers:
    """Return whole numbers in the order of the values, with no value between two successive ones."""
    with np.errstate(over="ignore"):
        narrow = np.clip(values, -3.4e38, 3.4e38).astype(np.float32).view(np.int32).astype(np.int64)
    narrow = np.where(narrow < 0, -(2**31) - narrow, narrow)
    wide = values.view(np.int64)
    wide = np.where(wide < 0, np.int64(-(2**63)) - wide, wide)
    counts = np.clip(values, -(2.0**62), 2.0**62).astype(np.int64)
    return np.asarray(np.where(whole, counts, np.where(single, narrow, wide)))


def _from_keys(whole: Mask, single: Mask) -> Callable[[Integers], Vector]:
    def values(keys: Integers) -> Vector:
        wide = np.where(keys < 0, np.int64(-(2**63)) - keys, keys).view(np.float64)
        kept = np.where(single, keys, 0)
        narrow = np.where(kept < 0, -(2**31) - kept, kept).astype(np.int32).view(np.float32)
        return np.asarray(np.where(whole, keys.astype(np.float64), np.where(single, narrow, wide)))

    return values
