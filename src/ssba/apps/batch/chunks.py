"""Where the rows of a batch come from: a CSV or Parquet file, or the project's own data, chunk by chunk."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ssba.apps.cells import read_cell
from ssba.apps.csv_files import not_utf8, open_csv, wrong_header
from ssba.apps.loading import by_ending
from ssba.errors import ArgumentError, SchemaError
from ssba.run.chunks import Chunk, KnownSource, ParquetSource, Wanted, file_digest, ids_of
from ssba.run.digests import digest

if TYPE_CHECKING:
    import pandas as pd


def open_source(file: Path, wanted: Wanted) -> KnownSource:
    """Open a file of rows; what it is is told by the end of its name."""
    kinds: dict[str, Callable[[Path, Wanted], KnownSource]] = {
        ".csv": CsvSource,
        ".csv.gz": CsvSource,
        ".parquet": ParquetSource,
    }
    open_it = by_ending(file, kinds)
    if not file.is_file():
        raise ArgumentError(f"{file}: there is no such file")
    return open_it(file, wanted)


@dataclass(frozen=True)
class TableSource:
    """Some rows of a project's own table."""

    table: "pd.DataFrame"
    numbers: Sequence[int]
    wanted: Wanted

    def digest(self) -> str:
        """Return a digest of the numbers; the table itself is the project's."""
        return digest(list(self.numbers))

    def count(self) -> int:
        return len(self.numbers)

    def chunks(self, size: int) -> Iterator[Chunk]:
        names = [one.name for one in self.wanted.columns]
        for place, first in enumerate(range(0, len(self.numbers), size)):
            numbers = list(self.numbers[first : first + size])
            part = self.table.iloc[numbers].reset_index(drop=True)
            yield Chunk(place, numbers, ids_of(part, self.wanted.id), part[names])


@dataclass(frozen=True)
class CsvSource:
    """The rows of a CSV file, each cell read as its column in the project has it.

    So a column is what it is in the project's data, whatever the chunk at hand would suggest: whole numbers
    in a column of fractions, codes such as 007 in a column of text.
    """

    file: Path
    wanted: Wanted

    def __post_init__(self) -> None:
        with open_csv(self.file) as lines:
            self.wanted.require(self._header(self._rows(lines)), self.file.name)

    def digest(self) -> str:
        return file_digest(self.file)

    def count(self) -> int:
        with open_csv(self.file) as lines:
            return sum(1 for _ in self._rows(lines)) - 1

    def chunks(self, size: int) -> Iterator[Chunk]:
        with open_csv(self.file) as lines:
            rows = self._rows(lines)
            header = self._header(rows)
            first = place = 0
            while some := list(islice(rows, size)):
                numbers = range(first, first := first + len(some))
                chunk = self._chunk(place, numbers, header, [cells for _, cells in some])
                yield replace(chunk, lines=[line for line, _ in some])
                place += 1

    def _chunk(self, place: int, numbers: range, header: list[str], cells: list[list[str]]) -> Chunk:
        import pandas as pd

        unreadable: dict[int, str] = {}
        read: list[dict[str, Any]] = []
        ids: list[str | None] = []
        for number, row in zip(numbers, _with_gaps(cells), strict=True):
            named = dict(zip(header, row, strict=False))
            ids.append(named.get(self.wanted.id or "") if len(row) == len(header) else None)
            try:
                read.append(self._row(named, len(row), len(header)))
            except ArgumentError as error:
                unreadable[number] = str(error)
        names = [one.name for one in self.wanted.columns]
        columns = {name: [row[name] for row in read] for name in names}
        return Chunk(place, numbers, ids, pd.DataFrame(columns), unreadable)

    def _row(self, cells: Mapping[str, str | None], count: int, wanted: int) -> dict[str, Any]:
        if count != wanted:
            raise ArgumentError(f"it has {count} cells, where the header names {wanted} columns")
        texts = ((one, cells[one.name]) for one in self.wanted.columns)
        return {one.name: None if text is None else read_cell(one, text) for one, text in texts}

    def _rows(self, lines: IO[str]) -> Iterator[tuple[int, list[str]]]:
        """Read header and rows, each with the line on which it begins; blank lines are none."""
        reader, line = csv.reader(lines), 1
        try:
            for row in reader:
                if row:
                    yield line, row
                line = reader.line_num + 1
        except UnicodeDecodeError:
            raise SchemaError(f"{self.file}: {not_utf8(self.file)}") from None
        except (csv.Error, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise SchemaError(f"{self.file}, after line {reader.line_num}: {error}") from None

    def _header(self, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
        _, header = next(rows, (1, []))
        if not header:
            raise SchemaError(f"{self.file} holds no header")
        if problem := wrong_header(header):
            raise SchemaError(f"{self.file}: {problem}")
        return header


def _with_gaps(cells: Sequence[Sequence[str]]) -> Iterator[list[str | None]]:
    """Put None for what pandas takes for missing in a CSV file, as the project's own data were read."""
    import pandas as pd

    distinct = sorted({text for row in cells for text in row})
    page = StringIO()
    csv.writer(page, quoting=csv.QUOTE_ALL).writerows([one] for one in ["text", *distinct])
    page.seek(0)
    told = pd.read_csv(page, dtype=str, skip_blank_lines=False)["text"]
    gaps = {text for text, missing in zip(distinct, told.isna(), strict=True) if missing}
    return ([None if text in gaps else text for text in row] for row in cells)
