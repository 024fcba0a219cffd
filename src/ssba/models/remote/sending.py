"""Sending requests: one kept-alive connection, limits on time and size, and retries where they may help."""

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from time import sleep
from typing import TYPE_CHECKING, final
from urllib.parse import urljoin

from ssba.errors import ModelError
from ssba.models.remote.address import Address, without_secrets
from ssba.models.remote.replies import LONGEST_WAIT, TooLarge, asked_wait, read_text
from ssba.version import __version__

if TYPE_CHECKING:
    import httpx2

_FIRST_WAIT = 0.5
_IDLE_SECONDS = 30.0
_TEMPORARY = (429, 502, 503, 504)
_EXPECTED = "status 200 and one answer a row"


@final
@dataclass(frozen=True)
class HttpStats:
    """What a remote model was asked so far.

    Attributes
    ----------
    requests
        Requests that were sent, retries among them.
    rows
        Rows that were asked about, each once however often its request was repeated.
    retries
        Requests that repeated one that had failed.
    seconds
        Time spent on requests, with the waits between attempts.
    """

    requests: int = 0
    rows: int = 0
    retries: int = 0
    seconds: float = 0.0


@final
@dataclass(frozen=True)
class Failure:
    """An attempt that came to nothing, and whether another one may do better."""

    error: ModelError
    temporary: bool = False
    wait: float | None = None
    """Seconds that the server asks for."""


@final
class Sender:
    """Posts bodies to one address. Threads may share it; a forked process gets a connection of its own."""

    def __init__(self, where: Address, timeout: float, retries: int) -> None:
        self._where = where
        self._timeout = timeout
        self._retries = retries
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._close_client: Callable[[], object] = lambda: None
        self._process = os.getpid()
        self.stats = HttpStats()

    def post(self, body: bytes, n_rows: int) -> str:
        """Send a body until a usable reply comes or no attempt is left, and return its text."""
        self._count(rows=n_rows)
        waits = iter(_waits(self._retries))
        with self._timed():
            while isinstance(outcome := self._attempt(body), Failure):
                wait = next(waits, None)
                if wait is None or not outcome.temporary:
                    raise outcome.error
                self._count(retries=1)
                sleep(wait if outcome.wait is None else outcome.wait)
        return outcome

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        with self._lock:
            self._client = None
            self._close_client()

    def _attempt(self, body: bytes) -> str | Failure:
        import httpx2

        self._count(requests=1)
        started = time.monotonic()
        try:
            with self._connected().stream("POST", self._where.url, content=body) as response:
                text = read_text(response, started + self._timeout)
                return text if response.is_success else self._refusal(response, text)
        except TooLarge as error:
            return Failure(self._too_large(error))
        except (httpx2.TimeoutException, TimeoutError):
            return Failure(self._too_slow(), temporary=True)
        except httpx2.RequestError as error:
            return self._broken(error)

    def _connected(self) -> "httpx2.Client":
        import httpx2

        with self._lock:
            if self._client is None or self._process != os.getpid():
                self._process = os.getpid()
                headers = httpx2.Headers(_HEADERS)
                headers.update(self._where.headers)
                self._client = httpx2.Client(
                    headers=headers,
                    timeout=self._timeout,
                    limits=httpx2.Limits(keepalive_expiry=_IDLE_SECONDS),
                    follow_redirects=False,
                )
                # Sockets are closed with their owner, also where nobody closes it.
                self._close_client = weakref.finalize(self, self._client.close)
            return self._client

    def _refusal(self, response: "httpx2.Response", text: str) -> Failure:
        status = response.status_code
        if response.has_redirect_location:
            return Failure(self._redirected(response))
        temporary = status in _TEMPORARY
        came = f"replied with status {status}{_phrase(status)}{self._after() if temporary else ''}"
        error = self._where.error(came, _EXPECTED, _fix_for(status), text)
        return Failure(error, temporary, asked_wait(response.headers.get("retry-after")))

    def _redirected(self, response: "httpx2.Response") -> ModelError:
        there = _redirect_target(self._where.url, response.headers["location"])
        came = f"replied with status {response.status_code}, a redirect to {there}, which is not followed"
        fix = "give that address as url if you trust it: rows and headers would be sent there"
        return self._where.error(came, _EXPECTED, fix)

    def _too_large(self, error: TooLarge) -> ModelError:
        fix = "lower batch_rows, and let it send nothing but answers"
        return self._where.error(f"sent {error}", _EXPECTED, fix)

    def _too_slow(self) -> ModelError:
        came = f"did not answer within {self._timeout:g} s{self._after()}"
        return self._where.error(
            came, "a whole reply in that time", "give a longer timeout, or lower batch_rows"
        )

    def _broken(self, error: "httpx2.RequestError") -> Failure:
        import httpx2

        reason = str(error).rstrip(".") or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            fix = "name the file of your own certificate authority in the variable SSL_CERT_FILE"
            return Failure(self._where.error(f"cannot be trusted: {reason}", "a valid certificate", fix))
        temporary = isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
        what = "cannot be reached" if isinstance(error, httpx2.ConnectError) else "broke off"
        came = f"{what}{self._after() if temporary else ''}: {reason}"
        fix = "check that the server runs, its name and port in the url, and its log"
        return Failure(self._where.error(came, _EXPECTED, fix), temporary)

    def _after(self) -> str:
        return f", asked {self._retries + 1} times" if self._retries else ""

    def _count(self, requests: int = 0, rows: int = 0, retries: int = 0, seconds: float = 0.0) -> None:
        with self._lock:
            old = self.stats
            self.stats = replace(
                old,
                requests=old.requests + requests,
                rows=old.rows + rows,
                retries=old.retries + retries,
                seconds=old.seconds + seconds,
            )

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._count(seconds=time.monotonic() - started)


_HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "User-Agent": f"ssba/{__version__}",
}


def _waits(retries: int) -> list[float]:
    """The seconds before each retry, which double: the same every time, so that a run can be repeated.

    >>> _waits(4)
    [0.5, 1.0, 2.0, 4.0]
    """
    return [min(_FIRST_WAIT * 2**position, LONGEST_WAIT) for position in range(retries)]


def _redirect_target(url: str, location: str) -> str:
    """Return where a redirect leads, without its secrets.

    >>> _redirect_target("https://models.example/predict", "/login?next=predict")
    'https://models.example/login'
    """
    try:
        return without_secrets(urljoin(url, location))
    except ValueError:
        return "an address that cannot be read"


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _fix_for(status: int) -> str:
    if status in (401, 403, 407):
        return "give the credentials that the endpoint asks for with headers="
    if status in (404, 405):
        return "check the path of the url: rows are sent there with POST"
    if status == 413:
        return "lower batch_rows"
    if status in (400, 415, 422):
        return "send what the endpoint expects: see form= and columns="
    if status in _TEMPORARY:
        return "ask again later, or with more retries"
    return "see the log of the endpoint"
