"""Where the rows of a batch come from: a CSV or Parquet file, or the project's own data, chunk by chunk."""

import csv
import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ssba.apps.cells import read_cell
from ssba.apps.loading import by_ending
from ssba.errors import ArgumentError, SchemaError
from ssba.extras import require
from ssba.results import Column
from ssba.results.text import cell

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """Some rows that are explained together.

    Attributes
    ----------
    place
        Its place among the chunks, counted from 0.
    numbers
        The numbers of its rows in the input, counted from 0.
    ids
        What names them; None where the input does not say.
    rows
        Those that could be read, with the model's columns; their index counts from 0.
    unreadable
        Why others could not, by number.
    """

    place: int
    numbers: Sequence[int]
    ids: Sequence[str | None]
    rows: "pd.DataFrame"
    unreadable: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """What is read of each row: the model's columns, and the one that names rows."""

    columns: Sequence[Column]
    id: str | None

    def require(self, names: Sequence[str], source: str) -> None:
        """Refuse an input that lacks a column of the model, or has one twice."""
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise SchemaError(f"{source}: two columns are called {twice!r}; rename or remove one of them")
        if missing := [one.name for one in self.columns if one.name not in names]:
            listed = ", ".join(map(repr, missing))
            what = f"column {listed} is" if len(missing) == 1 else f"columns {listed} are"
            raise SchemaError(f"{source}: {what} missing; the model takes them")


class Source(Protocol):
    """An input that can be read more than once, always in the same order."""

    def digest(self) -> str:
        """Return what tells this input from any other."""

    def count(self) -> int:
        """Return how many rows there are."""

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read the rows, some at a time."""


def open_source(file: Path, wanted: Wanted) -> Source:
    """Open a file of rows; what it is is told by the end of its name."""
    kinds: dict[str, Callable[[Path, Wanted], Source]] = {
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
        return hashlib.sha256(repr(list(self.numbers)).encode()).hexdigest()

    def count(self) -> int:
        return len(self.numbers)

    def chunks(self, size: int) -> Iterator[Chunk]:
        names = [one.name for one in self.wanted.columns]
        for place, first in enumerate(range(0, len(self.numbers), size)):
            numbers = list(self.numbers[first : first + size])
            part = self.table.iloc[numbers].reset_index(drop=True)
            yield Chunk(place, numbers, _ids(part, self.wanted.id), part[names])


@dataclass(frozen=True)
class ParquetSource:
    """The rows of a Parquet file."""

    file: Path
    wanted: Wanted

    def __post_init__(self) -> None:
        require("pyarrow", "arrow", "reading a Parquet file")
        self.wanted.require(self._open().schema_arrow.names, self.file.name)

    def digest(self) -> str:
        return _digest(self.file)

    def count(self) -> int:
        return int(self._open().metadata.num_rows)

    def chunks(self, size: int) -> Iterator[Chunk]:
        opened = self._open()
        names = [one.name for one in self.wanted.columns]
        beside = [name for name in opened.schema_arrow.names if name == self.wanted.id]
        first = 0
        for place, frame in enumerate(self._frames(opened, size, [*names, *beside])):
            numbers = range(first, first := first + len(frame))
            yield Chunk(place, numbers, _ids(frame, self.wanted.id), frame[names])

    def _frames(self, opened: Any, size: int, names: Sequence[str]) -> Iterator["pd.DataFrame"]:
        with self._whole():
            for batch in opened.iter_batches(size, columns=names):
                yield batch.to_pandas().reset_index(drop=True)

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        with self._whole():
            return pq.ParquetFile(self.file)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Refuse a file that cannot be read as its format says."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, ValueError, OSError) as error:
            # Damage is an OSError, too, but one that the system has no number for.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise SchemaError(f"{self.file}: this is not a Parquet file, or a damaged one") from None


@dataclass(frozen=True)
class CsvSource:
    """The rows of a CSV file, each cell read as its column in the project has it.

    So a column is what it is in the project's data, whatever the chunk at hand would suggest: whole numbers
    in a column of fractions, codes such as 007 in a column of text.
    """

    file: Path
    wanted: Wanted

    def __post_init__(self) -> None:
        with self._open() as lines:
            self.wanted.require(self._header(self._rows(lines)), self.file.name)

    def digest(self) -> str:
        return _digest(self.file)

    def count(self) -> int:
        with self._open() as lines:
            return sum(1 for _ in self._rows(lines)) - 1

    def chunks(self, size: int) -> Iterator[Chunk]:
        with self._open() as lines:
            rows = self._rows(lines)
            header = next(rows)
            first = place = 0
            while cells := list(islice(rows, size)):
                yield self._chunk(place, range(first, first + len(cells)), header, cells)
                first, place = first + len(cells), place + 1

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

    def _open(self) -> IO[str]:
        # A byte order mark, as Excel writes it, belongs to no name.
        if self.file.name.lower().endswith(".gz"):
            return gzip.open(self.file, "rt", encoding="utf-8-sig", newline="")
        return self.file.open(encoding="utf-8-sig", newline="")

    def _rows(self, lines: IO[str]) -> Iterator[list[str]]:
        """Read header and rows; blank lines are none."""
        reader = csv.reader(lines)
        try:
            yield from (row for row in reader if row)
        except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise SchemaError(f"{self.file}, after line {reader.line_num}: {error}") from None

    def _header(self, rows: Iterator[list[str]]) -> list[str]:
        header = next(rows, None)
        if not header:
            raise SchemaError(f"{self.file} holds no header")
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


def _ids(frame: "pd.DataFrame", name: str | None) -> list[str | None]:
    """Return what names the rows, as text."""
    if name is None or name not in frame.columns:
        return [None] * len(frame)
    missing = frame[name].isna()
    return [None if gap else cell(one) for one, gap in zip(frame[name].tolist(), missing, strict=True)]


def _digest(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
