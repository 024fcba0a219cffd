"""The finished chunks of a batch, kept beside its output until all of them are there.

Every file is written under another name first and then renamed, so that whatever is there is whole: a run
that was killed at any moment is resumed by the next one.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssba.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

_MANIFEST = "manifest.json"
_FORMAT = 1
_ROW_GROUP = 50_000
"""Rows of the output that are written together."""


@dataclass(frozen=True)
class Parts:
    """The folder of finished chunks of one output."""

    out: Path

    @property
    def folder(self) -> Path:
        """Where the chunks are."""
        return self.out.with_name(f"{self.out.name}.parts")

    def begin(self, digests: dict[str, str], force: bool) -> set[int]:
        """Make the folder, or go on with it; return the places of the chunks that are finished.

        `digests` tell what is asked of what. A folder that is about something else is refused, unless by
        `force` it is begun anew.
        """
        if force:
            shutil.rmtree(self.folder, ignore_errors=True)
        if not self.folder.exists():
            if self.out.exists() and not force:
                raise ArgumentError(
                    f"{self.out} is there already; choose another name, or add --force to overwrite it"
                )
            self.folder.mkdir()
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            self._refuse_another(digests)
        else:
            _write_whole(manifest, json.dumps({"format": _FORMAT, **digests}, indent=2).encode())
        return {int(one.stem.removeprefix("part-")) for one in self._files() if _is_whole(one)}

    def add(self, place: int, table: "pa.Table") -> None:
        """Keep a finished chunk."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        _write_whole(self.folder / f"part-{place:08d}.parquet", sink.getvalue())

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
        shutil.rmtree(self.folder)
        return counts

    def _groups(self) -> Iterator["pa.Table"]:
        """Read the chunks in order, some together: a file of many small row groups is slow to read."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        held: list[pa.Table] = []
        for file in self._files():
            held.append(pq.read_table(file))
            if sum(map(len, held)) >= _ROW_GROUP:
                yield pa.concat_tables(held)
                held = []
        if held:
            yield pa.concat_tables(held)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _refuse_another(self, digests: dict[str, str]) -> None:
        try:
            known = json.loads((self.folder / _MANIFEST).read_text(encoding="utf-8"))
        except ValueError:
            known = {}
        if not isinstance(known, dict) or known.get("format") != _FORMAT:
            raise ArgumentError(
                f"{self.folder} was not made by this version of ssba; add --force to begin anew"
            )
        if other := [name for name, digest in digests.items() if known.get(name) != digest]:
            raise ArgumentError(
                f"{self.folder} holds a batch that was begun with another {' and another '.join(other)}; "
                "repeat that call to go on with it, choose another --out, or add --force to begin anew"
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


def _is_whole(file: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_metadata(file)
    except (pa.ArrowInvalid, OSError):
        return False
    return True
