"""A boundary set answers what is nearest, is checked against the model, grows around a query and travels."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import ssba

_rng = np.random.default_rng(7)
X = _rng.normal(size=(150, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.6).astype(int)
MODEL = SVC(C=3).fit(X, Y)
FRAME = pd.DataFrame(
    {
        "n": _rng.integers(0, 50, size=200),
        "size": _rng.normal(size=200).astype("float32"),
        "kind": pd.Categorical(_rng.choice(["a", "b", "c"], size=200)),
    }
)


def by_kind(rows: Any) -> Any:
    kind = np.asarray(rows["kind"])
    return np.asarray(rows["n"]) / 10 + np.asarray(rows["size"]) + (kind == "b") + 2 * (kind == "c") > 4


def explainer(model: Any = MODEL, target: Any = 1, **wishes: Any) -> ssba.Explainer:
    return ssba.Explainer(model, X, target, **wishes)


@pytest.fixture(params=["memory", "disk"])
def path(request: Any, tmp_path: Path) -> Path | None:
    return tmp_path / "a.boundary" if request.param == "disk" else None


class TestNearest:
    def test_the_nearest_points_are_those_of_a_plain_search(self, path: Path | None) -> None:
        known = explainer(distance=ssba.Distance(scale="none")).sample_boundary(800, path=path)
        distances = np.linalg.norm(known.points - X[0], axis=1)
        order = np.argsort(distances)[:7]
        near = known.nearest(X[0], k=7)
        np.testing.assert_allclose(near.distances, distances[order], rtol=1e-12)
        np.testing.assert_array_equal(near.points, known.points[order])

    def test_all_constraints_are_met(self, path: Path | None) -> None:
        known = explainer(distance=ssba.Distance(scale="none")).sample_boundary(2000, path=path)
        near = known.nearest(X[3], ["x0 >= 0.5", "x1 + x2 <= 1"], k=40)
        fits = (known.points[:, 0] >= 0.5) & (known.points[:, 1] + known.points[:, 2] <= 1)
        assert len(near) == 40
        assert (near.points[:, 0] >= 0.5).all()
        assert (near.points[:, 1] + near.points[:, 2] <= 1).all()
        expected = np.sort(np.linalg.norm(known.points[fits] - X[3], axis=1))[:40]
        np.testing.assert_allclose(near.distances, expected, rtol=1e-12)

    def test_many_at_once_are_each_as_alone(self, path: Path | None) -> None:
        known = explainer().sample_boundary(600, path=path)
        rules = [["x0 >= 0"], [], ["x1 <= 0.2", "x2 <= x.x2"]]
        for row, own, near in zip(X, rules, known.nearest_many(X[:3], rules, k=4), strict=False):
            alone = known.nearest(row, own, k=4)
            np.testing.assert_array_equal(near.points, alone.points)
            assert near.distances == alone.distances

    def test_frames_come_back_as_frames(self) -> None:
        known = ssba.Explainer(by_kind, FRAME, target=True).sample_boundary(300)
        near = known.nearest(FRAME.iloc[0], [ssba.one_of("kind", ["a", "b"])], k=5)
        assert near.points.dtypes.to_dict() == FRAME.dtypes.to_dict()
        assert set(near.points["kind"]) <= {"a", "b"}
        assert by_kind(near.points).all()

    def test_constraints_that_nothing_meets_give_nothing(self, path: Path | None) -> None:
        known = explainer().sample_boundary(100, path=path)
        assert len(known.nearest(X[0], ["x0 >= 1", "x0 <= 0"])) == 0
        assert known.nearest(X[0], ["x0 == 0.123456"]).points.shape == (0, 3)


class TestOpening:
    def test_what_was_stored_is_opened(self, tmp_path: Path) -> None:
        made = explainer().sample_boundary(300, path=tmp_path / "a")
        opened = explainer().open_boundary(tmp_path / "a")
        np.testing.assert_array_equal(opened.points, made.points)
        assert opened.digest() == made.digest()

    def test_another_seed_is_the_same_model(self, tmp_path: Path) -> None:
        explainer().sample_boundary(30, path=tmp_path / "a")
        assert len(explainer(seed=9).open_boundary(tmp_path / "a")) == 30

    def other_explainers(self) -> dict[str, tuple[ssba.Explainer, str]]:
        more = np.column_stack([X, X[:, 0]])
        return {
            "model": (explainer(SVC(C=0.1).fit(X, Y)), "the model: SVC"),
            "kind of model": (explainer(LogisticRegression().fit(X, Y)), "LogisticRegression"),
            "target": (explainer(target=0), "the target: 1 in the index, 0 here"),
            "columns": (ssba.Explainer(lambda Z: Z[:, 0] > 0, more, target=True), "['x3'] only here"),
            "data": (ssba.Explainer(MODEL, X[:100], 1), "background data changed"),
        }

    @pytest.mark.parametrize("what", ["model", "kind of model", "target", "columns", "data"])
    def test_what_is_about_something_else_is_refused(self, what: str, tmp_path: Path) -> None:
        made = explainer().sample_boundary(30, path=tmp_path / "a")
        other, says = self.other_explainers()[what]
        for use in (
            lambda: other.open_boundary(tmp_path / "a"),
            lambda: other.sample_boundary(40, path=tmp_path / "a"),
            lambda: other.explain(np.zeros(len(other._engine.space.features)), boundary=made),
        ):
            with pytest.raises(ssba.errors.ArgumentError) as refused:
                use()
            assert says in str(refused.value)

    def test_no_index_at_all_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ssba.SsbaError, match="nowhere"):
            explainer().open_boundary(tmp_path / "nowhere")


class TestVerify:
    def test_all_points_of_the_same_model_hold(self, path: Path | None) -> None:
        known = explainer().sample_boundary(200, path=path)
        assert known.verify() == ssba.index.Verified(points=200, asked=200, held=200)
        assert known.verify(n_points=30) == ssba.index.Verified(points=200, asked=30, held=30)
        assert len(known.keep_valid()) == 200

    def test_points_without_a_target_hold_on_their_own_sides(self) -> None:
        three = np.digitize(X[:, 0], [-0.5, 0.5])
        known = ssba.Explainer(lambda Z: np.digitize(Z[:, 0], [-0.5, 0.5]), X).sample_boundary(300)
        assert len(set(three)) == 3
        assert known.verify().broken == 0

    def test_a_retrained_model_keeps_what_still_holds(self, tmp_path: Path) -> None:
        old = explainer().sample_boundary(500, path=tmp_path / "a")
        retrained = SVC(C=3).fit(X[:120], Y[:120])
        holds = retrained.predict(old.points) == 1
        assert 0 < holds.sum() < 500
        new = explainer(retrained)
        adopted = new.open_boundary(tmp_path / "a", adopt=True)
        np.testing.assert_array_equal(adopted.points, old.points[holds])
        assert new.open_boundary(tmp_path / "a").verify().broken == 0
        # Its own pairs are bisected from the first on, beside what was kept.
        grown = new.sample_boundary(100, path=tmp_path / "a")
        assert len(grown) == holds.sum() + 100
        assert grown.rows_used == 1000

    def test_a_model_that_changed_in_place_is_noticed(self, path: Path | None) -> None:
        edge = {"at": 0.0}
        known = explainer(lambda Z: Z[:, 0] > edge["at"], target=True).sample_boundary(300, path=path)
        before = len(known)
        edge["at"] = 0.001
        checked = known.verify()
        assert 0 < checked.broken < before
        kept = known.keep_valid()
        assert len(kept) == checked.held
        assert kept.verify().broken == 0

    def test_adopting_another_target_is_refused(self, tmp_path: Path) -> None:
        explainer().sample_boundary(30, path=tmp_path / "a")
        with pytest.raises(ssba.errors.ArgumentError, match="the target"):
            explainer(target=0).open_boundary(tmp_path / "a", adopt=True)


class TestDensify:
    @pytest.mark.parametrize("method", ["ball", "gaussian"])
    def test_new_points_lie_on_the_boundary_near_the_row(self, method: Any, path: Path | None) -> None:
        made = explainer(distance=ssba.Distance(scale="none")).sample_boundary(50, path=path)
        dense = made.densify(around=X[0], method=method, radius=1.2, n_pairs=400, tolerance=1e-4)
        assert len(dense) == 450
        assert dense.verify().broken == 0
        near = dense.nearest(X[0], k=400)
        assert np.median(near.distances) < 1.5
        if method == "ball":
            assert sum(distance <= 1.2 for distance in near.distances) >= 400 - 50
        margin = np.abs(MODEL.decision_function(near.points))
        assert np.median(margin) < 0.01

    def test_the_nearest_stored_point_gets_nearer(self) -> None:
        made = explainer().sample_boundary(200)
        before = made.nearest(X[5], k=1).distances[0]
        assert made.densify(around=X[5], n_pairs=2000).nearest(X[5], k=1).distances[0] < before

    def test_the_same_call_adds_nothing_and_a_larger_one_the_rest(self, path: Path | None) -> None:
        made = explainer().sample_boundary(100, path=path)
        once = made.densify(around=X[0], radius=1.0, n_pairs=60)
        assert len(once) == 160
        assert len(once.densify(around=X[0], radius=1.0, n_pairs=60)) == 160
        assert len(once.densify(around=X[0], radius=1.0, n_pairs=90)) == 190

    def test_a_set_in_memory_is_left_as_it_was(self) -> None:
        made = explainer().sample_boundary(100)
        made.densify(around=X[0], n_pairs=60)
        assert len(made) == 100

    def test_drawn_rows_meet_the_constraints(self) -> None:
        made = explainer().sample_boundary(10)
        dense = made.densify(around=X[0], radius=2.0, n_pairs=300, constraints=["x0 >= 0.2"])
        assert (dense.points[10:, 0] >= 0.2).sum() >= 300 - 10

    def test_a_ball_on_one_side_says_so(self) -> None:
        made = explainer().sample_boundary(10)
        with pytest.warns(ssba.SsbaWarning, match="larger radius"):
            assert len(made.densify(around=X[0], radius=1e-6)) == 10

    def test_mixed_columns(self) -> None:
        made = ssba.Explainer(by_kind, FRAME, target=True).sample_boundary(100)
        for method in ("ball", "gaussian"):
            dense = made.densify(around=FRAME.iloc[1], method=method, radius=1.5, n_pairs=200)
            assert by_kind(dense.points).all()
            assert len(set(dense.points["kind"][100:])) > 1

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"method": "cube"}, "'ball', 'gaussian'"),
            ({"radius": -1.0}, "above 0"),
            ({"n_pairs": 0}, "1 or more"),
            ({"tolerance": 0.0}, "between 0 and 1"),
            ({"tolerance": "fine"}, "between 0 and 1"),
            ({"constraints": ["x0 >= 2", "x0 <= 1"]}, "contradict"),
        ],
    )
    def test_what_is_wrong_is_named(self, wrong: Any, says: str) -> None:
        with pytest.raises(ssba.errors.ArgumentError) as refused:
            explainer().sample_boundary(10).densify(around=X[0], **wrong)
        assert says in str(refused.value)


class TestFrames:
    @pytest.mark.parametrize("data", [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)])
    def test_parquet_there_and_back(self, data: Any, tmp_path: Path) -> None:
        made = ssba.Explainer(_of_any(by_kind), data, target=True)
        known = made.sample_boundary(250)
        known.to_parquet(tmp_path / "points.parquet")
        again = made.read_boundary(tmp_path / "points.parquet", path=tmp_path / "b")
        assert again.digest() == known.digest()
        assert made.open_boundary(tmp_path / "b").digest() == known.digest()

    def test_arrow_in_the_users_columns(self) -> None:
        known = ssba.Explainer(by_kind, FRAME, target=True).sample_boundary(250)
        table = known.to_arrow()
        assert table.column_names == list(FRAME.columns)
        back = table.to_pandas()
        assert back.astype(FRAME.dtypes.to_dict()).equals(known.to_frame())
        assert b"model_fingerprint" in table.schema.metadata[b"ssba"]

    def test_arrays_get_the_names_of_their_columns(self, tmp_path: Path) -> None:
        known = explainer().sample_boundary(60)
        known.to_parquet(tmp_path / "points.parquet")
        assert pd.read_parquet(tmp_path / "points.parquet").columns.tolist() == ["x0", "x1", "x2"]
        assert explainer().read_boundary(tmp_path / "points.parquet").digest() == known.digest()

    def test_rows_that_do_not_reach_the_target_are_left_out(self) -> None:
        frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
        read = explainer().read_boundary(frame)
        np.testing.assert_array_equal(read.points, X[MODEL.predict(X) == 1])

    def test_an_empty_set_can_be_exported(self) -> None:
        none = explainer().read_boundary(pd.DataFrame(X[MODEL.predict(X) == 0], columns=["x0", "x1", "x2"]))
        assert len(none) == 0
        assert none.to_arrow().num_rows == 0
        assert none.points.shape == (0, 3)

    @pytest.mark.parametrize("source", [3, None, [[1.0, 2.0, 3.0]]])
    def test_what_is_no_frame_is_refused(self, source: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="Parquet"):
            explainer().read_boundary(source)

    def test_a_file_that_is_no_parquet_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "points.parquet").write_text("n,size\n")
        with pytest.raises(ssba.errors.ArgumentError, match=r"points\.parquet"):
            explainer().read_boundary(tmp_path / "points.parquet")


def _of_any(model: Any) -> Any:
    """The same model for frames of other libraries."""

    def predict(rows: Any) -> Any:
        return model({name: np.asarray(rows[name].to_numpy()) for name in ("n", "size", "kind")})

    return predict


class TestAfterOthers:
    def test_a_set_of_an_index_that_another_model_took_over_cannot_take_it_back(self, tmp_path: Path) -> None:
        old = explainer().sample_boundary(200, path=tmp_path / "a")
        new = explainer(SVC(C=3).fit(X[:120], Y[:120]))
        kept = len(new.open_boundary(tmp_path / "a", adopt=True))
        with pytest.raises(ssba.errors.ArgumentError, match="the model"):
            old.keep_valid()
        assert len(new.open_boundary(tmp_path / "a")) == kept

    def test_without_pairs_nothing_is_said_about_them(self) -> None:
        read = explainer().read_boundary(X)
        assert repr(read) == f"<BoundarySet of {len(read)} points toward 1>"
        assert not read.is_complete

    def test_a_row_with_missing_cells_needs_a_radius(self) -> None:
        data = X.copy()
        data[:10, 2] = np.nan
        made = ssba.Explainer(
            lambda Z: Z[:, 0] + np.nan_to_num(Z[:, 2]) > 0, data, target=True
        ).sample_boundary(50)
        with pytest.raises(ssba.errors.ArgumentError, match="missing cells"):
            made.densify(around=data[0])

    @pytest.mark.parametrize("name", ["no/such/folder.parquet", "."])
    def test_a_file_that_cannot_be_written_is_refused_at_once(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="folder"):
            explainer().sample_boundary(20).to_parquet(tmp_path / name)


class TestInfo:
    def test_plain_facts_without_a_model(self, tmp_path: Path) -> None:
        made = explainer().sample_boundary(100, path=tmp_path / "a")
        made.densify(around=X[0], n_pairs=50)
        told = ssba.boundary_info(tmp_path / "a")
        assert told["points"] == 150
        assert told["points_by_kind"] == {"pairs": 100, "around": 50}
        assert told["columns"] == ["x0", "x1", "x2"]
        assert told["target"] == "1"
        assert told["model"] == "SVC"

    def test_a_healthy_index_needs_no_repair(self, tmp_path: Path) -> None:
        made = explainer().sample_boundary(100, path=tmp_path / "a")
        ssba.repair_boundary(tmp_path / "a")
        assert explainer().open_boundary(tmp_path / "a").digest() == made.digest()

    def test_a_damaged_file_is_dropped_and_comes_again(self, tmp_path: Path) -> None:
        made = explainer().sample_boundary(100, path=tmp_path / "a")
        (shard,) = (tmp_path / "a" / "shards").iterdir()
        damaged = bytearray(shard.read_bytes())
        damaged[-9] ^= 1
        shard.chmod(0o644)
        shard.write_bytes(damaged)
        with pytest.raises(ssba.SsbaError, match=shard.name):
            _ = explainer().open_boundary(tmp_path / "a").points
        ssba.repair_boundary(tmp_path / "a")
        assert len(explainer().open_boundary(tmp_path / "a")) == 0
        assert explainer().sample_boundary(100, path=tmp_path / "a").digest() == made.digest()
