"""`ssba check-certificate`: whether a certified result still holds, by the model's own word."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ssba
from ssba.apps.exits import REFUSED
from ssba.apps.loading import MODEL_SUFFIXES, TABLE_SUFFIXES, Trust, load_model, read_table
from ssba.columns.features import unknown_columns
from ssba.errors import ArgumentError, SchemaError
from ssba.results.certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd


def check_certificate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The certificate, a JSON file.")],
    data: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help=f"The background rows it was made with: {', '.join(TABLE_SUFFIXES)}."
        ),
    ],
    model: Annotated[
        Path, typer.Option(metavar="FILE", help=f"The model it was made with: {', '.join(MODEL_SUFFIXES)}.")
    ],
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a pickle, although that runs any code in it.")
    ] = False,
    trust_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE", help="Further type that a .skops file may hold; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a certificate: digest, model, constraints, predictions, distances; leave with 1 if one fails.

    Columns, target and scales come from the certificate; columns of the data that it does not name are
    left out.
    """
    certificate = _read(file)
    rows = _certified_columns(read_table(data), certificate, data)
    trained = load_model(model, Trust(trust_pickle, tuple(trust_type or ())))
    checked = ssba.Explainer(trained, rows, **certificate.settings).check_certificate(certificate)
    typer.echo(json.dumps(checked.to_dict(), indent=2) if as_json else repr(checked))
    if not checked.passed:
        typer.echo(f"ssba: {file}: {checked.sentence}", err=True)
        raise typer.Exit(REFUSED)


def _read(file: Path) -> Certificate:
    if not file.exists():
        raise ArgumentError(f"{file}: there is no such file")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"{file} is not UTF-8 text, so it is not a certificate") from None
    try:
        return Certificate.from_json(text)
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None


def _certified_columns(table: "pd.DataFrame", certificate: Certificate, file: Path) -> "pd.DataFrame":
    names = [one.name for one in certificate.explanation.columns]
    known = [str(one) for one in table.columns]
    if missing := [name for name in names if name not in known]:
        raise SchemaError(unknown_columns(missing, known, f"--data {file}"))
    return table[names]
