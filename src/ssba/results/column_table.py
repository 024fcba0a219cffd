"""The columns of an explainer as a table: what was decided about each, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from ssba.arguments import counted, listing
from ssba.columns.dates import step_words
from ssba.columns.layout import Layout
from ssba.json_form import JsonForm
from ssba.results import notebook, tables
from ssba.results.column import Column
from ssba.results.numbers import short_value
from ssba.results.words import cell, columns

_MOST_LEVELS = 6


@dataclass(frozen=True, repr=False)
class ColumnTable(JsonForm, Sequence[Column]):
    """What an explainer decided about its columns; printed, it is a table.

    Attributes
    ----------
    items : tuple of Column
        The columns in the model's order, each with its name, kind, range, step, levels, unit, scale, and
        `why` it is of this kind.
    layout : Layout or None
        The form of the user's rows.
    """

    items: tuple[Column, ...]
    layout: Layout | None = None

    derived: ClassVar[tuple[str, ...]] = ("sentence",)

    @overload
    def __getitem__(self, index: int | str) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> "ColumnTable": ...
    def __getitem__(self, index: int | str | slice) -> "Column | ColumnTable":
        """Return one column by its name or place, or several as a table again."""
        if isinstance(index, slice):
            return ColumnTable(self.items[index], self.layout)
        if isinstance(index, str):
            return {one.name: one for one in self.items}[index]
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.items)

    @property
    def sentence(self) -> str:
        """How many columns there are, and how many kinds the values decided."""
        by_values = sum(one.by_values for one in self.items)
        if not by_values:
            return f"{counted(len(self), 'column')}, of kinds that are declared or come from dtypes."
        return (
            f"{counted(len(self), 'column')}, {by_values} of them of a kind that comes from their values; "
            "Explainer(features={...}) takes other kinds."
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a frame, one row a column.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The frame library; by default that of the explainer's data.
        """
        return tables.to_frame([_row(one) for one in self.items], backend, self.layout)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{columns([_HEADS, *map(_line, self.items)])}"

    def _repr_html_(self) -> str:
        return notebook.framed(self.sentence, _HEADS, [_line(one) for one in self.items])


_HEADS = ("column", "kind", "range", "step", "levels", "scale", "why")


def _row(column: Column) -> dict[str, Any]:
    return {
        "column": column.name,
        "kind": column.kind,
        "range": _range(column),
        "step": column.step,
        "levels": listing(column.levels),
        "unit": column.unit,
        # A changed category counts 1, whatever the scale.
        "scale": None if column.feature.is_discrete else column.scale,
        "why": column.why,
    }


def _line(column: Column) -> tuple[str, ...]:
    cells = {**_row(column), "levels": listing(column.levels, _MOST_LEVELS)}
    step = "" if column.step is None else cell(column.step)
    if column.step is not None and column.kind == "date":
        step = step_words(column.step)
    unit = "days" if column.kind == "date" else None
    scale = "" if cells["scale"] is None else cell(short_value(column.scale), unit)
    return column.name, column.kind, cells["range"], step, cells["levels"], scale, column.why


def values_text(column: Column) -> str:
    """Write what a column holds: its range, or some of its levels."""
    return _range(column) or listing(column.levels, _MOST_LEVELS)


def _range(column: Column) -> str:
    low, high = column.range
    if low is None or high is None:
        return ""
    # Measurements have more digits than a table needs.
    shown = (short_value(low), short_value(high)) if column.feature.is_real else (low, high)
    return f"{cell(shown[0])} to {cell(shown[1], column.unit)}"
