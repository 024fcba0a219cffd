"""Frames of three libraries and arrays are read alike; what is no table of rows is refused."""

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ssba.columns.frames import (
    can_hold_missing,
    column_names,
    in_order,
    is_frame,
    native_of,
    only_row,
    read_columns,
)
from ssba.errors import SchemaError

CELLS: dict[str, list[Any]] = {
    "n": [1, 2, 3],
    "r": [0.5, None, 2.0],
    "t": ["u", None, "v"],
    "b": [True, False, True],
}
FRAMES = {
    "pandas": pd.DataFrame(CELLS),
    "polars": pl.DataFrame(CELLS),
    "pyarrow": pa.table(CELLS),
    "narwhals": nw.from_native(pl.DataFrame(CELLS)),
}


@pytest.mark.parametrize("library", FRAMES)
def test_every_library_gives_the_same_columns(library: str) -> None:
    columns = read_columns(FRAMES[library])
    assert [column.name for column in columns] == ["n", "r", "t", "b"]
    assert [column.family for column in columns] == ["integer", "float", "text", "boolean"]
    np.testing.assert_array_equal(columns[1].cells, [0.5, np.nan, 2.0])
    assert list(columns[2].cells)[::2] == ["u", "v"]
    assert list(columns[3].cells) == [True, False, True]


@pytest.mark.parametrize("library", FRAMES)
def test_one_row_is_read_under_its_names(library: str) -> None:
    frame = FRAMES[library]
    row = only_row(frame[0:1] if library != "pyarrow" else frame.slice(0, 1))
    assert row == {"n": 1, "r": 0.5, "t": "u", "b": True}
    with pytest.raises(SchemaError, match="has 3; use explain_many"):
        only_row(frame)


def test_one_row_of_arrow_views_is_read() -> None:
    table = pa.table({"t": pa.array(["u", "v"], pa.string_view()), "n": [1, None]})
    assert only_row(table.slice(1, 1)) == {"t": "v", "n": None}


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
def test_whole_numbers_of_128_bits_hold_what_a_double_keeps(dtype: Any) -> None:
    (column,) = read_columns(pl.DataFrame({"n": pl.Series([1, 2**40]).cast(dtype)}))
    assert column.family == "integer"
    np.testing.assert_array_equal(column.cells, [1, 2**40])
    assert column.storable == (0 if dtype == pl.UInt128 else 1 - 2**53, 2**53 - 1)


def _dictionary(*levels: Any, codes: Any = (0, 1), ordered: bool = True) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(levels), ordered=ordered)


def test_an_ordered_dictionary_of_arrow_has_its_own_order() -> None:
    size = pa.chunked_array([_dictionary("s", "m", "l"), _dictionary("s", "m", "l", codes=[2, None])])
    assert read_columns(pa.table({"size": size}))[0].order == ("s", "m", "l")


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([_dictionary("s", "m", ordered=False)]),
        # In which order these three are is not said.
        pa.chunked_array([_dictionary("s", "l"), _dictionary("m", "l")]),
        pa.chunked_array([_dictionary("s", None)]),
        pa.chunked_array([], _dictionary("s", "m").type),
    ],
)
def test_other_dictionaries_of_arrow_have_no_order(column: Any) -> None:
    assert read_columns(pa.table({"size": column}))[0].order == ()


def test_reading_copies_so_that_the_users_array_is_never_touched() -> None:
    data = np.arange(6.0).reshape(3, 2)
    for column in read_columns(data):
        assert isinstance(column.cells, np.ndarray)
        assert not np.shares_memory(column.cells, data)


def test_array_columns_are_numbered() -> None:
    assert [column.name for column in read_columns(np.zeros((2, 3)))] == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("dtype", "family", "single"),
    [
        ("f8", "float", False),
        ("f4", "float", True),
        ("i2", "integer", False),
        ("u8", "integer", False),
        ("?", "boolean", False),
    ],
)
def test_array_dtypes_tell_the_family(dtype: str, family: str, single: bool) -> None:
    (column,) = read_columns(np.zeros((2, 1), dtype=dtype))
    assert (column.family, column.single, column.nullable) == (family, single, family == "float")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros(3), "reshape"),
        (np.zeros((2, 2, 2)), "2-D"),
        (np.array([["a"]]), "dtype <U1"),
        (np.array([[1, "a"]], dtype=object), "object"),
        (np.array([[1j]]), "complex"),
        ([[1.0, 2.0]], "list"),
        ({"a": [1.0]}, "dict"),
        (pl.LazyFrame({"a": [1]}), "LazyFrame"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_table_of_rows_is_refused(rows: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        read_columns(rows)


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(SchemaError, match="duplicate column name 'a'"):
        column_names(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(SchemaError, match="duplicate column name '1'"):
        column_names(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(SchemaError, match="duplicate"):
        column_names(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_names_are_text_whatever_they_were() -> None:
    assert column_names(pd.DataFrame([[1, 2]], columns=[0, ("a", 1)])) == ["0", "('a', 1)"]


def test_frames_are_told_from_arrays_and_unwrapped() -> None:
    for frame in FRAMES.values():
        assert is_frame(frame)
    assert not is_frame(np.zeros((2, 2)))
    assert not is_frame(pd.Series([1]))
    assert isinstance(native_of(FRAMES["narwhals"]), pl.DataFrame)


def test_numpy_whole_numbers_and_booleans_cannot_be_missing() -> None:
    assert not can_hold_missing(pd.Series([1]))
    assert not can_hold_missing(pd.Series([True]))
    assert can_hold_missing(pd.Series([1.0]))
    assert can_hold_missing(pd.Series([1], dtype="Int64"))
    assert can_hold_missing(pl.Series([1]))
    assert can_hold_missing(pa.array([1]))


def test_distinct_cells_are_sorted_within_each_type() -> None:
    assert in_order(["b", 2.5, "a", 3, "b", 1.5]) == [1.5, 2.5, 3, "a", "b"]
