"""Reading pandas, polars and pyarrow frames and NumPy arrays, column by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray

from ssba.columns.dates import ALL_DAYS, DAYS_OF_NANOSECONDS, days_of
from ssba.columns.features import LARGEST_EXACT
from ssba.errors import SchemaError

Family = Literal["boolean", "integer", "float", "text", "date", "other"]


@dataclass(frozen=True)
class RawColumn:
    """One column as it came: numbers as floats and dates as days (NaN for missing), else Python values."""

    name: str
    family: Family
    cells: NDArray[np.float64] | list[Any]
    dtype: str
    order: tuple[Any, ...] = ()
    nullable: bool = True
    single: bool = False
    storable: tuple[float, float] = (-np.inf, np.inf)


def is_frame(data: Any) -> bool:
    """Tell whether this is an eager frame of a library that narwhals reads."""
    return isinstance(data, nw.DataFrame) or bool(is_into_dataframe(data))


def read_frame(data: Any) -> nw.DataFrame[Any]:
    """Return a narwhals view of the frame."""
    return nw.from_native(data, eager_only=True)


def native_of(data: Any) -> Any:
    """Return the frame of the user's own library behind a narwhals view; anything else as it is."""
    return nw.to_native(data, pass_through=True)


def column_names(data: Any) -> list[str]:
    """Return the column names as text, refusing a name that stands twice."""
    native = native_of(data)
    raw = native.column_names if hasattr(native, "column_names") else list(native.columns)
    names = [str(name) for name in raw]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise SchemaError(
            f"duplicate column name {', '.join(map(repr, repeated))}: every column needs a name of its own; "
            "rename or drop one"
        )
    return names


def index_of(rows: Any) -> tuple[Any, ...] | None:
    """Return the labels of a pandas frame's rows; None where rows have none."""
    index = getattr(native_of(rows), "index", None) if is_frame(rows) else None
    return None if index is None else tuple(index.tolist())


def row_name(rows: Any, position: int) -> str:
    """Name one of many rows: by its position and, where it has another one, by its label.

    >>> row_name([{"age": 54}], 0)
    'row 0'
    """
    labels = index_of(rows)
    label = position if labels is None else labels[position]
    # A label may be missing, which cannot be compared.
    if isinstance(label, int) and label == position:
        return f"row {position}"
    return f"row {position} (index {label!r})"


def native_column(native: Any, position: int) -> Any:
    """Return one column of a native frame by position, whatever its name's type is."""
    if hasattr(native, "iloc"):
        return native.iloc[:, position]
    return native.column(position) if hasattr(native, "column_names") else native.to_series(position)


def read_columns(data: Any) -> list[RawColumn]:
    """Read a frame or a 2-D array of numbers into raw columns."""
    if is_frame(data):
        native = native_of(data)
        return [
            _read_series(name, native_column(native, position))
            for position, name in enumerate(column_names(native))
        ]
    return _read_array(data)


def can_hold_missing(column: Any) -> bool:
    """Tell whether a column's dtype has a way to say missing; NumPy's whole numbers have none.

    >>> can_hold_missing(np.zeros(3, dtype=int))
    False
    """
    dtype = getattr(column, "dtype", None)
    return not (isinstance(dtype, np.dtype) and dtype.kind in "biu")


def _read_series(name: str, native: Any) -> RawColumn:
    series = nw.from_native(native, series_only=True)
    family = _family(series.dtype)
    if str(series.dtype) == "Float16":
        raise SchemaError(f"column {name!r} has dtype float16, which is too coarse; convert it to float32")
    return RawColumn(
        name=name,
        family=family,
        cells=_cells(name, series, family),
        dtype=str(getattr(native, "dtype", series.dtype)),
        order=_order(native),
        nullable=can_hold_missing(native),
        single=series.dtype == nw.Float32,
        storable=_storable(series.dtype),
    )


def _cells(name: str, series: nw.Series[Any], family: Family) -> NDArray[np.float64] | list[Any]:
    if family in ("integer", "float"):
        return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if family != "date":
        return series.to_list()
    if getattr(series.dtype, "time_zone", None) is not None:
        raise SchemaError(
            f"column {name!r} has dtype {series.dtype}, moments of a time zone; give local times without one "
            f"(pandas: data[{name!r}].dt.tz_localize(None))"
        )
    return days_of(series.to_numpy())


