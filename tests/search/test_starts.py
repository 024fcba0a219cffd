"""Where a search begins: background rows pulled in, then corners, random rows, and a climb by score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, Setting, answered, labels_only, scored, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.starts import Ends, Pool, find_ends, levels_of, single_changes, with_column

RNG = np.random.default_rng(0)
BOX = np.r_[RNG.uniform(-1, 1, size=(100, 3)), [[-5.0] * 3, [5.0] * 3]]
CUBE = setting(BOX, scale="none")
ORIGIN = [0.0, 0.0, 0.0]
NOTHING = np.empty((0, 3))


@dataclass
class Found:
    archive: Archive
    ends: Ends | None
    asked: Matrix


def found(where: Setting, query: Any, texts: list[str], pool: Matrix, judge: Any) -> Found:
    """Look for ends from background rows that reach the target, and remember all rows asked about."""
    archive = Archive(where.region(query, *texts), where.metric)
    asked: list[Matrix] = []

    def remember(Z: Any) -> Reply:
        asked.append(Z)
        reply: Reply = judge(Z)
        return reply

    has_scores = judge(where.Z[:1]).margin is not None
    search = find_ends(archive, Pool(pool[judge(pool).reached]), np.random.default_rng(0), has_scores)
    ends = answered(recorded(search, archive, np.inf, lambda: False), remember)
    return Found(archive, ends, np.concatenate([np.empty((0, len(archive.region.x))), *asked]))


def reach(Z: Any) -> Any:
    return Z[:, 0] - 0.5


LABELS, SCORES = labels_only(lambda Z: reach(Z) >= 0), scored(reach)


def test_background_rows_that_are_feasible_as_they_are_need_not_be_asked_about() -> None:
    """By labels they are known to reach the target; scores are asked for, of the nearest 16."""
    nearest = np.sort(np.linalg.norm(BOX[reach(BOX) >= 0], axis=1))
    for judge, rows in ((LABELS, 0), (SCORES, 16)):
        got = found(CUBE, ORIGIN, [], BOX, judge)
        assert got.archive.has_found
        assert len(got.asked) == rows
        assert got.ends is not None
        assert np.linalg.norm(got.ends.rows[0]) == nearest[0]
        assert len(got.ends.rows) >= rows


@pytest.mark.parametrize("judge", [LABELS, SCORES])
@pytest.mark.parametrize("texts", [[], ["x1 == x.x1"], ["x0 + x1 <= 0.8", "x2 >= 1"], ["x0 <= 0.6"]])
def test_ends_reach_are_feasible_and_have_their_margins(judge: Any, texts: list[str]) -> None:
    got = found(CUBE, ORIGIN, texts, BOX, judge)
    assert got.ends is not None
    assert (reach(got.ends.rows) >= 0).all()
    assert got.archive.region.contains(got.ends.rows).all()
    if got.ends.margin is not None:
        np.testing.assert_array_equal(got.ends.margin, reach(got.ends.rows))
    assert (got.ends.margin is None) == (judge is LABELS)


def test_the_ends_hold_the_nearest_background_row() -> None:
    got = found(CUBE, ORIGIN, ["x1 == x.x1"], BOX, LABELS)
    assert got.ends is not None
    pulled = BOX[reach(BOX) >= 0] * [1.0, 0.0, 1.0]
    assert np.linalg.norm(got.ends.rows, axis=1).min() == np.linalg.norm(pulled, axis=1).min()


def test_where_few_ends_are_found_further_rows_are_asked_about() -> None:
    """One background row reaches inside the region: it alone would be a lonely start."""
    pool = np.array([[0.9, 0.0, 0.3], [0.8, 4.0, 0.0]])
    got = found(CUBE, ORIGIN, ["x1 <= 1", "x2 <= 0.2"], pool, LABELS)
    assert got.ends is not None
    assert len(got.ends.rows) >= 3
    assert len(got.asked) > 2


def test_without_any_end_there_is_none() -> None:
    got = found(CUBE, ORIGIN, ["x0 <= 0.4"], BOX, LABELS)
    assert got.ends is None
    assert not got.archive.has_found


def test_rows_that_do_not_reach_after_all_are_no_ends() -> None:
    """Background rows reach by x1, which is held at the query's value."""
    got = found(CUBE, ORIGIN, ["x1 == x.x1"], BOX, labels_only(lambda Z: Z[:, 1] > 0.5))
    assert got.ends is None


