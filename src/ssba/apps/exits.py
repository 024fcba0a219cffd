"""How the command `ssba` leaves."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

REFUSED = 1
USAGE = 2
BROKEN = 3
NO_ANSWER = 4
INTERRUPTED = 130
UNREAD = 141
TERMINATED = 143

MEANING = (
    "Exit codes: 0 done, 1 refused with one line on stderr, 2 wrong usage or a missing extra, 3 verified "
    "points no longer hold, 4 no counterfactual was found, 130 interrupted, 141 nobody reads the output any "
    "more, 143 terminated."
)


class Terminated(KeyboardInterrupt):
    """SIGTERM came, which ends work as Ctrl-C does."""


@contextmanager
def sigterm_raised() -> Iterator[None]:
    """Raise on SIGTERM, so that files are closed and other processes ended; only main threads get signals."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
