"""The server for agents, as an ASGI application and over stdin and stdout."""

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TextIO

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ListToolsResult, PaginatedRequestParams

import ssba
from ssba.apps.exits import INTERRUPTED
from ssba.apps.mcp.calls import ToolCalls
from ssba.apps.mcp.descriptions import unwrapped
from ssba.apps.mcp.prompts import Prompts
from ssba.apps.mcp.resources import Reading
from ssba.apps.mcp.tools import TOOLS
from ssba.apps.service import Service
from ssba.apps.work import Desk

if TYPE_CHECKING:
    from starlette.applications import Starlette

_MOST_SESSIONS = 1000
_IDLE_SECONDS = 600.0
_MOST_BYTES = 4 * 2**20


def build_server(service: Service, desk: Desk) -> Server[Any]:
    """Make the server, for any transport.

    Parameters
    ----------
    service : Service
        Answers the questions.
    desk : Desk
        Lets few of them be worked on at once; it may be shared with other ways in.
    """
    listed = [one.listed for one in TOOLS]
    calls, reading, prompts = ToolCalls(service, desk), Reading(service), Prompts(service)

    async def list_tools(
        context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    return Server(
        "ssba",
        version=ssba.__version__,
        title=service.project.settings.title or None,
        instructions=_instructions(service),
        on_list_tools=list_tools,
        on_call_tool=calls.answer,
        on_list_resources=reading.list,
        on_read_resource=reading.read,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
    )


def mcp_app(service: Service, desk: Desk, path: str = "/mcp") -> "Starlette":
    """Make the ASGI application that serves agents over streamable HTTP, at one path.

    Its lifespan has to run. As an application of its own uvicorn sees to that. An application that takes over
    its route (``app.routes``) enters ``app.router.lifespan_context(app)`` in its own lifespan, once.

    Host, Origin, tokens and the size of bodies are checked by whoever stands in front: the SDK's own check of
    hosts and origins is off, so that the two cannot disagree. Its limit of 4 MiB a body remains.

    Clients of the protocol 2026-07-28 need no session, and stop their work by closing the connection. Earlier
    ones get a session, as the server would not know otherwise what they cancel; there are at most 1,000, and
    each ends after ten idle minutes.
    """
    return build_server(service, desk).streamable_http_app(
        streamable_http_path=path,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_SESSIONS,
        max_request_body_size=_MOST_BYTES,
    )


def _instructions(service: Service) -> str:
    about = service.describe()
    title = f"{about.title}. " if about.title else ""
    return unwrapped(f"""
        {title}These tools look for the smallest feasible change of a row that gives a trained model's
        desired outcome, {about.target}. Begin with describe_model, find the row with find_rows, then ask
        find_counterfactual with constraints. Where it ends bounded or infeasible ask why_not; tell an
        answer in steps with make_plan. Never present an answer as more than the tools say, and give this
        caution with every answer that a person reads: {about.caution}
    """)


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
