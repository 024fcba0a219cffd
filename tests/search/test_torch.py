"""The search is written once: on torch tensors it takes the same way as on NumPy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tests.support import Setting, answered, labels_only, on_torch, scored, setting

from ssba.boundary.bisection import Asking
from ssba.models.targets import Reply
from ssba.search import columns
from ssba.search.archive import Archive, recorded
from ssba.search.bounded import Surroundings, approach, bounded_search
from ssba.search.descend import Pace, descend, standing
from ssba.search.normals import Look, broad_score_normal, foot, label_normal, score_normal
from ssba.search.profile import exchange_search, priced_search
from ssba.search.rays import race, rays_to
from ssba.search.refine import nearest_search
from ssba.search.rough import rough_search
from ssba.search.starts import Pool
from ssba.search.swaps import swap_search

RNG = np.random.default_rng(3)
NUMBERS = setting(RNG.normal(size=(200, 6)))
MIXED = setting(
    pd.DataFrame(
        {
            "a": RNG.normal(size=200),
            "n": RNG.integers(0, 9, 200),
            "c": RNG.choice(["u", "v", "w"], 200),
            "b": RNG.normal(size=200),
        }
    )
)
SMOOTH = scored(lambda Z: Z[:, 0] + 0.5 * Z[:, 1] - 0.3 * Z[:, 2] ** 2 - 1)
STEPS = labels_only(lambda Z: (Z[:, 0] > 0.7) & (Z[:, 3] > -0.4))
LEVELS = labels_only(lambda Z: Z[:, 0] + 0.2 * Z[:, 1] + 2.0 * (Z[:, 2] == 1.0) > 3)

STAIRS = scored(lambda Z: (Z[:, 0] // 0.25 + Z[:, 1] // 0.3 + 0.5 * (Z[:, 4] // 0.2)) * 0.25 - 0.9)
SCORED_LEVELS = scored(lambda Z: Z[:, 0] + 0.2 * Z[:, 1] + 2.0 * (Z[:, 2] == 1.0) - 3)

CASES: dict[str, tuple[Setting, Any, Any, tuple[str, ...]]] = {
    "scores": (NUMBERS, [0.0] * 6, SMOOTH, ()),
    "scores beside a line": (NUMBERS, [0.0] * 6, SMOOTH, ("x0 + x1 <= 1.2",)),
    "labels": (NUMBERS, [-0.5] * 6, STEPS, ("x5 == x.x5",)),
    "scores on stairs": (NUMBERS, [-0.5] * 6, STAIRS, ()),
    "whole numbers and levels by scores": (
        MIXED,
        {"a": -0.5, "n": 1, "c": "u", "b": 0.2},
        SCORED_LEVELS,
        (),
    ),
    "whole numbers and levels": (MIXED, {"a": -0.5, "n": 1, "c": "u", "b": 0.2}, LEVELS, ("b == x.b",)),
}


def best(archive: Archive, pool: Any, judge: Any) -> Any:
    search = nearest_search(archive, Pool(pool), 0)
    answered(recorded(search, archive, 1500, lambda: False), judge)
    return np.asarray(archive.nearest(1))


@pytest.mark.parametrize("name", CASES)
def test_torch_finds_what_numpy_finds(name: str) -> None:
    where, query, judge, texts = CASES[name]
    region, pool = where.region(query, *texts), where.Z[judge(where.Z).reached]
    expected = best(Archive(region, where.metric), pool, judge)
    assert len(expected) == 1

    def judged_on_torch(Z: Any) -> Reply:
        assert isinstance(Z, torch.Tensor)
        reply: Reply = judge(Z)
        return reply

    found = best(Archive(on_torch(region), on_torch(where.metric)), on_torch(pool), judged_on_torch)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


class Kernels:
    """The parts of the search, each run on arrays as `convert` makes them."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self.convert = convert
        self.numbers = Archive(convert(NUMBERS.region([0.0] * 6)), convert(NUMBERS.metric))
        query = {"a": -0.5, "n": 1, "c": "u", "b": 0.2}
        self.mixed = Archive(convert(MIXED.region(query)), convert(MIXED.metric))
        self.row = convert(np.array([1.5, 1.2, 0.2, -0.4, 0.8, 0.3]))
        self.rows = convert(NUMBERS.Z[STAIRS(NUMBERS.Z).reached][:5])
        self.mixed_rows = convert(MIXED.Z[LEVELS(MIXED.Z).reached][:5])

    def run(self, search: Any, archive: Archive, judge: Any) -> Any:
        return answered(recorded(search, archive, 3000, lambda: False), judge)

    def label_normal(self) -> Any:
        look = Look(0.05, 2.0, 5)
        judge = labels_only(lambda Z: Z[:, 0] + Z[:, 1] >= 2.7)
        return answered(label_normal(self.numbers.region, self.row, list(range(6)), look), judge)

    def score_normal(self) -> Any:
        return answered(score_normal(self.numbers.region, self.row, list(range(6)), 0.01), SMOOTH)

    def broad_score_normal(self) -> Any:
        return answered(broad_score_normal(self.numbers.region, self.row, list(range(6)), 0.5), STAIRS)

    def foot(self) -> Any:
        normal = self.convert(np.array([1.0, 0.5, -0.2, 0.3, 0.0, 0.1]))
        feet = [foot(self.numbers.region, self.row, normal, [0, 1, 2, 3, 4], norm) for norm in ("l2", "l1")]
        return np.stack([np.asarray(one) for one in feet])

    def race(self) -> Any:
        rays = rays_to(self.mixed.region, self.mixed.metric, self.mixed_rows)
        return answered(race(rays, 2, 1e-3), LEVELS).rows

    def descend(self) -> Any:
        begin = standing(self.numbers, self.row)
        return self.run(descend(self.numbers, begin, Pace(8, 2e-3, None)), self.numbers, SMOOTH).row

    def pull_back(self) -> Any:
        rng = np.random.default_rng(0)
        return self.run(columns.pull_back(self.mixed, self.mixed_rows, rng), self.mixed, LEVELS)

    def swaps(self) -> Any:
        self.run(asking_about(self.mixed_rows), self.mixed, LEVELS)
        rng = np.random.default_rng(0)
        search = swap_search(self.mixed, self.mixed_rows[:3, :], self.mixed_rows[3:, :], rng, rounds=3)
        self.run(search, self.mixed, LEVELS)
        return self.mixed.nearest(1)

    def other_levels(self) -> Any:
        return columns.other_levels(self.mixed, 9)

    def neighbours(self) -> Any:
        return columns.neighbours(self.mixed.region, self.mixed_rows[0, :])

    def nearest_of(self) -> Any:
        return columns.nearest_of(self.mixed, self.mixed_rows, 3)

    def profile(self) -> Any:
        self.run(asking_about(self.rows), self.numbers, STAIRS)
        rng = np.random.default_rng(0)
        self.run(priced_search(self.numbers, self.rows[0, :], rng), self.numbers, STAIRS)
        return self.numbers.nearest(1)

    def exchanges(self) -> Any:
        self.run(asking_about(self.rows), self.numbers, STAIRS)
        rng = np.random.default_rng(0)
        self.run(exchange_search(self.numbers, self.rows, rng), self.numbers, STAIRS)
        return self.numbers.nearest(1)

    def rough_by_labels(self) -> Any:
        judge = labels_only(lambda Z: STAIRS(Z).reached)
        self.run(asking_about(self.rows), self.numbers, judge)
        rng = np.random.default_rng(0)
        self.run(rough_search(self.numbers, self.rows, None, rng), self.numbers, judge)
        return self.numbers.nearest(1)


