"""Where the results of a command go: to the terminal, to a pipe, or to a file."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from ssba.apps.exits import INTERRUPTED, TERMINATED, Terminated, sigterm_raised
from ssba.apps.limits import UNLIMITED, Meter
from ssba.errors import ArgumentError
from ssba.models.oracle import watched

WIDTH = 110
"""Of tables in a file."""

PATIENCE = 1.0
"""Seconds that may pass before somebody who waits at a terminal is shown a sign of work."""

Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write to this file instead of stdout; a file that is there is replaced."
    ),
]


def echo(text: str, out: Path | None) -> None:
    """Write text to a file, if one is given, else to stdout."""
    if out is None:
        typer.echo(text)
        return
    with whole_or_nothing(out) as unfinished:
        unfinished.write_text(f"{text.rstrip()}\n", encoding="utf-8")
    typer.echo(f"{out} is written", err=True)


def draw(show: Callable[[Console], None], out: Path | None) -> None:
    """Show something in the terminal, or write it as plain text to a file.

    Rich leaves out colours, and takes 80 columns, where the output is piped.
    """
    if out is None:
        show(Console(highlight=False, markup=False))
        return
    page = StringIO()
    show(Console(file=page, width=WIDTH, highlight=False, markup=False))
    echo(page.getvalue(), out)


def check_out(out: Path | None) -> None:
    """Refuse a file that cannot be written; called before the work whose results it gets."""
    if out is None:
        return
    if out.is_dir():
        raise ArgumentError(f"{out} is a folder; give the name of a file in it")
    if not out.parent.is_dir():
        raise ArgumentError(f"{out}: there is no folder {out.parent}; make it first, or choose another name")
    try:
        # Rights alone do not tell: disks may be full or read-only, and root may write to any but these.
        TemporaryFile(dir=out.parent).close()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ArgumentError(
            f"{out}: no file can be written in {out.parent} ({why}); choose another place"
        ) from None


@contextmanager
def whole_or_nothing(out: Path) -> Iterator[Path]:
    """Give a file to write, which takes its name when it is finished and is removed when it is not."""
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        yield unfinished
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def waiting() -> Iterator[Meter]:
    """Show at a terminal that work is going on, and about how many rows the model was asked so far.

    The sign is on stderr, appears when `PATIENCE` is over and is removed at the end. What is asked by way of
    the meter is counted, and so is what the library asks directly.
    """
    if not sys.stderr.isatty():
        yield Meter(UNLIMITED)
        return
    # Plain characters, which every terminal can show.
    sign = Spinner("line", text="working")
    shown = Live(sign, console=Console(stderr=True), transient=True, redirect_stdout=False)
    timer = threading.Timer(PATIENCE, shown.start)
    timer.daemon = True
    timer.start()
    meter = Meter(UNLIMITED, report=lambda rows: sign.update(text=f"asking the model: {rows:,} rows so far"))
    try:
        with watched(meter):
            yield meter
    finally:
        timer.cancel()
        # It may be about to show the sign just now.
        timer.join()
        shown.stop()


@contextmanager
def interruptible(state: str) -> Iterator[None]:
    """Leave on Ctrl-C or SIGTERM with a line about the state in which things are left."""
    try:
        with sigterm_raised():
            yield
    except Terminated:
        _leave("terminated", state, TERMINATED)
    except KeyboardInterrupt:
        _leave("interrupted", state, INTERRUPTED)


def _leave(how: str, state: str, code: int) -> NoReturn:
    typer.echo(f"ssba: {how}; {state}", err=True)
    raise typer.Exit(code) from None
