"""The nearest row that meets linear conditions: ties, single rows, and work that ends early."""

import itertools
import math
import time

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.support import Matrix, setting

from ssba.constraints.regions.nearest_linear import Demands, Work, nearest_row, no_demands

Mask = NDArray[np.bool_]
FRAME = pd.DataFrame({"a": [0, 8, 3, 2], "b": [0, 8, 1, 5]})


def at_least(limit: float, slack: float = 1e-9) -> Demands:
    """Ask for a + b >= limit; sums nearer to it than the slack are for the model to decide."""
    return Demands(np.array([[1.0, 1.0]]), {}, np.array([-limit]), slack)


class TestTies:
    def test_a_row_on_a_tie_is_an_answer_where_the_model_says_so(self) -> None:
        region = setting(FRAME).region({"a": 1, "b": 1})
        asked: list[Matrix] = []

        def model(rows: Matrix) -> Mask:
            asked.append(rows)
            return np.asarray(rows.sum(axis=1) >= 5)

        found = nearest_row(at_least(5), region, setting(FRAME, scale="none").metric, reached=model)
        assert found.row is not None
        assert (found.row.sum(), asked != []) == (5, True)

    def test_a_row_on_a_tie_is_none_where_the_model_says_so(self) -> None:
        metric = setting(FRAME, scale="none").metric
        region = setting(FRAME, scale="none").region({"a": 1, "b": 1})
        found = nearest_row(at_least(5), region, metric, reached=lambda rows: rows.sum(axis=1) > 5)
        assert found.row is not None
        # (3, 3) at sqrt(8); every row with a sum of 5 was shown to the model.
        assert found.row.sum() == 6
        assert found.bound == pytest.approx(8)

    def test_without_the_model_no_bound_goes_beyond_a_tie(self) -> None:
        metric = setting(FRAME, scale="none").metric
        region = setting(FRAME, scale="none").region({"a": 1, "b": 1})
        found = nearest_row(at_least(5), region, metric)
        assert found.row is not None
        assert found.row.sum() == 6
        # (2, 3) and (3, 2) may or may not be answers.
        assert found.bound <= 5 * (1 + 1e-9)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_feasible_row_is_found_and_proved(seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    mine = setting(FRAME, norm="l1" if norm == "l1" else "l2", scale={"a": float(rng.choice([0.5, 1, 3]))})
    weights = rng.choice([1.0, 1.5, -0.5, 2.0, 0.3], size=2)
    limit = float(np.round(rng.uniform(2, 8), 1))
    query = {"a": int(rng.integers(0, 9)), "b": int(rng.integers(0, 9))}
    rows = np.array(list(itertools.product(range(9), repeat=2)), dtype=float)
    legal = rows[np.round(rows @ weights - limit, 9) >= 0]
    if not len(legal):
        return
    region = mine.region(query, f"{weights[0]} * a + {weights[1]} * b >= {limit}")
    nearest = mine.metric.distance(legal, region.x).min()
    assert mine.metric.distance(region.start[None, :], region.x)[0] == pytest.approx(nearest)
    assert nearest * (1 - 1e-6) <= region.begins <= nearest * (1 + 1e-9)


def test_time_that_is_over_leaves_a_bound_of_nothing() -> None:
    mine = setting(FRAME, scale="none")
    region = mine.region({"a": 1, "b": 1})
    over = Work(deadline=time.monotonic() - 1)
    found = nearest_row(at_least(5), region, mine.metric, work=over)
    assert (found.row, found.bound) == (None, 0.0)
    assert math.isinf(found.cost)


def test_no_demands_are_met_by_every_row() -> None:
    region = setting(FRAME).region({"a": 1, "b": 1})
    assert no_demands(region).margin(region.x) == math.inf
