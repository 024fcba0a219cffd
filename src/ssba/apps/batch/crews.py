"""Who works on the chunks: this process, others on this machine, or a Ray cluster.

Each takes chunks as there is room for them, so that few are in memory at any time, and gives results as they
come. What comes out of a chunk does not depend on who worked on it.
"""

import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any

from ssba.apps.batch.work import Job, Refused, Worker
from ssba.apps.limits import Cancelled
from ssba.errors import ModelError
from ssba.extras import require
from ssba.processes import SPAWN, BrokenProcessPool, first_futures, windowed, workers
from ssba.run.chunks import Chunk
from ssba.run.cluster import joined
from ssba.run.work import Done

Result = Done | Refused
Crew = Callable[[Iterable[Chunk]], Generator[Result, None, None]]

_AHEAD = 2
"""Chunks for each worker: the one at work, and the next."""


def alone(worker: Worker) -> Crew:
    """Work in this process."""

    def run(chunks: Iterable[Chunk]) -> Generator[Result, None, None]:
        yield from map(worker, chunks)

    return run


def in_processes(job: Job, count: int) -> Crew:
    """Work in processes of this machine, each of which opens the project itself."""

    def run(chunks: Iterable[Chunk]) -> Generator[Result, None, None]:
        stop = SPAWN.Event()
        try:
            with workers(count, _begin, job, stop) as crew:
                try:
                    yield from windowed(chunks, partial(crew.submit, _work), first_futures, count * _AHEAD)
                finally:
                    stop.set()
        except BrokenProcessPool:
            raise ModelError(
                "a worker process ended by itself, maybe for lack of memory; what is finished is kept: run "
                "the same command again, perhaps with fewer --workers"
            ) from None

    return run


def on_ray(job: Job, address: str | None) -> Crew:
    """Work on a Ray cluster: the one at an address, else one that is started on this machine."""
    require("ray", "ray", "--ray")

    def run(chunks: Iterable[Chunk]) -> Generator[Result, None, None]:
        with joined(address) as ray:
            task = ray.remote(_work_remotely)
            shared = ray.put(job)
            most = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD
            yield from windowed(chunks, lambda one: task.remote(shared, one), _first_tasks, most)

    return run


def _first_tasks(pending: Sequence[Any]) -> tuple[list[Result], Sequence[Any]]:
    import ray

    finished, left = ray.wait(list(pending), num_returns=1)
    return list(ray.get(finished)), left


_WORKING: dict[str, Any] = {}
"""In a worker process: the worker, and the event that ends its work."""


def _begin(job: Job, stop: Any) -> None:
    _WORKING.update(worker=job.worker(), stop=stop)


def _work(chunk: Chunk) -> Result:
    worker: Worker = _WORKING["worker"]
    return worker(chunk, _end_if_asked)


def _end_if_asked(rows: int) -> None:
    if _WORKING["stop"].is_set():
        raise Cancelled("the batch was interrupted")


_REMOTE: dict[str, Worker] = {}
"""In a process of a cluster, which does many tasks: the worker of the job that it works on."""


def _work_remotely(job: Job, chunk: Chunk) -> Result:
    if job.key not in _REMOTE:
        warnings.simplefilter("ignore")
        _REMOTE.clear()
        _REMOTE[job.key] = job.worker()
    return _REMOTE[job.key](chunk)