def asking_about(rows: Any) -> Asking[None]:
    """Ask about some rows, so that the archive knows them."""
    yield rows


KERNELS = [
    name for name, kernel in vars(Kernels).items() if callable(kernel) and name not in ("__init__", "run")
]


@pytest.mark.parametrize("name", KERNELS)
def test_each_part_of_the_search_is_the_same_on_torch(name: str) -> None:
    expected, found = (getattr(Kernels(convert), name)() for convert in (lambda thing: thing, on_torch))
    assert isinstance(expected, np.ndarray)
    assert expected.size
    # Sums differ in their last bits, which may decide whether a race takes one more step.
    np.testing.assert_allclose(np.asarray(found), expected, rtol=5e-4, atol=1e-9)


def bounded_row(convert: Callable[[Any], Any]) -> Any:
    judge = scored(lambda Z: Z[:, 0] + Z[:, 1] - 4)
    boundary = np.array([[4.0, 0.0, 0, 0, 0, 0], [0.0, 4.0, 0, 0, 0, 0], [2.0, 2.0, 0, 0, 0, 0]])
    region = convert(NUMBERS.region([0.0] * 6, "-1 <= x0 <= 1", "-1 <= x1 <= 1"))
    metric = convert(NUMBERS.metric)
    around = Surroundings(
        unconstrained=lambda row: convert(NUMBERS.region(np.asarray(row), "x0 <= 9")),
        pool=Pool(convert(boundary)),
        seed=0,
    )
    archive = Archive(region, metric)
    search = bounded_search(archive, approach(region, metric, convert(boundary)), around)
    move = answered(recorded(search, archive, 2000, lambda: False), judge)
    assert move is not None
    return np.asarray(move.rows[:1])


def test_a_bounded_move_is_the_same_on_torch() -> None:
    expected = bounded_row(lambda thing: thing)
    np.testing.assert_allclose(expected[0, :2], [1, 1])
    np.testing.assert_allclose(bounded_row(on_torch), expected, rtol=1e-6, atol=1e-9)