def test_background_rows_are_pulled_into_the_region_first() -> None:
    got = found(CUBE, ORIGIN, ["x1 == x.x1", "x2 <= 0.1", "x0 + x2 <= 3"], BOX, LABELS)
    assert got.archive.has_found
    assert len(got.asked)
    assert got.archive.region.contains(got.asked).all()


def test_only_feasible_rows_are_ever_asked_about() -> None:
    texts = ["x0 + x1 + x2 == 0.5", "x0 - x1 >= -0.25", "x0 <= 0.4"]
    got = found(CUBE, ORIGIN, texts, BOX, SCORES)
    assert not got.archive.has_found
    assert len(got.asked) > 100
    assert got.archive.region.contains(got.asked).all()


def test_corners_reach_where_no_background_row_does() -> None:
    got = found(CUBE, ORIGIN, [], NOTHING, labels_only(lambda Z: (Z > 4.9).all(axis=1)))
    assert got.archive.has_found


def test_a_climb_by_score_reaches_what_neither_corners_nor_luck_do() -> None:
    # A small diamond in 12 dimensions, far from every corner; its score leads to it, column by column.
    target = np.linspace(0.5, 2.0, 12)
    where = setting(np.r_[[[-5.0] * 12], [[5.0] * 12]], scale="none")
    score = scored(lambda Z: 3.0 - np.abs(Z - target).sum(axis=1))
    got = found(where, [0.0] * 12, [], np.empty((0, 12)), score)
    assert got.archive.has_found


MIXED = setting(pd.DataFrame({"c": list("uvwuvw"), "o": [True, False] * 3, "n": [1, 2, 3, 4, 5, 6]}))


@pytest.mark.parametrize(
    "texts", [["n == x.n"], ["n == x.n", "o == x.o"], ["n == x.n", "o == x.o", "c == x.c"]]
)
@pytest.mark.parametrize("judge", [labels_only(lambda Z: Z[:, 0] > 9), scored(lambda Z: Z[:, 0] - 9)])
def test_nothing_to_find_among_levels_alone_ends_quietly(texts: list[str], judge: Any) -> None:
    got = found(MIXED, {"c": "u", "o": True, "n": 1}, texts, MIXED.Z, judge)
    assert not got.archive.has_found
    assert got.ends is None


def test_levels_are_tried_without_background_rows() -> None:
    got = found(
        MIXED,
        {"c": "u", "o": True, "n": 1},
        ["n == x.n"],
        np.empty((0, 3)),
        labels_only(lambda Z: Z[:, 0] == 2),
    )
    assert got.archive.has_found


def test_a_background_rows_missing_cell_takes_the_querys_value() -> None:
    frame = pd.DataFrame({"a": [0.0, 5.0, None, None], "b": [0.0, 5.0, 4.0, 3.0]})
    where = setting(frame, scale="none")
    got = found(where, {"a": 1.5, "b": 0.0}, [], where.Z[2:], labels_only(lambda Z: Z[:, 1] > 2))
    assert got.archive.has_found
    assert got.ends is not None
    np.testing.assert_array_equal(got.asked[:2], [[1.5, 3.0], [1.5, 4.0]])
    np.testing.assert_array_equal(got.ends.rows[:2], got.asked[:2])


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_single_changes_change_one_column_each_and_stay_inside(share: float) -> None:
    query = {"c": "u", "o": True, "n": 1}
    region = MIXED.region(query, "n <= 5", "c in {'u', 'w'}")
    rows = single_changes(region, region.start, share)
    changed = rows != region.start
    assert (changed.sum(axis=1) == 1).all()
    assert region.contains(rows).all()
    assert changed.any(axis=0).all()


def test_where_nothing_is_free_there_is_no_single_change() -> None:
    region = MIXED.region({"c": "u", "o": True, "n": 1}, "c == x.c", "o == x.o", "n == x.n")
    assert len(single_changes(region, region.start, 1.0)) == 0


def test_the_levels_of_a_column_are_those_the_constraints_leave() -> None:
    region = MIXED.region({"c": "u", "o": True, "n": 1}, "c in {'u', 'w'}")
    assert levels_of(region, 0) == [0.0, 2.0]
    assert levels_of(region, 1) == [0.0, 1.0]


def test_copies_of_a_row_differ_in_one_column() -> None:
    row = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(with_column(row, 1, [7.0, 8.0]), [[1, 7, 3], [1, 8, 3]])
    np.testing.assert_array_equal(row, [1, 2, 3])
