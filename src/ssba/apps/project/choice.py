"""Which project a command is about: the options that all commands share, and what they open."""

import inspect
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import typer

from ssba.apps.loading import TABLE_SUFFIXES, read_table
from ssba.apps.model_files import MODEL_SUFFIXES, ModelFile, Trust, load_model
from ssba.apps.project.feature_text import FEATURE_FORMS, read_features
from ssba.apps.project.heart import heart_project
from ssba.apps.project.locations import NOWHERE, Key, Locations
from ssba.apps.project.opened import OpenedProject, require_column
from ssba.apps.project.problems import all_of
from ssba.apps.project.read import PROJECT_FILES, read_project
from ssba.apps.project.settings import ProjectSettings
from ssba.apps.project.target import TARGET_FORMS
from ssba.errors import ArgumentError

HEART_NOTICE = (
    f"no {PROJECT_FILES[0]} here: this is the packaged heart project; `ssba init` makes one of your own"
)


@dataclass(frozen=True)
class ProjectChoice:
    """The options, as they were given; what is given replaces what the project file says.

    It can be pickled, and opened again in another process; `absolute` makes it independent of the current
    folder.
    """

    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Project file, or its folder. Without it: {PROJECT_FILES[0]} in this folder, else just "
            "--data and --model, else the packaged heart project.",
        ),
    ] = None
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Background rows: {', '.join(TABLE_SUFFIXES)}.")
    ] = None
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"The trained model: {', '.join(MODEL_SUFFIXES)}.")
    ] = None
    target: Annotated[str | None, typer.Option(metavar="TARGET", help=f"{TARGET_FORMS}.")] = None
    labels: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of true labels, which the model does not take."),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Further column that the model does not take; may be repeated."),
    ] = None
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            help=f"Kind of a column, where the data do not tell: {FEATURE_FORMS}; may be repeated.",
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Same input and seed, same answer.")
    ] = None
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a pickle, although that runs any code in it.")
    ] = False
    trust_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE", help="Further type that a .skops file may hold; may be repeated."),
    ] = None

    def absolute(self) -> Self:
        """Return the same choice, which means the same files whatever the current folder."""
        found = find_project(self.project)
        return replace(
            self,
            project=found and found.absolute(),
            data=self.data and self.data.absolute(),
            model=self.model and self.model.absolute(),
        )


