"""From a raw column and what the user declared to a `Feature`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssba.columns.by_values import far_cells, shown_kind
from ssba.columns.dates import date_step
from ssba.columns.features import (
    LARGEST_EXACT,
    Declaration,
    Feature,
    Kind,
    declaring,
    inexact_number,
    is_missing,
    whole_if_possible,
)
from ssba.columns.frames import RawColumn, distinct_cells, in_order
from ssba.errors import SchemaError

_KINDS: dict[str, Kind] = {
    "boolean": "boolean",
    "integer": "integer",
    "float": "numeric",
    "text": "categorical",
    "date": "date",
}
_NUMBERS = ("numeric", "integer", "date")


def infer_feature(column: RawColumn, declaration: Declaration | None) -> Feature:
    """Return the feature of a column: as declared, else as its values show, else as its dtype says."""
    _refuse_inexact(column)
    decided = _Decided(declaration, "declared") if declaration is not None else _inferred(column)
    declaration = decided.declaration
    if (declaration.kind == "date") != (column.family == "date"):
        raise SchemaError(
            f"column {column.name!r} has dtype {column.dtype} and is declared {declaration.kind}; a column "
            "of dates stays one, and no other becomes one: convert it, or leave it out of features"
        )
    if declaration.kind == "numeric" and column.family == "integer":
        declaration = replace(declaration, kind="integer", step=_whole_step(column, declaration))
    feature = Feature(
        name=column.name,
        kind=declaration.kind,
        low=declaration.low,
        high=declaration.high,
        step=declaration.step,
        unit=declaration.unit,
        storable=column.storable if declaration.kind in _NUMBERS else (-np.inf, np.inf),
        why=decided.why,
        by_values=decided.by_values,
        decimals=decided.decimals,
    )
    if declaration.kind in _NUMBERS:
        return _with_range(feature, _numbers(column, declaration.kind))
    present = _present(column)
    feature = replace(feature, levels=_levels(column, declaration, present))
    return _with_range(feature, np.array([feature.code(cell) for cell in present], dtype=np.float64))


def _refuse_inexact(column: RawColumn) -> None:
    if column.family == "integer" and isinstance(column.cells, np.ndarray):
        far = column.cells[np.abs(column.cells) > LARGEST_EXACT]
        if len(far):
            raise SchemaError(inexact_number(column.name, float(far[0])))


@dataclass(frozen=True)
class _Decided:
    """The kind of a column as if it had been declared, and what decided it."""

    declaration: Declaration
    why: str
    by_values: bool = False
    decimals: int | None = None


def _inferred(column: RawColumn) -> _Decided:
    by_dtype = _by_dtype(column)
    if not isinstance(column.cells, np.ndarray) or by_dtype.levels or by_dtype.kind == "date":
        return _Decided(by_dtype, f"dtype {column.dtype}{', ordered' if by_dtype.levels else ''}")
    sensible = column.cells[~far_cells(column.cells)]
    shown = shown_kind(sensible, single=column.single, whole_dtype=column.family == "integer")
    if shown is None:
        return _Decided(by_dtype, f"dtype {column.dtype}")
    return _Decided(Declaration(shown.kind, step=shown.step), shown.why, shown.decides, shown.decimals)


def _by_dtype(column: RawColumn) -> Declaration:
    if column.family == "other":
        raise SchemaError(
            f"column {column.name!r} has dtype {column.dtype}, which ssba cannot change or compare; convert "
            "it to numbers, to dates, to text, or leave it out of model and data"
        )
    if column.order:
        present = set(_present(column))
        return Declaration("ordinal", tuple(level for level in column.order if level in present))
    if column.family == "date":
        assert isinstance(column.cells, np.ndarray)
        return Declaration("date", step=date_step(column.cells))
    return Declaration(_KINDS[column.family], step=1.0 if column.family == "integer" else None)


def _whole_step(column: RawColumn, declaration: Declaration) -> float:
    """Return the step of a column whose dtype holds whole numbers only."""
    if declaration.step is None or declaration.step == round(declaration.step):
        return declaration.step or 1.0
    raise SchemaError(
        f"column {column.name!r} has dtype {column.dtype}, which cannot hold steps of {declaration.step:g}; "
        "give the data as floats, or declare ssba.integer()"
    )


def stray_text(column: RawColumn) -> str | None:
    """Say which cell keeps a column of numbers from being read as such; None where no cell is a number.

    >>> stray_text(RawColumn("chol", "text", ["233", "n/a?", "250"], "str"))
    "column 'chol' holds 'n/a?' in row 1, which is no number; correct the cell, or leave it empty"
    """
    if column.family != "text":
        return None
    cells = [(row, cell) for row, cell in enumerate(column.cells) if not is_missing(cell)]
    strays = [(row, cell) for row, cell in cells if not _reads_as_number(cell)]
    commas = [cell for _, cell in strays if _reads_as_number(str(cell).replace(",", "."))]
    if not strays or (len(strays) == len(cells) and not commas):
        return None
    row, cell = strays[0]
    by_comma = len(commas) == len(strays)
    remedy = "write numbers as 1234.5" if by_comma else "correct the cell, or leave it empty"
    return f"column {column.name!r} holds {cell!r:.60} in row {row}, which is no number; {remedy}"


def is_mostly_numbers(column: RawColumn) -> bool:
    """Tell a column of numbers, of which some cells may be anything else, from one of words or codes.

    >>> is_mostly_numbers(RawColumn("chol", "text", ["233", "high", "1,233"], "str"))
    True
    """
    cells = [str(cell).replace(",", ".") for cell in column.cells if not is_missing(cell)]
    return sum(map(_reads_as_number, cells)) > len(cells) / 2


def _reads_as_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _numbers(column: RawColumn, kind: str) -> Any:
    if not isinstance(column.cells, np.ndarray):
        if (stray := stray_text(column)) is not None:
            raise SchemaError(f"{stray} (the column is declared {kind})")
        example = next(iter(_present(column)), None)
        other = (
            "leave the declaration out: constraints calculate with truth values as 0 and 1"
            if column.family == "boolean"
            else f"declare it as text: {declaring(column.name, 'categorical')}"
        )
        raise SchemaError(
            f"column {column.name!r} is declared {kind}, but it holds {example!r} (dtype {column.dtype}); "
            f"convert it to numbers, or {other}"
        )
    return column.cells


def _present(column: RawColumn) -> list[Any]:
    """Return the distinct cells that are not missing; whole numbers as int."""
    if isinstance(column.cells, np.ndarray):
        _refuse_infinite(column.name, column.cells)
        unique = np.unique(column.cells[~np.isnan(column.cells)]).tolist()
        return [whole_if_possible(cell) for cell in unique]
    cells = [cell for cell in distinct_cells(column.cells) if not is_missing(cell)]
    for cell in cells:
        if not isinstance(cell, str | bool | np.bool_ | int | float):
            raise SchemaError(
                f"column {column.name!r} holds {cell!r:.60} ({type(cell).__name__}); "
                "ssba reads numbers, text, booleans, categories and dates of a dtype of their own "
                "(pandas.to_datetime): convert the column"
            )
    return in_order(cells)


def _levels(column: RawColumn, declaration: Declaration, present: list[Any]) -> tuple[Any, ...]:
    if not declaration.levels:
        _refuse_hidden_numbers(column, present)
        return tuple(_both_truths(column, declaration, present))
    if unknown := [cell for cell in present if cell not in declaration.levels]:
        raise SchemaError(
            f"column {column.name!r}: the data holds {unknown[0]!r}, which is not among the declared levels "
            f"{list(declaration.levels)!r}; add it to the declaration"
        )
    return declaration.levels


def _both_truths(column: RawColumn, declaration: Declaration, present: Sequence[Any]) -> Sequence[Any]:
    if column.family == "boolean":
        return (False, True)
    if declaration.kind == "boolean" and len(present) > 2:
        raise SchemaError(
            f"column {column.name!r} is declared boolean, but holds {len(present)} values "
            f"({', '.join(map(repr, present[:5]))}, ...); declare it otherwise: "
            f"{declaring(column.name, 'categorical')}"
        )
    return present


def _refuse_hidden_numbers(column: RawColumn, present: Sequence[Any]) -> None:
    """Refuse numbers that hide in a column of objects: nobody means each of them as a category."""
    if column.dtype == "object" and present and not isinstance(present[0], str | bool | np.bool_):
        raise SchemaError(
            f"column {column.name!r} has dtype object, but holds numbers such as {present[0]!r}; convert it "
            "with astype(float), or to a categorical dtype if they are categories"
        )


def _refuse_infinite(name: str, numbers: Any) -> None:
    if np.isinf(numbers).any():
        raise SchemaError(f"column {name!r} holds an infinite value; make it finite, or a missing cell")


def _with_range(feature: Feature, numbers: Any) -> Feature:
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return replace(feature, data_low=0.0, data_high=0.0)
    _refuse_infinite(feature.name, present)
    present = present[~far_cells(present)]
    return replace(feature, data_low=float(present.min()), data_high=float(present.max()))
