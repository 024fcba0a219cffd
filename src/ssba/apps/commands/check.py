"""`ssba check`: whether a project is sound, and what its columns are."""

import json
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from ssba.apps.commands.printing import draw, waiting
from ssba.apps.project.check import check_project
from ssba.apps.project.choice import ProjectChoice, open_choice, with_project
from ssba.apps.tables import plain_table
from ssba.results.column_table import ColumnTable, values_text


@with_project
def check(
    choice: ProjectChoice,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a project: model, data, columns, target, constraints and index; exit with 1 if one is wrong."""
    with waiting():
        project = open_choice(choice)
        found = check_project(project)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
        return
    draw(partial(_print_columns, columns=found.columns, meanings=project.settings.meanings), None)
    typer.echo(f"\n{found.sentence}")


def _print_columns(console: Console, columns: ColumnTable, meanings: dict[str, str]) -> None:
    # Only what the data's values decided may be other than its owner thinks.
    reasons = {one.name: one.why for one in columns if one.by_values}
    beside = {title: texts for title, texts in (("why", reasons), ("meaning", meanings)) if texts}
    table = plain_table("column", "kind", "values", *beside)
    # Levels may be many.
    table.columns[2].no_wrap = False
    for one in columns:
        table.add_row(
            one.name, one.kind, values_text(one), *(texts.get(one.name, "") for texts in beside.values())
        )
    console.print(table)
