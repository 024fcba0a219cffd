"""docs/project.md: its examples are projects, and it has every setting as the code describes it.

`python -m tests.apps.project.test_project_docs` writes the tables of settings.
"""

import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from ssba.apps.model_files import MODEL_SUFFIXES
from ssba.apps.project.read import read_project
from ssba.apps.project.settings import BudgetSettings, FeatureSettings, ProjectSettings

DOCS = Path(__file__).parents[3] / "docs" / "project.md"
TEXT = DOCS.read_text(encoding="utf-8")
HEADING = "## All settings\n\n"

_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def in_words(kind: Any) -> str:
    """A type as somebody who writes TOML knows it."""
    members = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) is Annotated:
        return in_words(members[0])
    if kind in _WORDS:
        return _WORDS[kind]
    if get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in members)
    if get_origin(kind) is types.UnionType or "Union" in str(get_origin(kind)):
        # A number may be whole.
        return " or ".join(in_words(one) for one in members if one is not int or float not in members)
    if get_origin(kind) is tuple:
        return f"list of {in_words(members[0])}"
    if get_origin(kind) is dict:
        return f"table of {in_words(members[1])}"
    assert issubclass(kind, BaseModel), kind
    return "table, see below"


def default_in_words(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return ""
    return "see below" if isinstance(value, BaseModel) else f"`{value}`"


def table(form: type[BaseModel]) -> str:
    lines = ["| key | type | by default | meaning |", "|---|---|---|---|"]
    for name, field in form.model_fields.items():
        default = "required" if field.is_required() else default_in_words(field.default)
        lines.append(f"| `{name}` | {in_words(field.annotation)} | {default} | {field.description} |")
    return "\n".join(lines)


def generated() -> str:
    parts = [
        table(ProjectSettings),
        "### One column: `[features.NAME]`",
        table(FeatureSettings),
        "### What a query may spend: `[budget]`",
        table(BudgetSettings),
    ]
    return "\n\n".join(parts) + "\n"


def test_page_has_every_setting() -> None:
    _, _, told = TEXT.partition(HEADING)
    assert told == generated(), "run python -m tests.apps.project.test_project_docs"


def example(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def test_both_examples_are_the_same_project(tmp_path: Path) -> None:
    for language in ("toml", "yaml"):
        (tmp_path / f"ssba.{language}").write_text(example(language), encoding="utf-8")
    settings, _ = read_project(tmp_path / "ssba.toml")
    assert settings == read_project(tmp_path / "ssba.yaml")[0]
    assert settings.features["slope"].levels == ("downsloping", "flat", "upsloping")


def test_page_has_every_kind_of_model_file() -> None:
    _, _, told = TEXT.partition("## Model files")
    listed = re.findall(r"`(\.\w+)`", "".join(re.findall(r"^\| (`\..*?) \|", told, flags=re.MULTILINE)))
    assert listed == list(MODEL_SUFFIXES)


if __name__ == "__main__":
    before, _, _ = TEXT.partition(HEADING.rstrip("\n"))
    DOCS.write_text(before + HEADING + generated(), encoding="utf-8")
