"""Finished chunks on disk."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ssba.errors import ArgumentError
from ssba.run.parts import IN_TERMINAL, Parts

ABOUT = {"project": "a", "request": "b", "input": "c"}


def file_of(parts: Parts, place: int) -> Path:
    (found,) = parts.folder.glob(f"part-{place:08d}-*.parquet")
    return found


def chunk(*numbers: int) -> pa.Table:
    return pa.table({"row": list(numbers), "status": ["found"] * len(numbers)})


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path / "out.parquet", ABOUT, IN_TERMINAL)


def test_chunks_become_one_file_in_order_and_the_folder_goes(parts: Parts) -> None:
    assert set(parts.begin(force=False)) == set()
    parts.add(1, chunk(2, 3, 3))
    parts.add(0, chunk(0, 1))
    counts = parts.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out)["row"].to_pylist() == [0, 1, 2, 3, 3]
    assert counts == {"found": 4}
    assert [one.name for one in parts.out.parent.iterdir()] == ["out.parquet"]


def test_a_damaged_chunk_is_not_taken_for_finished(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    parts.add(1, chunk(1))
    file_of(parts, 1).write_bytes(b"")
    assert set(parts.begin(force=False)) == {0}


def test_a_chunk_of_which_one_bit_fell_over_is_worked_on_again(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(*range(50)))
    file = file_of(parts, 0)
    content = bytearray(file.read_bytes())
    # Inside the cells, which nobody looks at to see whether a file is one of Parquet.
    content[20] ^= 1
    file.write_bytes(content)
    assert pq.read_schema(file).names == ["row", "status"]
    assert parts.begin(force=False) == {}
    parts.add(0, chunk(0))
    parts.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out)["row"].to_pylist() == [0]


def test_a_chunk_says_of_which_rows_it_was_made(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0), "the first rows")
    parts.add(1, chunk(1), "the next rows")
    assert parts.begin(force=False) == {0: "the first rows", 1: "the next rows"}


def test_what_is_about_something_else_is_refused_by_name(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    with pytest.raises(ArgumentError, match="another project and another input; repeat that call"):
        Parts(parts.out, {**ABOUT, "project": "x", "input": "y"}).begin(force=False)
    assert set(Parts(parts.out, {**ABOUT, "input": "y"}).begin(force=True)) == set()


def test_a_batch_of_which_nothing_was_finished_stands_in_nobodys_way(parts: Parts) -> None:
    parts.begin(force=False)
    corrected = Parts(parts.out, {**ABOUT, "input": "y"})
    assert corrected.begin(force=False) == {}
    corrected.add(0, chunk(0))
    assert set(corrected.begin(force=False)) == {0}


def test_a_batch_of_which_nothing_was_finished_lets_no_other_overwrite_the_file(parts: Parts) -> None:
    parts.begin(force=False)
    parts.out.write_bytes(b"of an earlier batch")
    with pytest.raises(ArgumentError, match=r"out\.parquet is there already"):
        parts.begin(force=False)


def test_a_damaged_manifest_is_refused(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    (parts.folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(ArgumentError, match="was not made by this version of ssba; add --force"):
        parts.begin(force=False)


def test_a_run_that_was_killed_after_its_last_step_is_finished_again(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    parts.out.write_bytes(b"written, but the folder is still there")
    assert set(parts.begin(force=False)) == {0}
    parts.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out).num_rows == 1


class Killed(BaseException):
    """Stands for a kill."""


def kill_while_removing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the run once the manifest of a folder is removed, and no chunk yet."""
    whole: Callable[..., Any] = shutil.rmtree

    def remove(folder: Path, **how: Any) -> None:
        if (folder / "manifest.json").exists():
            (folder / "manifest.json").unlink()
            raise Killed
        whole(folder, **how)

    monkeypatch.setattr(shutil, "rmtree", remove)


def test_chunks_of_a_run_that_was_killed_while_it_removed_them_are_not_taken_into_another(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    kill_while_removing(monkeypatch)
    with pytest.raises(Killed):
        parts.finish(chunk(0).schema, "status")
    monkeypatch.undo()
    parts.out.unlink()
    other = Parts(parts.out, {**ABOUT, "request": "x"})
    assert set(other.begin(force=False)) == set()
    other.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out).num_rows == 0
    assert [one.name for one in parts.out.parent.iterdir()] == ["out.parquet"]


def test_chunks_of_a_run_that_was_killed_while_it_began_anew_are_not_taken_either(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    kill_while_removing(monkeypatch)
    other = Parts(parts.out, {**ABOUT, "request": "x"})
    with pytest.raises(Killed):
        other.begin(force=True)
    monkeypatch.undo()
    assert set(other.begin(force=False)) == set()


def test_chunks_without_a_manifest_are_refused(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    (parts.folder / "manifest.json").unlink()
    with pytest.raises(ArgumentError, match=r"no manifest\.json that says what they are about"):
        parts.begin(force=False)
    assert set(parts.begin(force=True)) == set()


def test_chunk_of_another_batch_is_neither_finished_nor_written(parts: Parts) -> None:
    other = Parts(parts.out.with_name("other.parquet"), {**ABOUT, "request": "x"})
    other.begin(force=False)
    other.add(7, chunk(7))
    parts.begin(force=False)
    parts.add(0, chunk(0))
    shutil.copy(file_of(other, 7), parts.folder)
    assert set(parts.begin(force=False)) == {0}
    parts.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out)["row"].to_pylist() == [0]


def test_output_says_nothing_about_its_chunks(parts: Parts) -> None:
    parts.begin(force=False)
    parts.add(0, chunk(0))
    parts.finish(chunk(0).schema, "status")
    assert pq.read_schema(parts.out).metadata is None
