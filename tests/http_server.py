"""A small HTTP server on the loopback, with a script of what goes wrong."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[[BaseHTTPRequestHandler], None]
"""What the server does with one request, whose body was read already."""


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Any
    connection: int
    """The port of the client's end, which tells connections apart."""


@dataclass
class Server:
    """A server that runs, what it received, and what it does first, before it answers as it should."""

    answer: Callable[[Any], Any]
    url: str = ""
    received: list[Received] = field(default_factory=list)
    script: list[Act] = field(default_factory=list)

    @property
    def connections(self) -> int:
        return len({one.connection for one in self.received})


@contextmanager
def serving(answer: Callable[[Any], Any], script: Sequence[Act] = ()) -> Iterator[Server]:
    """Serve what a function makes of each request's JSON; the acts of a script come first, one a request."""
    server = Server(answer, script=list(script))
    http = _Http(("127.0.0.1", 0), _handler(server))
    server.url = f"http://127.0.0.1:{http.server_port}/predict"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Http(ThreadingHTTPServer):
    # Threads of kept-alive connections wait for requests that no longer come.
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else every reply waits 40 ms for the client to confirm its headers.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                came = Received(self.path, dict(self.headers.items()), body, self.client_address[1])
                server.received.append(came)
                act = server.script.pop(0) if server.script else None
            if act is None:
                act = replying(json.dumps(server.answer(body)))
            act(self)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def replying(text: str | bytes, status: int = 200, **headers: str) -> Act:
    """Reply with a text; ``retry_after="2"`` is a header."""
    content = text.encode() if isinstance(text, str) else text

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return act


def dropping(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True


def breaking_off(handler: BaseHTTPRequestHandler) -> None:
    """Promise a long reply, and close the connection in its middle."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"labels": [')
    handler.close_connection = True


def sleeping(until: threading.Event) -> Act:
    """Say nothing until something happens."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        until.wait()
        handler.close_connection = True

    return act


def trickling(until: threading.Event) -> Act:
    """Send a blank every few milliseconds, for ever."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while not until.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()
        handler.close_connection = True

    return act
