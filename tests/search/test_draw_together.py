"""Rows drawn for many regions at once: inside, nearer, even, and the same whatever others draw."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import DRAWS, lanes
from tests.support import Matrix, labels_only, setting

from ssba.columns.distance import Norm
from ssba.search.draw_together import draw_rows
from ssba.search.regions import Numbers

NUMBERS = np.concatenate([np.random.default_rng(0).normal(size=(50, 3)), [[-4.0] * 3, [4.0] * 3]])
MIXED = pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]})
NEVER = labels_only(lambda Z: Z[:, 0] > 99)


def drawn(
    data: object, queries: list[object], radius: list[float], count: int, *texts: str, norm: Norm = "l2"
) -> tuple[Matrix, Numbers]:
    many = lanes(setting(data, norm=norm, scale="none"), queries, NEVER, *texts)
    rows, at = draw_rows(many.ledger, many.at, np.array(radius), np.full(many.regions.count, count), DRAWS)
    assert many.regions.contains(rows, at).all()
    assert (many.ledger.distance(rows, at) < np.array(radius)[at]).all()
    return rows, at


QUERIES: list[object] = [[0.0] * 3, [1.0, 0.0, -1.0], [-2.0, 2.0, 0.5]]


@settings(max_examples=20)
@given(
    radius=st.lists(st.floats(0.05, 5), min_size=3, max_size=3),
    norm=st.sampled_from(["l1", "l2"]),
    texts=st.lists(
        st.sampled_from(["x0 >= x.x0", "x1 == x.x1", "x0 + x2 <= 1.6", "x2 <= x.x2 + 0.2"]), unique=True
    ),
)
def test_every_row_is_feasible_and_nearer(radius: list[float], norm: Norm, texts: list[str]) -> None:
    rows, at = drawn(NUMBERS, QUERIES, radius, 30, *texts, norm=norm)
    assert rows.shape == (90, 3)
    assert np.bincount(at).tolist() == [30, 30, 30]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_are_even_in_the_ball(norm: Norm) -> None:
    """Of a ball in three columns an eighth lies within half its radius, and half on each side of a column."""
    rows, _ = drawn(NUMBERS, [[0.0] * 3], [2.0], 4000, norm=norm)
    far = np.linalg.norm(rows, ord=2 if norm == "l2" else 1, axis=1)
    assert (far < 1).mean() == pytest.approx(1 / 8, abs=0.02)
    np.testing.assert_allclose((rows > 0).mean(axis=0), 0.5, atol=0.03)


def test_where_a_column_goes_one_way_only_all_rows_go_that_way() -> None:
    rows, _ = drawn(NUMBERS, [[0.0] * 3], [2.0], 2000, "x0 >= x.x0", "x1 == x.x1")
    assert (rows[:, 0] > 0).all()
    assert (rows[:, 1] == 0).all()
    # A half disk: a quarter within half of the radius.
    assert (np.linalg.norm(rows, axis=1) < 1).mean() == pytest.approx(1 / 4, abs=0.03)


def test_a_region_draws_the_same_whatever_others_there_are() -> None:
    together, at = drawn(NUMBERS, QUERIES, [0.5, 2.0, 1.0], 40)
    for number in range(3):
        alone, _ = drawn(NUMBERS, QUERIES[number : number + 1], [[0.5, 2.0, 1.0][number]], 40)
        np.testing.assert_array_equal(together[at == number], alone)


def test_levels_and_whole_numbers_are_drawn_by_each_region_for_itself() -> None:
    rows, at = drawn(MIXED, [{"r": 0.0, "n": 0, "c": "u"}, {"r": 1.0, "n": 2, "c": "v"}], [2.5, 1.5], 50)
    assert set(at) == {0, 1}
    assert (rows[:, 1] == np.round(rows[:, 1])).all()
    assert len(set(rows[at == 0, 2])) == 3


def test_no_rows_and_no_regions_are_no_problem() -> None:
    many = lanes(setting(NUMBERS, scale="none"), QUERIES, NEVER)
    none = np.empty(0, dtype=np.int64)
    assert len(draw_rows(many.ledger, many.at, np.ones(3), np.zeros(3, dtype=np.int64), DRAWS)[0]) == 0
    assert len(draw_rows(many.ledger, none, np.empty(0), none, DRAWS)[0]) == 0
