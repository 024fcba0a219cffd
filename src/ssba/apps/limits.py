"""What one request may take of the service: rows, seconds, and somebody's patience."""

import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ssba.errors import ArgumentError, SsbaError, StoppedError
from ssba.options import Budget


@dataclass(frozen=True)
class Limits:
    """What one request may spend in all, its searches and what follows them together."""

    rows: int = 1_000_000
    seconds: float = 120.0

    def check(self, budget: Budget) -> None:
        """Refuse a budget that is more than a whole request may spend.

        >>> Limits(rows=1000).check(Budget(rows=2000))
        Traceback (most recent call last):
        ssba.errors.ArgumentError: budget.rows is 2,000; one request may ask about 1,000 model rows at most
        """
        if budget.rows > self.rows:
            raise ArgumentError(
                f"budget.rows is {budget.rows:,}; one request may ask about {self.rows:,} model rows at most"
            )
        if budget.seconds is not None and budget.seconds > self.seconds:
            raise ArgumentError(
                f"budget.seconds is {budget.seconds:g}; one request may take {self.seconds:g} seconds at most"
            )


UNLIMITED = Limits(rows=sys.maxsize, seconds=math.inf)
"""For somebody who waits at a terminal, and for a batch that may take days."""


class Busy(SsbaError):
    """Too many requests are waiting; it tells after how many seconds to try again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests are waiting; try again in {retry_after} s")
        self.retry_after = retry_after


class Closed(SsbaError):
    """The desk takes no requests any more."""

    def __init__(self) -> None:
        super().__init__("the server is stopping; try again when it is back")


class Cancelled(StoppedError):
    """Nobody waits for the answer any more."""


@dataclass
class Meter:
    """Counts what a request spends, and stops it at its limits or when it is cancelled.

    An instance is called before every model call, with the number of its rows (`ssba.models.oracle.watched`).
    `report`, if given, learns the number of rows so far.
    """

    limits: Limits = field(default_factory=Limits)
    report: Callable[[int], None] | None = None
    rows: int = field(default=0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, init=False)

    def start(self) -> None:
        """Count time from now: waiting in line is not the work's own; work that was cancelled there ends."""
        self._begun = time.monotonic()
        self(0)

    def cancel(self) -> None:
        """Stop the work at its next model call."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody cancelled the work."""
        return self._cancelled.is_set()

    @property
    def seconds(self) -> float:
        """How long the work has taken so far."""
        return time.monotonic() - self._begun

    def __call__(self, rows: int) -> None:
        """Count rows that are about to be asked, and end the work where it has to end."""
        if self.is_cancelled:
            raise Cancelled("the request was cancelled")
        self.rows += rows
        if self.rows > self.limits.rows:
            raise StoppedError(
                f"this takes more than the {self.limits.rows:,} model rows that one request may ask about; "
                "ask for fewer answers, or with a smaller budget"
            )
        if self.seconds > self.limits.seconds:
            raise StoppedError(
                f"this takes longer than the {self.limits.seconds:g} seconds that one request may take; ask "
                "for less, or with a smaller budget"
            )
        if self.report is not None:
            self.report(self.rows)
