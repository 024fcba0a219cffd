"""Many queries in several processes of this machine, for models that keep one process busy by themselves.

Each process gets model and background data once and builds an engine of its own. A query's outcome depends on
nothing but the query and the engine, so that it is the same whoever works on it.
"""

import math
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from ctypes import c_bool, c_double
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from ssba.engine import Engine
from ssba.errors import ArgumentError, StoppedError
from ssba.index.encoded_points import EncodedPoints
from ssba.interrupts import interrupted_by, is_interrupted
from ssba.options import Budget
from ssba.pipeline.answer import TOGETHER, Request, explain_requests, unbegun
from ssba.pipeline.blueprint import Blueprint, packed
from ssba.pipeline.course import Course
from ssba.pipeline.state import Limits
from ssba.processes import NOBODY_BEGAN, SPAWN, BrokenProcessPool, is_typed_in, windowed, workers
from ssba.results.explanation import Explanation

# How often, in seconds, the process that waits looks at how far the others have come, and for Ctrl-C.
_LOOK_EVERY = 0.1
# Work of processes that were killed is begun so many times in which no part of it gets finished.
_TRIES = 2
_OTHERWISE = "leave workers out"


@dataclass(frozen=True)
class Job:
    """What every process gets once: how to build the engine, and what to spend.

    `ends` is a moment of `time.time`, which all processes share.
    """

    blueprint: Blueprint
    budget: Budget
    boundary: EncodedPoints | None = None
    ends: float = math.inf


@dataclass(frozen=True)
class _Part:
    """Some of the requests: every so many-th, beginning at a place, so that parts are alike."""

    place: int
    requests: Sequence[Request]


@dataclass(frozen=True)
class _Done:
    place: int
    explanations: list[Explanation]
    rows_asked: int


@dataclass(frozen=True)
class _Lines:
    """Memory that all processes share: whether to stop, and by how many queries they have come on."""

    stop: Any = field(default_factory=lambda: SPAWN.RawValue(c_bool, False))
    come: Any = field(default_factory=lambda: SPAWN.Value(c_double, 0.0))


def explain_shared(
    job: Job, engine: Engine, requests: Sequence[Request], count: int, tell: Callable[[float], object]
) -> list[Explanation]:
    """Explain requests in so many processes, in the order and with the results of one.

    Where a process is killed, what was not finished is begun anew by others.
    """
    data, parts = _packed(job), _parts(requests, count)
    crew = _Crew(data, count, _Told(tell, len(requests)))
    tries = 0
    while (left := [part for part in parts if part.place not in crew.done]) and not is_interrupted():
        before = len(crew.done)
        ended = crew.work(left)
        tries = 0 if len(crew.done) > before else tries + 1
        if tries == _TRIES or (ended == "never began" and not crew.done):
            raise _died(left, began=ended == "died")
    crew.told.up_to(crew.queries)
    engine.tally.rows += sum(one.rows_asked for one in crew.done.values())
    found: dict[int, Explanation] = {}
    for part in parts:
        done = crew.done.get(part.place)
        own = unbegun(engine, part.requests, job.budget) if done is None else done.explanations
        found.update(zip(range(part.place, len(requests), len(parts)), own, strict=True))
    return [found[number] for number in range(len(requests))]


def _packed(job: Job) -> bytes:
    """Return a job as it is sent; one that cannot be, or that nobody could read, is refused."""
    data = packed(job, "workers", _OTHERWISE)
    if is_typed_in() and b"__main__" in data:
        raise ArgumentError(
            "workers are other processes, which cannot find a function or class that is defined in a "
            "notebook or was typed in, as the model or a part of it is; put it into a module and import it "
            "from there, or leave workers out"
        )
    return data


def _parts(requests: Sequence[Request], count: int) -> list[_Part]:
    """Return a part for each process, or several where that would be more than is explained together."""
    rounds = math.ceil(len(requests) / (count * TOGETHER))
    of = min(len(requests), count * rounds)
    return [_Part(place, requests[place::of]) for place in range(of)]


