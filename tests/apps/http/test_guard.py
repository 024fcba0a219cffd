"""Who is answered at all: refusals over real sockets."""

from collections.abc import Iterator

import pytest
from tests.apps.http.served import Served, serving
from tests.apps.projects import loans
from tests.support import every

from ssba.apps.http.settings import ServeSettings

TOKEN = "a-long-enough-token"
ASKED = {"row": 3}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(loans(), ServeSettings(max_body=4000, allowed_hosts=("models.example",))) as running:
        yield running


@pytest.fixture(scope="module")
def locked() -> Iterator[Served]:
    with serving(loans(), ServeSettings(token=TOKEN)) as running:
        yield running


class TestHost:
    @pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "models.example"])
    @pytest.mark.parametrize("port", ["", ":80"])
    def test_own_names_are_answered_at_any_port(self, served: Served, name: str, port: str) -> None:
        assert served.request("GET", "/api/schema", Host=f"{name}{port}").status == 200

    @pytest.mark.parametrize(
        "name", ["evil.example", "localhost.evil.example", "192.168.1.7", "", "[::1", "a@b:c"]
    )
    def test_foreign_names_are_refused(self, served: Served, name: str) -> None:
        reply = served.request("GET", "/healthz", Host=name)
        assert reply.status == 421
        assert "--allow-host" in reply.messages[0]

    def test_two_host_headers_are_refused(self, served: Served) -> None:
        # Refused by the protocol's own reader, before us.
        both = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
        assert b" 400 " in served.raw(both).splitlines()[0]


class TestOrigin:
    def test_own_pages_may_ask(self, served: Served) -> None:
        own = f"http://127.0.0.1:{served.port}"
        assert served.post("/api/predict", ASKED, Origin=own).status == 200

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "", "http://127.0.0.1:1", "file://", "http://localhost"]
    )
    def test_pages_from_elsewhere_may_not(self, served: Served, origin: str) -> None:
        reply = served.post("/api/predict", ASKED, Origin=origin)
        assert reply.status == 403
        assert "access-control-allow-origin" not in reply.headers


class TestToken:
    @pytest.mark.parametrize(
        "shown", [None, "", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", f"Bearer {TOKEN[:-1]}"]
    )
    @pytest.mark.parametrize("path", ["/api/schema", "/api/nothing", "/mcp"])
    def test_without_the_right_one_nothing_is_told(
        self, locked: Served, shown: str | None, path: str
    ) -> None:
        headers = {} if shown is None else {"Authorization": shown}
        reply = locked.request("GET", path, **headers)
        assert reply.status == 401
        assert reply.headers["www-authenticate"].startswith("Bearer")

    def test_with_it_all_is_answered(self, locked: Served) -> None:
        assert locked.post("/api/predict", ASKED, Authorization=f"Bearer {TOKEN}").status == 200

    def test_health_and_on_loopback_metrics_need_none(self, locked: Served) -> None:
        assert locked.request("GET", "/healthz").body == b"ok\n"
        assert locked.request("GET", "/metrics").status == 200

    def test_where_others_can_reach_it_metrics_need_it_too(self) -> None:
        with serving(loans(), ServeSettings(host="0.0.0.0", token=TOKEN)) as running:
            assert running.request("GET", "/healthz").status == 200
            assert running.request("GET", "/metrics").status == 401
            assert running.request("GET", "/metrics", Authorization=f"bearer {TOKEN}").status == 200

    def test_a_header_of_strange_bytes_is_a_wrong_token(self, locked: Served) -> None:
        request = b"GET /api/schema HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xe9\r\n"
        assert b" 401 " in locked.raw(request + b"Connection: close\r\n\r\n").splitlines()[0]


class TestBody:
    def test_one_that_says_that_it_is_too_large_is_refused(self, served: Served) -> None:
        reply = served.post("/api/predict", {"row": 3, "where": {"x" * 5000: 1}})
        assert reply.status == 413
        assert "4,000 bytes" in reply.messages[0]

    def test_one_that_does_not_say_its_length_is_counted_as_it_comes(self, served: Served) -> None:
        head = (
            b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"3E8\r\n" + b" " * 1000 + b"\r\n"
        assert b" 413 " in served.raw(head + 5 * chunk + b"0\r\n\r\n").splitlines()[0]

    def test_an_endless_one_is_cut_off(self, served: Served) -> None:
        head = (
            b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        assert b" 413 " in served.raw(head + 70 * (b"3E8\r\n" + b" " * 1000 + b"\r\n")).splitlines()[0]

    def test_who_waits_to_be_told_to_go_on_is_not(self, served: Served) -> None:
        head = (
            b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n"
        )
        assert b" 413 " in served.raw(head).splitlines()[0]

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]
    )
    @pytest.mark.parametrize("path", ["/api/predict", "/mcp"])
    def test_what_is_not_json_is_refused(self, served: Served, kind: str, path: str) -> None:
        reply = served.request("POST", path, b'{"row": 3}', Content_Type=kind)
        assert reply.status == 415
        assert "application/json" in reply.messages[0]

    def test_a_compressed_one_is_refused(self, served: Served) -> None:
        assert served.post("/api/predict", ASKED, Content_Encoding="gzip").status == 415

    def test_a_charset_may_be_said(self, served: Served) -> None:
        kind = "application/json; charset=utf-8"
        assert served.post("/api/predict", ASKED, Content_Type=kind).status == 200


def test_every_reply_has_the_headers_that_browsers_heed(served: Served) -> None:
    replies = [
        served.request("GET", "/healthz"),
        served.post("/api/predict", ASKED),
        served.post("/api/predict", {"row": -1}),
        served.request("GET", "/nothing"),
        served.request("GET", "/healthz", Host="evil.example"),
    ]
    assert every(one.headers["x-content-type-options"] == "nosniff" for one in replies)
    assert every(one.headers["cache-control"] == "no-store" for one in replies)
    assert every("default-src 'none'" in one.headers["content-security-policy"] for one in replies)
    assert every(len(one.headers["x-request-id"]) == 16 for one in replies)
    assert every("server" not in one.headers for one in replies)
