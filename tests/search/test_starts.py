"""Where a search begins: background rows pulled in, then corners, random rows, and a climb by score."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import Matrix, Setting, answered, labels_only, scored, setting

from ssba.search.archive import Archive, recorded
from ssba.search.starts import find_ends, single_changes

RNG = np.random.default_rng(0)
BOX = np.r_[RNG.uniform(-1, 1, size=(100, 3)), [[-5.0] * 3, [5.0] * 3]]
CUBE = setting(BOX, scale="none")
ORIGIN = [0.0, 0.0, 0.0]
NOTHING = np.empty((0, 3))


def found(where: Setting, query: Any, texts: list[str], pool: Matrix, judge: Any) -> tuple[Archive, Matrix]:
    """Return the archive after looking for ends, and all rows that were asked about."""
    archive = Archive(where.region(query, *texts), where.metric)
    asked: list[Matrix] = []

    def remember(Z: Any) -> Any:
        asked.append(Z)
        return judge(Z)

    search = find_ends(archive, pool, np.random.default_rng(0))
    answered(recorded(search, archive, np.inf, lambda: False), remember)
    return archive, np.concatenate([np.empty((0, len(archive.region.x))), *asked])


def test_a_background_row_on_the_target_side_is_enough() -> None:
    reach = labels_only(lambda Z: Z[:, 0] > 0.5)
    archive, asked = found(CUBE, ORIGIN, [], BOX[BOX[:, 0] > 0.5], reach)
    assert archive.found is not None
    assert len(asked) <= 48


def test_background_rows_are_pulled_into_the_region_first() -> None:
    texts = ["x1 == x.x1", "x2 <= 0.1", "x0 + x2 <= 3"]
    archive, asked = found(CUBE, ORIGIN, texts, BOX[BOX[:, 0] > 0.5], labels_only(lambda Z: Z[:, 0] > 0.5))
    assert archive.found is not None
    assert archive.region.contains(asked).all()


def test_only_feasible_rows_are_ever_asked_about() -> None:
    texts = ["x0 + x1 + x2 == 0.5", "x0 - x1 >= -0.25"]
    _, asked = found(CUBE, ORIGIN, texts, BOX, scored(lambda Z: Z[:, 0] - 100))
    region = CUBE.region(ORIGIN, *texts)
    assert len(asked) > 100
    assert region.contains(asked).all()


def test_corners_reach_where_no_background_row_does() -> None:
    archive, _ = found(CUBE, ORIGIN, [], NOTHING, labels_only(lambda Z: (Z > 4.9).all(axis=1)))
    assert archive.found is not None


def test_a_climb_by_score_reaches_what_neither_corners_nor_luck_do() -> None:
    # A small diamond in 12 dimensions, far from every corner; its score leads to it, column by column.
    target = np.linspace(0.5, 2.0, 12)
    where = setting(np.r_[[[-5.0] * 12], [[5.0] * 12]], scale="none")
    score = scored(lambda Z: 3.0 - np.abs(Z - target).sum(axis=1))
    archive, _ = found(where, [0.0] * 12, [], np.empty((0, 12)), score)
    assert archive.found is not None


MIXED = setting(pd.DataFrame({"c": list("uvwuvw"), "o": [True, False] * 3, "n": [1, 2, 3, 4, 5, 6]}))


@pytest.mark.parametrize(
    "texts", [["n == x.n"], ["n == x.n", "o == x.o"], ["n == x.n", "o == x.o", "c == x.c"]]
)
@pytest.mark.parametrize("judge", [labels_only(lambda Z: Z[:, 0] > 9), scored(lambda Z: Z[:, 0] - 9)])
def test_nothing_to_find_among_levels_alone_ends_quietly(texts: list[str], judge: Any) -> None:
    archive, _ = found(MIXED, {"c": "u", "o": True, "n": 1}, texts, MIXED.Z, judge)
    assert archive.found is None


def test_levels_are_tried_without_background_rows() -> None:
    archive, _ = found(
        MIXED,
        {"c": "u", "o": True, "n": 1},
        ["n == x.n"],
        np.empty((0, 3)),
        labels_only(lambda Z: Z[:, 0] == 2),
    )
    assert archive.found is not None


def test_a_background_rows_missing_cell_takes_the_querys_value() -> None:
    frame = pd.DataFrame({"a": [0.0, 5.0, None, None], "b": [0.0, 5.0, 4.0, 3.0]})
    where = setting(frame, scale="none")
    archive, asked = found(where, {"a": 1.5, "b": 0.0}, [], where.Z[2:], labels_only(lambda Z: Z[:, 1] > 2))
    assert archive.found is not None
    assert (asked[:, 0] == 1.5).all()


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
