"""`ssba init`: write a project file, for a model and data of one's own or for the packaged heart patients."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import ssba
from ssba.apps.commands.printing import check_out, waiting
from ssba.apps.loading import read_table
from ssba.apps.model_files import ModelFile, Trust, load_model
from ssba.apps.project.choice import ProjectChoice, with_model_and_data
from ssba.apps.project.draft import Draft, draft_project
from ssba.apps.project.feature_text import read_features
from ssba.apps.project.heart import heart_project
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.read import PROJECT_FILES
from ssba.apps.project.settings import ProjectSettings
from ssba.apps.project.write import project_text
from ssba.apps.usage import UsageError
from ssba.errors import ArgumentError
from ssba.extras import require

_LOOKED_AT = 200
"""Rows among which one to explain is looked for."""

_TRIED = 3
"""How many of them are explained for it."""


@with_model_and_data
def init(
    choice: ProjectChoice,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="With --heart: where to write; by default here.", file_okay=False
        ),
    ] = None,
    heart: Annotated[
        bool,
        typer.Option(
            "--heart", help="Write a whole example: the packaged heart patients, a model, and their project."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write, else ssba.toml.")] = None,
    row_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Column that names the rows; the model does not take it."
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="PACKAGE.MODULE:CLASS", help="What makes the module, for torch weights."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write a project file, with the columns and suggested constraints as comments."""
    if heart:
        if choice != ProjectChoice() or (out, row_id, module) != (None, None, None):
            raise typer.BadParameter("--heart brings its own model and data; leave out options about others")
        with waiting():
            lines = _write_heart(folder or Path(), force)
        typer.echo(lines)
        return
    if choice.data is None or choice.model is None or folder is not None:
        raise typer.BadParameter("give --data and --model, or --heart [FOLDER] for a whole example")
    file = out or Path(PROJECT_FILES[0])
    if file.suffix.lower() != ".toml":
        raise UsageError(f"--out {file}: the name of the file must end in .toml")
    check_out(file)
    _refuse_to_overwrite([file], force)
    with waiting():
        lines = _write(file, draft_project(_given(choice, file.parent, row_id, module)), choice.trust_pickle)
    typer.echo(lines)


def _given(choice: ProjectChoice, folder: Path, row_id: str | None, module: str | None) -> OpenedProject:
    """Open what the options name; paths become relative to the folder of the project file."""
    assert choice.data is not None
    assert choice.model is not None
    table = read_table(choice.data)
    trust = Trust(choice.trust_pickle, tuple(choice.trust_type or ()))
    model = load_model(ModelFile(choice.model, module=module), trust)
    settings = ProjectSettings(
        model=_relative(choice.model, folder),
        data=_relative(choice.data, folder),
        target=choice.target,
        labels=choice.labels,
        id=row_id,
        ignore=tuple(choice.ignore or ()),
        features=read_features(choice.feature or (), table),
        module=module,
        trust_types=trust.types,
    )
    return OpenedProject(settings, folder, table, model)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _write(file: Path, draft: Draft, trusts_pickle: bool) -> str:
    project = draft.project
    suggestions = ssba.suggest_constraints(project.rows)
    text = project_text(project.settings, draft.explainer.columns, suggestions, draft.notes)
    file.write_text(text, encoding="utf-8")
    return (
        f"{file} is written: {len(project.rows):,} rows with {len(project.rows.columns)} columns, toward "
        f"{draft.explainer.target}. {len(suggestions.texts)} suggested constraints are in it, switched off: "
        "keep those that are right.\n"
        + _next(project, draft.explainer, file, "--trust-pickle" if trusts_pickle else "")
    )


def _write_heart(folder: Path, force: bool) -> str:
    """Write data, model and project file of the packaged heart patients."""
    require("skops", "skops", "writing a skops file")
    from skops import io

    project = heart_project()
    data, model = folder / project.settings.data, folder / project.settings.model
    file = folder / PROJECT_FILES[0]
    _refuse_to_overwrite([data, model, file], force)
    folder.mkdir(parents=True, exist_ok=True)
    explainer = project.explainer()
    project.table.to_csv(data, index=False)
    io.dump(project.model, model)
    notes = {"data": ssba.datasets.load_heart().attribution}
    file.write_text(project_text(project.settings, explainer.columns, notes=notes), encoding="utf-8")
    return (
        f"{data}, {model} and {file} are written: {len(project.table):,} heart patients, and a model of "
        f"their diagnosis.\n{_next(project, explainer, file)}"
    )


def _refuse_to_overwrite(files: Sequence[Path], force: bool) -> None:
    if not force and (there := [str(file) for file in files if file.exists()]):
        verb = "is" if len(there) == 1 else "are"
        raise ArgumentError(f"{', '.join(there)} {verb} there already; add --force to overwrite")


def _next(project: OpenedProject, explainer: ssba.Explainer, file: Path, trust: str = "") -> str:
    """Say what to try next."""
    row = _row_with_an_answer(project, explainer)
    where = "" if file == Path(PROJECT_FILES[0]) else f"--project {shlex.quote(str(file))}"
    commands = ("ssba check", f"ssba explain --row {row}", f"ssba plan --row {row}", "ssba serve")
    lines = [" ".join(filter(None, (one, where, trust))) for one in commands]
    return "Next:\n" + "\n".join(f"  {line}" for line in lines)


def _row_with_an_answer(project: OpenedProject, explainer: ssba.Explainer) -> int:
    """Return a row whose prediction can be turned, if one is found quickly, so that trying shows it."""
    said = explainer.predict_many(project.rows.head(_LOOKED_AT))
    others = [number for number, one in enumerate(said) if not one.reached]
    # Those that score best are nearest to the target, as a rule.
    likely = sorted(others, key=lambda number: -(said[number].score or 0.0))
    for number in likely[:_TRIED]:
        row, constraints = project.rows.iloc[number], project.settings.constraints
        if explainer.explain(row, constraints, budget=ssba.Budget(1000)).best is not None:
            return number
    return likely[0] if likely else 0
