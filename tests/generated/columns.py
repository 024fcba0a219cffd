"""Columns of random worlds: what a column means, which values are legal, and how rows are written.

Rows are matrices of codes: the number itself, the rank of a level, NaN for a missing cell.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import ssba

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Kind = Literal["numeric", "integer", "ordinal", "categorical", "boolean"]
Dtype = Literal["float64", "float32", "int64", "bool", "str"]

LARGEST_SINGLE = float(np.finfo(np.float32).max)
LARGEST_WHOLE = 2.0**53 - 1


def exact(number: float) -> Fraction:
    """Return a number as its decimal digits mean it."""
    return Fraction(repr(float(number)))


@dataclass(frozen=True)
class Column:
    """One column; `declared` tells whether the explainer is told about it, or goes by its dtype and values.

    `decimals` is how many the data's real numbers have, where these are few.
    """

    name: str
    kind: Kind
    dtype: Dtype
    levels: tuple[Any, ...] = ()
    step: float | None = None
    low: float = -math.inf
    high: float = math.inf
    declared: bool = False
    decimals: int | None = None

    @property
    def is_number(self) -> bool:
        return not self.levels

    @property
    def is_single(self) -> bool:
        """Whether numbers are kept in 32 bits."""
        return self.dtype == "float32" and self.is_number

    @property
    def is_category(self) -> bool:
        """Whether a change counts 1, whatever it is."""
        return self.kind in ("categorical", "boolean")

    @property
    def is_stepped(self) -> bool:
        """Whether there are gaps between legal values."""
        return self.step is not None or bool(self.levels)

    @property
    def can_be_missing(self) -> bool:
        return self.dtype in ("float64", "float32", "str")

    @property
    def unit(self) -> Fraction:
        """The step between legal values, exactly."""
        return Fraction(1) if self.levels or self.step is None else exact(self.step)

    def limits(self) -> tuple[float, float]:
        """Return what always holds: declared bounds, levels, and what the dtype can hold."""
        if self.levels:
            return 0.0, len(self.levels) - 1.0
        largest = LARGEST_WHOLE if self.dtype == "int64" else LARGEST_SINGLE if self.is_single else math.inf
        return max(self.low, -largest), min(self.high, largest)

    def at(self, counts: Matrix) -> Matrix:
        """Return that many steps, as the column stores them."""
        unit = self.unit
        return self.stored(counts * float(unit.numerator) / float(unit.denominator) + 0.0)

    def stored(self, codes: Matrix) -> Matrix:
        return codes.astype(np.float32).astype(np.float64) if self.is_single else codes

    def snapped(self, codes: Matrix) -> Matrix:
        """Round to the nearest legal values."""
        if not self.is_stepped:
            return self.stored(codes)
        with np.errstate(over="ignore"):  # Too many steps to count are no legal value.
            return self.at(np.round(codes / float(self.unit)))

    def on_grid(self, codes: Matrix) -> Mask:
        return np.asarray(np.isnan(codes) | (codes == self.snapped(codes)))

    def grid(self, low: float, high: float) -> Matrix:
        """Return all legal values from `low` to `high` of a column with steps."""
        first, last = math.floor(low / self.unit) - 1, math.ceil(high / self.unit) + 1
        values = self.at(np.arange(first, last + 1, dtype=np.float64))
        return values[(values >= low) & (values <= high)]

    def cell(self, code: float) -> Any:
        """Return the user's value of a code."""
        if math.isnan(code):
            return None
        if self.levels:
            return self.levels[int(code)]
        return int(code) if self.kind == "integer" else float(code)

    def code(self, cell: Any) -> float:
        """Return the code of a user's value; infinite for what is no legal cell at all."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return math.nan
        if self.levels:
            return float(self.levels.index(cell)) if cell in self.levels else math.inf
        return float(self.stored(np.array([float(cell)]))[0])

    def digits(self, code: float) -> Fraction:
        """Return a number of this column as its decimal digits mean it; 32-bit ones show few of them."""
        return Fraction(str(np.float32(code))) if self.is_single else exact(code)

    def declaration(self) -> Any:
        """Return what the explainer is told, or None."""
        if not self.declared:
            return None
        match self.kind:
            case "integer" if self.step == 1:
                return ssba.integer(low=self.low, high=self.high)
            case "numeric" | "integer":
                # Whole numbers with a wider step are numbers with that step in a dtype of whole numbers.
                return ssba.numeric(step=self.step, low=self.low, high=self.high)
            case "ordinal":
                return ssba.ordinal(list(self.levels))
            case "categorical":
                return ssba.categorical(list(self.levels))
            case "boolean":
                return ssba.boolean()

    def source(self) -> str:
        """Return the declaration as code."""
        bounds = "".join(
            f", {name}={value!r}"
            for name, value in (("low", self.low), ("high", self.high))
            if math.isfinite(value)
        )
        if self.levels:
            return f"ssba.{self.kind}({'' if self.kind == 'boolean' else list(self.levels)})"
        if self.kind == "integer" and self.step == 1:
            return f"ssba.integer({bounds[2:]})"
        return f"ssba.numeric({f'step={self.step!r}{bounds}' if self.step else bounds[2:]})"


def to_rows(columns: Sequence[Column], Z: Matrix, as_array: bool) -> Any:
    """Write codes as the user's rows: a frame, or an array."""
    if as_array:
        cells = np.column_stack([_array_cells(one, Z[:, j]) for j, one in enumerate(columns)])
        return cells.astype(columns[0].dtype)
    return pd.DataFrame({one.name: _series(one, Z[:, j]) for j, one in enumerate(columns)})


