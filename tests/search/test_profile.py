"""Exchanges by scores: additive stairs solved by hand, split values, and rows that stay legal."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, Setting, answered, labels_only, scored, setting

from ssba.columns.distance import Norm
from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.profile import exchange_search, priced_search

# Per column a step at each of these values is worth that much score.
STEPS = [[(0.5, 1.0), (1.5, 0.7)], [(0.4, 0.6), (2.0, 2.5)], [(1.0, 1.2)], [(0.3, 0.2), (0.9, 0.9)]]
NEEDED = 2.6
CUTS = [np.array([value for value, _ in column]) for column in STEPS]
ANYWHERE = np.array([[-4.0] * 4, [4.0] * 4])


def stairs(Z: Any) -> Any:
    """Add up the steps that a row has climbed."""
    total = np.full(len(Z), -NEEDED + 1e-9)
    for column, steps in enumerate(STEPS):
        for value, worth in steps:
            total = total + np.where(Z[:, column] >= value, worth, 0.0)
    return total


def nearest_by_hand(power: int) -> float:
    """Try every combination of steps."""
    choices = [[0.0, *(value for value, _ in column)] for column in STEPS]
    rows = np.array(list(itertools.product(*choices)))
    return float(np.linalg.norm(rows[stairs(rows) >= 0], ord=power, axis=1).min())


class Exchange:
    """A search from one row that reaches the target, with all that it asked."""

    def __init__(self, where: Setting, query: Any, row: Any, judge: Any, *texts: str) -> None:
        self.archive = Archive(where.region(query, *texts), where.metric)
        self.row, self.judge = np.array(row, dtype=float), judge
        self.archive.record(self.row[None, :], Reply(np.array([True]), None))
        self.asked: list[Matrix] = []

    def run(self, search: Any) -> None:
        def remember(Z: Any) -> Reply:
            self.asked.append(Z)
            reply: Reply = self.judge(Z)
            return reply

        answered(recorded(search, self.archive, math.inf, lambda: False), remember)

    def priced(self) -> float:
        self.run(priced_search(self.archive, self.row, np.random.default_rng(0)))
        return self.archive.best_distance

    def exchange(self) -> float:
        self.run(exchange_search(self.archive, self.row[None, :], np.random.default_rng(0)))
        return self.archive.best_distance

    @property
    def every(self) -> Matrix:
        return np.concatenate(self.asked)


HIGH = [2.1, 2.2, 1.3, 1.1]


@pytest.mark.parametrize(("norm", "power"), [("l2", 2), ("l1", 1)])
def test_the_best_exchange_is_nearly_found(norm: Norm, power: int) -> None:
    where = setting(ANYWHERE, norm=norm, scale="none")
    best = nearest_by_hand(power)
    assert best <= Exchange(where, [0.0] * 4, HIGH, scored(stairs)).priced() <= 1.6 * best
    assert best <= Exchange(where, [0.0] * 4, HIGH, scored(stairs)).exchange() <= 1.1 * best


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_one_large_change_is_given_up_for_many_small_ones(norm: Norm) -> None:
    """What column 0 does at 2, five others do together at 0.2 each: no pair of changes gets there."""
    where = setting(np.array([[-4.0] * 8, [4.0] * 8]), norm=norm, scale="none")
    judge = scored(lambda Z: (Z[:, 0] >= 2) + 0.2 * (Z[:, 1:] >= 0.2).sum(axis=1) - 1 + 1e-9)
    one = Exchange(where, [0.0] * 8, [2.0, *[0.0] * 7], judge)
    found = one.exchange()
    best = 0.2 * 5 if norm == "l1" else 0.2 * np.sqrt(5)
    assert best <= found <= 1.1 * best
    assert (one.archive.nearest(1)[0, 1:] >= 0.2).sum() == 5


def test_exchanges_start_from_other_rows_too() -> None:
    """Both rows are needed as they are, but each is changed in every column to see what that gains."""
    where = setting(np.array([[-4.0] * 3, [4.0] * 3]), scale="none")
    judge = scored(lambda Z: np.where((Z[:, 0] >= 1) | ((Z[:, 1] >= 1) & (Z[:, 2] >= 0.5)), 0.5, -0.5))
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5]])
    one = Exchange(where, [0.0] * 3, rows[0], judge)
    one.archive.record(rows, Reply(np.array([True, True]), None))
    one.run(exchange_search(one.archive, rows, np.random.default_rng(0)))
    for row in rows:
        alike = (one.every == row).sum(axis=1)
        assert (alike >= 2).sum() > 20


def test_scales_and_weights_decide_what_is_cheap() -> None:
    """Column 1 costs a hundredth: all that is needed is bought there, at 2.0 for 3.1, or nearby."""
    where = setting(ANYWHERE, scale="none", weights={"x1": 0.01})
    one = Exchange(where, [0.0] * 4, HIGH, scored(stairs))
    assert 0.02 <= one.priced() <= 0.025
    np.testing.assert_allclose(one.archive.nearest(1)[:, [0, 2, 3]], 0)


@pytest.mark.parametrize("search", ["priced", "exchange"])
def test_without_scores_it_ends_after_one_question(search: str) -> None:
    where = setting(ANYWHERE, scale="none")
    one = Exchange(where, [0.0] * 4, HIGH, labels_only(lambda Z: stairs(Z) >= 0))
    getattr(one, search)()
    assert len(one.asked) == 1


def test_a_row_with_nothing_to_give_up_is_left_alone() -> None:
    where = setting(ANYWHERE, scale="none")
    one = Exchange(where, [0.0] * 4, [0.0] * 4, scored(lambda Z: np.where(Z[:, 0] >= -9, 0.5, -0.5)))
    assert one.exchange() == 0


def test_levels_are_exchanged_for_numbers() -> None:
    frame = pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]})
    where = setting(frame, scale="none", weights={"c": 0.5})
    worth = np.array([0.0, 1.0, 2.0])
    judge = scored(lambda Z: Z[:, 0] + Z[:, 1] + worth[Z[:, 2].astype(int)] - 2)
    one = Exchange(where, {"r": 0.0, "n": 0, "c": "u"}, [2.0, 1.0, 0.0], judge)
    one.priced()
    assert one.exchange() == 0.5
    assert one.archive.nearest(1).tolist() == [[0.0, 0.0, 2.0]]
    assert one.archive.region.contains(one.every).all()
    np.testing.assert_array_equal(where.space.encode(where.space.decode(one.every)), one.every)


@pytest.mark.parametrize("search", ["priced", "exchange"])
@pytest.mark.parametrize("texts", [["x0 <= 1", "x3 == x.x3"], ["x1 >= 0.2"]])
def test_only_feasible_rows_are_asked_about(texts: list[str], search: str) -> None:
    where = setting(ANYWHERE, scale="none")
    row = where.region([0.0] * 4, *texts).pull_in(np.array([HIGH]))[0][0]
    one = Exchange(where, [0.0] * 4, row, scored(stairs), *texts)
    getattr(one, search)()
    assert one.archive.region.contains(one.every).all()
    assert one.archive.best_distance < np.linalg.norm(row)


@pytest.mark.parametrize("search", ["priced", "exchange"])
def test_beside_a_line_what_is_found_keeps_to_it(search: str) -> None:
    where = setting(ANYWHERE, scale="none")
    one = Exchange(where, [0.0] * 4, HIGH, scored(stairs), "x0 + x1 >= x2")
    getattr(one, search)()
    found = one.archive.nearest(5)
    assert (found[:, 0] + found[:, 1] >= found[:, 2]).all()
    assert (stairs(found) >= 0).all()
