"""Rows of a project's data: found by number, by values or by text, and told as plain values."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ssba.apps.project.opened import OpenedProject, require_column
from ssba.apps.requests import Query
from ssba.arguments import is_number, listing, meant
from ssba.errors import ArgumentError, SchemaError
from ssba.json_form import plain_or_text
from ssba.results import Column, ColumnTable
from ssba.results.words import cell

if TYPE_CHECKING:
    import pandas as pd


def row_of(project: OpenedProject, query: Query) -> dict[str, Any]:
    """Return the row that a request is about, in the model's columns."""
    if query.values is not None:
        beside = set(project.settings.unused)
        row = {name: value for name, value in query.values.items() if name not in beside}
    else:
        number = query.row if query.row is not None else the_row(project, query.where or {})
        check_number(project.table, number)
        row = {str(name): column.iloc[number] for name, column in project.rows.items()}
    return {**row, **query.set}


def check_number(table: "pd.DataFrame", number: int) -> None:
    """Refuse the number of a row that is not there."""
    count = len(table)
    if number >= count:
        raise ArgumentError(
            f"row {f'{number:,}':.40} is not in the data, whose {count:,} rows are 0 to {count - 1:,}"
        )


def the_row(project: OpenedProject, where: Mapping[str, Any]) -> int:
    """Return the number of the one row that has some values."""
    matching = matching_rows(project, where)
    if len(matching) == 1:
        return matching[0]
    said = " and ".join(f"{name} = {value!r}" for name, value in where.items()) or "no condition"
    if not matching:
        raise ArgumentError(f"no row of the data has {said:.200}")
    some = ", ".join(map(str, matching[:5]))
    more = f", and {len(matching) - 5:,} more" if len(matching) > 5 else ""
    raise ArgumentError(f"{len(matching):,} rows of the data have {said:.200}: {some}{more}; name one by row")


def matching_rows(project: OpenedProject, where: Mapping[str, Any], text: str = "") -> list[int]:
    """Return the numbers of the rows with some values, and with each word of a text in some cell.

    Values are compared as text where types differ, words in any case. The column that names the rows is also
    known as `id`.
    """
    table = project.table
    fits = [True] * len(table)
    for given, value in where.items():
        name = _column(project, given)
        wanted = comparable(value)
        cells = [comparable(one) for one in table[name]]
        if wanted is not None and wanted not in cells and name in project.rows.columns:
            _refuse_no_value(project, name, value)
        fits = [so_far and one == wanted for so_far, one in zip(fits, cells, strict=True)]
    for word in text.casefold().split():
        contained = _contain(table, word)
        fits = [so_far and found for so_far, found in zip(fits, contained, strict=True)]
    return [number for number, fine in enumerate(fits) if fine]


def outside_data(columns: ColumnTable, values: Mapping[str, Any]) -> str:
    """Say which values of a row lie beyond all that the data show; nothing where none does."""
    return "".join(f" {words}." for one in columns if (words := _outside(one, values[one.name])))


def _outside(column: Column, value: Any) -> str:
    feature = column.feature
    if feature.has_levels or value is None or feature.data_low <= feature.code(value) <= feature.data_high:
        return ""
    low, high = feature.value(feature.data_low), feature.value(feature.data_high)
    return (
        f"The {column.name} of {cell(value)} is outside the data's {cell(low)} to {cell(high, column.unit)}"
    )


def _column(project: OpenedProject, name: str) -> str:
    """Return the column that a condition is about."""
    if name == "id" and name not in project.table.columns and project.settings.id is not None:
        return project.settings.id
    require_column(project.table, name, "where")
    return name


def _refuse_no_value(project: OpenedProject, name: str, value: Any) -> None:
    """Refuse what a column of the model can never hold; of a name that no row has, nothing is known."""
    import pandas as pd

    column = project.table[name]
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        if not is_number(value) and not _reads_as_number(value):
            raise SchemaError(f"where: column {name!r} holds numbers, and {value!r:.60} is none")
        return
    if pd.api.types.is_datetime64_any_dtype(column):
        return
    said = project.settings.features.get(name)
    levels = [*column.dropna().unique().tolist(), *((said and said.levels) or ())]
    if comparable(value) not in map(comparable, levels):
        known = f"known levels are {listing(dict.fromkeys(levels))}"
        raise SchemaError(
            f"where: column {name!r}: unknown level {value!r:.60}{meant(value, levels)}; {known}"
        )


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _contain(table: "pd.DataFrame", word: str) -> list[bool]:
    found = [False] * len(table)
    for _, column in table.items():
        found = [
            so_far or word in str(cell).casefold()
            for so_far, cell in zip(found, map(plain_cell, column), strict=True)
        ]
    return found


def comparable(cell: Any) -> str | None:
    """Return a cell so that 3, 3.0 and "3" are the same, and missing cells are alike.

    >>> comparable(3.0), comparable("3"), comparable(float("nan")), comparable(True)
    ('3', '3', None, 'true')
    """
    plain = plain_cell(cell)
    if plain is None or isinstance(plain, str):
        return plain
    if isinstance(plain, bool):
        return str(plain).lower()
    try:
        return f"{plain:.15g}"
    except OverflowError:  # a whole number that no float can hold is itself only
        return str(plain)


def plain_cell(cell: Any) -> Any:
    """Return a cell as JSON has it, None where it is missing."""
    plain = plain_or_text(cell)
    missing = plain is None or plain != plain or plain in ("NaT", "<NA>", "nan")
    return None if missing else plain
