"""Boundary indexes on disk: immutable shards of points, and numbered manifests published atomically.

Any number of processes may read and append at once, and any of them may die at any moment: a reader
sees the index as it was before an append or after it, and no published shard is ever lost. The format
and the reason for each of its rules are in docs/boundary-format.md.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.errors import ArgumentError, BoundaryFileError
from ssba.index.files.disk import MOST_TRIES, SHARDS, Disk, Folder, is_temporary, no_number_left, telling
from ssba.index.files.manifest import (
    FORMAT,
    Fact,
    Identity,
    Manifest,
    Shard,
    UnreadableManifest,
    checked_facts,
)
from ssba.index.files.repair import Repaired, repair
from ssba.index.files.shards import DamagedShard, map_shard, write_shard

__all__ = ["FORMAT", "Disk", "Identity", "Manifest", "Repaired", "Shard", "Store"]


class Store:
    """A boundary index in a folder. Made by `Store.create` or `Store.open`.

    >>> import tempfile
    >>> import numpy as np
    >>> about = Identity("5e", ("age", "chol"), ("integer", "numeric"), "SVC", "a1", "'healthy'")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.create(folder + "/heart.boundary", about)
    ...     manifest = store.append(np.array([[50.0, 210.5], [61.0, 180.0]]), {"from": 0, "to": 2})
    ...     again = Store.open(folder + "/heart.boundary")
    ...     again.latest().rows, again.read(again.latest().shards[0])[1].tolist()
    (2, [61.0, 180.0])
    """

    def __init__(self, path: str | os.PathLike[str], identity: Identity, disk: Disk) -> None:
        self.path = Path(path)
        self.identity = identity
        self._folder = Folder(self.path, disk)
        self._verified: set[str] = set()

    @classmethod
    def create(cls, path: str | os.PathLike[str], identity: Identity, disk: Disk | None = None) -> "Store":
        """Make an empty index; one of equal identity that is there already is opened instead."""
        folder = Folder(Path(path), disk or Disk())
        _make_folder(folder, folder.path)
        if _holds_nothing(folder):
            _make_folder(folder, folder.shards)
            if _published(folder, Manifest(0, identity, ())):
                return cls(path, identity, folder.disk)
        store = cls.open(path, disk)
        different = store.identity.differences(identity)
        if different:
            raise BoundaryFileError(
                f"cannot add to {store.path}: the boundary index there is about something else: "
                f"{'; '.join(different)}; give another path, or the model and data it was made with"
            )
        return store

    @classmethod
    def open(cls, path: str | os.PathLike[str], disk: Disk | None = None) -> "Store":
        """Open an index. No shard is looked at, so this takes as long for many points as for few."""
        folder = Folder(Path(path), disk or Disk())
        return cls(path, folder.latest().identity, folder.disk)

    @staticmethod
    def repair(
        path: str | os.PathLike[str], older_than: float = 3600.0, disk: Disk | None = None
    ) -> Repaired:
        """Drop what is damaged and remove what is left over, and say what was done; see `Repaired`."""
        return repair(Folder(Path(path), disk or Disk()), older_than)

    def latest(self) -> Manifest:
        """The index as it is now: its highest manifest. An error if that is damaged."""
        return self._folder.latest()

    def publish(self, change: Callable[[Manifest], Manifest | None]) -> Manifest | None:
        """Publish what `change` makes of the latest manifest; where another writer was faster, ask it again.

        The number is set here. `change` may return None to give up, or an equal manifest if nothing
        needs to be changed; then nothing is published.
        """
        for _ in range(MOST_TRIES):
            now = self.latest()
            wanted = change(now)
            if wanted is None:
                return None
            following = replace(wanted, number=now.number + 1)
            if replace(following, number=now.number) == now:
                return now
            self._check_written(following, now)
            if _published(self._folder, following):
                self.identity = following.identity
                return following
        raise no_number_left(self.path)

    def append(
        self,
        points: Any,
        about: Mapping[str, Fact],
        unless: Callable[[Manifest], bool] | None = None,
    ) -> Manifest | None:
        """Write points [n, d] as a shard and publish it; None where `unless(latest)` says it is not wanted.

        Equal points with equal facts are there once, however often they are appended. An index that
        has become one of another model or schema since it was opened takes no points.
        """
        shard = self.write(points, about)

        def added(now: Manifest) -> Manifest | None:
            self._check_identity(now)
            if unless is not None and unless(now):
                return None
            return now if shard in now.shards else replace(now, shards=(*now.shards, shard))

        return self.publish(added)

    def write(self, points: Any, about: Mapping[str, Fact]) -> Shard:
        """Write points [n, d] as a shard that no manifest names yet."""
        try:
            facts = checked_facts(about)
        except UnreadableManifest as fault:
            raise ArgumentError(f"about: {fault}") from fault
        return write_shard(self._folder, self._checked(points), facts)

    def read(self, shard: Shard) -> NDArray[np.float64]:
        """The points of a shard [rows, d], column by column in a read-only memory map.

        Size and header are checked each time, all of its bytes the first time.
        """
        columns = len(self.identity.columns)
        is_new = shard.name not in self._verified
        try:
            points = map_shard(self._folder, shard, columns, all_bytes=is_new)
        except DamagedShard as damage:
            raise BoundaryFileError(
                f"cannot read {self._folder.shards / shard.name}: {damage}; "
                f"`ssba boundary repair {self.path}` drops it, and sampling again brings its points back"
            ) from damage
        self._verified.add(shard.name)
        return points

    def _checked(self, points: Any) -> NDArray[np.float64]:
        cells = np.asarray(points, dtype=np.float64)
        columns = len(self.identity.columns)
        if cells.ndim != 2 or cells.shape[1] != columns:
            raise ArgumentError(f"points have the shape {cells.shape}; the index holds rows of {columns}")
        return cells

    def _check_written(self, following: Manifest, now: Manifest) -> None:
        """Refuse to publish shards that are not there: `repair` takes unlisted ones away after an hour."""
        listed = {shard.name for shard in now.shards}
        for name in {shard.name for shard in following.shards} - listed:
            with telling("publish", self._folder.shards / name, remedy="it must be written again"):
                self._folder.disk.size(self._folder.shards / name)

    def _check_identity(self, now: Manifest) -> None:
        different = now.identity.differences(self.identity)
        if different:
            raise BoundaryFileError(
                f"cannot add to {self.path}: since it was opened it has become about something else: "
                f"{'; '.join(different)}; open it again"
            )


def _published(folder: Folder, manifest: Manifest) -> bool:
    try:
        return folder.publish(manifest)
    except UnreadableManifest as fault:
        raise ArgumentError(f"nobody could read the manifest for {folder.path}: {fault}") from fault


def _make_folder(folder: Folder, path: Path) -> None:
    with telling("make the folder", path), suppress(FileExistsError):
        folder.disk.make_folder(path)
    with telling("fsync the folder of", path):
        folder.disk.sync_folder(path.parent)


def _holds_nothing(folder: Folder) -> bool:
    """Whether a folder holds no index yet. One with files of other kinds is refused, not filled."""
    names = folder.names(folder.path)
    if any(name.startswith("manifest-") for name in names):
        return False
    others = sorted(name for name in names if name != SHARDS and not is_temporary(name))
    if others:
        raise BoundaryFileError(
            f"cannot make a boundary index in {folder.path}: it holds other files, such as {others[0]!r}; "
            "give a folder that does not exist yet"
        )
    return True
