"""One JSON line for each request on stderr, without values of rows unless they are asked for."""

import json
import logging
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = "ssba.serve"

_MOST_OF_A_BODY = 2000


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON: time, level, message, and what was given as `fields`.

    Parameters
    ----------
    with_values : bool
        Whether messages of errors are written, too, which may quote rows.
    """

    def __init__(self, with_values: bool = False) -> None:
        super().__init__()
        self._with_values = with_values

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": moment,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["failure"] = failure_fields(record.exc_info[1], self._with_values)
        return json.dumps(line, ensure_ascii=False, default=str)


def start_logging(with_values: bool) -> None:
    """Send the log of requests, and what the libraries below have to say, to stderr as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(with_values))
    for name, level in (("ssba", logging.INFO), ("uvicorn", logging.WARNING), ("mcp", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class Record:
    """What is noted about one request while it is worked on."""

    def __init__(self, request_id: str, method: str) -> None:
        self.request_id, self.method = request_id, method
        self.route = "unmatched"
        self.status = 0
        self.rows = 0
        self.body = b""
        self.failure: Exception | None = None
        self._begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long the request has taken so far."""
        return time.perf_counter() - self._begun

    def fields(self, with_values: bool) -> dict[str, Any]:
        """Return what the log says about the request.

        The path is left out for the route's template, since paths and query strings may hold values.
        """
        said: dict[str, Any] = {
            "request_id": self.request_id,
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": round(1000 * self.seconds, 1),
            "rows": self.rows,
        }
        if self.failure is not None:
            said["failure"] = failure_fields(self.failure, with_values)
        if with_values and self.body:
            said["body"] = self.body[:_MOST_OF_A_BODY].decode("utf-8", "replace")
        return said


def failure_fields(error: BaseException, with_values: bool) -> list[dict[str, Any]]:
    """Return the chain of an error: types and places; messages, which may quote rows, only where allowed."""
    chain: list[dict[str, Any]] = []
    following: BaseException | None = error
    while following is not None and len(chain) < 5:
        frames = traceback.extract_tb(following.__traceback__)
        one: dict[str, Any] = {
            "type": type(following).__name__,
            "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-6:]],
        }
        if with_values:
            one["message"] = str(following)
        chain.append(one)
        following = following.__cause__ or following.__context__
    return chain


def log_job(status: str, rows: int, seconds: float, failure: Exception | None, with_values: bool) -> None:
    """Write the line about a cohort that has ended."""
    said: dict[str, Any] = {"status": status, "ms": round(1000 * seconds, 1), "rows": rows}
    if failure is not None:
        said["failure"] = failure_fields(failure, with_values)
    logging.getLogger(LOGGER).info("cohort", extra={"fields": said})


def log_request(record: Record, with_values: bool) -> None:
    """Write the line about a request."""
    level = logging.ERROR if record.status >= 500 and record.failure is not None else logging.INFO
    logging.getLogger(LOGGER).log(level, "request", extra={"fields": record.fields(with_values)})
