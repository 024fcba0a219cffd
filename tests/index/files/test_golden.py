"""Files of format 1, kept as they were first written: they must stay readable, and be written just so.

They lie in golden/format-1, shards as hexadecimal text. A change of the format is a new number and a
new folder beside that one, never a change of these files.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ssba.index.files.store import FORMAT, Identity, Store

GOLDEN = Path(__file__).parent / "golden" / "format-1"

IDENTITY = Identity(
    schema_hash="0f1e2d3c",
    columns=("age", "größe"),
    kinds=("integer", "numeric"),
    model_name="LogisticRegression",
    model_fingerprint="9a8b7c",
    target="'healthy'",
)
# The bits of float64 by IEEE 754: 63, -0.0, infinity, a NaN with a payload, the smallest subnormal, 1/3.
BITS = [0x404F800000000000, 1 << 63, 0x7FF << 52, 0x7FF8000000000001, 1, 0x3FD5555555555555]
APPENDS: list[tuple[NDArray[np.float64], dict[str, str | int | float]]] = [
    (np.array(BITS, dtype="<u8").view("<f8").reshape(3, 2), {"from": 0, "to": 3, "tolerance": 0.001}),
    (np.empty((0, 2)), {"from": 3, "to": 4}),
    (np.array([[50.0, 1.75]]), {"from": 4, "to": 5, "note": 'naïve "quotes"'}),
]


def golden_files() -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in GOLDEN.glob("manifest-*.json")}
    for path in (GOLDEN / "shards").glob("*.npy.hex"):
        files[f"shards/{path.stem}"] = bytes.fromhex(path.read_text(encoding="ascii"))
    return files


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "shards").mkdir()
    for name, raw in golden_files().items():
        (tmp_path / name).write_bytes(raw)
    return tmp_path


def test_the_kept_files_are_of_the_format_that_is_written_today() -> None:
    assert FORMAT == 1
    assert len(golden_files()) == 4 + 3


def test_kept_files_are_read_bit_by_bit(index: Path) -> None:
    store = Store.open(index)
    manifest = store.latest()
    assert (manifest.number, manifest.identity, manifest.rows) == (3, IDENTITY, 4)
    assert len(manifest.shards) == len(APPENDS)
    for shard, (rows, about) in zip(manifest.shards, APPENDS, strict=True):
        assert dict(shard.about) == about
        read = np.ascontiguousarray(store.read(shard))
        np.testing.assert_array_equal(read.view(np.uint64), rows.view(np.uint64))


def test_the_same_index_is_written_today_byte_by_byte(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "index", IDENTITY)
    for rows, about in APPENDS:
        store.append(rows, about)
    files = [path for path in store.path.rglob("*") if path.is_file()]
    written = {path.relative_to(store.path).as_posix(): path.read_bytes() for path in files}
    assert written == golden_files()


def test_kept_files_can_be_added_to(index: Path) -> None:
    store = Store.create(index, IDENTITY)
    manifest = store.append(np.array([[1.0, 2.0]]), {})
    assert manifest is not None
    assert (manifest.number, manifest.rows) == (4, 5)
    assert Store.repair(index).was_sound
