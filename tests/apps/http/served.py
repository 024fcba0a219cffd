"""A real server on a free port, in a thread of the test's process, and bare requests to it."""

import http.client
import io
import json
import logging
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from fastapi import FastAPI

from ssba.apps.http.app import Server, create_app
from ssba.apps.http.logs import LOGGER, JsonLines
from ssba.apps.http.server import StoppingServer, bind
from ssba.apps.http.settings import ServeSettings
from ssba.apps.limits import Limits
from ssba.apps.project.opened import OpenedProject
from ssba.apps.service import Service

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[str]:
        return [one["message"] for one in self.json["detail"]]


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    port: int
    app: FastAPI
    thread: threading.Thread
    running: StoppingServer
    log: io.StringIO

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def server(self) -> Server:
        found: Server = self.app.state.server
        return found

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request; a body that is no bytes is sent as JSON."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body, named = json.dumps(body).encode(), {**JSON, **named}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        return self.request("POST", path, body, **headers)

    def raw(self, text: bytes) -> bytes:
        """Send bytes as they are, and return all that comes back until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(text)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def line_of(self, reply: Reply) -> dict[str, Any]:
        """Return the line in the log about a request; it is written just after the reply."""

        def lines() -> list[dict[str, Any]]:
            return [one for one in self.logged() if one.get("request_id") == reply.headers["x-request-id"]]

        wait_until(lines)
        (line,) = lines()
        return line

    def stop(self) -> None:
        self.running.should_exit = True
        self.thread.join(30)
        assert not self.thread.is_alive(), f"the server did not stop:\n{stacks()}"


@contextmanager
def serving(
    project: OpenedProject, settings: ServeSettings | None = None, limits: Limits | None = None
) -> Iterator[Served]:
    settings = settings or ServeSettings()
    app = create_app(Service(project, settings.workers, limits), settings)
    bound, running, log = bind("127.0.0.1", 0), StoppingServer(app), io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    served = Served(bound.getsockname()[1], app, thread, running, log)
    try:
        wait_until(lambda: running.started)
        yield served
    finally:
        if thread.is_alive():
            served.stop()
        logger.removeHandler(handler)


def stacks() -> str:
    """Return what every thread is doing."""
    frames = sys._current_frames().items()
    return "\n".join(f"thread {name}\n{''.join(traceback.format_stack(frame))}" for name, frame in frames)


def wait_until(condition: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait for what happens in other threads; the time is a limit, not a claim."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


class Gate:
    """A model of the loans that can be held up: once closed, it waits in every call until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.calls = 0
        self.entered = threading.Event()

    def close(self) -> None:
        self.entered.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def predict(self, rows: Any) -> Any:
        self.calls += 1
        if not self._open.is_set():
            self.entered.set()
        assert self._open.wait(60)
        return (rows["income"] - rows["debt"] > 30).astype(int).to_numpy()


def gated(project: OpenedProject) -> tuple[OpenedProject, Gate]:
    gate = Gate()
    return replace(project, model=gate), gate
