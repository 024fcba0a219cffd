"""Balls around rows, in the metric's units and legal values; distances to the data by brute force."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import setting

from ssba.columns.distance import Distance, Norm
from ssba.engine import Engine, Settings, build_engine
from ssba.errors import ArgumentError
from ssba.options import ball, score_margin
from ssba.search.robust import RANDOM_DIRECTIONS, Neighbourhood, normal_from_labels

_rng = np.random.default_rng(7)
FRAME = pd.DataFrame(
    {
        "a": _rng.normal(size=90),
        "n": pd.array(_rng.integers(0, 200, size=90), dtype="UInt8"),
        "c": _rng.choice(["u", "v", "w"], size=90),
        "k": 3.0,
    }
)

_data_rng = np.random.default_rng(6)
MIXED = pd.DataFrame(
    {
        "a": _data_rng.normal(size=80),
        "n": _data_rng.integers(0, 9, size=80),
        "c": _data_rng.choice(["u", "v", "w", "z"], size=80),
        "b": _data_rng.random(80) < 0.5,
    }
)


def engine(norm: Norm = "l2", **wishes: Any) -> Engine:
    def model(rows: pd.DataFrame) -> Any:
        return (rows["a"] > 0).to_numpy()

    return build_engine(model, FRAME, Settings(target=True, distance=Distance(norm, **wishes)))


@given(norm=st.sampled_from(["l1", "l2"]), radius=st.floats(0.05, 2.5), row=st.integers(0, 89))
def test_rows_lie_in_the_ball_and_are_legal(norm: Norm, radius: float, row: int) -> None:
    mine = engine(norm)
    z, x = mine.background.rows[row], mine.background.rows[0]
    rows = mine.surface.check_rows(z, x, radius, seed=3)
    distances = mine.metric.distance(rows, z)
    assert (distances <= radius * (1 + 1e-9)).all()
    np.testing.assert_array_equal(mine.space.encode(mine.space.decode(rows)), rows)
    assert (rows[:, 3] == 3.0).all()
    changed = (rows != z)[:, 2]
    assert changed.sum() == (2 if radius >= 1 else 0)


def test_real_numbers_lie_on_the_surface() -> None:
    mine = build_engine(lambda rows: rows[:, 0] > 0, _rng.normal(size=(50, 4)), Settings(target=True))
    z, x = mine.background.rows[0], mine.background.rows[1]
    rows = mine.surface.check_rows(z, x, 0.4, seed=0)
    assert len(rows) == 1 + 2 * 4 + RANDOM_DIRECTIONS
    np.testing.assert_allclose(mine.metric.distance(rows, z), 0.4)
    # The first is straight toward the query.
    assert mine.metric.distance(rows[:1], x)[0] == pytest.approx(mine.metric.distance(z[None, :], x)[0] - 0.4)


def test_directions_are_even_and_the_same_for_a_seed() -> None:
    surface = engine().surface
    drawn = surface.directions(4000, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, surface.directions(4000, np.random.default_rng(1)))
    assert (drawn[:, 2:] == 0).all()
    np.testing.assert_allclose((drawn**2).sum(axis=1), 1)
    assert (np.abs(drawn[:, :2].mean(axis=0)) < 5 * np.sqrt(0.5 / 4000)).all()


def test_labels_around_a_point_tell_the_normal() -> None:
    """For a plane through the center the two means differ along its normal."""
    surface = build_engine(
        lambda rows: rows[:, 0] > 0, _rng.normal(size=(50, 5)), Settings(target=True)
    ).surface
    weights = np.array([3.0, -1.0, 0.5, 0.0, 2.0])
    drawn = surface.directions(2000, np.random.default_rng(2))
    normal = normal_from_labels(drawn, drawn @ weights > 0)
    assert normal @ weights / np.linalg.norm(weights) > 0.99
    assert not normal_from_labels(drawn, np.ones(2000, dtype=bool)).any()


@pytest.mark.parametrize("given", [0, -1.0, float("nan"), "wide", None, True])
def test_other_sizes_are_refused(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"ball\(radius=...\) is"):
        ball(given)
    with pytest.raises(ArgumentError, match=r"score_margin\(amount=...\) is"):
        score_margin(given)


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
