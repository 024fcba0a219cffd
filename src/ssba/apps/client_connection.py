"""A connection to a server: sends JSON, waits where the server is busy, raises its errors as our own."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

from ssba import errors
from ssba.apps.words import HTTP, PYTHON
from ssba.errors import ArgumentError, ServiceError, SsbaError
from ssba.extras import require
from ssba.json_form import read_json
from ssba.models.remote.replies import TooLarge, asked_wait, read_text

Form = TypeVar("Form")

_TRIES = 5
_CLIENT = replace(PYTHON, why_not="client.why_not(explanation)")


class Connection:
    """Posts requests and returns replies; connections are kept open, and threads may share one.

    Parameters
    ----------
    url : str
        Where the server is, such as ``http://127.0.0.1:8000``.
    token : str, optional
        The server's token.
    timeout : float
        Seconds to wait for an answer until its end.
    """

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        require("httpx2", "client", "ssba.Client")
        import httpx2

        self.url = url.rstrip("/")
        self._timeout = timeout
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            self._http = httpx2.Client(base_url=self.url, headers=headers, timeout=timeout)
        except httpx2.InvalidURL as error:
            raise ServiceError(f"{url!r:.200} is not an address: {error}") from None

    def get(self, path: str) -> dict[str, Any]:
        """Return the reply to a question without a body."""
        return self._reply("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request."""
        return self._reply("POST", path, body)

    def post_for_page(self, path: str, body: Mapping[str, Any]) -> str:
        """Return the page of HTML with which a request is answered."""
        reply = self._asked("POST", path, body)
        if reply.status == 200 and reply.text.startswith("<!DOCTYPE html>"):
            return reply.text
        self._read("POST", path, reply)
        raise ServiceError(f"{self.url} answered POST {path} with something else than a page of HTML")

    def close(self) -> None:
        self._http.close()

    def read(self, said: Mapping[str, Any], name: str, form: Callable[[Any], Form]) -> Form:
        """Read a part of a reply."""
        try:
            return form(said[name])
        # Whatever goes wrong in reading what a server made up is the server's doing.
        except Exception as error:
            what = "it is missing" if name not in said else str(error)
            raise ServiceError(
                f"{self.url} sent a reply whose {name!r} cannot be read: {_one_line(what)}; "
                "is it a server of this version of ssba?"
            ) from None

    def _reply(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        return self._read(method, path, self._asked(method, path, body))

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None) -> "_Reply":
        """Send a request, a few times where the server is busy."""
        for _ in range(_TRIES - 1):
            reply = self._sent(method, path, body)
            if reply.status != 503:
                return reply
            time.sleep(1.0 if reply.wait is None else reply.wait)
        return self._sent(method, path, body)

    def _read(self, method: str, path: str, reply: "_Reply") -> dict[str, Any]:
        """Return the JSON of a reply, or raise the error that it tells."""
        said = _json(reply.text)
        if not isinstance(said, dict) and reply.status == 503:
            said = {}
        if not isinstance(said, dict):
            raise ServiceError(
                f"{self.url} is no server of ssba: it answered {method} {path} with status "
                f"{reply.status} and no JSON object"
            )
        if not 200 <= reply.status < 300:
            self._refuse(reply.status, said)
        return said

    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None) -> "_Reply":
        import httpx2

        deadline = time.monotonic() + self._timeout
        try:
            with self._http.stream(method, path, json=body) as response:
                wait = asked_wait(response.headers.get("Retry-After"))
                return _Reply(response.status_code, wait, read_text(response, deadline))
        except (httpx2.TimeoutException, TimeoutError):
            raise ServiceError(
                f"{self.url} did not answer in time; ask with a smaller budget, or give Client(timeout=...)"
            ) from None
        except TooLarge as error:
            raise ServiceError(f"{self.url} sent {error}; that is no answer of ssba") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            what = str(error) or type(error).__name__
            raise ServiceError(f"{self.url} cannot be reached: {what}; is `ssba serve` running?") from None

    def _refuse(self, status: int, said: Mapping[str, Any]) -> NoReturn:
        """Raise what the server said as the error that the library raises itself."""
        detail = said.get("detail")
        problems = detail if isinstance(detail, list) else []
        told = (str(one["message"]) for one in problems if isinstance(one, dict) and "message" in one)
        message = _CLIENT.instead_of(HTTP, _one_line("; ".join(told)))
        kind = getattr(errors, str(said.get("error")), None)
        if status == 422 and isinstance(kind, type) and issubclass(kind, SsbaError):
            raise kind(message)
        raise ServiceError(f"{self.url} answered with status {status}: {message or 'no reason was given'}")


@dataclass(frozen=True)
class _Reply:
    """What a server sent: a status, the seconds to wait before asking again, and text."""

    status: int
    wait: float | None
    text: str


def _json(text: str) -> Any:
    """Return what a text says in JSON; None where it is none."""
    try:
        return read_json(text, "a reply")
    except ArgumentError:
        return None


def _one_line(text: str) -> str:
    """Return what a server said as one line of bearable length."""
    return f"{' '.join(text.split()):.2000}"
