"""Stored boundary points lay a plane, and the search begins where it comes nearest."""

from typing import Any

import numpy as np
import pytest
from tests.support import answered, labels_only, on_torch, scored, setting

import ssba
from ssba.search.archive import Archive
from ssba.search.stored import Stored, plane_through, stored_ends

_rng = np.random.default_rng(5)
X = _rng.normal(size=(400, 6))
NORMAL = np.array([1.0, -2.0, 0.5, 0.0, 3.0, -1.0])
SET = setting(X, scale="none")
QUERY = np.zeros(6)


def margin(Z: Any) -> Any:
    return Z @ NORMAL - 2.0


def on_plane(count: int) -> Any:
    """Rows on the plane where the margin is zero, the nearest to the query first."""
    Z = _rng.normal(size=(count, 6))
    Z -= (margin(Z) / (NORMAL @ NORMAL))[:, None] * NORMAL
    inside = Z[(np.abs(Z) < 2.5).all(axis=1)]
    return inside[np.argsort(np.linalg.norm(inside, axis=1))]


class TestPlane:
    def test_points_on_a_plane_give_its_normal(self) -> None:
        normal = plane_through(SET.region(QUERY), on_plane(300))
        assert normal is not None
        np.testing.assert_allclose(normal, NORMAL / 2.0, rtol=1e-4, atol=1e-4)

    def test_too_few_points_give_none(self) -> None:
        assert plane_through(SET.region(QUERY), on_plane(300)[:11]) is None

    def test_columns_that_are_held_take_no_part(self) -> None:
        points = on_plane(4000)
        region = SET.region(QUERY, "x4 == x.x4")
        held = points[np.abs(points[:, 4]) < 0.2]
        held[:, 4] = 0.0
        normal = plane_through(region, held)
        assert normal is not None
        assert normal[4] == 0.0

    def test_points_of_other_levels_are_left_out(self) -> None:
        import pandas as pd

        data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": _rng.choice(["u", "v"], size=400)})
        mixed = setting(data, scale="none")
        region = mixed.region({"a": 0.0, "b": 0.0, "kind": "u"})
        line = _rng.normal(size=(60, 1))
        ours = np.hstack([1 - line, line, np.zeros((60, 1))])
        others = np.hstack([7 - line, line, np.ones((60, 1))])
        normal = plane_through(region, np.concatenate([others, ours]))
        assert normal is not None
        np.testing.assert_allclose(normal, np.array([1.0, 1.0, 0.0]), rtol=1e-3)


class TestEnds:
    @pytest.mark.parametrize("judge", [labels_only(lambda Z: margin(Z) >= 0), scored(margin)])
    def test_the_first_end_lies_just_beyond_the_foot(self, judge: Any) -> None:
        archive = Archive(SET.region(QUERY), SET.metric)
        points = on_plane(500) + 1e-9 * NORMAL
        stored = Stored(points, np.ones(len(points), dtype=bool))
        ends = answered(stored_ends(archive, stored, judge(QUERY[None, :]).margin is not None), judge)
        assert ends is not None
        # The plane lies at 2 / |n| from the origin, in the direction of its normal.
        foot = 2.0 * NORMAL / (NORMAL @ NORMAL)
        np.testing.assert_allclose(ends.rows[0], 1.03 * foot, rtol=1e-3, atol=1e-3)
        assert (margin(ends.rows) >= 0).all()

    def test_points_not_known_to_reach_are_no_ends(self) -> None:
        archive = Archive(SET.region(QUERY), SET.metric)
        points = on_plane(500) - 1e-9 * NORMAL
        stored = Stored(points, np.zeros(len(points), dtype=bool))
        ends = answered(stored_ends(archive, stored, False), labels_only(lambda Z: margin(Z) >= 0))
        assert ends is not None
        assert len(ends.rows) == 1

    def test_nothing_that_reaches_is_no_end(self) -> None:
        archive = Archive(SET.region(QUERY), SET.metric)
        stored = Stored(on_plane(500), np.zeros(0, dtype=bool)[:0])
        stored = Stored(stored.rows, np.zeros(len(stored.rows), dtype=bool))
        never = labels_only(lambda Z: margin(Z) > 1e9)
        assert answered(stored_ends(archive, stored, False), never) is None

    def test_on_torch_as_on_numpy(self) -> None:
        points = on_plane(500) + 1e-9 * NORMAL
        stored = Stored(points, np.ones(len(points), dtype=bool))
        region = SET.region(QUERY)
        here = answered(
            stored_ends(Archive(region, SET.metric), stored, False), labels_only(lambda Z: margin(Z) >= 0)
        )
        there = answered(
            stored_ends(Archive(on_torch(region), on_torch(SET.metric)), on_torch(stored), False),
            labels_only(lambda Z: Z @ on_torch(NORMAL) - 2.0 >= 0),
        )
        assert here is not None
        assert there is not None
        np.testing.assert_allclose(there.rows.numpy(), here.rows, rtol=1e-9)


class TestExplain:
    def models(self) -> dict[str, Any]:
        return {
            "labels": lambda Z: margin(Z) >= 0,
            "curved": lambda Z: margin(Z) + 0.4 * (Z**2).sum(axis=1) >= 0,
        }

    @pytest.mark.parametrize("kind", ["labels", "curved"])
    def test_an_index_saves_rows_at_the_same_distance(self, kind: str) -> None:
        explainer = ssba.Explainer(self.models()[kind], X, target=True, scale="none")
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
        explainer = ssba.Explainer(lambda Z: margin(Z) >= 0, X, scale="none")
        known = explainer.sample_boundary(5000)
        for answer in explainer.explain_many(X[:30], boundary=known):
            assert answer.best is not None
            expected = abs(float(margin(np.array(list(answer.query.values()))))) / np.linalg.norm(NORMAL)
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
        for answer in explainer.explain_many(X[:30], rules, boundary=known):
            for one in answer.counterfactuals:
                now, then = answer.query, one.values
                assert then["x0"] <= now["x0"] + 0.3
                assert then["x1"] >= now["x1"] - 0.4
                assert then["x2"] + then["x3"] <= 1.5
                assert then["x5"] == now["x5"]
                assert self.models()["curved"](np.array([list(then.values())]))[0]
