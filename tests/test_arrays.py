"""One kernel for NumPy and torch: the namespace follows the arrays."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ssba.arrays import (
    between,
    between_in_turn,
    blocks,
    in_blocks,
    in_turn,
    like,
    lowest,
    namespace,
    to_numpy,
)


def test_the_namespace_is_that_of_the_arrays() -> None:
    assert namespace(np.zeros(2)).asarray([1.0]).__class__ is np.ndarray
    assert isinstance(namespace(torch.zeros(2)).asarray([1.0]), torch.Tensor)


def test_arrays_of_two_libraries_do_not_mix() -> None:
    with pytest.raises(TypeError):
        namespace(np.zeros(2), torch.zeros(2))


@pytest.mark.parametrize("reference", [np.zeros(1), torch.zeros(1)], ids=["numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_values_come_beside_the_reference_and_back_in_value_and_dtype(reference: Any, dtype: type) -> None:
    values: Any = np.array([[0, 1], [1, 0]]).astype(dtype)
    beside = like(values, reference)
    assert type(beside) is type(reference)
    back = to_numpy(beside)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, values)


def test_lists_become_arrays() -> None:
    assert like([1.0, 2.0], torch.zeros(1, dtype=torch.float32)).dtype == torch.float64
    assert like([1, 2], np.zeros(1)).tolist() == [1, 2]


VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.5, np.inf])


@given(
    arrays(float, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12), elements=VALUES),
    st.integers(0, 14),
)
def test_the_lowest_values_are_the_first_of_a_stable_sort(values: Any, count: int) -> None:
    np.testing.assert_array_equal(lowest(values, count), np.argsort(values, axis=1, kind="stable")[:, :count])


@given(st.integers(0, 200), st.sampled_from([0, 1, 1 << 12, 1 << 15, 1 << 20]))
def test_blocks_cover_everything_once_and_are_never_empty(count: int, cells: int) -> None:
    parts = [list(range(count))[part] for part in blocks(count, cells)]
    assert [one for part in parts for one in part] == list(range(count))
    assert [] not in parts


@pytest.mark.parametrize("count", [0, 1, 100, 1000])
@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_work_in_blocks_comes_out_as_if_done_at_once(count: int, kind: Any) -> None:
    rows, factors = kind(np.arange(2.0 * count).reshape(count, 2)), kind(np.arange(1.0 * count))
    made = in_blocks(lambda some, by: some * by[:, None], 1 << 12, rows, factors)
    np.testing.assert_array_equal(to_numpy(made), to_numpy(rows * factors[:, None]))
    assert type(made) is type(rows)


@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 50), st.sampled_from([1, 3, 8, 17]))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_starts_in_turn_are_walked_from_as_if_written_out(
    dtype: torch.dtype, size: int, first: int, count: int, columns: int
) -> None:
    draw = torch.Generator().manual_seed(size + 100 * count)
    table, end = (torch.randn(n, columns, dtype=dtype, generator=draw) for n in (size, count))
    share = torch.rand(count, dtype=dtype, generator=draw)
    in_one_piece = between(in_turn(table, first, count), end)(share)
    assert torch.equal(between_in_turn(table, first, end)(share), in_one_piece)
