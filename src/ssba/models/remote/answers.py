"""Replies as answers: which part of a reply holds them, and whether they are one usable answer a row."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from ssba.arguments import listing
from ssba.errors import ArgumentError, ModelError
from ssba.json_form import read_json
from ssba.models.answers import Array
from ssba.models.remote.address import Address

Read = str | Callable[[Any], Any] | None
"""Where the answers are in a reply: a path such as ``"result.labels"``, a function of it, or None to look."""

NAMES = ("predictions", "labels", "scores", "outputs")
"""Under which names the answers are looked for."""

_EXPECTED = "one answer a row: a label, a number, or a list of class scores"


@final
@dataclass(frozen=True)
class _Reply:
    """The text of a reply, what it holds, and the words for what is wrong with it."""

    where: Address
    text: str

    @cached_property
    def content(self) -> Any:
        """The reply as dicts and lists."""
        if not self.text.strip():
            raise self.error("replied with nothing", "JSON", "check that the endpoint answers a POST request")
        if self.text.lstrip().startswith("<"):
            fix = (
                "check the url: a login page, a proxy or a start page may have answered instead of the model"
            )
            raise self.error("replied with a web page", "JSON", fix)
        try:
            return read_json(self.text, "a reply")
        except ArgumentError as error:
            reason = str(error).removeprefix("this is not the JSON of a reply: ")
            fix = "let the endpoint write valid JSON; a missing answer is an error there, not NaN"
            raise self.error(f"replied with something that is not JSON ({reason})", "JSON", fix) from None

    def error(self, came: str, expected: str, fix: str) -> ModelError:
        return self.where.error(came, expected, fix, self.text)


def answers_in(where: Address, text: str, read: Read, n_rows: int) -> list[Any]:
    """Return the answers in the text of a reply, one a row."""
    reply = _Reply(where, text)
    found = _plain(_called(reply, read) if callable(read) else _looked_up(reply, read))
    if not isinstance(found, list | tuple):
        came = f"gave its answers as {_kind(found)}"
        raise reply.error(came, "a list with one answer a row", "name the list with read='path.to.it'")
    if len(found) != n_rows:
        came = f"gave {len(found):,} {'answer' if len(found) == 1 else 'answers'} for {n_rows:,} rows"
        fix = "the endpoint must answer every row of a request; if it takes one row a request: batch_rows=1"
        raise reply.error(came, "one answer a row", fix)
    return [_plain(one) for one in found]


def as_answers(where: Address, answers: Sequence[Any]) -> Array:
    """Return all answers as one array of labels, numbers or scores, in one form for all rows.

    JSON has no type that a whole list keeps to, and NumPy would turn 1 and "a" into two texts.
    """
    kinds = {_kind(one) for one in answers}
    if kinds == {"a list"}:
        kinds = {_kind(cell) for one in answers for cell in one}
        if len({len(one) for one in answers}) > 1:
            raise where.error("gave lists of different lengths", _EXPECTED, "give a score for every class")
        if kinds != {"a number"}:
            raise where.error(f"gave lists that hold {_and(kinds)}", _EXPECTED, _pick_one(kinds))
    elif len(kinds) > 1 or not kinds <= {"text", "a number", "a truth value"}:
        raise where.error(f"gave {_and(kinds)} as answers", _EXPECTED, _pick_one(kinds))
    return np.asarray(answers)


def _called(reply: _Reply, read: Callable[[Any], Any]) -> Any:
    try:
        return read(reply.content)
    except Exception as error:
        came = (
            f"gave a reply at which the function given as read= raised {type(error).__name__}: {error!s:.200}"
        )
        fix = "call the function yourself on the reply, which it gets as dicts and lists"
        raise reply.error(came, "one answer a row from it", fix) from error


def _looked_up(reply: _Reply, path: str | None) -> Any:
    content = reply.content
    if path is not None:
        return _at(reply, path)
    if isinstance(content, list):
        return content
    known = [name for name in NAMES if name in content] if isinstance(content, dict) else []
    if len(known) == 1:
        return content[known[0]]
    if known:
        came, fix = f"has {' and '.join(map(repr, known))}", f"say which to take with read={known[0]!r}"
    else:
        came, fix = _what_is_there(content), "name the answers with read='path.to.it', or give a function"
    raise reply.error(
        f"gave a reply that {came}", f"a list, or an object with one of {', '.join(NAMES)}", fix
    )


def _at(reply: _Reply, path: str) -> Any:
    """Follow a path of names, and of positions in lists."""
    found = reply.content
    for step in path.split("."):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            came = f"gave a reply in which read={path!r} finds no {step!r} (there it {_what_is_there(found)})"
            raise reply.error(came, "the answers at that path", "correct the path")
    return found


def _what_is_there(found: Any) -> str:
    if isinstance(found, dict):
        return f"has the names {listing(found)}" if found else "is an empty object"
    return f"is a list of {len(found)}" if isinstance(found, list) else f"is {_kind(found)}"


def _plain(found: Any) -> Any:
    """Return what a function made of a reply, be it of NumPy, as a reply itself would have it."""
    return found.tolist() if hasattr(found, "tolist") else found


def _kind(value: Any) -> str:
    """Say in a word what a part of a reply is."""
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is not finite"
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "text"),
        (bool, "a truth value"),
        ((int, float), "a number"),
        ((list, tuple), "a list"),
        (dict, "an object"),
        (type(None), "null"),
    )
    found = (name for kind, name in names if isinstance(value, kind))
    return next(found, f"something of type {type(value).__name__}")


def _and(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds)) or "nothing"


def _pick_one(kinds: set[str]) -> str:
    if "an object" in kinds:
        return "give a function as read= that picks one label or number out of each object"
    if "null" in kinds:
        return "see which row the endpoint cannot answer; a missing cell is sent as null"
    return "let the endpoint answer all rows in one form, or give a function as read="
