"""The finished chunks of a batch, kept beside its output until all of them are there.

Every file is written under another name first and then renamed, so that whatever is there is whole: a run
that was killed at any moment is resumed by the next one. Its name holds a digest of its bytes, so that one
that the disk has damaged is worked on again. Each chunk says which batch it belongs to, and the folder gets
another name before it is emptied, so that no chunk is ever taken into another batch.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssba.errors import ArgumentError
from ssba.run.digests import digest, digest_of_bytes

if TYPE_CHECKING:
    import pyarrow as pa

_MANIFEST = "manifest.json"
_FILES = "part-*.parquet"
_FORMAT = 2
_BATCH, _INPUT = b"ssba.batch", b"ssba.input"
"""Under which names a chunk says to which batch it belongs, and of which rows it was made."""
_ROW_GROUP = 50_000
"""Rows of the output that are written together."""


@dataclass(frozen=True)
class Words:
    """What errors call the choices of whoever started a run: arguments in Python, options in a terminal.

    `out` names the output, `force` is how to begin anew, `on_error` how to go on without a bad row.
    """

    out: str
    force: str
    on_error: str


IN_PYTHON = Words("out", "give ssba.run.Output(out, force=True)", 'give ssba.run.Output(out, on_error="row")')
IN_TERMINAL = Words("--out", "add --force", "add --on-error row")


@dataclass(frozen=True)
class Parts:
    """The folder of finished chunks of one output.

    `about` are digests of what is asked of what; `words` are what errors call the user's choices.
    """

    out: Path
    about: Mapping[str, str]
    words: Words = IN_PYTHON

    @property
    def folder(self) -> Path:
        """Where the chunks are."""
        return self.out.with_name(f"{self.out.name}.parts")

    def begin(self, force: bool) -> dict[int, str]:
        """Make the folder, or go on with it; return the places of the chunks that are finished.

        With each comes what `add` was told about the rows that it was made of.

        A folder with chunks of something else is refused, unless by `force` it is begun anew. One without
        chunks is of no account, whatever it was begun for.
        """
        self._discard(self.folder if force else None)
        if any(self.folder.glob(_FILES)):
            self._refuse_another()
        else:
            self._begin_anew(force)
        return {place: one.rows for place, one in self._own_files().items()}

    def add(self, place: int, table: "pa.Table", rows: str = "") -> None:
        """Keep a finished chunk; `rows` is a digest of the input's rows that it was made of."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        said = {_BATCH: self._name(), _INPUT: rows.encode()}
        pq.write_table(table.replace_schema_metadata(said), sink)
        content = sink.getvalue()
        _write_whole(self.folder / f"part-{place:08d}-{digest_of_bytes(content)}.parquet", content)

    def finish(self, schema: "pa.Schema", status: str) -> Counter[str]:
        """Make the output of all chunks, remove them, and return how many rows have which status."""
        import pyarrow.parquet as pq

        unfinished = self.out.with_name(f".{self.out.name}.unfinished")
        counts: Counter[str] = Counter()
        try:
            with pq.ParquetWriter(unfinished, schema) as writer:
                for group in self._groups():
                    writer.write_table(group)
                    counts.update(_statuses(group, schema.names[0], status))
            unfinished.replace(self.out)
        finally:
            unfinished.unlink(missing_ok=True)
        self._discard(self.folder)
        return counts

    def _discard(self, folder: Path | None) -> None:
        """Remove a folder, and what a run left that was stopped while it removed one.

        The folder loses its name first: one that is half removed would look like one that was begun.
        """
        removed = self.out.with_name(f".{self.out.name}.parts.removed")
        shutil.rmtree(removed, ignore_errors=True)
        if folder is not None and folder.exists():
            folder.replace(removed)
            shutil.rmtree(removed)

    def _groups(self) -> Iterator["pa.Table"]:
        """Read the chunks in order, some together: a file of many small row groups is slow to read."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        held: list[pa.Table] = []
        for _, one in sorted(self._own_files().items()):
            held.append(pq.read_table(one.file).replace_schema_metadata(None))
            if sum(map(len, held)) >= _ROW_GROUP:
                yield pa.concat_tables(held)
                held = []
        if held:
            yield pa.concat_tables(held)

    def _own_files(self) -> dict[int, "_Part"]:
        """Return the chunks that are whole and belong to this batch, by their places."""
        name, found = self._name(), dict[int, _Part]()
        for file in sorted(self.folder.glob(_FILES)):
            part = _read(file)
            if part is not None and part.batch == name:
                found.setdefault(int(file.stem.split("-")[1]), part)
        return found

    def _name(self) -> bytes:
        return digest(sorted(self.about.items())).encode()

    def _begin_anew(self, force: bool) -> None:
        if self.out.exists() and not force:
            raise ArgumentError(
                f"{self.out} is there already; choose another name, or {self.words.force} to overwrite it"
            )
        self.folder.mkdir(exist_ok=True)
        about = {"format": _FORMAT, **self.about}
        _write_whole(self.folder / _MANIFEST, json.dumps(about, indent=2).encode())

    def _refuse_another(self) -> None:
        manifest = self.folder / _MANIFEST
        if not manifest.exists():
            raise ArgumentError(
                f"{self.folder} holds chunks, and no {_MANIFEST} that says what they are about; "
                f"choose another {self.words.out}, or {self.words.force} to begin anew"
            )
        try:
            known = json.loads(manifest.read_text(encoding="utf-8"))
        except ValueError:
            known = {}
        if not isinstance(known, dict) or known.get("format") != _FORMAT:
            raise ArgumentError(
                f"{self.folder} was not made by this version of ssba; {self.words.force} to begin anew"
            )
        if other := [name for name, digest in self.about.items() if known.get(name) != digest]:
            raise ArgumentError(
                f"{self.folder} holds a batch that was begun with another {' and another '.join(other)}; "
                f"repeat that call to go on with it, choose another {self.words.out}, or "
                f"{self.words.force} to begin anew"
            )


def _statuses(group: "pa.Table", row: str, status: str) -> Counter[str]:
    """Count each query of a table once, whose answers stand below each other."""
    queries = dict(zip(group[row].to_pylist(), group[status].to_pylist(), strict=True))
    return Counter(queries.values())


def _write_whole(file: Path, content: bytes) -> None:
    """Write a file so that it is there whole, or not at all, also if the machine stops."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    with unfinished.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    unfinished.replace(file)


@dataclass(frozen=True)
class _Part:
    """A chunk on disk, the batch that it belongs to, and the digest of the rows that it was made of."""

    file: Path
    batch: bytes | None
    rows: str


def _read(file: Path) -> _Part | None:
    """Return what a chunk says about itself; None where it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = file.read_bytes()
        if file.stem.split("-")[2:] != [digest_of_bytes(content)]:
            return None
        said = pq.read_schema(pa.BufferReader(content)).metadata or {}
    except (pa.ArrowInvalid, OSError):
        return None
    return _Part(file, said.get(_BATCH), said.get(_INPUT, b"").decode())