def _array_cells(column: Column, codes: Matrix) -> Matrix:
    return np.asarray(column.levels, dtype=np.float64)[codes.astype(int)] if column.levels else codes


def _series(column: Column, codes: Matrix) -> Any:
    if column.is_number:
        return codes.astype(column.dtype)
    table = np.array([*column.levels, None], dtype=object)
    cells = table[np.where(np.isnan(codes), len(column.levels), codes).astype(int)]
    return pd.array(cells.tolist(), dtype=column.dtype)


def to_codes(columns: Sequence[Column], rows: Any) -> Matrix:
    """Read the user's rows as codes; cells that are no legal level become infinite."""
    return np.column_stack([_codes(one, _raw(rows, one, j)) for j, one in enumerate(columns)])


def _raw(rows: Any, column: Column, j: int) -> Any:
    return rows[:, j] if isinstance(rows, np.ndarray) else rows[column.name]


def _codes(column: Column, cells: Any) -> Matrix:
    if column.is_number:
        return np.asarray(cells, dtype=np.float64)
    if column.dtype != "str":
        numbers, levels = np.asarray(cells, dtype=np.float64), np.asarray(column.levels, dtype=np.float64)
        nearest = np.abs(numbers[:, None] - levels).argmin(axis=1)
        codes = np.where(levels[nearest] == numbers, nearest.astype(np.float64), np.inf)
        return np.where(np.isnan(numbers), np.nan, codes)
    ranks: Mapping[Any, float] = {level: float(code) for code, level in enumerate(column.levels)}
    missing = np.asarray(pd.isna(cells))
    return np.array(
        [np.nan if gone else ranks.get(cell, np.inf) for cell, gone in zip(cells, missing, strict=True)]
    )


def to_values(columns: Sequence[Column], z: Matrix) -> dict[str, Any]:
    """Return one row as the user's values under their names."""
    return {one.name: one.cell(float(code)) for one, code in zip(columns, z, strict=True)}


def from_values(columns: Sequence[Column], values: Mapping[str, Any]) -> Matrix:
    """Return the codes of one row of values."""
    return np.array([one.code(values[one.name]) for one in columns])
