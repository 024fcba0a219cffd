"""Runs the application: binds first, so that the port is known, and stops without waiting for long work."""

import asyncio
import socket
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from ssba.apps.http.settings import as_address
from ssba.errors import ArgumentError

SECONDS_FOR_HEAD = 10.0
"""How long the first line and the headers of a request may take; whoever is slower is disconnected."""
_SECONDS_TO_STOP = 3
_BACKLOG = 2048
_MOST_CONNECTIONS = 512
"""Each may hold a body in memory, so that they are bounded; beyond it uvicorn itself replies with 503."""


def bind(host: str, port: int) -> socket.socket:
    """Bind the socket to listen at; port 0 takes a free one."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
    except OSError as error:
        raise ArgumentError(f"--host {host} is not an address of this machine: {error.strerror}") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise ArgumentError(
            f"cannot listen at {host}, port {port}: {error.strerror}; give another --port, or 0 for any"
        ) from None
    return bound


def url_of(host: str, bound: socket.socket) -> str:
    """Return the address that clients use."""
    address = as_address(host)
    name = "localhost" if address is not None and address.is_unspecified else host
    return f"http://{f'[{name}]' if ':' in name else name}:{bound.getsockname()[1]}"


class PatientProtocol(H11Protocol):
    """Closes connections on which a request is begun and not sent on, or none is begun at all.

    There is only so much room for connections, and uvicorn itself waits for a request for ever.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait_for_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        """Start the clock, which later pieces of the same head do not set back."""
        if self._waiting is None and not self.transport.is_closing():
            self._waiting = self.loop.call_later(SECONDS_FOR_HEAD, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class StoppingServer(uvicorn.Server):
    """A server that cancels the work in progress when it is told to stop, instead of waiting for it."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                backlog=_BACKLOG,
                limit_concurrency=_MOST_CONNECTIONS,
                # Addresses of clients do not matter here, and a header could claim any.
                proxy_headers=False,
                timeout_graceful_shutdown=_SECONDS_TO_STOP,
            )
        )

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop: first the work, then the connections that wait for it."""
        self._app.state.server.close()
        await super().shutdown(sockets)
