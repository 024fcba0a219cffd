"""Small indexes, what is in them, and disks that fail or are cut off from power."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ssba.index.files.store import Disk, Identity, Store

IDENTITY = Identity(
    schema_hash="5e",
    columns=("age", "chol", "größe"),
    kinds=("integer", "numeric", "numeric"),
    model_name="SVC",
    model_fingerprint="a1",
    target="'healthy'",
)


def points(seed: int, rows: int = 4) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, 3))


def small_index(path: Path, appends: int = 3) -> Store:
    store = Store.create(path, IDENTITY)
    for seed in range(appends):
        store.append(points(seed), {"seed": seed})
    return store


def content(path: Path) -> list[tuple[dict[str, Any], list[list[float]]]]:
    """All that a reader who comes now gets: the facts and the points of every shard."""
    store = Store.open(path)
    return [(dict(shard.about), store.read(shard).tolist()) for shard in store.latest().shards]


class FailingDisk(Disk):
    """A disk of which one call is not made: instead of the `at`-th, `fail` is called."""

    def __init__(self, at: int, fail: Callable[[], NoReturn]) -> None:
        self.left = at
        self.failed: str | None = None
        self._fail = fail

    def __getattribute__(self, name: str) -> Any:
        known = object.__getattribute__(self, name)
        if name.startswith("_") or not callable(known):
            return known

        def call(*given: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                self.failed = name
                if name == "write":  # a full disk takes some bytes before it refuses the rest
                    known(given[0], given[1][: len(given[1]) // 2])
                if name == "close":  # as the system has it: the descriptor is gone even so
                    known(*given)
                self._fail()
            return known(*given)

        return call


def system_error(code: int) -> Callable[[], NoReturn]:
    """What the operating system does when a call fails."""

    def fail() -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


@dataclass
class _File:
    """What was written to a file, and how much of it is sure to be there after a power cut."""

    written: bytes = b""
    durable: bytes = b""


@dataclass
class PowerCutDisk(Disk):
    """A disk that remembers what is durable: contents that were synced, names in folders that were synced.

    `watch` is called after each change, with this disk, as if the power failed right then.
    """

    watch: Callable[["PowerCutDisk"], None]
    root: Path
    names: dict[Path, _File] = field(default_factory=dict)
    durable_names: dict[Path, _File] = field(default_factory=dict)
    opened: dict[int, _File] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.root.rglob("*.*"):
            raw = path.read_bytes()
            self.names[path] = _File(raw, raw)
        self.durable_names = dict(self.names)

    def after_power_cut(self, folder: Path, names_survive: bool) -> Path:
        """Write what is left into a folder: of what was not synced, contents are lost, names perhaps."""
        for path, file in (self.names if names_survive else self.durable_names).items():
            left = folder / path.relative_to(self.root)
            left.parent.mkdir(parents=True, exist_ok=True)
            left.write_bytes(file.durable)
        return folder

    def create(self, path: Path) -> int:
        descriptor = super().create(path)
        self.names[path] = self.opened[descriptor] = _File()
        self.watch(self)
        return descriptor

    def write(self, descriptor: int, data: memoryview) -> int:
        written = super().write(descriptor, data)
        self.opened[descriptor].written += bytes(data[:written])
        self.watch(self)
        return written

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.opened[descriptor].durable = self.opened[descriptor].written
        self.watch(self)

    def link(self, path: Path, name: Path) -> None:
        super().link(path, name)
        self.names[name] = self.names[path]
        self.watch(self)

    def replace(self, path: Path, name: Path) -> None:
        super().replace(path, name)
        self.names[name] = self.names.pop(path)
        self.watch(self)

    def remove(self, path: Path) -> None:
        super().remove(path)
        del self.names[path]
        self.watch(self)

    def sync_folder(self, folder: Path) -> None:
        super().sync_folder(folder)
        elsewhere = {path: file for path, file in self.durable_names.items() if path.parent != folder}
        here = {path: file for path, file in self.names.items() if path.parent == folder}
        self.durable_names = elsewhere | here
        self.watch(self)
