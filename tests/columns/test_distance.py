"""Distances known by hand, scales with their fallbacks, the laws of a metric, the nearest of many rows."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, on_torch

from ssba.columns.distance import Distance, Metric, Norm, distance_from, flat, least_distance, nearest_numbers
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
CELLS = st.tuples(
    st.integers(-50, 50).map(float),
    st.floats(-100, 100),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, 1.0]),
).map(np.array)
METRICS = [
    Distance("l1", "std", {"cp": 3}).metric(FEATURES, BACKGROUND),
    Distance("l2", "mad", {"age": 0.5}).metric(FEATURES, BACKGROUND),
    Distance("gower").metric(FEATURES, BACKGROUND),
]


def by_hand(norm: Any, scale: Any = "none", weights: Any = None) -> float:
    return float(Distance(norm, scale, weights).metric(FEATURES, BACKGROUND).distance(ROW, X)[0])


@pytest.mark.parametrize(
    ("norm", "scale", "weights", "expected"),
    [
        ("l1", "none", None, 3 + 4 + 1 + 1),
        ("l2", "none", None, math.sqrt(9 + 16 + 1 + 1)),
        ("l1", "range", None, 0.3 + 1 + 0.5 + 1),
        ("gower", None, None, 0.3 + 1 + 0.5 + 1),
        # what is asked for is what is done: gower's own scale is only the usual one
        ("gower", "std", None, 3 / math.sqrt(50 / 3) + 4 / math.sqrt(8 / 3) + 1 / math.sqrt(2 / 3) + 1),
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
        measured = Distance("l1", scale).metric(FEATURES, BACKGROUND)
        for code in (1.0, 2.0):
            row = X.copy()
            row[3] = code
            assert measured.distance(row[None, :], X)[0] == 1.0


def test_a_missing_cell_that_was_filled_counts_one_and_one_that_stayed_counts_nothing() -> None:
    x = np.array([math.nan, 1.0, math.nan, math.nan, 0.0])
    measured = Distance("l1", "range").metric(FEATURES, BACKGROUND)
    same, filled = x.copy(), np.array([7.0, 1.0, 2.0, 1.0, 0.0])
    np.testing.assert_array_equal(measured.distance(np.stack([same, filled]), x), [0.0, 3.0])
    assert measured.parts(filled[None, :], x).tolist() == [[1.0, 0.0, 1.0, 1.0, 0.0]]


def scales(cells: Any, scale: Any) -> float:
    space, Z = build_space(pd.DataFrame({"a": cells}))
    return float(Distance(scale=scale).metric(space.features, Z).scale[0])


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
    assert Distance(scale=scale).metric([Feature("a", "numeric")], cells).scale.tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"norm": "cosine"}, ArgumentError, "'cosine'.*'l2', 'l1', 'gower'"),
        ({"scale": "iqr"}, ArgumentError, "'iqr'.*'std', 'mad', 'range', 'none'"),
        ({"scale": {"age": 0}}, ArgumentError, "scale.*'age'.*positive"),
        ({"scale": {"aeg": 1}}, SchemaError, "did you mean 'age'"),
        ({"weights": {"age": -1}}, ArgumentError, "weights.*'age'.*positive"),
        ({"weights": {"age": math.nan}}, ArgumentError, "positive"),
        (
            {"scale": {"cp": 2.0}},
            ArgumentError,
            "'cp', which is categorical: .* counts 1 .*weights={'cp': ...}",
        ),
        ({"weights": {"bmi": 1}}, SchemaError, "unknown column 'bmi'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        Distance(**arguments).metric(FEATURES, BACKGROUND)


@pytest.mark.parametrize("most", [5e300, 1.7e308])
@pytest.mark.parametrize("scale", ["std", "mad", "range"])
def test_numbers_too_far_apart_are_refused_by_column(most: float, scale: Any) -> None:
    space, Z = build_space(pd.DataFrame({"a": [0.0, 1.0, 2.0], "z": [-most, 0.0, most]}))
    with pytest.raises(SchemaError, match=r"column 'z' holds numbers from -.* too far apart.*larger unit"):
        Distance("l2", scale).metric(space.features, Z)


def test_a_norm_by_its_name_is_the_distance_with_its_usual_scale() -> None:
    for norm in ("l2", "l1", "gower"):
        assert distance_from(norm) == Distance(norm)
    given = Distance("l1", scale="mad")
    assert distance_from(given) is given


def test_a_distance_keeps_what_it_was_given() -> None:
    scale, weights = {"age": 2.0}, {"cp": 3.0}
    made = Distance("l2", scale, weights)
    scale["age"] = weights["cp"] = 9.0
    assert made == Distance("l2", {"age": 2.0}, {"cp": 3.0})


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


def rows_of(count: int, seed: int, offset: float) -> Matrix:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 5)).round(2)
    rows[:, 1] += offset
    rows[:, 4] = rng.integers(0, 4, count)
    return np.asarray(rows)


def measure(norm: Norm) -> Metric:
    return Metric(norm, np.array([1.0, 0.1, 7.0, 1.0, 1.0]), np.array([1.0, 1, 2, 1, 3]), np.arange(5) == 4)


@given(
    st.integers(1, 30),
    st.integers(1, 60),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1e6, 1e12]),
    st.sampled_from(["l2", "l1"]),
)
def test_it_is_the_least_of_all_distances_to_the_last_bit(
    count: int, others: int, seed: int, offset: float, norm: Norm
) -> None:
    metric, Z, rows = measure(norm), rows_of(count, seed, offset), rows_of(others, seed + 1, offset)
    expected = [metric.distance(rows, z).min() for z in Z]
    assert least_distance(metric, Z, rows).tolist() == expected


@given(
    st.integers(1, 30),
    st.integers(1, 60),
    st.integers(1, 70),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1e6, 1e12]),
    st.sampled_from(["l2", "l1"]),
)
def test_the_nearest_few_are_those_of_all_distances_and_of_equal_ones_the_first(
    count: int, others: int, few: int, seed: int, offset: float, norm: Norm
) -> None:
    metric, Z, rows = measure(norm), rows_of(count, seed, offset), rows_of(others, seed + 1, offset)
    rows = rows[np.arange(others) // 2]
    near, far = nearest_numbers(metric, Z, rows, few)
    for z, own, lengths in zip(Z, near, far, strict=True):
        distances = metric.distance(rows, z)
        assert own.tolist() == np.argsort(distances, kind="stable")[:few].tolist()
        assert lengths.tolist() == distances[own].tolist()


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_many_rows_are_measured_as_each_alone_is(norm: Norm) -> None:
    metric, Z, others = measure(norm), rows_of(30_000, 1, 0.0), rows_of(30_000, 2, 0.0)
    Z[::7], Z[::11, 0], others[::13, 4] = others[::7], np.nan, np.nan
    found = metric.distance(Z, others)
    for i in range(0, 30_000, 77):
        assert found[i] == metric.distance(Z[i], others[i])


def test_a_column_alone_contributes_what_it_does_among_others() -> None:
    metric, Z, x = measure("l2"), rows_of(9, 1, 0.0), rows_of(1, 2, 0.0)[0]
    Z[3, 0] = np.nan
    alone = [one.parts(Z[:, j : j + 1], x[j : j + 1]) for j, one in enumerate(metric.columns)]
    assert np.concatenate(alone, axis=1).tolist() == metric.parts(Z, x).tolist()


@pytest.mark.parametrize("cell", [np.nan, 1e200, 1e300])
def test_missing_and_huge_cells_are_measured_too(cell: float) -> None:
    metric, Z, rows = measure("l2"), rows_of(9, 1, 0.0), rows_of(12, 2, 0.0)
    Z[3, 0] = cell
    expected = [metric.distance(rows, z).min() for z in Z]
    assert least_distance(metric, Z, rows).tolist() == expected


def test_without_rows_it_is_infinite() -> None:
    assert np.isinf(least_distance(measure("l2"), rows_of(3, 0, 0.0), rows_of(0, 0, 0.0))).all()


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_flat_rows_are_as_far_apart_as_the_metric_says(norm: Norm) -> None:
    metric, Z, rows = measure(norm), rows_of(6, 3, 0.0), rows_of(8, 4, 0.0)
    gaps = flat(metric, Z, rows)[:, None] - flat(metric, rows, rows)
    plain = np.linalg.norm(gaps, ord=2 if norm == "l2" else 1, axis=2)
    expected = metric.distance(rows, Z[:, None])
    np.testing.assert_allclose(plain, expected, rtol=1e-12)
