"""Processes that share one index, as a program of its own: test_files_crowd runs it, and kills some of them.

`victims`  starts a writer for each line it is sent, tells its process id and what it has published
`crowd`    four writers and two readers at once; ends well only if all of them do
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from tests.index.files.support import FailingDisk

from ssba.index.files.store import Manifest, Store

WRITERS, READERS, APPENDS = 4, 2, 50
# A writer that nobody kills ends by itself, so that none is left behind when a test is interrupted.
MOST_APPENDS = 500


def rows_of(writer: int, step: int) -> NDArray[np.float64]:
    """The points that a writer appends in a step, so that a reader can tell whether they are right."""
    return np.array([[writer, step, 0.5], [writer, step, -0.5]])


def append(store: Store, writer: int, step: int) -> None:
    store.append(rows_of(writer, step), {"writer": writer, "step": step})


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def forked(work: Callable[[], None]) -> int:
    """Start a process that does the work and nothing else; its exit status tells whether it was done."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except Exception as error:
        say(f"error {error!r}")
    finally:
        os._exit(status)


def append_until_killed(path: Path, writer: int) -> None:
    store = Store.open(path)
    for step in range(MOST_APPENDS):
        append(store, writer, step)
        say(f"published {step}")


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives SIGKILL")


def append_once(path: Path, killed_at: int) -> None:
    append(Store.open(path, FailingDisk(killed_at, die)), 0, killed_at)
    say(f"published {killed_at}")


WORK = {"at-random": append_until_killed, "at-call": append_once}


def victims() -> None:
    for order in sys.stdin:
        kind, number, path = order.rstrip("\n").split(" ", 2)
        child = forked(partial(WORK[kind], Path(path), int(number)))
        say(f"process {child}")
        os.waitpid(child, 0)
        say("dead")


def write_all(path: Path, writer: int) -> None:
    store = Store.open(path)
    for step in range(APPENDS):
        append(store, writer, step)


def read_until_all_is_there(path: Path, parent: int) -> None:
    store = Store.open(path)
    seen = Manifest(0, store.identity, ())
    while len(seen.shards) < WRITERS * APPENDS and os.getppid() == parent:
        now = store.latest()
        if now.number < seen.number or now.shards[: len(seen.shards)] != seen.shards:
            raise AssertionError(f"manifest {now.number} does not go on from manifest {seen.number}")
        for shard in now.shards[len(seen.shards) :]:
            wanted = rows_of(int(shard.about["writer"]), int(shard.about["step"]))
            np.testing.assert_array_equal(store.read(shard), wanted)
        seen = now
        time.sleep(0.002)  # leave the processors to the writers


def crowd(path: Path) -> NoReturn:
    parent = os.getpid()
    readers = [forked(partial(read_until_all_is_there, path, parent)) for _ in range(READERS)]
    writers = [forked(partial(write_all, path, writer)) for writer in range(WRITERS)]
    failed = [child for child in writers if os.waitpid(child, 0)[1]]
    if failed:
        for child in readers:
            os.kill(child, signal.SIGKILL)
    failed += [child for child in readers if os.waitpid(child, 0)[1]]
    sys.exit(len(failed))


if __name__ == "__main__":
    if sys.argv[1] == "victims":
        victims()
    else:
        crowd(Path(sys.argv[2]))
