"""Equal rows have equal keys, and different ones have not."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support import on_torch

from ssba.search.repeats import different, row_keys

CELLS = st.sampled_from([0.0, -0.0, 1.0, 0.1 + 0.2, 0.3, float("nan"), float("inf")])


@given(st.lists(st.tuples(CELLS, CELLS), max_size=12))
def test_as_by_comparing_cell_by_cell(rows: list[tuple[float, float]]) -> None:
    cells = np.array(rows, dtype=float).reshape(-1, 2)

    def same(i: int, j: int) -> bool:
        return bool(np.array_equal(cells[i], cells[j], equal_nan=True))

    firsts = [i for i in range(len(cells)) if not any(same(i, j) for j in range(i))]
    assert different(cells) == firsts
    keys = row_keys(cells)
    pairs = list(combinations(range(len(cells)), 2))
    assert [keys[i] == keys[j] for i, j in pairs] == [same(i, j) for i, j in pairs]


def test_rows_without_cells_are_all_equal() -> None:
    assert different(np.empty((3, 0))) == [0]


def test_parts_of_larger_arrays_are_told_by_their_own_cells() -> None:
    cells = np.array([[1.0, 5.0, 2.0], [1.0, 6.0, 2.0], [1.0, 6.0, 3.0]])
    assert different(cells[:, ::2]) == [0, 2]


def test_rows_on_torch() -> None:
    assert different(on_torch(np.array([[1.0], [2.0], [1.0]]))) == [0, 1]