def _died(left: Sequence[_Part], *, began: bool) -> StoppedError | ArgumentError:
    if not began:
        return ArgumentError(
            f"{NOBODY_BEGAN}; what the model is made of must be found there, too. Or leave workers out"
        )
    queries = sum(len(part.requests) for part in left)
    return StoppedError(
        f"a worker process was killed or ended by itself, and so did another one that began its work anew: "
        f"{queries:,} queries were not explained, the first of them at position {left[0].place}. Maybe "
        "memory is short: give fewer workers; or the model crashes, which shows without workers"
    )


@dataclass
class _Told:
    """How far all processes together have come, as it was told: never back, and never more than there is."""

    tell: Callable[[float], object]
    most: int
    told: float = 0.0

    def up_to(self, place: float) -> None:
        """Tell what is new."""
        place = min(place, self.most)
        if place > self.told:
            self.tell(place - self.told)
            self.told = place


@dataclass
class _Crew:
    """Processes at work, and the parts that they have finished by now."""

    data: bytes
    count: int
    told: _Told
    done: dict[int, _Done] = field(default_factory=dict)

    def work(self, parts: Sequence[_Part]) -> Literal["well", "died", "never began"]:
        """Have parts explained by new processes; say how these ended."""
        lines, count = _Lines(), min(self.count, len(parts))
        first = partial(self._first, lines, self.queries)
        with workers(count, _begin, self.data, lines) as crew:
            try:
                for one in windowed(_wanted(parts), partial(crew.submit, _explain), first, count):
                    self.done[one.place] = one
            except BrokenProcessPool:
                return "died" if crew.pids else "never began"
            except BaseException:
                crew.kill()
                raise
        return "well"

    @property
    def queries(self) -> int:
        """How many queries are finished."""
        return sum(len(one.explanations) for one in self.done.values())

    def _first(
        self, lines: _Lines, before: int, pending: Sequence[Future[_Done]]
    ) -> tuple[list[_Done], Sequence[Future[_Done]]]:
        """Wait for the first part that is finished, and pass on meanwhile what is to be known."""
        finished: set[Future[_Done]] = set()
        while not finished:
            finished, left = wait(pending, _LOOK_EVERY, FIRST_COMPLETED)
            lines.stop.value = is_interrupted()
            # Whoever holds the lock may have been killed.
            self.told.up_to(before + lines.come.get_obj().value)
        failed = [one for one in finished if one.exception() is not None]
        results = [one.result() for one in finished if one not in failed]
        for one in failed:
            # What came with it counts all the same.
            self.done.update((done.place, done) for done in results)
            one.result()
        return results, list(left)


def _wanted(parts: Sequence[_Part]) -> Iterator[_Part]:
    """Yield parts until somebody presses Ctrl-C."""
    for part in parts:
        if is_interrupted():
            return
        yield part


_HELD: dict[str, Any] = {}
"""In a worker process: the job as it was sent, then as it was read, its engine, the lines to the others."""


def _begin(data: bytes, lines: _Lines) -> None:
    _HELD.update(data=data, lines=lines, told=0)


def _explain(part: _Part) -> _Done:
    job, engine = _job()
    lines: _Lines = _HELD["lines"]

    def tell(queries: float) -> None:
        with lines.come.get_lock():
            lines.come.value += queries

    limits = Limits(job.budget.rows, time.monotonic() + job.ends - time.time(), course=Course(tell))
    with interrupted_by(lambda: bool(lines.stop.value)):
        found = explain_requests(engine, part.requests, job.budget, job.boundary, limits=limits)
    rows, _HELD["told"] = engine.tally.rows - _HELD["told"], engine.tally.rows
    return _Done(part.place, found, rows)


def _job() -> tuple[Job, Engine]:
    """Read the job and build its engine, with the first part: what goes wrong then is told as an error."""
    if "job" not in _HELD:
        # It comes from the process that started this one.
        job: Job = pickle.loads(_HELD["data"])  # noqa: S301
        _HELD.update(job=job, engine=job.blueprint.built(_OTHERWISE))
        # Kept until then: what goes wrong with one part goes wrong with the next one, too.
        del _HELD["data"]
    return _HELD["job"], _HELD["engine"]
