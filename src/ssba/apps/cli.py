"""The command `ssba`; how it leaves is in `exits`.

A command is a function with typer annotations in a module of its own, added by one line in `commands`.
"""

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import ssba
from ssba.apps.exits import (
    INTERRUPTED,
    MEANING,
    REFUSED,
    TERMINATED,
    UNREAD,
    USAGE,
    Terminated,
    sigterm_raised,
)
from ssba.apps.usage import is_usage, usage_line
from ssba.apps.words import COMMAND_LINE, PYTHON
from ssba.errors import MissingExtra, SsbaError

if TYPE_CHECKING:
    import typer

EXTRA = {
    "pandas": "pandas",
    "pydantic": "pydantic",
    "rich": "rich",
    "sklearn": "scikit-learn",
    "typer": "typer",
    "yaml": "pyyaml",
}
"""What the extra `cli` brings and every command may need: the module, and the name to install it by."""


@dataclass
class Wanted:
    """What the options before the command ask for."""

    debug: bool = False


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the console script `ssba`."""
    wanted = Wanted()
    try:
        with _warnings_in_one_line(), _ctrl_c_leaves():
            # Commands import much of what they need, and say themselves what becomes of their work.
            with sigterm_raised():
                _check_extra()
                app = commands(wanted)
            code = _run(app, arguments)
    except Terminated:
        _leave("terminated; nothing was begun", TERMINATED)
    except KeyboardInterrupt:
        _leave("interrupted; nothing was begun", INTERRUPTED)
    except Exception as error:
        if is_usage(error):
            _leave_by_usage(error)
        if wanted.debug:
            raise
        _leave(_lines(error), USAGE if isinstance(error, MissingExtra) else REFUSED)
    raise SystemExit(code)


def _check_extra() -> None:
    if missing := [package for module, package in EXTRA.items() if find_spec(module) is None]:
        _leave(f"the command line needs {', '.join(missing)}: pip install 'ssba[cli]'", USAGE)


def _run(app: "typer.Typer", arguments: Sequence[str] | None) -> int:
    """Run a command, and return how to leave."""
    import typer

    given = None if arguments is None else list(arguments)
    try:
        # A command that leaves with a code has it returned.
        code = app(args=given, prog_name="ssba", standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.Abort:
        return INTERRUPTED
    except (OSError, SystemExit) as error:
        # Typer and rich each make an exit with 1 of it.
        reason = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(reason, OSError) or reason.errno != errno.EPIPE:
            raise
        return _leave_unread()
    return int(code)


def _leave_unread() -> int:
    """Leave as other tools do when whoever reads the output, such as `head`, has had enough: quietly."""
    # Python would fail to write what is left when it ends, and say so.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return UNREAD


def _leave_by_usage(error: Any) -> NoReturn:
    # Nothing but `ssba` asks for help, which typer raises as a kind of wrong usage.
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        raise SystemExit(USAGE)
    _leave(usage_line(error), USAGE)


def commands(wanted: Wanted | None = None) -> "typer.Typer":
    """Build the command line with all its commands; `wanted` hears what is asked for before the command."""
    import typer

    from ssba.apps.commands.batch import batch
    from ssba.apps.commands.boundary import boundary_commands
    from ssba.apps.commands.certificate import check_certificate
    from ssba.apps.commands.check import check
    from ssba.apps.commands.explain import explain
    from ssba.apps.commands.init import init
    from ssba.apps.commands.mcp import mcp
    from ssba.apps.commands.plan import plan
    from ssba.apps.commands.serve import serve
    from ssba.apps.demo.command import demo

    app = typer.Typer(
        help="The smallest feasible change that flips a trained model's decision.",
        epilog=MEANING,
        no_args_is_help=True,
        # With --debug Python's own traceback, not a page of boxes with the values of all variables.
        pretty_exceptions_enable=False,
        # Plain help, which reads the same in a terminal, a pipe and docs/cli.md.
        rich_markup_mode=None,
    )

    def tell_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"ssba {ssba.__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=tell_version, is_eager=True, help="Show the version and exit."
            ),
        ] = False,
        debug: Annotated[
            bool, typer.Option("--debug", help="Show where in the code an error comes from.")
        ] = False,
    ) -> None:
        if wanted is not None:
            wanted.debug = debug

    app.command()(init)
    app.command()(check)
    app.command()(explain)
    app.command()(plan)
    app.command()(batch)
    app.command()(demo)
    app.command()(check_certificate)
    app.command()(serve)
    app.command()(mcp)
    app.add_typer(boundary_commands(), name="boundary")
    return app


@contextmanager
def _ctrl_c_leaves() -> Iterator[None]:
    """Have Ctrl-C end a command wherever it is: of what was not searched to the end nothing is written.

    The library takes Ctrl-C as a wish to have what there is, but for programs with a handler of their own.
    """

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print warnings as errors are printed, without the place in the code that they come from."""

    def tell(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        sys.stderr.write(f"ssba: warning: {_one_line(message)}\n")

    with warnings.catch_warnings():
        warnings.showwarning = tell
        yield


def _lines(error: Exception) -> str:
    """Say an error in one line; a project file may have several problems, each of them in a line."""
    from ssba.apps.project.problems import ProjectFileError

    if isinstance(error, ProjectFileError):
        return "\n".join(map(_one_line, str(error).splitlines()))
    if isinstance(error, SsbaError | OSError):
        return _one_line(error)
    return (
        f"unexpected {type(error).__name__}: {_one_line(error)}; this is a fault of ssba, and `ssba --debug "
        "COMMAND` shows where"
    )


def _one_line(message: object) -> str:
    line = message.one_line if isinstance(message, SsbaError) else " ".join(str(message).split())
    return COMMAND_LINE.instead_of(PYTHON, line)


def _leave(lines: str, code: int) -> NoReturn:
    sys.stderr.write("".join(f"ssba: {line}\n" for line in lines.splitlines()))
    raise SystemExit(code)
