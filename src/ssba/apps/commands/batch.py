"""`ssba batch`: many rows explained into one Parquet file."""

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from ssba.apps.batch.chunks import TableSource, open_source
from ssba.apps.batch.crews import Crew, alone, in_processes, on_ray
from ssba.apps.batch.work import Job, Refused, Worker, project_digest, request_digest
from ssba.apps.commands.asking import AnswerOptions, answer_fields, open_asked, open_service
from ssba.apps.commands.printing import check_out, interruptible, waiting
from ssba.apps.limits import Meter
from ssba.apps.project.choice import ProjectChoice, with_groups, with_project
from ssba.apps.refusals import read_request
from ssba.apps.requests import CheckRequest, CohortRequest
from ssba.apps.service import Service
from ssba.apps.usage import UsageError
from ssba.errors import ArgumentError
from ssba.extras import require
from ssba.options import Budget
from ssba.progress import bar
from ssba.run.chunks import KnownSource, Wanted
from ssba.run.digests import digest
from ssba.run.locks import held
from ssba.run.parts import IN_TERMINAL, Parts
from ssba.run.table import ERROR


@dataclass(frozen=True)
class BatchOptions:
    """How a batch is worked on, as the options say it."""

    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write: .parquet.")]
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes to share the work; each opens the project.")
    ] = 1
    ray: Annotated[
        bool, typer.Option("--ray", help="Share the work on a Ray cluster that is started on this machine.")
    ] = False
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Share the work on a Ray cluster: auto, HOST:PORT or ray://HOST:PORT."
        ),
    ] = None
    chunk: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Rows to explain together, and to lose at most when stopped."),
    ] = 32
    on_error: Annotated[
        Literal["stop", "row"],
        typer.Option(
            help="What to do about a row that cannot be read or scored: stop, or give it the status error."
        ),
    ] = "stop"
    with_json: Annotated[
        bool, typer.Option("--with-json", help="Add a column with the whole explanation as JSON.")
    ] = False
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew, and overwrite the file if there is one.")
    ] = False


@with_project
@with_groups
def batch(
    choice: ProjectChoice,
    how: BatchOptions,
    asked: AnswerOptions,
    rows: Annotated[
        Path | None,
        typer.Argument(
            metavar="IN",
            help="Rows to explain: .csv, .csv.gz, .parquet; without it, all rows of the project's data that "
            "do not reach the target.",
        ),
    ] = None,
) -> None:
    """Explain many rows, and write the answers to a Parquet file; resume one that was begun.

    Finished chunks are kept in FILE.parts until all are there, so that a run that was stopped in any way
    resumes where it was. The file is the same whether one process, many or a cluster worked on it.
    """
    _check(how)
    with interruptible("nothing was begun"), waiting() as meter:
        service = open_service(choice)
        request = _request(service, asked)
        _read_constraints(service, request, meter)
        source = _source(service, rows, meter)
        digests = {
            "project": project_digest(service),
            "request": request_digest(
                request, chunk=how.chunk, on_error=how.on_error, with_json=how.with_json
            ),
            "input": source.digest(),
        }
    job = Job(
        digest(digests),
        partial(open_asked, choice.absolute(), quiet=True),
        request,
        how.on_error,
        how.with_json,
    )
    worker = job.worker(service)
    parts = Parts(how.out, digests, IN_TERMINAL)
    stopped = f"finished chunks are in {parts.folder}; run the same command again to go on"
    with held(how.out, IN_TERMINAL), interruptible(stopped):
        finished = parts.begin(how.force)
        _run(_crew(job, worker, how), source, parts, finished, how.chunk)
        counts = parts.finish(worker.form.schema, worker.form.own("status"))
    typer.echo(_summary(how.out, counts))


def _check(how: BatchOptions) -> None:
    require("pyarrow", "arrow", "writing a Parquet file")
    if how.out.suffix.lower() != ".parquet":
        raise UsageError(f"--out {how.out}: the name must end in .parquet")
    check_out(how.out)
    if (how.ray or how.ray_address is not None) and how.workers > 1:
        raise UsageError("--workers are processes of this machine, and a Ray cluster has its own; give one")


def _request(service: Service, asked: AnswerOptions) -> CohortRequest:
    """Return what is asked about every row; time is no part of the budget, as answers would depend on it."""
    fields = answer_fields(asked, None, service)
    rows = asked.budget_rows or service.project.settings.budget.rows
    return read_request(CohortRequest, {**fields, "budget": Budget(rows)})


def _read_constraints(service: Service, request: CohortRequest, meter: Meter) -> None:
    """Refuse constraints that cannot be read, whatever the rows are."""
    own = request.project_constraints
    check = CheckRequest(row=0, constraints=request.constraints, project_constraints=own)
    service.check_constraints(check, meter)


def _source(service: Service, file: Path | None, meter: Meter) -> KnownSource:
    wanted = Wanted(tuple(service.columns), service.project.settings.id)
    if file is not None:
        return open_source(file, wanted)
    return TableSource(service.project.table, service.cohort_rows(CohortRequest(), meter), wanted)


def _crew(job: Job, worker: Worker, how: BatchOptions) -> Crew:
    if how.ray or how.ray_address is not None:
        return on_ray(job, how.ray_address)
    return alone(worker) if how.workers == 1 else in_processes(job, how.workers)


def _run(crew: Crew, source: KnownSource, parts: Parts, finished: Collection[int], size: int) -> None:
    """Work on all chunks that are not finished, and keep each as it comes."""
    total = source.count()
    done = sum(min(size, total - place * size) for place in finished)
    if finished:
        typer.echo(f"{parts.out}: {done:,} of {total:,} rows are finished already: going on", err=True)
    chunks = (one for one in source.chunks(size) if one.place not in finished)
    with closing(crew(chunks)) as results, bar(total, "rows", None, done, unit=" rows") as shown:
        for one in results:
            if isinstance(one, Refused):
                kept = (
                    f"; what is finished is kept in {parts.folder}"
                    if any(parts.folder.glob("part-*"))
                    else ""
                )
                raise ArgumentError(f"{one.reason}{kept}")
            parts.add(one.place, one.table)
            shown.update(one.rows)


def _summary(out: Path, counts: Counter[str]) -> str:
    total = sum(counts.values())
    told = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    failed = "; the column sentence says why" if counts[ERROR] else ""
    return f"{out}: {total:,} {'row' if total == 1 else 'rows'} explained: {told or 'none'}{failed}"
