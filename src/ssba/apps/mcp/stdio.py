"""The server over stdin and stdout, where stdout belongs to the protocol alone."""

import os
import signal
import sys
from typing import TextIO

import anyio
from mcp.server.stdio import stdio_server

from ssba.apps.exits import INTERRUPTED
from ssba.apps.mcp.server import build_server
from ssba.apps.service import Service
from ssba.apps.work import Desk


def take_stdout() -> TextIO:
    """Keep stdout for the protocol, until the process ends; whatever else is written there goes to stderr.

    A model may print, from Python or below it, and buffers may be written out as late as at the exit. So the
    descriptor itself is turned, before a model is loaded, and never turned back.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(wire, "w", encoding="utf-8", newline="\n")


def serve_stdio(service: Service, desk: Desk, wire: TextIO) -> None:
    """Serve one client until it closes stdin, or somebody interrupts; `wire` is from `take_stdout`."""
    server = build_server(service, desk)
    # Python's own way would wait for the thread that reads stdin, and so for the client.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))

    async def serve() -> None:
        async with stdio_server(stdout=anyio.wrap_file(wire)) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)
