"""Columns chosen by gain and cost: additive stairs solved by hand, split values, rows that stay legal."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.search.lanes import DRAWS, Judge, Lanes, lane, lanes
from tests.support import Setting, scored, setting

from ssba.columns.distance import Norm
from ssba.search.lanes import Herd
from ssba.search.profile import _worth_it, buy, profile_of

# Per column a step at each of these values is worth that much score.
STEPS = [[(0.5, 1.0), (1.5, 0.7)], [(0.4, 0.6), (2.0, 2.5)], [(1.0, 1.2)], [(0.3, 0.2), (0.9, 0.9)]]
NEEDED = 2.6
ANYWHERE = np.array([[-4.0] * 4, [4.0] * 4])
ORIGIN = [0.0] * 4
HIGH = [2.1, 2.2, 1.3, 1.1]


def stairs(Z: Any) -> Any:
    """Add up the steps that a row has climbed."""
    total = np.full(len(Z), -NEEDED + 1e-9)
    for column, steps in enumerate(STEPS):
        for value, worth in steps:
            total = total + np.where(Z[:, column] >= value, worth, 0.0)
    return total


STAIRS = scored(stairs)


def nearest_by_hand(power: int) -> float:
    """Try every combination of steps."""
    choices = [[0.0, *(value for value, _ in column)] for column in STEPS]
    rows = np.array(list(itertools.product(*choices)))
    return float(np.linalg.norm(rows[stairs(rows) >= 0], ord=power, axis=1).min())


def begun(where: Setting, query: Any, rows: Any, judge: Judge, *texts: str) -> tuple[Lanes, Herd]:
    """Return a ledger that knows some rows that reach the target, and these as parents."""
    rows = np.array(rows, dtype=float, ndmin=2)
    one = lane(where, query, judge, *texts).knows(rows)
    return one, Herd(rows, np.zeros(len(rows), dtype=np.int64))


def after(where: Setting, query: Any, rows: Any, judge: Judge, *texts: str) -> Lanes:
    """Return what choosing columns anew made of rows."""
    one, parents = begun(where, query, rows, judge, *texts)
    buy(one.ledger, np.unique(parents.at), DRAWS)
    return one


@pytest.mark.parametrize(("norm", "power"), [("l2", 2), ("l1", 1)])
def test_the_best_choice_is_nearly_found(norm: Norm, power: int) -> None:
    where = setting(ANYWHERE, norm=norm, scale="none")
    best = nearest_by_hand(power)
    assert best <= after(where, ORIGIN, HIGH, STAIRS).distance <= 1.15 * best


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_one_large_change_is_given_up_for_many_small_ones(norm: Norm) -> None:
    """What column 0 does at 2, five others do together at 0.2 each: no pair of changes gets there."""
    where = setting(np.array([[-4.0] * 8, [4.0] * 8]), norm=norm, scale="none")
    judge = scored(lambda Z: (Z[:, 0] >= 2) + 0.2 * (Z[:, 1:] >= 0.2).sum(axis=1) - 1 + 1e-9)
    one = after(where, [0.0] * 8, [2.0, *[0.0] * 7], judge)
    best = 0.2 * 5 if norm == "l1" else 0.2 * np.sqrt(5)
    assert best <= one.distance <= 1.1 * best
    assert (one.ledger.best_row[0, 1:] >= 0.2).sum() == 5


def test_scales_and_weights_decide_what_is_cheap() -> None:
    """Column 1 costs a hundredth: all that is needed is bought there, at 2.0 for 3.1, or nearby."""
    where = setting(ANYWHERE, scale="none", weights={"x1": 0.01})
    one = after(where, ORIGIN, HIGH, STAIRS)
    assert 0.02 <= one.distance <= 0.025
    np.testing.assert_allclose(one.ledger.best_row[:, [0, 2, 3]], 0)


def test_a_row_with_nothing_to_give_up_is_left_alone() -> None:
    where = setting(ANYWHERE, scale="none")
    judge = scored(lambda Z: np.where(Z[:, 0] >= -9, 0.5, -0.5))
    assert after(where, ORIGIN, ORIGIN, judge).distance == 0


def test_levels_are_chosen_instead_of_numbers() -> None:
    frame = pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]})
    where = setting(frame, scale="none", weights={"c": 0.5})
    worth = np.array([0.0, 1.0, 2.0])
    judge = scored(lambda Z: Z[:, 0] + Z[:, 1] + worth[Z[:, 2].astype(int)] - 2)
    one, parents = begun(where, {"r": 0.0, "n": 0, "c": "u"}, [2.0, 1.0, 0.0], judge)
    buy(one.ledger, parents.at, DRAWS)
    assert one.distance == 0.5
    assert one.ledger.best_row.tolist() == [[0.0, 0.0, 2.0]]
    assert one.region.contains(one.asked).all()
    np.testing.assert_array_equal(where.space.encode(where.space.decode(one.asked)), one.asked)


@pytest.mark.parametrize("texts", [["x0 <= 1", "x3 == x.x3"], ["x1 >= 0.2"]])
def test_only_feasible_rows_are_asked_about(texts: list[str]) -> None:
    where = setting(ANYWHERE, scale="none")
    row = where.region(ORIGIN, *texts).pull_in(np.array([HIGH]))[0]
    one = after(where, ORIGIN, row, STAIRS, *texts)
    assert one.region.contains(one.asked).all()
    assert one.distance < np.linalg.norm(row)


def test_beside_a_line_what_is_found_keeps_to_it() -> None:
    one = after(setting(ANYWHERE, scale="none"), ORIGIN, HIGH, STAIRS, "x0 + x1 >= x2")
    assert len(one.found) > 1
    assert (one.found[:, 0] + one.found[:, 1] >= one.found[:, 2]).all()
    assert (stairs(one.found) >= 0).all()


def test_columns_of_several_regions_are_chosen_as_if_alone() -> None:
    where = setting(ANYWHERE, scale="none")
    queries, rows = [ORIGIN, [0.2, -0.3, 0.0, 0.1]], np.array([HIGH, [2.0, 2.5, 1.5, 1.0]])
    two = lanes(where, queries, STAIRS)
    two.ledger.add_known(rows, two.at)
    buy(two.ledger, two.at, DRAWS)
    for number in range(2):
        alone = after(where, queries[number], rows[number], STAIRS)
        np.testing.assert_array_equal(two.asked_of(number), alone.asked)


class TestProfile:
    def test_gains_and_costs_are_those_of_single_changes(self) -> None:
        where = setting(ANYWHERE, scale="none")
        one, parents = begun(where, ORIGIN, HIGH, STAIRS)
        profile = profile_of(one.ledger, parents.rows, parents.at)
        np.testing.assert_allclose(profile.margin, stairs(parents.rows))
        assert profile.given.sum() > 4 * 20
        for column, place in zip(*np.nonzero(profile.given[0]), strict=True):
            row = np.array([HIGH])
            row[0, column] = profile.values[0, column, place]
            assert profile.gain[0, column, place] == pytest.approx(stairs(row)[0] - profile.margin[0])
            assert profile.cost[0, column, place] == pytest.approx(row[0, column] ** 2)

    def test_held_columns_keep_their_values(self) -> None:
        where = setting(ANYWHERE, scale="none")
        one, parents = begun(where, ORIGIN, [2.1, 2.2, 1.3, 0.0], STAIRS, "x3 == x.x3")
        profile = profile_of(one.ledger, parents.rows, parents.at)
        assert profile.given[0, 3].sum() == 1
        assert profile.values[0, 3, 0] == 0.0

    def test_a_score_that_is_infinite_gains_nothing(self) -> None:
        judge = scored(lambda Z: np.where(Z[:, 0] < -1, -np.inf, stairs(Z)))
        one, parents = begun(setting(ANYWHERE, scale="none"), ORIGIN, HIGH, judge)
        profile = profile_of(one.ledger, parents.rows, parents.at)
        assert np.isfinite(profile.gain).all()


def test_only_changes_that_gain_more_than_cheaper_ones_are_weighed() -> None:
    rng = np.random.default_rng(0)
    gain = rng.integers(-3, 4, size=(20, 8)).astype(float)
    cost = rng.integers(0, 5, size=(20, 8)).astype(float)
    cost[::3, 2] = np.inf
    kept_gain, kept_cost, place = _worth_it(gain, cost)
    for j in range(len(gain)):
        own = np.flatnonzero(np.isfinite(kept_cost[j]))
        kept = {(gain[j, i], cost[j, i]) for i in place[j, own]}
        assert kept == set(zip(kept_gain[j, own], kept_cost[j, own], strict=True))
        finite = [i for i in range(8) if np.isfinite(cost[j, i])]
        for i in finite:
            # Whatever is left out is matched by one that costs no more and gains no less.
            assert any(g >= gain[j, i] and c <= cost[j, i] for g, c in kept)
        for g, c in kept:
            # Nothing cheaper gains as much as one that is kept.
            assert not any(gain[j, i] >= g and cost[j, i] < c for i in finite)
