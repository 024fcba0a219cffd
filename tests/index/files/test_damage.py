"""Whatever happens to the bytes of an index, nobody gets wrong numbers: the error names the file."""

import io
import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from tests.index.files.support import content, points, small_index
from tests.support import every

from ssba.errors import BoundaryFileError
from ssba.index.files.store import Shard, Store


def files(path: Path) -> list[Path]:
    return sorted(one for one in path.rglob("*") if one.is_file())


def damaged_at_random(
    path: Path, times: int, damage: Callable[[random.Random, bytes], bytes]
) -> list[tuple[Path, str]]:
    """Damage one file at a time and read all of the index: which file, and what error came of it, if any."""
    intact = content(path)
    chance = random.Random(0)
    outcomes = []
    for _ in range(times):
        file = chance.choice(files(path))
        before = file.read_bytes()
        file.write_bytes(damage(chance, before))
        try:
            assert content(path) == intact
        except BoundaryFileError as error:
            outcomes.append((file, str(error)))
        else:
            outcomes.append((file, ""))
        file.write_bytes(before)
    assert content(path) == intact
    return outcomes


def flip_a_bit(chance: random.Random, raw: bytes) -> bytes:
    at, bit = chance.randrange(len(raw)), chance.randrange(8)
    return raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :]


def cut_short(chance: random.Random, raw: bytes) -> bytes:
    return raw[: chance.randrange(len(raw))]


def make_longer(chance: random.Random, raw: bytes) -> bytes:
    return raw + chance.randbytes(chance.randrange(1, 100))


@pytest.mark.parametrize(
    ("damage", "times"),
    [(flip_a_bit, 1000), (cut_short, 200), (make_longer, 100)],
    ids=["bit flips", "truncations", "additions"],
)
def test_damage_is_told_by_the_name_of_the_file_or_harmless(
    tmp_path: Path, damage: Callable[[random.Random, bytes], bytes], times: int
) -> None:
    small_index(tmp_path / "index", appends=3)
    outcomes = damaged_at_random(tmp_path / "index", times, damage)
    out_of_date = {f"manifest-{number}.json" for number in range(3)}
    assert {file.name for file, error in outcomes if not error} <= out_of_date
    assert every(str(file) in error for file, error in outcomes if error)
    assert {file for file, _ in outcomes} == set(files(tmp_path / "index"))


def test_a_shard_of_another_index_under_this_name_is_refused(tmp_path: Path) -> None:
    one = small_index(tmp_path / "one", appends=2)
    first, second = (tmp_path / "one" / "shards" / shard.name for shard in one.latest().shards)
    first.write_bytes(second.read_bytes())
    with pytest.raises(BoundaryFileError, match="sha256 does not fit") as refusal:
        content(tmp_path / "one")
    assert str(first) in str(refusal.value)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda raw: raw[:-8], "it has 216 bytes instead of 224"),
        (lambda raw: raw + b"x", "it has 225 bytes instead of 224"),
        (lambda raw: raw.replace(b"(4, 3)", b"(3, 4)"), "its header is damaged"),
        (lambda raw: raw.replace(b"<f8", b"|O8"), "its header is damaged"),
    ],
)
def test_size_and_header_are_checked_at_every_reading(
    tmp_path: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    store = small_index(tmp_path / "index", appends=1)
    (shard,) = store.latest().shards
    assert store.read(shard).tolist() == points(0).tolist()
    path = tmp_path / "index" / "shards" / shard.name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BoundaryFileError, match=said):
        store.read(shard)


def test_a_shard_is_no_other_array_even_if_its_sha256_fits(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    file = io.BytesIO()
    np.save(file, points(0))  # by rows, and so not as the format has it
    name = sha256(file.getvalue()).hexdigest()
    (tmp_path / "index" / "shards" / f"{name}.npy").write_bytes(file.getvalue())
    with pytest.raises(BoundaryFileError, match="its header is damaged"):
        store.read(Shard(4, 224, name, {}))


def test_a_missing_shard_is_told_with_the_remedy(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    gone = tmp_path / "index" / "shards" / store.latest().shards[1].name
    gone.unlink()
    with pytest.raises(BoundaryFileError, match=f"{gone.name}: it is missing; `ssba boundary repair "):
        content(tmp_path / "index")


def test_a_manifest_under_another_number_is_refused(tmp_path: Path) -> None:
    small_index(tmp_path / "index", appends=2)
    index = tmp_path / "index"
    (index / "manifest-3.json").write_bytes((index / "manifest-1.json").read_bytes())
    with pytest.raises(
        BoundaryFileError, match=r"manifest-3\.json: it is damaged \(it says that its number is 1"
    ):
        Store.open(index)


def test_a_damaged_highest_manifest_is_no_reason_to_forget_what_it_published(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=3)
    (tmp_path / "index" / "manifest-3.json").write_text("{}")
    refused = r"manifest-3\.json: it is damaged .*; `ssba boundary repair .*index` goes back"
    with pytest.raises(BoundaryFileError, match=refused):
        Store.open(tmp_path / "index")
    with pytest.raises(BoundaryFileError, match=refused):
        store.append(points(9), {})
    assert not (tmp_path / "index" / "manifest-4.json").exists()


@pytest.mark.parametrize("name", ["manifest-03.json", "manifest-4.json~", "manifest--4.json"])
def test_names_that_are_not_quite_manifests_are_none(tmp_path: Path, name: str) -> None:
    small_index(tmp_path / "index", appends=2)
    before = content(tmp_path / "index")
    (tmp_path / "index" / name).write_text("{}")
    assert content(tmp_path / "index") == before


def test_an_index_of_a_newer_format_is_refused_and_not_repaired(tmp_path: Path) -> None:
    small_index(tmp_path / "index", appends=1)
    body = b'{"format":2,"number":2}\n'
    newer = json.loads(body) | {"sha256": sha256(body).hexdigest()}
    path = tmp_path / "index" / "manifest-2.json"
    path.write_text(json.dumps(newer, sort_keys=True, separators=(",", ":")) + "\n")
    for work in (Store.open, Store.repair):
        with pytest.raises(BoundaryFileError, match=r"format 2, and this version .* up to 1; update ssba"):
            work(tmp_path / "index")
    assert len(files(tmp_path / "index")) == 4
