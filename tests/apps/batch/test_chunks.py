"""Rows of a batch, chunk by chunk."""

import gzip
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support import every

from ssba.apps.batch.chunks import TableSource, open_source
from ssba.errors import SchemaError
from ssba.results import Column
from ssba.run.chunks import Chunk, Wanted

WANTED = Wanted(
    (Column("debt", "numeric"), Column("code", "categorical", ("007", "008")), Column("age", "integer")), "id"
)
TEXT = 'age,id,code,debt,more\n30,1,007,1,x\n40,2,008,2.5,"a\nb"\n\n50,NA,007,,NA\n'


def cells(chunk: Chunk) -> list[list[object]]:
    """The cells of a chunk; None where one is missing."""
    return chunk.rows.astype(object).where(chunk.rows.notna(), None).to_numpy().tolist()


def read(file: Path, size: int = 2) -> list[Chunk]:
    return list(open_source(file, WANTED).chunks(size))


def test_cells_of_a_csv_file_are_read_as_their_columns_have_them(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(TEXT, encoding="utf-8-sig")
    first, second = read(file)
    assert first.rows.to_dict("list") == {"debt": [1, 2.5], "code": ["007", "008"], "age": [30, 40]}
    assert [*first.ids, *second.ids] == ["1", "2", None]
    assert [*first.numbers, *second.numbers] == [0, 1, 2]
    assert second.rows["debt"].isna().all()
    assert open_source(file, WANTED).count() == 3


def test_forms_of_one_table_give_the_same_chunks(tmp_path: Path) -> None:
    text, zipped, columns = (tmp_path / name for name in ("rows.csv", "rows.csv.gz", "rows.parquet"))
    text.write_text(TEXT, encoding="utf-8")
    with gzip.open(zipped, "wt", encoding="utf-8") as lines:
        lines.write(TEXT)
    table = pd.read_csv(text, dtype={"code": str})
    table.to_parquet(columns)
    own = list(TableSource(table, range(3), WANTED).chunks(2))
    for file in (text, zipped, columns):
        chunks = read(file)
        assert [one.place for one in chunks] == [0, 1]
        assert every(one.ids == other.ids for one, other in zip(chunks, own, strict=True))
        assert [cells(one) for one in chunks] == [cells(one) for one in own]


def test_rows_of_a_csv_file_are_known_by_the_line_on_which_they_begin(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(f"\n{TEXT}", encoding="utf-8")
    first, second = read(file)
    assert first.names == {0: "row 0 (line 3)", 1: "row 1 (line 4)"}
    assert second.names == {2: "row 2 (line 7)"}


def test_rows_that_cannot_be_read_are_named_and_left_out(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("age,id,code,debt\n30,1,007,1\nold,2,007,1\n50,3,007\n60,4,007,1,1\n", encoding="utf-8")
    (chunk,) = read(file, 9)
    assert list(chunk.numbers) == [0, 1, 2, 3]
    assert len(chunk.rows) == 1
    assert chunk.unreadable == {
        1: "column 'age': 'old' is not a number; write one such as 233 or 0.5",
        2: "it has 3 cells, where the header names 4 columns",
        3: "it has 5 cells, where the header names 4 columns",
    }


def test_digest_tells_one_input_from_another(tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text(TEXT, encoding="utf-8")
    second.write_text(TEXT.replace("30", "31"), encoding="utf-8")
    digests = [open_source(file, WANTED).digest() for file in (first, second, first)]
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "holds no header"),
        (b"age,debt,age\n", "two columns are called 'age'"),
        (b"age,debt\n", "column 'code' is missing; the model takes it"),
        (b"Age,debt,code\n", "column 'age' is missing; the model takes it; is 'Age' meant to be 'age'?"),
        (b"age,debt,code\n1,2,007\n1,2,\xff\n", "line 3 is not UTF-8 text; save it as UTF-8"),
        (b"age;debt;code\n1,5;2;007\n", "the columns seem to be separated by semicolons"),
        (b'age,debt,code\n1,2,"' + b"x" * 200_000, "after line"),
    ],
)
def test_files_that_are_no_tables_are_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    with pytest.raises(SchemaError, match=re.escape(reason)):
        read(file)


def test_a_damaged_gzip_file_is_told_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    packed = bytearray(gzip.compress(TEXT.encode() * 50))
    packed[20:40] = b"\xff" * 20
    file.write_bytes(packed)
    with pytest.raises(SchemaError, match=r"rows\.csv\.gz, after line"):
        read(file)


@pytest.mark.parametrize("damaged", [slice(10, 300), slice(4000, 4300), slice(-300, -100)])
def test_a_damaged_parquet_file_is_told_by_its_name(damaged: slice, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    numbers = range(5000)
    table = pd.DataFrame({"age": numbers, "debt": [one / 7 for one in numbers], "code": "007"})
    table.to_parquet(file)
    content = bytearray(file.read_bytes())
    content[damaged] = b"\xff" * len(content[damaged])
    file.write_bytes(content)
    with pytest.raises(SchemaError, match=r"rows\.parquet: this is not a Parquet file, or a damaged one"):
        read(file)


def test_a_column_twice_is_refused_in_a_parquet_file_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    columns = [pa.array([1]), pa.array([2.0]), pa.array(["007"]), pa.array([1])]
    pq.write_table(pa.table(columns, names=["age", "debt", "code", "age"]), file)
    with pytest.raises(SchemaError, match=r"rows\.parquet: two columns are called 'age'"):
        open_source(file, WANTED)
