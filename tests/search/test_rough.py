"""Broad steps, and columns taken back after them: known corners, and rows that stay legal."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.search.lanes import DRAWS, REPLIES, Lanes, judge_of, lane
from tests.support import Setting, setting

from ssba.search.columns import pull_back
from ssba.search.rough import broad_steps
from ssba.search.swaps import Herd

WIDTH = 5
BOX = setting(np.array([[-4.0] * WIDTH, [4.0] * WIDTH]), scale="none")
ORIGIN = [0.0] * WIDTH


def after(where: Setting, query: Any, margin: Any, reply: str, rows: Any, *texts: str) -> Lanes:
    """Bring some rows that reach the target nearer by broad steps, and take their columns back."""
    one = lane(where, query, judge_of(margin, reply), *texts)
    rows = one.region.pull_in(np.array(rows, dtype=float))[0]
    one.knows(rows)
    herd = broad_steps(one.ledger, Herd(rows, np.zeros(len(rows), dtype=np.int64)))
    pull_back(one.ledger, herd.rows, herd.at, DRAWS, sections=4)
    return one


def corner(Z: Any) -> Any:
    """Three steps, all of which are needed."""
    needed = (Z[:, 0] >= 1.0) & (Z[:, 1] >= 0.5) & (Z[:, 2] <= -0.7)
    return np.where(needed, 0.5, -0.5)


FAR = [[3.0, 2.0, -2.0, 1.0, 1.0], [2.0, 3.0, -3.0, -1.0, 0.5], [1.5, 0.8, -3.0, 0.0, 3.0]]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_corner_of_steps_is_closed_in_on(reply: str) -> None:
    best = math.sqrt(1 + 0.25 + 0.49)
    assert best <= after(BOX, ORIGIN, corner, reply, FAR).distance <= 1.1 * best


@pytest.mark.parametrize("reply", REPLIES)
def test_stairs_are_gone_down_as_a_whole(reply: str) -> None:
    """Steps of a quarter, down a plane on the whole: a narrow look would see single steps only."""

    def stairs(Z: Any) -> Any:
        return (np.floor(4 * Z[:, :2]) / 4).sum(axis=1) - 2 + 1e-9

    one = after(BOX, ORIGIN, stairs, reply, [[2.0, 0.1, 0, 0, 0]])
    # On the grid of steps the nearest row is (1, 1).
    assert math.sqrt(2) <= one.distance <= 1.05 * math.sqrt(2)


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("texts", [[], ["x0 <= 2", "x4 == x.x4"]])
def test_all_it_asks_about_is_feasible(reply: str, texts: list[str]) -> None:
    one = after(BOX, ORIGIN, corner, reply, FAR, *texts)
    assert len(one.asked)
    assert one.region.contains(one.asked).all()


MIXED = setting(
    pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]}),
    scale="none",
)


def levels(Z: Any) -> Any:
    return np.where((Z[:, 0] >= 1) & ((Z[:, 2] == 1) | (Z[:, 1] >= 3)), 0.5, -0.5)


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_numbers_and_levels_stay_legal(reply: str) -> None:
    """r >= 1 and level v: sqrt(2), nearer than n >= 3."""
    one = after(MIXED, {"r": 0.0, "n": 0, "c": "u"}, levels, reply, [[3.0, 4.0, 1.0], [2.0, 3.0, 2.0]])
    assert one.region.contains(one.asked).all()
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(one.asked)), one.asked)
    assert math.sqrt(2) <= one.distance <= 1.1 * math.sqrt(2)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_forest_of_many_columns_is_come_down_far(reply: str) -> None:
    """Begun at the background rows on the other side, whose nearest is the first start."""
    rows = np.random.default_rng(0).normal(size=(400, 10))
    model = RandomForestClassifier(12, max_depth=6, random_state=0).fit(rows, rows[:, :6].sum(axis=1) > 1)

    def margin(Z: Any) -> Any:
        return model.predict_proba(Z)[:, 1] - 0.5 - 1e-12

    query = rows[margin(rows) < 0][0]
    others = rows[margin(rows) >= 0]
    near = others[np.argsort(np.linalg.norm(others - query, axis=1))[:6]]
    one = after(setting(rows, scale="none"), query, margin, reply, near)
    assert one.distance < 0.5 * np.linalg.norm(near[0] - query)
    assert (margin(one.found) >= 0).all()
