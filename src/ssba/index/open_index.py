"""Ways to a boundary set: sampled into memory or an index, opened, or read from a frame."""

import warnings
from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ssba.engine import Engine
from ssba.errors import ArgumentError, SsbaWarning
from ssba.index.boundary_set import BoundarySet
from ssba.index.files.store import Repaired, Store
from ssba.index.identity import can_be_adopted, identity_of, refuse_another
from ssba.index.point_store import FileStore, MemoryStore, PointStore
from ssba.index.sampling import Growth, Watch, covered_pairs, grow, other_samples
from ssba.index.tables import read_points
from ssba.index.verify_index import Verified, goals_by_text, holds, keep_what_holds, verify_points
from ssba.progress import bar

Fill = Callable[[PointStore, Growth, Watch], int]
"""Adds to a store what is missing, and returns how many model rows that took."""


def sample(
    engine: Engine, growth: Growth, path: Any, progress: bool | None, fill: Fill | None = None
) -> BoundarySet:
    """Bring a set up to what is asked for, in memory or at a path; by this process unless `fill` is given."""
    store = shelf_at(engine, path)
    if others := other_samples(store, growth):
        warnings.warn(
            f"{path} holds {others:,} points of pairs that were sampled with another seed, tolerance, "
            "resolution or labels; the points asked for now are added beside them",
            SsbaWarning,
            stacklevel=3,
        )
    wanted = min(growth.n, growth.pairs)
    with bar(wanted, "boundary points", progress, done=covered_pairs(store, growth)) as shown:
        rows = (fill or partial(grow, engine))(store, growth, shown.update)
    return BoundarySet(engine, store, rows, growth.pairs)


def shelf_at(engine: Engine, path: Any) -> PointStore:
    """Return an empty shelf in memory, or the one at a path, which may have been begun before."""
    if path is None:
        return MemoryStore()
    folder, own = checked_path(path), identity_of(engine)
    if any(folder.glob("manifest-*")):
        refuse_another(Store.open(folder).latest().identity, own, str(folder))
    return FileStore(Store.create(folder, own))


def open_set(engine: Engine, path: Any, adopt: bool, progress: bool | None) -> BoundarySet:
    """Open an index; with `adopt`, also that of another model, whose points are kept where they hold."""
    store = Store.open(checked_path(path))
    stored, own = store.latest().identity, identity_of(engine)
    if adopt and stored != own and can_be_adopted(stored, own):
        with bar(store.latest().rows, "points", progress) as shown:
            keep_what_holds(engine, FileStore(store), own, adopted=True, watch=shown.update)
    refuse_another(store.latest().identity, own, str(store.path))
    return BoundarySet(engine, FileStore(store))


def verify_set(engine: Engine, path: Any, n: int | None, progress: bool | None) -> Verified:
    """Ask the model about the points of an index, that of another model, too, and change nothing."""
    store = Store.open(checked_path(path))
    stored, own = store.latest().identity, identity_of(engine)
    if not can_be_adopted(stored, own):
        refuse_another(stored, own, str(store.path))
    blocks = FileStore(store).blocks()
    points = sum(block.rows for block in blocks)
    with bar(points if n is None else min(n, points), "points", progress) as shown:
        return verify_points(engine, blocks, n, shown.update)


def read_set(engine: Engine, source: Any, path: Any) -> BoundarySet:
    """Ask the model about the rows of a frame or Parquet file and keep those that reach the target."""
    store = shelf_at(engine, path)
    asked = 0
    for rows in read_points(engine, source):
        rows, left = np.asarray(rows), np.ones(len(rows), dtype=bool)
        for goal in goals_by_text(engine):
            reaching = left.copy()
            reaching[left] = holds(engine, goal, rows[left])
            asked += int(left.sum())
            left &= ~reaching
            if reaching.any():
                store.add(rows[reaching], {"kind": "read", "goal": goal})
    return BoundarySet(engine, store, asked)


def boundary_info(path: str | PathLike[str]) -> dict[str, Any]:
    """Return plain facts about an index on disk, without a model.

    Parameters
    ----------
    path
        The folder of the index.
    """
    store = Store.open(checked_path(path))
    manifest = store.latest()
    kinds: dict[str, int] = {}
    samples: dict[Any, dict[str, Any]] = {}
    for shard in manifest.shards:
        about = shard.about
        kind = str(about.get("kind", "unknown"))
        kinds[kind] = kinds.get(kind, 0) + shard.rows
        if kind == "pairs":
            begun = {name: about[name] for name in ("goal", "seed", "tolerance", "resolution", "pairs")}
            one = samples.setdefault(about["stream"], {**begun, "pairs_used": 0})
            one["pairs_used"] += int(about["end"]) - int(about["begin"])
    identity = manifest.identity
    return {
        "path": str(store.path),
        "points": manifest.rows,
        "points_by_kind": kinds,
        "samples": list(samples.values()),
        "shards": len(manifest.shards),
        "bytes": sum(shard.bytes for shard in manifest.shards),
        "manifest": manifest.number,
        "columns": list(identity.columns),
        "kinds": list(identity.kinds),
        "target": identity.target,
        "model": identity.model_name,
        "model_fingerprint": identity.model_fingerprint,
        "schema_hash": identity.schema_hash,
    }


def repair_boundary(path: str | PathLike[str]) -> Repaired:
    """Remove what interrupted writers left, and drop damaged files from an index; say what was done.

    Points of dropped files come again when the index is grown.

    Parameters
    ----------
    path
        The folder of the index.
    """
    return Store.repair(checked_path(path))


def checked_path(path: Any) -> Path:
    """Return the folder of an index, or refuse what is no path."""
    if not isinstance(path, str | PathLike) or not fspath(path):
        raise ArgumentError(f"path is {path!r:.80}; give the name of a folder, such as 'heart.boundary'")
    return Path(fspath(path))
