"""A connection to a server: sends JSON, waits where the server is busy, raises its errors as our own."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ssba import errors
from ssba.errors import ServiceError, SsbaError
from ssba.extras import require

if TYPE_CHECKING:
    import httpx2

_TRIES = 5
_LONGEST_WAIT = 20.0


class Connection:
    """Posts requests and returns replies; connections are kept open, and threads may share one.

    Parameters
    ----------
    url : str
        Where the server is, such as ``http://127.0.0.1:8000``.
    token : str, optional
        The server's token.
    timeout : float
        Seconds to wait for an answer.
    """

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        require("httpx2", "client", "ssba.Client")
        import httpx2

        self.url = url.rstrip("/")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            self._http = httpx2.Client(base_url=self.url, headers=headers, timeout=timeout)
        except httpx2.InvalidURL as error:
            raise ServiceError(f"{url!r:.200} is not an address: {error}") from None

    def get(self, path: str) -> Any:
        """Return the reply to a question without a body."""
        return self._reply("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the reply to a request."""
        return self._reply("POST", path, body)

    def close(self) -> None:
        self._http.close()

    def _reply(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        for attempt in range(1, _TRIES + 1):
            response = self._sent(method, path, body)
            if response.status_code != 503 or attempt == _TRIES:
                break
            time.sleep(_wait(response.headers.get("Retry-After", "1")))
        try:
            said = response.json()
        except ValueError:
            said = None
        if not isinstance(said, dict) and response.status_code == 503:
            said = {}
        if not isinstance(said, dict):
            raise ServiceError(
                f"{self.url} is no server of ssba: it answered {method} {path} with status "
                f"{response.status_code} and no JSON object"
            )
        if not response.is_success:
            self._refuse(response.status_code, said)
        return said

    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None) -> "httpx2.Response":
        import httpx2

        try:
            return self._http.request(method, path, json=body)
        except httpx2.TimeoutException:
            raise ServiceError(
                f"{self.url} did not answer in time; ask with a smaller budget, or give Client(timeout=...)"
            ) from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            what = str(error) or type(error).__name__
            raise ServiceError(f"{self.url} cannot be reached: {what}; is `ssba serve` running?") from None

    def _refuse(self, status: int, said: Mapping[str, Any]) -> NoReturn:
        """Raise what the server said as the error that the library raises itself."""
        detail = said.get("detail")
        problems = detail if isinstance(detail, list) else []
        message = "; ".join(
            str(one["message"]) for one in problems if isinstance(one, dict) and "message" in one
        )
        kind = getattr(errors, str(said.get("error")), None)
        if status == 422 and isinstance(kind, type) and issubclass(kind, SsbaError):
            raise kind(message)
        raise ServiceError(f"{self.url} answered with status {status}: {message or 'no reason was given'}")


def _wait(retry_after: str) -> float:
    """Return how long to wait before asking again.

    >>> _wait("3"), _wait("soon"), _wait("3600")
    (3.0, 1.0, 20.0)
    """
    return min(float(retry_after), _LONGEST_WAIT) if retry_after.isdigit() else 1.0
