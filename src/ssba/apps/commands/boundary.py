"""`ssba boundary`: make an index of boundary points on disk, grow, check, export and repair it."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import ssba
from ssba.apps.commands.printing import check_out, interruptible, whole_or_nothing
from ssba.apps.exits import BROKEN
from ssba.apps.loading import by_ending
from ssba.apps.project.choice import ProjectChoice, open_choice, with_project
from ssba.apps.project.opened import OpenedProject
from ssba.errors import ArgumentError, SsbaError
from ssba.extras import require
from ssba.index import BoundarySet, Verified

Index = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of the index.")]
ProjectIndex = Annotated[
    Path | None,
    typer.Argument(
        metavar="INDEX", help="Folder of the index; without it, the one that the project file names."
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(metavar="SHARE", help="Bisection stops at this share of the segment between two rows."),
]
AllCrossings = Annotated[
    bool,
    typer.Option(
        "--all-crossings", help="Take every crossing of a segment that shows in 32 parts, not just one."
    ),
]
Part = Annotated[
    str,
    typer.Option(metavar="I/N", help="Do the I-th of N parts, beside other processes that do the others."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def boundary_commands() -> typer.Typer:
    """Build the group of commands."""
    app = typer.Typer(
        help="Boundary points of a model, kept on disk: found once, grown, checked and looked up again.",
        no_args_is_help=True,
    )
    for command in (build, grow, info, verify, export, repair):
        app.command()(command)
    return app


@with_project
def build(
    choice: ProjectChoice,
    points: Annotated[
        int, typer.Option(metavar="N", min=1, help="Boundary points in all: pairs of rows to bisect.")
    ],
    index: ProjectIndex = None,
    tolerance: Tolerance = 1e-3,
    all_crossings: AllCrossings = False,
    part: Part = "1/1",
) -> None:
    """Find boundary points between background rows and write them to an index; resume one that was begun."""
    how = Sampling(tolerance, all_crossings, _part(part))
    opened = _open(choice, index)
    before = _points_at(opened.index)
    if before is not None:
        typer.echo(f"{opened.index} is there already, with {before:,} points: going on with it")
    _sample(opened, points, how)


@with_project
def grow(
    choice: ProjectChoice,
    index: ProjectIndex = None,
    points: Annotated[int | None, typer.Option(metavar="N", min=1, help="Boundary points in all.")] = None,
    more: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Boundary points to add to those there are.")
    ] = None,
    tolerance: Tolerance = 1e-3,
    all_crossings: AllCrossings = False,
    part: Part = "1/1",
) -> None:
    """Add boundary points to an index; give the options that it was built with."""
    if (points is None) == (more is None):
        raise typer.BadParameter("give one of --points and --more")
    how = Sampling(tolerance, all_crossings, _part(part))
    opened = _open(choice, index)
    now = opened.explainer.open_boundary(opened.index)
    _sample(opened, points or now.pairs_used + (more or 0), how)


def info(index: Index, as_json: AsJson = False) -> None:
    """Show what an index holds; neither data nor model is needed."""
    facts = ssba.boundary_info(index)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    columns = dict(zip(facts["columns"], facts["kinds"], strict=True))
    shown = {
        "points": f"{facts['points']:,}",
        "origin": ", ".join(f"{kind} {n:,}" for kind, n in facts["points_by_kind"].items()) or "nothing yet",
        "target": facts["target"],
        "model": f"{facts['model']} ({facts['model_fingerprint']})",
        "columns": ", ".join(f"{name} ({kind})" for name, kind in columns.items()),
        "files": f"{facts['shards']:,} shards, {facts['bytes']:,} bytes, manifest {facts['manifest']}",
    }
    width = max(map(len, shown))
    typer.echo("\n".join(f"{name:<{width}}  {value}" for name, value in shown.items()))


@with_project
def verify(
    choice: ProjectChoice,
    index: ProjectIndex = None,
    sample: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ask about so many points, drawn by seed.")
    ] = None,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="Drop the points that no longer hold, and make the index this model's."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the model again whether the points still reach the target; exit with 3 if some do not."""
    if drop and sample is not None:
        raise typer.BadParameter("--drop asks about all points; leave out --sample")
    opened = _open(choice, index)
    with interruptible(f"{opened.index} is as it was"):
        asked = _drop_broken(opened) if drop else opened.explainer.verify_boundary(opened.index, sample)
    if as_json:
        facts = {"points": asked.points, "asked": asked.asked, "held": asked.held, "broken": asked.broken}
        typer.echo(json.dumps({**facts, "dropped": asked.broken if drop else 0}))
    else:
        typer.echo(f"{asked}{_and_dropped(asked.broken) if drop else ''}")
    if asked.broken and not drop:
        raise typer.Exit(BROKEN)


