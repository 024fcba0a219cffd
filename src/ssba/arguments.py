"""One wording for every bad argument: who, which parameter, what came, what is allowed."""

import math
import numbers
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import takewhile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ssba.errors import ArgumentError

_LARGEST = 10**12
_ALIKE = 0.7
"""The share of their letters that a wrong word and the one that was meant have in common at least."""
_BEGINNING = 3
"""Letters that make a word long enough to be known by a part of it."""


def is_number(value: Any) -> bool:
    """Tell real numbers, of Python or NumPy, from truth values and everything else.

    >>> is_number(2.5), is_number(True), is_number("2.5")
    (True, False, False)
    """
    # NumPy's own truth values are no numbers to Python already.
    return type(value) is not bool and isinstance(value, numbers.Real)


def listing(values: Iterable[Any], most: int = 12) -> str:
    """Write values one after the other, the first of them if there are many.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    members = list(values)
    shown = ", ".join(repr(value) for value in members[:most])
    return shown + (f" and {len(members) - most} more" if len(members) > most else "")


def counted(count: int, one: str, many: str | None = None) -> str:
    """Write how many there are of something; its plural is the word with an s unless `many` gives it.

    >>> counted(1, "shard"), counted(1200, "point"), counted(0, "query", "queries")
    ('1 shard', '1,200 points', '0 queries')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def came(value: Any) -> str:
    """Say what was given instead of something else: a plain value itself, anything larger by its type.

    >>> came("heart"), came([1, 2])
    ("'heart'", 'of type list')
    """
    if value is None or isinstance(value, str | bool | numbers.Number):
        return f"{value!r:.80}"
    return f"of type {type(value).__name__}"


def closest(given: Any, known: Iterable[Any]) -> Any:
    """Return which of the known things was most likely meant, whatever its case; None where none is alike.

    >>> closest("MALE", ["Female", "Male"]), closest("1", [0, 1]), closest("x", ["age"])
    ('Male', 1, None)
    >>> closest("alien", ["male"]), closest("rwo", ["row"]), closest("int", ["integer"])
    (None, 'row', 'integer')
    """
    by_text = {str(one).casefold(): one for one in known}
    text = str(given).casefold()
    alike = get_close_matches(text, by_text, n=1, cutoff=_ALIKE)
    # By its share of letters, a short word with one slip looks less alike than it is; so does half a word.
    alike += [one for one in by_text if _one_slip(text, one) or _begins(text, one)]
    return by_text[alike[0]] if alike else None


def _one_slip(text: str, other: str) -> bool:
    """Tell whether letters changed places, or one of them was added, left out or replaced."""
    if sorted(text) == sorted(other):
        return True
    short, long = sorted((text, other), key=len)
    is_replaced = len(short) == len(long)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(short, long, strict=False))
    start = sum(1 for _ in same)
    if start == 0 or (is_replaced and len(short) < _BEGINNING):
        return False
    return short[start + is_replaced :] == long[start + 1 :]


def _begins(text: str, whole: str) -> bool:
    return len(text) >= _BEGINNING and whole.startswith(text)


def meant(given: Any, known: Iterable[Any]) -> str:
    """Ask behind a wrong name whether another was meant; nothing where none is alike.

    >>> "unknown column 'AGE'" + meant("AGE", ["age", "chol"])
    "unknown column 'AGE' (did you mean 'age'?)"
    """
    near = closest(given, known)
    return "" if near is None else f" (did you mean {near!r}?)"


def instance(who: str, value: Any, kind: type, wanted: str) -> None:
    """Refuse what is not of a kind, and say what to give."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{who} is {came(value)}; {wanted}")


def whole(who: str, value: Any, at_least: int, at_most: int = _LARGEST) -> int:
    """Return a whole number, or refuse it.

    >>> whole("k", 3, at_least=1)
    3
    """
    given = None if isinstance(value, bool) or not isinstance(value, numbers.Integral) else int(value)
    if given is None or not at_least <= given <= at_most:
        allowed = f"{at_least} or more" if at_most == _LARGEST else f"from {at_least} to {at_most:,}"
        raise ArgumentError(f"{who} is {value!r:.80}; give a whole number, {allowed}")
    return given


def number(who: str, value: Any, allowed: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a real number strictly between `low` and `high` (an infinite end is no limit), or refuse it."""
    if not is_number(value):
        raise ArgumentError(f"{who} is {value!r:.80}; give {allowed}")
    try:
        real = float(value)
    except OverflowError:
        real = math.nan
    if math.isnan(real) or (low > -math.inf and real <= low) or (high < math.inf and real >= high):
        raise ArgumentError(f"{who} is {value!r:.80}; give {allowed}")
    return real


def one_of(who: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{who} is {value!r:.80}; choose one of {', '.join(map(repr, choices))}")


def file_to_write(who: str, file: Any) -> Path:
    """Return the path of a file that can be written to, or refuse it before any work is done for it."""
    if not isinstance(file, str | PathLike) or not fspath(file):
        raise ArgumentError(f"{who} is {file!r:.80}; give the name of a file")
    path = Path(fspath(file))
    if path.is_dir():
        raise ArgumentError(f"{who} is {str(path)!r}, which is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise ArgumentError(
            f"{who} is {str(path)!r}, but there is no folder {str(path.parent)!r}; make it first"
        )
    return path


def listed(who: str, values: Any, wanted: str) -> list[Any]:
    """Return the members of a list, tuple, set, array or series, or refuse it; a text is not taken apart."""
    try:
        members = None if isinstance(values, str | bytes | Mapping) else list(values)
    except TypeError:
        members = None
    if members is None:
        raise ArgumentError(f"{who} is {values!r:.80}; {wanted}")
    return members


def mapping(who: str, value: Any, example: str) -> dict[str, Any]:
    """Return a mapping from column names as a dict, or refuse it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{who} is {value!r:.80}; give a mapping from column names, such as {example}")
    return {str(name): given for name, given in value.items()}
