"""The command `ssba`.

Exit codes: 0 done; 1 refused, with one line on stderr that says why; 2 wrong usage, or a missing extra.

A command is a function with typer annotations in a module of its own, added by one line in `commands`.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, NoReturn

import ssba
from ssba.errors import SsbaError

if TYPE_CHECKING:
    import typer

REFUSED = 1
USAGE = 2

EXTRA = {"pandas": "pandas", "rich": "rich", "sklearn": "scikit-learn", "typer": "typer"}
"""What the extra `cli` brings: the module, and the name to install it by."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the console script `ssba`."""
    if missing := [package for module, package in EXTRA.items() if find_spec(module) is None]:
        _leave(f"the command line needs {', '.join(missing)}: pip install 'ssba[cli]'", USAGE)
    try:
        commands()(args=None if arguments is None else list(arguments), prog_name="ssba")
    except (SsbaError, OSError) as error:
        _leave(" ".join(str(error).split()), REFUSED)


def commands() -> "typer.Typer":
    """Build the command line with all its commands."""
    import typer

    from ssba.apps.demo import demo

    app = typer.Typer(
        help="The smallest feasible change that flips a trained model's decision.",
        epilog="Exit codes: 0 done, 1 refused with one line on stderr, 2 wrong usage or a missing extra.",
        no_args_is_help=True,
        add_completion=False,
        # A bug should show Python's own traceback, not a page of boxes with the values of all variables.
        pretty_exceptions_enable=False,
    )

    def tell_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"ssba {ssba.__version__}")
            raise typer.Exit

    # The callback also keeps `demo` a named command while there is no second one.
    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=tell_version, is_eager=True, help="Show the version and leave."
            ),
        ] = False,
    ) -> None:
        pass

    app.command()(demo)
    return app


def _leave(line: str, code: int) -> NoReturn:
    sys.stderr.write(f"ssba: {line}\n")
    raise SystemExit(code)
