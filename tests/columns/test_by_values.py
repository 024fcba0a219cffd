"""What numbers show: only 0 and 1, whole numbers, few decimals; nothing where they are few or all equal."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.columns.by_values import ENOUGH, Shown, shown_kind

RNG = np.random.default_rng(2)


def shown(cells: Any, dtype: Any = np.float64) -> Shown | None:
    array = np.asarray(cells, dtype=dtype)
    return shown_kind(
        array.astype(np.float64), single=array.dtype == np.float32, whole_dtype=array.dtype.kind == "i"
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_only_0_and_1_are_two_values(dtype: Any) -> None:
    found = shown([0, 1] * 5, dtype)
    assert found is not None
    assert (found.kind, found.step, found.why) == ("boolean", None, "only 0 and 1")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_whole_numbers_in_floats_are_integers(dtype: Any) -> None:
    found = shown([56, 61, 40, 33, 29] * 3, dtype)
    assert found is not None
    assert (found.kind, found.step) == ("integer", 1.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("cells", "step"), [([0.0, 2.3, 1.8, 6.2], 0.1), ([0.25, 0.5, 1.5], 0.01)])
def test_few_decimals_are_a_step(cells: list[float], step: float, dtype: Any) -> None:
    found = shown(cells * 5, dtype)
    assert found is not None
    assert (found.kind, found.step, found.why) == ("numeric", step, f"multiples of {step:g}")


def test_what_sums_are_off_by_is_no_decimal() -> None:
    found = shown(np.arange(12) * 0.1 + 0.2)
    assert found is not None
    assert found.step == 0.1


@pytest.mark.parametrize("decimals", [2, 3, 6])
def test_a_step_too_fine_to_be_felt_is_none_but_its_decimals_are_known(decimals: int) -> None:
    found = shown(RNG.normal(0, 100, 50).round(decimals))
    assert found is not None
    assert (found.kind, found.step, found.decimals, found.decides) == ("numeric", None, decimals, False)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_measurements_show_nothing(scale: float, dtype: Any) -> None:
    assert shown(RNG.normal(size=1000) * scale, dtype) is None


@pytest.mark.parametrize(
    "cells",
    [
        [0.0, 1.0],
        [0.0, 1.0] * 4 + [1.0],
        [3.0] * 20,
        [0.0] * 20,
        [0.0, 1.0] * 2 + [np.nan] * 20,
        [1e20, 2e20, 3e20] * 5,
        [np.nan] * 20,
        [],
    ],
)
def test_few_cells_equal_ones_and_huge_ones_show_nothing(cells: list[float]) -> None:
    assert shown(cells) is None


def test_missing_cells_are_passed_over() -> None:
    found = shown([0.0, 1.0, np.nan] * 5)
    assert found is not None
    assert found.kind == "boolean"


@given(st.lists(st.integers(-400, 400), min_size=ENOUGH, max_size=60), st.integers(1, 4))
def test_a_step_is_one_that_all_numbers_are_multiples_of(counts: list[int], places: int) -> None:
    cells = np.array(counts) / 10**places
    found = shown(cells)
    if found is not None and found.step is not None:
        assert np.allclose(cells / found.step, np.round(cells / found.step), atol=1e-9)
        assert (cells.max() - cells.min()) / found.step <= 200 or found.kind == "integer"
