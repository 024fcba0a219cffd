"""Reads files by the end of their names, tables above all, and tells what goes wrong in one line."""

import codecs
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ssba.apps.csv_files import not_utf8, wrong_form
from ssba.errors import ArgumentError, SchemaError, SsbaError
from ssba.extras import require

if TYPE_CHECKING:
    import pandas as pd

Choice = TypeVar("Choice")


def read_table(path: Path, called: str = "--data") -> "pd.DataFrame":
    """Read a CSV or Parquet file as pandas does by itself, which is how most models met their data.

    In a CSV file a column of whole numbers is int64, other numbers float64, true and false boolean,
    everything else text; an empty cell, and a few words such as ``NA``, are missing. Parquet keeps the
    dtypes it was written with, categories and their order among them. `called` says in messages where the
    name of the file comes from.
    """
    read = by_ending(path, _TABLES, called)
    must_exist(path, called)
    with one_line_errors(f"{called} {path} cannot be read", SchemaError):
        table = read(path)
    if not len(table):
        raise SchemaError(f"{called} {path} holds no rows")
    return table


@contextmanager
def one_line_errors(what: str, kind: type[SsbaError]) -> Iterator[None]:
    """Turn whatever a library raises about a file from elsewhere into one line of ours."""
    try:
        yield
    except (SsbaError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        fix = f"install {error.name}, or name the folder of {error.name}.py in PYTHONPATH"
        raise kind(f"{what}: it needs the module {error.name}; {fix}") from error
    except Exception as error:
        # Libraries add traces and whole documents below their first line.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise kind(f"{what}: {lines[0] if lines else type(error).__name__}") from error


def by_ending(path: Path, choices: Mapping[str, Choice], called: str = "") -> Choice:
    """Choose by the end of a file's name, or refuse the name.

    >>> by_ending(Path("rows.CSV"), {".csv": "text", ".parquet": "columns"})
    'text'
    """
    name = path.name.lower()
    known = [suffix for suffix in choices if name.endswith(suffix)]
    if not known:
        raise ArgumentError(f"{called} {path}: the name must end in one of {', '.join(choices)}".strip())
    return choices[known[0]]


def decoded(content: bytes, called: str) -> str:
    """Return the text of a file as its byte-order mark says, which is UTF-8 where it has none.

    >>> decoded("\ufeffrow".encode("utf-16-le"), "--values row.json"), decoded(b"row", "--values row.json")
    ('row', 'row')
    """
    # PowerShell redirects to UTF-16, and some editors of Windows begin UTF-8 with a mark.
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentError(f"{called} is not UTF-8 text; save it as UTF-8") from None


def must_exist(path: Path, called: str) -> None:
    """Refuse the name of a file that is not there."""
    if not path.is_file():
        raise ArgumentError(f"{called} {path}: there is no such file")


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    if problem := wrong_form(path):
        raise ValueError(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            # Left alone, pandas takes a first cell beyond the header for the row's name, which shifts all
            # columns, and a column's dtype may depend on which rows were read together.
            return pd.read_csv(path, index_col=False, low_memory=False)
        except pd.errors.ParserWarning:
            raise ValueError("the rows have more cells than the header has names") from None
        except UnicodeDecodeError:
            raise ValueError(not_utf8(path)) from None


def _read_parquet(path: Path) -> "pd.DataFrame":
    require("pyarrow", "arrow", "reading a Parquet file")
    import pandas as pd

    return pd.read_parquet(path)


TableReader = Callable[[Path], "pd.DataFrame"]

_TABLES: dict[str, TableReader] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": _read_parquet,
}

TABLE_SUFFIXES: Sequence[str] = tuple(_TABLES)
