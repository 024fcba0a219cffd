"""`ssba check-certificate`: whether a certified result still holds, by the model's own word."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ssba
from ssba.apps.exits import REFUSED
from ssba.apps.loading import decoded
from ssba.apps.project.choice import ProjectChoice, open_choice, with_files
from ssba.apps.project.opened import OpenedProject
from ssba.columns.features import unknown_columns
from ssba.errors import ArgumentError, SchemaError
from ssba.json_form import read_json
from ssba.results.certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd


@with_files
def check_certificate(
    choice: ProjectChoice,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The certificate, a JSON file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a certificate: digest, model, constraints, predictions, distances; exit with 1 if one fails.

    Columns, target and scales come from the certificate; columns of the data that it does not name are
    left out.
    """
    certificate = _read(file)
    project = open_choice(choice)
    rows = _certified_columns(project, certificate)
    checked = ssba.Explainer(project.model, rows, **certificate.settings).check_certificate(certificate)
    typer.echo(json.dumps(checked.to_dict(), indent=2) if as_json else repr(checked))
    if not checked.passed:
        typer.echo(f"ssba: {file}: {checked.sentence}", err=True)
        raise typer.Exit(REFUSED)


def _read(file: Path) -> Certificate:
    if not file.exists():
        raise ArgumentError(f"{file}: there is no such file")
    text = decoded(file.read_bytes(), f"the certificate {file}")
    try:
        document = read_json(text, "a certificate")
        # The service sends it as one field of a reply.
        wrapped = isinstance(document, dict) and document.keys() == {"certificate"}
        return Certificate.from_dict(document["certificate"] if wrapped else document)
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None


def _certified_columns(project: OpenedProject, certificate: Certificate) -> "pd.DataFrame":
    names = [one.name for one in certificate.explanation.columns]
    known = [str(one) for one in project.table.columns]
    if missing := [name for name in names if name not in known]:
        raise SchemaError(unknown_columns(missing, known, "the data"))
    return project.table[names]
