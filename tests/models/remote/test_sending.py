"""A sender against servers that fail in every way."""

import gzip
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from tests.http_server import (
    Act,
    Server,
    breaking_off,
    dropping,
    replying,
    serving,
    sleeping,
    trickling,
)
from tests.support import every

from ssba.errors import ModelError
from ssba.models.remote import replies, sending
from ssba.models.remote.address import address
from ssba.models.remote.sending import Sender


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, noted instead of waited for."""
    noted: list[float] = []
    monkeypatch.setattr(sending, "sleep", noted.append)
    return noted


@contextmanager
def sender(server: Server, timeout: float = 10.0, retries: int = 3) -> Iterator[Sender]:
    made = Sender(address(server.url, {"X-Key": "s3cret"}), timeout, retries)
    try:
        yield made
    finally:
        made.close()


def test_body_arrives_as_json_with_the_headers_and_the_reply_comes_back(waits: list[float]) -> None:
    with serving(lambda body: body["rows"]) as server, sender(server) as asked:
        assert asked.post(b'{"rows": [1]}', 1) == "[1]"
    (came,) = server.received
    assert came.body == {"rows": [1]}
    assert came.headers["Content-Type"] == "application/json"
    assert came.headers["X-Key"] == "s3cret"
    assert waits == []


def test_requests_share_one_connection() -> None:
    with serving(lambda body: body) as server, sender(server) as asked:
        for _ in range(5):
            asked.post(b"[]", 1)
    assert len(server.received) == 5
    assert server.connections == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_temporary_status_is_asked_again_after_waits_that_double(status: int, waits: list[float]) -> None:
    with serving(lambda body: "ok", [replying("busy", status)] * 3) as server, sender(server) as asked:
        assert asked.post(b"[]", 7) == '"ok"'
        assert (asked.stats.requests, asked.stats.retries, asked.stats.rows) == (4, 3, 7)
    assert waits == [0.5, 1.0, 2.0]


def test_status_that_stays_is_told_with_the_number_of_attempts(waits: list[float]) -> None:
    with serving(lambda body: "ok", [replying("out of memory", 503)] * 9) as server, sender(server) as asked:
        with pytest.raises(ModelError) as refused:
            asked.post(b"[]", 1)
        assert len(server.received) == 4
    assert str(refused.value) == (
        f"{server.url} replied with status 503 (Service Unavailable), asked 4 times; expected status 200 and "
        "one answer a row. The reply begins: 'out of memory'. Likely fix: ask again later, or with more "
        "retries."
    )


@pytest.mark.parametrize(
    ("asked_for", "waited"),
    [("2", 2.0), ("0", 0.0), ("86400", 30.0), ("soon", 0.5), ("-5", 0.5), ("1e3", 0.5)],
)
def test_server_says_when_to_come_again_within_limits(
    asked_for: str, waited: float, waits: list[float]
) -> None:
    busy = replying("busy", 429, retry_after=asked_for)
    with serving(lambda body: "ok", [busy]) as server, sender(server) as asked:
        asked.post(b"[]", 1)
    assert waits == [waited]


def test_server_may_say_when_by_a_date(waits: list[float]) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    future = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    busy = [replying("busy", 503, retry_after=when) for when in (past, future)]
    with serving(lambda body: "ok", busy) as server, sender(server) as asked:
        asked.post(b"[]", 1)
    assert waits == [0.0, 30.0]


@pytest.mark.parametrize("act", [dropping, breaking_off])
def test_connection_that_breaks_is_opened_again(act: Act, waits: list[float]) -> None:
    with serving(lambda body: "ok", [act, act]) as server, sender(server) as asked:
        assert asked.post(b"[]", 1) == '"ok"'
    assert server.connections == 3
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize("act", [dropping, breaking_off])
def test_connection_that_breaks_every_time_is_told(act: Act, waits: list[float]) -> None:
    told = r"/predict broke off, asked 2 times: .*; expected status 200"
    with (
        serving(lambda body: "ok", [act] * 2) as server,
        sender(server, retries=1) as asked,
        pytest.raises(ModelError, match=told),
    ):
        asked.post(b"[]", 1)
    assert waits == [0.5]


def test_server_that_is_not_there_is_told(waits: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = Sender(address(f"http://127.0.0.1:{port}/x?key=s3cret", None), 1.0, 2)
    with pytest.raises(ModelError) as refused:
        nobody.post(b"[]", 1)
    nobody.close()
    assert str(refused.value).startswith(f"http://127.0.0.1:{port}/x cannot be reached, asked 3 times: ")
    assert "s3cret" not in str(refused.value)
    assert waits == [0.5, 1.0]
    assert nobody.stats.requests == 3


def test_certificate_that_is_not_trusted_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    def untrusted(*_: Any, **__: Any) -> Any:
        raise httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed")

    monkeypatch.setattr(httpx2.Client, "stream", untrusted)
    asked = Sender(address("https://models.example/predict", None), 1.0, 3)
    with pytest.raises(ModelError, match=r"cannot be trusted: .* variable SSL_CERT_FILE\.$"):
        asked.post(b"[]", 1)
    asked.close()
    assert (asked.stats.requests, waits) == (1, [])


@pytest.mark.parametrize("slow", [sleeping, trickling])
def test_reply_that_does_not_end_in_time_is_given_up(
    slow: Callable[[threading.Event], Act], waits: list[float]
) -> None:
    until = threading.Event()
    act = slow(until)
    with serving(lambda body: "ok", [act, act]) as server, sender(server, timeout=0.2, retries=1) as asked:
        try:
            with pytest.raises(
                ModelError, match=r"did not answer within 0\.2 s, asked 2 times; expected a whole"
            ):
                asked.post(b"[]", 1)
        finally:
            until.set()
    assert waits == [0.5]


def test_reply_that_is_slow_once_is_asked_for_again(waits: list[float]) -> None:
    until = threading.Event()
    with serving(lambda body: "ok", [sleeping(until)]) as server, sender(server, timeout=0.5) as asked:
        try:
            assert asked.post(b"[]", 1) == '"ok"'
        finally:
            until.set()
    assert asked.stats.retries == 1


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (400, "send what the endpoint expects: see form= and columns="),
        (401, "give the credentials that the endpoint asks for with headers="),
        (404, "check the path of the url: rows are sent there with POST"),
        (413, "lower batch_rows"),
        (422, "send what the endpoint expects: see form= and columns="),
        (418, "see the log of the endpoint"),
        (499, "see the log of the endpoint"),
        (500, "see the log of the endpoint"),
    ],
)
def test_other_statuses_are_told_at_once_with_a_fix(status: int, fix: str, waits: list[float]) -> None:
    with serving(lambda body: "ok", [replying("key s3cret: no", status)]) as server, sender(server) as asked:
        with pytest.raises(
            ModelError, match=rf"/predict replied with status {status}.*Likely fix: {fix}\.$"
        ) as e:
            asked.post(b"[]", 1)
        assert len(server.received) == 1
    assert "The reply begins: 'key ***: no'." in str(e.value)
    assert waits == []


def test_redirect_is_told_and_not_followed() -> None:
    with serving(lambda body: "ok") as other, serving(lambda body: "ok") as server, sender(server) as asked:
        server.script.append(replying("", 307, location=f"{other.url}?token=abcd"))
        with pytest.raises(ModelError) as refused:
            asked.post(b"[]", 1)
    assert f"replied with status 307, a redirect to {other.url}, which is not followed" in str(refused.value)
    assert "abcd" not in str(refused.value)
    assert other.received == []


def test_redirect_to_nowhere_is_told() -> None:
    with (
        serving(lambda body: "ok", [replying("", 302, location="http://[broken")]) as server,
        sender(server) as asked,
        pytest.raises(
            ModelError, match=r"status 302, a redirect to an address that cannot be read, which is"
        ),
    ):
        asked.post(b"[]", 1)


def test_headers_of_the_user_replace_ours_whatever_their_case() -> None:
    with serving(lambda body: "ok") as server:
        asked = Sender(address(server.url, {"content-type": "application/vnd.model+json"}), 10.0, 0)
        asked.post(b"[]", 1)
        asked.close()
    names = [name.lower() for name in server.received[0].headers]
    assert names.count("content-type") == 1
    assert "application/vnd.model+json" in server.received[0].headers.values()


def test_mark_that_some_servers_put_before_their_text_is_ignored() -> None:
    with serving(lambda body: "ok", [replying(b"\xef\xbb\xbf[1]")]) as server, sender(server) as asked:
        assert asked.post(b"[]", 1) == "[1]"


def test_reply_beyond_the_limit_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "MOST_BYTES", 2**20)
    # Packed it is a thousandth of that.
    large = replying(gzip.compress(b" " * 2**21), content_encoding="gzip")
    with serving(lambda body: "ok", [large]) as server, sender(server) as asked:
        with pytest.raises(
            ModelError, match=r"sent a reply of more than 1 MiB; .*Likely fix: lower batch_rows"
        ):
            asked.post(b"[]", 1)
        assert asked.post(b"[]", 1) == '"ok"'
    assert asked.stats.retries == 0


def test_reply_in_a_broken_encoding_is_told() -> None:
    with (
        serving(lambda body: "ok", [replying("plain", content_encoding="gzip")]) as server,
        sender(server) as asked,
        pytest.raises(ModelError, match=r"/predict broke off: .*header"),
    ):
        asked.post(b"[]", 1)
    assert len(server.received) == 1


def test_threads_share_a_sender_and_everything_is_counted() -> None:
    with serving(lambda body: body) as server, sender(server) as asked, ThreadPoolExecutor(8) as pool:
        texts = [f"[{i}]" for i in range(64)]
        assert list(pool.map(lambda text: asked.post(text.encode(), 3), texts)) == texts
    assert (asked.stats.requests, asked.stats.rows, asked.stats.retries) == (64, 192, 0)
    assert asked.stats.seconds > 0
    assert server.connections <= 8


def test_sender_can_be_used_after_it_was_closed() -> None:
    with serving(lambda body: body) as server, sender(server) as asked:
        asked.post(b"[1]", 1)
        asked.close()
        asked.close()
        assert asked.post(b"[2]", 1) == "[2]"
    assert server.connections == 2


def test_sender_that_is_forgotten_closes_its_connection() -> None:
    with serving(lambda body: body) as server:
        asked = Sender(address(server.url, None), 10.0, 0)
        asked.post(b"[1]", 1)
        client = asked._client
        assert client is not None
        del asked
        assert client.is_closed


def test_forked_process_opens_a_connection_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda body: body) as server, sender(server) as asked:
        asked.post(b"[1]", 1)
        parent = asked._client
        monkeypatch.setattr(os, "getpid", lambda: -1)
        asked.post(b"[2]", 1)
        assert parent is not None
        assert asked._client is not parent
        parent.close()
    assert server.connections == 2
    assert every(one.path == "/predict" for one in server.received)
