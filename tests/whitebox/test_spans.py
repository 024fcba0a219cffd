"""Intervals of options against the table of what each leaf takes."""

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ssba.whitebox.cells import Cells, Options
from ssba.whitebox.spans import spans_of


def cells(*columns: Any) -> Cells:
    """Columns of options, of which only what they take matters here."""
    made = []
    for fits in columns:
        none = np.zeros(len(fits))
        made.append(Options(none, none, none, none, fits))
    names = [one.name for one in dataclasses.fields(Cells)]
    unused: dict[str, Any] = dict.fromkeys(names)
    return Cells(**{**unused, "options": tuple(made), "gain": np.zeros((1, columns[0].shape[1]))})


@given(arrays(bool, (5, 7)), st.integers(0, 4), st.integers(0, 4))
def test_a_leaf_is_touched_where_it_takes_an_option_of_the_interval(fits: Any, one: int, other: int) -> None:
    fits[0, ~fits.any(axis=0)] = True
    low, high = np.array([min(one, other)]), np.array([max(one, other)])
    touched = spans_of(cells(fits)).touched(0, low, high)
    assert (touched[0] == fits[low[0] : high[0] + 1].any(axis=0)).all()


def test_only_columns_with_gaps_are_counted_out() -> None:
    whole, gap = np.array([[True], [True], [False]]), np.array([[True], [False], [True]])
    spans = spans_of(cells(whole, gap))
    assert list(spans.counts) == [1]
    assert (spans.begin[0, 0], spans.end[0, 0]) == (0, 2)


def test_a_query_without_free_columns_has_none() -> None:
    none = dataclasses.replace(cells(np.ones((1, 4), dtype=bool)), options=())
    assert spans_of(none).begin.shape == (0, 4)
