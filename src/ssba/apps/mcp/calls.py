"""Answers calls of tools: arguments are read, the service is asked in a thread, errors become results."""

import logging
from collections.abc import Mapping
from typing import Any

import anyio
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, TextContent

from ssba.apps.limits import Meter
from ssba.apps.mcp.schemas import structured
from ssba.apps.mcp.tools import TOOLS, ServiceTool
from ssba.apps.refusals import is_about_the_request, read_request, refusal
from ssba.apps.service import Service
from ssba.apps.words import AGENT
from ssba.apps.work import Desk

_LOG = logging.getLogger(__name__)

_NULLS_INSIDE = frozenset({"options", "budget"})
"""Arguments whose own parts may be null, too; in a row null is a missing cell."""
_EVERY = 0.25
"""Seconds between two notifications of progress."""


class ToolCalls:
    """Answers calls of tools about one project.

    Parameters
    ----------
    service : Service
        Answers the questions.
    desk : Desk
        Lets few of them be worked on at once.
    """

    def __init__(self, service: Service, desk: Desk) -> None:
        self._service = service
        self._desk = desk
        self._tools = {one.name: one for one in TOOLS}

    async def answer(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        """Answer a call; while the model is asked, tell the client how many rows it was asked about."""
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r:.80}; there are {known}")
        meter = Meter(self._service.limits)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_report_progress, context.session, meter)
            result = await self._result(tool, params.arguments or {}, meter)
            tasks.cancel_scope.cancel()
        return result

    async def _result(self, tool: ServiceTool, arguments: Mapping[str, Any], meter: Meter) -> CallToolResult:
        def work(meter: Meter) -> CallToolResult:
            # All of it in the thread: arguments that take seconds to refuse would hold up every client.
            reply = tool.ask(self._service, read_request(tool.request, usual(arguments)), meter)
            return CallToolResult(content=[_text(tool.text(reply))], structured_content=structured(reply))

        try:
            return await self._desk.run(work, meter, light=tool.light)
        except Exception as error:
            if not is_about_the_request(error):
                _LOG.exception("the tool %s failed", tool.name)
            return CallToolResult(content=[_text(refusal(error, AGENT))], is_error=True)


def usual(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as the forms know them: agents write null for what they leave out, and one text alone.

    >>> usual({"row": 6, "search": None, "options": {"k": None}, "set": {"ca": None}, "constraints": "a < 1"})
    {'row': 6, 'options': {}, 'set': {'ca': None}, 'constraints': ['a < 1']}
    """
    given = _without_nulls(arguments)
    for name in _NULLS_INSIDE & set(given):
        if isinstance(given[name], Mapping):
            given[name] = _without_nulls(given[name])
    if isinstance(given.get("constraints"), str):
        given["constraints"] = [given["constraints"]]
    return given


def _without_nulls(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


async def _report_progress(session: ServerSession, meter: Meter) -> None:
    """Tell from time to time how many model rows were asked about; clients that did not ask for it get none.

    The count is looked at from here rather than sent by the thread that works, which a slow client would
    hold up.
    """
    told = 0
    while True:
        await anyio.sleep(_EVERY)
        if meter.rows > told:
            told = meter.rows
            await session.report_progress(told, message=f"{told:,} model rows asked about")


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
