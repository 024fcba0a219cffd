"""Stored boundary points lay a plane, and the search begins where it comes nearest."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.search.lanes import REPLIES, Lanes, judge_of, lane, lanes, weighted
from tests.support import Matrix, labels_only, setting

import ssba
from ssba.search.lanes import Herd
from ssba.search.stored import Stored, plane_through, stored_ends

X = np.random.default_rng(5).normal(size=(400, 6))
NORMAL = np.array([1.0, -2.0, 0.5, 0.0, 3.0, -1.0])
WHERE = setting(X, scale="none")
QUERY = np.zeros(6)


def margin(Z: Any) -> Any:
    return weighted(Z, NORMAL) - 2.0


def on_plane(count: int) -> Matrix:
    """Rows on the plane where the margin is zero, the nearest to the query first."""
    Z = np.random.default_rng(6).normal(size=(count, 6))
    Z -= (margin(Z) / (NORMAL @ NORMAL))[:, None] * NORMAL
    inside = Z[(np.abs(Z) < 2.5).all(axis=1)]
    found: Matrix = inside[np.argsort(np.linalg.norm(inside, axis=1))]
    return found


def by(reply: str, *texts: str) -> Lanes:
    return lane(WHERE, QUERY, judge_of(margin, reply), *texts)


class TestPlane:
    def test_points_on_a_plane_give_its_normal(self) -> None:
        normal = plane_through(by("labels").ledger, on_plane(300), 0)
        assert normal is not None
        np.testing.assert_allclose(normal, NORMAL / 2.0, rtol=1e-4, atol=1e-4)

    def test_too_few_points_give_none(self) -> None:
        assert plane_through(by("labels").ledger, on_plane(300)[:11], 0) is None

    def test_columns_that_are_held_take_no_part(self) -> None:
        points = on_plane(4000)
        held = points[np.abs(points[:, 4]) < 0.2]
        held[:, 4] = 0.0
        normal = plane_through(by("labels", "x4 == x.x4").ledger, held, 0)
        assert normal is not None
        assert normal[4] == 0.0

    def test_points_of_other_levels_are_left_out(self) -> None:
        data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": ["u", "v"] * 200})
        query = {"a": 0.0, "b": 0.0, "kind": "u"}
        one = lane(setting(data, scale="none"), query, labels_only(lambda Z: Z[:, 0] > 9))
        line = np.random.default_rng(7).normal(size=(60, 1))
        ours = np.hstack([1 - line, line, np.zeros((60, 1))])
        others = np.hstack([7 - line, line, np.ones((60, 1))])
        normal = plane_through(one.ledger, np.concatenate([others, ours]), 0)
        assert normal is not None
        np.testing.assert_allclose(normal, np.array([1.0, 1.0, 0.0]), rtol=1e-3)


class TestEnds:
    def ends(self, one: Lanes, points: Matrix, reaching: bool) -> tuple[Herd, Matrix]:
        return stored_ends(one.ledger, [Stored(points, np.full(len(points), reaching))], one.at)

    @pytest.mark.parametrize("reply", REPLIES)
    def test_the_first_lies_just_beyond_the_foot(self, reply: str) -> None:
        """The plane lies at 2 / |n| from the origin, in the direction of its normal."""
        ends, normals = self.ends(by(reply), on_plane(500) + 1e-9 * NORMAL, True)
        foot = 2.0 * NORMAL / (NORMAL @ NORMAL)
        np.testing.assert_allclose(ends.rows[0], 1.03 * foot, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(normals, [NORMAL / 2], rtol=1e-3, atol=1e-3)
        assert (margin(ends.rows) >= 0).all()
        assert (ends.margin is None) == (reply == "labels")

    def test_points_not_known_to_reach_are_no_ends(self) -> None:
        assert len(self.ends(by("labels"), on_plane(500) - 1e-9 * NORMAL, False)[0].rows) == 1

    def test_nothing_that_reaches_is_no_end(self) -> None:
        one = lane(WHERE, QUERY, labels_only(lambda Z: margin(Z) > 1e9))
        assert len(self.ends(one, on_plane(500), False)[0].at) == 0

    def test_too_few_points_are_not_used(self) -> None:
        one = by("labels")
        assert len(self.ends(one, on_plane(500)[:5], True)[0].at) == 0
        assert one.calls == []

    def test_a_region_without_points_goes_without(self) -> None:
        two = lanes(WHERE, [QUERY, QUERY + 0.1], judge_of(margin, "labels"))
        points = on_plane(500) + 1e-9 * NORMAL
        ends, _ = stored_ends(two.ledger, [None, Stored(points, np.ones(len(points), dtype=bool))], two.at)
        assert set(ends.at) == {1}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_search_that_begins_at_stored_points_asks_less(reply: str) -> None:
    points = on_plane(500) + 1e-9 * NORMAL
    stored = [Stored(points, np.ones(len(points), dtype=bool))]
    without, having = by(reply).search(), by(reply).search(stored=stored)
    best = 2.0 / float(np.linalg.norm(NORMAL))
    assert best <= having.distance <= 1.001 * best
    if reply == "labels":
        assert len(having.asked) < 0.8 * len(without.asked)


class TestExplain:
    def models(self) -> dict[str, Any]:
        return {
            "labels": lambda Z: margin(Z) >= 0,
            "curved": lambda Z: margin(Z) + 0.4 * (Z**2).sum(axis=1) >= 0,
        }

    @pytest.mark.parametrize("kind", ["labels", "curved"])
    def test_an_index_saves_rows_at_the_same_distance(self, kind: str) -> None:
        explainer = ssba.Explainer(self.models()[kind], X, target=True, distance=ssba.Distance(scale="none"))
        known = explainer.sample_boundary(20_000)
        queries = X[~self.models()[kind](X)][:12]
        without, having = explainer.explain_many(queries), explainer.explain_many(queries, boundary=known)
        rows = [sum(one.rows_used for one in answers) for answers in (without, having)]
        assert rows[1] < 0.8 * rows[0]
        for one, other in zip(without, having, strict=True):
            assert one.best is not None
            assert other.best is not None
            assert other.best.distance <= 1.01 * one.best.distance

    def test_points_of_every_class_serve_queries_of_every_class(self) -> None:
        # Without a target the stored points lie on one side only; their plane serves both.
        explainer = ssba.Explainer(lambda Z: margin(Z) >= 0, X, distance=ssba.Distance(scale="none"))
        known = explainer.sample_boundary(5000)
        for answer in explainer.explain_many(X[:30], boundary=known):
            assert answer.best is not None
            expected = abs(float(margin(np.array([list(answer.query.values())]))[0])) / np.linalg.norm(NORMAL)
            assert answer.best.distance == pytest.approx(expected, rel=0.02)

    def test_constraints_hold_with_an_index_too(self) -> None:
        explainer = ssba.Explainer(self.models()["curved"], X, target=True)
        known = explainer.sample_boundary(5000)
        rules: list[ssba.Constraint | str] = [
            "x0 <= x.x0 + 0.3",
            "x1 >= x.x1 - 0.4",
            "x2 + x3 <= 1.5",
            ssba.fixed("x5"),
        ]
        for answer in explainer.explain_many(X[:12], rules, boundary=known):
            for one in answer.counterfactuals:
                now, then = answer.query, one.values
                assert then["x0"] <= now["x0"] + 0.3
                assert then["x1"] >= now["x1"] - 0.4
                assert then["x2"] + then["x3"] <= 1.5
                assert then["x5"] == now["x5"]
                assert self.models()["curved"](np.array([list(then.values())]))[0]
