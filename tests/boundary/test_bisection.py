"""Brackets hold, are narrow enough, cost what is documented, and stay between the two rows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import answered, labels_only, on_torch

from ssba.boundary.bisection import Bracket, Path, bisect, steps_for
from ssba.columns.features import Feature
from ssba.columns.space import grid
from ssba.models.targets import Reply

RNG = np.random.default_rng(0)
Judge = Callable[[Any], Any]


def plain(width: int) -> Path:
    return Path(np.zeros(width, dtype=bool), lambda Z: Z, plain=True)


def bracket_of(start: Any, end: Any, path: Path, reached: Judge, tolerance: float = 1e-3) -> Bracket:
    return answered(bisect(start, end, path, tolerance), labels_only(reached))


def sides(reached: Judge, rows: Any) -> tuple[Any, Any]:
    """Pair rows that miss with rows that reach, and make sure that there are some."""
    hit = reached(rows)
    count = min(hit.sum(), (~hit).sum())
    assert count > 5
    return rows[~hit][:count], rows[hit][:count]


def assert_holds(bracket: Bracket, reached: Judge) -> None:
    assert reached(bracket.inside).all()
    assert not reached(bracket.outside).any()


MODELS: dict[str, Judge] = {
    "half-space": lambda Z: Z @ np.array([1.0, -2.0, 0.5]) > 0.3,
    "ball": lambda Z: (Z * Z).sum(axis=-1) <= 1.5,
    "outside a ball": lambda Z: (Z * Z).sum(axis=-1) > 1.5,
    "axis step": lambda Z: Z[:, 1] > 0.123456,
    "stripes": lambda Z: np.floor(3 * Z[:, 0]) % 2 == 0,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-3, 1e-6])
def test_brackets_hold_and_are_narrower_than_the_tolerance(name: str, tolerance: float) -> None:
    reached = MODELS[name]
    start, end = sides(reached, RNG.normal(size=(300, 3)))
    bracket = bracket_of(start, end, plain(3), reached, tolerance)
    assert_holds(bracket, reached)
    width = np.linalg.norm(bracket.inside - bracket.outside, axis=1)
    assert (width <= tolerance * np.linalg.norm(end - start, axis=1)).all()


def test_the_number_of_model_rows_is_known_beforehand() -> None:
    start, end = sides(MODELS["ball"], RNG.normal(size=(100, 3)))
    asked = []

    def judge(rows: Any) -> Reply:
        asked.append(len(rows))
        return Reply(MODELS["ball"](rows), None)

    answered(bisect(start, end, plain(3), 1e-3), judge)
    assert asked == [len(start)] * steps_for(1e-3)


@given(st.floats(1e-12, 0.999))
def test_steps_are_the_fewest_that_come_under_the_tolerance(tolerance: float) -> None:
    steps = steps_for(tolerance)
    assert 2.0**-steps < tolerance <= 2.0 ** -(steps - 1)


def test_steps_end_where_halving_no_longer_means_anything() -> None:
    assert steps_for(0.0) == 48


CELL = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.floats(0, 1), st.booleans())
@example([(-9.3, 0.7)], 1.0, False)
@example([(-3.1, 0.1), (0.3, -7.7)], 1.0, False)
def test_both_ends_lie_between_the_two_rows_and_were_seen(
    cells: list[tuple[float, float]], share: float, strictly: bool
) -> None:
    """Paper, appendix: boundary points never leave the range of the data."""
    start, end = (np.array([[pair[side] for pair in cells]]) for side in (0, 1))
    seen: list[tuple[Any, bool]] = [(start, False), (end, True)]
    goal = np.where(share == 1, end, start + share * (end - start))
    along = end - start

    def reached(rows: Any) -> Any:
        progress = ((rows - goal) * np.sign(along)).min(axis=1)
        hit = progress > 0 if strictly and share < 1 else progress >= 0
        seen.append((rows, bool(hit[0])))
        return hit

    bracket = bracket_of(start, end, plain(len(cells)), reached)
    for side, answer in ((bracket.inside, True), (bracket.outside, False)):
        assert (np.minimum(start, end) <= side).all()
        assert (side <= np.maximum(start, end)).all()
        assert any((rows == side).all() and hit is answer for rows, hit in seen)


def test_a_boundary_at_the_very_end_gives_the_row_itself() -> None:
    start, end = RNG.uniform(-10, 0, size=(500, 1)), RNG.uniform(0, 1, size=(500, 1))
    bracket = bracket_of(start, end, plain(1), lambda rows: rows[:, 0] >= end[:, 0])
    np.testing.assert_array_equal(bracket.inside, end)


def whole(width: int) -> Path:
    legal = grid([Feature("n", "integer")] * width, [False] * width)
    return Path(np.zeros(width, dtype=bool), legal.snap, plain=False)


@pytest.mark.parametrize(
    "reached",
    [lambda Z: Z[:, 0] + Z[:, 1] > 3, lambda Z: Z[:, 0] >= 2, lambda Z: Z[:, 0] * Z[:, 1] % 3 == 1],
    ids=["staircase", "step", "scattered"],
)
def test_on_whole_numbers_only_whole_rows_are_asked_and_brackets_hold(reached: Judge) -> None:
    rows = RNG.integers(-20, 20, size=(200, 2)).astype(float)
    start, end = sides(reached, rows)
    asked: list[Any] = []

    def judged(points: Any) -> Any:
        asked.append(points)
        return reached(points)

    bracket = bracket_of(start, end, whole(2), judged)
    assert_holds(bracket, reached)
    for points in asked:
        np.testing.assert_array_equal(points, np.round(points))


def test_neighbours_on_the_grid_are_as_narrow_as_it_gets() -> None:
    start, end = np.array([[0.0]]), np.array([[1000.0]])
    bracket = bracket_of(start, end, whole(1), lambda Z: Z[:, 0] >= 337, 1e-6)
    assert (bracket.outside[0, 0], bracket.inside[0, 0]) == (336.0, 337.0)


def test_levels_switch_and_are_never_blended() -> None:
    # Reached only with level 2; the number has no part in it.
    path = Path(np.array([False, True]), lambda Z: Z, plain=False)
    start, end = np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]])
    asked: list[float] = []

    def reached(rows: Any) -> Any:
        asked.extend(rows[:, 1].tolist())
        return rows[:, 1] == 2

    bracket = bracket_of(start, end, path, reached)
    assert set(asked) <= {0.0, 2.0}
    assert bracket.inside.tolist() == [[0.5, 2.0]]
    assert bracket.outside[0, 1] == 0.0


def test_a_missing_cell_at_either_end_switches_half_way() -> None:
    path = Path(np.zeros(3, dtype=bool), lambda Z: Z, plain=False)
    start, end = np.array([[0.0, math.nan, 4.0]]), np.array([[1.0, 7.0, math.nan]])
    bracket = bracket_of(start, end, path, lambda rows: rows[:, 0] > 0.2)
    np.testing.assert_array_equal(bracket.inside[:, 1:], [[math.nan, 4.0]])
    bracket = bracket_of(start, end, path, lambda rows: rows[:, 0] > 0.7)
    np.testing.assert_array_equal(bracket.inside[:, 1:], [[7.0, math.nan]])


def test_segments_do_not_influence_each_other() -> None:
    reached = MODELS["ball"]
    start, end = sides(reached, RNG.normal(size=(60, 3)))
    together = bracket_of(start, end, plain(3), reached)
    for i in range(len(start)):
        alone = bracket_of(start[i : i + 1], end[i : i + 1], plain(3), reached)
        np.testing.assert_array_equal(alone.inside[0], together.inside[i])


def test_the_rows_given_are_not_written_to() -> None:
    start, end = sides(MODELS["ball"], RNG.normal(size=(60, 3)))
    copies = start.copy(), end.copy()
    bracket_of(start, end, plain(3), MODELS["ball"])
    np.testing.assert_array_equal(start, copies[0])
    np.testing.assert_array_equal(end, copies[1])


def test_a_tolerance_of_the_whole_segment_asks_nothing() -> None:
    start, end = np.zeros((2, 1)), np.ones((2, 1))
    bracket = bracket_of(start, end, plain(1), lambda rows: pytest.fail("asked"), tolerance=1.5)
    np.testing.assert_array_equal(bracket.inside, end)
    np.testing.assert_array_equal(bracket.outside, start)


@pytest.mark.parametrize("is_plain", [True, False])
def test_torch_finds_the_same_brackets(is_plain: bool) -> None:
    weights = np.array([1.0, -2.0, 0.5])
    start, end = sides(lambda Z: Z @ weights > 0.3171, np.round(RNG.normal(size=(100, 3)) * 4))
    legal = grid(
        [Feature("n", "integer"), Feature("r", "numeric", step=0.1), Feature("c", "numeric")], [False] * 3
    )
    switching = np.array([False, False, not is_plain])
    numpy_path = Path(switching, legal.snap, is_plain)
    torch_path = Path(on_torch(switching), on_torch(legal).snap, is_plain)
    expected = bracket_of(start, end, numpy_path, lambda Z: Z @ weights > 0.3171)
    found = bracket_of(on_torch(start), on_torch(end), torch_path, lambda Z: Z @ on_torch(weights) > 0.3171)
    assert isinstance(found.inside, torch.Tensor)
    np.testing.assert_allclose(found.inside.numpy(), expected.inside, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(found.outside.numpy(), expected.outside, rtol=1e-14, atol=1e-14)
