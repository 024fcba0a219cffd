"""Distances known by hand, scales with their fallbacks, and the laws of a metric."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import on_torch

from ssba.columns.distance import Metric, metric
from ssba.columns.features import Feature
from ssba.columns.space import build_space
from ssba.errors import ArgumentError, SchemaError

FEATURES = (
    Feature("age", "integer"),
    Feature("chol", "numeric"),
    Feature("pain", "ordinal", ("none", "some", "much")),
    Feature("cp", "categorical", ("u", "v", "w")),
    Feature("fbs", "boolean", (False, True)),
)
# Columns with ranges 10, 4, 2 and, for the two discrete ones, whatever their codes show.
BACKGROUND = np.array([[0.0, 1.0, 0, 0, 0], [10.0, 5.0, 2, 2, 1], [5.0, 3.0, 1, 1, 0]])
X = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
ROW = np.array([[3.0, 5.0, 1.0, 2.0, 0.0]])


def by_hand(norm: Any, scale: Any = "none", weights: Any = None) -> float:
    return float(metric(FEATURES, BACKGROUND, norm, scale, weights).distance(ROW, X)[0])


@pytest.mark.parametrize(
    ("norm", "scale", "weights", "expected"),
    [
        ("l1", "none", None, 3 + 4 + 1 + 1),
        ("l2", "none", None, math.sqrt(9 + 16 + 1 + 1)),
        ("l1", "range", None, 0.3 + 1 + 0.5 + 1),
        ("gower", "std", None, 0.3 + 1 + 0.5 + 1),
        ("gower", "none", None, 9),
        ("l2", "range", None, math.sqrt(0.09 + 1 + 0.25 + 1)),
        ("l1", {"age": 3, "chol": 2}, None, 1 + 2 + 1 + 1),
        ("l1", "none", {"age": 2, "cp": 5}, 6 + 4 + 1 + 5),
        ("l2", "none", {"age": 2, "cp": 5}, math.sqrt(36 + 16 + 1 + 25)),
        # mad: |0,10,5 - 5| -> median 5; |1,5,3 - 3| -> 2; ranks -> 1
        ("l1", "mad", None, 3 / 5 + 4 / 2 + 1 + 1),
        # std of 0, 10, 5 is sqrt(50/3); of 1, 5, 3 sqrt(8/3); of 0, 2, 1 sqrt(2/3)
        ("l1", "std", None, 3 / math.sqrt(50 / 3) + 4 / math.sqrt(8 / 3) + 1 / math.sqrt(2 / 3) + 1),
    ],
)
def test_distances_are_what_one_computes_by_hand(
    norm: Any, scale: Any, weights: Any, expected: float
) -> None:
    assert by_hand(norm, scale, weights) == pytest.approx(expected, rel=1e-12)


def test_a_category_counts_one_whichever_it_becomes_and_whatever_the_scale() -> None:
    for scale in ("std", "mad", "range", "none"):
        measured = metric(FEATURES, BACKGROUND, "l1", scale)
        for code in (1.0, 2.0):
            row = X.copy()
            row[3] = code
            assert measured.distance(row[None, :], X)[0] == 1.0


def test_a_missing_cell_that_was_filled_counts_one_and_one_that_stayed_counts_nothing() -> None:
    x = np.array([math.nan, 1.0, math.nan, math.nan, 0.0])
    measured = metric(FEATURES, BACKGROUND, "l1", "range")
    same, filled = x.copy(), np.array([7.0, 1.0, 2.0, 1.0, 0.0])
    np.testing.assert_array_equal(measured.distance(np.stack([same, filled]), x), [0.0, 3.0])
    assert measured.parts(filled[None, :], x).tolist() == [[1.0, 0.0, 1.0, 1.0, 0.0]]


def scales(cells: Any, scale: Any) -> float:
    space, Z = build_space(pd.DataFrame({"a": cells}))
    return float(metric(space.features, Z, "l2", scale).scale[0])


def test_scales_are_those_of_the_present_cells() -> None:
    cells = [1.0, 2.0, math.nan, 9.0]
    assert scales(cells, "range") == 8.0
    assert scales(cells, "mad") == 1.0
    assert scales(cells, "std") == pytest.approx(np.std([1, 2, 9]))


def test_a_median_deviation_of_zero_falls_back_to_the_standard_deviation() -> None:
    cells = [0.0, 0.0, 0.0, 0.0, 5.0]
    assert scales(cells, "mad") == pytest.approx(np.std(cells)) == 2.0


@pytest.mark.parametrize("scale", ["std", "mad", "range"])
@pytest.mark.parametrize("cells", [[3.0, 3.0], [math.nan, math.nan]])
def test_a_column_without_spread_has_scale_one(cells: list[float], scale: str) -> None:
    assert scales(cells, scale) == 1.0


@pytest.mark.parametrize("scale", ["std", "mad", "range"])
def test_rounding_dust_of_equal_numbers_is_no_spread(scale: Any) -> None:
    cells = np.full((41, 1), -25.38098977613697)
    assert np.nanstd(cells, axis=0) > 0
    assert metric([Feature("a", "numeric")], cells, scale=scale).scale.tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"norm": "cosine"}, ArgumentError, "'cosine'.*'l2', 'l1', 'gower'"),
        ({"scale": "iqr"}, ArgumentError, "'iqr'.*'std', 'mad', 'range', 'none'"),
        ({"scale": {"age": 0}}, ArgumentError, "scale.*'age'.*positive"),
        ({"scale": {"aeg": 1}}, SchemaError, "did you mean 'age'"),
        ({"weights": {"age": -1}}, ArgumentError, "weights.*'age'.*positive"),
        ({"weights": {"age": math.nan}}, ArgumentError, "positive"),
        ({"weights": {"bmi": 1}}, SchemaError, "unknown column 'bmi'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        metric(FEATURES, BACKGROUND, **arguments)


CELLS = st.tuples(
    st.integers(-50, 50).map(float),
    st.floats(-100, 100),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, 1.0]),
).map(np.array)
METRICS = [
    metric(FEATURES, BACKGROUND, "l1", "std", {"cp": 3}),
    metric(FEATURES, BACKGROUND, "l2", "mad", {"age": 0.5}),
    metric(FEATURES, BACKGROUND, "gower"),
]


@pytest.mark.parametrize("measured", METRICS, ids=["l1", "l2", "gower"])
@given(a=CELLS, b=CELLS, c=CELLS)
def test_distances_are_symmetric_zero_only_at_home_and_take_no_detour(
    measured: Metric, a: Any, b: Any, c: Any
) -> None:
    def between(one: Any, other: Any) -> float:
        return float(measured.distance(one[None, :], other)[0])

    assert between(a, a) == 0.0
    assert between(a, b) == between(b, a)
    assert (between(a, b) == 0.0) <= bool(np.allclose(a, b))
    assert between(a, c) <= (between(a, b) + between(b, c)) * (1 + 1e-12)


@pytest.mark.parametrize("measured", METRICS, ids=["l1", "l2", "gower"])
@given(a=CELLS, b=CELLS)
def test_torch_measures_as_numpy_does(measured: Metric, a: Any, b: Any) -> None:
    a[0] = math.nan
    distances = on_torch(measured).distance(on_torch(np.stack([a, b])), on_torch(b))
    np.testing.assert_allclose(distances.numpy(), measured.distance(np.stack([a, b]), b), rtol=1e-14)
