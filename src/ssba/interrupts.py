"""Ctrl-C as a wish: a call that is at work ends soon with what it has, and only the second one raises.

Only the main thread gets signals, and only where Ctrl-C would raise `KeyboardInterrupt`: a program that has a
handler of its own for it keeps it.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType

AT_ONCE = 3.0
"""Of two Ctrl-C within so many seconds the second raises, also if it comes in a later call.

A loop of many short calls could not be left otherwise.
"""


def _never() -> bool:
    return False


_WISH: ContextVar[Callable[[], bool]] = ContextVar("wish", default=_never)


def is_interrupted() -> bool:
    """Tell whether the call that is at work in this thread is to end with what it has."""
    return _WISH.get()()


def is_past(deadline: float) -> bool:
    """Tell whether a moment of `time.monotonic` is over, or somebody does not want to wait for it.

    >>> is_past(math.inf)
    False
    >>> with interrupted_by(lambda: True):
    ...     is_past(math.inf)
    True
    """
    return is_interrupted() or time.monotonic() > deadline


@contextmanager
def interrupted_by(wish: Callable[[], bool]) -> Iterator[None]:
    """Have the work inside, in this thread, end with what it has as soon as `wish` says so.

    What ends the work around it ends it, too.
    """
    outer = _WISH.get()
    before = _WISH.set(wish if outer is _never else lambda: wish() or outer())
    try:
        yield
    finally:
        _WISH.reset(before)


@dataclass
class _Last:
    """When Ctrl-C was last taken as a wish."""

    moment: float = -math.inf


_LAST = _Last()


@contextmanager
def ctrl_c_ends() -> Iterator[None]:
    """Have Ctrl-C end the work inside with what it has; a second one raises `KeyboardInterrupt` at once."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    wished = threading.Event()

    def take(number: int, frame: FrameType | None) -> None:
        is_second = wished.is_set() or time.monotonic() < _LAST.moment + AT_ONCE
        _LAST.moment = time.monotonic()
        if is_second:
            signal.default_int_handler(number, frame)
        wished.set()

    signal.signal(signal.SIGINT, take)
    try:
        with interrupted_by(wished.is_set):
            yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
