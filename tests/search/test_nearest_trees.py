"""The whole search where the nearest row is known cell by cell: trees, small forests, corners; ways down."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.search.lanes import REPLIES, Judge, lane, lanes
from tests.support import Matrix, labels_only, scored, setting

from ssba.search.descend import ways_from
from ssba.search.nearest import way_down


def moons(columns: int, seed: int) -> tuple[Matrix, Any]:
    """Return rows and labels that no straight line parts."""
    rows = np.random.default_rng(seed).normal(size=(300, columns))
    return rows, (np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, -1] > 0.4).astype(int)


def tree_judge(model: Any, reply: str) -> Judge:
    """Return what a tree model says; a tie is the other class."""
    if reply == "labels":
        return labels_only(lambda Z: model.predict(Z) == 1)
    return scored(lambda Z: model.predict_proba(Z)[:, 1] - 0.5 - 1e-12)


def nearest_cell(model: Any, thresholds: list[Matrix], x: Matrix) -> float:
    """Return the distance of the nearest row that a tree model calls 1, by asking in all of its cells.

    Trees look at rows in 32 bits: a cell begins just beyond its threshold there.
    """
    values = []
    for cuts, home in zip(thresholds, x, strict=True):
        below = np.nextafter(cuts.astype(np.float32), np.float32(-np.inf)).astype(float)
        above = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(float)
        values.append(np.unique(np.r_[home, below, cuts, above]))
    rows = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(x))
    distances = np.linalg.norm(rows - x, axis=1)
    order = np.argsort(distances)
    for some in np.array_split(order, 1 + len(order) // 20000):
        reached = np.flatnonzero(model.predict(rows[some]) == 1)
        if len(reached):
            return float(distances[some[reached[0]]])
    raise AssertionError("no cell reaches")


def tree_ratios(model: Any, trees: list[Any], rows: Matrix, reply: str, count: int) -> Matrix:
    """Return how much farther than the nearest cell the search ends, for some queries at once."""
    cuts = [
        np.unique(np.concatenate([tree.tree_.threshold[tree.tree_.feature == column] for tree in trees]))
        for column in range(rows.shape[1])
    ]
    queries = rows[model.predict(rows) == 0][:count]
    found = lanes(setting(rows, scale="none"), list(queries), tree_judge(model, reply)).search()
    best = np.array([nearest_cell(model, cuts, x) for x in queries])
    return np.asarray(found.ledger.best_of_query() / best)


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("columns", [2, 3])
def test_a_tree_of_few_columns_is_mostly_solved(reply: str, columns: int) -> None:
    """A thin cell between the rows asked about may be missed, but not by more than one query in eight."""
    rows, labels = moons(columns, 0)
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(rows, labels)
    ratios = tree_ratios(model, [model], rows, reply, 16)
    assert ratios.min() >= 1 - 1e-6
    assert np.median(ratios) <= 1.001
    assert (ratios <= 1.01).mean() >= 7 / 8


@pytest.mark.parametrize("reply", REPLIES)
def test_a_forest_of_two_columns_is_solved(reply: str) -> None:
    rows, labels = moons(2, 1)
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(rows, labels)
    ratios = tree_ratios(model, model.estimators_, rows, reply, 8)
    assert ratios.min() >= 1 - 1e-6
    assert ratios.mean() <= 1.01


@pytest.mark.parametrize("seed", range(5))
def test_a_corner_of_two_columns_is_ended_in(seed: int) -> None:
    """The nearest row beyond both (0.5, 1.2) lies at 1.3."""
    rows = np.random.default_rng(seed).uniform(-3, 3, size=(400, 2))
    judge = labels_only(lambda Z: (Z > [0.5, 1.2]).all(axis=1))
    found = lane(setting(rows, scale="none"), [0.0, 0.0], judge).search()
    assert 1.3 <= found.distance <= 1.002 * 1.3


BOX = setting(np.array([[-5.0] * 3, [5.0] * 3]), scale="none")


class TestWayDown:
    def test_a_close_competitor_gets_another_round(self) -> None:
        """The first row is the foot of its plane; the other is a little farther, but its plane is nearer."""
        one = lane(BOX, [0.0] * 3, labels_only(lambda Z: (Z[:, 0] >= 1) | (Z[:, 1] <= -0.8)))
        rows = np.array([[1.0, 0.0, 0.0], [0.0, -0.8, 0.69]])
        ways = ways_from(one.ledger, rows, np.zeros(2, dtype=np.int64), None)
        assert ways.distance[0] < ways.distance[1] < 1.1 * ways.distance[0]
        assert way_down(one.ledger, ways, None).distance[0] < 0.9

    def test_one_way_a_region_is_followed_to_its_end(self) -> None:
        """Two queries with two rows each: the nearest way of each is gone down."""
        two = lanes(BOX, [[0.0] * 3, [0.0, 0.5, 0.0]], labels_only(lambda Z: Z[:, 0] + Z[:, 2] >= 2))
        rows = np.array([[1.5, 0.5, 0.5], [0.0, 2.0, 2.0], [2.0, 0.5, 0.0], [0.2, 0.0, 1.8]])
        best = way_down(two.ledger, ways_from(two.ledger, rows, np.array([0, 0, 1, 1]), None), None)
        assert best.at.tolist() == [0, 1]
        np.testing.assert_allclose(best.distance, np.sqrt(2), rtol=0.01)
