"""Trades between columns on a grid: known corners, rows that are nearer and legal, regions as if alone."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.search.lanes import DRAWS, REPLIES, Lanes, judge_of, lane, lanes
from tests.support import every, setting

from ssba.search.swaps import Herd
from ssba.search.trades import trade, trades, without_columns

GRID = setting(np.array([[-6] * 4, [6] * 4]), scale="none")
ORIGIN = [0] * 4
BOTH = pytest.mark.parametrize("reply", REPLIES)


def known(margin: Any, reply: str, *rows: list[float], query: Any = ORIGIN, where: Any = GRID) -> Lanes:
    """Return a lane whose search knows some rows that reach the target."""
    return lane(where, query, judge_of(margin, reply)).knows(np.array(rows, dtype=float))


def either(Z: Any) -> Any:
    """Four steps of the first column, or two each of the first and the second."""
    return np.where((Z[:, 0] >= 4) | ((Z[:, 0] >= 2) & (Z[:, 1] >= 2)), 0.5, -0.5)


@BOTH
def test_one_column_goes_back_and_another_pays(reply: str) -> None:
    one = known(either, reply, [4, 0, 0, 0])
    trade(one.ledger, one.at, DRAWS)
    assert one.distance == pytest.approx(math.sqrt(8))


def chain(Z: Any) -> Any:
    """Each further column pays for a part of the first; all of them together are cheapest."""
    need = 6 - 2 * np.minimum(np.maximum(Z[:, 1:], 0), 1).sum(axis=1)
    return np.where(Z[:, 0] >= need, 0.5, -0.5)


@BOTH
def test_trades_lead_to_further_trades(reply: str) -> None:
    one = known(chain, reply, [6, 0, 0, 0])
    trade(one.ledger, one.at, DRAWS)
    assert one.distance == pytest.approx(math.sqrt(3))


def test_where_no_trade_is_a_gain_it_ends_after_one_round() -> None:
    one = known(lambda Z: np.where(Z[:, 0] >= 4, 0.5, -0.5), "labels", [4, 0, 0, 0])
    trade(one.ledger, one.at, DRAWS)
    assert len(one.calls) == 1
    assert one.distance == 4


MIXED = setting(pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]}), scale="none")


@pytest.mark.parametrize("query", [{"r": 0.0, "n": 0, "c": "u"}, {"r": 1.25, "n": -2, "c": "w"}])
def test_every_trade_is_legal_and_nearer_and_changes_two_columns(query: Any) -> None:
    one = lane(MIXED, query, judge_of(lambda Z: Z[:, 0] - 1, "labels"))
    row = one.region.pull_in(np.array([[3.0, 2.0, 1.0]]))[0]
    rows, of = trades(one.ledger, row, one.at)
    assert len(rows) > 10
    assert every(one.region.contains(rows))
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(rows)), rows)
    assert (one.ledger.distance(rows, of) < one.ledger.distance(row, one.at)).all()
    assert ((rows != row).sum(axis=1) == 2).all()


def test_a_level_pays_for_a_number() -> None:
    """r >= 3, or r >= 1 at level v, which costs 1."""

    def margin(Z: Any) -> Any:
        return np.where((Z[:, 0] >= 3) | ((Z[:, 0] >= 1) & (Z[:, 2] == 1)), 0.5, -0.5)

    one = known(margin, "labels", [3.0, 0.0, 0.0], query={"r": 0.0, "n": 0, "c": "u"}, where=MIXED)
    trade(one.ledger, one.at, DRAWS)
    assert math.sqrt(2) <= one.distance <= 1.05 * math.sqrt(2)


def pocket(Z: Any) -> Any:
    """Four steps of the first column, or one of each of the others: no trade between two leads there."""
    return np.where((Z[:, 0] >= 4) | (Z[:, 1:] >= 1).all(axis=1), 0.5, -0.5)


@BOTH
def test_rows_without_a_column_come_from_donors(reply: str) -> None:
    one = known(pocket, reply, [4, 0, 0, 0])
    donors = Herd(np.array([[5.0, 2, 3, 2], [6.0, 0, 0, 0]]), np.zeros(2, dtype=np.int64))
    found = without_columns(one.ledger, donors, one.at, DRAWS)
    assert found.rows.tolist() == [[0, 1, 1, 1]]
    assert one.distance == pytest.approx(math.sqrt(3))


def test_without_donors_nothing_is_asked() -> None:
    one = known(pocket, "labels", [4, 0, 0, 0])
    none = Herd(np.empty((0, 4)), np.empty(0, dtype=np.int64))
    assert len(without_columns(one.ledger, none, one.at, DRAWS).at) == 0
    assert one.calls == []


def test_regions_trade_as_if_alone() -> None:
    queries = [[0, 0, 0, 0], [1, 0, -1, 0], [-2, 1, 0, 0]]
    judge = judge_of(chain, "labels")
    together = lanes(GRID, queries, judge)
    together.ledger.add_known(np.array([[6.0, 0, 0, 0]] * 3), together.at)
    trade(together.ledger, together.at, DRAWS)
    for number, query in enumerate(queries):
        alone = lane(GRID, query, judge).knows([6.0, 0, 0, 0])
        trade(alone.ledger, alone.at, DRAWS)
        np.testing.assert_array_equal(together.asked_of(number), alone.asked)
