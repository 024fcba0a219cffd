"""What kind a column is, by its cells: numbers and their step, whole numbers, levels and their order."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ssba.columns.by_values import ENOUGH, shown_kind
from ssba.columns.features import (
    Declaration,
    Feature,
    boolean,
    categorical,
    integer,
    is_missing,
    numeric,
    ordinal,
)
from ssba.columns.frames import RawColumn
from ssba.columns.inference import infer_feature
from ssba.constraints.language.tree import column_text
from ssba.errors import SchemaError
from ssba.suggest.levels import ordered_levels
from ssba.suggest.names import is_code, meaning_of, unit_of

Flag = Literal["constant", "identifier", "unreadable"]
Numbers = NDArray[np.float64]

# Numbers with so few values may be codes.
_FEW = 5
_MOST_CODES = 100
# More texts than this are no scale that a person thinks in.
_MOST_LEVELS = 20
_YES_AND_NO = (
    {"yes", "no"},
    {"y", "n"},
    {"true", "false"},
    {"t", "f"},
    {"present", "absent"},
    {"positive", "negative"},
    {"on", "off"},
)


@dataclass(frozen=True)
class Reading:
    """What a column looks like: what to declare (None: dtype and values tell), why, and what stands out."""

    column: RawColumn
    feature: Feature | None
    declaration: Declaration | None
    reasons: tuple[str, ...]
    flag: Flag | None = None


def read_kind(column: RawColumn) -> Reading:
    """Propose a kind for a column, and say what stands out."""
    try:
        declaration, why = _proposal(column)
        feature = infer_feature(column, declaration)
    except SchemaError as error:
        return Reading(column, None, None, (str(error),), "unreadable")
    flag, more = _what_stands_out(column, feature)
    reasons = tuple(one for one in (*more, why, _about_missing(column)) if one)
    return Reading(column, feature, declaration, reasons, flag)


def present_numbers(column: RawColumn) -> Numbers:
    """Return the numbers of a column without missing cells."""
    assert isinstance(column.cells, np.ndarray)
    return np.asarray(column.cells[~np.isnan(column.cells)])


def missing_cells(column: RawColumn) -> int:
    """Return how many cells of a column are missing."""
    if isinstance(column.cells, np.ndarray):
        return int(np.isnan(column.cells).sum())
    return sum(map(is_missing, column.cells))


def _proposal(column: RawColumn) -> tuple[Declaration | None, str]:
    if column.family in ("integer", "float"):
        return _of_numbers(column, present_numbers(column))
    if column.family == "text" and not column.order:
        return _of_texts(column)
    return None, "its levels have an order in the data" if column.order else ""


def _of_numbers(column: RawColumn, numbers: Numbers) -> tuple[Declaration | None, str]:
    values, unit = np.unique(numbers), unit_of(column.name)
    is_whole = column.family == "integer"
    shown = shown_kind(numbers, single=column.single, whole_dtype=is_whole)
    if shown is not None and shown.kind == "boolean":
        return None, shown.why
    if len(numbers) >= ENOUGH and len(values) == 2:
        return boolean(), f"two values only, {_shown(values)}"
    if is_whole or (shown is not None and shown.kind == "integer"):
        return _of_whole_numbers(column, values, unit)
    step = None if shown is None else shown.step
    declaration = numeric(step=step, unit=unit) if unit else None
    return declaration, "" if step is None else f"every value is a multiple of {step:g}"


def _of_whole_numbers(column: RawColumn, values: Numbers, unit: str | None) -> tuple[Declaration | None, str]:
    if is_code(column.name) and len(values) <= _MOST_CODES:
        return categorical(), f"{len(values)} whole numbers that its name calls codes"
    reason = "whole numbers only" if column.family == "float" else ""
    if 2 < len(values) <= _FEW:
        reason = f"few values, {_shown(values)}: declare it categorical if they are codes without order"
    return (integer(unit=unit) if unit else None), reason


def _of_texts(column: RawColumn) -> tuple[Declaration | None, str]:
    cells = [cell for cell in column.cells if not is_missing(cell)]
    if not all(isinstance(cell, str) for cell in cells):
        return None, ""
    levels = sorted(set(cells))
    if {level.casefold().strip() for level in levels} in _YES_AND_NO:
        return boolean(), f"two values only, {' and '.join(map(repr, levels))}"
    if len(levels) <= _MOST_LEVELS and not is_code(column.name) and (order := ordered_levels(levels)):
        return ordinal(order), f"the levels look ordered: {' < '.join(order)}"
    if len(levels) > 2 and all(_is_number(level) for level in levels):
        return None, "text that holds numbers: convert the column to numbers if they have an order"
    return None, ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _what_stands_out(column: RawColumn, feature: Feature) -> tuple[Flag | None, tuple[str, ...]]:
    if feature.is_constant:
        return "constant", ("one value only: it cannot tell rows apart",)
    if _is_identifier(column):
        return "identifier", ("another value in every row: an identifier, best left out of the model",)
    return None, ()


def _is_identifier(column: RawColumn) -> bool:
    if len(column.cells) < ENOUGH or column.family not in ("integer", "text"):
        return False
    if missing_cells(column) or len(set(column.cells)) < len(column.cells):
        return False
    if column.family == "text":
        return True
    named = meaning_of(column.name)
    counted = present_numbers(column)
    is_numbering = counted.max() - counted.min() + 1 == len(counted) and (np.diff(counted) == 1).all()
    return bool(is_numbering) or (named is not None and named.rule == "identifier")


def _about_missing(column: RawColumn) -> str:
    missing = missing_cells(column)
    if not missing:
        return ""
    permission = f'"{column_text(column.name)} may be filled"'
    return f"missing in {missing:,} of {len(column.cells):,} rows, which an answer may fill with {permission}"


def _shown(values: Numbers) -> str:
    return ", ".join(f"{value:g}" for value in values)
