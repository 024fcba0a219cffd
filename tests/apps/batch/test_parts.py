"""Finished chunks on disk."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ssba.apps.batch.parts import Parts
from ssba.errors import ArgumentError

ABOUT = {"project": "a", "request": "b", "input": "c"}


def chunk(*numbers: int) -> pa.Table:
    return pa.table({"row": list(numbers), "status": ["found"] * len(numbers)})


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path / "out.parquet")


def test_chunks_become_one_file_in_order_and_the_folder_goes(parts: Parts) -> None:
    assert parts.begin(ABOUT, force=False) == set()
    parts.add(1, chunk(2, 3, 3))
    parts.add(0, chunk(0, 1))
    counts = parts.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out)["row"].to_pylist() == [0, 1, 2, 3, 3]
    assert counts == {"found": 4}
    assert [one.name for one in parts.out.parent.iterdir()] == ["out.parquet"]


def test_a_damaged_chunk_is_not_taken_for_finished(parts: Parts) -> None:
    parts.begin(ABOUT, force=False)
    parts.add(0, chunk(0))
    parts.add(1, chunk(1))
    (parts.folder / "part-00000001.parquet").write_bytes(b"")
    assert parts.begin(ABOUT, force=False) == {0}


def test_what_is_about_something_else_is_refused_by_name(parts: Parts) -> None:
    parts.begin(ABOUT, force=False)
    parts.add(0, chunk(0))
    with pytest.raises(ArgumentError, match="another project and another input; repeat that call"):
        parts.begin({**ABOUT, "project": "x", "input": "y"}, force=False)
    assert parts.begin({**ABOUT, "input": "y"}, force=True) == set()


def test_a_damaged_manifest_is_refused(parts: Parts) -> None:
    parts.begin(ABOUT, force=False)
    (parts.folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(ArgumentError, match="was not made by this version of ssba; add --force"):
        parts.begin(ABOUT, force=False)


def test_a_run_that_was_killed_after_its_last_step_is_finished_again(parts: Parts) -> None:
    parts.begin(ABOUT, force=False)
    parts.add(0, chunk(0))
    parts.out.write_bytes(b"written, but the folder is still there")
    assert parts.begin(ABOUT, force=False) == {0}
    parts.finish(chunk(0).schema, "status")
    assert pq.read_table(parts.out).num_rows == 1
