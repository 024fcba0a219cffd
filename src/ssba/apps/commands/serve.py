"""`ssba serve`: the page of a project, and its HTTP API."""

import inspect
import os
import threading
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ssba.apps.commands.printing import waiting
from ssba.apps.limits import Limits
from ssba.apps.project.choice import ProjectChoice, open_choice, with_project
from ssba.extras import require

if TYPE_CHECKING:
    from ssba.apps.http.settings import ServeSettings

TOKEN = "SSBA_TOKEN"


@dataclass(frozen=True)
class ServeOptions:
    """The options about the server, as they were given."""

    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen at; one beyond this machine needs a token.")
    ] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port to listen at; 0 takes a free one.")
    ] = 8000
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            help=f"What clients must show, at least 16 characters; the variable {TOKEN} hides it from lists "
            "of processes.",
        ),
    ] = None
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Further name that clients may call the server by; repeatable."),
    ] = None
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Requests worked on at once.")] = 2
    waiting: Annotated[
        int, typer.Option(metavar="N", min=0, help="Requests that may wait; more get 503.")
    ] = 32
    max_body: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="Largest body of a request; more gets 413.")
    ] = 1 << 20
    max_rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="Model rows that one request may ask about.")
    ] = Limits.rows
    max_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.001, help="Seconds that one request may take.")
    ] = Limits.seconds
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False
    log_values: Annotated[
        bool, typer.Option("--log-values", help="Log bodies of requests, with the values of rows.")
    ] = False


def with_server(command: Callable[[ProjectChoice, ServeOptions], None]) -> Callable[..., None]:
    """Give a command, whose second parameter is a `ServeOptions`, one option for each of its fields."""
    hints = get_type_hints(ServeOptions, include_extras=True)
    choice, _ = inspect.signature(command, eval_str=True).parameters.values()
    own = [
        inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name]
        )
        for one in fields(ServeOptions)
    ]

    @wraps(command)
    def run(choice: ProjectChoice, **given: Any) -> None:
        command(choice, ServeOptions(**given))

    vars(run)["__signature__"] = inspect.Signature([choice, *own])
    return run


@with_project
@with_server
def serve(choice: ProjectChoice, options: ServeOptions) -> None:
    """Serve a page about a project, and answer questions over HTTP and, at /mcp, as an MCP server.

    Prints the address to use and runs until it is interrupted. A line of JSON for each request goes to
    stderr.
    """
    for module in ("fastapi", "mcp", "prometheus_client", "uvicorn"):
        require(module, "serve", "ssba serve")
    from ssba.apps.http.app import create_app
    from ssba.apps.http.logs import start_logging
    from ssba.apps.http.server import StoppingServer, bind, url_of
    from ssba.apps.service import Service

    # Both refuse before the model is loaded.
    settings = _settings(options)
    listening = bind(options.host, options.port)
    with listening:
        with waiting():
            project = open_choice(choice)
            service = Service(project, options.workers, Limits(options.max_rows, options.max_seconds))
        server = StoppingServer(create_app(service, settings))
        start_logging(options.log_values)
        # From here on nobody who read the address is turned away.
        listening.listen()
        what = project.settings.title or Path(project.settings.data).name
        url = url_of(options.host, listening)
        typer.echo(f"ssba serves {what}: {url} (Ctrl-C stops)")
        if options.open_page:
            # Beside the server, which answers the browser; where there is none, the address is enough.
            threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()
        # Ctrl-C is the way to stop, not a fault.
        with suppress(KeyboardInterrupt), warnings.catch_warnings():
            # What a call warns about may quote the rows that it was asked about.
            warnings.simplefilter("ignore")
            server.run(sockets=[listening])


def _settings(options: ServeOptions) -> "ServeSettings":
    from ssba.apps.http.settings import ServeSettings

    return ServeSettings(
        host=options.host,
        token=options.token or os.environ.get(TOKEN) or None,
        allowed_hosts=tuple(options.allow_host or ()),
        workers=options.workers,
        waiting=options.waiting,
        max_body=options.max_body,
        log_values=options.log_values,
    )
