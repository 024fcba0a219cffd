"""The first way by scores: along the slope at the query, where there is one that leads anywhere."""

from typing import Any

import numpy as np
import pytest
from tests.support import Matrix, answered, labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.starts import Ends, Pool, slope_ends

NORMAL = np.array([3.0, -1.0, 0.5, 0.0])
POOL = np.random.default_rng(0).normal(size=(200, 4)) * 2
WHERE = setting(np.concatenate([POOL, [[-9.0] * 4, [9.0] * 4]]), scale="none")


def plane(Z: Any) -> Any:
    return Z @ NORMAL - 2


def found(judge: Any, *texts: str, pool: Matrix = POOL, margin: Any = plane) -> tuple[Ends | None, Archive]:
    archive = Archive(WHERE.region([0.0] * 4, *texts), WHERE.metric)
    search = slope_ends(archive, Pool(pool[margin(pool) >= 0]), float(margin(np.zeros((1, 4)))[0]))
    return answered(recorded(search, archive, 1000, lambda: False), judge), archive


def test_it_leads_along_the_normal_of_a_plane() -> None:
    ends, archive = found(scored(plane))
    assert ends is not None
    (row,) = ends.rows
    assert row @ NORMAL / (np.linalg.norm(row) * np.linalg.norm(NORMAL)) > 0.9999
    assert ends.margin == pytest.approx(plane(ends.rows))
    # One row a column and the query for the slope, and two along it.
    assert archive.rows_asked == 5 + 2


def test_a_score_that_flattens_out_is_followed_no_farther_than_the_data() -> None:
    """The logistic score hardly rises at the query: a straight line would lead far beyond the boundary."""
    ends, _ = found(scored(lambda Z: 1 / (1 + np.exp(-4 * plane(Z))) - 0.5))
    assert ends is not None
    nearest = np.linalg.norm(POOL[plane(POOL) >= 0], axis=1).min()
    assert np.linalg.norm(ends.rows[0]) <= 1.15 * nearest * (1 + 1e-9)


def test_rows_that_are_known_to_reach_come_along() -> None:
    ends, archive = found(scored(plane))
    assert ends is not None
    assert (plane(ends.others) >= 0).all()
    assert (np.diff(np.linalg.norm(ends.others, axis=1)) >= 0).all()
    assert archive.region.contains(ends.others).all()


def test_bounds_and_lines_hold() -> None:
    ends, archive = found(scored(plane), "x0 <= 0.5", "x0 + x1 >= -3")
    assert ends is not None
    assert archive.region.contains(ends.rows).all()
    assert ends.rows[0, 0] == 0.5


@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(scored(lambda Z: np.where(plane(Z) >= 0, 0.5, -0.5)), id="flat, as trees are"),
        pytest.param(
            scored(lambda Z: np.where(Z[:, 0] >= 8, 1.0, -2 + 1e-3 * Z[:, 0])), id="one column only"
        ),
        pytest.param(scored(lambda Z: np.minimum(plane(Z), -1.0)), id="nothing that way reaches"),
        pytest.param(labels_only(lambda Z: plane(Z) >= 0), id="labels only"),
    ],
)
def test_where_it_leads_nowhere_there_are_no_ends(judge: Any) -> None:
    assert found(judge)[0] is None


def test_without_a_feasible_row_that_reaches_nothing_is_asked() -> None:
    ends, archive = found(scored(plane), "x0 == 0.25", pool=POOL[:3])
    assert ends is None
    assert archive.rows_asked == 0


@pytest.mark.parametrize("margin", [0.0, -np.finfo(np.float64).tiny, -1e-300, -1e-20])
def test_a_score_that_is_all_but_high_enough_is_a_legitimate_one(margin: float) -> None:
    """The way up is known then, and a row a little that way reaches; no cell is undefined."""
    asked: list[Matrix] = []

    def tie(Z: Any) -> Any:
        return np.where((Z == 0).all(axis=1), margin, Z.sum(axis=1))

    def judge(Z: Any) -> Reply:
        asked.append(np.array(Z))
        return Reply(tie(Z) > 0, tie(Z))

    archive = Archive(WHERE.region([0.0] * 4), WHERE.metric)
    search = slope_ends(archive, Pool(POOL[POOL.sum(axis=1) > 0]), margin)
    ends = answered(recorded(search, archive, 1000, lambda: False), judge)
    assert np.isfinite(np.concatenate(asked)).all()
    assert ends is not None
    assert 0 < np.linalg.norm(ends.rows[0]) < 0.01
