"""docs/cli.md: it has every option of every command, as the command tells it, and its examples are true."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from ssba.apps import exits
from ssba.apps.cli import commands
from ssba.apps.sources import Sources

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
TEXT = DOCS.read_text(encoding="utf-8")
SHARED = [f"--{name.replace('_', '-')}" for name in Sources.__dataclass_fields__]


def test_the_first_steps_install_what_they_use() -> None:
    extras = tomllib.loads((DOCS.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = extras["optional-dependencies"]
    (named,) = set(re.findall(r"the steps below .*pip install 'ssba\[([\w,]+)\]'", TEXT))
    brought = " ".join(one for extra in named.split(",") for one in known[extra])
    steps = TEXT.split("## Certificates")[0]
    assert ("from skops import io" in steps) <= ("skops" in brought)
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


def is_option(parameter: Any) -> bool:
    return str(parameter.param_type_name) == "option" and parameter.name != "help"


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
    return ["| option | meaning |", "|---|---|", *map(row, options)] if options else []


def section(name: str, command: Any) -> str:
    """What the page must say about a command; options about model and data have a table of their own."""
    arguments = " ".join(one.metavar for one in command.params if one.param_type_name == "argument")
    options = [one for one in command.params if is_option(one)]
    own = [one for one in options if one.opts[0] not in SHARED]
    if name in ("demo", "check-certificate"):
        own = options
    lines = [f"### `ssba {name} {arguments}".strip() + "`", "", command.help.strip()]
    if len(own) < len(options):
        lines[-1] += " Takes the options about model and data, too."
    return "\n".join([*lines, *(["", *table(own)] if own else [])])


def shared_section() -> str:
    options = [one for one in leaves()["boundary build"].params if is_option(one) and one.opts[0] in SHARED]
    heading = "### Options about model and data, of `build`, `grow`, `verify` and `export`"
    return "\n".join([heading, "", *table(options)])


@pytest.mark.parametrize("name", leaves())
def test_page_tells_every_option_as_the_command_does(name: str) -> None:
    wanted = section(name, leaves()[name])
    assert f"\n{wanted}\n" in TEXT, f"put this into {DOCS.name}:\n\n{wanted}"


def test_page_tells_the_options_about_model_and_data_once() -> None:
    wanted = shared_section()
    assert f"\n{wanted}\n" in TEXT, f"put this into {DOCS.name}:\n\n{wanted}"


def test_page_names_no_command_that_is_not_there() -> None:
    named = re.findall(r"^### `ssba ([a-z -]+?)(?: [A-Z ]+)?`$", TEXT, flags=re.MULTILINE)
    assert sorted(named) == sorted(leaves())


def test_page_lists_the_exit_codes() -> None:
    listed = set(map(int, re.findall(r"^\| (\d+) \|", TEXT, flags=re.MULTILINE)))
    assert listed == {0, exits.REFUSED, exits.USAGE, exits.BROKEN, exits.INTERRUPTED}
    assert set(map(int, re.findall(r"\d+", exits.MEANING))) == listed


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def matches(shown: str, printed: str) -> bool:
    """Whether a text was printed as it is shown, where three dots stand for anything within a line."""
    pattern = "[^\n]*".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, printed) is not None


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (preparation,) = fenced("python")
    subprocess.run([sys.executable, "-c", preparation], check=True)
    shown = "".join(fenced("console"))
    steps = re.findall(r"^\$ ssba (.*)\n((?:(?!\$ ).*\n)*)", shown, flags=re.MULTILINE)
    assert len(steps) == shown.count("$ ssba ") > 3
    for line, wanted in steps:
        done = CliRunner().invoke(commands(), shlex.split(line))
        assert done.exit_code == (exits.BROKEN if "--sample" in line else 0), done.output
        assert matches(wanted, done.output), f"$ ssba {line}\n{done.output}"