def _giving(names: Sequence[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a decorator that gives options to a command, whose first parameter is a `ProjectChoice`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [one for one in _options(ProjectChoice) if one.name in names]
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]

        @wraps(command)
        def run(**given: Any) -> None:
            choice = ProjectChoice(**{one.name: given.pop(one.name) for one in shared})
            command(choice, **given)

        return _taking(run, [*own, *shared])

    return decorate


with_project = _giving([field.name for field in fields(ProjectChoice)])
"""Gives a command one option for each field of the choice."""

with_model_and_data = _giving(
    ["data", "model", "target", "labels", "ignore", "feature", "trust_pickle", "trust_type"]
)
"""Gives a command the options that say what a new project is about."""

with_files = _giving(["project", "data", "model", "trust_pickle", "trust_type"])
"""Gives a command the options about files alone; columns and target come from elsewhere."""


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, in place of each parameter that is a dataclass, one option for each of its fields.

    The first parameter is left to `with_project`, which goes around it.
    """
    first, *own = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
    spread = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in own
        for option in (_options(groups[one.name]) if one.name in groups else [one])
    ]

    @wraps(command)
    def run(choice: Any, **given: Any) -> None:
        built = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group)})
            for name, group in groups.items()
        }
        command(choice, **built, **given)

    return _taking(run, [first, *spread])


def _taking(run: Callable[..., None], options: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """Return a command with other options; typer reads them off the signature and the annotations."""
    vars(run)["__signature__"] = inspect.Signature(options)
    run.__annotations__ = {one.name: one.annotation for one in options}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as options."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def find_project(given: Path | None = None) -> Path | None:
    """Return the project file that is meant: the given one, else the one in the current folder, if any."""
    folder = Path() if given is None else given
    if given is not None and not given.is_dir():
        if not given.is_file():
            raise ArgumentError(f"--project {given}: there is no such file; `ssba init` writes one")
        return given
    found = [folder / name for name in PROJECT_FILES if (folder / name).is_file()]
    if len(found) > 1:
        names = " and ".join(one.name for one in found)
        raise ArgumentError(f"{names} are in one folder; name the one that is meant with --project")
    if given is not None and not found:
        raise ArgumentError(
            f"--project {given}: the folder has no {PROJECT_FILES[0]}; `ssba init` writes one"
        )
    return found[0] if found else None


def _project_above() -> str:
    """Say where the nearest project file in a folder above is, which nobody asked for by being below it."""
    for depth, folder in enumerate(Path().absolute().parents, start=1):
        found = [name for name in PROJECT_FILES if (folder / name).is_file()]
        if found:
            above = "/".join([".."] * depth)
            return f" ({above}/{found[0]} is there: --project {above})"
    return ""


def open_choice(choice: ProjectChoice, quiet: bool = False) -> OpenedProject:
    """Read settings, data and model of the chosen project.

    Where nothing was chosen this is the packaged heart project, which is said on stderr unless `quiet`.
    """
    file = find_project(choice.project)
    if file is not None:
        settings, where = read_project(file)
        return _open(choice, settings, file.parent, where)
    if choice.data is not None and choice.model is not None:
        alone = ProjectSettings(model=str(choice.model), data=str(choice.data))
        return _open(choice, alone, Path(), NOWHERE)
    if choice.data is not None or choice.model is not None:
        given, missing = ("--data", "--model") if choice.model is None else ("--model", "--data")
        raise ArgumentError(f"{given} without a project file needs {missing}, too; `ssba init` writes a file")
    if not quiet:
        sys.stderr.write(f"ssba: {HEART_NOTICE}{_project_above()}\n")
    heart = heart_project()
    where = Locations(options=_option_names(choice, heart.settings))
    return replace(heart, settings=_with_options(heart.settings, choice, heart.table), where=where)


def _open(choice: ProjectChoice, settings: ProjectSettings, folder: Path, said: Locations) -> OpenedProject:
    where = replace(said, options=_option_names(choice, settings))
    file = ModelFile(choice.model or folder / settings.model, where("model"), settings.module)
    trust = Trust(choice.trust_pickle, (*settings.trust_types, *(choice.trust_type or ())))
    model, table = all_of(
        [
            partial(load_model, file, trust),
            partial(read_table, choice.data or folder / settings.data, where("data")),
        ]
    )
    return OpenedProject(_with_options(settings, choice, table), folder, table, model, where)


def _option_names(choice: ProjectChoice, settings: ProjectSettings) -> dict[Key, str]:
    """Return the options that replace settings, or add to them, for messages about them."""
    given = [name for name in ("data", "model", "target", "labels") if getattr(choice, name) is not None]
    features = [text.partition("=")[0] for text in choice.feature or ()]
    named: dict[Key, str] = {(name,): f"--{name}" for name in given}
    count = len(settings.ignore)
    named |= {("ignore", count + number): "--ignore" for number in range(len(_added(choice, settings)))}
    return {**named, **{("features", name): f"--feature {name}" for name in features}}


def _added(choice: ProjectChoice, settings: ProjectSettings) -> tuple[str, ...]:
    """Return the columns that only an option says to ignore."""
    return tuple(dict.fromkeys(one for one in choice.ignore or () if one not in settings.ignore))


def _with_options(settings: ProjectSettings, choice: ProjectChoice, table: Any) -> ProjectSettings:
    """Return the settings with the options instead of what they replace."""
    named = [("--labels", choice.labels), *(("--ignore", name) for name in choice.ignore or ())]
    all_of([partial(require_column, table, name, option) for option, name in named if name is not None])
    given = {
        "data": choice.data and str(choice.data.absolute()),
        "model": choice.model and str(choice.model.absolute()),
        "target": choice.target,
        "labels": choice.labels,
        "seed": choice.seed,
    }
    features = {
        # An option tells the kind of a column; what it means stays.
        name: one.model_copy(update={"meaning": settings.meanings.get(name)})
        for name, one in read_features(choice.feature or (), table).items()
    }
    added = {
        "ignore": (*settings.ignore, *_added(choice, settings)),
        **_without(settings, {choice.labels, *(choice.ignore or ())}),
    }
    added["features"] = {**added["features"], **features}
    replaced = {name: value for name, value in given.items() if value is not None}
    return settings.model_copy(update={**added, **replaced})


def _without(settings: ProjectSettings, columns: Collection[str | None]) -> dict[str, Any]:
    """Return what the file says about columns, but for those that options take from the model.

    It is no mistake of the file that they are missing then.
    """
    said = {"features": settings.features, "weights": settings.weights, "scale": settings.scale}
    return {
        setting: {name: value for name, value in by_column.items() if name not in columns}
        for setting, by_column in said.items()
        if isinstance(by_column, dict)
    }
