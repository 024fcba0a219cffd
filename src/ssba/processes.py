"""Other processes of this machine that share work: how they are started, fed and ended.

They are spawned on every platform, so that nothing of this process is in them but what they are given.
"""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, current_process, get_context, parent_process
from typing import Any, TypeVar

from ssba.errors import ArgumentError

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SPAWN = get_context("spawn")
NOBODY_BEGAN = (
    "no worker process could begin. Each of them first runs the script anew, so that in a script the call "
    'must stand below `if __name__ == "__main__":`'
)

__all__ = [
    "NOBODY_BEGAN",
    "SPAWN",
    "BrokenProcessPool",
    "Workers",
    "first_futures",
    "is_typed_in",
    "windowed",
    "workers",
]


class Workers:
    """Processes that are started as work comes for them; each calls `begin` before its first piece."""

    def __init__(self, count: int, begin: Callable[..., object], *given: Any) -> None:
        self._pids: Any = SPAWN.Array("i", count)
        self._pool = ProcessPoolExecutor(
            count, SPAWN, initializer=_begin, initargs=(self._pids, begin, *given)
        )

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that have begun."""
        # Whoever holds the lock may have been killed.
        return [one for one in self._pids.get_obj() if one]

    def submit(self, work: Callable[[Piece], Result], piece: Piece) -> Future[Result]:
        """Hand a piece over; a process that is started meanwhile leaves Ctrl-C to this one.

        It inherits that the signal is blocked, and this process gets it a moment later.
        """
        try:
            with _ctrl_c_waits():
                return self._pool.submit(work, piece)
        except BrokenProcessPool:
            raise
        except RuntimeError:
            # What multiprocessing says in a process that is itself still running its script anew.
            raise ArgumentError(NOBODY_BEGAN) from None

    def kill(self) -> None:
        """End the processes without waiting for what they do."""
        mine = [one for one in active_children() if one.pid in set(self.pids)]
        for process in mine:
            process.kill()
        for process in mine:
            process.join()
        # One that was sending a result left half of it behind. The pool would wait for the rest for ever, as
        # long as anybody could write it: so the end that this process never writes to is closed.
        results: Any = vars(self._pool)["_result_queue"]
        results._writer.close()

    def close(self) -> None:
        """Wait for what the processes do, and end them."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def workers(count: int, begin: Callable[..., object], *given: Any) -> Iterator[Workers]:
    """Have processes, each of which computes with one thread unless the user says otherwise."""
    if current_process().daemon:
        raise ArgumentError("a daemonic process may have no workers; leave workers out")
    with _one_thread_each():
        held = Workers(count, begin, *given)
        try:
            yield held
        finally:
            held.close()


def windowed(
    pieces: Iterable[Piece],
    submit: Callable[[Piece], Any],
    first: Callable[[Sequence[Any]], tuple[list[Result], Sequence[Any]]],
    most: int,
) -> Iterator[Result]:
    """Keep so many pieces at work, and give results as they come."""
    waiting = iter(pieces)
    pending: Sequence[Any] = [submit(one) for one in islice(waiting, most)]
    while pending:
        finished, pending = first(pending)
        yield from finished
        pending = [*pending, *(submit(one) for one in islice(waiting, most - len(pending)))]


def first_futures(pending: Sequence[Future[Result]]) -> tuple[list[Result], Sequence[Future[Result]]]:
    """Wait for the first of some results; return it, and what is still to come."""
    finished, left = wait(pending, return_when=FIRST_COMPLETED)
    return [one.result() for one in finished], list(left)


def is_typed_in() -> bool:
    """Tell whether `__main__` is no file, as in a notebook: other processes cannot find what it defines."""
    main = sys.modules.get("__main__")
    return getattr(main, "__file__", None) is None and getattr(main, "__spec__", None) is None


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Hold Ctrl-C back, where signals can be blocked; on Windows they cannot."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Have processes that are started meanwhile compute with one thread, unless the user says otherwise."""
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _begin(pids: Any, begin: Callable[..., object], *given: Any) -> None:
    """Begin in a worker: leave Ctrl-C to the process that started it, and end when that one does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is to be said was said by the process that started this one.
    warnings.simplefilter("ignore")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with pids.get_lock():
        pids[list(pids).index(0)] = os.getpid()
    begin(*given)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
