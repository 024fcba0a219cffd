"""In which line of a TOML text a key is said."""

import tomllib
from bisect import bisect_left
from collections.abc import Callable
from itertools import product
from typing import Any

from ssba.apps.project.locations import Key

_DEPTH = 3
"""How many brackets may be open at the end of a line."""

_CLOSINGS = [
    text + "".join(brackets)
    for text in ("", '"""', "'''")
    for depth in range(_DEPTH + 1)
    for brackets in product("]}", repeat=depth)
]


def toml_lines(text: str) -> Callable[[Key], int | None]:
    r"""Return a function that finds the line, counted from 1, in which a key of a document is first said.

    `tomllib` tells no lines. But the text up to the end of a line is a document of its own, once what is open
    there is closed, so that the line of a key is the first after which the key is there.

    >>> line = toml_lines('seed = 1\nignore = [\n  "id",\n  "ward",\n]\n[features.chol]\nunit = "mg/dl"')
    >>> line(("ignore", 1)), line(("features", "chol", "unit")), line(("model",))
    (4, 7, None)
    """
    # Only this ends a line in TOML; `splitlines` knows other characters, too.
    lines = text.split("\n")

    def is_said(key: Key, count: int) -> bool:
        return contains(_closed("\n".join(lines[:count])), key)

    def line(key: Key) -> int | None:
        if not is_said(key, len(lines)):
            return None
        return bisect_left(range(len(lines) + 1), True, key=lambda count: is_said(key, count))

    return line


def contains(document: Any, key: Key) -> bool:
    """Whether a key is in a document.

    >>> contains({"ignore": ["id"]}, ("ignore", 0)), contains({"ignore": ["id"]}, ("ignore", 1))
    (True, False)
    """
    for part in key:
        if not isinstance(document, dict | list):
            return False
        try:
            document = document[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _closed(text: str) -> Any:
    """Read the beginning of a document; where even closing does not help, nothing is said yet."""
    for closing in _CLOSINGS:
        try:
            # On a line of its own, as the last one may end in a comment.
            return tomllib.loads(f"{text}\n{closing}")
        except tomllib.TOMLDecodeError:
            continue
    return {}
