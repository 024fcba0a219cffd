"""Reading tables from files: what comes in as it is, and what is refused, in one line."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.apps.loading import read_table
from ssba.errors import ArgumentError, MissingExtra, SchemaError
from ssba.extras import require


@pytest.fixture(scope="module")
def heart() -> ssba.datasets.Heart:
    return ssba.datasets.load_heart()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_one_column_and_columns_without_a_name_are_read_as_pandas_does(tmp_path: Path) -> None:
    assert list(read_table(write(tmp_path / "one.csv", b"a\n1\n")).columns) == ["a"]
    table = read_table(write(tmp_path / "gaps.csv", b",a,\n0,1,2\n"))
    assert list(table.columns) == ["Unnamed: 0", "a", "Unnamed: 2"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".CSV"])
def test_csv_gives_back_the_table_that_was_written(
    heart: ssba.datasets.Heart, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"heart{suffix}"
    heart.frame.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_table(path), heart.frame)


def test_parquet_keeps_dtypes_that_csv_has_no_words_for(tmp_path: Path) -> None:
    levels = pd.CategoricalDtype(["low", "high"], ordered=True)
    table = pd.DataFrame(
        {
            "small": np.array([1, 2], dtype=np.int8),
            "single": np.array([0.5, 1.5], dtype=np.float32),
            "rank": pd.Series(["high", "low"], dtype=levels),
            "zip": ["01234", "99999"],
        }
    )
    table.to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.parquet"), table)


def test_csv_cells_are_whole_numbers_numbers_truths_or_text_by_column(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", b"whole,gap,truth,text\n1,2,True,a1\n3,,False,\n")
    table = read_table(path)
    kinds = {name: table[name].dtype.kind for name in ("whole", "gap", "truth")}
    assert kinds == {"whole": "i", "gap": "f", "truth": "b"}
    assert table["text"].isna().tolist() == [False, True]
    assert table.loc[0, "text"] == "a1"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"", "cannot be read: No columns to parse from file"),
        ("a.csv", b"a,b\n", "holds no rows"),
        (
            "a.csv",
            b"a,b\n0,2,3\n1,5,6\n",
            "cannot be read: the rows have more cells than the header has names",
        ),
        ("a.csv", b"a\n1\n\xff\xfe\n", "cannot be read: line 3 is not UTF-8 text; save it as UTF-8"),
        ("a.csv", "name\nZo\xeb\n".encode("latin-1"), "cannot be read: line 2 is not UTF-8 text"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "cannot be read: line 1 is not UTF-8 text"),
        ("a.csv", b"a;b\n1;2\n", "cannot be read: the columns seem to be separated by semicolons; save it"),
        ("a.csv", b"a;b\n1,5;2,5\n", "cannot be read: the columns seem to be separated by semicolons"),
        ("a.csv", b"a\tb\n1\t2\n", "cannot be read: the columns seem to be separated by tabs"),
        ("a.csv", b"a,b,a\n1,2,3\n", "cannot be read: two columns are called 'a'; rename or remove one"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read: Not a gzipped file"),
        ("a.parquet", b"PAR1 no more of it", "cannot be read: "),
    ],
)
def test_damaged_table_is_refused_by_name_in_one_line(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(SchemaError, match=f"^--data {re.escape(str(path))}:? {re.escape(told)}") as refused:
        read_table(path)
    assert "\n" not in str(refused.value)


def test_unknown_ending_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"must end in one of \.csv, \.csv\.gz, \.parquet$"):
        read_table(write(tmp_path / "rows.xlsx", b"x"))


def test_missing_file_is_told_by_name_and_by_where_the_name_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    with pytest.raises(ArgumentError, match=f"^--data {re.escape(str(path))}: there is no such file"):
        read_table(path)
    with pytest.raises(ArgumentError, match=f"^ssba.toml, line 3: data {re.escape(str(path))}: there is no"):
        read_table(path, "ssba.toml, line 3: data")


def test_missing_library_is_told_with_the_way_to_install_it(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", b"")
    program = (
        "import sys; from pathlib import Path; sys.modules['pyarrow'] = None\n"
        "from ssba.apps.loading import read_table\n"
        "from ssba.errors import MissingExtra\n"
        f"try: read_table(Path({str(path)!r}))\n"
        "except MissingExtra as missing: print(missing)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "reading a Parquet file needs pyarrow: pip install 'ssba[arrow]'\n"


def test_require_passes_what_is_installed_and_names_the_extra_of_what_is_not() -> None:
    require("numpy", "all", "counting")
    with pytest.raises(MissingExtra, match=r"^dreaming needs no_such: pip install 'ssba\[dreams\]'$"):
        require("no_such", "dreams", "dreaming")
