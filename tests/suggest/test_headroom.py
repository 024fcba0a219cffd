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
    ("mean", "spread", "percent"), [(100, 9, 10), (-100, 9, 10), (1000, 190, 20), (50, 1, 5)]
)
def test_numbers_away_from_zero_get_a_standard_deviation_in_percent(
    mean: float, spread: float, percent: int
) -> None:
    assert text_of(mean + spread * NORMAL) == f"a within {percent}%"


@pytest.mark.parametrize(
    ("numbers", "step", "amount"),
    [
        (3 * NORMAL, None, "3"),
        (1.26 * NORMAL, None, "1.3"),
        (1.26 * NORMAL, 0.5, "1.5"),
        (0.2 * NORMAL, 1.0, "1"),
        (100 + 40 * NORMAL, None, "40"),
        ([0.0] * 90 + [10.0] * 10, None, "3"),
    ],
    ids=["around zero", "two digits", "whole steps", "at least one step", "down to zero", "mostly equal"],
)
def test_other_numbers_get_an_amount(numbers: Any, step: float | None, amount: str) -> None:
    assert text_of(numbers, step) == f"a within {amount}"


def test_outliers_do_not_widen_it() -> None:
    assert text_of(np.append(100 + 9 * NORMAL, [1e6] * 5)) == text_of(100 + 9 * NORMAL)


def test_equal_numbers_have_no_room() -> None:
    assert room(Feature("a", "numeric"), np.full(20, 3.0)) == ((), "")


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30), st.sampled_from([None, 0.1, 1.0]))
def test_whatever_the_numbers_the_text_is_read_back(numbers: list[float], step: float | None) -> None:
    for text in room(Feature("a", "numeric", step=step), np.array(numbers))[0]:
        assert ssba.constraint(text).text == text
