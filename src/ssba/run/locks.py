"""One run at a time works on an output: it locks a file beside it, which is free again when it ends."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssba.errors import ArgumentError
from ssba.run.parts import IN_PYTHON, Words

if sys.platform != "win32":
    import fcntl


@contextmanager
def held(out: Path, words: Words = IN_PYTHON) -> Iterator[None]:
    """Hold the lock of an output, or refuse where another run holds it; Windows has no such locks."""
    if sys.platform == "win32":
        yield
        return
    file = out.with_name(f".{out.name}.lock")
    opened = _locked(file)
    if opened is None:
        raise ArgumentError(
            f"{out}: another run of ssba is at work on it; let it finish, or choose another {words.out}"
        )
    try:
        yield
    finally:
        # Removed while it is held: whoever opened it before sees in `_locked` that it has gone.
        file.unlink(missing_ok=True)
        os.close(opened)


def _locked(file: Path) -> int | None:
    """Open a file and lock it; None where somebody else has."""
    while True:
        opened = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(opened)
            return None
        except OSError:
            # A file system without locks.
            return opened
        if _is_at(file, opened):
            return opened
        os.close(opened)


def _is_at(file: Path, opened: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(opened))
    except FileNotFoundError:
        return False
