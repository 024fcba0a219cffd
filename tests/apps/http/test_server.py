"""How long the head of a request may take."""

import socket
import time
from collections.abc import Iterator

import pytest
from tests.apps.http.served import Served, serving
from tests.apps.projects import loans

from ssba.apps.http import server

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(server, "SECONDS_FOR_HEAD", 0.3)
    with serving(loans()) as running:
        yield running


@pytest.fixture
def connection(served: Served) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as opened:
        yield opened


@pytest.mark.parametrize("sent", [b"", b"GET /hea", HEAD])
def test_half_sent_request_is_given_up(connection: socket.socket, sent: bytes) -> None:
    connection.sendall(sent)
    assert connection.recv(100) == b""


def test_header_after_header_gives_no_more_time(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    connection.settimeout(0.05)
    for _ in range(200):
        try:
            assert connection.recv(100) == b""
            return
        except ConnectionError:
            return
        except TimeoutError:
            connection.sendall(b"X-More: yes\r\n")
    raise AssertionError("the connection stays open")


def test_connection_that_is_kept_is_given_up_the_same(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"\r\n")
    answer = b""
    while not answer.endswith(b"ok\n"):
        answer += connection.recv(10_000)
    connection.sendall(b"GET /hea")
    assert connection.recv(100) == b""


def test_answer_may_take_longer_than_the_head(connection: socket.socket) -> None:
    body = b'{"row": 3}'
    head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body))
    time.sleep(1.0)
    connection.sendall(body)
    assert connection.recv(100).startswith(b"HTTP/1.1 200")