@with_project
def export(
    choice: ProjectChoice,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write: .parquet, .arrow, .csv, .csv.gz.")
    ],
    index: ProjectIndex = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write the points of an index, in the columns and units of the data, to a file."""
    write = _writer(out)
    if out.exists() and not force:
        raise ArgumentError(f"{out} is there already; choose another name, or add --force to overwrite it")
    check_out(out)
    opened = _open(choice, index)
    boundary = opened.explainer.open_boundary(opened.index)
    with interruptible(f"{out} was not written"), whole_or_nothing(out) as unfinished:
        write(boundary, unfinished)
    typer.echo(f"{out}: {len(boundary):,} boundary points toward {boundary.target}")


def repair(index: Index) -> None:
    """Drop what is damaged, remove what interrupted writers left, and say what was done."""
    typer.echo(str(ssba.repair_boundary(index)))


@dataclass(frozen=True)
class Sampling:
    """How points are sampled."""

    tolerance: float
    all_crossings: bool
    part: tuple[int, int]


@dataclass(frozen=True)
class Opened:
    """The folder of an index, the explainer that it is for, and the true labels of its rows, if known."""

    index: Path
    explainer: ssba.Explainer
    labels: Any


def _open(choice: ProjectChoice, index: Path | None) -> Opened:
    with interruptible("nothing was changed"):
        project = open_choice(choice)
        return Opened(index or _index_of(project), project.explainer(), project.labels)


def _index_of(project: OpenedProject) -> Path:
    if project.settings.index is None:
        raise ArgumentError(
            'INDEX is missing: name the folder of the index, or write index = "FOLDER" into the project file'
        )
    return project.folder / project.settings.index


def _sample(opened: Opened, points: int, how: Sampling) -> None:
    index = opened.index
    with interruptible(f"what was found until now is in {index}; go on with --points {points}"):
        found = opened.explainer.sample_boundary(
            points,
            how.tolerance,
            labels=opened.labels,
            path=index,
            crossings="all" if how.all_crossings else "one",
            part=how.part,
        )
    pairs = "all" if found.is_complete else f"{found.pairs_used:,} of"
    typer.echo(
        f"{index}: {len(found):,} boundary points toward {found.target}, from {pairs} {found.pairs:,} pairs "
        f"of rows; {found.rows_used:,} model rows asked now"
    )


def _part(text: str) -> tuple[int, int]:
    """Read a share of the work: people count from 1, the library from 0.

    >>> _part("2/4")
    (1, 4)
    """
    number, _, of = text.partition("/")
    try:
        part = int(number) - 1, int(of)
    except ValueError:
        part = -1, 0
    if not 0 <= part[0] < part[1]:
        raise typer.BadParameter(f"--part {text}: give two whole numbers such as 1/4, up to 4/4")
    return part


def _points_at(index: Path) -> int | None:
    """How many points an index holds; None where there is none that can be read."""
    with suppress(SsbaError):
        return int(ssba.boundary_info(index)["points"])
    return None


def _drop_broken(opened: Opened) -> Verified:
    """Drop the points that do not hold, those of another model among them."""
    before = int(ssba.boundary_info(opened.index)["points"])
    boundary = opened.explainer.open_boundary(opened.index, adopt=True)
    if len(boundary) == before:
        # It was this model's already, so that opening it asked nothing.
        boundary = boundary.keep_valid()
    return Verified(before, before, len(boundary))


def _and_dropped(broken: int) -> str:
    if not broken:
        return ""
    return " and was dropped" if broken == 1 else " and were dropped"


Writer = Callable[[BoundarySet, Path], Any]


def _write_parquet(boundary: BoundarySet, file: Path) -> None:
    boundary.to_parquet(file)


def _write_arrow(boundary: BoundarySet, file: Path) -> None:
    import pyarrow as pa

    table = boundary.to_arrow()
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _write_csv(boundary: BoundarySet, file: Path) -> None:
    boundary.to_frame().to_csv(file, index=False)


def _write_zipped_csv(boundary: BoundarySet, file: Path) -> None:
    boundary.to_frame().to_csv(file, index=False, compression="gzip")


_WRITERS: dict[str, Writer] = {
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".csv": _write_csv,
    ".csv.gz": _write_zipped_csv,
}


def _writer(out: Path) -> Writer:
    write = by_ending(out, _WRITERS)
    if write in (_write_parquet, _write_arrow):
        # Told now, not when all points have been read.
        require("pyarrow", "arrow", f"writing {out.name}")
    return write
