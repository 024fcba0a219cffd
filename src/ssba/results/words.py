"""Cells, lists and columns of words, as all texts of results write them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ssba.arguments import listing
from ssba.results.numbers import short

_MOST_LISTED = 5
# Numbers with more digits than this may be those of 32 bits, the largest of which is this.
_LONG, _MOST_SINGLE = 12, 3e38


def show(value: Any, unit: str | None = None) -> str:
    """Write a value for a person: short numbers, a word for missing, quotes around nothing, the unit behind.

    >>> show(2.30000001, "mm"), show(None), show("typical"), show("")
    ('2.3 mm', 'missing', 'typical', "''")
    """
    if value is None:
        return "missing"
    written = short(value) if isinstance(value, float) else str(value)
    if not written.strip():
        return repr(written)
    return f"{written} {unit}" if unit else written


def cell(value: Any, unit: str | None = None) -> str:
    """Write a cell of a row in full.

    >>> cell(0.1), cell(3.0), cell(-0.0), cell(None)
    ('0.1', '3', '0', 'missing')
    """
    return show(_digits(value) if isinstance(value, float) else value, unit)


def _digits(value: float) -> str:
    """Write as many digits as tell a number from its neighbours: those of 32 bits where it is one of these.

    >>> _digits(32.599998474121094), _digits(32.599998474121), _digits(1e300)
    ('32.6', '32.599998474121', '1e+300')
    """
    full = repr(value + 0.0).removesuffix(".0")
    # Few long numbers of 64 bits are numbers of 32 bits, too, unless they come from a column of these.
    if len(full) > _LONG and abs(value) < _MOST_SINGLE and float(np.float32(value)) == value:
        return str(np.float32(value))
    return full


def show_both(before: Any, after: Any, unit: str | None = None) -> tuple[str, str]:
    """Write two values of a cell with all their digits: what is shown is what was scored.

    >>> show_both(240.5, 241.0, "mg/dl")
    ('240.5 mg/dl', '241 mg/dl')
    """
    return cell(before, unit), cell(after, unit)


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Align cells in columns.

    >>> print(columns([("a", "b"), ("long", "c")]))
    a     b
    long  c
    """
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    aligned = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n".join(line.rstrip() for line in aligned)


def join(words: Iterable[str]) -> str:
    """Join words as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = list(words) or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


def capital(words: str) -> str:
    """Begin a sentence."""
    return words[:1].upper() + words[1:]


def quoted(constraints: Sequence[str]) -> str:
    """List constraints, or limits set by options, each in quotes; the first few of many.

    >>> print(quoted(["a <= 3", "max_changes=2"]))
    "a <= 3" and "max_changes=2"
    """
    shown = [f'"{one}"' for one in constraints[:_MOST_LISTED]]
    more = len(constraints) - len(shown)
    return join([*shown, f"{more} more"] if more else shown)


def constant_columns(names: Sequence[str]) -> str:
    """Say which columns cannot change, since the data hold a single value of them.

    >>> constant_columns(["a", "b"])[:38]
    "columns 'a' and 'b' hold a single valu"
    """
    if len(names) == 1:
        return (
            f"column {names[0]!r} holds a single value in the background data and is held fixed; give data "
            "in which it varies if it may change"
        )
    few = len(names) <= _MOST_LISTED
    named = join(map(repr, names)) if few else f"{listing(names, _MOST_LISTED)} ({len(names):,} in all)"
    return (
        f"columns {named} hold a single value in the background data and are held fixed; give data in which "
        "they vary if they may change"
    )
