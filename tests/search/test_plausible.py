"""Distances to the nearest background row are those of brute force, for every kind of column."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import setting

from ssba.columns.distance import Norm
from ssba.search.plausible import Neighbourhood

_rng = np.random.default_rng(6)
MIXED = pd.DataFrame(
    {
        "a": _rng.normal(size=80),
        "n": _rng.integers(0, 9, size=80),
        "c": _rng.choice(["u", "v", "w", "z"], size=80),
        "b": _rng.random(80) < 0.5,
    }
)


@given(
    norm=st.sampled_from(["l1", "l2", "gower"]),
    weight=st.floats(0.2, 3.0),
    few=st.integers(1, 40),
    missing=st.booleans(),
)
def test_they_are_the_same_as_by_brute_force(norm: Norm, weight: float, few: int, missing: bool) -> None:
    mine = setting(MIXED, norm=norm, weights={"c": weight, "a": 1 / weight})
    known, asked = mine.Z[:few], mine.Z[40:].copy()
    if missing:
        asked[::3, 0] = np.nan
    expected = [mine.metric.distance(known, row).min() for row in asked]
    np.testing.assert_allclose(Neighbourhood(known, mine.metric).distance(asked), expected, atol=1e-12)


def test_background_rows_may_have_missing_cells() -> None:
    mine = setting(MIXED)
    known = mine.Z[:30].copy()
    known[::2, 0] = np.nan
    expected = [mine.metric.distance(known, row).min() for row in mine.Z[30:]]
    np.testing.assert_allclose(Neighbourhood(known, mine.metric).distance(mine.Z[30:]), expected)


def test_what_is_usual_is_the_95_percent_quantile_of_nearest_neighbours() -> None:
    mine = setting(MIXED)
    apart = [np.delete(mine.metric.distance(mine.Z, row), i).min() for i, row in enumerate(mine.Z)]
    assert Neighbourhood(mine.Z, mine.metric).usual == pytest.approx(np.quantile(apart, 0.95))


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_rows_make_nothing_usual(count: int) -> None:
    mine = setting(MIXED)
    data = Neighbourhood(mine.Z[:count], mine.metric)
    assert data.usual == 0
    assert np.isinf(data.distance(mine.Z[5:8])).all() == (count == 0)
