"""Cohorts in the background: bounded in number, told how far they are, cancelled on request, kept a while."""

import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from anyio import sleep
from anyio.abc import TaskGroup
from pydantic import Field

from ssba.apps.cohort_files import CohortFiles
from ssba.apps.http.problems import Refusal, refusal_of
from ssba.apps.limits import Busy, Cancelled, Closed, Limits, Meter
from ssba.apps.requests import CohortReply, CohortRequest, Reply
from ssba.apps.service import Service
from ssba.apps.work import Desk

Outcome = Literal["done", "failed", "cancelled"]
Status = Literal["waiting", "running", "done", "failed", "cancelled"]

KEPT_SECONDS = 3600.0
_LOOK = 0.1
_HEARTBEAT = 15.0


class JobReply(Reply):
    """A cohort in the background: how far it is, and what came of it."""

    id: Annotated[str, Field(description="Names the job in /api/cohort/{id}.")]
    status: Status
    done: Annotated[int, Field(description="Rows explained so far.")]
    total: Annotated[int | None, Field(description="Rows in all; null before they are known.")]
    result: Annotated[CohortReply | None, Field(description="The answer, once the status is done.")]
    error: Annotated[Refusal | None, Field(description="What went wrong, once the status is failed.")]


@dataclass(eq=False)
class Job:
    """One cohort, written by the thread that works on it and read by those who ask."""

    request: CohortRequest
    meter: Meter
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    done: int = 0
    total: int | None = None
    result: CohortReply | None = None
    files: CohortFiles | None = None
    error: Refusal | None = None
    outcome: Outcome | None = None
    ended: float = 0.0

    @property
    def status(self) -> Status:
        if self.outcome is not None:
            return self.outcome
        return "waiting" if self.total is None else "running"

    def progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def end(self, outcome: Outcome) -> None:
        """Say what came of it; what was said first stays."""
        if self.outcome is None:
            self.outcome, self.ended = outcome, time.monotonic()

    def reply(self) -> JobReply:
        return JobReply(
            id=self.id,
            status=self.status,
            done=self.done,
            total=self.total,
            result=self.result,
            error=self.error,
        )


class Jobs:
    """All cohorts of a server.

    One at a time is worked on, beside the requests: it takes an explainer for a few rows and gives it back.

    Parameters
    ----------
    service : Service
        What answers.
    limits : Limits
        What one cohort may spend.
    most : int
        How many may wait, and how many that have ended are kept, for an hour at most.
    ended
        Learns of every job that has ended, and of the error that ended it.
    """

    def __init__(
        self, service: Service, limits: Limits, most: int, ended: Callable[[Job, Exception | None], None]
    ) -> None:
        self._service, self._limits, self._most, self._ended = service, limits, most, ended
        self._desk = Desk(workers=1, waiting=most)
        self._jobs: dict[str, Job] = {}

    def start(self, request: CohortRequest, group: TaskGroup) -> Job:
        """Begin a job, or refuse it where too many wait."""
        self._forget()
        unfinished = sum(one.outcome is None for one in self._jobs.values())
        if max(unfinished, self._desk.taken) > self._most:
            raise Busy(retry_after=30)
        job = Job(request, Meter(self._limits))
        self._jobs[job.id] = job
        group.start_soon(self._run, job)
        return job

    def get(self, job_id: str) -> Job | None:
        self._forget()
        return self._jobs.get(job_id)

    def cancel(self, job: Job) -> None:
        """End a job; one that has ended stays as it is."""
        job.meter.cancel()
        job.end("cancelled")

    @property
    def rows(self) -> int:
        """How many rows the jobs that ended asked the model about."""
        return self._desk.rows

    def close(self) -> None:
        """End all jobs."""
        self._desk.close()
        for job in self._jobs.values():
            self.cancel(job)

    def by_status(self) -> dict[str, int]:
        self._forget()
        found = Counter(one.status for one in self._jobs.values())
        return {status: found[status] for status in get_args(Status)}

    async def _run(self, job: Job) -> None:
        failure: Exception | None = None
        try:
            job.result, job.files = await self._desk.run(
                lambda meter: self._service.cohort(job.request, meter, job.progress), job.meter
            )
            job.end("done")
        except (Cancelled, Closed):
            job.end("cancelled")
        except Exception as error:
            failure, job.error = error, refusal_of(error)
            job.end("failed")
        self._ended(job, failure)

    def _forget(self) -> None:
        """Drop what ended long ago, and the oldest of those that are too many."""
        now = time.monotonic()
        ended = [one for one in self._jobs.values() if one.outcome is not None]
        ended.sort(key=lambda one: one.ended)
        too_many = len(ended) - self._most
        for position, job in enumerate(ended):
            if position < too_many or now - job.ended > KEPT_SECONDS:
                del self._jobs[job.id]


async def events(job: Job) -> AsyncIterator[str]:
    """Yield server-sent events: `progress` when there is some, at last `result`, `error` or `cancelled`."""
    told, quiet = None, 0.0
    while job.outcome is None:
        if (now := (job.status, job.done, job.total)) != told:
            told, quiet = now, 0.0
            yield _event("progress", _progress(job))
        elif quiet >= _HEARTBEAT:
            quiet = 0.0
            yield ": still at it\n\n"
        await sleep(_LOOK)
        quiet += _LOOK
    if job.outcome == "done" and job.result is not None:
        yield _event("result", job.result.model_dump_json())
    elif job.outcome == "failed" and job.error is not None:
        yield _event("error", job.error.model_dump_json())
    else:
        yield _event("cancelled", _progress(job))


def _progress(job: Job) -> str:
    return job.reply().model_dump_json(include={"id", "status", "done", "total"})


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
