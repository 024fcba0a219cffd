"""Cells that come as text, on the command line or in a CSV file, read as their column has them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ssba.apps.project.target import label_readings
from ssba.apps.usage import UsageError
from ssba.columns.features import unknown_columns
from ssba.errors import ArgumentError, SchemaError
from ssba.results.column import Column

MISSING = ("", "null")
"""How a missing cell is written on the command line."""


def read_cell(column: Column, text: str) -> Any:
    """Return a cell as its column has it: a number, a level, or a date as text.

    >>> read_cell(Column("chol", "integer"), "233"), read_cell(Column("oldpeak", "numeric"), "2.50")
    (233, 2.5)
    >>> read_cell(Column("sex", "categorical", ("female", "male")), "male")
    'male'
    >>> read_cell(Column("stage", "ordinal", (1, 2, 3)), "2"), read_cell(Column("seen", "date"), "2024-02-29")
    (2, '2024-02-29')
    >>> read_cell(Column("chol", "integer"), "null") is None
    True
    """
    for reading in label_readings(text) if column.levels else ():
        if reading in column.levels:
            return reading
    if text in MISSING:
        return None
    if column.kind in ("numeric", "integer"):
        return read_number(text, f"column {column.name!r}")
    return text


def read_number(text: str, what: str) -> int | float:
    """Read a finite number, whole if it is written so.

    >>> read_number("20", "--max-step chol"), read_number(" 1e-3", "--effort chol")
    (20, 0.001)
    """
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        # Python reads 1_000, too, which pandas takes for text.
        if math.isfinite(number) and "_" not in text:
            return number
    raise ArgumentError(f"{what}: {text!r} is not a number; write one such as 233 or 0.5")


def read_pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """Read what is given as NAME=VALUE, each name once.

    >>> read_pairs("--set", ["chol=233", "note=a=b"])
    {'chol': '233', 'note': 'a=b'}
    """
    read: dict[str, str] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"{option} {one!r}: write NAME=VALUE, such as chol=233")
        if name.strip() in read:
            raise UsageError(f"{option} names {name.strip()!r} twice; give it once")
        read[name.strip()] = value.strip()
    return read


def read_values(option: str, given: Iterable[str], columns: Mapping[str, Column]) -> dict[str, Any]:
    """Read NAME=VALUE for columns of the model, each value as its column has it."""
    pairs = _known(option, read_pairs(option, given), columns)
    try:
        return {name: read_cell(columns[name], text) for name, text in pairs.items()}
    except ArgumentError as error:
        raise ArgumentError(f"{option}: {error}") from None


def read_conditions(option: str, given: Iterable[str], columns: Mapping[str, Column]) -> dict[str, Any]:
    """Read NAME=VALUE for any columns of the data; what the model does not take is compared as text."""
    pairs = read_pairs(option, given)
    own = read_values(option, [f"{name}={text}" for name, text in pairs.items() if name in columns], columns)
    others = {name: None if text in MISSING else text for name, text in pairs.items() if name not in columns}
    return {**own, **others}


def read_amounts(option: str, given: Iterable[str], columns: Mapping[str, Column]) -> dict[str, float]:
    """Read NAME=NUMBER for columns of the model, each number above 0."""
    pairs = _known(option, read_pairs(option, given), columns)
    amounts = {name: float(option_number(text, f"{option} {name}")) for name, text in pairs.items()}
    for name, amount in amounts.items():
        if amount <= 0:
            raise UsageError(f"{option} {name}={pairs[name]}: give a number above 0")
    return amounts


def option_number(text: str, what: str) -> int | float:
    """Read the number of an option."""
    try:
        return read_number(text, what)
    except ArgumentError as error:
        raise UsageError(str(error)) from None


def _known(option: str, pairs: dict[str, str], columns: Mapping[str, Column]) -> dict[str, str]:
    if strangers := [name for name in pairs if name not in columns]:
        raise SchemaError(unknown_columns(strangers, list(columns), option))
    return pairs
