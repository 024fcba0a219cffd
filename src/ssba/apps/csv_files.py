"""What shows that a CSV file has another form than the one that is read."""

import csv
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def open_csv(file: Path) -> IO[str]:
    """Open a CSV file, which may be compressed, as text."""
    # A byte order mark, as Excel writes it, belongs to no name.
    if _is_compressed(file):
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def wrong_form(file: Path) -> str | None:
    """Say what is wrong with the form of a CSV file, as far as its header shows; None where nothing is."""
    try:
        with open_csv(file) as lines:
            header = next((row for row in csv.reader(lines) if row), [])
    except UnicodeDecodeError:
        return not_utf8(file)
    return wrong_header(header)


def wrong_header(header: Sequence[str]) -> str | None:
    """Say what is wrong with a header: it is not separated by commas, or has a name twice.

    >>> wrong_header(["age;sex"])
    'the columns seem to be separated by semicolons; save it with commas ..., and decimals with a point'
    >>> wrong_header(["age", "sex", "age"])
    "two columns are called 'age'; rename or remove one of them"
    """
    only = header[0] if len(header) == 1 else ""
    if signs := [words for sign, words in _SEPARATORS.items() if sign in only]:
        return (
            f"the columns seem to be separated by {signs[0]}; save it with commas between them, and decimals "
            "with a point"
        )
    # pandas names nameless columns itself, each differently.
    twice = [name for name, times in Counter(header).items() if times > 1 and name]
    return f"two columns are called {twice[0]!r}; rename or remove one of them" if twice else None


def not_utf8(file: Path) -> str:
    """Say where a CSV file is not UTF-8, and what to do about it."""
    with cast("IO[bytes]", gzip.open(file)) if _is_compressed(file) else file.open("rb") as lines:
        number = next(number for number, line in enumerate(lines, start=1) if not _is_utf8(line))
    return f"line {number} is not UTF-8 text; save it as UTF-8, which Excel calls CSV UTF-8"


def _is_compressed(file: Path) -> bool:
    return file.name.lower().endswith(".gz")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
