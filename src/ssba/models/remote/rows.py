"""Rows as the body of a request: the forms that model servers read, and cells as JSON has them."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import narwhals as nw
import numpy as np

from ssba.arguments import listing
from ssba.columns.frames import column_names, is_frame, native_column, native_of, read_frame
from ssba.errors import ArgumentError, ModelError
from ssba.json_form import to_plain

Form = str | Callable[[Any], Any]
"""The name of a form, or a function from rows to what the body shall hold."""


@final
@dataclass(frozen=True)
class Table:
    """Rows as JSON has them: names, and a list of cells for each row."""

    names: list[str]
    rows: list[list[Any]]


FORMS: dict[str, Callable[[Table], Any]] = {
    "records": lambda table: {"rows": [dict(zip(table.names, row, strict=True)) for row in table.rows]},
    "split": lambda table: {"dataframe_split": {"columns": table.names, "data": table.rows}},
    "instances": lambda table: {"instances": table.rows},
}
"""What a body holds, by name: our own plain form, MLflow's, and that of TensorFlow Serving and Vertex AI."""


def batches(rows: Any, most: int) -> Iterator[Any]:
    """Cut rows into batches of at most so many, in the form that they came in."""
    view = read_frame(rows) if is_frame(rows) else rows
    for start in range(0, len(view), most):
        yield native_of(view[start : start + most])


def body_of(rows: Any, form: Form, columns: Sequence[str] | None) -> bytes:
    """Write rows as the body of a request."""
    content = _called(form, rows) if callable(form) else FORMS[form](table_of(rows, columns))
    try:
        return json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"form= returned something that cannot be written as JSON: {error!s:.200}; return dicts, lists, "
            "text, finite numbers, truth values and None (an array: array.tolist())"
        ) from error


def _called(form: Callable[[Any], Any], rows: Any) -> Any:
    try:
        return form(rows)
    except Exception as error:
        raise ModelError(
            f"the function given as form= raised {type(error).__name__}: {error!s:.200}; it gets a batch of "
            "rows in the form of the data and returns what the body of the request shall hold"
        ) from error


def table_of(rows: Any, columns: Sequence[str] | None = None) -> Table:
    """Read rows of any form into JSON's own values; a cell that JSON cannot hold is refused by its column.

    Parameters
    ----------
    rows
        A pandas, polars or pyarrow frame, or a 2-D array.
    columns
        Of a frame: the columns that are sent, in this order. Of an array: the names of its columns.

    Examples
    --------
    >>> table_of(np.array([[63.0, np.nan], [41.0, 250.0]]), ["age", "chol"])
    Table(names=['age', 'chol'], rows=[[63.0, None], [41.0, 250.0]])
    """
    names, cells = _frame_cells(rows, columns) if is_frame(rows) else _array_cells(rows, columns)
    return Table(names, [list(row) for row in zip(*cells, strict=True)])


def _frame_cells(rows: Any, columns: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    present = column_names(rows)
    names = present if columns is None else list(columns)
    if unknown := [name for name in names if name not in present]:
        raise ModelError(
            f"columns= names {listing(unknown)}, but the rows have {listing(present)}; give the columns that "
            "the endpoint reads, as the data name them"
        )
    native = native_of(rows)
    return names, [_series_cells(name, native_column(native, present.index(name))) for name in names]


def _series_cells(name: str, native: Any) -> list[Any]:
    series = nw.from_native(native, series_only=True)
    # Every library has missing values of its own, such as NaT, which is a date to Python.
    missing = series.is_null().to_list()
    return [
        None if gone else json_cell(name, cell) for cell, gone in zip(series.to_list(), missing, strict=True)
    ]


def _array_cells(rows: Any, columns: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    array = np.asarray(rows)
    if array.ndim != 2:
        raise ModelError(f"rows have shape {array.shape}; give a frame, or an array of rows by columns")
    names = [f"x{position}" for position in range(array.shape[1])] if columns is None else list(columns)
    if len(names) != array.shape[1]:
        raise ModelError(
            f"columns= has {len(names)} names, but the rows have {array.shape[1]} columns; name each of them "
            "once, in their order"
        )
    return names, [
        [json_cell(name, cell) for cell in array[:, position].tolist()] for position, name in enumerate(names)
    ]


def json_cell(column: str, cell: Any) -> Any:
    """Return a cell as JSON has it: a missing one is null, a date its ISO text.

    >>> json_cell("chol", np.int64(250)), json_cell("chol", float("nan"))
    (250, None)
    """
    if isinstance(cell, float):
        return _json_number(column, float(cell))
    try:
        # A moment of nanoseconds has no Python form but a bare number.
        plain = np.datetime_as_string(cell).item() if isinstance(cell, np.datetime64) else to_plain(cell)
    except ArgumentError:
        raise ModelError(
            f"column {column!r}: {cell!r:.80} of type {type(cell).__name__} has no JSON form; convert the "
            "column to numbers, text, truth values or dates, or give a function as form="
        ) from None
    return _json_number(column, plain) if isinstance(plain, float) else plain


def _json_number(column: str, number: float) -> float | None:
    if math.isinf(number):
        raise ModelError(
            f"column {column!r}: {number} has no JSON form; replace infinite numbers in the data, or give a "
            "function as form= that writes them as the endpoint expects"
        )
    return None if math.isnan(number) else number
