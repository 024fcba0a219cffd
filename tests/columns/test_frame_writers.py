"""Rows are written as the user's own frames: library, columns, order, dtypes, missing cells."""

import math
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.columns.features import categorical, integer, numeric, ordinal
from ssba.columns.frame_writers import library_of
from ssba.columns.space import build_space
from ssba.errors import SchemaError

NAMES = ["a", "max HR", "", "ünï", "x.y", "`tick`", "if", "1"]
# Doubles tell whole numbers apart below 2**53; larger ones are refused, which test_space.py checks.
LARGEST = 2**53 - 1


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(max(low, -LARGEST), min(high, LARGEST))


def reals(width: Literal[32, 64]) -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


TEXT = st.sampled_from(["u", "v w", "", "ß", "nan", "None", "0"])
INTEGERS = {f"{sign}int{bits}": (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)}


def integers_of(dtype: str) -> st.SearchStrategy[int]:
    sign, bits = INTEGERS[dtype.lower()]
    return whole(0, 2**bits - 1) if sign else whole(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def cells_of(dtype: str) -> st.SearchStrategy[Any]:
    """Return cells that a column of the dtype can hold, missing ones only where it can."""
    bare = dtype.removesuffix("[pyarrow]").lower()
    nullable = dtype != bare or bare in ("object", "str", "string", "boolean", "category", "ordered")
    if bare in INTEGERS:
        cells: st.SearchStrategy[Any] = integers_of(bare)
    elif bare in ("float32", "float64", "double", "float"):
        return reals(32 if bare in ("float32", "float") else 64) | st.none()
    elif bare in ("bool", "boolean"):
        cells = st.booleans()
    else:
        cells = TEXT
    return cells | st.none() if nullable else cells


PANDAS = [
    *INTEGERS,
    *(name.title().replace("Ui", "UI") for name in INTEGERS),
    *["float32", "float64", "Float32", "Float64", "bool", "boolean", "object", "str", "string", "category"],
    *["ordered", "int64[pyarrow]", "uint8[pyarrow]", "float[pyarrow]", "double[pyarrow]"],
    *["bool[pyarrow]", "string[pyarrow]"],
]
POLARS = {
    **{name: getattr(pl, name.title().replace("Ui", "UI")) for name in INTEGERS},
    "float32": pl.Float32,
    "float64": pl.Float64,
    "boolean": pl.Boolean,
    "str": pl.String,
    "category": pl.Categorical,
    "object": pl.Enum(["0", "None", "nan", "u", "v w", "", "ß", "never seen"]),
}
ARROW = {
    **{name: getattr(pa, name)() for name in INTEGERS},
    "float32": pa.float32(),
    "float64": pa.float64(),
    "boolean": pa.bool_(),
    "str": pa.string(),
    "string": pa.large_string(),
    "category": pa.dictionary(pa.int8(), pa.string()),
}


@st.composite
def columns(draw: st.DrawFn, dtypes: list[str]) -> list[tuple[str, list[Any]]]:
    """Draw the dtypes of some columns, with cells of one length."""
    rows = draw(st.integers(1, 6))
    chosen = draw(st.lists(st.sampled_from(dtypes), min_size=1, max_size=5))
    return [(dtype, draw(st.lists(cells_of(dtype), min_size=rows, max_size=rows))) for dtype in chosen]


def pandas_column(dtype: str, cells: list[Any]) -> Any:
    if dtype == "ordered":
        levels = ["v w", "u", "0", "None", "ß", "nan", ""]
        return pd.Series(pd.Categorical(cells, categories=levels, ordered=True))
    return pd.Series(cells, dtype=dtype)


@given(columns(PANDAS), st.sampled_from(["default", "text", "reversed"]), st.booleans())
def test_pandas_frames_come_back_in_value_and_dtype(
    drawn: list[tuple[str, list[Any]]], index: str, numbered: bool
) -> None:
    frame = pd.concat([pandas_column(*column) for column in drawn], axis=1)
    frame.columns = pd.Index(range(len(drawn)) if numbered else NAMES[: len(drawn)])
    bare = frame.copy()
    if index != "default":
        order = [f"r{i}" for i in range(len(frame))] if index == "text" else range(len(frame))[::-1]
        frame.index = pd.Index(order)
    space, Z = build_space(frame)
    pd.testing.assert_frame_equal(space.decode(Z), bare)
    pd.testing.assert_frame_equal(space.decode(space.encode(frame)), bare)


@given(columns(list(POLARS)))
def test_polars_frames_come_back_in_value_and_dtype(drawn: list[tuple[str, list[Any]]]) -> None:
    # Every polars column can hold null.
    frame = pl.DataFrame(
        [pl.Series(NAMES[i], [None, *cells], dtype=POLARS[dtype]) for i, (dtype, cells) in enumerate(drawn)]
    )
    space, Z = build_space(frame)
    polars.testing.assert_frame_equal(space.decode(Z), frame)


@given(columns(list(ARROW)))
def test_pyarrow_tables_come_back_in_value_and_type(drawn: list[tuple[str, list[Any]]]) -> None:
    arrays = [pa.array([None, *cells], type=ARROW[dtype]) for dtype, cells in drawn]
    table = pa.Table.from_arrays(arrays, names=NAMES[: len(drawn)])
    space, Z = build_space(table)
    back = space.decode(Z)
    assert back.schema == table.schema
    assert back.to_pylist() == table.to_pylist()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("beside", [{}, {"n": [1, 2]}, {"t": ["u", "v"]}])
def test_nan_stays_nan_where_the_column_holds_no_null(make: Any, beside: dict[str, Any]) -> None:
    frame = make({"r": np.array([math.nan, 1.0]), **beside})
    space, Z = build_space(frame)
    back = space.decode(Z)["r"]
    assert math.isnan(back[0].as_py() if isinstance(frame, pa.Table) else back[0])


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
@pytest.mark.parametrize("beside", [{}, {"n": [1, 2]}])
@pytest.mark.parametrize("cells", [[1.0, 2.0], [None, 2.0]])
def test_a_missing_cell_is_null_where_the_data_hold_no_nan(
    make: Any, beside: dict[str, Any], cells: list[Any]
) -> None:
    """Polars orders NaN above all numbers: a model would be told that the cell is huge."""
    frame = make({"r": cells, "nan": [math.nan, 1.0], **beside})
    space, Z = build_space(frame)
    Z[1, :2] = math.nan
    back = pl.DataFrame(space.decode(Z))
    assert back["r"].to_list() == [cells[0], None]
    assert back["nan"].is_nan().to_list() == [True, True]


@pytest.mark.parametrize("dtype", ["i1", "i8", "u2", "u8", "f4", "f8", "?"])
def test_arrays_come_back_in_value_and_dtype(dtype: str) -> None:
    data = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    space, Z = build_space(data)
    back = space.decode(Z)
    assert back.dtype == data.dtype
    np.testing.assert_array_equal(back, data)


def test_levels_of_an_array_come_back_as_its_numbers() -> None:
    data = np.array([[3.0, 0.5], [7.0, np.nan], [3.0, 2.5]])
    space, Z = build_space(data, {"x0": categorical(), "x1": ordinal([0.5, 2.5])})
    np.testing.assert_array_equal(Z, [[0, 0], [1, np.nan], [0, 1]])
    np.testing.assert_array_equal(space.decode(Z), data)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]}),
        pl.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]}),
    ],
    ids=["pandas", "polars"],
)
def test_a_model_that_works_in_place_cannot_reach_the_search(data: Any) -> None:
    space, Z = build_space(data)
    written = space.decode(Z)
    before = Z.copy()
    if isinstance(written, pd.DataFrame):
        written.iloc[:, :] = -1.0
    else:
        written[0, "a"] = -1.0
    np.testing.assert_array_equal(Z, before)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": np.array([0, 5], "f4"), "b": [0, 5], "c": [0.0, 5.0]}),
        pd.DataFrame({"a": pd.array([0, 5], "Int64"), "b": pd.array([0.0, 5], "Float32"), "c": [0.0, 5.0]}),
        pl.DataFrame({"a": [0, 5], "b": pl.Series([0.0, 5.0], dtype=pl.Float32), "c": [0.0, 5.0]}),
        pa.table({"a": [0, 5], "b": pa.array([0.0, 5.0], pa.float32()), "c": [0.0, 5.0]}),
        np.array([[0, 0, 0], [5, 5, 5]], dtype="f4"),
        np.array([[0, 0, 0], [5, 5, 5]], dtype="i4"),
    ],
    ids=["pandas", "nullable", "polars", "pyarrow", "single", "whole"],
)
def test_a_snapped_row_is_written_without_loss(data: Any, cells: list[float]) -> None:
    space, _ = build_space(data)
    Z = space.grid.snap(np.array([cells]))
    np.testing.assert_array_equal(space.encode(space.decode(Z)), Z)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"x0": [1, 5]}),
        pl.DataFrame({"x0": [1, 5]}),
        pa.table({"x0": [1, 5]}),
        np.array([[1], [5]]),
    ],
    ids=["pandas", "polars", "pyarrow", "array"],
)
def test_a_whole_dtype_declared_numeric_still_gets_whole_numbers(data: Any) -> None:
    space, _ = build_space(data, {"x0": numeric()})
    Z = space.grid.snap(np.array([[2.7], [3.2]]))
    np.testing.assert_array_equal(space.encode(space.decode(Z)), Z)


