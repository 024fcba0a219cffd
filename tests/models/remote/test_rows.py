"""Rows of every library become the same JSON."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ssba.errors import ModelError
from ssba.models.remote.rows import batches, body_of, json_cell, table_of

CELLS: dict[str, list[Any]] = {
    "age": [63, 41],
    "chol": [233.5, None],
    "sex": ["male", None],
    "smoker": [True, False],
    "seen": [dt.datetime(2024, 1, 31, 12, 30), None],
}
ROWS = [[63, 233.5, "male", True, "2024-01-31T12:30:00"], [41, None, None, False, None]]
FRAMES = {"pandas": pd.DataFrame(CELLS), "polars": pl.DataFrame(CELLS), "pyarrow": pa.table(CELLS)}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library_give_the_same_table(library: str) -> None:
    table = table_of(FRAMES[library])
    assert table.names == list(CELLS)
    assert table.rows == ROWS
    assert [type(cell) for cell in table.rows[0]] == [int, float, str, bool, str]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series(["a", None], dtype="category"),
        pd.Series([pd.Timestamp("2024-01-01"), None]),
        pd.Series([1, pd.NA], dtype=object),
        pd.Series(["a", float("nan")], dtype=object),
        pl.Series([1.5, float("nan")]),
        pl.Series([dt.date(2024, 1, 1), None]),
        pa.chunked_array([["a", None]]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]} {getattr(column, 'dtype', 'string')}",
)
def test_missing_cells_of_every_kind_are_null(column: Any) -> None:
    frames = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame, pa.ChunkedArray: pa.table}
    table = table_of(frames[type(column)]({"a": column}))
    assert table.rows[0] != [None]
    assert table.rows[1] == [None]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.int8(3), 3),
        (dt.date(2024, 1, 31), "2024-01-31"),
        (np.datetime64("2024-01-31"), "2024-01-31"),
        (np.datetime64("2024-01-31T00:00:00.000000001"), "2024-01-31T00:00:00.000000001"),
        (2**60 + 1, 2**60 + 1),
        (0.1, 0.1),
    ],
)
def test_cell_becomes_a_plain_value(cell: Any, written: Any) -> None:
    assert json.loads(json.dumps(json_cell("a", cell))) == written
    assert type(json_cell("a", cell)) is type(written)


@pytest.mark.parametrize("cell", [b"raw", Decimal("1.5"), dt.timedelta(1), 2j, object()])
def test_cell_without_a_json_form_is_refused_by_its_column(cell: Any) -> None:
    with pytest.raises(
        ModelError, match=r"^column 'fee': .* has no JSON form; convert the column to numbers"
    ):
        table_of(pd.DataFrame({"age": [1], "fee": pd.Series([cell], dtype=object)}))


@pytest.mark.parametrize("number", [float("inf"), -np.inf, np.float32("inf")])
def test_infinite_number_is_refused_by_its_column(number: float) -> None:
    with pytest.raises(ModelError, match=r"^column 'fee': -?inf has no JSON form; replace infinite numbers"):
        table_of(np.array([[number]]), ["fee"])


def test_array_has_the_names_that_are_given_or_counted() -> None:
    array = np.array([[1.0, np.nan]])
    assert table_of(array).names == ["x0", "x1"]
    assert table_of(array, ["a", "b"]).names == ["a", "b"]
    assert table_of(array).rows == [[1.0, None]]


def test_columns_choose_and_order_what_is_sent_of_a_frame() -> None:
    table = table_of(FRAMES["polars"], ["sex", "age"])
    assert table.names == ["sex", "age"]
    assert table.rows == [["male", 63], [None, 41]]


def test_columns_that_the_rows_do_not_have_are_told() -> None:
    with pytest.raises(ModelError, match=r"^columns= names 'weight', but the rows have 'age', 'chol'"):
        table_of(FRAMES["pandas"], ["age", "weight"])
    with pytest.raises(ModelError, match=r"^columns= has 1 names, but the rows have 2 columns"):
        table_of(np.zeros((1, 2)), ["a"])


def test_rows_that_are_no_table_are_refused() -> None:
    with pytest.raises(ModelError, match=r"^rows have shape \(3,\); give a frame, or an array of rows by"):
        table_of(np.zeros(3))


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("records", {"rows": [{"a": 1, "b": "x"}]}),
        ("split", {"dataframe_split": {"columns": ["a", "b"], "data": [[1, "x"]]}}),
        ("instances", {"instances": [[1, "x"]]}),
    ],
)
def test_forms_by_name(form: str, body: Any) -> None:
    assert json.loads(body_of(pd.DataFrame({"a": [1], "b": ["x"]}), form, None)) == body


def test_form_may_be_a_function_of_the_rows_as_they_are() -> None:
    body = body_of(pl.DataFrame({"a": [1, 2]}), lambda rows: {"a": rows["a"].to_list()}, None)
    assert json.loads(body) == {"a": [1, 2]}


@pytest.mark.parametrize("content", [np.zeros(2), {"a": np.int64(1)}, [float("nan")]])
def test_what_a_form_returns_must_be_json(content: Any) -> None:
    with pytest.raises(ModelError, match=r"^form= returned something that cannot be written as JSON: "):
        body_of(np.zeros((1, 1)), lambda _: content, None)


def test_form_that_raises_is_told() -> None:
    def rows_named(name: str) -> Any:
        raise KeyError(name)

    with pytest.raises(
        ModelError, match=r"^the function given as form= raised KeyError: 'b'; it gets a batch"
    ):
        body_of(pl.DataFrame({"a": [1]}), lambda rows: rows_named("b"), None)


@pytest.mark.parametrize("rows", [*FRAMES.values(), np.zeros((2, 3))], ids=[*FRAMES, "numpy"])
def test_batches_keep_the_form_of_the_rows(rows: Any) -> None:
    found = list(batches(rows, 1))
    assert [type(one) for one in found] == [type(rows)] * 2
    assert [len(one) for one in found] == [1, 1]
    assert [len(one) for one in batches(rows, 5)] == [2]
