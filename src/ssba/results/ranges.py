"""Ranges around an answer: intervals of values that reach the target together, rather than one row."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ssba.columns.dates import day_number
from ssba.json_form import JsonForm
from ssba.results.words import cell, columns, join


@dataclass(frozen=True)
class Interval:
    """The values that one changed column may take.

    Attributes
    ----------
    column : str
        The column.
    low, high
        The ends of the interval, both inside; equal where the column must have that very value.
    now, proposed
        The value in the query, and the one in the answer.
    low_is_limit, high_is_limit : bool
        Whether the interval ends there because the constraints, or the column's own range, do.
    unit : str or None
        The column's unit.
    """

    column: str
    low: Any
    high: Any
    now: Any
    proposed: Any
    low_is_limit: bool = False
    high_is_limit: bool = False
    unit: str | None = None

    derived: ClassVar[tuple[str, ...]] = ("text",)

    @property
    def text(self) -> str:
        """The interval in words; an end that is a limit anyway is left out.

        >>> Interval("chol", 186, 212, 240, 210, low_is_limit=True, unit="mg/dl").text
        'chol at most 212 mg/dl'
        >>> Interval("signed", "2022-11-01", "2022-12-08", "2023-01-31", "2022-12-01", low_is_limit=True).text
        'signed no later than 2022-12-08'
        """
        if self.low == self.high:
            return f"{self.column} {cell(self.low, self.unit)}"
        if self.low_is_limit and self.high_is_limit:
            return f"{self.column} any allowed value"
        is_date = isinstance(self.low, str) and day_number(self.low) is not None
        if self.low_is_limit:
            return f"{self.column} {'no later than' if is_date else 'at most'} {cell(self.high, self.unit)}"
        if self.high_is_limit:
            least = "no earlier than" if is_date else "at least"
            return f"{self.column} {least} {cell(self.low, self.unit)}"
        return f"{self.column} {cell(self.low)} to {cell(self.high, self.unit)}"


@dataclass(frozen=True)
class Ranges(JsonForm):
    """Intervals around an answer that hold together: rows with every cell in its interval reach the target.

    They were checked by drawing rows from them, evenly, and asking the model and every constraint about
    each; that is a sample and no proof. Columns that the answer does not change keep the query's values.

    Attributes
    ----------
    intervals : tuple of Interval
        One for every changed column.
    n_samples : int
        How many rows were drawn from the finished intervals.
    held : float
        The share of them that reached the target and met every constraint.
    target : str
        What is reached, in words.
    rows_used : int
        Model rows that finding and checking the intervals took.
    """

    intervals: tuple[Interval, ...]
    n_samples: int
    held: float
    target: str = ""
    rows_used: int = 0

    def __getitem__(self, column: str) -> Interval:
        """Return the interval of a column."""
        return {one.column: one for one in self.intervals}[column]

    @property
    def sentence(self) -> str:
        """The ranges in one plain sentence, with how far they were checked."""
        if not self.intervals:
            return f"Nothing changes, so that there are no ranges toward {self.target}."
        held, intervals = round(self.held * self.n_samples), join(one.text for one in self.intervals)
        return (
            f"Rows with {intervals} reach {self.target}, the rest being as it is: "
            f"{held:,} of {self.n_samples:,} rows drawn from these ranges do."
        )

    def __repr__(self) -> str:
        if not self.intervals:
            return self.sentence
        lines = [("column", "now", "proposed", "range")]
        for one in self.intervals:
            now, proposed = cell(one.now, one.unit), cell(one.proposed, one.unit)
            lines.append((one.column, now, proposed, one.text.removeprefix(f"{one.column} ")))
        return f"{self.sentence}\n\n{columns(lines)}"
