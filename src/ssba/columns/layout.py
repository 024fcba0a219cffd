"""How the user's rows are laid out, as plain data: frame library, column names and dtypes.

So a result that was pickled, or written as JSON, still gives rows that the model takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

import numpy as np

from ssba.columns.frames import index_of, is_frame, native_of
from ssba.errors import ArgumentError
from ssba.json_form import plain_or_text

LibraryName = Literal["pandas", "polars", "pyarrow", "numpy"]


@dataclass(frozen=True)
class Dtype:
    """A column's dtype: its library's own name, and the levels of one that lists them."""

    name: str
    levels: tuple[Any, ...] = ()
    ordered: bool = False

    def cells(self, values: list[Any]) -> list[Any]:
        """Return values as the library takes them: results have dates as text."""
        name = self.name.removeprefix("arrow:").lower()
        if not name.startswith(("date", "timestamp")):
            return values
        moments = [None if value is None else datetime.fromisoformat(value) for value in values]
        only_days = name.startswith("date") and not name.startswith("datetime")
        return [one.date() if only_days and one is not None else one for one in moments]


@dataclass(frozen=True)
class RowLabel:
    """The label of a row in a pandas index, and the names of the index's levels."""

    value: Any = field(metadata={"write": plain_or_text})
    names: tuple[Any, ...] = field(default=(None,), metadata={"write": plain_or_text})

    def __post_init__(self) -> None:
        # A label of several levels is a tuple, which JSON has as a list.
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        object.__setattr__(self, "value", value)


@dataclass(frozen=True)
class Layout:
    """Library, column names as the user has them, and dtypes, in the model's order.

    `axis_names` are the names of a pandas frame's columns taken together, one a level.
    """

    library: LibraryName
    names: tuple[Any, ...]
    dtypes: tuple[Dtype, ...]
    axis_names: tuple[Any, ...] = field(default=(), metadata={"write": plain_or_text})

    def __post_init__(self) -> None:
        # Names of several levels are tuples, which JSON has as lists.
        named = tuple(tuple(one) if isinstance(one, list) else one for one in self.names)
        object.__setattr__(self, "names", named)

    def frame(self, rows: Sequence[Mapping[str, Any]], labels: Sequence[RowLabel] | None = None) -> Any:
        """Return rows of values as a frame, or an array, like the user's own; pandas frames have an index."""
        columns = [
            dtype.cells([row[str(name)] for row in rows])
            for name, dtype in zip(self.names, self.dtypes, strict=True)
        ]
        return _WRITERS[self.library](self, columns, labels)


def layout_of(data: Any, names: Sequence[str]) -> Layout:
    """Return the layout of a frame, or of an array whose columns are called by names."""
    if not is_frame(data):
        return Layout("numpy", tuple(names), (Dtype(str(data.dtype)),) * len(names))
    native = native_of(data)
    if hasattr(native, "iloc"):
        own = tuple(map(_plain, native.columns))
        return Layout("pandas", own, tuple(map(_pandas_dtype, native.dtypes)), tuple(native.columns.names))
    if hasattr(native, "column_names"):
        return Layout("pyarrow", tuple(native.column_names), tuple(map(_arrow_dtype, native.schema.types)))
    return Layout("polars", tuple(native.columns), tuple(map(_polars_dtype, native.dtypes)))


def row_labels(rows: Any) -> tuple[RowLabel, ...] | None:
    """Return the labels of a pandas frame's rows; None where rows have none."""
    labels = index_of(rows)
    if labels is None:
        return None
    names = _index_names(rows)
    return tuple(RowLabel(one, names) for one in labels)


def row_label(row: Any) -> RowLabel | None:
    """Return the label of one row: that of a one-row frame, or the name of a pandas Series."""
    if is_frame(row):
        labels = row_labels(row)
        return labels[0] if labels else None
    is_series = hasattr(row, "index") and hasattr(row, "to_dict")
    name = getattr(row, "name", None) if is_series else None
    return None if name is None else RowLabel(_plain(name))


