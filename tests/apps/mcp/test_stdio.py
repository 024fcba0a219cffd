"""The server over stdin and stdout, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.support import every

import ssba
from ssba.apps.exits import INTERRUPTED

ROOT = Path(__file__).parents[3]
PATHS = os.pathsep.join([str(ROOT), str(Path(ssba.__file__).parents[1])])
COMMAND = "from ssba.apps.cli import main; main(['mcp'])"

LOUD = """
import os, subprocess, sys
from ssba.apps.mcp import serve_stdio, take_stdout
from ssba.apps.work import Desk
from tests.apps.mcp.school import Exam, school

wire = take_stdout()

class LoudExam(Exam):
    def predict_proba(self, rows):
        print("printed by Python, written out who knows when")
        os.write(1, b"written below Python\\n")
        subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
        return super().predict_proba(rows)

print("printed while loading")
serve_stdio(school(LoudExam()), Desk(workers=1), wire)
"""


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


def started(code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS},
    )


def send(process: "subprocess.Popen[str]", message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{json.dumps(message)}\n")
    process.stdin.flush()


def parameters(code: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-c", code], env={"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    )


def test_ssba_mcp_serves_the_packaged_patients() -> None:
    async def main() -> tuple[Any, ...]:
        with tempfile.TemporaryFile("w+") as log:
            async with Client(stdio_client(parameters(COMMAND), errlog=log)) as client:
                tools = (await client.list_tools()).tools
                described = await client.call_tool("describe_model", {})
                rows = await client.call_tool("find_rows", {"where": {"age": 60, "chol": 253}})
                wrong = await client.call_tool("predict", {"row": 303})
                return client.server_info, tools, described, rows, wrong

    info, tools, described, rows, wrong = anyio.run(main)
    assert (info.name, info.title, info.version) == ("ssba", "Heart patients", ssba.__version__)
    assert len(tools) == 7
    assert described.structured_content["rows"] == 303
    assert [one["row"] for one in rows.structured_content["rows"]] == [54]
    assert wrong.content[0].text == "row 303 is not in the data, whose 303 rows are 0 to 302"


def test_what_a_model_prints_never_reaches_the_protocol() -> None:
    """Everything on stdout is a message of the protocol, until the process has ended."""
    call = {"name": "predict", "arguments": {"row": 5}}
    with started(LOUD) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        send(process, HELLO)
        send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        send(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        lines = [process.stdout.readline(), process.stdout.readline()]
        process.stdin.close()
        lines += process.stdout.readlines()
        log = process.stderr.read()
    assert process.returncode == 0
    messages = [json.loads(line) for line in lines]
    assert [one["id"] for one in messages] == [1, 2]
    assert messages[1]["result"]["structuredContent"]["prediction"]["prediction"] == 0
    printed = ("while loading", "by Python", "below Python", "by a child")
    assert every(one in log for one in printed)


def test_an_interrupt_ends_it_although_the_client_is_silent() -> None:
    with started(LOUD) as process:
        assert process.stdout is not None
        send(process, HELLO)
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == INTERRUPTED
