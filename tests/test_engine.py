"""What an explainer knows before any query comes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from ssba.columns.features import numeric
from ssba.engine import Engine, OneSided, Wishes, build_engine
from ssba.models.targets import Reach, ValueBetween

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))


def plane(rows: Any) -> Any:
    return np.asarray(rows)[:, 0] > 0.5


def engine(model: Any = plane, data: Any = X, **wishes: Any) -> Engine:
    return build_engine(model, data, Wishes(**{"target": True, **wishes}))


class TestPool:
    def test_it_holds_the_rows_that_reach_the_target(self) -> None:
        pool = engine().pool(Reach(True)).reaching
        assert len(pool) == plane(X).sum()
        assert plane(pool).all()

    def test_rows_with_missing_cells_are_starts_too_and_never_asked_about_as_they_are(self) -> None:
        data = pd.DataFrame(X, columns=list("abc"))
        data.loc[:9, "b"] = np.nan
        asked = []

        def model(rows: Any) -> Any:
            asked.append(rows)
            return rows["a"].to_numpy() > 0.5

        made = engine(model, data)
        pool = made.pool(Reach(True))
        assert np.isnan(pool.guesses).any(axis=1).sum() == len(pool.guesses) == 10
        assert not np.isnan(pool.reaching).any()
        assert not any(rows.isna().any(axis=None) for rows in asked)

    def test_where_every_row_has_a_missing_cell_they_are_all_asked_about(self) -> None:
        data = pd.DataFrame({"a": X[:, 0], "b": np.nan, "c": X[:, 2]})
        assert len(engine(lambda rows: rows["a"].to_numpy() > 0.5, data).background) == 200

    def test_a_class_that_is_never_predicted_is_refused(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        model.intercept_[:] = -100.0
        with pytest.raises(OneSided, match="misses True on all 200 background rows"):
            engine(model).pool(Reach(True))


class TestBackground:
    def test_rows_off_the_grid_are_rounded_inside_the_datas_range(self) -> None:
        made = engine(features={"x1": numeric(step=0.5)})
        assert (made.background[:, 1] * 2 == np.round(made.background[:, 1] * 2)).all()
        assert X[:, 1].min() <= made.background[:, 1].min()
        assert made.background[:, 1].max() <= X[:, 1].max()

    def test_a_model_that_works_in_place_does_not_reach_it(self) -> None:
        def spoiling(rows: Any) -> Any:
            labels = plane(rows)
            rows *= 0.0
            return labels

        made = engine(spoiling)
        assert made.predicted.labels is not None
        np.testing.assert_array_equal(made.background, X)


class TestScores:
    def test_a_forests_or_a_planes_scores_do_not_depend_on_the_batch(self) -> None:
        assert not engine(LogisticRegression().fit(X, plane(X))).batch_matters

    def test_scores_that_shift_with_the_batch_are_noticed(self) -> None:
        def shifting(rows: Any) -> Any:
            return 1 / (1 + np.exp(-rows[:, 0])) + 1e-7 * len(rows) % 2

        assert engine(lambda rows: np.clip(shifting(rows), 0, 1), target=1).batch_matters

    def test_the_size_of_scores_is_a_power_of_two_above_them(self) -> None:
        module = torch.nn.Linear(3, 1)
        made = engine(module, X.astype(np.float32), target=ValueBetween(0.0, 1.0))
        assert made.predicted.values is not None
        assert made.score_size >= np.abs(made.predicted.values).max()
        assert np.log2(made.score_size) == round(np.log2(made.score_size))

    def test_one_side_leaves_no_boundary_points_for_bounded_moves(self) -> None:
        made = engine(lambda rows: rows[:, 0], target=ValueBetween(1000.0, 2000.0))
        assert len(made.own_boundary()) == 0

    def test_boundary_points_are_not_kept_where_time_was_up_before_all_were_found(self) -> None:
        made = engine()
        assert len(made.own_boundary(lambda: True)) == 0
        found = made.own_boundary()
        assert len(found) > 100
        assert made.own_boundary(lambda: True) is found
