"""The command `ssba`; how it leaves is in `exits`.

A command is a function with typer annotations in a module of its own, added by one line in `commands`.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO

import ssba
from ssba.apps.exits import MEANING, REFUSED, USAGE
from ssba.errors import MissingExtra, SsbaError

if TYPE_CHECKING:
    import typer

EXTRA = {"pandas": "pandas", "rich": "rich", "sklearn": "scikit-learn", "typer": "typer"}
"""What the extra `cli` brings: the module, and the name to install it by."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the console script `ssba`."""
    if missing := [package for module, package in EXTRA.items() if find_spec(module) is None]:
        _leave(f"the command line needs {', '.join(missing)}: pip install 'ssba[cli]'", USAGE)
    try:
        with _warnings_in_one_line():
            commands()(args=None if arguments is None else list(arguments), prog_name="ssba")
    except MissingExtra as error:
        _leave(str(error), USAGE)
    except (SsbaError, OSError) as error:
        _leave(_one_line(error), REFUSED)


def commands() -> "typer.Typer":
    """Build the command line with all its commands."""
    import typer

    from ssba.apps.boundary import boundary_commands
    from ssba.apps.certificate import check_certificate
    from ssba.apps.demo.command import demo

    app = typer.Typer(
        help="The smallest feasible change that flips a trained model's decision.",
        epilog=MEANING,
        no_args_is_help=True,
        add_completion=False,
        # A bug should show Python's own traceback, not a page of boxes with the values of all variables.
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
    ) -> None:
        pass

    app.command()(demo)
    app.command()(check_certificate)
    app.add_typer(boundary_commands(), name="boundary")
    return app


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


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


def _leave(line: str, code: int) -> NoReturn:
    sys.stderr.write(f"ssba: {line}\n")
    raise SystemExit(code)
