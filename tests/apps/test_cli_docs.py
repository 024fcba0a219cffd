"""docs/cli.md: it has every option of every command, as the command tells it, and its examples are true.

`python -m tests.apps.test_cli_docs` writes the tables of options.
"""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.support import every
from typer.testing import CliRunner

from ssba.apps import exits
from ssba.apps.cli import commands
from ssba.apps.project.choice import ProjectChoice

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
TEXT = DOCS.read_text(encoding="utf-8")
HEADING = "## All options\n\n"
SHARED = [f"--{name.replace('_', '-')}" for name in ProjectChoice.__dataclass_fields__]


def test_the_first_steps_install_what_they_use() -> None:
    extras = tomllib.loads((DOCS.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = extras["optional-dependencies"]
    (named,) = set(re.findall(r"the steps below .*pip install 'ssba\[([\w,]+)\]'", TEXT))
    brought = " ".join(one for extra in named.split(",") for one in known[extra])
    steps = TEXT.split("## Certificates")[0]
    assert ("skops" in steps) <= ("skops" in brought)
    assert (".parquet" in steps) <= ("pyarrow" in brought)
    assert ("sklearn" in steps) <= ("scikit-learn" in brought)


def group() -> Any:
    return typer.main.get_command(commands())


def leaves() -> dict[str, Any]:
    """All commands by their full names."""
    found: dict[str, Any] = {}
    for name, command in group().commands.items():
        inner = getattr(command, "commands", None)
        found |= {name: command} if inner is None else {f"{name} {one}": inner[one] for one in inner}
    return found


def options_of(command: Any) -> list[Any]:
    """The options of a command; completion's own are said elsewhere."""
    left_out = ("help", "install_completion", "show_completion")
    return [one for one in command.params if one.param_type_name == "option" and one.name not in left_out]


def is_about_projects(command: Any) -> bool:
    return set(SHARED) <= {one.opts[0] for one in options_of(command)}


def row(option: Any) -> str:
    """One option as a row of a table."""
    shown = f"{option.opts[0]} {option.metavar or ''}".strip().replace("|", "\\|")
    told = option.help
    if option.required:
        told += " Required."
    elif option.default is not None and option.default is not False:
        told += f" By default `{option.default}`."
    return f"| `{shown}` | {told} |"


def table(options: list[Any]) -> list[str]:
    return ["", "| option | meaning |", "|---|---|", *map(row, options)] if options else []


def section(name: str, command: Any) -> str:
    """What the page says about a command; options about the project have a table of their own."""
    arguments = " ".join(
        one.metavar if one.required else f"[{one.metavar}]"
        for one in command.params
        if one.param_type_name == "argument"
    )
    own = options_of(command)
    lines = [f"### `ssba {name} {arguments}".strip() + "`", "", command.help.strip()]
    if is_about_projects(command):
        own = [one for one in own if one.opts[0] not in SHARED]
        lines[-1] += " Takes the options about the project, too."
    return "\n".join([*lines, *table(own)])


def generated() -> str:
    """Everything behind the heading of all options."""
    about = [(name, command) for name, command in leaves().items() if is_about_projects(command)]
    names = ", ".join(f"`{name}`" for name, _ in about)
    shared = [one for one in options_of(about[0][1]) if one.opts[0] in SHARED]
    parts = [
        "\n".join(["### Before the command: `ssba [OPTIONS] COMMAND`", *table(options_of(group()))]),
        "\n".join([f"### Options about the project, of {names}", *table(shared)]),
        *(section(name, command) for name, command in leaves().items()),
    ]
    return "\n\n".join(parts) + "\n"


def test_page_tells_every_option_as_the_commands_do() -> None:
    _, _, told = TEXT.partition(HEADING)
    assert told == generated(), "run python -m tests.apps.test_cli_docs"


def test_every_option_says_what_it_is() -> None:
    options = [one for command in leaves().values() for one in options_of(command)]
    assert every(bool(one.help and one.help.endswith(".")) for one in options)


def test_page_lists_the_exit_codes() -> None:
    listed = set(map(int, re.findall(r"^\| (\d+) \|", TEXT, flags=re.MULTILINE)))
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert listed == {0, *codes}
    assert set(map(int, re.findall(r"\d+", exits.MEANING))) == listed


def matches(shown: str, printed: str) -> bool:
    """Whether a text was printed as shown; three dots stand for anything within a line, or for the rest."""
    *lines, last = shown.splitlines(keepends=True) or [""]
    if last == "...\n":
        return matches("".join(lines), "".join(printed.splitlines(keepends=True)[: len(lines)]))
    pattern = "[^\n]*".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, printed) is not None


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|console)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert {language for language, _ in blocks} == {"python", "console"}
    for language, block in blocks:
        if language == "python":
            subprocess.run([sys.executable, "-c", block], check=True)
            continue
        steps = re.findall(r"^\$ ssba (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)
        assert len(steps) == block.count("$ ssba ") > 0
        for line, wanted in steps:
            done = CliRunner().invoke(commands(), shlex.split(line))
            assert done.exit_code == (exits.BROKEN if "--sample" in line else 0), done.output
            assert matches(wanted, done.stdout), f"$ ssba {line}\n{done.output}"


if __name__ == "__main__":
    before, _, _ = TEXT.partition(HEADING.rstrip("\n"))
    DOCS.write_text(before + HEADING + generated(), encoding="utf-8")
