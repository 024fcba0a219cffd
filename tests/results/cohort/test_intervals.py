"""Estimates from few cases: exact intervals, and none where there cannot be one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from ssba.results.cohort.intervals import Estimate, median_of, quantiles, share_of

# Ranks, counted from 1, of the exact 95% interval of a median, as printed in tables of order statistics.
TABLE = {6: (1, 6), 9: (2, 8), 10: (2, 9), 15: (4, 12), 20: (6, 15), 30: (10, 21), 50: (18, 33)}


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_share_has_the_exact_binomial_interval(both: tuple[int, int]) -> None:
    part, count = both
    expected = binomtest(part, count).proportion_ci(0.95, method="exact")
    found = share_of(part, count)
    assert found.value == part / count
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize(("count", "ranks"), TABLE.items())
def test_median_interval_is_that_of_the_table(count: int, ranks: tuple[int, int]) -> None:
    values = [float(rank) for rank in range(1, count + 1)]
    assert median_of(list(reversed(values))) == Estimate((count + 1) / 2, *map(float, ranks))


@pytest.mark.parametrize("count", range(1, 6))
def test_fewer_than_six_cases_have_no_interval(count: int) -> None:
    found = median_of([1.0] * count)
    assert found == Estimate(1.0, None, None)


def test_many_cases_neither_hang_nor_lose_the_interval() -> None:
    found = median_of(list(np.arange(5001.0)))
    assert found.value == 2500
    assert found.low is not None
    assert found.high is not None
    # The normal approximation: half the width is 1.96 * sqrt(n) / 2.
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * math.sqrt(5001) / 2, rel=0.03)


def test_the_interval_covers_the_true_median_in_at_least_95_percent() -> None:
    rng = np.random.default_rng(0)
    draws = [median_of(rng.exponential(size=17).tolist()) for _ in range(2000)]
    covered = [(one.low or 0) <= math.log(2) <= (one.high or math.inf) for one in draws]
    assert np.mean(covered) > 0.94


def test_cases_without_an_answer_lie_beyond_all_others() -> None:
    assert median_of([1.0, math.inf, math.inf]).value is None
    assert median_of([1.0, 2.0, math.inf]).value == 2.0


def test_nothing_has_no_share_no_median_and_no_quantiles() -> None:
    assert share_of(0, 0) == Estimate(None) == median_of([])
    assert quantiles([]) == {}


def test_only_intervals_apart_are_below_one_another() -> None:
    low, high = Estimate(1.0, 0.5, 1.5), Estimate(3.0, 1.6, None)
    assert low.is_below(high)
    assert not high.is_below(low)
    assert not low.is_below(Estimate(2.0, 1.5, 3.0))
    assert not low.is_below(Estimate(9.0))
