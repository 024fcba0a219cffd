"""The walk of the README without Python, from `ssba init` to a served answer, as somebody types it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PORT = "8000"


def steps() -> list[tuple[str, str]]:
    """Return the commands of the walk with what they print."""
    (walk,) = re.findall(r"^```console\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", walk, flags=re.MULTILINE)


def matches(shown: str, printed: str) -> bool:
    """Tell whether a text was printed as it is shown, where three dots stand for anything."""
    pattern = ".*".join(map(re.escape, " ".join(shown.split()).split("...")))
    return re.fullmatch(pattern, " ".join(printed.split()), flags=re.DOTALL) is not None


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


@pytest.mark.skipif(shutil.which("curl") is None, reason="the walk ends with curl")
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    folder, port, server = tmp_path, free_port(), None
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    try:
        for line, wanted in steps():
            typed, shown = line.replace(PORT, port), wanted.replace(PORT, port)
            if typed.startswith("cd "):
                folder = folder / typed.removeprefix("cd ")
                continue
            if typed.startswith("ssba serve"):
                server = subprocess.Popen(
                    f"exec {typed}",
                    shell=True,
                    cwd=folder,
                    env=here,
                    text=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                assert server.stdout is not None
                printed = server.stdout.readline()
            else:
                done = subprocess.run(
                    typed, shell=True, cwd=folder, env=here, text=True, capture_output=True, check=False
                )
                assert done.returncode == 0, f"$ {line}\n{done.stderr}"
                printed = done.stdout
            assert matches(shown, printed), f"$ {line}\n{printed}"
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    assert server is not None
    assert server.returncode == 0


def test_it_goes_from_init_to_a_served_answer() -> None:
    commands = [line for line, _ in steps()]
    assert commands[0].startswith("ssba init")
    assert commands[-1].startswith("curl ")
