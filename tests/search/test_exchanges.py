"""Exchanges by trial, swaps and trades: known corners, rows that are nearer, stay apart and stay legal."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import DRAWS, REPLIES, Lanes, judge_of, lane, lanes
from tests.support import Matrix, every, labels_only, setting

from ssba.search.exchanges import apart, nearest_few, swap, trade, trades
from ssba.search.lanes import Herd
from ssba.search.regions import Numbers
from ssba.search.settings import SETTINGS

BOX = setting(np.array([[-4.0] * 5, [4.0] * 5]), scale="none")
ORIGIN = [0.0] * 5
PARENT, DONOR = [[2.0, 0, 0, 0, 0]], [[1.0, 1.5, 1.2, -1.6, 1.0]]
MIXED = setting(pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]}), scale="none")

GRID = setting(np.array([[-6] * 4, [6] * 4]), scale="none")
CORNER = [0] * 4
BOTH = pytest.mark.parametrize("reply", REPLIES)


def zeros(count: int) -> Numbers:
    return np.zeros(count, dtype=np.int64)


def no_rows(width: int) -> Herd:
    return Herd(np.empty((0, width)), zeros(0))


def herd(rows: Any) -> Herd:
    rows = np.array(rows, dtype=float, ndmin=2)
    return Herd(rows, zeros(len(rows)))


def swapped(one: Lanes, parents: Any, donors: Any, rounds: int = 12) -> float:
    one.knows(parents)
    swap(one.ledger, herd(parents), herd(donors), DRAWS, rounds)
    return one.distance


def either_way(Z: Any) -> Any:
    """One large step in column 0, or three small ones in columns 1 to 3."""
    return (Z[:, 0] >= 2.0) | ((Z[:, 1] >= 0.5) & (Z[:, 2] >= 0.6) & (Z[:, 3] <= -0.7))


def corner(Z: Any) -> Any:
    return (Z[:, 0] >= 1.0) & (Z[:, 1] >= 0.5) & (Z[:, 2] <= -0.7)


def test_one_large_change_is_given_up_for_small_ones_that_a_donor_has() -> None:
    """No column of (2, 0, 0, 0, 0) can go back; three small steps are |(0.5, 0.6, 0.7)| = 1.049."""
    found = swapped(lane(BOX, ORIGIN, labels_only(either_way)), PARENT, DONOR)
    best = math.sqrt(0.5**2 + 0.6**2 + 0.7**2)
    assert best <= found <= 1.06 * best


def test_good_halves_of_two_rows_come_together() -> None:
    """Each row is good in other columns than the other."""
    rows = [[1.0, 0.5, -3.5, 0.0, 0.0], [3.5, 3.0, -0.7, 0.0, 0.0]]
    found = swapped(lane(BOX, ORIGIN, labels_only(corner)), rows, rows)
    best = math.sqrt(1 + 0.25 + 0.49)
    assert best <= found <= 1.06 * best


@pytest.mark.parametrize("texts", [["x0 <= 3", "x3 == x.x3"], ["x0 - x2 <= 5"]])
def test_what_is_found_is_feasible_and_nearer(texts: list[str]) -> None:
    one = lane(BOX, ORIGIN, labels_only(corner), *texts)
    rows = one.region.pull_in(np.array([[2.0, 1.5, -2.5, 0.0, 0.0], [1.5, 3.0, -3.0, 0.0, 1.0]]))[0]
    assert swapped(one, rows, rows) < np.linalg.norm(rows, axis=1).min()
    assert one.region.contains(one.found).all()
    assert one.region.contains(one.asked).all()


def test_levels_and_whole_numbers_are_exchanged_and_stay_legal() -> None:
    """r >= 1 with level v is at sqrt(2); the parent has n = 3 instead of the level."""
    judge = labels_only(lambda Z: (Z[:, 0] >= 1) & ((Z[:, 2] == 1) | (Z[:, 1] >= 3)))
    one = lane(MIXED, {"r": 0.0, "n": 0, "c": "u"}, judge)
    assert swapped(one, [[1.0, 3.0, 0.0]], [[2.0, 0.0, 1.0]]) == pytest.approx(math.sqrt(2), rel=0.06)
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(one.asked)), one.asked)


def test_a_missing_cell_of_the_query_stays_missing() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 5.0, None], "b": [0.0, 5.0, 4.0]}), scale="none")
    one = lane(where, {"a": None, "b": 0.0}, labels_only(lambda Z: Z[:, 1] >= 2))
    assert swapped(one, [[math.nan, 4.0]], [[math.nan, 5.0]]) < 2.2
    assert np.isnan(one.asked[:, 0]).all()


def test_a_row_that_changes_nothing_has_nothing_to_exchange() -> None:
    assert swapped(lane(BOX, ORIGIN, labels_only(lambda Z: Z[:, 0] > -9)), [ORIGIN], [ORIGIN]) == 0


def test_a_smaller_budget_asks_the_first_rows_of_a_larger_one() -> None:
    few, many = (lane(BOX, ORIGIN, labels_only(either_way), most=most) for most in (150, math.inf))
    assert swapped(few, PARENT, DONOR) >= swapped(many, PARENT, DONOR)
    assert len(few.asked) == 150
    np.testing.assert_array_equal(many.asked[:150], few.asked)


def test_regions_exchange_among_themselves_as_if_alone() -> None:
    queries, judge = [ORIGIN, [0.2] * 5, [-0.5] * 5], labels_only(either_way)
    rows = np.array([[2.5, 0, 0, 0, 0], [2.0, 0.3, 0, 0, 0], [3.0, 0, 0.1, 0, 0]])
    donors = np.array([DONOR[0], [0.4, 1.5, 1.2, -1.6, 1.0], [1.0, 3.0, 1.2, -1.6, 2.0]])
    three = lanes(BOX, queries, judge)
    three.ledger.add_known(rows, three.at)
    swap(three.ledger, Herd(rows, three.at), Herd(donors, three.at), DRAWS, 3)
    for number in range(3):
        alone = lane(BOX, queries[number], judge)
        swapped(alone, rows[number], donors[number], 3)
        np.testing.assert_array_equal(three.asked_of(number), alone.asked)


def test_the_nearest_few_come_in_order_and_each_once() -> None:
    two = lanes(BOX, [ORIGIN, ORIGIN], labels_only(corner))
    rows = np.zeros((7, 5))
    rows[:, 0] = [3, 1, -1, 1, 2, 4, 3]
    found, of = nearest_few(two.ledger, rows, np.array([0, 0, 0, 0, 0, 1, 1]), 3)
    assert found[:, 0].tolist() == [1, -1, 2, 3, 4]
    assert of.tolist() == [0, 0, 0, 1, 1]


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.01, 2))
def test_rows_that_stay_apart_are_the_nearest_of_which_no_two_are_almost_the_same(
    seed: int, spread: float
) -> None:
    """Taken one by one, nearest first: a row is in unless one before it is within a share of its distance."""
    rng = np.random.default_rng(seed)
    two = lanes(BOX, [ORIGIN, [1.0] * 5], labels_only(corner))
    rows, at = 1 + spread * rng.normal(size=(30, 5)), np.repeat([0, 1], [18, 12])
    found = apart(two.ledger, Herd(rows, at), SETTINGS.columns.followed)
    for number in range(2):
        mine = rows[at == number]
        far = np.linalg.norm(mine - two.regions.x[number], axis=1)
        expected: list[Matrix] = []
        for i in np.argsort(far, kind="stable"):
            gaps = [np.linalg.norm(mine[i] - other) for other in expected]
            if len(expected) < SETTINGS.columns.followed and all(
                gap > SETTINGS.descent.first_tolerance * far[i] for gap in gaps
            ):
                expected.append(mine[i])
        np.testing.assert_array_equal(found.rows[found.at == number], expected)


def test_no_rows_stay_apart_from_none() -> None:
    one = lane(BOX, ORIGIN, labels_only(corner))
    empty = Herd(np.empty((0, 5)), zeros(0))
    assert len(apart(one.ledger, empty, 8).at) == 0
    swap(one.ledger, empty, empty, DRAWS, 3)
    assert every([not one.calls])


def known(margin: Any, reply: str, *rows: list[float], query: Any = CORNER, where: Any = GRID) -> Lanes:
    """Return a lane whose search knows some rows that reach the target."""
    return lane(where, query, judge_of(margin, reply)).knows(np.array(rows, dtype=float))


def either(Z: Any) -> Any:
    """Four steps of the first column, or two each of the first and the second."""
    return np.where((Z[:, 0] >= 4) | ((Z[:, 0] >= 2) & (Z[:, 1] >= 2)), 0.5, -0.5)


def traded(one: Lanes) -> float:
    trade(one.ledger, one.at, no_rows(one.regions.x.shape[1]), DRAWS)
    return one.distance


@BOTH
def test_one_column_goes_back_and_another_pays(reply: str) -> None:
    assert traded(known(either, reply, [4, 0, 0, 0])) == pytest.approx(math.sqrt(8))


def chain(Z: Any) -> Any:
    """Each further column pays for a part of the first; all of them together are cheapest."""
    need = 6 - 2 * np.minimum(np.maximum(Z[:, 1:], 0), 1).sum(axis=1)
    return np.where(Z[:, 0] >= need, 0.5, -0.5)


@BOTH
def test_trades_lead_to_further_trades(reply: str) -> None:
    assert traded(known(chain, reply, [6, 0, 0, 0])) == pytest.approx(math.sqrt(3))


def test_where_no_trade_is_a_gain_it_ends_after_a_few_rounds() -> None:
    one = known(lambda Z: np.where(Z[:, 0] >= 4, 0.5, -0.5), "labels", [4, 0, 0, 0])
    assert traded(one) == 4
    assert len(one.calls) == SETTINGS.trades.patience


@pytest.mark.parametrize("query", [{"r": 0.0, "n": 0, "c": "u"}, {"r": 1.25, "n": -2, "c": "w"}])
@pytest.mark.parametrize("texts", [[], ["r + n <= 3"]])
def test_every_trade_is_legal_and_a_little_nearer(query: Any, texts: list[str]) -> None:
    one = lane(MIXED, query, judge_of(lambda Z: Z[:, 0] - 1, "labels"), *texts)
    row = one.region.pull_in(np.array([[2.0, 1.0, 1.0]]))[0]
    one.knows(row)
    rows, of = trades(one.ledger, herd(row), no_rows(3), DRAWS)
    assert len(np.unique(rows, axis=0)) > 10
    assert every(one.region.contains(rows))
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(rows)), rows)
    far = one.ledger.distance(rows, of) / one.ledger.distance(row, one.at)
    assert ((far < 1) & (far > 1 / SETTINGS.columns.worthwhile)).all()


def test_trades_keep_parts_of_changes_begin_anew_and_lean_to_the_side_of_donors() -> None:
    one = known(either, "labels", [6, -3, 0, 0])
    donors = herd([[0.0, 0.0, 5.0, -5.0]])
    rows, _ = trades(one.ledger, herd([[6.0, -3.0, 0, 0]]), donors, DRAWS)
    assert {(6.0, 0.0), (0.0, -3.0), (3.0, -3.0)} <= set(map(tuple, rows[:, :2].tolist()))
    anew = rows[(rows[:, :2] == 0).all(axis=1)]
    assert len(anew) > 0
    sides = np.sign(rows[:, 2:]) * [1.0, -1.0]
    assert (sides > 0).sum() > 1.4 * (sides < 0).sum()


def test_a_level_pays_for_a_number() -> None:
    """r >= 3, or r >= 1 at level v, which costs 1."""

    def margin(Z: Any) -> Any:
        return np.where((Z[:, 0] >= 3) | ((Z[:, 0] >= 1) & (Z[:, 2] == 1)), 0.5, -0.5)

    one = known(margin, "labels", [3.0, 0.0, 0.0], query={"r": 0.0, "n": 0, "c": "u"}, where=MIXED)
    assert math.sqrt(2) <= traded(one) <= 1.05 * math.sqrt(2)


LEVELS = {"c": list("uvw") * 4, "d": list("pq") * 6}
REALS = setting(
    pd.DataFrame(np.random.default_rng(0).uniform(-6, 6, (12, 2)), columns=["r", "s"]).assign(**LEVELS),
    scale="none",
    weights={"c": 0.5, "d": 0.5},
)
WORTH = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 2.5]])


def leveled(Z: Any) -> Any:
    """Levels w and q together are worth 2.5 of the 3 that are needed, and little alone."""
    return Z[:, 0] + 0.5 * Z[:, 1] + WORTH[Z[:, 2].astype(int), Z[:, 3].astype(int)] - 3.0


@BOTH
def test_two_levels_at_once_pay_for_what_numbers_change_together(reply: str) -> None:
    """With w and q 0.5 is left for a plane with the slopes 1 and 0.5."""
    query = {"r": 0.0, "s": 0.0, "c": "u", "d": "p"}
    one = known(leveled, reply, [2.4, 1.2, 0.0, 0.0], query=query, where=REALS)
    best = math.hypot(0.5 / math.hypot(1.0, 0.5), math.sqrt(0.5))
    assert best <= traded(one) <= 1.01 * best


def test_in_many_trades_numbers_keep_their_proportions() -> None:
    query = {"r": 0.0, "s": 0.0, "c": "u", "d": "p"}
    one = known(leveled, "labels", [2.4, 1.2, 2.0, 0.0], query=query, where=REALS)
    rows, of = trades(one.ledger, herd([[2.4, 1.2, 2.0, 0.0]]), no_rows(4), DRAWS)
    both = (rows[:, :2] != 0).all(axis=1)
    alike = np.isclose(rows[:, 0], 2 * rows[:, 1], rtol=1e-12) & both
    assert 0.3 < alike.mean() < 0.9
    far = one.ledger.distance(rows, of) / one.distance
    assert ((far > 0.99) & (far < 1))[alike].mean() > 0.6


def pocket(Z: Any) -> Any:
    """Four steps of the first column, or one of each of the others."""
    return np.where((Z[:, 0] >= 4) | (Z[:, 1:] >= 1).all(axis=1), 0.5, -0.5)


@BOTH
def test_several_columns_pay_for_one(reply: str) -> None:
    assert traded(known(pocket, reply, [4, 0, 0, 0])) == pytest.approx(math.sqrt(3))


def test_regions_trade_as_if_alone() -> None:
    queries = [[0, 0, 0, 0], [1, 0, -1, 0], [-2, 1, 0, 0]]
    judge = judge_of(chain, "labels")
    together = lanes(GRID, queries, judge)
    together.ledger.add_known(np.array([[6.0, 0, 0, 0]] * 3), together.at)
    trade(together.ledger, together.at, no_rows(4), DRAWS)
    for number, query in enumerate(queries):
        alone = lane(GRID, query, judge).knows([6.0, 0, 0, 0])
        traded(alone)
        np.testing.assert_array_equal(together.asked_of(number), alone.asked)
