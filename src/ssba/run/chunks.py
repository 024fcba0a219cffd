"""Rows in chunks of a fixed size, from a Parquet file or a Ray Dataset.

How rows are cut depends on the size alone, never on who works on them, so that a chunk means the same to all.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ssba.arguments import closest
from ssba.errors import SchemaError
from ssba.extras import require
from ssba.results import Column
from ssba.results.words import cell
from ssba.run.digests import digest, frame_digest

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
    lines
        The lines of the file on which its rows begin; empty where the input has no lines.
    digest
        What tells its rows from others; empty where a digest of the whole input does so.
    """

    place: int
    numbers: Sequence[int]
    ids: Sequence[str | None]
    rows: "pd.DataFrame"
    unreadable: Mapping[int, str] = field(default_factory=dict)
    lines: Sequence[int] = ()
    digest: str = ""

    @property
    def names(self) -> dict[int, str]:
        """What messages call its rows, by number."""
        if not self.lines:
            return {number: f"row {number}" for number in self.numbers}
        places = zip(self.numbers, self.lines, strict=True)
        return {number: f"row {number} (line {line})" for number, line in places}


@dataclass(frozen=True)
class Wanted:
    """What is read of each row: the model's columns, and the one that names rows."""

    columns: Sequence[Column]
    id: str | None

    @property
    def names(self) -> list[str]:
        """The names of the model's columns."""
        return [one.name for one in self.columns]

    def require(self, names: Sequence[str], source: str) -> None:
        """Refuse an input that lacks a column of the model, or has one twice."""
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise SchemaError(f"{source}: two columns are called {twice!r}; rename or remove one of them")
        if missing := [one.name for one in self.columns if one.name not in names]:
            listed = ", ".join(map(repr, missing))
            one = len(missing) == 1
            what = f"column {listed} is" if one else f"columns {listed} are"
            hint = _meant_to_be(missing, [name for name in names if name not in self.names])
            raise SchemaError(f"{source}: {what} missing; the model takes {'it' if one else 'them'}{hint}")


def _meant_to_be(missing: Sequence[str], others: Sequence[str]) -> str:
    """Name the column that seems to stand for one that is missing; nothing where none is alike."""
    alike = ((name, closest(name, others)) for name in missing)
    return next((f"; is {near!r} meant to be {name!r}?" for name, near in alike if near is not None), "")


class Source(Protocol):
    """An input that can be read more than once, always in the same order."""

    def count(self) -> int | None:
        """Return how many rows there are; None where that is not known beforehand."""
        ...

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read the rows, some at a time."""
        ...


class KnownSource(Source, Protocol):
    """An input that can be told from any other before it is read."""

    def digest(self) -> str:
        """Return what tells this input from any other."""
        ...

    def count(self) -> int:
        """Return how many rows there are."""
        ...


@dataclass(frozen=True)
class ParquetSource:
    """The rows of a Parquet file."""

    file: Path
    wanted: Wanted

    def __post_init__(self) -> None:
        require("pyarrow", "arrow", "reading a Parquet file")
        self.wanted.require(self.names, self.file.name)

    @property
    def names(self) -> list[str]:
        """The names of the file's columns."""
        return list(self._open().schema_arrow.names)

    def digest(self) -> str:
        return file_digest(self.file)

    def count(self) -> int:
        return int(self._open().metadata.num_rows)

    def chunks(self, size: int) -> Iterator[Chunk]:
        opened = self._open()
        names = self.wanted.names
        beside = [name for name in opened.schema_arrow.names if name == self.wanted.id]
        first = 0
        for place, frame in enumerate(self._frames(opened, size, [*names, *beside])):
            numbers = range(first, first := first + len(frame))
            yield Chunk(place, numbers, ids_of(frame, self.wanted.id), frame[names])

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
class DatasetSource:
    """The rows of a Ray Dataset, in its own order; the cluster works on it while it is read."""

    dataset: Any
    wanted: Wanted

    def __post_init__(self) -> None:
        self.wanted.require(list(self.dataset.schema().names), "the Ray Dataset")

    def count(self) -> None:
        """Return None: to count the rows of a Dataset may be as much work as to make them."""

    def chunks(self, size: int) -> Iterator[Chunk]:
        beside = [name for name in self.dataset.schema().names if name == self.wanted.id]
        names, first = self.wanted.names, 0
        with self._in_order():
            batches = self.dataset.iter_batches(batch_size=size, batch_format="pandas")
            for place, batch in enumerate(batches):
                frame = batch[list(dict.fromkeys([*names, *beside]))].reset_index(drop=True)
                numbers = range(first, first := first + len(frame))
                yield Chunk(place, numbers, ids_of(frame, self.wanted.id), frame[names])

    @contextmanager
    def _in_order(self) -> Iterator[None]:
        """Have blocks come in their order, where Ray gives them as they get finished by default."""
        options = self.dataset.context.execution_options
        before, options.preserve_order = options.preserve_order, True
        try:
            yield
        finally:
            options.preserve_order = before


def with_digest(chunk: Chunk) -> Chunk:
    """Return a chunk that says which rows it is of, and what they are called."""
    return replace(chunk, digest=digest((frame_digest(chunk.rows), list(chunk.ids))))


def ids_of(frame: "pd.DataFrame", name: str | None) -> list[str | None]:
    """Return what names the rows, as text."""
    if name is None or name not in frame.columns:
        return [None] * len(frame)
    missing = frame[name].isna()
    return [None if gap else cell(one) for one, gap in zip(frame[name].tolist(), missing, strict=True)]


def file_digest(file: Path) -> str:
    """Return the sha256 of a file."""
    found = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
