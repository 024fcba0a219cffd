"""The command `ssba mcp`."""

import sys
from typing import Annotated

import typer

from ssba.apps.limits import Limits
from ssba.apps.project.choice import ProjectChoice, open_choice, with_project
from ssba.extras import require

_DEFAULTS = Limits()


@with_project
def mcp(
    choice: ProjectChoice,
    max_rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="Model rows that one call of a tool may ask about.")
    ] = _DEFAULTS.rows,
    max_seconds: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="Seconds that one call of a tool may take.")
    ] = _DEFAULTS.seconds,
) -> None:
    """Serve language model agents over stdin and stdout, by the Model Context Protocol."""
    require("mcp", "serve", "ssba mcp")
    from ssba.apps.mcp import serve_stdio, take_stdout
    from ssba.apps.service import Service
    from ssba.apps.work import Desk

    # Before the model is loaded, which may print.
    wire = take_stdout()
    if sys.stdin.isatty():
        sys.stderr.write(
            "ssba: a client of the Model Context Protocol is expected on stdin; Ctrl-C or Ctrl-D stops\n"
        )
    service = Service(open_choice(choice), limits=Limits(max_rows, max_seconds))
    serve_stdio(service, Desk(workers=1), wire)
