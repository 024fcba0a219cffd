"""The search on stepped boundaries: known corners, and rows that stay legal."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.support import Matrix, Setting, answered, labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.rough import rough_search

WIDTH = 5
BOX = setting(np.array([[-4.0] * WIDTH, [4.0] * WIDTH]), scale="none")
REPLIES = ["scores", "labels"]


class Search:
    """A search in a region with all that it asked."""

    def __init__(self, where: Setting, query: Any, margin: Any, reply: str, *texts: str) -> None:
        self.archive = Archive(where.region(query, *texts), where.metric)
        self.judge = scored(margin) if reply == "scores" else labels_only(lambda Z: margin(Z) >= 0)
        start = float(margin(self.archive.region.start[None, :])[0])
        self.start_margin = start if reply == "scores" else None
        self.asked: list[Matrix] = []

    def run(self, search: Any) -> None:
        def remember(Z: Any) -> Reply:
            self.asked.append(Z)
            reply: Reply = self.judge(Z)
            return reply

        answered(recorded(search, self.archive, math.inf, lambda: False), remember)

    def rough(self, rows: Matrix) -> float:
        self.archive.record(rows, Reply(np.ones(len(rows), dtype=bool), None))
        self.run(rough_search(self.archive, rows, self.start_margin, np.random.default_rng(0)))
        return self.archive.best_distance

    @property
    def every(self) -> Matrix:
        return np.concatenate(self.asked)


def corner(Z: Any) -> Any:
    """Three steps, all of which are needed."""
    needed = (Z[:, 0] >= 1.0) & (Z[:, 1] >= 0.5) & (Z[:, 2] <= -0.7)
    return np.where(needed, 0.5, -0.5)


FAR = np.array([[3.0, 2.0, -2.0, 1.0, 1.0], [2.0, 3.0, -3.0, -1.0, 0.5], [1.5, 0.8, -3.0, 0.0, 3.0]])


@pytest.mark.parametrize("reply", REPLIES)
def test_a_corner_of_steps_is_closed_in_on(reply: str) -> None:
    best = math.sqrt(1 + 0.25 + 0.49)
    found = Search(BOX, [0.0] * WIDTH, corner, reply).rough(FAR)
    assert best <= found <= 1.1 * best


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("texts", [[], ["x0 <= 2", "x4 == x.x4"]])
def test_all_it_asks_about_is_feasible(reply: str, texts: list[str]) -> None:
    search = Search(BOX, [0.0] * WIDTH, corner, reply, *texts)
    rows = search.archive.region.pull_in(FAR)[0]
    search.rough(rows)
    assert search.archive.region.contains(search.every).all()


MIXED = setting(
    pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]}),
    scale="none",
)


def levels(Z: Any) -> Any:
    return np.where((Z[:, 0] >= 1) & ((Z[:, 2] == 1) | (Z[:, 1] >= 3)), 0.5, -0.5)


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_numbers_and_levels_stay_legal(reply: str) -> None:
    """r >= 1 and level v: sqrt(2), nearer than n >= 3."""
    search = Search(MIXED, {"r": 0.0, "n": 0, "c": "u"}, levels, reply)
    found = search.rough(np.array([[3.0, 4.0, 1.0], [2.0, 3.0, 2.0]]))
    assert search.archive.region.contains(search.every).all()
    np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(search.every)), search.every)
    assert math.sqrt(2) <= found <= 1.1 * math.sqrt(2)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_forest_of_many_columns_is_come_down_far(reply: str) -> None:
    """Begun at the background rows on the other side, whose nearest is the first start."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 10))
    model = RandomForestClassifier(12, max_depth=6, random_state=0).fit(rows, rows[:, :6].sum(axis=1) > 1)
    where = setting(rows, scale="none")

    def margin(Z: Any) -> Any:
        return model.predict_proba(Z)[:, 1] - 0.5 - 1e-12

    query = rows[margin(rows) < 0][0]
    others = rows[margin(rows) >= 0]
    near = others[np.argsort(np.linalg.norm(others - query, axis=1))[:6]]
    search = Search(where, query, margin, reply)
    assert search.rough(near) < 0.5 * np.linalg.norm(near[0] - query)
    assert (margin(search.archive.nearest(9)) >= 0).all()
