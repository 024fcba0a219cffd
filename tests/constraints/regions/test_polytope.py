"""That nothing lies in a polytope is claimed only where multipliers prove it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.constraints.regions.polytope import bound_l1, bound_l2, is_surely_empty, nearest_l1, nearest_l2

SOLVERS = [(nearest_l1, bound_l1), (nearest_l2, bound_l2)]
WHOLE = st.integers(-4, 4).map(float)


@pytest.mark.parametrize(("solve", "bounded"), SOLVERS)
@given(
    G=st.lists(st.lists(WHOLE, min_size=2, max_size=2), min_size=1, max_size=3),
    h=st.lists(WHOLE, min_size=3, max_size=3),
    side=st.integers(1, 3),
)
def test_neither_emptiness_nor_a_bound_is_contradicted_by_a_point(
    solve: object, bounded: object, G: list[list[float]], h: list[float], side: int
) -> None:
    assert callable(solve)
    assert callable(bounded)
    rows, right = np.array(G), np.array(h[: len(G)])
    low, high = np.full(2, -float(side)), np.full(2, float(side))
    nearest = solve(rows, right, low, high)
    grid = np.array(list(itertools.product(np.linspace(-side, side, 8 * side + 1), repeat=2)))
    inside = grid[(grid @ rows.T >= right).all(axis=1)]
    if len(inside):
        assert not nearest.empty
        assert nearest.point is not None
        costs = (inside**2).sum(axis=1) if solve is nearest_l2 else np.abs(inside).sum(axis=1)
        assert bounded(nearest, rows, right, low, high) <= costs.min() * (1 + 1e-9)


@pytest.mark.parametrize("solve", [nearest_l1, nearest_l2])
def test_a_point_on_the_edge_of_both_is_no_empty_polytope(solve: object) -> None:
    assert callable(solve)
    # Both rows meet in one point, the corner of the box.
    G, h = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([2.0, 0.0])
    nearest = solve(G, h, np.zeros(2), np.ones(2))
    assert not nearest.empty


@pytest.mark.parametrize("solve", [nearest_l1, nearest_l2])
def test_rows_that_exclude_each_other_are_proved_empty(solve: object) -> None:
    assert callable(solve)
    G, h = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -0.5])
    assert solve(G, h, np.full(2, -9.0), np.full(2, 9.0)).empty


def test_without_an_end_nothing_is_claimed_from_a_pull_that_way() -> None:
    G, h = np.array([[1.0, 0.0]]), np.array([1e6])
    free = np.full(2, np.inf)
    assert not is_surely_empty(np.ones(1), G, h, -free, free)
    assert is_surely_empty(np.ones(1), G, h, -free, np.ones(2))
