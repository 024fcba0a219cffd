"""Rows drawn around the best one: into corners, inside the region, and not at all with many columns."""

import math
from typing import Any

import numpy as np
import pytest
from tests.support import Matrix, answered, labels_only, setting

from ssba.problem.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.refine import _around


class Search:
    """A row that reaches the target, and what the draws around it make of it."""

    def __init__(self, row: Any, reached: Any, *texts: str) -> None:
        width = len(row)
        where = setting(np.array([[-5.0] * width, [5.0] * width]), scale="none")
        self.archive = Archive(where.region([0.0] * width, *texts), where.metric)
        self.archive.record(np.array([row]), Reply(np.array([True]), None))
        self.reached = reached
        self.asked: list[tuple[Matrix, float]] = []

    def run(self, seed: int = 0) -> float:
        def remember(Z: Any) -> Reply:
            self.asked.append((Z, self.archive.best_distance))
            return labels_only(self.reached)(Z)

        search = _around(self.archive, np.random.default_rng(seed))
        answered(recorded(search, self.archive, math.inf, lambda: False), remember)
        return self.archive.best_distance


@pytest.mark.parametrize("width", [2, 3])
def test_it_gets_into_a_corner(width: int) -> None:
    row = np.ones(width)
    row[0] = 1.1
    before = float(np.linalg.norm(row))
    found = [Search(row, lambda Z: (Z >= 1).all(axis=1)).run(seed) for seed in range(5)]
    gap = before - math.sqrt(width)
    assert all(math.sqrt(width) <= one < before for one in found)
    assert np.mean(found) - math.sqrt(width) < 0.5 * gap


def test_what_is_asked_is_feasible_and_nearer_than_the_best() -> None:
    one = Search([1.5, 1.0, 0.4], lambda Z: Z[:, 0] + Z[:, 1] >= 1.8, "x2 >= 0.3", "x0 <= 2")
    one.run()
    assert one.asked
    assert all(one.archive.region.contains(rows).all() for rows, _ in one.asked)
    rows, best = one.asked[0]
    assert (np.linalg.norm(rows, axis=1) < best).all()


def test_where_nothing_is_nearer_each_ball_is_drawn_once() -> None:
    one = Search([1.0, 0.0, 0.0], lambda Z: Z[:, 0] >= 1)
    assert one.run() == 1.0
    assert [len(rows) for rows, _ in one.asked] == [24, 24, 24]


@pytest.mark.parametrize("width", [1, 9])
def test_one_column_or_many_are_left_alone(width: int) -> None:
    one = Search(np.full(width, 2.0), lambda Z: (Z >= 1).all(axis=1))
    one.run()
    assert not one.asked
