"""The endpoint for agents inside of `ssba serve`: guarded as all others, and with the same desk."""

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.apps.http.served import Served, serving
from tests.apps.projects import loans

from ssba.apps.http.settings import ServeSettings

TOKEN = "a-long-enough-token"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(loans(), ServeSettings(token=TOKEN)) as running:
        yield running


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_with_the_token_is_answered(served: Served, mode: Any) -> None:
    async def main() -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as connection,
            Client(streamable_http_client(f"{served.url}/mcp", http_client=connection), mode=mode) as client,
        ):
            tools = (await client.list_tools()).tools
            return tools, await client.call_tool("predict", {"row": 3})

    tools, result = anyio.run(main)
    assert {"predict", "find_counterfactual"} <= {one.name for one in tools}
    assert not result.is_error
    assert result.structured_content["prediction"]["prediction"] in (0, 1)


def test_others_are_not(served: Served) -> None:
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert served.post("/mcp", initialize).status == 401
    allowed = {"Authorization": f"Bearer {TOKEN}"}
    assert served.post("/mcp", initialize, Origin="http://evil.example", **allowed).status == 403
    assert served.post("/mcp", initialize, Host="evil.example", **allowed).status == 421


def test_its_requests_are_counted_by_the_path_alone(served: Served) -> None:
    text = served.request("GET", "/metrics").body.decode()
    assert 'route="/mcp",status="401"' in text
