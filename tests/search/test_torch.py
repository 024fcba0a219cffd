"""The search is written once: on torch tensors it takes the same way as on NumPy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tests.support import Setting, answered, labels_only, on_torch, scored, setting

from ssba.problem.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.bounded import Surroundings, approach, bounded_search
from ssba.search.refine import Effort, nearest_search

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

CASES: dict[str, tuple[Setting, Any, Any, tuple[str, ...]]] = {
    "scores": (NUMBERS, [0.0] * 6, SMOOTH, ()),
    "scores beside a line": (NUMBERS, [0.0] * 6, SMOOTH, ("x0 + x1 <= 1.2",)),
    "labels": (NUMBERS, [-0.5] * 6, STEPS, ("x5 == x.x5",)),
    "whole numbers and levels": (MIXED, {"a": -0.5, "n": 1, "c": "u", "b": 0.2}, LEVELS, ("b == x.b",)),
}


def best(archive: Archive, pool: Any, judge: Any) -> Any:
    search = nearest_search(archive, pool, 0, Effort())
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


def bounded_row(convert: Callable[[Any], Any]) -> Any:
    judge = scored(lambda Z: Z[:, 0] + Z[:, 1] - 4)
    boundary = np.array([[4.0, 0.0, 0, 0, 0, 0], [0.0, 4.0, 0, 0, 0, 0], [2.0, 2.0, 0, 0, 0, 0]])
    region = convert(NUMBERS.region([0.0] * 6, "-1 <= x0 <= 1", "-1 <= x1 <= 1"))
    metric = convert(NUMBERS.metric)
    around = Surroundings(
        unconstrained=lambda row: convert(NUMBERS.region(np.asarray(row), "x0 <= 9")),
        pool=convert(boundary),
        seed=0,
        rows=2000,
        is_over=lambda: False,
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
