"""The whole search finds known optima, spends no more than allowed, and only gains by a larger budget."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, Setting, answered, labels_only, scored, setting

from ssba.problem.distance import Norm
from ssba.problem.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.refine import Effort, last_resort, nearest_search

WIDTHS = [2, 5, 10, 20]


def background(width: int, *more: Any) -> Matrix:
    rows = np.random.default_rng(width).normal(size=(300, width))
    return np.concatenate([rows, [[-5.0] * width, [5.0] * width], *more])


@dataclass
class Found:
    archive: Archive
    asked: Matrix

    @property
    def distance(self) -> float:
        return self.archive.best_distance


def searched(
    where: Setting, query: Any, judge: Any, texts: tuple[str, ...] = (), rows: float = math.inf, seed: int = 0
) -> Found:
    """Run the search from the background rows that reach the target, and remember all it asked."""
    archive = Archive(where.region(query, *texts), where.metric)
    asked: list[Matrix] = []

    def remember(Z: Any) -> Reply:
        asked.append(np.array(Z))
        reply: Reply = judge(Z)
        return reply

    pool = where.Z[judge(where.Z).reached]
    search = nearest_search(archive, pool, seed, Effort())
    answered(recorded(search, archive, rows, lambda: False), remember)
    return Found(archive, np.concatenate(asked))


def judges(margin: Any) -> dict[str, Any]:
    return {"scores": scored(margin), "labels": labels_only(lambda Z: margin(Z) >= 0)}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", ["scores", "labels"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_half_space_is_reached_at_its_distance(width: int, reply: str, norm: Norm) -> None:
    """Closed form: c / |w| in L2, c / max |w_j| in L1."""
    normal = np.random.default_rng(width).normal(size=width)
    where = setting(background(width), norm=norm, scale="none")
    found = searched(where, [0.0] * width, judges(lambda Z: Z @ normal - 0.7)[reply])
    best = 0.7 / (np.linalg.norm(normal) if norm == "l2" else np.abs(normal).max())
    assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_a_ball_is_reached_at_its_near_side(width: int, reply: str) -> None:
    center = np.full(width, 1.8 / math.sqrt(width))
    where = setting(background(width, [center]), scale="none")
    judge = judges(lambda Z: 1 - np.linalg.norm(Z - center, axis=-1))[reply]
    assert 0.8 * (1 - 1e-9) <= searched(where, [0.0] * width, judge).distance <= 0.8 * 1.01


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_a_step_along_one_axis_moves_that_column_only(width: int, reply: str) -> None:
    where = setting(background(width), scale="none")
    judge = judges(lambda Z: np.where(Z[:, 1] >= 0.6, 0.5, -0.5))[reply]
    found = searched(where, [0.0] * width, judge)
    assert 0.6 <= found.distance <= 0.6 * (1 + 2e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_two_steps_are_met_at_their_corner(width: int, reply: str) -> None:
    where = setting(background(width), scale="none")
    judge = judges(lambda Z: np.minimum(Z[:, 0] - 0.5, Z[:, 1] - 0.4))[reply]
    assert searched(where, [0.0] * width, judge).distance <= 1.03 * math.hypot(0.5, 0.4)


@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_constraints_are_kept_during_the_search(reply: str) -> None:
    """Half-space x0 + x1 + x2 >= 3 with x0 held and x1 <= 0.5: the nearest row is (0, 0.5, 2.5, 0)."""
    where = setting(background(4), scale="none")
    judge = judges(lambda Z: Z[:, :3].sum(axis=-1) - 3)[reply]
    found = searched(where, [0.0] * 4, judge, ("x0 == x.x0", "x1 <= 0.5"))
    assert found.distance == pytest.approx(math.hypot(0.5, 2.5), rel=1e-3)
    assert found.archive.region.contains(found.asked).all()


@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_a_line_between_columns_is_kept(reply: str) -> None:
    """Half-space x0 >= 2 with x0 <= x1: the nearest row is (2, 2)."""
    where = setting(background(3), scale="none")
    judge = judges(lambda Z: Z[:, 0] - 2)[reply]
    found = searched(where, [0.0] * 3, judge, ("x0 <= x1",))
    assert found.distance == pytest.approx(math.sqrt(8), rel=0.01)


WHOLE = setting(np.array(list(itertools.product(range(6), repeat=3))), norm="l1", scale="none")


@pytest.mark.parametrize("reply", ["scores", "labels"])
@pytest.mark.parametrize("seed", range(6))
def test_on_a_small_grid_the_nearest_row_is_found(reply: str, seed: int) -> None:
    """All 216 rows are tried by hand."""
    rng = np.random.default_rng(seed)
    weights, right = rng.uniform(0.2, 1, size=3), rng.uniform(2, 6)

    def margin(Z: Any) -> Any:
        return Z @ weights - right

    found = searched(WHOLE, [0, 0, 0], judges(margin)[reply])
    assert found.distance == WHOLE.Z[margin(WHOLE.Z) >= 0].sum(axis=1).min()


@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_on_a_grid_no_row_is_asked_about_twice(reply: str) -> None:
    found = searched(WHOLE, [0, 0, 0], judges(lambda Z: Z @ [1, 0.5, 0.3] - 3.3)[reply])
    assert len({row.tobytes() for row in found.asked}) == len(found.asked) == found.archive.rows_asked


def test_the_right_level_is_found_and_the_rest_left_alone() -> None:
    frame = pd.DataFrame({"r": np.linspace(0, 1, 40), "c": list("uvwx") * 10, "b": [True, False] * 20})
    where = setting(frame, norm="gower")
    judge = labels_only(lambda Z: (Z[:, 1] == 2) | (Z[:, 0] > 5))
    found = searched(where, {"r": 0.3, "c": "u", "b": True}, judge)
    assert found.archive.nearest(1).tolist() == [[0.3, 2.0, 1.0]]
    assert found.distance == 1.0


def test_missing_cells_of_the_query_stay_missing() -> None:
    frame = pd.DataFrame({"a": [0.0, 5.0, None, 3.0], "b": [0.0, 5.0, 4.0, 3.0]})
    where = setting(frame, scale="none")
    found = searched(where, {"a": None, "b": 0.0}, labels_only(lambda Z: Z[:, 1] >= 2))
    assert np.isnan(found.asked[:, 0]).all()
    assert found.distance == pytest.approx(2, rel=1e-4)


BUDGETS = [1, 2, 10, 49, 50, 60, 100, 200, 400, 1000, 5000]


@pytest.mark.parametrize("width", [3, 12])
def test_a_budget_is_kept_and_a_larger_one_is_never_worse(width: int) -> None:
    normal = np.random.default_rng(1).normal(size=width)
    where = setting(background(width), scale="none")
    judge = labels_only(lambda Z: np.sin(Z @ normal) + 0.1 * (Z * Z).sum(axis=-1) >= 0.8)
    distances = []
    for budget in BUDGETS:
        found = searched(where, [0.0] * width, judge, rows=budget)
        assert len(found.asked) <= budget
        distances.append(found.distance)
    assert distances == sorted(distances, reverse=True)
    assert math.isfinite(distances[-1])


def test_a_smaller_budget_asks_the_first_rows_of_a_larger_one() -> None:
    where = setting(background(5), scale="none")
    judge = labels_only(lambda Z: Z.sum(axis=-1) >= 2)
    few, many = (searched(where, [0.0] * 5, judge, rows=budget).asked for budget in (70, 300))
    np.testing.assert_array_equal(many[: len(few)], few)


def test_the_same_seed_asks_the_same_rows() -> None:
    where = setting(background(5), scale="none")
    judge = labels_only(lambda Z: Z.sum(axis=-1) >= 2)
    one, other = (searched(where, [0.0] * 5, judge).asked for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_start_that_reaches_is_the_answer() -> None:
    where = setting(background(2), scale="none")
    found = searched(where, [0.0, 0.0], labels_only(lambda Z: Z[:, 0] >= 0.5), ("x0 >= 1",))
    assert found.archive.nearest(1).tolist() == [[1.0, 0.0]]
    assert len(found.asked) == 1


@pytest.mark.parametrize("reply", ["scores", "labels"])
def test_a_target_that_cannot_be_reached_ends_the_search(reply: str) -> None:
    where = setting(background(3), scale="none")
    found = searched(where, [0.0] * 3, judges(lambda Z: Z[:, 0] - 99)[reply])
    assert found.archive.found is None
    assert found.distance == math.inf


def test_nothing_free_asks_about_the_query_only() -> None:
    where = setting(background(2), scale="none")
    found = searched(where, [0.0, 0.0], labels_only(lambda Z: Z[:, 0] > 1), ("x0 == x.x0", "x1 == x.x1"))
    np.testing.assert_array_equal(np.unique(found.asked, axis=0), [[0.0, 0.0]])


def test_the_last_resort_goes_on_from_rows_that_reach() -> None:
    where = setting(background(3), scale="none")
    archive = Archive(where.region([0.0] * 3), where.metric)
    judge = scored(lambda Z: Z[:, 0] - 2)
    rows = np.array([[4.0, 3.0, 0.0], [1.0, 0.0, 0.0]])
    search = last_resort(archive, rows, 0, Effort())
    answered(recorded(search, archive, math.inf, lambda: False), judge)
    assert archive.best_distance == pytest.approx(2, rel=1e-3)


def test_the_last_resort_without_rows_asks_nothing() -> None:
    where = setting(background(3), scale="none")
    archive = Archive(where.region([0.0] * 3), where.metric)
    search = last_resort(archive, np.empty((0, 3)), 0, Effort())
    answered(recorded(search, archive, math.inf, lambda: False), lambda Z: pytest.fail("asked"))
    assert archive.rows_asked == 0
