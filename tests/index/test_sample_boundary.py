"""Boundary points: valid, between the data, without repeats, repeatable."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC

import ssba

_rng = np.random.default_rng(2)
X = _rng.normal(size=(120, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
SVM = SVC(C=5).fit(X, Y)


class TestPoints:
    @pytest.mark.parametrize(
        "model", [SVM, LogisticRegression().fit(X, Y), RandomForestClassifier(10, random_state=0).fit(X, Y)]
    )
    def test_every_point_reaches_the_target(self, model: Any) -> None:
        points = ssba.Explainer(model, X, target=1).sample_boundary(1000).points
        assert points.shape == (1000, 3)
        assert (model.predict(points) == 1).all()

    def test_points_of_a_linear_model_lie_on_its_plane(self) -> None:
        model = LogisticRegression().fit(X, Y)
        points = ssba.Explainer(model, X).sample_boundary(500, tolerance=1e-6).points
        away = np.abs(model.decision_function(points)) / np.linalg.norm(model.coef_)
        assert away.max() <= 1e-6 * np.linalg.norm(np.ptp(X, axis=0))

    def test_a_boundary_at_the_very_rows_is_met_from_the_right_side(self) -> None:
        # The target-side row itself is the only point that reaches: it must come back as it is.
        data = np.round(_rng.normal(size=(300, 2)) * 3, 1)
        edge = np.unique(data[:, 0])[-3]
        found = ssba.Explainer(lambda rows: rows[:, 0] >= edge, data, target=True).sample_boundary(800)
        assert (found.points[:, 0] >= edge).all()

    def test_frames_come_back_in_the_users_columns_and_dtypes(self) -> None:
        frame = pd.DataFrame(
            {"n": _rng.integers(0, 50, size=80), "size": X[:80, 0], "kind": _rng.choice(["a", "b"], size=80)}
        )

        def model(rows: Any) -> Any:
            return (
                np.asarray(rows["n"]) / 10 + np.asarray(rows["size"]) + (np.asarray(rows["kind"]) == "b") > 3
            )

        points = ssba.Explainer(model, frame, target=True).sample_boundary(300).points
        assert points.dtypes.to_dict() == frame.dtypes.to_dict()
        assert model(points).all()
        polars = ssba.Explainer(model, pl.from_pandas(frame), target=True).sample_boundary(300).points
        assert polars.schema == pl.from_pandas(frame).schema
        assert polars.to_dict(as_series=False) == points.to_dict("list")

    def test_three_classes_and_no_target_have_points_between_all_of_them(self) -> None:
        labels = np.array(["a", "b", "c"])

        def three(rows: Any) -> Any:
            return labels[np.digitize(rows[:, 0], [-0.5, 0.5])]

        height = ssba.Explainer(three, X).sample_boundary(2000).points[:, 0]
        low, high = np.abs(height + 0.5) < 0.01, np.abs(height - 0.5) < 0.01
        assert (low | high).all()
        assert low.any()
        assert high.any()

    def test_a_regressors_interval_has_a_boundary(self) -> None:
        model = LinearRegression().fit(X, X[:, 0] * 3)
        points = ssba.Explainer(model, X, ssba.value_between(0, 1)).sample_boundary(400).points
        assert ((model.predict(points) >= 0) & (model.predict(points) <= 1)).all()

    def test_a_probability_has_a_boundary(self) -> None:
        model = LogisticRegression().fit(X, Y)
        points = ssba.Explainer(model, X, ssba.probability(1, at_least=0.7)).sample_boundary(400).points
        chance = model.predict_proba(points)[:, 1]
        assert chance.min() >= 0.7
        assert chance.max() <= 0.71


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(4, 40),
    columns=st.integers(1, 5),
    tolerance=st.sampled_from([0.3, 1e-2, 1e-6]),
)
def test_points_lie_in_the_datas_range_and_on_the_target_side(
    seed: int, rows: int, columns: int, tolerance: float
) -> None:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, size=columns)
    weights = rng.normal(size=columns)
    middle = float(np.sort(data @ weights)[rows // 2 - 1 : rows // 2 + 1].mean())

    def model(asked: Any) -> Any:
        return (asked * weights).sum(axis=1) > middle

    explainer = ssba.Explainer(model, data, target=True, seed=seed % 1000)
    pairs = int(model(data).sum() * (~model(data)).sum())
    found = explainer.sample_boundary(min(200, pairs), tolerance)
    assert model(found.points).all()
    assert (found.points >= data.min(axis=0)).all()
    assert (found.points <= data.max(axis=0)).all()


class TestStream:
    def test_the_same_seed_gives_the_same_points_and_another_does_not(self) -> None:
        first = ssba.Explainer(SVM, X, seed=4).sample_boundary(300).points
        again = ssba.Explainer(SVM, X, seed=4).sample_boundary(300).points
        other = ssba.Explainer(SVM, X, seed=5).sample_boundary(300).points
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_a_longer_sample_begins_with_the_shorter_one(self) -> None:
        explainer = ssba.Explainer(SVM, X, target=1)
        short, long = explainer.sample_boundary(100), explainer.sample_boundary(400)
        np.testing.assert_allclose(long.points[:100], short.points, rtol=0, atol=1e-12)

    def test_asking_for_more_than_all_pairs_gives_all_and_says_so(self) -> None:
        few = X[:20]
        explainer = ssba.Explainer(SVM, few, target=1)
        pairs = int((SVM.predict(few) == 1).sum() * (SVM.predict(few) == 0).sum())
        with pytest.warns(ssba.SsbaWarning, match=f"make only {pairs}; all of them are used"):
            found = explainer.sample_boundary(10_000)
        assert len(found) == found.pairs == pairs
        assert found.is_complete
        assert len(np.unique(found.points, axis=0)) == pairs

    def test_exactly_all_pairs_need_no_warning(self) -> None:
        few = X[:20]
        pairs = int((SVM.predict(few) == 1).sum() * (SVM.predict(few) == 0).sum())
        assert ssba.Explainer(SVM, few, target=1).sample_boundary(pairs).is_complete

    def test_it_tells_what_it_is(self) -> None:
        found = ssba.Explainer(SVM, X, target=1).sample_boundary(50)
        assert repr(found).startswith("<BoundarySet of 50 points toward 1, from 50 of ")
        assert found.rows_used >= 50 * 10
        assert not found.is_complete


class TestLabels:
    def test_only_correctly_predicted_rows_make_pairs(self) -> None:
        truth = Y.copy()
        truth[:30] = 1 - truth[:30]
        right = truth == SVM.predict(X)
        explainer = ssba.Explainer(SVM, X, target=1)
        predicted = SVM.predict(X)
        pairs = int(((predicted == 1) & right).sum() * ((predicted == 0) & right).sum())
        assert explainer.sample_boundary(100, labels=truth).pairs == pairs
        assert explainer.sample_boundary(100, labels=pd.Series(truth)).pairs == pairs
        assert explainer.sample_boundary(100, labels=truth.tolist()).pairs == pairs

    def test_labels_belong_to_the_rows_of_the_data_also_with_missing_cells(self) -> None:
        data = X.copy()
        data[::10, 2] = np.nan

        def model(rows: Any) -> Any:
            return (rows[:, 0] > 0).astype(int)

        truth = model(data)
        truth[1] = 1 - truth[1]
        explainer = ssba.Explainer(model, data, target=1)
        complete = ~np.isnan(data).any(axis=1) & (truth == model(data))
        pairs = int(((model(data) == 1) & complete).sum() * ((model(data) == 0) & complete).sum())
        assert explainer.sample_boundary(50, labels=truth).pairs == pairs

    def test_labels_of_another_length_are_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"labels has 7 entries.*120"):
            ssba.Explainer(SVM, X).sample_boundary(10, labels=Y[:7])

    def test_labels_that_are_no_classes_are_refused(self) -> None:
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"labels holds 'ill' and the like, .* predicts only 0, 1"
        ):
            ssba.Explainer(SVM, X).sample_boundary(10, labels=["ill"] * 120)

    def test_labels_that_no_row_is_predicted_as_leave_nothing(self) -> None:
        with pytest.raises(ssba.SsbaError, match="no boundary between"):
            ssba.Explainer(SVM, X).sample_boundary(10, labels=1 - SVM.predict(X))


@pytest.mark.parametrize("tolerance", [1e-12, 1e-16, 1e-18, 1e-300])
@pytest.mark.parametrize("crossings", ["one", "all"])
def test_points_reach_the_target_however_small_the_tolerance(tolerance: float, crossings: Any) -> None:
    found = ssba.Explainer(SVM, X, target=1).sample_boundary(300, tolerance, crossings=crossings)
    assert (SVM.predict(found.points) == 1).all()


def test_a_resolution_beyond_reason_is_refused() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match="from 2 to 10,000"):
        ssba.Explainer(SVM, X).sample_boundary(2, crossings="all", resolution=10**6)


class TestReuse:
    def test_a_sample_may_be_given_to_explain(self) -> None:
        explainer = ssba.Explainer(SVM, X, target=1)
        query = X[SVM.predict(X) == 0][0]
        with_points = explainer.explain(query, boundary=explainer.sample_boundary(1000))
        without = explainer.explain(query)
        assert with_points.best is not None
        assert without.best is not None
        assert with_points.best.distance <= 1.02 * without.best.distance

    def test_a_sample_of_other_columns_is_refused(self) -> None:
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        other = ssba.Explainer(lambda rows: rows.to_numpy()[:, 0] > 0, frame).sample_boundary(10)
        with pytest.raises(ssba.errors.ArgumentError, match="the columns"):
            ssba.Explainer(SVM, X).explain(X[0], boundary=other)
