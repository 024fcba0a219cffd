"""Reading replies of servers that may do anything: limits on size and time, and when to come again."""

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 64 * 2**20
"""A larger reply is not read to its end."""
LONGEST_WAIT = 30.0
"""Seconds between two attempts at most, whatever the server asks for."""


class TooLarge(Exception):
    """A reply was larger than anything that answers a request."""

    def __init__(self) -> None:
        super().__init__(f"a reply of more than {MOST_BYTES // 2**20} MiB")


def read_text(response: "httpx2.Response", deadline: float) -> str:
    """Read a reply piece by piece, so that one without an end is given up.

    Raises
    ------
    TooLarge
        Where it has more than `MOST_BYTES`.
    TimeoutError
        Where `time.monotonic` passes the deadline before its end.
    """
    pieces, size = [], 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > MOST_BYTES:
            raise TooLarge
        # Without this a server that sends a byte now and then could go on for ever.
        if time.monotonic() > deadline:
            raise TimeoutError
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8-sig", errors="replace")


def asked_wait(retry_after: str | None) -> float | None:
    """Read what a server says about when to come again: seconds, or a date.

    >>> asked_wait("2"), asked_wait("86400"), asked_wait("soon"), asked_wait(None)
    (2.0, 30.0, None, None)
    """
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after) if retry_after.strip().isdecimal() else _seconds_until(retry_after)
    except ValueError:
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
