"""Boundary points come batch by batch from the stream of pairs, whatever the batch size."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support import every, labels_only, on_torch

from ssba.boundary.bisection import Path
from ssba.boundary.points import Sampling, Sides, Stream, shares
from ssba.models.targets import Leave

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(40, 3))
NORMAL = np.array([1.0, -1.0, 2.0])
GOAL = Leave("no")
PATH = Path(np.zeros(3, dtype=bool), lambda Z: Z, plain=True)


def reached(Z: Any) -> Any:
    return Z @ NORMAL > 0.2


SIDES = Sides(ROWS[~reached(ROWS)], ROWS[reached(ROWS)], GOAL)


def sampled(positions: range, batch_rows: int, seed: int = 0, resolution: int = 1) -> Any:
    stream = Stream(SIDES, Sampling(PATH, 1e-3, seed, batch_rows, resolution))
    found = list(stream.batches(positions, labels_only(reached)))
    assert [one.begin for one in found] == [positions.start, *(one.end for one in found)][: len(found)]
    return np.concatenate([np.empty((0, 3)), *(one.points for one in found)])


@pytest.mark.parametrize("batch_rows", [1, 7, 64, 10_000])
def test_the_batch_size_changes_nothing_but_the_batches(batch_rows: int) -> None:
    np.testing.assert_array_equal(sampled(range(100), batch_rows), sampled(range(100), 100))


@given(st.integers(0, 90), st.integers(0, 90))
def test_positions_can_be_taken_in_any_pieces(one: int, other: int) -> None:
    low, high = sorted((one, other))
    np.testing.assert_array_equal(sampled(range(low, high), 16), sampled(range(90), 90)[low:high])


def test_every_point_reaches_the_target_and_lies_in_the_range_of_the_data() -> None:
    points = sampled(range(SIDES.pairs), 1000)
    assert len(points) == SIDES.pairs
    assert reached(points).all()
    assert (points >= ROWS.min(axis=0)).all()
    assert (points <= ROWS.max(axis=0)).all()


def test_every_crossing_of_a_plane_is_the_one_crossing() -> None:
    one, every = sampled(range(200), 64), sampled(range(200), 64, resolution=8)
    assert len(every) == len(one)
    np.testing.assert_allclose(every @ NORMAL, one @ NORMAL, atol=0.02)


def test_another_seed_takes_other_pairs_first_and_the_same_in_the_end() -> None:
    assert not np.array_equal(sampled(range(20), 20, seed=0), sampled(range(20), 20, seed=1))
    one, other = (np.sort(sampled(range(SIDES.pairs), 1000, seed), axis=0) for seed in (0, 1))
    np.testing.assert_array_equal(one, other)


def test_torch_rows_give_torch_points() -> None:
    sides = Sides(on_torch(SIDES.leaving), on_torch(SIDES.reaching), GOAL)
    path = Path(torch.zeros(3, dtype=torch.bool), lambda Z: Z, plain=True)
    stream = Stream(sides, Sampling(path, 1e-3, 0, 16))
    found = stream.batches(range(50), labels_only(lambda Z: Z @ on_torch(NORMAL) > 0.2))
    points = torch.cat([one.points for one in found])
    np.testing.assert_allclose(points.numpy(), sampled(range(50), 16), rtol=1e-14, atol=1e-14)


class TestKey:
    def stream(self, **changed: Any) -> Stream:
        settings = {"tolerance": 1e-3, "seed": 0, "batch_rows": 16, "resolution": 1, **changed}
        sides = settings.pop("sides", SIDES)
        return Stream(sides, Sampling(PATH, **settings))

    def test_it_is_equal_where_the_points_are(self) -> None:
        assert self.stream().key == self.stream(batch_rows=999).key

    @pytest.mark.parametrize(
        "changed",
        [
            {"tolerance": 1e-4},
            {"seed": 1},
            {"resolution": 8},
            {"sides": Sides(SIDES.leaving[1:], SIDES.reaching, GOAL)},
            {"sides": Sides(SIDES.leaving, SIDES.reaching + 1e-9, GOAL)},
            {"sides": Sides(SIDES.leaving, SIDES.reaching, Leave("maybe"))},
        ],
    )
    def test_it_differs_where_they_may(self, changed: Any) -> None:
        assert self.stream(**changed).key != self.stream().key


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
    assert every(more >= less for more, less in zip(shares(sides, n + 1), shares(sides, n), strict=True))
