"""Every crossing of a segment is found at the resolution asked for, each from the target's side."""

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support import answered, labels_only, on_torch

from ssba.boundary.bisection import Path
from ssba.boundary.crossings import every_crossing

PLAIN = Path(np.zeros(2, dtype=bool), lambda Z: Z, plain=True)


def crossings(start: Any, end: Any, reached: Any, resolution: int, tolerance: float = 1e-3) -> Any:
    search = every_crossing(start, end, PLAIN, tolerance, resolution)
    return answered(search, labels_only(reached))


def walls(edges: list[float]) -> Any:
    """The target holds beyond an odd number of these edges of the first column."""
    return lambda Z: (Z[:, 0][:, None] >= np.array(edges)).sum(axis=1) % 2 == 1


def test_three_walls_are_crossed_three_times() -> None:
    start, end = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
    points, segment = crossings(start, end, walls([0.2, 0.5, 0.8]), resolution=10)
    # From the right of the first and third wall, and from the left of the second.
    np.testing.assert_allclose(points[:, 0], [0.2, 0.5, 0.8], atol=1e-3)
    assert points[0, 0] >= 0.2
    assert points[1, 0] < 0.5
    assert points[2, 0] >= 0.8
    assert segment.tolist() == [0, 0, 0]


def test_walls_nearer_to_each_other_than_the_resolution_are_missed_in_pairs() -> None:
    start, end = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
    points, _ = crossings(start, end, walls([0.21, 0.24, 0.8]), resolution=10)
    np.testing.assert_allclose(points[:, 0], [0.8], atol=1e-3)


@given(
    st.lists(st.integers(1, 39), min_size=1, max_size=7, unique=True).filter(lambda one: len(one) % 2 == 1),
    st.integers(1, 5),
)
def test_every_segment_gets_all_of_its_own_crossings(cells: list[int], count: int) -> None:
    # Each wall in a cell of its own of the forty that the segment is cut into.
    edges = sorted((cell + 0.37) / 40 for cell in cells)
    start, end = np.zeros((count, 2)), np.ones((count, 2))
    points, segment = crossings(start, end, walls(edges), resolution=40, tolerance=1e-4)
    assert segment.tolist() == [i for i in range(count) for _ in edges]
    np.testing.assert_allclose(points[:, 0], edges * count, atol=1e-4)
    assert walls(edges)(points).all()


def test_a_wall_at_the_very_end_gives_the_end_itself() -> None:
    start, end = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
    points, _ = crossings(start, end, walls([1.0]), resolution=4)
    assert points.tolist() == [[1.0, 0.0]]


def test_torch_rows_give_the_same_crossings() -> None:
    start, end = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    path = Path(torch.zeros(2, dtype=torch.bool), lambda Z: Z, plain=True)
    search = every_crossing(on_torch(start), on_torch(end), path, 1e-3, 8)
    points, segment = answered(search, labels_only(lambda Z: torch.from_numpy(walls([0.3])(Z.numpy()))))
    np.testing.assert_array_equal(points.numpy(), crossings(start, end, walls([0.3]), 8)[0])
    assert segment.tolist() == [0, 1]
