"""`ssba serve`: it prints where it is, answers, and stops when it is told to."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

import ssba
from ssba.apps.cli import commands, main
from ssba.errors import ServiceError

TOKEN = "a-long-enough-token"


@contextmanager
def started(*arguments: str, **variables: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run the command in a process of its own, and read the address that it prints."""
    program = "from ssba.apps.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        (url,) = re.findall(r"http://\S+", line) or [""]
        assert url == "" or re.fullmatch(r"ssba serves Heart patients: \S+ \(Ctrl-C stops\)\n", line)
        yield running, url
    finally:
        running.kill()
        running.communicate()


def ended(running: "subprocess.Popen[str]", how: signal.Signals) -> tuple[int, str]:
    running.send_signal(how)
    _, errors = running.communicate(timeout=60)
    return running.returncode, errors


SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")


def test_it_opens_the_page_in_the_browser_of_the_machine() -> None:
    with started("--open", BROWSER="echo opened %s") as (running, url):
        assert running.stdout is not None
        assert running.stdout.readline() == f"opened {url}\n"


@SIGNALS
def test_it_answers_about_the_heart_patients_until_it_is_interrupted() -> None:
    with started() as (running, url):
        with ssba.Client(url) as client:
            assert client.schema["title"] == "Heart patients"
            assert client.predict(6).prediction == "disease"
        left, errors = ended(running, signal.SIGINT)
    assert left == 0
    notice, *lines = errors.splitlines()
    assert "packaged heart project" in notice
    assert [json.loads(one)["route"] for one in lines] == ["/api/schema", "/api/predict"]


@SIGNALS
def test_a_token_may_come_from_the_environment_and_a_signal_ends_it() -> None:
    with started("--host", "0.0.0.0", SSBA_TOKEN=TOKEN) as (running, url):
        assert url.startswith("http://localhost:")
        with ssba.Client(url, TOKEN) as client:
            assert client.predict(6).prediction == "disease"
        with ssba.Client(url) as stranger, pytest.raises(ServiceError, match="401"):
            stranger.predict(6)
        left, errors = ended(running, signal.SIGTERM)
    assert left == -signal.SIGTERM
    assert "Traceback" not in errors
    assert TOKEN not in errors


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["serve", *arguments])
    assert left.value.code == 1
    return capsys.readouterr().err


class TestRefusals:
    def test_a_host_for_others_needs_a_token(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("SSBA_TOKEN", raising=False)
        said = refused(capsys, "--host", "0.0.0.0")
        assert said.startswith("ssba: --host 0.0.0.0 can be reached from other machines")
        assert said.count("\n") == 1, "one line, and no model was loaded"

    def test_a_short_token_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "at least 16" in refused(capsys, "--token", "secret")

    def test_a_port_in_use_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            said = refused(capsys, "--port", str(other.getsockname()[1]))
        assert "give another --port" in said

    def test_a_host_that_is_not_here_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        said = refused(capsys, "--host", "192.0.2.1", "--token", TOKEN)
        assert "cannot listen at 192.0.2.1" in said


def test_help_lists_the_options() -> None:
    done: Any = CliRunner().invoke(commands(), ["serve", "--help"])
    assert done.exit_code == 0
    for option in ("--host", "--port", "--token", "--workers", "--max-body", "--log-values", "--project"):
        assert option in done.output
