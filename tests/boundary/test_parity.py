"""The kernels of the boundary on NumPy, torch and the strict array API: the same brackets and points."""

from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from tests.support import answered, labels_only

from ssba.boundary.bisection import Path, bisect
from ssba.boundary.points import Sampling, Sides, Stream
from ssba.columns.features import Feature
from ssba.columns.space import grid
from ssba.models.targets import Reach

NAMESPACES: dict[str, Callable[[Any], Any]] = {
    "torch": torch.as_tensor,
    "strict": array_api_strict.asarray,
}
CLOSE = {np.float64: 1e-12, np.float32: 1e-5}
WEIGHTS, THRESHOLD = np.array([1.0, -2.0, 0.5, 0.25]), 0.3171
ROWS = np.random.default_rng(5).normal(size=(400, 4))
LEVELS = np.array([False, False, False, True])
GRID = grid(
    [
        Feature("n", "integer"),
        Feature("r", "numeric", step=0.1),
        Feature("c", "numeric"),
        Feature("d", "numeric"),
    ],
    [False] * 4,
)


def reaches(rows: Any, to: Callable[[Any], Any] = np.asarray) -> Any:
    """Tell which rows reach, by a sum that is made on the host whatever the namespace."""
    return to(np.asarray(rows).astype(np.float64) @ WEIGHTS > THRESHOLD)


def two_sides(dtype: Any, legal: bool) -> tuple[Any, Any]:
    rows = GRID.snap(ROWS * 3) if legal else ROWS
    rows = np.where(LEVELS, np.sign(rows), rows).astype(dtype) if legal else rows.astype(dtype)
    return rows[~reaches(rows)], rows[reaches(rows)]


def brackets(dtype: Any, legal: bool, to: Callable[[Any], Any] = np.asarray) -> Any:
    leaving, reaching = two_sides(dtype, legal)
    count = min(len(leaving), len(reaching))
    start, end = to(leaving[:count]), to(reaching[:count])
    moved = GRID.beside(start)
    path = Path(to(LEVELS), moved.snap, plain=False) if legal else Path(to(LEVELS), lambda Z: Z, plain=True)
    return answered(bisect(start, end, path, 1e-4), labels_only(lambda Z: reaches(Z, to)))


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize("dtype", CLOSE)
def test_brackets_are_the_same(name: str, dtype: Any) -> None:
    wanted, found = brackets(dtype, False), brackets(dtype, False, NAMESPACES[name])
    assert len(wanted.low) > 100
    # A row that rounding puts on the other side moves its bracket by one; that is rare.
    same = np.abs(np.asarray(found.low) - wanted.low) < CLOSE[dtype]
    assert same.mean() > (0.999 if dtype is np.float64 else 0.98)
    for side in ("inside", "outside"):
        ours, theirs = np.asarray(getattr(found, side))[same], getattr(wanted, side)[same]
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=10 * CLOSE[dtype])


@pytest.mark.parametrize("name", NAMESPACES)
def test_legal_rows_are_the_same(name: str) -> None:
    wanted, found = brackets(np.float64, True), brackets(np.float64, True, NAMESPACES[name])
    np.testing.assert_allclose(np.asarray(found.inside), wanted.inside, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.asarray(found.outside), wanted.outside, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMESPACES)
def test_streams_of_pairs_are_the_same(name: str) -> None:
    to = NAMESPACES[name]
    leaving, reaching = two_sides(np.float64, False)
    path = Path(LEVELS, lambda Z: Z, plain=True)
    how = Sampling(path, 1e-3, seed=3, batch_rows=500)
    wanted = Stream(Sides(leaving, reaching, Reach(True)), how)
    found = Stream(Sides(to(leaving), to(reaching), Reach(True)), how)
    host = [one.points for one in wanted.batches(range(100, 1300), labels_only(reaches))]
    other = [one.points for one in found.batches(range(100, 1300), labels_only(lambda Z: reaches(Z, to)))]
    assert sum(map(len, host)) == 1200
    for ours, theirs in zip(other, host, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=1e-12)
