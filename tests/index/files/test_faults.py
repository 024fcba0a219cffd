"""Whatever disk call fails, and whenever the power does, an index is as it was before or as it is after."""

import errno
import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.index.files.support import (
    IDENTITY,
    FailingDisk,
    PowerCutDisk,
    content,
    points,
    small_index,
    system_error,
)
from tests.support import every

from ssba.errors import BoundaryFileError
from ssba.index.files.store import Disk, Store

FAULTS = [errno.EIO, errno.ENOSPC]
READING = ["list_names", "read", "size"]
WRITING = ["create", "write", "sync", "close", "link", "replace", "remove", "sync_folder"]
IN_PLACE = "it is in place and complete"


def append(path: Path, disk: Disk) -> None:
    Store.open(path, disk).append(points(9), {"seed": 9})


def repair(path: Path, disk: Disk) -> None:
    Store.repair(path, older_than=0.0, disk=disk)


def failures(work: Callable[[Path, Disk], None], base: Path, code: int) -> list[tuple[Path, str, str]]:
    """Run the work once for every disk call it makes, with that call failing.

    What is returned: the folder it worked on, the call that failed, and what was raised.
    """
    found = []
    for at in count(1):
        path = base.parent / f"{base.name}-{code}-{at}"
        shutil.copytree(base, path)
        disk = FailingDisk(at, system_error(code))
        try:
            work(path, disk)
        except BoundaryFileError as error:
            found.append((path, disk.failed or "", str(error)))
        else:
            if disk.failed is None:
                return found
            found.append((path, disk.failed, ""))
    raise AssertionError("unreachable: count has no end")


@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_failed_disk_call_of_an_append_changes_nothing_and_is_told(tmp_path: Path, code: int) -> None:
    small_index(tmp_path / "index", appends=2)
    before = content(tmp_path / "index")
    after = [*before, ({"seed": 9}, points(9).tolist())]
    found = failures(append, tmp_path / "index", code)
    calls = {call for _, call, _ in found}
    assert {
        "list_names",
        "read",
        "create",
        "write",
        "sync",
        "close",
        "link",
        "replace",
        "sync_folder",
    } <= calls
    for path, call, error in found:
        if call == "remove":  # a temporary file that stays behind is no reason to fail
            assert error == ""
            assert content(path) == after
            continue
        assert str(path) in error
        assert error.startswith("cannot ")
        assert os.strerror(code) in error
        # Only the last call, the sync that follows the publishing link, can come too late to change nothing.
        assert content(path) == (after if IN_PLACE in error else before)
        # The disk works again: the same append goes through, and the index is none the worse.
        append(path, Disk())
        assert content(path) == after
    assert [call for _, call, error in found if IN_PLACE in error] == ["sync_folder"]
    assert found[-1][1] == "sync_folder"


@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_creation_of_which_any_disk_call_fails_can_be_made_again(tmp_path: Path, code: int) -> None:
    (tmp_path / "empty").mkdir()

    def create(path: Path, disk: Disk) -> None:
        Store.create(path / "index", IDENTITY, disk)

    for path, call, error in failures(create, tmp_path / "empty", code):
        assert (str(path) in error) == (call != "remove")
        assert Store.create(path / "index", IDENTITY).latest().rows == 0


@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_reader_of_which_any_disk_call_fails_gives_no_numbers(tmp_path: Path, code: int) -> None:
    small_index(tmp_path / "index", appends=2)
    read = []

    def read_all(path: Path, disk: Disk) -> None:
        store = Store.open(path, disk)
        read.append([store.read(shard).tolist() for shard in store.latest().shards])

    found = failures(read_all, tmp_path / "index", code)
    assert {call for _, call, _ in found} == {"list_names", "read", "map", "digest"}
    assert every(str(path) in error for path, _, error in found)
    assert read == [[points(0).tolist(), points(1).tolist()]]


@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_repair_of_which_any_disk_call_fails_can_be_made_again(tmp_path: Path, code: int) -> None:
    store = small_index(tmp_path / "index", appends=12)
    damaged = tmp_path / "index" / "shards" / store.latest().shards[3].name
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (tmp_path / "index" / "manifest-12.json").write_text("")
    (tmp_path / "index" / "temp-0123456789abcdef").write_text("")
    wanted = [({"seed": seed}, points(seed).tolist()) for seed in range(11) if seed != 3]
    found = failures(repair, tmp_path / "index", code)
    assert {"size", "age", "remove"} <= {call for _, call, _ in found}
    for path, _, error in found:
        assert error == "" or str(path) in error
        repair(path, Disk())
        assert content(path) == wanted


class TrickleDisk(Disk):
    """A disk that takes seven bytes at a time, as a pipe or a network may."""

    def write(self, descriptor: int, data: memoryview) -> int:
        return super().write(descriptor, data[:7])


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_them_all(tmp_path: Path) -> None:
    small_index(tmp_path / "index", appends=1)
    append(tmp_path / "index", TrickleDisk())
    assert content(tmp_path / "index")[1] == ({"seed": 9}, points(9).tolist())


class LinklessDisk(Disk):
    """A disk with a file system that knows no hard links, such as FAT."""

    def link(self, path: Path, name: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_file_system_without_hard_links_is_told(tmp_path: Path) -> None:
    small_index(tmp_path / "index", appends=1)
    with pytest.raises(BoundaryFileError, match=r"cannot link .*manifest-2\.json: .* hard links"):
        append(tmp_path / "index", LinklessDisk())


class ForgetfulDisk(Disk):
    """A disk that says that a name is taken, and never lists it."""

    def link(self, path: Path, name: Path) -> None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def test_a_writer_does_not_try_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_index(tmp_path / "index", appends=1)
    for module in ("store", "disk"):
        monkeypatch.setattr(f"ssba.index.files.{module}.MOST_TRIES", 5)
    with pytest.raises(BoundaryFileError, match="5 numbers in a row were taken"):
        append(tmp_path / "index", ForgetfulDisk())


@pytest.mark.parametrize("names_survive", [False, True])
def test_after_a_power_cut_at_any_moment_an_index_is_as_before_or_as_after(
    tmp_path: Path, names_survive: bool
) -> None:
    small_index(tmp_path / "index", appends=2)
    before = content(tmp_path / "index")
    left: list[Path] = []

    def cut(disk: PowerCutDisk) -> None:
        left.append(disk.after_power_cut(tmp_path / f"left-{len(left)}", names_survive))

    disk = PowerCutDisk(cut, tmp_path / "index")
    append(tmp_path / "index", disk)
    after = content(tmp_path / "index")
    seen = [content(path) for path in left]
    published = seen.index(after)
    assert seen == [before] * published + [after] * (len(seen) - published)
    assert published > 5
    # What is sure to be there when `append` returns is the whole of it.
    assert content(disk.after_power_cut(tmp_path / "returned", names_survive=False)) == after


@pytest.mark.parametrize(("names_survive", "appends"), [(False, 12), (True, 12)])
def test_after_a_power_cut_during_a_repair_nothing_is_lost(
    tmp_path: Path, names_survive: bool, appends: int
) -> None:
    small_index(tmp_path / "index", appends)
    before = content(tmp_path / "index")
    (tmp_path / "index" / "shards" / f"{'0' * 64}.npy").write_bytes(b"nobody refers to this")
    left: list[Path] = []

    def cut(disk: PowerCutDisk) -> None:
        left.append(disk.after_power_cut(tmp_path / f"left-{len(left)}", names_survive))

    repair(tmp_path / "index", PowerCutDisk(cut, tmp_path / "index"))
    assert len(left) > 10
    assert every(content(path) == before for path in left)
