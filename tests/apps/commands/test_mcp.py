"""`ssba mcp` with a project of one's own; `tests/apps/mcp` has the rest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ssba
from ssba.apps.exits import REFUSED

RUN = "import sys; from ssba.apps.cli import main; main(sys.argv[1:])"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(ssba.__file__).parents[1])}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )


def test_it_serves_the_project_that_is_named(tmp_path: Path) -> None:
    assert run("init", "--heart", str(tmp_path)).returncode == 0
    file = tmp_path / "ssba.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("Heart patients", "Ward 7"), encoding="utf-8")
    served = run("mcp", "--project", str(file), stdin=f"{json.dumps(HELLO)}\n")
    assert served.returncode == 0, served.stderr
    assert json.loads(served.stdout)["result"]["serverInfo"]["title"] == "Ward 7"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_somebody_at_a_terminal_learns_first_that_a_client_is_expected(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", RUN, "mcp", "--project", str(tmp_path / "none.toml")],
        stdin=theirs,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    first, second = done.stderr.splitlines()
    assert "a client of the Model Context Protocol is expected on stdin" in first
    assert second.startswith("ssba: --project ")


def test_a_project_that_cannot_be_opened_is_refused_on_stderr(tmp_path: Path) -> None:
    refused = run("mcp", "--project", str(tmp_path / "none.toml"))
    assert refused.returncode == REFUSED
    assert refused.stdout == ""
    assert refused.stderr.startswith("ssba: --project ")
