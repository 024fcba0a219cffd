"""Shards of a boundary index: points as .npy files that are named by their content and never changed."""

import mmap
from collections.abc import Mapping
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from ssba.index.files.disk import Folder, telling
from ssba.index.files.manifest import HEADER_BYTES, Fact, Shard, shard_bytes

_NO_CELLS = np.empty(0)
_NO_CELLS.flags.writeable = False


class DamagedShard(Exception):
    """The file of a shard is missing or not as it was written; the message says how."""


def shard_header(rows: int, columns: int) -> bytes:
    """The first bytes of a shard: a .npy header of version 1.0, always equally long.

    >>> header = shard_header(3, 2)
    >>> len(header), header[10:68]
    (128, b"{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }")
    """
    about = f"{{'descr': '<f8', 'fortran_order': True, 'shape': ({rows}, {columns}), }}"
    length = HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + about.ljust(length - 1).encode() + b"\n"


def write_shard(folder: Folder, points: NDArray[np.float64], about: Mapping[str, Fact]) -> Shard:
    """Write points [n, d] under the name that follows from them, all on disk before this returns.

    A file of that name is replaced: it has the same bytes, or is damaged and thereby healed.
    """
    rows, columns = points.shape
    cells = np.asfortranarray(points, dtype="<f8").T.reshape(-1).view(np.uint8)
    parts = [memoryview(shard_header(rows, columns)), cells.data]
    digest = sha256()
    for part in parts:
        digest.update(part)
    shard = Shard(rows, shard_bytes(rows, columns), digest.hexdigest(), about)
    path = folder.shards / shard.name
    with folder.temporary(folder.shards, parts) as temporary, telling("rename", path):
        folder.disk.replace(temporary, path)
    with telling("fsync the folder of", path):
        folder.disk.sync_folder(folder.shards)
    return shard


def map_shard(folder: Folder, shard: Shard, columns: int, all_bytes: bool) -> NDArray[np.float64]:
    """The points of a shard [rows, d] in a read-only memory map; with `all_bytes` its sha256 is checked, too.

    Raises
    ------
    DamagedShard
        If the file is missing, or anything about it is not as the manifest has it.
    """
    path = folder.shards / shard.name
    with telling("read", path):
        mapped = _mapped(folder, shard)
        if len(mapped) != shard.bytes:
            raise DamagedShard(f"it has {len(mapped):,} bytes instead of {shard.bytes:,}")
        if mapped[:HEADER_BYTES] != shard_header(shard.rows, columns):
            raise DamagedShard("its header is damaged")
        if all_bytes and folder.disk.digest(path) != shard.sha256:
            raise DamagedShard("it is damaged: its sha256 does not fit its content")
    # NumPy makes no array of the nothing that follows the header of an empty shard
    cells = np.frombuffer(mapped, dtype="<f8", offset=HEADER_BYTES) if shard.rows else _NO_CELLS
    return cells.reshape((shard.rows, columns), order="F")


def _mapped(folder: Folder, shard: Shard) -> bytes | mmap.mmap:
    try:
        return folder.disk.map(folder.shards / shard.name)
    except FileNotFoundError:
        raise DamagedShard("it is missing") from None
