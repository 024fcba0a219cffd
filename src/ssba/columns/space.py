"""The space of rows: from the user's frame or array to one float matrix `Z`, and back.

`Z` has one column per feature: the value of a number, the rank of an ordinal level, the code of a category,
NaN for a missing cell. Codes rather than one-hot columns keep the width, leave no way to even write half a
category, and make "one change counts 1" exact.

The grid has the legal values of every column, as one array kernel: whole numbers, declared steps, level
codes. The model is only ever asked about snapped rows, so what was tested is what is returned.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import listed
from ssba.arrays import Array, like, namespace
from ssba.columns import frames
from ssba.columns.features import (
    Declaration,
    Feature,
    declared,
    is_missing,
    step_fraction,
    unknown_columns,
    whole_if_possible,
)
from ssba.columns.frame_writers import Writer, array_writer, frame_writer
from ssba.columns.frames import RawColumn
from ssba.columns.inference import infer_feature
from ssba.columns.layout import Layout, layout_of
from ssba.errors import ArgumentError, SchemaError, SsbaWarning

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
RowName = Callable[[int], str]


@dataclass(frozen=True)
class Grid:
    """Per column: multiples of `numerator / denominator`, or any number where `stepped` is false.

    A step is kept as a fraction because ``3 * 0.1`` is not ``0.3`` but ``3 * 1 / 10`` is.
    `single` marks columns that the user keeps in 32-bit floats: only those numbers are legal there.
    """

    stepped: Array
    numerator: Array
    denominator: Array
    single: Array
    trivial: bool

    def beside(self, reference: Array) -> "Grid":
        """Return the grid with its arrays where others lie."""
        arrays = (self.stepped, self.numerator, self.denominator, self.single)
        stepped, numerator, denominator, single = (like(one, reference) for one in arrays)
        return Grid(stepped, numerator, denominator, single, self.trivial)

    @cached_property
    def columns(self) -> "list[Grid]":
        """The grids of the columns, one by one."""
        arrays = (self.stepped, self.numerator, self.denominator, self.single)
        found = []
        for j in range(len(self.stepped)):
            stepped, numerator, denominator, single = (one[j : j + 1] for one in arrays)
            found.append(Grid(stepped, numerator, denominator, single, self.trivial))
        return found

    def snap(self, Z: Array) -> Array:
        """Round every cell to the nearest legal value; idempotent."""
        if self.trivial:
            return Z
        xp = namespace(Z)
        return self._value(xp.round(self._count(Z)), Z)

    def floor(self, Z: Array) -> Array:
        """Round every cell down to the largest legal value that is not above it."""
        if self.trivial:
            return Z
        xp = namespace(Z)
        if self._is_whole:
            return xp.floor(Z) + 0.0
        # The division may round to either side of a whole count: look one below and one above.
        count = xp.floor(self._count(Z)) + 1
        below = self._value(count, Z)
        for _ in range(3):
            above = self.stepped & (below > Z)
            if not bool(xp.any(above)):
                break
            count = xp.where(above, count - 1, count)
            below = self._value(count, Z)
        if not self._has_single:
            return below
        single = xp.where(self.single, below, xp.zeros_like(below))
        lower = xp.where(self.single, _nextafter_single(single, -math.inf), below)
        return xp.where(below > Z, lower, below)

    def ceil(self, Z: Array) -> Array:
        """Round every cell up to the smallest legal value that is not below it."""
        return -self.floor(-Z) + 0.0

    def storable(self, Z: Array) -> Array:
        """Round cells of 32-bit columns to what these can hold, and leave the others alone."""
        xp = namespace(Z)
        if not self._has_single:
            return Z
        return xp.where(self.single, _as_single(xp.where(self.single, Z, xp.zeros_like(Z))), Z)

    @cached_property
    def _has_single(self) -> bool:
        return bool(namespace(self.single).any(self.single))

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all columns hold whole numbers."""
        return self._counts_ones and bool(namespace(self.stepped).all(self.stepped & ~self.single))

    @cached_property
    def _counts_ones(self) -> bool:
        """Whether all steps that there are have length 1."""
        return bool(namespace(self.stepped).all((self.numerator == 1) & (self.denominator == 1)))

    def _count(self, Z: Array) -> Array:
        return Z if self._counts_ones else Z * self.denominator / self.numerator

    def _value(self, count: Array, Z: Array) -> Array:
        """Return that many steps, where there are steps; adding zero turns -0.0 to 0.0."""
        value = count if self._counts_ones else count * self.numerator / self.denominator
        return self.storable(namespace(Z).where(self.stepped, value + 0.0, Z))


