"""Exchanges between rows: known corners, the right column given up, and rows that stay legal."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, Setting, answered, labels_only, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.swaps import swap_search

BOX = setting(np.array([[-4.0] * 5, [4.0] * 5]), scale="none")


class Swaps:
    """An exchange between some rows, with all that it asked."""

    def __init__(self, where: Setting, query: Any, reached: Any, *texts: str) -> None:
        self.archive = Archive(where.region(query, *texts), where.metric)
        self.judge = labels_only(reached)
        self.asked: list[Matrix] = []

    def run(self, parents: Any, donors: Any, rounds: int = 12, rows: float = math.inf) -> float:
        def remember(Z: Any) -> Reply:
            self.asked.append(Z)
            reply: Reply = self.judge(Z)
            return reply

        self.archive.record(parents, self.judge(parents))
        search = swap_search(self.archive, parents, donors, np.random.default_rng(0), rounds)
        answered(recorded(search, self.archive, rows, lambda: False), remember)
        return self.archive.best_distance

    @property
    def every(self) -> Matrix:
        return np.concatenate(self.asked)


def either_way(Z: Any) -> Any:
    """One large step in column 0, or three small ones in columns 1 to 3."""
    return (Z[:, 0] >= 2.0) | ((Z[:, 1] >= 0.5) & (Z[:, 2] >= 0.6) & (Z[:, 3] <= -0.7))


def test_one_large_change_is_given_up_for_small_ones_that_a_donor_has() -> None:
    """No column of (2, 0, 0, 0, 0) can go back; three small steps are |(0.5, 0.6, 0.7)| = 1.049."""
    search = Swaps(BOX, [0.0] * 5, either_way)
    found = search.run(np.array([[2.0, 0, 0, 0, 0]]), np.array([[1.0, 1.5, 1.2, -1.6, 1.0]]))
    best = math.sqrt(0.5**2 + 0.6**2 + 0.7**2)
    assert best <= found <= 1.06 * best


def corner(Z: Any) -> Any:
    return (Z[:, 0] >= 1.0) & (Z[:, 1] >= 0.5) & (Z[:, 2] <= -0.7)


def test_good_halves_of_two_rows_come_together() -> None:
    """Each row is good in other columns than the other."""
    rows = np.array([[1.0, 0.5, -3.5, 0.0, 0.0], [3.5, 3.0, -0.7, 0.0, 0.0]])
    found = Swaps(BOX, [0.0] * 5, corner).run(rows, rows)
    best = math.sqrt(1 + 0.25 + 0.49)
    assert best <= found <= 1.06 * best


@pytest.mark.parametrize("texts", [["x0 <= 3", "x3 == x.x3"], ["x0 - x2 <= 5"]])
def test_it_asks_about_feasible_rows_only(texts: list[str]) -> None:
    search = Swaps(BOX, [0.0] * 5, corner, *texts)
    rows = search.archive.region.pull_in(np.array([[2.0, 1.5, -2.5, 0.0, 0.0], [1.5, 3.0, -3.0, 0.0, 1.0]]))[
        0
    ]
    assert search.run(rows, rows) < np.linalg.norm(rows, axis=1).min()
    assert search.archive.region.contains(search.every).all()


MIXED = setting(pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]}), scale="none")


def test_levels_and_whole_numbers_are_exchanged_and_stay_legal() -> None:
    """r >= 1 with level v is at sqrt(2); the parent has n = 3 instead of the level."""
    search = Swaps(
        MIXED,
        {"r": 0.0, "n": 0, "c": "u"},
        lambda Z: (Z[:, 0] >= 1) & ((Z[:, 2] == 1) | (Z[:, 1] >= 3)),
    )
    found = search.run(np.array([[1.0, 3.0, 0.0]]), np.array([[2.0, 0.0, 1.0]]))
    assert found == pytest.approx(math.sqrt(2), rel=0.06)
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(search.every)), search.every)


def test_a_missing_cell_of_the_query_stays_missing() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
    search = Swaps(where, {"a": None, "b": 0.0}, lambda Z: Z[:, 1] >= 2)
    assert search.run(np.array([[math.nan, 4.0]]), np.array([[math.nan, 5.0]])) < 2.2
    assert np.isnan(search.every[:, 0]).all()


def test_a_row_that_changes_nothing_has_nothing_to_exchange() -> None:
    search = Swaps(BOX, [0.0] * 5, lambda Z: Z[:, 0] > -9)
    assert search.run(np.zeros((1, 5)), np.zeros((1, 5))) == 0


def test_a_smaller_budget_asks_the_first_rows_of_a_larger_one() -> None:
    parents, donors = np.array([[2.0, 0, 0, 0, 0]]), np.array([[1.0, 1.5, 1.2, -1.6, 1.0]])
    few, many = Swaps(BOX, [0.0] * 5, either_way), Swaps(BOX, [0.0] * 5, either_way)
    assert few.run(parents, donors, rows=150) >= many.run(parents, donors)
    assert len(few.every) == 150
    np.testing.assert_array_equal(many.every[:150], few.every)
