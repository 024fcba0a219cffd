"""Boundary points come batch by batch from the stream of pairs, whatever the batch size."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support import labels_only, on_torch

from ssba.boundary.bisection import Path, steps_for
from ssba.boundary.points import BoundarySet, Sampling, Sides, brackets, shares
from ssba.problem.targets import Leave

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(40, 3))
NORMAL = np.array([1.0, -1.0, 2.0])
GOAL = Leave("no")
PATH = Path(np.zeros(3, dtype=bool), lambda Z: Z, plain=True)


def reached(Z: Any) -> Any:
    return Z @ NORMAL > 0.2


SIDES = Sides(ROWS[~reached(ROWS)], ROWS[reached(ROWS)], GOAL)


def sampled(positions: range, batch_rows: int, seed: int = 0) -> tuple[Any, Any, int]:
    found = list(brackets(SIDES, positions, Sampling(PATH, 1e-3, seed, batch_rows), labels_only(reached)))
    inside = np.concatenate([np.empty((0, 3)), *(one.inside for one in found)])
    return (
        inside,
        np.concatenate([np.empty((0, 3)), *(one.outside for one in found)]),
        sum(one.rows for one in found),
    )


@pytest.mark.parametrize("batch_rows", [1, 7, 64, 10_000])
def test_the_batch_size_changes_nothing_but_the_batches(batch_rows: int) -> None:
    for one, other in zip(sampled(range(100), batch_rows), sampled(range(100), 100), strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.integers(0, 90), st.integers(0, 90))
def test_positions_can_be_taken_in_any_pieces(one: int, other: int) -> None:
    low, high = sorted((one, other))
    np.testing.assert_array_equal(sampled(range(low, high), 16)[0], sampled(range(90), 90)[0][low:high])


def test_every_point_reaches_the_target_and_lies_in_the_range_of_the_data() -> None:
    inside, outside, rows = sampled(range(SIDES.pairs), 1000)
    assert len(inside) == SIDES.pairs
    assert reached(inside).all()
    assert not reached(outside).any()
    assert rows == SIDES.pairs * steps_for(1e-3)
    assert (inside >= ROWS.min(axis=0)).all()
    assert (inside <= ROWS.max(axis=0)).all()


def test_another_seed_takes_other_pairs_first_and_the_same_in_the_end() -> None:
    assert not np.array_equal(sampled(range(20), 20, seed=0)[0], sampled(range(20), 20, seed=1)[0])
    one, other = (np.sort(sampled(range(SIDES.pairs), 1000, seed)[0], axis=0) for seed in (0, 1))
    np.testing.assert_array_equal(one, other)


def test_torch_rows_give_torch_points() -> None:
    sides = Sides(on_torch(SIDES.leaving), on_torch(SIDES.reaching), GOAL)
    path = Path(torch.zeros(3, dtype=torch.bool), lambda Z: Z, plain=True)
    found = list(
        brackets(
            sides, range(50), Sampling(path, 1e-3, 0, 16), labels_only(lambda Z: Z @ on_torch(NORMAL) > 0.2)
        )
    )
    inside = torch.cat([one.inside for one in found])
    np.testing.assert_allclose(inside.numpy(), sampled(range(50), 16)[0], rtol=1e-14, atol=1e-14)


def side(leaving: int, reaching: int) -> Sides:
    return Sides(np.zeros((leaving, 1)), np.zeros((reaching, 1)), GOAL)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=5), st.integers(0, 3000))
def test_points_are_divided_among_sides_by_their_pairs(sizes: list[tuple[int, int]], n: int) -> None:
    sides = [side(*size) for size in sizes]
    given_out = shares(sides, n)
    total = sum(one.pairs for one in sides)
    assert sum(given_out) == min(n, total)
    for one, count in zip(sides, given_out, strict=True):
        assert 0 <= count <= one.pairs
        assert abs(count - min(n, total) * one.pairs / max(1, total)) < len(sides)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 200))
def test_a_larger_number_takes_nothing_away_from_any_side(sizes: list[tuple[int, int]], n: int) -> None:
    sides = [side(*size) for size in sizes]
    assert all(more >= less for more, less in zip(shares(sides, n + 1), shares(sides, n), strict=True))


def test_a_boundary_set_shows_its_points_in_the_users_form_and_says_what_it_holds() -> None:
    some = BoundarySet(
        inside=np.ones((2, 1)),
        decode=lambda Z: {"rows": Z.tolist()},
        target="'yes'",
        seed=0,
        tolerance=1e-3,
        next_position=2,
        pairs=1200,
        rows_used=20,
        schema_hash="",
        model_fingerprint="",
    )
    assert len(some) == 2
    assert some.points == {"rows": [[1.0], [1.0]]}
    assert not some.is_complete
    assert repr(some) == "<BoundarySet of 2 points toward 'yes', from 2 of 1,200 pairs>"
