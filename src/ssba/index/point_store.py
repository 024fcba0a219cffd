"""Where boundary points are kept: blocks of them, in memory or in the files of an index.

Every block tells `about` itself where its points come from: the stream of pairs and the positions in it, a
query that they lie around, or a file that they were read from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from ssba.arrays import Array, to_numpy
from ssba.columns.space import Matrix
from ssba.index.files.store import Identity, Manifest, Shard, Store
from ssba.index.identity import refuse_another

About = Mapping[str, str | int | float]
Unwanted = Callable[[Sequence[About]], bool]


def column_major(parts: Sequence[Matrix]) -> Matrix:
    """Return some rows under each other in one array, column by column."""
    joined = np.empty((sum(map(len, parts)), parts[0].shape[1]), order="F")
    begin = 0
    for part in parts:
        joined[begin : begin + len(part)] = part
        begin += len(part)
    return joined


class Block(Protocol):
    """Some boundary points, column-major, and where they come from."""

    @property
    def rows(self) -> int: ...

    @property
    def about(self) -> About: ...

    def load(self) -> Matrix:
        """Return the points, [rows, columns]."""
        ...


@dataclass(frozen=True)
class MemoryBlock:
    """A block in memory."""

    points: Matrix
    about: About

    @property
    def rows(self) -> int:
        """How many points it holds."""
        return len(self.points)

    def load(self) -> Matrix:
        """Return the points."""
        return self.points


@dataclass(frozen=True)
class DeviceBlock:
    """A block on the model's device, brought to the host when it is first looked at."""

    found: Array
    about: About

    @property
    def rows(self) -> int:
        """How many points it holds."""
        return int(self.found.shape[0])

    @cached_property
    def points(self) -> Matrix:
        """The points on the host."""
        return on_host(self.found)

    def load(self) -> Matrix:
        """Return the points."""
        return self.points


def on_host(points: Array) -> Matrix:
    """Return points of any device as they are kept: 64 bits, column by column."""
    return np.asfortranarray(to_numpy(points), dtype=np.float64)


@dataclass(frozen=True)
class FileBlock:
    """A block in a file, mapped into memory when it is looked at."""

    store: Store
    shard: Shard

    @property
    def rows(self) -> int:
        """How many points it holds."""
        return self.shard.rows

    @property
    def about(self) -> About:
        """Where they come from."""
        return self.shard.about

    def load(self) -> Matrix:
        """Return the points as a read-only map of the file."""
        return self.store.read(self.shard)


Change = Callable[[Block], MemoryBlock | None]
"""Makes another block out of one; None: keep it as it is."""


class PointStore(Protocol):
    """Blocks of boundary points, to which more can be added."""

    @property
    def path(self) -> Path | None: ...

    def blocks(self) -> tuple[Block, ...]: ...

    def add(self, points: Array, about: About, unwanted: Unwanted | None = None) -> None:
        """Add a block, unless `unwanted` says of what is there now that it is not needed any more."""
        ...

    def rewrite(self, identity: Identity, change: Change, of_any: bool) -> None:
        """Put what `change` makes of each block in its place, under an identity.

        `of_any`: also where the blocks are about something else by now.
        """
        ...


@dataclass
class MemoryStore:
    """A shelf in memory."""

    held: Sequence[Block] = ()
    path: Path | None = None

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks in the order of their origins."""
        return tuple(sorted(self.held, key=_origin))

    def add(self, points: Array, about: About, unwanted: Unwanted | None = None) -> None:
        """Add a block; nobody else does so meanwhile."""
        is_here = isinstance(points, np.ndarray)
        block = MemoryBlock(on_host(points), about) if is_here else DeviceBlock(points, about)
        self.held = (*self.held, block)

    def rewrite(self, identity: Identity, change: Change, of_any: bool) -> None:
        """Put what `change` makes of each block in its place."""
        changed = [change(block) or block for block in self.held]
        self.held = tuple(block for block in changed if block.rows)


@dataclass(frozen=True)
class FileStore:
    """A shelf in the files of an index, which other processes may be adding to."""

    store: Store

    @property
    def path(self) -> Path:
        """The folder of the index."""
        return self.store.path

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks that are published now, in the order of their origins."""
        shards = self.store.latest().shards
        return tuple(sorted((FileBlock(self.store, shard) for shard in shards), key=_origin))

    def add(self, points: Array, about: About, unwanted: Unwanted | None = None) -> None:
        """Publish a block."""

        def unless(manifest: Manifest) -> bool:
            return unwanted is not None and unwanted([shard.about for shard in manifest.shards])

        self.store.append(on_host(points), about, unless)

    def rewrite(self, identity: Identity, change: Change, of_any: bool) -> None:
        """Publish what `change` makes of each shard, those added meanwhile included."""
        done: list[tuple[Shard, Shard | None]] = []

        def changed(manifest: Manifest) -> Manifest | None:
            if not of_any:
                refuse_another(manifest.identity, identity, str(self.path))
            if any(not any(shard == old for old, _ in done) for shard in manifest.shards):
                return None
            made = [new for old, new in done if new is not None and old in manifest.shards]
            return Manifest(manifest.number, identity, tuple(made))

        while self.store.publish(changed) is None:
            for shard in self.store.latest().shards:
                if not any(shard == old for old, _ in done):
                    done.append((shard, self._changed(shard, change)))

    def _changed(self, shard: Shard, change: Change) -> Shard | None:
        made = change(FileBlock(self.store, shard))
        if made is None:
            return shard
        return self.store.write(made.points, made.about) if made.rows else None


def _origin(block: Block) -> tuple[str, int, str]:
    about = block.about
    return str(about.get("stream", "~")), int(about.get("begin", 0)), repr(sorted(about.items()))
