"""What a cohort is exported as: a table, a page, and pictures."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssba.charts import distance_chart, distances_by_prediction, frequency_chart
from ssba.errors import ArgumentError
from ssba.extras import require
from ssba.results import Cohort, Explanations
from ssba.results.tables import own_name

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 50_000
"""Rows whose table is kept in memory for whoever wants to have it."""

FILE_NAMES = ("answers.csv", "answers.parquet", "report.html", "columns.svg", "distances.svg")


@dataclass(frozen=True)
class CohortFile:
    """A file to download, and its kind."""

    content: bytes
    media_type: str


class CohortFiles:
    """The exports of one cohort; they are made when it ends, so that its answers need not be kept.

    Parameters
    ----------
    answers : Explanations
        What came of each row.
    summary : Cohort
        What they say together.
    numbers
        Which row of the data each of them is.
    meanings
        What columns mean, for a person.
    page : str
        The report about them.
    """

    def __init__(
        self,
        answers: Explanations,
        summary: Cohort,
        numbers: Sequence[int],
        meanings: Mapping[str, str],
        page: str,
    ) -> None:
        self._page = page
        self._table = _table(answers, numbers) if 0 < len(answers) <= _MOST_ROWS else None
        self._pictures = {
            "columns.svg": _drawn(lambda: frequency_chart(summary, meanings=meanings).svg),
            "distances.svg": _drawn(lambda: distance_chart(distances_by_prediction(answers)).svg),
        }

    def get(self, name: str) -> CohortFile | None:
        """Return a file by its name; None where there is none of that name, or nothing to show in it."""
        if name == "report.html":
            return CohortFile(self._page.encode(), "text/html; charset=utf-8") if self._page else None
        if name in self._pictures:
            picture = self._pictures[name]
            return CohortFile(picture.encode(), "image/svg+xml") if picture else None
        if name in ("answers.csv", "answers.parquet"):
            return self._written(name)
        return None

    def _written(self, name: str) -> CohortFile:
        if self._table is None:
            raise ArgumentError(
                f"a table is kept of 1 to {_MOST_ROWS:,} rows; `ssba batch` writes larger ones to a file"
            )
        if name == "answers.csv":
            return CohortFile(self._table.to_csv(index=False).encode(), "text/csv; charset=utf-8")
        require("pyarrow", "arrow", "a Parquet file")
        written = io.BytesIO()
        self._table.to_parquet(written, index=False)
        return CohortFile(written.getvalue(), "application/vnd.apache.parquet")


def _table(answers: Explanations, numbers: Sequence[int]) -> "pd.DataFrame":
    """Return queries and answers as a frame in which rows have the numbers that the data gives them."""
    table: pd.DataFrame = answers.to_frame(only_changes=False, backend="pandas")
    query = own_name("query", list(answers[0].query))
    return table.assign(**{query: [numbers[place] for place in table[query]]})


def _drawn(draw: Callable[[], str]) -> str:
    try:
        return draw()
    except ArgumentError:
        # Where no answer was found there is nothing to draw.
        return ""
