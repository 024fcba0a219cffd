"""Reads project files: TOML or YAML, checked as a whole, with every problem told by its line."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ssba.apps.project.locations import Key, Locations
from ssba.apps.project.problems import ProjectFileError, problems_of
from ssba.apps.project.settings import ProjectSettings
from ssba.apps.project.toml_lines import toml_lines

PROJECT_FILES = ("ssba.toml", "ssba.yaml", "ssba.yml")
"""Names under which a project file is found."""


def read_project(file: Path) -> tuple[ProjectSettings, Locations]:
    """Read a project file and check what it says; also return where it says what."""
    readers = {".toml": _read_toml, ".yaml": _read_yaml, ".yml": _read_yaml}
    if file.suffix.lower() not in readers:
        raise ProjectFileError(f"{file.name}: the name of a project file ends in {', '.join(readers)}")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ProjectFileError(f"{file.name} is not UTF-8 text; save it as UTF-8") from None
    said, line = readers[file.suffix.lower()](file.name, text)
    where = Locations(file.name, line)
    if not isinstance(said, dict):
        raise ProjectFileError(f"{file.name} holds no settings; it needs at least model and data")
    try:
        return ProjectSettings.model_validate(said), where
    except ValidationError as refused:
        raise ProjectFileError("\n".join(problems_of(refused, said, where))) from None


Lines = Callable[[Key], int | None]


def _read_toml(name: str, text: str) -> tuple[Any, Lines]:
    # A problem of the last line is said to be "at end of document" unless the line ends.
    ended = text if text.endswith("\n") else f"{text}\n"
    try:
        return tomllib.loads(ended), toml_lines(ended)
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).rpartition(" (at ")
        found = re.search(r"line (\d+)", place)
        line = int(found[1]) if found else ended.count("\n")
        raise ProjectFileError(f"{name}, line {line}: {_in_words(problem)}") from None
    except RecursionError:
        raise ProjectFileError(f"{name}: lists or tables in it are nested too deeply") from None
    # Other errors of the reader are those above; this one is of Python, about its limit on digits.
    except ValueError:
        raise ProjectFileError(f"{name}: a number in it has too many digits") from None


_TOML_WORDS = {
    "Cannot overwrite a value": "a key is said twice; keep one of them",
    "Invalid value": 'a value is missing or not understood; text is written in quotes, "like this"',
}


def _in_words(problem: str) -> str:
    """Say what TOML's reader says, more plainly where beginners need it."""
    return _TOML_WORDS.get(problem, problem[:1].lower() + problem[1:])


def _read_yaml(name: str, text: str) -> tuple[Any, Lines]:
    from ssba.apps.project.yaml_lines import YamlProblem, read_yaml

    try:
        said, lines = read_yaml(text)
    except YamlProblem as problem:
        raise ProjectFileError(f"{name}, line {problem.line}: {problem}") from None
    return said, lines.get
