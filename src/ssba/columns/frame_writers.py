"""Writing encoded rows in the user's own form: same frame library, columns, order and dtypes.

Levels are written by taking rows from a small native table of them, which keeps every dtype
(categories, enums, strings, nullable booleans) as it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ssba.columns.dates import moments_of
from ssba.columns.features import Feature
from ssba.columns.frames import can_hold_missing, native_column
from ssba.errors import SchemaError

Writer = Callable[[NDArray[np.float64]], Any]
ColumnWriter = Callable[[NDArray[np.float64]], Any]


@dataclass(frozen=True)
class Library:
    """How one frame library makes a series like another one, takes rows of it, and joins a frame.

    Of `numbers` the last argument tells whether NaN stays, instead of the library's own missing cell.
    """

    series: Callable[[Sequence[Any], Any], Any]
    numbers: Callable[[NDArray[np.float64], Any, bool], Any]
    moments: Callable[[NDArray[np.datetime64], Any], Any]
    take: Callable[[Any, NDArray[np.int64]], Any]
    frame: Callable[[Sequence[Any], Any], Any]
    matrix: Callable[[NDArray[Any], Any], Any]


def library_of(native: Any) -> Library:
    """Return the library of a native frame."""
    implementation = nw.from_native(native, eager_only=True).implementation
    if implementation.is_pandas():
        return _pandas()
    if implementation.is_polars():
        return _polars()
    if implementation.is_pyarrow():
        return _pyarrow()
    raise SchemaError(
        f"frames of {implementation.name.lower()} are not supported; give a pandas, polars or pyarrow frame, "
        "or a NumPy array"
    )


def _pandas() -> Library:
    import pandas as pd

    def numbers(values: NDArray[np.float64], like: Any, keeps_nan: bool) -> Any:
        if isinstance(like.dtype, np.dtype):
            return values.astype(like.dtype)
        return pd.Series(values).astype(like.dtype).array

    def take(table: Any, rows: NDArray[np.int64]) -> Any:
        taken = table.array.take(rows)
        # Of plain objects a frame would make text; other arrays stay what they are, and need no index.
        return pd.Series(taken, dtype=table.dtype) if isinstance(table.dtype, np.dtype) else taken

    def frame(columns: Sequence[Any], like: Any) -> Any:
        made = pd.DataFrame(dict(enumerate(columns)))
        made.columns = like.columns
        return made

    return Library(
        series=lambda values, like: pd.Series(list(values), dtype=like.dtype),
        numbers=numbers,
        moments=lambda values, like: pd.Series(values).astype(like.dtype).array,
        take=take,
        frame=frame,
        matrix=lambda values, like: pd.DataFrame(values, columns=like.columns),
    )


def _polars() -> Library:
    import polars as pl

    def numbers(values: NDArray[np.float64], like: Any, keeps_nan: bool) -> Any:
        return pl.Series(values, nan_to_null=not keeps_nan).cast(like.dtype)

    return Library(
        series=lambda values, like: pl.Series(values=list(values), dtype=like.dtype),
        numbers=numbers,
        moments=lambda values, like: pl.Series(values).cast(like.dtype),
        take=lambda table, rows: table.gather(rows),
        frame=lambda columns, like: pl.DataFrame(dict(zip(like.columns, columns, strict=True))),
        matrix=lambda values, like: pl.from_numpy(values, schema=like.columns, orient="row"),
    )


def _pyarrow() -> Library:
    import pyarrow as pa

    def numbers(values: NDArray[np.float64], like: Any, keeps_nan: bool) -> Any:
        return pa.array(values, mask=None if keeps_nan else np.isnan(values)).cast(like.type)

    def take(table: Any, rows: NDArray[np.int64]) -> Any:
        if pa.types.is_string_view(table.type):
            # Arrow takes no rows of views.
            return table.cast(pa.string()).take(pa.array(rows)).cast(table.type)
        return table.take(pa.array(rows))

    return Library(
        series=lambda values, like: pa.chunked_array([pa.array(list(values), type=like.type)]),
        numbers=numbers,
        moments=lambda values, like: pa.array(values).cast(like.type),
        take=take,
        frame=lambda columns, like: pa.Table.from_arrays(list(columns), schema=like.schema),
        matrix=lambda values, like: pa.Table.from_arrays(
            [pa.array(column) for column in values.T], names=like.column_names
        ),
    )


def array_writer(data: NDArray[Any], features: Sequence[Feature]) -> Writer:
    """Return the function from encoded rows to an array of `data`'s dtype."""
    tables = {
        position: np.array(feature.levels, dtype=np.float64)
        for position, feature in enumerate(features)
        if feature.has_levels and not feature.is_zero_one
    }

    def write(Z: NDArray[np.float64]) -> NDArray[Any]:
        if tables:
            Z = Z.copy()
        for position, table in tables.items():
            codes = Z[:, position]
            Z[:, position] = np.where(np.isnan(codes), np.nan, table[np.nan_to_num(codes).astype(np.int64)])
        return Z.astype(data.dtype, copy=False)

    return write


