"""What is wrong with a project, in one line for each problem; several are told together."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ssba.apps.project.locations import Key, Locations
from ssba.apps.project.settings import BudgetSettings, FeatureSettings, ProjectSettings
from ssba.apps.project.toml_lines import contains
from ssba.arguments import came, closest
from ssba.errors import ArgumentError, SsbaError

Found = TypeVar("Found")
Detail = Mapping[str, Any]

QUOTE_COLONS = "quote a constraint that has a colon: \"exang: 'yes' -> {'no'}\""

_ALLOWED: dict[str, Callable[[Detail], str]] = {
    "literal_error": lambda context: str(context["expected"]).replace("'", ""),
    "greater_than": lambda context: f"numbers above {context['gt']:g}",
    "greater_than_equal": lambda context: f"numbers from {context['ge']:g}",
    "finite_number": lambda _: "finite numbers",
    "string_too_short": lambda _: "texts that are not empty",
}
_BY_TYPE = {
    "string": "text",
    "int": "whole numbers",
    "float": "numbers",
    "bool": "true and false",
    "tuple": "lists",
    "dict": "tables",
    "model": "tables",
}


class ProjectFileError(ArgumentError):
    """A project that cannot be used; its message has one line for each problem."""


def all_of(steps: Iterable[Callable[[], Found]]) -> list[Found]:
    """Take every step, also behind one that fails, and tell the problems of all of them together."""
    done: list[Found] = []
    problems: list[SsbaError] = []
    for step in steps:
        try:
            done.append(step())
        except SsbaError as error:
            problems.append(error)
    tell(problems)
    return done


def tell(problems: Sequence[SsbaError]) -> None:
    """Raise problems, if there are any: a single one as it is, several as lines of one error."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        # Twice the same line, as for a column that two settings misspell alike, says no more than once.
        lines = dict.fromkeys(one.one_line for one in problems)
        raise ProjectFileError("\n".join(lines))


def problems_of(refused: ValidationError, said: Any, where: Locations) -> tuple[str, ...]:
    """Say every problem of a document in one line, in the order in which they are in the file."""
    by_key: dict[Key, list[Detail]] = {}
    for detail in refused.errors(include_url=False):
        by_key.setdefault(_key_in(said, detail), []).append(detail)
    # A union complains about each of its members; what is wrong deeper down is what was meant.
    deepest = [one for one in by_key if not any(other[: len(one)] == one != other for other in by_key)]
    deepest.sort(key=lambda key: where.line(key) or 0)
    return tuple(_problem(key, by_key[key], where) for key in deepest)


def _key_in(said: Any, detail: Detail) -> Key:
    """Return the key that is meant: pydantic adds the members of unions to it."""
    key: Key = ()
    for part in detail["loc"]:
        if detail["type"] == "missing" or contains(said, (*key, part)):
            key = (*key, part)
    return key


def _problem(key: Key, details: Sequence[Detail], where: Locations) -> str:
    kind, value = details[0]["type"], details[0]["input"]
    if kind == "missing":
        meaning = ProjectSettings.model_fields[str(key[-1])].description
        return f"{where(*key)} is missing; it names the {str(meaning).rstrip('.').lower()}"
    if kind == "extra_forbidden":
        return f"{where(*key)} is not a setting; {_what_instead(key)}"
    allowed = " or ".join(dict.fromkeys(map(_allowed, details)))
    words = [word for one in details if one["type"] == "literal_error" for word in _words(one)]
    near = closest(value, words)
    meant = "" if near is None else f" (did you mean {near}?)"
    # YAML takes what stands before a colon for a key.
    hint = f"; {QUOTE_COLONS}" if key[0] == "constraints" and isinstance(value, dict) else ""
    return f"{where(*key)} is {came(value)}; allowed are {allowed}{meant}{hint}"


def _words(detail: Detail) -> list[str]:
    return re.findall(r"'(\w+)'", detail["ctx"]["expected"])


def _allowed(detail: Detail) -> str:
    kind = str(detail["type"])
    if kind in _ALLOWED:
        return _ALLOWED[kind](detail.get("ctx", {}))
    return _BY_TYPE.get(kind.partition("_")[0], str(detail["msg"]))


def _what_instead(key: Key) -> str:
    name, known = str(key[-1]), list(_settings_at(key[:-1]).model_fields)
    if name == "trust_pickle":
        return "a file cannot vouch for itself: give --trust-pickle on the command line"
    if near := closest(name, known):
        return f"did you mean {near}?"
    if len(key) > 1 and name in ProjectSettings.model_fields:
        return "it belongs to the project as a whole: move it above the first [table]"
    return f"allowed are {', '.join(known)}"


def _settings_at(key: Key) -> type[BaseModel]:
    inner: dict[str, type[BaseModel]] = {"features": FeatureSettings, "budget": BudgetSettings}
    return inner[str(key[0])] if key else ProjectSettings
