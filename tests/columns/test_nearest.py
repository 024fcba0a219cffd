"""The distance to the nearest of some rows is the metric's own, however many rows are looked up at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix

from ssba.columns.distance import Metric, Norm
from ssba.columns.nearest import flat, least_distance


def rows_of(count: int, seed: int, offset: float) -> Matrix:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 5)).round(2)
    rows[:, 1] += offset
    rows[:, 4] = rng.integers(0, 4, count)
    return np.asarray(rows)


def measure(norm: Norm) -> Metric:
    return Metric(norm, np.array([1.0, 0.1, 7.0, 1.0, 1.0]), np.array([1.0, 1, 2, 1, 3]), np.arange(5) == 4)


@given(
    st.integers(1, 30),
    st.integers(1, 60),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1e6, 1e12]),
    st.sampled_from(["l2", "l1"]),
)
def test_it_is_the_least_of_all_distances_to_the_last_bit(
    count: int, others: int, seed: int, offset: float, norm: Norm
) -> None:
    metric, Z, rows = measure(norm), rows_of(count, seed, offset), rows_of(others, seed + 1, offset)
    expected = [metric.distance(rows, z).min() for z in Z]
    assert least_distance(metric, Z, rows).tolist() == expected


@pytest.mark.parametrize("cell", [np.nan, 1e200, 1e300])
def test_missing_and_huge_cells_are_measured_too(cell: float) -> None:
    metric, Z, rows = measure("l2"), rows_of(9, 1, 0.0), rows_of(12, 2, 0.0)
    Z[3, 0] = cell
    expected = [metric.distance(rows, z).min() for z in Z]
    assert least_distance(metric, Z, rows).tolist() == expected


def test_without_rows_it_is_infinite() -> None:
    assert np.isinf(least_distance(measure("l2"), rows_of(3, 0, 0.0), rows_of(0, 0, 0.0))).all()


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_flat_rows_are_as_far_apart_as_the_metric_says(norm: Norm) -> None:
    metric, Z, rows = measure(norm), rows_of(6, 3, 0.0), rows_of(8, 4, 0.0)
    gaps = flat(metric, Z, rows)[:, None] - flat(metric, rows, rows)
    plain = np.linalg.norm(gaps, ord=2 if norm == "l2" else 1, axis=2)
    expected = metric.distance(rows, Z[:, None])
    np.testing.assert_allclose(plain, expected, rtol=1e-12)