def _storable(kind: Any) -> tuple[float, float]:
    """Return what a dtype holds and a double keeps exactly: whole numbers up to 2**53."""
    dtype = str(kind).lower()
    if dtype.startswith("date"):
        return DAYS_OF_NANOSECONDS if getattr(kind, "time_unit", None) == "ns" else ALL_DAYS
    if dtype.startswith(("int", "uint")):
        # NumPy has no whole numbers of 128 bits, which hold more than a double keeps.
        limits = np.iinfo(dtype.replace("128", "64"))
        return max(float(limits.min), -LARGEST_EXACT), min(float(limits.max), LARGEST_EXACT)
    if dtype == "float32":
        return float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)
    return -np.inf, np.inf


def _family(dtype: Any) -> Family:
    if dtype == nw.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "float"
    if dtype in (nw.Date, nw.Datetime):
        return "date"
    return "text" if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object) else "other"


def _order(native: Any) -> tuple[Any, ...]:
    """Return the levels of an ordered pandas category, a polars Enum or an ordered pyarrow dictionary."""
    if getattr(getattr(native, "type", None), "ordered", False) is True:
        return _order_of_dictionary(native)
    dtype: Any = getattr(native, "dtype", None)
    # What a polars Enum lists is what it is compared and sorted by; a Categorical there has no order.
    is_enum = type(dtype).__name__ == "Enum"
    return tuple(dtype.categories) if is_enum or getattr(dtype, "ordered", False) is True else ()


def _order_of_dictionary(native: Any) -> tuple[Any, ...]:
    """Return what all chunks of a pyarrow column list; where they do not agree there is no order."""
    listed = {tuple(chunk.dictionary.to_pylist()) for chunk in native.chunks}
    levels = listed.pop() if len(listed) == 1 else ()
    return () if None in levels else levels


def _read_array(data: Any) -> list[RawColumn]:
    if not isinstance(data, np.ndarray) or isinstance(data, np.matrix | np.ma.MaskedArray):
        raise SchemaError(
            f"rows came as {type(data).__name__}; give a pandas, polars or pyarrow frame, a 2-D array, or "
            "for queries a list of dicts"
        )
    if data.ndim != 2:
        raise SchemaError(
            f"rows have shape {data.shape}; they must be 2-D, rows by columns "
            "(a single column: data.reshape(-1, 1))"
        )
    if data.dtype.kind not in "fiub" or data.dtype == np.float16:
        raise SchemaError(
            f"rows are an array of dtype {data.dtype}; give numbers, or a frame for mixed columns"
        )
    family: Family = {"f": "float", "b": "boolean"}.get(data.dtype.kind, "integer")  # type: ignore[assignment]
    return [
        RawColumn(
            name=f"x{position}",
            family=family,
            cells=data[:, position].tolist() if family == "boolean" else data[:, position].astype(np.float64),
            dtype=str(data.dtype),
            nullable=family == "float",
            single=data.dtype == np.float32,
            storable=_storable(data.dtype),
        )
        for position in range(data.shape[1])
    ]


def only_row(rows: Any) -> dict[str, Any]:
    """Return the cells of a one-row frame under their column names."""
    names = column_names(rows)
    frame = read_frame(rows)
    if len(frame) != 1:
        raise SchemaError(
            f"explain takes one row, but this frame has {len(frame)}; use explain_many, or pick one"
        )
    # Arrow takes no rows of columns of views.
    is_arrow = frame.implementation.is_pyarrow()
    cells = next(frame.iter_rows()) if is_arrow else frame.row(0)
    return dict(zip(names, cells, strict=True))


def distinct_cells(cells: Sequence[Any]) -> list[Any]:
    """Return each cell once, by value and type, in order of appearance; cells of odd types as they are."""
    try:
        return [cell for _, cell in dict.fromkeys(zip(map(type, cells), cells, strict=True))]
    except TypeError:
        return list(cells)


def in_order(cells: Sequence[Any]) -> list[Any]:
    """Return the distinct cells, sorted within each type."""
    return sorted(set(cells), key=lambda cell: (type(cell).__name__, cell))
