"""The work of a batch: what is asked of a project, in this process and in others.

Digests of both tell whether finished chunks belong to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ssba
from ssba.apps.limits import UNLIMITED, Meter
from ssba.apps.project.opened import OpenedProject
from ssba.apps.requests import CohortRequest
from ssba.apps.service import Service
from ssba.apps.words import COMMAND_LINE, PYTHON
from ssba.errors import SsbaError
from ssba.run.chunks import Chunk
from ssba.run.digests import digest, frame_digest
from ssba.run.parts import IN_TERMINAL
from ssba.run.table import TableForm, cell_types
from ssba.run.work import ChunkWork, Done, OnError

_PLACES = {"model", "data", "index"}
"""What says where files are: a project that was moved is the same; what is in its files is asked instead."""


@dataclass(frozen=True)
class Job:
    """What is asked about every chunk; it can be sent to another process, which opens the project itself.

    `key` tells it from any other job.
    """

    key: str
    open_project: Callable[[], OpenedProject]
    request: CohortRequest
    on_error: OnError = "stop"
    with_json: bool = False

    def worker(self, service: Service | None = None) -> "Worker":
        """Return what does the work, in this process."""
        return Worker(self, service or Service(self.open_project(), limits=UNLIMITED))


@dataclass(frozen=True)
class Refused:
    """A chunk that cannot be finished, and why; errors of others' classes need not survive the way back."""

    reason: str


class Worker:
    """Explains chunks, one after the other."""

    def __init__(self, job: Job, service: Service) -> None:
        self._job = job
        self._service = service
        self.form = form_of(service, job.with_json)

    def __call__(self, chunk: Chunk, stop: Callable[[int], None] | None = None) -> Done | Refused:
        """Explain a chunk; `stop` is called before every model call, and may end the work by raising."""
        meter = Meter(UNLIMITED, report=stop)
        work = ChunkWork(
            lambda rows: self._service.explain_frame(rows, self._job.request, meter),
            self.form,
            self._job.on_error,
            IN_TERMINAL,
        )
        try:
            return work(chunk)
        except SsbaError as error:
            return Refused(error.one_line)


def form_of(service: Service, with_json: bool) -> TableForm:
    """Return the columns of the output for a project."""
    columns = service.columns
    return TableForm(
        cell_types(service.project.rows, [one.name for one in columns]),
        columns.layout,
        service.describe().classes,
        with_id=bool(service.project.settings.id),
        with_json=with_json,
        told=service.names.told,
        worded=partial(COMMAND_LINE.instead_of, PYTHON),
    )


def project_digest(service: Service) -> str:
    """Return a digest of all that answers depend on in a project: settings, data, model, stored points."""
    project = service.project
    index = project.settings.index
    stored = None if index is None else ssba.boundary_info(project.folder / index)
    facts = (
        project.settings.model_dump_json(exclude=_PLACES),
        frame_digest(project.table),
        service.fingerprint,
        stored,
        ssba.__version__,
    )
    return digest(facts)


def request_digest(request: CohortRequest, **how: Any) -> str:
    """Return a digest of what is asked, and of how the output is made of it."""
    return digest((request.model_dump_json(), sorted(how.items())))
