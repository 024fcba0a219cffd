"""Who is answered at all: the checks in front of every request, before anything of it is read.

A page in a browser can send requests to servers on the same machine. So the name that the server is called by
must be its own (else a foreign name may have been pointed here), and the page must be, too.
"""

import hmac
from typing import Any
from urllib.parse import urlsplit

from anyio import fail_after
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ssba.apps.http.observe import record_of
from ssba.apps.http.problems import CLIENT_GONE, refused
from ssba.apps.http.settings import HEALTH, METRICS, PAGE, PAGE_FILES, ServeSettings

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_SECONDS_TO_READ = 30.0
_LINGER = 16
"""How many times the limit of a body is read and thrown away, so that its sender gets to see the refusal."""


class Guard:
    """Refuses requests that come by a foreign name, from a foreign page, without the token, or too large.

    Parameters
    ----------
    app
        The layers below; they get bodies whole.
    settings : ServeSettings
        Whom to answer.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = _with_headers(send)
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body = await self._body(headers, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        record_of(scope).body = body
        await self.app(scope, _replaying(body, receive), send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return why a request is refused by its headers alone, if it is."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.settings.allows_host(_name_in(host)):
            return refused(
                421,
                "MisdirectedRequest",
                f"this server is not called {host!r:.60}; use the address that it printed, or start it with "
                "--allow-host NAME",
            )
        origin = headers.get("origin")
        if origin is not None and not _is_same_origin(origin, host):
            return refused(403, "Forbidden", "requests from pages of another origin are not answered")
        if not self._is_allowed(scope["path"], headers.get("authorization", "")):
            return refused(
                401,
                "Unauthorized",
                "this server needs its token: Authorization: Bearer TOKEN",
                {"WWW-Authenticate": 'Bearer realm="ssba"'},
            )
        return _refused_type(scope, headers)

    def _is_allowed(self, path: str, authorization: str) -> bool:
        token = self.settings.token
        if token is None or path == HEALTH or (path == METRICS and self.settings.is_loopback):
            return True
        # The page holds no data; it asks for the token before it asks for any.
        if path == PAGE or path.startswith(PAGE_FILES):
            return True
        scheme, _, shown = authorization.partition(" ")
        # Compared in constant time: how long it takes must not tell how much of a guess is right.
        same = hmac.compare_digest(shown.strip().encode("latin-1", "replace"), token.encode("ascii"))
        return scheme.lower() == "bearer" and same

    async def _body(self, headers: Headers, receive: Receive) -> bytes | Response:
        """Read the body, counting as it comes: what its header says of its length may be false or absent."""
        said = headers.get("content-length", "0")
        if said.isdigit() and int(said[:20]) > self.settings.max_body and "expect" in headers:
            return self._too_large()
        body, read = b"", 0
        try:
            with fail_after(_SECONDS_TO_READ):
                async for piece in _pieces(receive):
                    read += len(piece)
                    if read <= self.settings.max_body:
                        body += piece
                    elif read > _LINGER * self.settings.max_body:
                        break
        except TimeoutError:
            return refused(408, "RequestTimeout", "the body did not arrive in time", {"Connection": "close"})
        except ConnectionAbortedError:
            return Response(status_code=CLIENT_GONE)
        return body if read <= self.settings.max_body else self._too_large()

    def _too_large(self) -> Response:
        limit = f"{self.settings.max_body:,} bytes"
        return refused(
            413,
            "ContentTooLarge",
            f"the body is larger than {limit}; send less, or start the server with a larger --max-body",
            {"Connection": "close"},
        )


async def _pieces(receive: Receive) -> Any:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Give the body that was read in one piece, and then whatever comes, such as the client's leaving."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _name_in(host: str) -> str:
    """Return the name in a Host header, without the port.

    >>> _name_in("127.0.0.1:8000"), _name_in("[::1]:8000"), _name_in("localhost"), _name_in("[::1")
    ('127.0.0.1', '::1', 'localhost', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_same_origin(origin: str, host: str) -> bool:
    """Tell whether a page is one of this server's; the host was checked before.

    >>> _is_same_origin("http://localhost:8000", "localhost:8000"), _is_same_origin("null", "localhost:8000")
    (True, False)
    """
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest.lower() == host.lower()


def _refused_type(scope: Scope, headers: Headers) -> Response | None:
    if scope["method"] != "POST":
        return None
    kind = headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        return refused(
            415, "UnsupportedMediaType", f"the body is {kind!r:.60}; send Content-Type: application/json"
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        return refused(415, "UnsupportedMediaType", "compressed bodies are not read; send it as it is")
    return None
