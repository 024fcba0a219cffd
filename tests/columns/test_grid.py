"""Rounding to legal values: nearest, idempotent, exact decimals, never past the argument."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support import TORCH, on_torch

from ssba.columns.features import Feature
from ssba.columns.grid import Grid, grid

STEPS = [0.1, 0.25, 5.0, 1e-3, 0.3, 1.0, 2.5, 1 / 3]
VALUES = st.floats(-1e6, 1e6)


def one_column(step: float | None = None, single: bool = False) -> Grid:
    return grid([Feature("a", "numeric", step=step)], [single])


def only(array: Any) -> float:
    return float(array[0, 0])


def cell(value: float) -> Any:
    return np.array([[value]])


GRIDS = [(step, single) for step in [None, *STEPS] for single in (False, True)]


@pytest.mark.parametrize(("step", "single"), GRIDS)
@given(value=VALUES)
def test_snapping_twice_is_snapping_once(step: float | None, single: bool, value: float) -> None:
    legal = one_column(step, single)
    once = legal.snap(cell(value))
    assert only(legal.snap(once)) == only(once)


@pytest.mark.parametrize(("step", "single"), GRIDS)
@given(value=VALUES)
def test_floor_and_ceil_enclose_the_value_and_are_legal(
    step: float | None, single: bool, value: float
) -> None:
    legal = one_column(step, single)
    low, high = legal.floor(cell(value)), legal.ceil(cell(value))
    assert only(low) <= value <= only(high)
    assert only(legal.snap(low)) == only(low)
    assert only(legal.snap(high)) == only(high)


@pytest.mark.parametrize("step", STEPS)
@given(count=st.integers(-10_000, 10_000))
def test_a_legal_value_is_its_own_floor_and_ceil_to_the_bit(step: float, count: int) -> None:
    legal = one_column(step)
    value = legal.snap(cell(count * step))
    for rounded in (legal.snap(value), legal.floor(value), legal.ceil(value)):
        assert only(rounded) == only(value)


@pytest.mark.parametrize("step", ["0.1", "0.25", "5", "0.001", "0.3", "2.5"])
@given(count=st.integers(-100_000, 100_000))
def test_multiples_of_a_step_are_exact_decimals(step: str, count: int) -> None:
    expected = float(count * Decimal(step))
    noisy = count * float(step)
    assert only(one_column(float(step)).snap(cell(noisy))) == expected
    assert repr(only(one_column(float(step)).snap(cell(noisy)))) == repr(expected + 0.0)


def test_just_below_a_multiple_the_floor_is_the_one_before() -> None:
    count = np.arange(1, 5000)
    value = np.nextafter(count / 10, -math.inf)[:, None]
    np.testing.assert_array_equal(one_column(0.1).floor(value)[:, 0], (count - 1) / 10)
    np.testing.assert_array_equal(one_column(0.1).ceil(-value)[:, 0], -(count - 1) / 10)


@given(value=VALUES)
@pytest.mark.parametrize("step", STEPS)
def test_the_snapped_value_is_at_most_half_a_step_away(step: float, value: float) -> None:
    assert abs(only(one_column(step).snap(cell(value))) - value) <= step / 2 * (1 + 1e-9)


@pytest.mark.parametrize("value", [-0.01, -0.0, 0.01])
def test_nothing_is_rounded_to_minus_zero(value: float) -> None:
    legal = one_column(0.1)
    for rounded in (
        legal.snap(cell(value)),
        legal.ceil(cell(min(value, 0.0))),
        legal.floor(cell(abs(value))),
    ):
        assert math.copysign(1.0, only(rounded)) == 1.0


@given(value=VALUES)
def test_single_precision_columns_get_single_precision_values(value: float) -> None:
    legal = one_column(single=True)
    assert only(legal.snap(cell(value))) == float(np.float32(value))
    assert float(np.float32(only(legal.floor(cell(value))))) == only(legal.floor(cell(value)))


@given(value=VALUES)
def test_the_floor_in_single_precision_is_the_largest_value_not_above(value: float) -> None:
    low = np.float32(only(one_column(single=True).floor(cell(value))))
    assert float(low) <= value < float(np.nextafter(low, np.float32(np.inf)))


@given(value=VALUES)
def test_a_grid_without_steps_changes_nothing(value: float) -> None:
    plain = one_column()
    assert plain.trivial
    for rounded in (plain.snap(cell(value)), plain.floor(cell(value)), plain.ceil(cell(value))):
        assert only(rounded) == value


def test_codes_and_whole_numbers_have_step_one() -> None:
    features = [Feature("n", "integer"), Feature("c", "categorical", ("u", "v")), Feature("r", "numeric")]
    rounded = grid(features, [False] * 3).snap(np.array([[1.6, 0.7, 1.6]]))
    assert rounded.tolist() == [[2.0, 1.0, 1.6]]


def test_bounds_without_end_and_missing_cells_stay() -> None:
    legal = one_column(0.1)
    for value in (math.inf, -math.inf):
        assert only(legal.floor(cell(value))) == only(legal.ceil(cell(value))) == value
    assert math.isnan(only(legal.snap(cell(math.nan))))
    single = one_column(single=True)
    assert only(single.floor(cell(math.inf))) == math.inf
    assert only(single.ceil(cell(-math.inf))) == -math.inf


@given(st.lists(VALUES, min_size=4, max_size=4))
def test_torch_rounds_as_numpy_does(values: list[float]) -> None:
    assume(all(abs(value) > 1e-30 for value in values))  # torch on some processors drops denormals
    features = [Feature("n", "integer"), *(Feature("r", "numeric", step=step) for step in (0.1, None, 2.5))]
    legal, Z = grid(features, [False, False, True, False]), np.array([values])
    tensors = on_torch(legal)
    for name in ("snap", "floor", "ceil"):
        rounded = getattr(tensors, name)(on_torch(Z))
        assert rounded.dtype == TORCH.dtype
        np.testing.assert_array_equal(rounded.numpy(), getattr(legal, name)(Z))
