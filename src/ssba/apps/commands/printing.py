"""Where the results of a command go: to the terminal, to a pipe, or to a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from ssba.apps.exits import INTERRUPTED
from ssba.errors import ArgumentError

WIDTH = 110
"""Of tables in a file."""

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
    check_folder(out)
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


def check_folder(out: Path) -> None:
    """Refuse a file whose folder is not there."""
    if not out.parent.is_dir():
        raise ArgumentError(f"{out}: there is no folder {out.parent}; make it first, or choose another name")


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
def interruptible(state: str) -> Iterator[None]:
    """Leave on Ctrl-C with a line about the state in which things are left."""
    try:
        yield
    except KeyboardInterrupt:
        leave_interrupted(state)


def leave_interrupted(state: str) -> NoReturn:
    """Leave as Ctrl-C asks, with a line about the state in which things are left."""
    typer.echo(f"ssba: interrupted; {state}", err=True)
    raise typer.Exit(INTERRUPTED) from None
