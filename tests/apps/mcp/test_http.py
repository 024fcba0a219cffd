"""The server over HTTP: uvicorn on a real socket, and the SDK's own client."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp_types import CallToolResult
from tests.apps.mcp.school import Exam, HeldUp, school

from ssba.apps.mcp.server import mcp_app
from ssba.apps.work import Desk

MODES = ("auto", "legacy")
BOUNDED = ("find_counterfactual", {"row": 5, "constraints": ["hours <= 9"]})


@contextmanager
def served(model: Exam) -> Iterator[str]:
    """Serve the small project on a free port; the address of the endpoint."""
    app = mcp_app(school(model), Desk(workers=1))
    server = uvicorn.Server(uvicorn.Config(app, port=0, ws="none", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            threading.Event().wait(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()


def talk(model: Exam, play: Callable[[Client], Awaitable[Any]], mode: str) -> Any:
    async def main(url: str) -> Any:
        async with Client(url, mode=mode) as client:
            return await play(client)

    with served(model) as url:
        return anyio.run(main, url)


@pytest.mark.parametrize("mode", MODES)
def test_everything_is_there_over_http(mode: str) -> None:
    async def play(client: Client) -> tuple[Any, ...]:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources
        found = await client.call_tool("find_counterfactual", {"row": 5})
        refused = await client.call_tool("predict", {"row": 99})
        prompt = await client.get_prompt("treatment_plan", {"row": "5"})
        page = await client.read_resource("ssba://constraints")
        return len(tools), len(prompts), len(resources), found, refused, prompt, page

    *counts, found, refused, prompt, page = talk(Exam(), play, mode)
    assert counts == [7, 1, 3]
    assert found.structured_content["explanation"]["counterfactuals"][0]["changes"] == {"hours": [5, 12]}
    assert refused.is_error
    assert prompt.messages
    assert page.contents[0].text.startswith("# Constraints")


@pytest.mark.parametrize("mode", MODES)
def test_progress_comes_while_the_work_goes_on(mode: str) -> None:
    model, heard, asked = Exam(), threading.Event(), 0

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.set()

    def wait(rows: Any) -> None:
        nonlocal asked
        asked += 1
        assert asked < 2 or heard.wait(60)

    async def play(client: Client) -> CallToolResult:
        model.before = wait
        return await client.call_tool("find_counterfactual", {"row": 5}, progress_callback=listen)

    assert not talk(model, play, mode).is_error


@pytest.mark.parametrize("mode", MODES)
def test_work_that_a_client_cancels_ends(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Exam()

    async def play(client: Client) -> tuple[CallToolResult, int]:
        held = HeldUp(model, monkeypatch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, *BOUNDED)
            await anyio.to_thread.run_sync(held.entered.wait)
            tasks.cancel_scope.cancel()
        return await client.call_tool("find_counterfactual", {"row": 15}), held.asked

    result, asked = talk(model, play, mode)
    assert not result.is_error
    # The whole search asks about thousands of rows.
    assert asked < 100


def test_hosts_and_origins_are_left_to_the_guard_in_front() -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    headers = {
        "Host": "heart.example",
        "Origin": "https://heart.example",
        "Accept": "application/json, text/event-stream",
    }
    with served(Exam()) as url:
        reply = httpx2.post(url, json=hello, headers=headers)
    assert reply.status_code == 200
    assert '"name":"ssba"' in reply.text
