"""The space encodes rows and queries of any form, names what does not fit, and rounds to legal values."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support import TORCH, on_torch

from ssba.columns.features import Declaration, Feature, boolean, categorical, integer, numeric, ordinal
from ssba.columns.space import Grid, build_space, grid
from ssba.errors import SchemaError

STEPS = [0.1, 0.25, 5.0, 1e-3, 0.3, 1.0, 2.5, 1 / 3]
VALUES = st.floats(-1e6, 1e6)
GRIDS = [(step, single) for step in [None, *STEPS] for single in (False, True)]

FRAME = pd.DataFrame(
    {
        "age": [40, 50, 60],
        "chol": [200.5, math.nan, 240.0],
        "pain": ["some", "none", "some"],
        "smoker": [True, False, True],
    }
)
SPACE, Z = build_space(FRAME, {"pain": ordinal(["none", "some", "much"])})
QUERY = {"age": 50, "chol": 210.0, "pain": "much", "smoker": False}
ENCODED = [50.0, 210.0, 2.0, 0.0]


def one_column(step: float | None = None, single: bool = False) -> Grid:
    return grid([Feature("a", "numeric", step=step)], [single])


def only(array: Any) -> float:
    return float(array[0, 0])


def cell(value: float) -> Any:
    return np.array([[value]])


@pytest.mark.parametrize(("step", "single"), GRIDS)
@given(value=VALUES)
def test_snapping_twice_is_snapping_once(step: float | None, single: bool, value: float) -> None:
    legal = one_column(step, single)
    once = legal.snap(cell(value))
    assert only(legal.snap(once)) == only(once)


@pytest.mark.parametrize(("step", "single"), GRIDS)
@given(value=VALUES)
def test_floor_and_ceil_enclose_the_value_and_are_legal(
    step: float | None, single: bool, value: float
) -> None:
    legal = one_column(step, single)
    low, high = legal.floor(cell(value)), legal.ceil(cell(value))
    assert only(low) <= value <= only(high)
    assert only(legal.snap(low)) == only(low)
    assert only(legal.snap(high)) == only(high)


@pytest.mark.parametrize("step", STEPS)
@given(count=st.integers(-10_000, 10_000))
def test_a_legal_value_is_its_own_floor_and_ceil_to_the_bit(step: float, count: int) -> None:
    legal = one_column(step)
    value = legal.snap(cell(count * step))
    for rounded in (legal.snap(value), legal.floor(value), legal.ceil(value)):
        assert only(rounded) == only(value)


@pytest.mark.parametrize("step", ["0.1", "0.25", "5", "0.001", "0.3", "2.5"])
@given(count=st.integers(-100_000, 100_000))
def test_multiples_of_a_step_are_exact_decimals(step: str, count: int) -> None:
    expected = float(count * Decimal(step))
    noisy = count * float(step)
    assert only(one_column(float(step)).snap(cell(noisy))) == expected
    assert repr(only(one_column(float(step)).snap(cell(noisy)))) == repr(expected + 0.0)


def test_just_below_a_multiple_the_floor_is_the_one_before() -> None:
    count = np.arange(1, 5000)
    value = np.nextafter(count / 10, -math.inf)[:, None]
    np.testing.assert_array_equal(one_column(0.1).floor(value)[:, 0], (count - 1) / 10)
    np.testing.assert_array_equal(one_column(0.1).ceil(-value)[:, 0], -(count - 1) / 10)


@given(value=VALUES)
@pytest.mark.parametrize("step", STEPS)
def test_the_snapped_value_is_at_most_half_a_step_away(step: float, value: float) -> None:
    assert abs(only(one_column(step).snap(cell(value))) - value) <= step / 2 * (1 + 1e-9)


@pytest.mark.parametrize("value", [-0.01, -0.0, 0.01])
def test_nothing_is_rounded_to_minus_zero(value: float) -> None:
    legal = one_column(0.1)
    for rounded in (
        legal.snap(cell(value)),
        legal.ceil(cell(min(value, 0.0))),
        legal.floor(cell(abs(value))),
    ):
        assert math.copysign(1.0, only(rounded)) == 1.0


@given(value=VALUES)
def test_single_precision_columns_get_single_precision_values(value: float) -> None:
    legal = one_column(single=True)
    assert only(legal.snap(cell(value))) == float(np.float32(value))
    assert float(np.float32(only(legal.floor(cell(value))))) == only(legal.floor(cell(value)))


@given(value=VALUES)
def test_the_floor_in_single_precision_is_the_largest_value_not_above(value: float) -> None:
    low = np.float32(only(one_column(single=True).floor(cell(value))))
    assert float(low) <= value < float(np.nextafter(low, np.float32(np.inf)))


@given(value=VALUES)
def test_a_grid_without_steps_changes_nothing(value: float) -> None:
    plain = one_column()
    assert plain.trivial
    for rounded in (plain.snap(cell(value)), plain.floor(cell(value)), plain.ceil(cell(value))):
        assert only(rounded) == value


def test_codes_and_whole_numbers_have_step_one() -> None:
    features = [Feature("n", "integer"), Feature("c", "categorical", ("u", "v")), Feature("r", "numeric")]
    rounded = grid(features, [False] * 3).snap(np.array([[1.6, 0.7, 1.6]]))
    assert rounded.tolist() == [[2.0, 1.0, 1.6]]


def test_bounds_without_end_and_missing_cells_stay() -> None:
    legal = one_column(0.1)
    for value in (math.inf, -math.inf):
        assert only(legal.floor(cell(value))) == only(legal.ceil(cell(value))) == value
    assert math.isnan(only(legal.snap(cell(math.nan))))
    single = one_column(single=True)
    assert only(single.floor(cell(math.inf))) == math.inf
    assert only(single.ceil(cell(-math.inf))) == -math.inf


@given(st.lists(VALUES, min_size=4, max_size=4))
def test_torch_rounds_as_numpy_does(values: list[float]) -> None:
    assume(all(abs(value) > 1e-30 for value in values))  # torch on some processors drops denormals
    features = [Feature("n", "integer"), *(Feature("r", "numeric", step=step) for step in (0.1, None, 2.5))]
    legal, Z = grid(features, [False, False, True, False]), np.array([values])
    tensors = on_torch(legal)
    for name in ("snap", "floor", "ceil"):
        rounded = getattr(tensors, name)(on_torch(Z))
        assert rounded.dtype == TORCH.dtype
        np.testing.assert_array_equal(rounded.numpy(), getattr(legal, name)(Z))


def test_rows_become_one_column_per_feature_with_nan_for_missing() -> None:
    np.testing.assert_array_equal(Z, [[40, 200.5, 1, 1], [50, math.nan, 0, 0], [60, 240, 1, 1]])
    assert SPACE.names == ("age", "chol", "pain", "smoker")
    assert SPACE.index("pain") == 2
    assert SPACE.by_name["age"].kind == "integer"
    assert SPACE.nullable == (False, True, True, False)


@pytest.mark.parametrize(
    "query",
    [
        QUERY,
        dict(reversed(QUERY.items())),
        pd.Series(QUERY),
        pd.Series(QUERY)[::-1],
        pd.DataFrame([QUERY], index=["p7"]),
        pl.DataFrame([QUERY]),
        pa.Table.from_pylist([QUERY]),
        np.array(list(QUERY.values()), dtype=object),
        list(QUERY.values()),
        tuple(QUERY.values()),
    ],
    ids=["dict", "reordered", "series", "reversed", "pandas", "polars", "pyarrow", "array", "list", "tuple"],
)
def test_a_query_is_encoded_from_any_form(query: Any) -> None:
    assert SPACE.encode_row(query).tolist() == ENCODED


@pytest.mark.parametrize("shape", [(2,), (1, 2)])
def test_array_queries_are_one_row(shape: tuple[int, ...]) -> None:
    space, _ = build_space(np.array([[0.0, 1.0], [2.0, 3.0]]))
    assert space.encode_row(np.array([1.0, 2.0]).reshape(shape)).tolist() == [1.0, 2.0]


def test_a_frame_with_columns_in_another_order_is_encoded_alike() -> None:
    np.testing.assert_array_equal(SPACE.encode(FRAME[["smoker", "pain", "age", "chol"]]), Z)


def test_row_values_are_python_values_with_none_for_missing() -> None:
    values = SPACE.row_values(Z[1])
    assert values == {"age": 50, "chol": None, "pain": "none", "smoker": False}
    assert [type(value) for value in values.values()] == [int, type(None), str, bool]


@given(st.integers(0, 2))
def test_the_values_of_a_row_encode_to_the_row(i: int) -> None:
    np.testing.assert_array_equal(SPACE.encode_row(SPACE.row_values(Z[i])), Z[i])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({**QUERY, "age": None}, ["'age'", "missing", "nullable"]),
        ({**QUERY, "age": 50.5}, ["'age'", "50.5", "whole"]),
        ({**QUERY, "pain": "sume"}, ["'pain'", "did you mean 'some'"]),
        ({**QUERY, "chol": "high"}, ["'chol'", "'high'", "not a number"]),
        ({**QUERY, "chol": math.inf}, ["'chol'", "infinite"]),
        ({"age": 50}, ["the query", "'chol' is missing", "'smoker' is missing"]),
        ({**QUERY, "bmi": 3}, ["unknown column 'bmi'"]),
        (
            {**{k: v for k, v in QUERY.items() if k != "age"}, "agee": 3},
            ["'age' is missing", "did you mean 'age'"],
        ),
        ([1.0, 2.0], ["4 columns", "age, chol, pain, smoker"]),
        (np.zeros((2, 2)), ["4 columns"]),
        (np.zeros((4, 1, 1)), ["4 columns"]),
        (7, ["7", "a dict, a Series"]),
        ("age=50", ["age=50", "a dict"]),
        (None, ["None", "a dict"]),
        (pd.concat([FRAME, FRAME]), ["6", "explain_many"]),
    ],
)
def test_a_query_that_does_not_fit_is_refused_by_name(query: Any, words: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        SPACE.encode_row(query)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": [40, 50, 60.5]}, ["row 2", "'age'", "60.5"]),
        ({"age": [40, None, 60]}, ["row 1", "'age'", "missing"]),
        ({"chol": [1.0, math.inf, 2.0]}, ["row 1", "'chol'", "infinite"]),
        ({"pain": ["some", "none", "bad"]}, ["'pain'", "'bad'"]),
        ({"age": ["a", "b", "c"]}, ["'age'", "not a number"]),
        ({"smoker": ["yes", "no", "no"]}, ["'smoker'", "'yes'"]),
        ({"bmi": [1, 2, 3]}, ["'bmi'", "columns are"]),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_row_and_column(
    change: dict[str, list[Any]], words: list[str]
) -> None:
    with pytest.raises(SchemaError) as caught:
        SPACE.encode(FRAME.assign(**change))
    for word in words:
        assert word in str(caught.value)


def test_a_list_without_rows_is_a_frame_without_rows() -> None:
    np.testing.assert_array_equal(SPACE.encode([]), SPACE.encode(FRAME[:0]))


def test_array_rows_need_the_right_width() -> None:
    space, _ = build_space(np.arange(6.0).reshape(2, 3))
    with pytest.raises(SchemaError, match="2 columns, but the background data has 3"):
        space.encode(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "data", [pd.DataFrame(), pd.DataFrame({"a": []}), np.zeros((0, 2)), np.zeros((2, 0))]
)
def test_empty_data_is_refused(data: Any) -> None:
    with pytest.raises(SchemaError, match="empty"):
        build_space(data)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_doubles_cannot_tell_apart_are_refused(dtype: str) -> None:
    with pytest.raises(SchemaError, match="'id'"):
        build_space(pd.DataFrame({"id": pd.Series([2**53 + 1, 0], dtype=dtype)}))


@pytest.mark.parametrize("value", [300, -1])
def test_a_query_outside_what_the_dtype_can_hold_is_refused(value: int) -> None:
    space, _ = build_space(pd.DataFrame({"a": np.array([0, 200], dtype=np.uint8)}))
    with pytest.raises(SchemaError, match="'a'"):
        space.encode_row({"a": value})


@pytest.mark.parametrize(
    ("cells", "declared"),
    [
        (np.array([0.0, 1.0]), integer(low=0.2, high=0.8)),
        (np.array([0.0, 1.0]), numeric(step=5, low=1, high=4)),
        (np.array([0, 1], dtype=np.int8), integer(low=200)),
        (np.array([0, 1], dtype=np.float32), numeric(low=0.1, high=0.1)),
    ],
)
def test_a_declared_range_without_a_legal_value_is_refused(cells: Any, declared: Declaration) -> None:
    with pytest.raises(SchemaError, match=r"column 'a' is declared from .* no value that it can hold"):
        build_space(pd.DataFrame({"a": cells}), {"a": declared})


def test_a_constant_column_stays_within_its_declared_range() -> None:
    """It cannot change, so that no row would be feasible."""
    data, refused = pd.DataFrame({"a": [2.0, 2.0]}), "outside the declared range.*cannot change"
    with pytest.raises(SchemaError, match=f"row 0, column 'a': 2.0 is {refused}"):
        build_space(data, {"a": numeric(low=3)})
    space, _ = build_space(data, {"a": numeric(low=1)})
    assert space.encode_row({"a": 5.0}).tolist() == [5.0]
    with pytest.raises(SchemaError, match=f"column 'a': 0.5 is {refused}"):
        space.encode_row({"a": 0.5})


@given(st.floats(-1e6, 1e6))
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_query_is_encoded_as_the_column_will_hold_it(dtype: str, value: float) -> None:
    space, _ = build_space(np.array([[0.0], [1.0]], dtype=dtype))
    x = space.encode_row([value])
    np.testing.assert_array_equal(space.encode(space.decode(x[None, :]))[0], x)
    np.testing.assert_array_equal(space.encode(space.decode(space.encode(np.array([[value]]))))[0], x)


def test_declared_levels_and_booleans_are_read_from_numbers() -> None:
    frame = pd.DataFrame({"cp": [1, 3, 4], "fbs": [0, 1, 1], "s": [0.1, 0.2, 0.3]})
    declarations = {"cp": categorical(), "fbs": boolean(), "s": numeric(step=0.1)}
    space, encoded = build_space(frame, declarations)
    np.testing.assert_array_equal(encoded[:, :2], [[0, 0], [1, 1], [2, 1]])
    assert space.encode_row({"cp": 4.0, "fbs": True, "s": 0.1}).tolist() == [2.0, 1.0, 0.1]
    with pytest.raises(SchemaError, match="'cp'"):
        space.encode(frame.assign(cp=[1.0, 3.0, math.inf]))


def test_the_schema_hash_follows_names_kinds_levels_and_steps_and_nothing_else() -> None:
    same, _ = build_space(FRAME.iloc[::-1], {"pain": ordinal(["none", "some", "much"])})
    assert same.schema_hash == SPACE.schema_hash
    others = [
        build_space(FRAME, {"pain": ordinal(["some", "none", "much"])}),
        build_space(FRAME, {"pain": categorical(["none", "some", "much"])}),
        build_space(FRAME.rename(columns={"age": "years"}), {"pain": ordinal(["none", "some", "much"])}),
        build_space(FRAME, {"pain": ordinal(["none", "some", "much"]), "chol": numeric(step=0.5)}),
    ]
    assert len({SPACE.schema_hash, *(space.schema_hash for space, _ in others)}) == 5


def test_the_users_data_is_never_changed() -> None:
    frame, array = FRAME.copy(), np.array([[0.0, 1.0], [2.0, 3.0]])
    space, encoded = build_space(array, {"x0": integer()})
    encoded += 1
    build_space(frame)
    pd.testing.assert_frame_equal(frame, FRAME)
    np.testing.assert_array_equal(array, [[0, 1], [2, 3]])
    assert space.names == ("x0", "x1")


class TestWhichRow:
    """Of many rows the one that does not fit is named: by position, and by its label where it has another."""

    LABELLED = FRAME.set_axis(["p", "q", "r"])

    @pytest.mark.parametrize(
        ("column", "cell", "says"),
        [
            ("pain", "severe", r"^row 1 \(index 'q'\), column 'pain': unknown level 'severe'"),
            ("smoker", None, r"^row 1 \(index 'q'\), column 'smoker': the cell is missing"),
            ("age", "old", r"^row 1 \(index 'q'\), column 'age': 'old' is not a number"),
            ("age", 50.5, r"^row 1 \(index 'q'\), column 'age': 50.5 is not a whole number"),
            ("chol", math.inf, r"^row 1 \(index 'q'\), column 'chol': inf is infinite"),
        ],
    )
    def test_of_a_frame(self, column: str, cell: Any, says: str) -> None:
        cells = self.LABELLED[column].tolist()
        rows = self.LABELLED.assign(**{column: [cells[0], cell, cells[2]]})
        with pytest.raises(SchemaError, match=says):
            SPACE.encode(rows)

    def test_a_label_that_is_the_position_is_not_repeated(self) -> None:
        with pytest.raises(SchemaError, match=r"^row 2, column 'pain'"):
            SPACE.encode(FRAME.assign(pain=["some", "none", "severe"]))

    @pytest.mark.parametrize("label", [math.nan, pd.NA, pd.NaT, ("a", 1)], ids=str)
    def test_a_label_may_be_anything(self, label: Any) -> None:
        rows = FRAME.assign(pain=["severe", "none", "some"])
        rows.index = pd.Index([label, "q", "r"], tupleize_cols=False)
        with pytest.raises(SchemaError, match=r"^row 0 \(index .*\), column 'pain'"):
            SPACE.encode(rows)

    def test_of_a_list_of_dicts(self) -> None:
        with pytest.raises(SchemaError, match=r"^row 1: column 'pain': unknown level 'severe'"):
            SPACE.encode([QUERY, {**QUERY, "pain": "severe"}])
        with pytest.raises(SchemaError, match=r"^row 2: .*column 'age' is missing"):
            SPACE.encode([QUERY, QUERY, {"chol": 210.0, "pain": "much", "smoker": False}])
