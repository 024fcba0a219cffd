"""Repair leaves an index in which all that is listed is intact, and says what it did."""

import os
import random
import shutil
import time
from pathlib import Path

import pytest
from tests.index.files.support import IDENTITY, content, points, small_index
from tests.support import every

from ssba.errors import BoundaryFileError
from ssba.index.files.store import Disk, Store

HOUR = 3600.0


def make_old(path: Path, seconds: float = 2 * HOUR) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def leave_over(index: Path) -> list[Path]:
    """What writers leave behind that were killed: temporary files, and a shard nobody published."""
    left = [
        index / "temp-0123456789abcdef",
        index / "shards" / "temp-0123456789abcdef",
        index / "shards" / f"{'0' * 64}.npy",
    ]
    for path in left:
        path.write_bytes(b"half")
    return left


def test_a_sound_index_is_left_as_it_is(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    before, files = content(store.path), sorted(tmp_path.rglob("*"))
    done = Store.repair(store.path)
    assert done.was_sound
    assert done.manifest == store.latest()
    assert str(done) == "nothing to repair\nmanifest 3 lists 3 shards, all intact: 12 points"
    assert (content(store.path), sorted(tmp_path.rglob("*"))) == (before, files)


def test_leftovers_go_when_they_are_an_hour_old(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    before = content(store.path)
    left = leave_over(store.path)
    assert Store.repair(store.path).removed == ()
    for path in left[1:]:
        make_old(path)
    for shard in store.latest().shards:
        make_old(store.path / "shards" / shard.name)
    done = Store.repair(store.path)
    assert sorted(done.removed) == sorted(path.name for path in left[1:])
    assert "removed 2 files that nothing refers to" in str(done)
    assert [path.exists() for path in left] == [True, False, False]
    assert content(store.path) == before


def test_a_shard_that_is_listed_twice_is_dropped_twice(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=2)
    store.append(points(0), {"again": 1})
    (store.path / "shards" / store.latest().shards[0].name).unlink()
    done = Store.repair(store.path)
    assert (len(done.dropped), done.rows_lost) == (1, 8)
    assert content(store.path) == [({"seed": 1}, points(1).tolist())]


def test_a_writer_that_is_faster_than_the_repair_loses_nothing(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=2)
    (store.path / "shards" / store.latest().shards[0].name).unlink()

    class BusyDisk(Disk):
        """Another process appends just before the repair publishes what it has found."""

        def link(self, path: Path, name: Path) -> None:
            if name.name == "manifest-3.json":
                Store.open(store.path).append(points(5), {"seed": 5})
            super().link(path, name)

    done = Store.repair(store.path, disk=BusyDisk())
    assert done.manifest.number == 4
    assert [about["seed"] for about, _ in content(store.path)] == [1, 5]


def test_files_of_other_people_are_never_removed(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    notes = [store.path / "notes.txt", store.path / "temp-notes", store.path / "shards" / "README"]
    for path in notes:
        path.write_text("mine")
        make_old(path)
    assert Store.repair(store.path).removed == ()
    assert every(path.exists() for path in notes)


def test_damaged_shards_are_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=4)
    shards = store.latest().shards
    (store.path / "shards" / shards[0].name).unlink()
    damaged = store.path / "shards" / shards[2].name
    raw = damaged.read_bytes()
    damaged.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    make_old(damaged)
    done = Store.repair(store.path)
    assert content(store.path) == [({"seed": seed}, points(seed).tolist()) for seed in (1, 3)]
    assert done.dropped == {
        shards[0].name: "it is missing",
        shards[2].name: "it is damaged: its sha256 does not fit its content",
    }
    assert done.rows_lost == 8
    assert done.manifest.number == 5
    assert "8 points lost" in str(done)
    # What was damaged may be rescued by hand before somebody repairs again.
    assert damaged.exists()
    assert Store.repair(store.path).removed == (damaged.name,)


def test_points_of_a_dropped_shard_can_be_sampled_again(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    (store.path / "shards" / store.latest().shards[0].name).unlink()
    Store.repair(store.path)
    store.append(points(0), {"seed": 0})
    assert sorted(about["seed"] for about, _ in content(store.path)) == [0, 1, 2]


@pytest.mark.parametrize("damaged", [[3], [3, 2], [3, 1]])
def test_damaged_manifests_are_passed_over_and_their_numbers_not_used_again(
    tmp_path: Path, damaged: list[int]
) -> None:
    store = small_index(tmp_path / "index", appends=3)
    only_in_the_last = store.latest().shards[-1].name
    for number in damaged:
        (store.path / f"manifest-{number}.json").write_text("")
    orphan = store.path / "shards" / only_in_the_last
    make_old(orphan)
    done = Store.repair(store.path)
    kept = 1 if 2 in damaged else 2
    assert done.damaged_manifests == tuple(range(3, kept, -1))
    assert done.manifest.number == 4
    assert content(store.path) == [({"seed": seed}, points(seed).tolist()) for seed in range(kept)]
    assert "manifest-3.json is damaged: went back" in str(done)
    # A repair that finds damage leaves the shards that it no longer lists for a rescue by hand.
    assert orphan.exists()


def test_without_any_intact_manifest_there_is_nothing_to_go_back_to(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    for number in (0, 1):
        (store.path / f"manifest-{number}.json").write_text("")
    with pytest.raises(BoundaryFileError, match=r"none of its manifests is intact \(2 looked at\)"):
        Store.repair(store.path)


def test_manifests_long_out_of_date_are_emptied_and_keep_their_names(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=12)
    before = content(store.path)
    assert Store.repair(store.path).emptied == 4
    sizes = [(store.path / f"manifest-{number}.json").stat().st_size for number in range(13)]
    assert [size == 0 for size in sizes] == [True] * 4 + [False] * 9
    assert content(store.path) == before
    assert Store.repair(store.path).emptied == 0


def test_a_writer_that_slept_through_a_repair_publishes_on_top_of_it(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=12)
    asleep = iter([True, False])

    def sleeps_once(now: object) -> bool:
        if next(asleep):
            for seed in range(20, 30):
                Store.open(store.path).append(points(seed), {"seed": seed})
            Store.repair(store.path)
        return False

    store.append(points(9), {"late": 1}, unless=sleeps_once)
    assert len(content(store.path)) == 12 + 10 + 1


def test_any_damage_of_one_file_can_be_repaired_at_the_cost_of_one_shard(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=3)
    intact = content(store.path)
    chance = random.Random(1)
    for name in sorted(path.relative_to(store.path) for path in store.path.rglob("*") if path.is_file()):
        index = tmp_path / f"damaged-{name.name}"
        shutil.copytree(store.path, index)
        raw = (index / name).read_bytes()
        at = chance.randrange(len(raw))
        (index / name).write_bytes(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :])
        Store.repair(index)
        left = content(index)
        assert len(left) >= 2
        assert every(one in intact for one in left)


def test_one_of_a_kind_is_told_as_one(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "index", IDENTITY)
    store.append(points(0, rows=1), {})
    left = store.path / "temp-0123456789abcdef"
    left.write_bytes(b"half")
    make_old(left)
    assert str(Store.repair(store.path)) == (
        "removed 1 file that nothing refers to\nmanifest 1 lists 1 shard, intact: 1 point"
    )
