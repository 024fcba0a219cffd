"""The work on one chunk, the same in this process, in another one, and on another machine."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ssba.apps.batch.chunks import Chunk
from ssba.apps.batch.table import Asked, Outcome, TableForm
from ssba.apps.limits import UNLIMITED, Meter
from ssba.apps.project.opened import OpenedProject
from ssba.apps.requests import CohortRequest
from ssba.apps.service import Service
from ssba.errors import ArgumentError, ModelError, SchemaError, SsbaError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

OnError = Literal["stop", "row"]


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
class Done:
    """A chunk that is finished."""

    place: int
    rows: int
    table: "pa.Table"


@dataclass(frozen=True)
class Refused:
    """A chunk that cannot be finished, and why; errors of others' classes need not survive the way back."""

    reason: str


class Worker:
    """Explains chunks, one after the other."""

    def __init__(self, job: Job, service: Service) -> None:
        self._job = job
        self._service = service
        self.form = TableForm(service, job.with_json)

    def __call__(self, chunk: Chunk, stop: Callable[[int], None] | None = None) -> Done | Refused:
        """Explain a chunk; `stop` is called before every model call, and may end the work by raising."""
        try:
            outcomes = self._outcomes(chunk, Meter(UNLIMITED, report=stop))
        except SsbaError as error:
            return Refused(error.one_line)
        asked = [
            Asked(number, own, outcome)
            for number, own, outcome in zip(chunk.numbers, chunk.ids, outcomes, strict=True)
        ]
        return Done(chunk.place, len(asked), self.form.table(asked))

    def _outcomes(self, chunk: Chunk, meter: Meter) -> list[Outcome]:
        reasons = {number: f"row {number}: {why}" for number, why in chunk.unreadable.items()}
        if reasons and self._job.on_error == "stop":
            raise _stopped(next(iter(reasons.values())))
        readable = [number for number in chunk.numbers if number not in reasons]
        explained = dict(zip(readable, self._explained(chunk.rows, readable, meter), strict=True))
        return [reasons.get(number) or explained[number] for number in chunk.numbers]

    def _explained(self, rows: "pd.DataFrame", numbers: Sequence[int], meter: Meter) -> Sequence[Outcome]:
        if not len(rows):
            return []
        try:
            return self._service.explain_frame(rows, self._job.request, meter)
        except (SchemaError, ModelError) as error:
            reason = _by_number(str(error), numbers)
            if self._job.on_error == "stop":
                raise _stopped(reason) from None
            if len(rows) == 1:
                return [reason]
        alone = (rows.iloc[[i]].reset_index(drop=True) for i in range(len(rows)))
        return [self._explained(row, [number], meter)[0] for row, number in zip(alone, numbers, strict=True)]


def _stopped(reason: str) -> ArgumentError:
    return ArgumentError(f"{reason}; correct the row, or add --on-error row to go on without it")


def _by_number(message: str, numbers: Sequence[int]) -> str:
    """Name a row by its number in the input, where a message names it by its place in the chunk.

    >>> _by_number("row 1, column 'chol': 'abc' is not a number", [64, 65])
    "row 65, column 'chol': 'abc' is not a number"
    >>> _by_number("the model failed", [64, 65])
    'the model failed'
    """
    found = re.match(r"row (\d+)\b", message)
    return message if found is None else f"row {numbers[int(found[1])]}{message[found.end() :]}"