def frame_writer(native: Any, features: Sequence[Feature]) -> Writer:
    """Return the function from encoded rows to native rows like those of `native`."""
    library = library_of(native)
    columns = [native_column(native, position) for position in range(len(features))]
    template = nw.to_native(nw.from_native(native, eager_only=True).head(0))
    writers = [
        _column_writer(library, feature, column) for feature, column in zip(features, columns, strict=True)
    ]
    dtype = _shared_float_dtype(columns, features)
    has_nan_only = all(_keeps_nan(column) for column in columns)

    def write(Z: NDArray[np.float64]) -> Any:
        # A matrix can say that a cell is missing by NaN only.
        if dtype is not None and (has_nan_only or not np.isnan(Z).any()):
            return library.matrix(Z.astype(dtype, copy=False), template)
        return library.frame([write(Z[:, position]) for position, write in enumerate(writers)], template)

    return write


def _shared_float_dtype(columns: Sequence[Any], features: Sequence[Feature]) -> Any:
    """Return the dtype if all columns are plain floats of one width without missing cells, else None."""
    if any(feature.has_levels and not feature.is_zero_one for feature in features):
        return None
    series = [nw.from_native(column, series_only=True) for column in columns]
    if any(one.null_count() for one in series):
        return None
    dtypes = {one.dtype for one in series}
    if len(dtypes) > 1 or not all(_is_numpy_like(column) for column in columns):
        return None
    return {nw.Float64: np.float64, nw.Float32: np.float32}.get(type(dtypes.pop()))


def _is_numpy_like(column: Any) -> bool:
    """Tell pandas columns backed by NumPy from its nullable and Arrow ones; others need no care."""
    return not hasattr(column, "iloc") or isinstance(column.dtype, np.dtype)


def _keeps_nan(column: Any) -> bool:
    """Tell whether a missing number is NaN: in NumPy's dtypes, and where the data hold NaN and no null."""
    if hasattr(column, "iloc"):
        return isinstance(column.dtype, np.dtype)
    series = nw.from_native(column, series_only=True)
    return series.dtype.is_float() and not series.null_count() and bool(series.is_nan().any())


def _holds_numbers(column: Any) -> bool:
    return bool(nw.from_native(column, series_only=True).dtype.is_numeric())


def _column_writer(library: Library, feature: Feature, column: Any) -> ColumnWriter:
    if feature.kind == "date":
        return lambda days: library.moments(moments_of(days), column)
    if not feature.has_levels or (feature.is_zero_one and _holds_numbers(column)):
        keeps_nan = _keeps_nan(column)
        return lambda values: library.numbers(values, column, keeps_nan)
    table = _level_table(library, feature, column)
    missing = len(feature.levels)

    def write(codes: NDArray[np.float64]) -> Any:
        rows = np.where(np.isnan(codes), missing, codes).astype(np.int64)
        return library.take(table, rows)

    return write


def _level_table(library: Library, feature: Feature, column: Any) -> Any:
    """Return a native series of the levels and, last, a missing cell where the dtype can hold one."""
    wanted = [*feature.levels, None] if can_hold_missing(column) else list(feature.levels)
    categories = getattr(getattr(column, "dtype", None), "categories", None)
    if categories is not None:
        known = list(categories)
        _refuse_unwritable(feature, [level if level in known else None for level in feature.levels])
    table = library.series(wanted, column)
    written = nw.from_native(table, series_only=True).to_list()
    _refuse_unwritable(feature, written)
    return table


def _refuse_unwritable(feature: Feature, written: Sequence[Any]) -> None:
    for level, cell in zip(feature.levels, written, strict=False):
        if cell != level:
            raise SchemaError(
                f"column {feature.name!r}: level {level!r} cannot be written in its dtype; "
                "add it to the column's categories, or declare only levels that the data holds"
            )
