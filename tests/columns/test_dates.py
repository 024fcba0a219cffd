"""Dates as days and back, from arrays, objects and text."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.columns.dates import date_step, date_text, day_number, days_of, moments_of, short_date, step_words


@pytest.mark.parametrize(
    "value",
    [
        "2024-02-29",
        "2024-02-29T00:00:00",
        dt.date(2024, 2, 29),
        dt.datetime(2024, 2, 29),
        pd.Timestamp("2024-02-29"),
        np.datetime64("2024-02-29"),
        np.datetime64("2024-02-29T00:00:00.000000000"),
    ],
)
def test_a_date_is_the_same_day_in_every_form(value: Any) -> None:
    # 54 years of 365 days, 13 leap days from 1972 to 2020, and 31 + 28 days of 2024.
    assert day_number(value) == 54 * 365 + 13 + 59


@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "20240229",
        "2024-02-30",
        "",
        19_782,
        1.5,
        None,
        True,
        pd.NaT,
        np.datetime64("NaT"),
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    ],
)
def test_what_is_no_date_is_none(value: Any) -> None:
    assert day_number(value) is None


@given(st.datetimes(min_value=dt.datetime(1881, 1, 1), max_value=dt.datetime(2059, 1, 1)))
def test_moments_survive_to_the_microsecond(moment: dt.datetime) -> None:
    days = day_number(moment)
    assert days is not None
    assert date_text(days) in (moment.isoformat(), moment.date().isoformat())
    assert day_number(date_text(days)) == days
    assert moments_of(np.array([days]))[0].item() == moment
    assert days_of(np.array([moment], dtype="datetime64[us]"))[0] == days


def test_missing_moments_stay_missing() -> None:
    days = days_of(np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"))
    assert np.isnan(days).tolist() == [False, True]
    assert np.isnat(moments_of(days)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["2024-01-01", "2024-01-03"], "days"),
        (["2024-01-01T06:00", "2024-01-03"], "hours"),
        (["2024-01-01T06:30", "2024-01-03"], "minutes"),
        (["2024-01-01T06:30:05", "2024-01-03"], "seconds"),
        (["2024-01-01T06:30:05.123456", "2024-01-03"], "milliseconds"),
        (["NaT"], "days"),
    ],
)
def test_the_step_is_the_coarsest_that_fits(texts: list[str], words: str) -> None:
    assert step_words(date_step(days_of(np.array(texts, dtype="datetime64[us]")))) == words


def test_computed_days_are_written_without_their_last_bits() -> None:
    assert short_date(1.0 - 1e-12) == "1970-01-02"
    assert short_date(19_000 + 1 / 24 + 1e-11) == "2022-01-08T01:00:00"