@pytest.mark.parametrize("data", [np.zeros((2, 1), "f2"), pd.DataFrame({"a": np.zeros(2, "f2")})])
def test_half_precision_is_refused_since_legal_rows_could_not_be_written(data: Any) -> None:
    with pytest.raises(SchemaError, match="float16"):
        build_space(data)


def test_whole_numbers_in_a_float_column_are_written_as_floats() -> None:
    frame = pd.DataFrame({"age": [40.0, 50.0], "t": ["u", "v"]})
    space, Z = build_space(frame, {"age": integer()})
    pd.testing.assert_frame_equal(space.decode(Z), frame)


def test_no_rows_are_written_with_all_dtypes() -> None:
    for frame in (
        pd.DataFrame({"a": [1, 2], "t": ["u", "v"], "c": pd.Categorical(["p", "q"])}),
        pl.DataFrame({"a": [1, 2], "t": ["u", "v"]}),
        pa.table({"a": [1, 2], "t": ["u", "v"]}),
    ):
        space, Z = build_space(frame)
        empty = space.decode(Z[:0])
        assert len(empty) == 0
        if isinstance(frame, pd.DataFrame):
            assert (empty.dtypes == frame.dtypes).all()
        else:
            assert empty.schema == frame.schema


def test_a_declared_level_that_the_dtype_cannot_hold_is_refused() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v"])})
    with pytest.raises(SchemaError, match=r"'c'.*'w'"):
        build_space(frame, {"c": categorical(["u", "v", "w"])})


def test_a_level_of_the_dtype_that_no_row_holds_can_be_declared() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v"], categories=["u", "v", "w"])})
    space, _ = build_space(frame, {"c": categorical(["u", "v", "w"])})
    assert space.decode(np.array([[2.0]]))["c"].tolist() == ["w"]


def test_libraries_that_cannot_be_written_are_refused() -> None:
    assert library_of(pd.DataFrame({"a": [1]})).frame is not None
    with pytest.raises(TypeError):
        library_of(np.zeros((2, 2)))


def test_string_views_are_written_as_they_came() -> None:
    data = pa.table({"a": pa.array([1.0, 2.0, 3.0]), "b": pa.array(["u", None, "v"], type=pa.string_view())})
    space, Z = build_space(data)
    assert space.features[1].levels == ("u", "v")
    written = space.decode(Z)
    assert written.schema == data.schema
    assert written.to_pylist() == data.to_pylist()
    assert space.layout.frame([{"a": 1.0, "b": "v"}]).schema == data.schema
