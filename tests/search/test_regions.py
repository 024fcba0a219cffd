"""Stacked regions: every method says of each row what its own region says of it alone."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import Matrix, Setting, setting

from ssba.columns.features import numeric
from ssba.constraints.constraint import constraint
from ssba.search.regions import Numbers, Regions

NUMBERS = setting(np.array([[-5.0] * 4, [5.0] * 4, [1.0, 2.0, 0.5, 3.0]]))
SINGLE = setting(NUMBERS.Z.astype(np.float32))
MIXED = setting(
    pd.DataFrame(
        {
            "r": [-5.0, 5.0, None, 1.3],
            "n": [-5, 5, 0, 2],
            "s": [0.0, 2.0, 1.0, 0.3],
            "c": ["u", "v", "w", "u"],
            "b": [True, False, True, False],
        }
    ),
    {"s": numeric(step=0.1)},
)
QUERIES: list[dict[str, Any]] = [
    {"r": 0.0, "n": 0, "s": 1.0, "c": "u", "b": True},
    {"r": None, "n": 3, "s": 0.4, "c": "w", "b": False},
    {"r": -2.0, "n": -4, "s": 0.25, "c": "v", "b": True},
    {"r": 7.5, "n": 2, "s": 0.0, "c": "u", "b": False},
]
RULES = ["r >= x.r - 1", "n <= 3", "c in {'u', 'w'}", "s == x.s", "r + n <= 4", "n - 2*s >= -4", "b == x.b"]
BOUNDS = ["x0 <= x.x0 + 1", "x1 == x.x1", "x2 >= -1", "x0 + x1 <= 4", "x2 - x3 >= -3"]


def stacked(where: Setting, rows: list[Any], texts: list[str]) -> Regions:
    """Return all regions that the constraints leave of some queries."""
    rules = [constraint(text) for text in texts]
    found = [where.regions(where.space.encode_row(row), rules) for row in rows]
    query = np.repeat(np.arange(len(rows)), [len(mine) for mine in found])
    return Regions(tuple(part for mine in found for part in mine), query)


def own(regions: Regions, method: str, Z: Matrix, at: Numbers) -> list[tuple[Numbers, Any]]:
    """Ask each region about its own rows; return which these are, and what it says."""
    numbers = [np.flatnonzero(at == number) for number in range(regions.count)]
    return [(mine, getattr(part, method)(Z[mine])) for part, mine in zip(regions.parts, numbers, strict=True)]


def assert_like_single_regions(regions: Regions, Z: Matrix, rng: np.random.Generator) -> None:
    at = rng.integers(0, regions.count, len(Z))
    snapped, (pulled, fine) = regions.snap(Z, at), regions.pull_in(Z, at)
    for mine, expected in own(regions, "snap", Z, at):
        np.testing.assert_array_equal(snapped[mine], expected)
    for mine, (rows, reached) in own(regions, "pull_in", Z, at):
        np.testing.assert_array_equal(pulled[mine], rows)
        np.testing.assert_array_equal(fine[mine], reached)
    for rows in (Z, snapped, pulled, regions.start[at]):
        inside = regions.contains(rows, at)
        for mine, expected in own(regions, "contains", rows, at):
            np.testing.assert_array_equal(inside[mine], expected)
    whole = fine & (np.isnan(Z) <= np.isnan(regions.x[at])).all(axis=1)
    assert regions.contains(pulled[whole], at[whole]).all()
    assert regions.contains(regions.start[at], at).all()


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.sampled_from(RULES), unique=True, max_size=3),
    chosen=st.lists(st.sampled_from(range(4)), min_size=1, max_size=4),
)
def test_rows_of_mixed_columns_are_as_in_their_own_region(
    seed: int, texts: list[str], chosen: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    regions = stacked(MIXED, [QUERIES[i] for i in chosen], texts)
    Z = rng.uniform([-8, -8, -1, 0, 0], [8, 8, 3, 2.4, 1.4], size=(40, 5))
    Z[:, 3:] = np.round(Z[:, 3:])
    Z[rng.random(40) < 0.2, 0] = np.nan
    # Some cells are a query's own.
    kept = rng.random(Z.shape) < 0.3
    Z = np.where(kept, regions.x[rng.integers(0, regions.count, 40)], Z)
    assert_like_single_regions(regions, Z, rng)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.sampled_from(BOUNDS), unique=True, max_size=3),
    where=st.sampled_from([NUMBERS, SINGLE]),
)
def test_rows_of_numbers_are_as_in_their_own_region(seed: int, texts: list[str], where: Setting) -> None:
    rng = np.random.default_rng(seed)
    rows = [*rng.uniform(-4, 4, size=(2, 4)).astype(np.float32).astype(float), np.array([6.0, 0.0, 0.0, 0.0])]
    regions = stacked(where, rows, texts)
    assert_like_single_regions(regions, rng.uniform(-8, 8, size=(40, 4)), rng)


def test_fields_are_those_of_the_regions() -> None:
    regions = stacked(MIXED, QUERIES, ["n <= 3", "r + s <= 6", "b == x.b"])
    assert regions.count == 4
    for number, part in enumerate(regions.parts):
        np.testing.assert_array_equal(regions.x[number], part.x)
        np.testing.assert_array_equal(regions.start[number], part.start)
        np.testing.assert_array_equal(regions.held[number], part.held)
        np.testing.assert_array_equal(regions.free[number], part.free)
        assert regions.begins[number] == part.begins
        assert regions.linear[number] == (part.linear is not None)
    np.testing.assert_allclose(regions.step, [0, 1, 0.1, 1, 1])


def test_the_bounds_of_held_cells_are_the_querys_own() -> None:
    regions = stacked(NUMBERS, [[1.0, 2.0, 3.0, 4.0], [0.0] * 4], ["x1 == x.x1", "x0 <= 2"])
    assert regions.low[:, 1].tolist() == regions.high[:, 1].tolist() == [2.0, 0.0]
    assert regions.high[:, 0].tolist() == [2.0, 2.0]


def test_only_numbers_that_are_free_and_not_missing_can_move() -> None:
    regions = stacked(MIXED, QUERIES[:2], ["n == x.n"])
    assert regions.moves.tolist() == [[True, False, True, False, False], [False, False, True, False, False]]


def test_levels_are_those_that_each_region_allows() -> None:
    regions = stacked(MIXED, QUERIES[:1], ["c in {'u', 'w'}"])
    (allowed,) = regions.levels(3)
    assert np.flatnonzero(allowed).tolist() == [0, 2]
    assert np.flatnonzero(regions.levels(4)[0]).tolist() == [0, 1]


def test_a_share_of_the_allowed_levels_names_one_of_them() -> None:
    regions = stacked(MIXED, QUERIES[:2], ["c in {'u', 'w'}"])
    at, columns = np.array([0, 1, 1, 0]), np.array([3, 3, 4, 4])
    assert regions.level_at(at, columns, np.array([0.4, 0.5, 0.0, 0.9])).tolist() == [0, 2, 0, 1]


def test_rows_take_over_the_levels_of_others() -> None:
    regions = stacked(MIXED, QUERIES[:1], [])
    rows, others = np.array([[1.0, 2.0, 0.3, 0.0, 0.0]]), np.array([[9.0, 9.0, 9.0, 2.0, 1.0]])
    assert regions.with_numbers_of(rows, others).tolist() == [[1.0, 2.0, 0.3, 2.0, 1.0]]


def test_a_missing_cell_stays_missing() -> None:
    regions = stacked(MIXED, QUERIES[1:2], [])
    at = np.zeros(2, dtype=np.int64)
    rows = np.array([[2.0, 1.0, 0.3, 0.0, 0.0], [math.nan, 1.0, 0.3, 0.0, 0.0]])
    assert np.isnan(regions.snap(rows, at)[:, 0]).all()
    assert regions.contains(rows, at).tolist() == [False, True]


@pytest.mark.parametrize("method", ["snap", "contains", "pull_in"])
def test_no_rows_are_no_problem(method: str) -> None:
    regions = stacked(MIXED, QUERIES, ["r + n <= 4"])
    none = np.empty(0, dtype=np.int64)
    found = getattr(regions, method)(np.empty((0, 5)), none)
    assert len(found[0] if method == "pull_in" else found) == 0
