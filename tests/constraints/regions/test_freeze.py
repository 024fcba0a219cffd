"""A region in which more columns are held is the part of it in which they do not change."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import setting

from ssba.columns.features import integer
from ssba.constraints.constraint import constraint
from ssba.constraints.regions.freeze import holding

_rng = np.random.default_rng(4)
FRAME = pd.DataFrame(
    {
        "a": _rng.normal(size=60),
        "n": _rng.integers(0, 9, size=60),
        "c": _rng.choice(["u", "v", "w"], size=60),
        "b": _rng.normal(size=60),
    }
)
KINDS: dict[str, Any] = {"n": integer()}
QUERY = {"a": 0.2, "n": 4, "c": "u", "b": -0.1}


def columns(*names: str) -> Any:
    return np.isin(FRAME.columns, names)


@given(
    held=st.sets(st.sampled_from(["a", "n", "c", "b"]), max_size=3),
    texts=st.sets(st.sampled_from(["a + b <= 1", "a - n >= -7", "n >= x.n", "b <= x.b + 1", "c != 'w'"])),
    seed=st.integers(0, 50),
)
def test_it_contains_exactly_the_rows_that_leave_these_columns(
    held: set[str], texts: set[str], seed: int
) -> None:
    mine = setting(FRAME, KINDS)
    rng = np.random.default_rng(seed)
    for region in mine.regions(mine.space.encode_row(QUERY), [constraint(text) for text in sorted(texts)]):
        part = holding(region, columns(*held), mine.metric)
        assert part is not None
        drawn = mine.Z[rng.integers(0, 60, 30)]
        drawn = np.where(columns(*held) & (rng.random((30, 1)) < 0.7), region.x, drawn)
        keeps = (drawn == region.x)[:, columns(*held)].all(axis=1)
        np.testing.assert_array_equal(part.contains(drawn), region.contains(drawn) & keeps)
        assert part.contains(part.start[None, :])[0]
        pulled, fine = part.pull_in(drawn)
        assert region.contains(pulled[fine]).all()
        assert (pulled == region.x)[:, columns(*held)].all()


@pytest.mark.parametrize("text", ["n >= 6", "a + b >= 1.5", "c == 'v'"])
def test_nothing_is_left_where_a_held_column_has_to_change(text: str) -> None:
    mine = setting(FRAME, KINDS)
    region = mine.region(QUERY, text)
    names = ["n", "a", "b", "c"]
    assert holding(region, columns(*names), mine.metric) is None


def test_a_linear_row_goes_on_over_what_may_still_move() -> None:
    mine = setting(FRAME, KINDS)
    region = mine.region(QUERY, "a + b <= 0.5")
    part = holding(region, columns("b"), mine.metric)
    assert part is not None
    rows, fine = part.pull_in(np.array([[2.0, 4.0, 0.0, 0.0]]))
    assert fine[0]
    assert rows[0, 0] == pytest.approx(0.6)
    assert rows[0, 3] == -0.1


def test_a_row_with_a_missing_cell_that_is_held_asks_nothing() -> None:
    mine = setting(FRAME, KINDS)
    texts = ["a + b <= 0.5", "a may be filled"]
    query = mine.space.encode_row({**QUERY, "a": None})
    missing, filled = mine.regions(query, [constraint(text) for text in texts])
    assert missing.linear is None
    part = holding(filled, columns("a"), mine.metric)
    assert part is not None
    assert part.linear is None
