"""The folder of a boundary index: every call to the file system, and what is said when one fails."""

import errno
import mmap
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from ssba.errors import BoundaryFileError
from ssba.index.files.manifest import (
    Manifest,
    NewerManifest,
    UnreadableManifest,
    manifest_bytes,
    read_manifest,
)

_MANIFEST = re.compile(r"manifest-(0|[1-9][0-9]{0,17})\.json")
_TEMPORARY = re.compile(r"temp-[0-9a-f]{16}")
_SHARD = re.compile(r"[0-9a-f]{64}\.npy")
SHARDS = "shards"
# Someone always wins the race for a number, so a writer that never does has a file system that lies.
MOST_TRIES = 10_000


class Disk:
    """The calls to the file system that an index makes; tests replace it by one that fails."""

    def list_names(self, folder: Path) -> list[str]:
        return os.listdir(folder)

    def make_folder(self, folder: Path) -> None:
        os.mkdir(folder)

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def digest(self, path: Path) -> str:
        # read in small pieces: pages of a memory map would count as memory of this process
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    def map(self, path: Path) -> bytes | mmap.mmap:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            if sys.version_info >= (3, 13):
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def age(self, path: Path) -> float:
        return time.time() - path.stat().st_mtime

    def create(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)

    def write(self, descriptor: int, data: memoryview) -> int:
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def link(self, path: Path, name: Path) -> None:
        os.link(path, name)

    def replace(self, path: Path, name: Path) -> None:
        os.replace(path, name)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def sync_folder(self, folder: Path) -> None:
        if os.name == "nt":  # Windows cannot sync a folder, and keeps names safe by itself
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_INTACT = "what was published before is intact"
_REMEDIES = {
    errno.ENOSPC: f"make room on that disk and run again; {_INTACT}",
    errno.EDQUOT: f"make room within your quota and run again; {_INTACT}",
    errno.EIO: f"the disk reports a fault, so check it first; {_INTACT}",
    errno.EACCES: "check that you may read and write there",
    errno.EROFS: "the disk is read-only; copy the index to another one to add to it",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENOENT: "check the path",
    errno.EPERM: "check that you may write there, and that the file system knows hard links",
    errno.ENOTSUP: "the file system must know hard links; choose another disk",
}


@contextmanager
def telling(operation: str, path: Path, remedy: str | None = None) -> Iterator[None]:
    """Turn an error of the operating system into one that names path, operation, reason and remedy."""
    try:
        yield
    except OSError as error:
        advice = remedy or _REMEDIES.get(error.errno or 0, _INTACT)
        raise BoundaryFileError(f"cannot {operation} {path}: {error.strerror or error}; {advice}") from error


@dataclass(frozen=True)
class Folder:
    """The files of one index: numbered manifests, and shards in a folder of their own."""

    path: Path
    disk: Disk

    @property
    def shards(self) -> Path:
        """Where the shards lie."""
        return self.path / SHARDS

    def manifest_path(self, number: int) -> Path:
        return self.path / f"manifest-{number}.json"

    def names(self, folder: Path) -> list[str]:
        with telling("list", folder):
            return self.disk.list_names(folder)

    def numbers(self) -> list[int]:
        """The numbers of all manifests, highest first, or an error if there is none."""
        with telling("list", self.path, remedy="check the path; a boundary index is a folder"):
            names = self.disk.list_names(self.path)
        found = [int(match[1]) for name in names if (match := _MANIFEST.fullmatch(name))]
        if not found:
            raise BoundaryFileError(
                f"cannot open {self.path}: the folder holds no boundary index; check the path, or make one "
                "with sample_boundary(n_pairs, path=...)"
            )
        return sorted(found, reverse=True)

    def manifest(self, number: int) -> Manifest:
        """Read one manifest; UnreadableManifest if it does not verify."""
        path = self.manifest_path(number)
        with telling("read", path):
            raw = self.disk.read(path)
        try:
            return read_manifest(raw, number)
        except NewerManifest as newer:
            raise BoundaryFileError(f"cannot read {path}: {newer}; update ssba") from newer

    def latest(self) -> Manifest:
        """The manifest of the highest number. It must verify: the one before may lack published shards."""
        number, tried = self.numbers()[0], -1
        while True:
            try:
                return self.manifest(number)
            except UnreadableManifest as damage:
                # `repair` empties manifests that are long out of date: then there is a higher one by now
                number, tried = self.numbers()[0], number
                if number == tried:
                    raise BoundaryFileError(
                        f"cannot read {self.manifest_path(number)}: it is damaged ({damage}); "
                        f"`ssba boundary repair {self.path}` goes back to the manifest before it"
                    ) from damage

    def publish(self, manifest: Manifest) -> bool:
        """Make a manifest the latest, unless its number is taken; it then is on disk, whatever happens."""
        raw = manifest_bytes(manifest)
        read_manifest(raw, manifest.number)  # never publish what a reader would refuse
        path = self.manifest_path(manifest.number)
        with self.temporary(self.path, [memoryview(raw)]) as temporary, telling("link", path):
            try:
                self.disk.link(temporary, path)
            except FileExistsError:
                return False
        unsure = "it is in place and complete, yet the disk did not confirm that it survives a power cut"
        with telling("fsync the folder of", path, remedy=unsure):
            self.disk.sync_folder(self.path)
        return True

    @contextmanager
    def temporary(self, folder: Path, parts: Sequence[memoryview]) -> Iterator[Path]:
        """Write a file under a name of its own, all of it on disk; the name is gone afterwards."""
        path = folder / f"temp-{secrets.token_hex(8)}"
        try:
            self._write(path, parts)
            yield path
        finally:
            with suppress(OSError):  # gone already, or left for `repair`: either way nothing depends on it
                self.disk.remove(path)

    def _write(self, path: Path, parts: Sequence[memoryview]) -> None:
        with telling("create", path):
            descriptor = self.disk.create(path)
        try:
            for part in parts:
                while part:
                    with telling("write", path):
                        part = part[self.disk.write(descriptor, part) :]
            with telling("fsync", path):
                self.disk.sync(descriptor)
        finally:
            with telling("close", path):
                self.disk.close(descriptor)


def no_number_left(path: Path) -> BoundaryFileError:
    """What to raise after so many tries to publish a manifest."""
    return BoundaryFileError(
        f"cannot link a manifest in {path}: {MOST_TRIES:,} numbers in a row were taken; "
        "the file system does not show names that exist, so choose another disk"
    )


def is_temporary(name: str) -> bool:
    """Whether a file was on its way to another name when its writer stopped, or still is."""
    return _TEMPORARY.fullmatch(name) is not None


def is_shard(name: str) -> bool:
    """Whether a file has the name of a shard."""
    return _SHARD.fullmatch(name) is not None
