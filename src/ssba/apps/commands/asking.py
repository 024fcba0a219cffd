"""What `ssba explain`, `plan` and `batch` ask: their shared options, made into requests."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ssba.apps.cells import option_number, read_conditions, read_values
from ssba.apps.limits import UNLIMITED, Meter
from ssba.apps.loading import decoded, must_exist
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.project.opened import OpenedProject
from ssba.apps.requests import PredictRequest, RowsRequest
from ssba.apps.service import Service
from ssba.apps.usage import UsageError
from ssba.apps.words import COMMAND_LINE
from ssba.errors import ArgumentError
from ssba.json_form import read_json
from ssba.options import Calls, Diversity, Sparsity

Repeated = list[str] | None


@dataclass(frozen=True)
class RowOptions:
    """Which row is meant, as the options say it."""

    row: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="A row of the data, counted from 0.")
    ] = None
    where: Annotated[
        Repeated,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value that one row of the data has: id=p17; may be repeated until only one row has them.",
        ),
    ] = None
    values: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A row of your own: JSON with a value for every column of the model; - reads it from stdin.",
        ),
    ] = None
    set: Annotated[
        Repeated,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value that the row shall have instead: chol=233, or ca=null where it is missing; may "
            "be repeated.",
        ),
    ] = None


@dataclass(frozen=True)
class AnswerOptions:
    """What is asked of the answers, as the options say it."""

    constraint: Annotated[
        Repeated,
        typer.Option(
            metavar="TEXT",
            help='A constraint beside those of the project: "age >= x.age"; may be repeated.',
        ),
    ] = None
    no_project_constraints: Annotated[
        bool, typer.Option("--no-project-constraints", help="Leave out the constraints of the project.")
    ] = False
    k: Annotated[
        int | None, typer.Option("--k", metavar="N", min=1, help="How many different answers at most.")
    ] = None
    max_changes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many columns may change at most.")
    ] = None
    sparsity: Annotated[
        Sparsity | None, typer.Option(help="Whether fewer changed columns may make an answer longer.")
    ] = None
    diversity: Annotated[Diversity | None, typer.Option(help="What makes several answers different.")] = None
    plausible: Annotated[
        bool, typer.Option("--plausible", help="Only answers that lie where the data live.")
    ] = False
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="MARGIN",
            help="Room to spare: 0.5 is a distance within which every row reaches the target, too; score:0.1 "
            "is what the score passes the threshold by.",
        ),
    ] = None
    evidence: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="How many nearer rows to draw as evidence against them."),
    ] = None
    prove: Annotated[
        bool | None,
        typer.Option(
            "--prove/--no-prove",
            help="Give proofs of the answers of tree ensembles the time they take; --no-prove never opens "
            "them. Without either they are proved where little work is enough.",
        ),
    ] = None
    calls: Annotated[
        Calls | None,
        typer.Option(
            help="few: the model is asked about more rows at once, in fewer calls, as is right for one that "
            "answers over a network.",
        ),
    ] = None
    budget_rows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Model rows for the search of each query.")
    ] = None


BudgetSeconds = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Seconds for the whole search; it ends soon after.")
]


def open_asked(choice: ProjectChoice, quiet: bool = False) -> OpenedProject:
    """Open the chosen project to ask it something."""
    project = open_choice(choice, quiet)
    if choice.target is None:
        return project
    # Stored points are about the project's own target.
    return replace(project, settings=project.settings.model_copy(update={"index": None}))


def open_service(choice: ProjectChoice) -> Service:
    """Open the chosen project; whoever waits at a terminal sets the limits with Ctrl-C."""
    return Service(open_asked(choice), limits=UNLIMITED, words=COMMAND_LINE)


def query_fields(service: Service, given: RowOptions, meter: Meter) -> dict[str, Any]:
    """Return the fields that say which row is meant; where none is named, choose one and say so."""
    columns = {one.name: one for one in service.columns}
    found: dict[str, Any] = {"set": read_values("--set", given.set or (), columns)}
    if given.row is not None:
        found["row"] = given.row
    if given.where:
        found["where"] = read_conditions("--where", given.where, columns)
    if given.values is not None:
        found["values"] = _read_row(given.values)
    if len(found) == 1:
        found["row"] = _example_row(service, meter)
        sys.stderr.write(f"ssba: row {found['row']}, since none was named by --row, --where or --values\n")
    if len(found) > 2:
        raise UsageError("--row, --where and --values each name a row; give one of them")
    return found


def answer_fields(given: AnswerOptions, seconds: float | None, service: Service) -> dict[str, Any]:
    """Return the fields of a request that say what is asked of the answers."""
    options = {
        "k": given.k,
        "max_changes": given.max_changes,
        "sparsity": given.sparsity,
        "diversity": given.diversity,
        "plausible": given.plausible,
        "margin": None if given.margin is None else _margin(given.margin),
        "evidence": given.evidence,
        "prove": given.prove,
        "calls": given.calls,
    }
    return {
        "constraints": tuple(given.constraint or ()),
        "project_constraints": not given.no_project_constraints,
        "options": {name: value for name, value in options.items() if value is not None},
        "budget": _budget(given.budget_rows, seconds, service),
    }


def _budget(rows: int | None, seconds: float | None, service: Service) -> dict[str, Any] | None:
    """Return the budget where a part of it is given; the other part is the project's."""
    if rows is None and seconds is None:
        return None
    if seconds is not None and not seconds > 0:
        raise UsageError(f"--budget-seconds {seconds:g}: give a number above 0")
    own = service.project.settings.budget
    return {"rows": rows or own.rows, "seconds": own.seconds if seconds is None else seconds}


def _margin(text: str) -> Any:
    """Read a margin.

    >>> _margin("0.5"), _margin("score:0.1")
    (0.5, {'kind': 'score_margin', 'amount': 0.1})
    """
    kind, colon, amount = text.rpartition(":")
    number = option_number(amount, "--margin")
    if (colon and kind != "score") or not number > 0:
        raise UsageError(f"--margin {text!r}: give a distance such as 0.5, or score:0.1; both are above 0")
    return {"kind": "score_margin", "amount": number} if colon else number


def _read_row(file: Path) -> dict[str, Any]:
    called = f"--values {file}"
    if file == Path("-"):
        content = sys.stdin.buffer.read()
    else:
        must_exist(file, "--values")
        content = file.read_bytes()
    text = decoded(content, called)
    try:
        row = read_json(text, "a row")
    except ArgumentError as error:
        raise ArgumentError(f"{called}: {error}") from None
    if not isinstance(row, dict):
        raise ArgumentError(f"{called}: {json.dumps(row):.40} is not a row; give an object")
    return row


def _example_row(service: Service, meter: Meter) -> int:
    """Choose a row that needs a change: the project's example, else the first."""
    example = service.project.example_row
    if example is not None:
        said = service.predict(PredictRequest(row=example), meter).prediction
        if not said["reached"]:
            return example
    found = service.rows(RowsRequest(reached=False, limit=1), meter).rows
    if not found:
        raise ArgumentError(
            "every row of the data reaches the target already; name a row with --row, or another --target"
        )
    return found[0].row
