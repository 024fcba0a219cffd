"""HTTP/1.1 as uvicorn speaks it, with a limit on the time that the head of a request may take."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEAD = 10.0
"""How long the first line and the headers of a request may take; whoever is slower is disconnected."""


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
