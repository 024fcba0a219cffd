"""What an explainer's target makes of its background rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.engine.cases import X, engine, plane
from tests.support import every

from ssba.columns.distance import Distance
from ssba.columns.features import numeric
from ssba.engine import Engine
from ssba.engine.background import OneSided
from ssba.errors import TargetError
from ssba.models.targets import Goal, Leave, Reach, ValueBetween, value_change


class TestRows:
    def test_rows_off_the_grid_are_rounded_inside_the_datas_range(self) -> None:
        rows = engine(features={"x1": numeric(step=0.5)}).background.rows
        assert (rows[:, 1] * 2 == np.round(rows[:, 1] * 2)).all()
        assert X[:, 1].min() <= rows[:, 1].min()
        assert rows[:, 1].max() <= X[:, 1].max()

    def test_where_every_row_has_a_missing_cell_they_are_all_asked_about(self) -> None:
        data = pd.DataFrame({"a": X[:, 0], "b": np.nan, "c": X[:, 2]})
        assert len(engine(lambda rows: rows["a"].to_numpy() > 0.5, data).background.rows) == 200


def never() -> bool:
    return False


NOTHING_HELD = np.zeros(3, dtype=bool)
UP = Reach(True)
MANY = np.random.default_rng(1).normal(size=(6000, 3))


def reaching(
    made: Engine,
    x: Any,
    held: Any = NOTHING_HELD,
    goal: Goal = UP,
    is_over: Callable[[], bool] = never,
) -> Any:
    (found,) = made.background.reaching(x[None, :], held[None, :], [goal], is_over)
    return found


class TestReaching:
    def test_all_that_reach_where_they_are_few(self) -> None:
        made = engine()
        found = reaching(made, X[0])
        rows = made.judging.known.rows[found]
        assert len(rows) == plane(X).sum()
        assert plane(rows).all()

    def test_many_rows_are_asked_about_around_the_query_only(self) -> None:
        made = engine(lambda rows: rows[:, 0] > 1.5, MANY, background_rows=6000)
        asked = made.tally.rows
        found = reaching(made, np.zeros(3))
        assert len(found) >= 256
        assert 0 < made.tally.rows - asked < 4000
        again = reaching(made, np.zeros(3))
        np.testing.assert_array_equal(again, found)

    def test_what_others_asked_before_makes_no_difference(self) -> None:
        one, other = (engine(lambda rows: rows[:, 0] > 1.5, MANY, background_rows=6000) for _ in range(2))
        for x in ([0.0, 0, 0], [-2.0, 1, 0], [0.0, -3, 1]):
            reaching(other, np.array(x))
        query = np.array([1.0, 1, 1])
        np.testing.assert_array_equal(reaching(one, query), reaching(other, query))

    def test_nothing_more_is_asked_once_the_time_is_over(self) -> None:
        made = engine(lambda rows: rows[:, 0] > 2.0, MANY)
        asked = made.tally.rows
        reaching(made, np.zeros(3), is_over=lambda: True)
        assert made.tally.rows == asked

    def test_columns_that_are_held_do_not_count_as_far(self) -> None:
        wide = MANY * [1, 1, 100]
        made = engine(
            lambda rows: rows[:, 0] > 1.5, wide, background_rows=6000, distance=Distance(scale="none")
        )
        held = np.array([False, False, True])
        found = made.judging.known.rows[reaching(made, np.zeros(3), held)]
        assert np.abs(found[:, 2]).mean() > 50

    def test_many_queries_get_what_each_gets_alone(self) -> None:
        made = engine(lambda rows: rows[:, 0] > 1.5, MANY, background_rows=6000)
        queries = MANY[:40]
        held = np.random.default_rng(2).random(queries.shape) < 0.3
        goals = [Reach(True), Reach(False)] * 20
        together = made.background.reaching(queries, held, goals, never)
        alone = [reaching(made, *each) for each in zip(queries, held, goals, strict=True)]
        assert every(np.array_equal(*pair) for pair in zip(together, alone, strict=True))
        assert len({one.tobytes() for one in together[::2]}) > 1

    def test_queries_with_enough_rows_in_the_first_block_share_them(self) -> None:
        made = engine(lambda rows: rows[:, 0] > 0, MANY, background_rows=6000)
        asked = made.tally.rows
        found = made.background.reaching(MANY[:3], np.zeros((3, 3), dtype=bool), [Reach(True)] * 3, never)
        assert found[0] is found[1] is found[2]
        assert len(found[0]) >= 256
        assert made.tally.rows == asked

    def test_rows_within_a_distance_are_all_those_there_are(self) -> None:
        made = engine(
            lambda rows: rows[:, 0] > 0.5, MANY, background_rows=6000, distance=Distance(scale="none")
        )
        found = made.background.reaching_within(np.zeros(3), 0.8, Reach(True))
        expected = MANY[(np.linalg.norm(MANY, axis=1) < 0.8) & (MANY[:, 0] > 0.5)]
        assert len(found) == len(expected) > 3
        assert (np.diff(np.linalg.norm(found, axis=1)) >= 0).all()

    def test_the_distance_to_the_data_is_that_of_the_nearest_row_that_reaches(self) -> None:
        made = engine(
            lambda rows: rows[:, 0] > 1.5, MANY, background_rows=6000, distance=Distance(scale="none")
        )
        z = np.array([1.6, 2.0, 2.0])
        expected = np.linalg.norm(MANY[MANY[:, 0] > 1.5] - z, axis=1).min()
        found = made.background.distances_to(z[None, :], Reach(True), never)
        assert found == pytest.approx([expected], rel=1e-12)

    def test_no_row_that_reaches_is_infinitely_far(self) -> None:
        goal = ValueBetween(50.0, 60.0)
        background = engine(lambda rows: rows[:, 0], target=goal).background
        assert np.isinf(background.distances_to(X[:5], goal, never)).all()

    def test_distances_to_the_data_are_the_same_alone_and_together(self) -> None:
        one, other = (engine(lambda rows: rows[:, 0] > 1.5, MANY, background_rows=6000) for _ in range(2))
        rows = np.random.default_rng(2).normal(size=(40, 3))
        together = one.background.distances_to(rows, Reach(True), never)
        alone = [other.background.distances_to(row[None, :], Reach(True), never)[0] for row in rows]
        assert together.tolist() == alone
        assert one.tally.rows == other.tally.rows

    def test_rows_with_missing_cells_are_guesses_and_never_asked_about_as_they_are(self) -> None:
        data = pd.DataFrame(X, columns=list("abc"))
        data.loc[:9, "b"] = np.nan
        asked = []

        def model(rows: Any) -> Any:
            asked.append(rows)
            return rows["a"].to_numpy() > 0.5

        made = engine(model, data)
        guesses = made.background.guesses
        assert np.isnan(guesses).any(axis=1).sum() == len(guesses) == 10
        assert not np.isnan(made.judging.known.rows).any()
        assert asked
        assert not any(rows.isna().any(axis=None) for rows in asked)

    def test_a_class_that_is_never_predicted_is_refused(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        model.intercept_[:] = -100.0
        with pytest.raises(OneSided, match="misses True on all 200 background rows: "):
            engine(model).background.check_two_sides(Reach(True))

    def test_where_not_all_were_asked_the_remedy_is_to_ask_about_more(self) -> None:
        background = engine(
            lambda rows: np.where(rows[:, 0] > 99, 1, 0), target=0, background_rows=50
        ).background
        with pytest.raises(OneSided, match=r"all 50 background rows that were asked about, of 200.*_rows="):
            background.check_two_sides(Reach(1))


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
