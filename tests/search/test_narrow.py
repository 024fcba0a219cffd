"""Many columns of which few matter: told from those that all matter, and searched by themselves."""

import math
from typing import Any

import numpy as np
import pytest
from tests.search.lanes import REPLIES, judge_of, lane, weighted
from tests.support import Setting, setting

from ssba.search.narrow import columns_that_matter, columns_that_tell, thin_out
from ssba.search.settings import SETTINGS
from ssba.search.starts import Ends

WIDTH = 200
BOTH = pytest.mark.parametrize("reply", REPLIES)


def wide() -> Setting:
    rows = np.random.default_rng(0).normal(size=(120, WIDTH))
    return setting(np.r_[rows, [[-5.0] * WIDTH, [5.0] * WIDTH]], scale="none")


def steps(Z: Any) -> Any:
    """Steps of three columns out of 200."""
    return np.floor(4 * Z[:, [3, 50, 170]]).sum(axis=1) / 4 - 1.5


def end_of(one: Any, row: Any) -> Ends:
    rows = np.array([row], dtype=float)
    one.knows(rows)
    return Ends(rows, one.at, one.judge(rows).margin)


@BOTH
def test_columns_that_do_not_matter_go_back(reply: str) -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(steps, reply))
    row = np.random.default_rng(1).normal(size=WIDTH)
    row[[3, 50, 170]] = 1.0
    thin = thin_out(one.ledger, end_of(one, row))
    assert set(np.flatnonzero(thin.rows[0])) <= {3, 50, 170}
    assert len(one.asked) < WIDTH
    assert columns_that_matter(one.ledger, thin).sum() == np.count_nonzero(thin.rows)


@BOTH
def test_the_columns_that_tell_are_found(reply: str) -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(steps, reply))
    row = np.zeros(WIDTH)
    row[[3, 50, 170]] = 0.5
    one.knows(row)
    assert np.flatnonzero(columns_that_tell(one.ledger, one.at)[0]).tolist() == [3, 50, 170]


def test_all_columns_matter_where_most_of_them_do() -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(lambda Z: Z.sum(axis=1) - 20, "labels"))
    ends = Ends(np.ones((1, WIDTH)), one.at, None)
    assert columns_that_matter(one.ledger, ends).all()


@BOTH
def test_steps_of_few_of_many_columns_are_come_down_to(reply: str) -> None:
    """Half a unit in each of the three columns."""
    found = lane(wide(), [0.0] * WIDTH, judge_of(steps, reply)).search()
    assert math.sqrt(0.75) <= found.distance <= 1.1 * math.sqrt(0.75)
    assert len(found.asked) < 6000


@BOTH
def test_a_plane_of_all_of_many_columns_is_found_none_the_less(reply: str) -> None:
    weights = np.random.default_rng(2).normal(size=WIDTH)
    weights /= np.linalg.norm(weights)
    found = lane(wide(), [0.0] * WIDTH, judge_of(lambda Z: weighted(Z, weights) - 1, reply)).search()
    assert 1 - 1e-9 <= found.distance <= 1.02


@BOTH
def test_scores_that_are_flat_at_the_query_hide_no_plane_of_many_columns(reply: str) -> None:
    """As those of a network that is sure of itself; near the boundary they rise."""
    weights = np.random.default_rng(2).normal(size=WIDTH)
    weights /= np.linalg.norm(weights)
    margin = judge_of(lambda Z: np.maximum(weighted(Z, weights) - 1, -0.5), reply)
    assert 1 - 1e-9 <= lane(wide(), [0.0] * WIDTH, margin).search().distance <= 1.02


def test_the_search_ends_with_all_columns_in_its_regions() -> None:
    one = lane(wide(), [0.0] * WIDTH, judge_of(steps, "labels"))
    assert one.regions.free.sum() > SETTINGS.narrow.columns
    before = one.regions
    one.search()
    assert one.regions is before
