"""Dates as numbers of days since 1970-01-01, and back: as text, and as NumPy's own.

Whole days are whole numbers, so that differences between columns are days, too. A moment within a day is kept
to the microsecond between 1881 and 2059, which is what doubles hold, and to a hundred of them until 9999.
"""

import datetime as dt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_DAY = 86_400_000_000
_EPOCH = dt.datetime(1970, 1, 1)
# The days that texts, and the nanoseconds of 64 bits, can hold.
ALL_DAYS = (-719_162.0, 2_932_896.0)
DAYS_OF_NANOSECONDS = (-106_751.0, 106_751.0)
# What a step may be, in parts of a day, and what it is called.
_STEPS = {1: "days", 24: "hours", 1440: "minutes", 86_400: "seconds", 86_400_000: "milliseconds"}


def days_of(moments: Any) -> Numbers:
    """Return an array of moments as days; NaN for NaT.

    >>> days_of(np.array(["1970-01-03", "1970-01-01T12:00", "NaT"], dtype="datetime64[s]"))
    array([2. , 0.5, nan])
    """
    exact = np.asarray(moments, dtype="datetime64[us]")
    return np.where(np.isnat(exact), np.nan, exact.astype(np.int64) / _DAY)


def moments_of(days: Numbers) -> NDArray[np.datetime64]:
    """Return days as moments, to the microsecond; NaT for NaN."""
    missing = np.isnan(days)
    exact = np.round(np.where(missing, 0.0, days) * _DAY).astype(np.int64).astype("datetime64[us]")
    exact[missing] = np.datetime64("NaT")
    return exact


def day_number(value: Any) -> float | None:
    """Return a date, a moment, or the ISO text of one, as days; None for anything else.

    >>> day_number("1970-01-02"), day_number(dt.date(1970, 1, 2)), day_number("soon"), day_number(3)
    (1.0, 1.0, None, None)
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        try:
            # Codes such as 20240131 are no dates.
            value = dt.datetime.fromisoformat(value) if value[4:5] == "-" == value[7:8] else None
        except ValueError:
            return None
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    # NaT of pandas is a datetime that is not equal to itself.
    if not isinstance(value, dt.datetime) or value != value or value.tzinfo is not None:
        return None
    return (value - _EPOCH) // dt.timedelta(microseconds=1) / _DAY


def date_text(days: float) -> str:
    """Return days as ISO text: a date, with the time where it is not midnight.

    >>> date_text(19_722.0), date_text(0.5)
    ('2023-12-31', '1970-01-01T12:00:00')
    """
    moment = _EPOCH + dt.timedelta(microseconds=round(days * _DAY))
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()


def short_date(days: float) -> str:
    """Return computed days as ISO text, to the millisecond: sums leave last bits behind.

    >>> short_date(1 / 3 + 2 / 3 - 1e-13)
    '1970-01-02'
    """
    return date_text(round(days * max(_STEPS)) / max(_STEPS))


def date_step(days: Numbers) -> float:
    """Return the coarsest step that all moments are multiples of, in days; a millisecond where none is.

    >>> date_step(np.array([1.0, 2.0])), 24 * date_step(np.array([1.0, 2.5]))
    (1.0, 1.0)
    """
    present = np.round(days[np.isfinite(days)] * _DAY).astype(np.int64)
    fits = (parts for parts in _STEPS if not (present % (_DAY // parts)).any())
    return 1.0 / next(fits, max(_STEPS))


def step_words(step: float) -> str:
    """Return what a step of moments is called.

    >>> step_words(1.0), step_words(1 / 86400)
    ('days', 'seconds')
    """
    return _STEPS[round(1 / step)]