def grid(features: Sequence[Feature], single: Sequence[bool]) -> Grid:
    """Build the grid of the features; `single` tells which columns are 32-bit floats."""
    steps = [_fraction(feature) for feature in features]
    stepped = np.array([step is not None for step in steps], dtype=bool)
    return Grid(
        stepped=stepped,
        numerator=np.array([float(step.numerator) if step else 1.0 for step in steps]),
        denominator=np.array([float(step.denominator) if step else 1.0 for step in steps]),
        single=np.array(single, dtype=bool),
        trivial=not (stepped.any() or any(single)),
    )


def _fraction(feature: Feature) -> Fraction | None:
    if feature.step is None:
        return None if feature.kind == "numeric" else Fraction(1)
    return step_fraction(feature.step)


def _as_single(Z: Array) -> Array:
    xp = namespace(Z)
    # What rounds to more than 32 bits can hold becomes infinite, and is left out by whoever has bounds.
    with np.errstate(over="ignore"):
        return xp.astype(xp.astype(Z, xp.float32), xp.float64)


def _nextafter_single(Z: Array, toward: float) -> Array:
    xp = namespace(Z)
    single = xp.astype(Z, xp.float32)
    return xp.astype(xp.nextafter(single, xp.asarray(toward, dtype=xp.float32)), xp.float64)


