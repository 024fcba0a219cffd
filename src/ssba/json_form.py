"""Dataclasses as JSON and back: one owner for the form of everything that is written and read again.

A dataclass becomes an object with its fields, tuples become lists, an infinite number becomes null. Classes
that stand for each other in a field (`Reach` or `Leave`, `Ball` or `ScoreMargin`) carry a ``kind``. Reading
goes by the fields' types, so that a field cannot be forgotten.
"""

import dataclasses
import json
import math
import sys
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Literal, NoReturn, Self, Union, get_args, get_origin, get_type_hints

from ssba.errors import ArgumentError


class JsonForm:
    """A frozen dataclass with a JSON form: `to_dict`, `to_json`, and `from_dict`, `from_json` to read it."""

    schema_version: ClassVar[int] = 1
    derived: ClassVar[tuple[str, ...]] = ("sentence",)
    """Properties that are written for other readers' sake, and ignored when reading."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, text and numbers."""
        added = {name: to_plain(getattr(self, name)) for name in self.derived}
        return {"schema": self.schema_version, "kind": kind_of(type(self)), **_fields(self), **added}

    def to_json(self, indent: int | None = None) -> str:
        """Return the JSON form, which `from_json` reads back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        """Read what `to_dict` returned."""
        try:
            built: Self = _build_dataclass(cls, cls._checked(raw))
            return built
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            what = str(error) if isinstance(error, ArgumentError) else f"{type(error).__name__}: {error}"
            raise ArgumentError(f"this is not the JSON of {document_of(cls)}: {what:.300}") from None

    @classmethod
    def _checked(cls, raw: Any) -> Mapping[str, Any]:
        """Refuse a document of another kind or version."""
        if not isinstance(raw, Mapping) or raw.get("kind") != kind_of(cls):
            kind = raw.get("kind") if isinstance(raw, Mapping) else None
            raise ArgumentError(f"it is of another kind, {kind!r:.40}" if kind else "it says no kind")
        if raw.get("schema") != cls.schema_version:
            raise ArgumentError(
                f"it has schema version {raw.get('schema')!r:.40}; this version of ssba reads "
                f"{cls.schema_version}"
            )
        return raw

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        return cls.from_dict(read_json(text, document_of(cls)))


def read_json(text: str, name: str) -> Any:
    """Read a JSON document strictly: no name twice, no NaN."""
    try:
        return json.loads(text, object_pairs_hook=_each_name_once, parse_constant=_refuse_constant)
    except (ValueError, TypeError, RecursionError) as error:
        raise ArgumentError(f"this is not the JSON of {name}: {error!s:.300}") from None


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ArgumentError("it has a duplicate name")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ArgumentError(f"it holds {name}, which is not valid JSON")


def document_of(cls: type) -> str:
    """Say what a JSON document of a class is called in a sentence.

    >>> from ssba.results import WhyNot
    >>> document_of(WhyNot)
    "the kind 'why_not'"
    """
    return f"the kind {kind_of(cls)!r}"


def kind_of(cls: type) -> str:
    """Return the name of a class as JSON has it.

    >>> class WhyNot: ...
    >>> kind_of(WhyNot)
    'why_not'
    """
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in cls.__name__).lstrip("_")


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or (isinstance(value, str | bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, JsonForm):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {**_kind(type(value)), **_fields(value), **_derived(value)}
    if isinstance(value, Mapping):
        return {str(name): to_plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(inner) for inner in value]
    if hasattr(value, "item"):
        return to_plain(value.item())
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise ArgumentError(
        f"{value!r:.80} of type {type(value).__name__} has no JSON form; give the model labels of text, "
        "numbers or booleans"
    )


def plain_or_text(value: Any) -> Any:
    """Return a value as JSON has it; what has no JSON form, such as a period of time, is written as text."""
    try:
        return to_plain(value)
    except ArgumentError:
        return str(value)


def _kind(cls: type) -> dict[str, str]:
    return {"kind": kind_of(cls)} if getattr(cls, "has_kind", False) else {}


def _derived(value: Any) -> dict[str, Any]:
    return {name: to_plain(getattr(value, name)) for name in getattr(value, "derived", ())}


def _fields(value: Any) -> dict[str, Any]:
    return {
        one.name: one.metadata.get("write", to_plain)(getattr(value, one.name))
        for one in written_fields(type(value))
    }


def written_fields(cls: type) -> list[dataclasses.Field[Any]]:
    """Return the fields of a dataclass that are written; those marked with ``json=False`` are not.

    A field's ``write`` is the function that makes it plain, `to_plain` by default.
    """
    assert dataclasses.is_dataclass(cls)
    return [one for one in dataclasses.fields(cls) if one.metadata.get("json", True)]


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields."""
    return get_type_hints(cls)


def _build_dataclass(cls: type, raw: Mapping[str, Any]) -> Any:
    hints = hints_of(cls)
    given = {}
    for one in written_fields(cls):
        value = raw[one.name]
        null = value is None and "null" in one.metadata
        given[one.name] = one.metadata["null"] if null else build(hints[one.name], value)
    return cls(**given)


def build(hint: Any, raw: Any) -> Any:
    """Return a plain value as a field of this type has it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return raw
    if origin in (Union, types.UnionType):
        return _build_union(inner, raw)
    if origin is Literal:
        return _checked(raw in inner, hint, raw)
    if origin is tuple:
        items = _checked(isinstance(raw, list), hint, raw)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(build(inner[0], one) for one in items)
        return tuple(build(one, item) for one, item in zip(inner, items, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        members = _checked(isinstance(raw, Mapping), hint, raw)
        return {name: build(inner[1], value) for name, value in members.items()}
    if isinstance(hint, type) and issubclass(hint, JsonForm):
        return hint.from_dict(raw)
    if dataclasses.is_dataclass(hint):
        return _build_dataclass(hint, _checked(isinstance(raw, Mapping), hint, raw))  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(raw)
    if hint is float and isinstance(raw, int) and not isinstance(raw, bool):
        return _float(raw)
    return _checked(type(raw) is hint, hint, raw)


def _float(raw: int) -> float:
    try:
        return float(raw)
    except OverflowError:
        raise ArgumentError(
            f"{raw!s:.20}... is too large, where a number up to {sys.float_info.max:.1e} was expected"
        ) from None


def _build_union(options: tuple[Any, ...], raw: Any) -> Any:
    if raw is None and type(None) in options:
        return None
    known = [one for one in options if one is not type(None)]
    if isinstance(raw, Mapping) and "kind" in raw:
        named = {kind_of(one): one for one in known if isinstance(one, type)}
        return build(named[raw["kind"]], raw)
    if len(known) == 1:
        return build(known[0], raw)
    words = [word for one in known if get_origin(one) is Literal for word in get_args(one)]
    return _checked(type(raw) in known or raw in words, options, raw)


def _checked(fits: bool, hint: Any, raw: Any) -> Any:
    if not fits:
        name = getattr(hint, "__name__", str(hint))
        raise ArgumentError(f"{raw!r:.60} where {name} was expected")
    return raw