def _index_names(rows: Any) -> tuple[Any, ...]:
    return tuple(native_of(rows).index.names)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _pandas_dtype(dtype: Any) -> Dtype:
    if hasattr(dtype, "categories"):
        return Dtype("category", tuple(map(_plain, dtype.categories)), bool(dtype.ordered))
    if hasattr(dtype, "pyarrow_dtype"):
        return Dtype(f"arrow:{dtype.pyarrow_dtype}")
    name = str(dtype)
    return Dtype(f"string[{dtype.storage}]" if name == "string" else name)


def _polars_dtype(dtype: Any) -> Dtype:
    name = str(dtype.base_type())
    if name == "Datetime":
        return Dtype(f"Datetime[{dtype.time_unit}]")
    return Dtype(name, tuple(dtype.categories.to_list()) if name == "Enum" else ())


def _arrow_dtype(dtype: Any) -> Dtype:
    if hasattr(dtype, "value_type") and hasattr(dtype, "index_type"):
        return Dtype(f"{dtype.value_type}[{dtype.index_type}]", ordered=bool(dtype.ordered))
    return Dtype(str(dtype))


def _pandas_frame(layout: Layout, columns: Sequence[list[Any]], labels: Sequence[RowLabel] | None) -> Any:
    import pandas as pd

    def series(cells: list[Any], dtype: Dtype) -> Any:
        kind: Any = dtype.name
        if kind == "category":
            kind = pd.CategoricalDtype(list(dtype.levels), ordered=dtype.ordered)
        elif dtype.name.startswith("arrow:"):
            kind = pd.ArrowDtype(_arrow_type(Dtype(dtype.name.removeprefix("arrow:"))))
        return pd.Series(cells, dtype=kind)

    made = pd.DataFrame({i: series(*both) for i, both in enumerate(zip(columns, layout.dtypes, strict=True))})
    made.columns = pd.Index(list(layout.names))
    if len(layout.axis_names) == made.columns.nlevels:
        made.columns.names = list(layout.axis_names)
    if labels is not None:
        made.index = pd.Index([one.value for one in labels])
    if labels and len(labels[0].names) == made.index.nlevels:
        made.index.names = list(labels[0].names)
    return made


def _polars_frame(layout: Layout, columns: Sequence[list[Any]], labels: Sequence[RowLabel] | None) -> Any:
    import polars as pl

    def series(name: str, cells: list[Any], dtype: Dtype) -> Any:
        base, _, unit = dtype.name.removesuffix("]").partition("[")
        kind: Any = getattr(pl, base)
        if unit or dtype.levels:
            kind = kind(unit) if unit else kind(list(dtype.levels))
        return pl.Series(name, cells, dtype=kind)

    return pl.DataFrame([series(*one) for one in zip(layout.names, columns, layout.dtypes, strict=True)])


def _arrow_table(layout: Layout, columns: Sequence[list[Any]], labels: Sequence[RowLabel] | None) -> Any:
    import pyarrow as pa

    arrays = [
        pa.array(cells, type=_arrow_type(dtype)) for cells, dtype in zip(columns, layout.dtypes, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=list(layout.names))


def _arrow_type(dtype: Dtype) -> Any:
    import pyarrow as pa

    if dtype.name.startswith(("date", "timestamp")):
        return pa.type_for_alias(dtype.name)
    value, _, index = dtype.name.removesuffix("]").partition("[")
    if not index:
        return pa.type_for_alias(value)
    return pa.dictionary(pa.type_for_alias(index), pa.type_for_alias(value), dtype.ordered)


def _numpy_array(layout: Layout, columns: Sequence[list[Any]], labels: Sequence[RowLabel] | None) -> Any:
    cells = [[np.nan if cell is None else cell for cell in column] for column in columns]
    return np.array(cells, dtype=layout.dtypes[0].name).T.reshape(-1, len(layout.names))


_WRITERS = {
    "pandas": _pandas_frame,
    "polars": _polars_frame,
    "pyarrow": _arrow_table,
    "numpy": _numpy_array,
}


def library_named(name: Any) -> LibraryName:
    """Return a frame library that a user named, or refuse it."""
    known = ("pandas", "polars", "pyarrow")
    if not isinstance(name, str) or name not in known:
        raise ArgumentError(f"backend={name!r} is not known; choose one of {', '.join(map(repr, known))}")
    return cast(LibraryName, name)
