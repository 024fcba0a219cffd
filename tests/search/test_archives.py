"""What came in for many archives is looked at together, and comes to the same as one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, every, setting

from ssba.models.targets import Reply
from ssba.search.archive import Archive
from ssba.search.archives import look_at_new, share_out

PLANE = setting(np.array([[-9.0, -9.0], [9.0, 9.0]]), scale="none")
QUERIES = [([0.0, 0.0], ["x0 <= 4"]), ([1.0, 2.0], ["x0 + x1 <= 5"]), ([0.0, 5.0], [])]


def archives() -> list[Archive]:
    return [Archive(PLANE.region(x, *texts), PLANE.metric) for x, texts in QUERIES]


def recorded(rows: Matrix) -> list[Archive]:
    made = archives()
    for number, archive in enumerate(made):
        archive.record(rows[number::2], Reply(np.ones(len(rows[number::2]), dtype=bool), None))
    return made


def contents(archive: Archive) -> tuple[list[list[float]], list[float], float]:
    if archive.found is None:
        return [], [], archive.best_distance
    return archive.found.tolist(), archive.distances.tolist(), archive.best_distance


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), max_size=150))
def test_looking_at_all_at_once_is_the_same_as_at_each(pairs: list[tuple[int, int]]) -> None:
    rows = np.array(pairs, dtype=float).reshape(-1, 2)
    together, alone = recorded(rows), recorded(rows)
    look_at_new(together)
    assert every(contents(one) == contents(other) for one, other in zip(together, alone, strict=True))
    assert every(
        np.concatenate([rows[:0], *one.hits]).tolist() == np.concatenate([rows[:0], *other.hits]).tolist()
        for one, other in zip(together, alone, strict=True)
    )


def test_rows_equally_far_stay_in_the_order_in_which_they_came() -> None:
    made = archives()
    rows = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 2.0], [-2.0, 0.0]])
    share_out(made, rows, np.array([0, 0, 0, 0]), PLANE.metric.distance(rows, np.zeros(2)))
    assert made[0].nearest(9).tolist() == [[0, 1], [2, 0], [0, 2], [-2, 0]]
    assert [archive.has_found for archive in made] == [True, False, False]


def test_what_is_added_joins_what_was_recorded_before() -> None:
    archive = archives()[0]
    archive.record(np.array([[3.0, 0.0], [8.0, 0.0]]), Reply(np.ones(2, dtype=bool), None))
    archive.add(np.array([[2.0, 0.0], [4.0, 0.0]]), np.array([2.0, 4.0]))
    assert archive.nearest(9).tolist() == [[2, 0], [3, 0], [4, 0]]
    assert archive.nearest(1).tolist() == [[2, 0]]
    assert archive.best_distance == 2.0
    assert np.concatenate(archive.hits).tolist() == [[3, 0], [2, 0], [4, 0]]
