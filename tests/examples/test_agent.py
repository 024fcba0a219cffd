"""The agent's example: its settings can be read, and the conversation is what the script prints."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer.main
from examples.agent.session import main
from mcp import StdioServerParameters
from tests.support import every

import ssba
from ssba.apps.cli import commands
from ssba.apps.mcp.resources import RESOURCES
from ssba.apps.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
README = ROOT / "examples/agent/README.md"
PAGE = ROOT / "docs/agents.md"
RUN = "from ssba.apps.cli import main; main(['mcp'])"
ENVIRONMENT = {"PYTHONPATH": str(Path(ssba.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def fenced(file: Path, language: str) -> list[str]:
    text = file.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def servers() -> list[dict[str, Any]]:
    settings = [json.loads(one) for file in (README, PAGE) for one in fenced(file, "json")]
    return [one.get("mcpServers", one.get("servers"))["ssba"] for one in settings]


def test_settings_name_a_command_that_exists() -> None:
    known = typer.main.get_command(commands())
    called = [one["args"] for one in servers() if one.get("command") == "ssba"]
    called += [shlex.split(one)[-1:] for one in fenced(README, "sh")]
    assert len(called) == 4
    for name, *arguments in called:
        command = vars(known)["commands"][name]
        command.make_context(name, list(arguments), resilient_parsing=False)


def test_settings_for_http_name_the_endpoint() -> None:
    (over_http,) = [one for one in servers() if "url" in one]
    assert over_http["url"].endswith("/mcp")
    assert over_http["type"] == "http"


def test_the_page_lists_every_tool_and_resource() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE) == [one.name for one in TOOLS]
    assert every(f"`{one.listed.uri}`" in text for one in RESOURCES)


def test_the_pages_example_prints_what_it_shows() -> None:
    (script,) = fenced(PAGE, "python")
    (shown,) = fenced(PAGE, "text")
    ours = f"command={sys.executable!r}, args=['-c', {RUN!r}], env={ENVIRONMENT}"
    assert 'command="ssba", args=["mcp"]' in script
    here = script.replace('command="ssba", args=["mcp"]', ours)
    done = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, check=True)
    assert done.stdout == shown


@pytest.mark.slow
def test_the_conversation_is_what_the_script_prints(capsys: pytest.CaptureFixture[str]) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-c", RUN], env=ENVIRONMENT)
    anyio.run(main, server)
    (shown,) = fenced(README, "text")
    assert capsys.readouterr().out == shown
