"""What an explainer's target makes of its background rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.engine.cases import X, engine, plane

from ssba.columns.features import numeric
from ssba.engine.background import OneSided
from ssba.errors import TargetError
from ssba.models.targets import Leave, Reach, ValueBetween, value_change


class TestRows:
    def test_rows_off_the_grid_are_rounded_inside_the_datas_range(self) -> None:
        rows = engine(features={"x1": numeric(step=0.5)}).background.rows
        assert (rows[:, 1] * 2 == np.round(rows[:, 1] * 2)).all()
        assert X[:, 1].min() <= rows[:, 1].min()
        assert rows[:, 1].max() <= X[:, 1].max()

    def test_where_every_row_has_a_missing_cell_they_are_all_asked_about(self) -> None:
        data = pd.DataFrame({"a": X[:, 0], "b": np.nan, "c": X[:, 2]})
        assert len(engine(lambda rows: rows["a"].to_numpy() > 0.5, data).background.rows) == 200


class TestPool:
    def test_it_holds_the_rows_that_reach_the_target(self) -> None:
        pool = engine().background.pool(Reach(True)).reaching
        assert len(pool) == plane(X).sum()
        assert plane(pool).all()

    def test_rows_with_missing_cells_are_starts_too_and_never_asked_about_as_they_are(self) -> None:
        data = pd.DataFrame(X, columns=list("abc"))
        data.loc[:9, "b"] = np.nan
        asked = []

        def model(rows: Any) -> Any:
            asked.append(rows)
            return rows["a"].to_numpy() > 0.5

        pool = engine(model, data).background.pool(Reach(True))
        assert np.isnan(pool.guesses).any(axis=1).sum() == len(pool.guesses) == 10
        assert not np.isnan(pool.reaching).any()
        assert asked
        assert not any(rows.isna().any(axis=None) for rows in asked)

    def test_a_class_that_is_never_predicted_is_refused(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        model.intercept_[:] = -100.0
        with pytest.raises(OneSided, match="misses True on all 200 background rows"):
            engine(model).background.pool(Reach(True))


class TestSides:
    def test_a_target_has_two_sides(self) -> None:
        (sides,) = engine().background.sides()
        assert not plane(sides.leaving).any()
        assert plane(sides.reaching).all()
        assert len(sides.leaving) + len(sides.reaching) == len(X)

    def test_without_a_target_each_class_is_left_for_those_after_it(self) -> None:
        made = engine(lambda rows: np.digitize(np.asarray(rows)[:, 0], [-0.5, 0.5]), target=None)
        assert [one.goal for one in made.background.sides()] == [Leave(0), Leave(1)]

    def test_a_change_that_is_relative_to_a_query_has_no_sides(self) -> None:
        made = engine(LinearRegression().fit(X, X[:, 0]), target=value_change(at_least=1))
        with pytest.raises(TargetError, match="relative to a query"):
            made.background.sides()


class TestBoundary:
    def test_one_side_leaves_no_boundary_points_for_bounded_moves(self) -> None:
        goal = ValueBetween(1000.0, 2000.0)
        made = engine(lambda rows: rows[:, 0], target=goal)
        assert len(made.background.own_boundary(goal)) == 0

    def test_boundary_points_are_not_kept_where_time_was_up_before_all_were_found(self) -> None:
        background = engine().background
        assert len(background.own_boundary(Reach(True), lambda: True)) == 0
        found = background.own_boundary(Reach(True))
        assert len(found) > 100
        assert background.own_boundary(Reach(True), lambda: True) is found

    def test_for_a_relative_target_each_goal_has_points_of_its_own(self) -> None:
        target = value_change(at_least=1)
        background = engine(LinearRegression().fit(X, X[:, 0]), target=target).background
        for value in (-1.0, 0.0):
            found = background.own_boundary(target.of(value))
            assert len(found) > 100
            assert np.abs(found[:, 0] - (value + 1)).max() < 0.01
