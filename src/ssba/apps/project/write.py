"""Writes project files: settings as TOML, with comments for whoever goes on with them."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ssba.apps.project.settings import FeatureSettings, ProjectSettings
from ssba.columns.features import Declaration
from ssba.results.column_table import ColumnTable, values_text
from ssba.results.words import columns as aligned
from ssba.suggest.suggestions import Suggestions

_WIDTH = 110

INTRODUCTION = """\
# A project of ssba: a model, its data, and what may change. `ssba check` checks it, `ssba explain` uses it.
# Lines that begin with # and no space are settings that are switched off: remove the # to switch one on.
"""


def project_text(
    settings: ProjectSettings,
    columns: ColumnTable,
    suggestions: Suggestions | None = None,
    notes: Mapping[str, str] | None = None,
) -> str:
    """Return a project file.

    Parameters
    ----------
    settings
        What it says; what is as by default is left out.
    columns
        The columns that the model takes, which are listed.
    suggestions
        What is proposed about them, as settings that are switched off.
    notes
        Comments, by the names of the settings that they stand beside.
    """
    said = {name: value for name, value in settings if value != _default(name) or name in ("model", "data")}
    tables = {name: said.pop(name) for name in list(said) if isinstance(said[name], dict)}
    tables |= {"budget": budget.model_dump(exclude_none=True)} if (budget := said.pop("budget", None)) else {}
    features = tables.pop("features", {})
    lines = [_with_note(f"{name} = {toml_value(value)}", notes, name) for name, value in said.items()]
    if settings.target is None and notes and "target" in notes:
        lines.append(f"# no target: any class but the predicted one; {one_line(notes['target'])}")
    if suggestions is not None:
        lines += _suggested_constraints(suggestions)
    for name, table in tables.items():
        lines += _table(name, table)
    lines += _listed(columns)
    lines += [line for name, one in features.items() for line in _feature(name, one)]
    if suggestions is not None:
        lines += _suggested_kinds(suggestions, features)
    return INTRODUCTION + "\n" + "\n".join(lines) + "\n"


def _default(name: str) -> Any:
    return ProjectSettings.model_fields[name].default


def _with_note(line: str, notes: Mapping[str, str] | None, name: str) -> str:
    note = one_line((notes or {}).get(name, ""))
    beside = f"{line}  # {note}"
    if not note:
        return line
    return beside if len(beside) <= _WIDTH and "\n" not in line else f"# {note}\n{line}"


def _table(name: str, table: Mapping[str, Any]) -> list[str]:
    return [
        "",
        f"[{toml_key(name)}]",
        *(f"{toml_key(key)} = {toml_value(one)}" for key, one in table.items()),
    ]


def _feature(name: str, said: FeatureSettings) -> list[str]:
    given = said.model_dump(exclude_none=True)
    return ["", f"[features.{toml_key(name)}]", *(f"{key} = {toml_value(one)}" for key, one in given.items())]


def _listed(columns: ColumnTable) -> Iterator[str]:
    """List the columns with their kinds, and values to know them by."""
    yield from (
        "",
        "# The columns that the model takes. To say more about one, write [features.NAME], and there",
    )
    yield "# kind, levels, low, high, step, unit or meaning."
    table = aligned([[one_line(one.name), one.kind, one_line(values_text(one))] for one in columns])
    yield from (f"#   {line}" for line in table.splitlines())


def _suggested_constraints(suggestions: Suggestions) -> Iterator[str]:
    """Constraints that are switched off, each with its reason."""
    found = [(text, "; ".join(one.reasons)) for one in suggestions.columns for text in one.constraints]
    found += [(text, link.reason) for link in suggestions.links for text in link.texts]
    yield from (
        "",
        "# Constraints that every answer meets. These are guesses from the data and the names of the",
    )
    yield "# columns: switch on those that are right, and add your own."
    yield "constraints = ["
    yield from (f"    #{toml_value(text)},  # {one_line(reason)}" for text, reason in found)
    yield "]"


def _suggested_kinds(suggestions: Suggestions, said: Mapping[str, Any]) -> Iterator[str]:
    """Kinds that are switched off, each with its reason, for columns of which nothing is said."""
    for one in suggestions.columns:
        if one.declaration is not None and one.column not in said:
            yield from ("", f"# {one_line('; '.join(one.reasons))}")
            yield f"#[features.{toml_key(one.column)}]"
            yield from (f"#{key} = {toml_value(value)}" for key, value in _declared(one.declaration))


def _declared(declaration: Declaration) -> Iterator[tuple[str, Any]]:
    yield "kind", declaration.kind
    for key in ("levels", "low", "high", "step", "unit"):
        value = getattr(declaration, key)
        if value not in (None, (), math.inf, -math.inf):
            yield key, value


def toml_value(value: Any) -> str:
    """Write a value as TOML has it.

    >>> toml_value("5 > 3"), toml_value(True), toml_value(("a", 1.5))
    ('"5 > 3"', 'true', '["a", 1.5]')
    """
    if isinstance(value, list | tuple):
        items = [toml_value(one) for one in value]
        flat = f"[{', '.join(items)}]"
        return flat if len(flat) <= 80 else "[\n" + "".join(f"    {one},\n" for one in items) + "]"
    # JSON leaves one character alone that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Write a key as TOML has it.

    >>> toml_key("chol"), toml_key("resting pressure")
    ('chol', '"resting pressure"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def one_line(text: str) -> str:
    """Return a text that cannot leave a comment: without line breaks and control characters."""
    return "".join(one if one.isprintable() else " " for one in text)