@dataclass(frozen=True)
class Space:
    """The columns of a problem; `decode(encode(rows))` gives the rows back in value and dtype."""

    features: tuple[Feature, ...]
    nullable: tuple[bool, ...]
    grid: Grid
    layout: Layout
    decode: Writer
    """Write encoded rows in the user's own form: same library, columns, order and dtypes."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in the model's order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def by_name(self) -> dict[str, Feature]:
        """The features under their names."""
        return {feature.name: feature for feature in self.features}

    @cached_property
    def discrete(self) -> Mask:
        """Which columns have no order, so that a change counts 1 whatever it is."""
        return np.array([feature.is_discrete for feature in self.features], dtype=bool)

    @cached_property
    def constant(self) -> Mask:
        """Which columns hold a single value in the background data."""
        return np.array([feature.is_constant for feature in self.features], dtype=bool)

    @cached_property
    def data_range(self) -> tuple[Matrix, Matrix]:
        """The lowest and highest code of each column in the data; all levels of those with levels."""
        low = np.array([0.0 if one.levels else one.data_low for one in self.features])
        high = np.array([len(one.levels) - 1.0 if one.levels else one.data_high for one in self.features])
        return low, high

    @cached_property
    def declared_range(self) -> tuple[Matrix, Matrix]:
        """What the user declared, within what each column's dtype can hold."""
        features = self.features
        low = np.array([0.0 if one.levels else max(one.low, one.storable[0]) for one in features])
        high = np.array(
            [len(one.levels) - 1.0 if one.levels else min(one.high, one.storable[1]) for one in features]
        )
        return low, high

    @cached_property
    def has_code(self) -> Mask:
        """Which codes each column has, [columns, codes]."""
        width = max([1, *(len(feature.levels) for feature in self.features)])
        return np.array(
            [[code < len(one.levels) for code in range(width)] for one in self.features], dtype=bool
        )

    def index(self, name: str) -> int:
        """Return the position of a column."""
        return self.names.index(name)

    @property
    def schema_hash(self) -> str:
        """A digest of the columns' names, kinds, levels and steps: equal where rows mean the same."""
        meaning = [
            [one.name, one.kind, [repr(level) for level in one.levels], one.step] for one in self.features
        ]
        return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()[:16]

    def encode(self, rows: Any) -> Matrix:
        """Encode a frame or 2-D array of rows; SchemaError names what does not fit."""
        if isinstance(rows, list | tuple) and rows and all(isinstance(row, Mapping) for row in rows):
            return np.stack([self._encode_member(rows, position) for position in range(len(rows))])
        if isinstance(rows, list | tuple) and not rows:
            return np.empty((0, len(self.features)))
        columns = frames.read_columns(rows)
        if not frames.is_frame(rows) and len(columns) != len(self.features):
            raise SchemaError(
                f"rows have {len(columns)} columns, but the background data has {len(self.features)}"
            )
        by_name = {column.name: column for column in columns}
        if frames.is_frame(rows):
            self._check_columns(list(by_name), "the rows")
        ordered = [by_name[name] for name in self.names] if frames.is_frame(rows) else columns
        triples = zip(self.features, ordered, self.nullable, strict=True)
        named = partial(frames.row_name, rows)
        encoded = [encode_column(*triple, named) for triple in triples]
        return np.asarray(self.grid.storable(np.stack(encoded, axis=1)))

    def encode_row(self, row: Any) -> Matrix:
        """Encode one query: a mapping, a Series, a one-row frame or a 1-D array."""
        cells = self._cells(row)
        codes = [_code(*triple) for triple in zip(self.features, cells, self.nullable, strict=True)]
        return np.asarray(self.grid.storable(np.array(codes, dtype=np.float64)))

    def _encode_member(self, rows: Sequence[Any], position: int) -> Matrix:
        try:
            return self.encode_row(rows[position])
        except SchemaError as error:
            raise SchemaError(f"{frames.row_name(rows, position)}: {error}") from None

    def row_values(self, z: Matrix) -> dict[str, Any]:
        """Return one encoded row as the user's values, None for missing cells."""
        return self.rows_values(z[None, :])[0]

    def rows_values(self, Z: Matrix) -> list[dict[str, Any]]:
        """Return encoded rows as the user's values, a dict each."""
        columns = [feature.values(Z[:, j]) for j, feature in enumerate(self.features)]
        return [dict(zip(self.names, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def _cells(self, row: Any) -> list[Any]:
        if isinstance(row, Mapping):
            by_name = {str(name): value for name, value in row.items()}
            if len(by_name) < len(row):
                raise SchemaError("the query has two cells of one name; every column needs a name of its own")
            self._check_columns(list(by_name), "the query")
            return [by_name[name] for name in self.names]
        if frames.is_frame(row):
            return self._cells(frames.only_row(row))
        if hasattr(row, "index") and hasattr(row, "to_dict"):
            if not getattr(row.index, "is_unique", True):
                raise SchemaError("the query has two cells of one name; every column needs a name of its own")
            return self._cells(row.to_dict())
        return self._array_cells(row)

    def _array_cells(self, row: Any) -> list[Any]:
        if isinstance(row, np.ndarray) and row.ndim == 2 and len(row) == 1:
            row = row[0]
        cells = row.tolist() if isinstance(row, np.ndarray) and row.ndim == 1 else row
        if not isinstance(cells, list | tuple) or len(cells) != len(self.features):
            count = f": it has {len(cells)} values" if isinstance(cells, list | tuple) else ""
            raise SchemaError(
                f"the query {row!r:.80} does not fit{count}; give a dict, a Series, a one-row frame or a 1-D "
                f"array with the {len(self.features)} columns {', '.join(self.names)}"
            )
        return list(cells)

    def _check_columns(self, given: Sequence[str], who: str) -> None:
        problems = [f"column {name!r} is missing" for name in self.names if name not in given]
        if extra := [name for name in given if name not in self.names]:
            problems.append(unknown_columns(extra, self.names, "beside them it has"))
        if problems:
            raise SchemaError(f"{who} must have the columns of the background data: {'; '.join(problems)}")


def encode_column(
    feature: Feature, column: RawColumn, nullable: bool, named: RowName = "row {}".format
) -> Matrix:
    """Encode one raw column; numbers in one go, anything else through a table of its distinct cells.

    `named` is what to call a row whose cell does not fit.
    """
    if isinstance(column.cells, np.ndarray) and (feature.kind == "date") != (column.family == "date"):
        raise SchemaError(
            f"column {feature.name!r} has dtype {column.dtype}, but {feature.kind} in the background data; "
            "convert it"
        )
    if isinstance(column.cells, np.ndarray) and (feature.is_zero_one or not feature.has_levels):
        return _checked_numbers(feature, column.cells, nullable, named)
    cells = column.cells.tolist() if isinstance(column.cells, np.ndarray) else column.cells
    if isinstance(column.cells, np.ndarray):
        cells = [whole_if_possible(cell) for cell in cells]
    keys = [cell if type(cell) is str else (type(cell), repr(cell)) for cell in cells]
    firsts = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    codes = {
        keys[row]: _code_at(row, named, feature, cells[row], nullable) for row in sorted(firsts.values())
    }
    return np.fromiter(map(codes.__getitem__, keys), dtype=np.float64, count=len(keys))


def _checked_numbers(feature: Feature, numbers: Matrix, nullable: bool, named: RowName) -> Matrix:
    bad = np.isinf(numbers)
    if not nullable:
        bad |= np.isnan(numbers)
    if feature.kind == "integer":
        bad |= np.isfinite(numbers) & (numbers != np.round(numbers))
    if feature.is_zero_one:
        bad |= np.isfinite(numbers) & (numbers != 0) & (numbers != 1)
    low, high = feature.accepted
    bad |= (numbers < low) | (numbers > high)
    if bad.any():
        row = int(np.argmax(bad))
        cell = float(numbers[row])
        _code_at(row, named, feature, feature.value(cell) if feature.kind == "date" else cell, nullable)
    return numbers


def _code_at(row: int, named: RowName, feature: Feature, cell: Any, nullable: bool) -> float:
    """Encode one cell of many rows; an error names the row."""
    try:
        return _code(feature, cell, nullable)
    except SchemaError as error:
        raise SchemaError(f"{named(row)}, {error}") from None


def _code(feature: Feature, cell: Any, nullable: bool) -> float:
    if is_missing(cell) and not nullable:
        raise SchemaError(
            f"column {feature.name!r}: the cell is missing, but the background data keeps this column in a "
            "dtype without missing values; give a value, or data in which the column is nullable, in pandas "
            "float64 or Int64"
        )
    return feature.code(cell)


def _named(columns: list[RawColumn], names: Any, is_frame: bool) -> list[RawColumn]:
    """Give the columns of an array the names that the user has for them."""
    if names is None:
        return columns
    if is_frame:
        raise ArgumentError("columns=... names the columns of a NumPy array, but data is a frame with names")
    given = [str(name) for name in listed("columns", names, "give a list of names, one a column")]
    if len(given) != len(columns) or len(set(given)) < len(given):
        raise ArgumentError(
            f"columns has {len(set(given))} different names, but data has {len(columns)} columns; give "
            "each a name of its own"
        )
    return [replace(column, name=name) for column, name in zip(columns, given, strict=True)]


def build_space(
    data: Any, features: Mapping[str, Declaration] | None = None, names: Sequence[str] | None = None
) -> tuple[Space, Matrix]:
    """Return the space of the background data, and its rows encoded in it; `names` are an array's columns."""
    columns = _named(frames.read_columns(data), names, frames.is_frame(data))
    if not columns or not len(columns[0].cells):
        raise SchemaError("data is empty: give background rows, at least two that the model tells apart")
    given = declared(features, [column.name for column in columns])
    found = tuple(infer_feature(column, given.get(column.name)) for column in columns)
    nullable = tuple(column.nullable for column in columns)
    writer = (
        frame_writer(frames.native_of(data), found) if frames.is_frame(data) else array_writer(data, found)
    )
    layout = layout_of(data, [column.name for column in columns])
    space = Space(found, nullable, grid(found, [column.single for column in columns]), layout, writer)
    _refuse_empty_ranges(space)
    named = partial(frames.row_name, data)
    encoded = [encode_column(*triple, named) for triple in zip(found, columns, nullable, strict=True)]
    return space, np.stack(encoded, axis=1)


def _refuse_empty_ranges(space: Space) -> None:
    """Refuse declared ranges in which no value is legal: nothing could ever be found."""
    low, high = space.declared_range
    for j in np.flatnonzero(space.grid.ceil(low) > space.grid.floor(high)).tolist():
        feature, dtype = space.features[j], space.layout.dtypes[j].name
        steps = f" and multiples of {feature.step:g}" if feature.step else ""
        raise SchemaError(
            f"column {feature.name!r} is declared from {feature.low:g} to {feature.high:g}, where there is "
            f"no value that it can hold (dtype {dtype}{steps}); declare a wider range"
        )


def without_far_cells(space: Space, Z: Matrix, data: Any) -> Matrix:
    """Bring cells that the columns' ranges leave out to their ends, and say which they are."""
    low, high = space.data_range
    for row, j in np.argwhere((Z < low) | (high < Z)).tolist():
        feature = space.features[j]
        warnings.warn(
            f"column {feature.name!r} holds {feature.value(Z[row, j])!r} in {frames.row_name(data, row)}, a "
            "billion times as far from the others as these are from each other; it is left out of the "
            "column's range and scale: correct the cell, or make it missing",
            SsbaWarning,
            stacklevel=5,
        )
    return np.clip(Z, low, high)
