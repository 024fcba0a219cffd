"""How far numbers may move, by their spread."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

import ssba
from ssba.columns.features import Feature
from ssba.suggest.headroom import room

# A normal distribution without chance: its quantiles, out to three standard deviations.
NORMAL = ndtri(np.linspace(0.0014, 0.9986, 999))


def text_of(numbers: Any, step: float | None = None) -> str:
    (text,) = room(Feature("a", "numeric", step=step), np.asarray(numbers, dtype=np.float64))[0]
    return text


@pytest.mark.parametrize(
    ("mean", "spread", "percent"), [(100, 9, 9), (-100, 9, 9), (1000, 190, 20), (50, 1, 2)]
)
def test_numbers_away_from_zero_get_a_standard_deviation_in_percent(
    mean: float, spread: float, percent: int
) -> None:
    assert text_of(mean + spread * NORMAL) == f"a within {percent}%"


@pytest.mark.parametrize(
    ("numbers", "step", "amount"),
    [
        (3 * NORMAL, None, "3"),
        (1.28 * NORMAL, None, "1.3"),
        (1.31 * NORMAL, 0.5, "1.5"),
        (0.2 * NORMAL, 1.0, "1"),
        (100 + 40 * NORMAL, None, "40"),
        ([0.0] * 90 + [10.0] * 10, None, "3"),
    ],
    ids=["around zero", "two digits", "whole steps", "at least one step", "down to zero", "mostly equal"],
)
def test_other_numbers_get_an_amount(numbers: Any, step: float | None, amount: str) -> None:
    assert text_of(numbers, step) == f"a within {amount}"


def test_a_number_that_is_mostly_one_value_gets_its_standard_deviation_too() -> None:
    # Hours of work: half of all people have 40, so that the quartiles lie close together.
    hours = np.array([40.0] * 50 + [45.0] * 10 + [50.0] * 13 + [60.0] * 7 + [20.0] * 12 + [1.0] * 8)
    (text,), why = room(Feature("hours", "integer", step=1.0), hours)
    assert text == f"hours within {round(hours.std())}" == "hours within 14"
    assert why == f"about one standard deviation ({hours.std():.3g})"


@pytest.mark.parametrize(
    ("numbers", "step", "text", "why"),
    [
        (100 + 9 * NORMAL, None, "a within 9%", "about one standard deviation (8.91) at the median"),
        (np.append(3 * NORMAL, [1e6] * 5), None, "a within 3", "deviation (2.98, leaving outliers aside)"),
        (0.2 * NORMAL, 1.0, "a within 1", "one step, which is more than one standard deviation (0.198)"),
        (1e6 + NORMAL, None, "a within 0.99", "about one standard deviation (0.99)"),
    ],
    ids=["percent", "outliers", "one step", "hardly a percent"],
)
def test_the_reason_says_the_standard_deviation(
    numbers: Any, step: float | None, text: str, why: str
) -> None:
    proposed, reason = room(Feature("a", "numeric", step=step), np.asarray(numbers, dtype=np.float64))
    assert proposed == (text,)
    assert reason.endswith(why)


def test_outliers_do_not_widen_it() -> None:
    assert text_of(np.append(100 + 9 * NORMAL, [1e6] * 5)) == text_of(100 + 9 * NORMAL)


def test_equal_numbers_have_no_room() -> None:
    assert room(Feature("a", "numeric"), np.full(20, 3.0)) == ((), "")


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30), st.sampled_from([None, 0.1, 1.0]))
def test_whatever_the_numbers_the_text_is_read_back(numbers: list[float], step: float | None) -> None:
    for text in room(Feature("a", "numeric", step=step), np.array(numbers))[0]:
        assert ssba.constraint(text).text == text
