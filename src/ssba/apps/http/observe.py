"""The outermost layer: every request gets an id, is counted and logged, and no error escapes."""

import secrets
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ssba.apps.http.logs import Record, log_request
from ssba.apps.http.metrics import Metrics
from ssba.apps.http.problems import reply_to
from ssba.apps.http.settings import MCP

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Observe:
    """Notes what comes of every request.

    Parameters
    ----------
    app
        The layers below.
    metrics : Metrics
        What counts the requests.
    log_values : bool
        Whether the log may contain bodies and messages of errors, which hold values of rows.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log_values: bool) -> None:
        self.app, self.metrics, self.log_values = app, metrics, log_values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note what came of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"
        record = Record(secrets.token_hex(8), method)
        scope.setdefault("state", {})["record"] = record

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-request-id", record.request_id.encode()),
                ]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:
            record.failure = error
            if not record.status:
                await reply_to(error)(scope, receive, noting)
        finally:
            record.route = _template(scope)
            self.metrics.count(record)
            log_request(record, self.log_values)


def record_of(scope: Any) -> Record:
    """Return what is noted about the request."""
    record: Record = scope["state"]["record"]
    return record


def _template(scope: Scope) -> str:
    """Return the route as it was declared: paths themselves may hold anything."""
    if scope["path"] == MCP:
        return MCP
    return str(getattr(scope.get("route"), "path", "unmatched"))
