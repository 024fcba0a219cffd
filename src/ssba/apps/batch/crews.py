"""Who works on the chunks: this process, others on this machine, or a Ray cluster.

Each takes chunks as there is room for them, so that few are in memory at any time, and gives results as they
come. What comes out of a chunk does not depend on who worked on it.
"""

import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from typing import Any

from ssba.apps.batch.chunks import Chunk
from ssba.apps.batch.work import Done, Job, Refused, Worker
from ssba.apps.limits import Cancelled
from ssba.errors import ModelError
from ssba.extras import require

Result = Done | Refused
Crew = Callable[[Iterable[Chunk]], Generator[Result, None, None]]

_AHEAD = 2
"""Chunks for each worker: the one at work, and the next."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def alone(worker: Worker) -> Crew:
    """Work in this process."""

    def run(chunks: Iterable[Chunk]) -> Generator[Result, None, None]:
        yield from map(worker, chunks)

    return run


def in_processes(job: Job, count: int) -> Crew:
    """Work in processes of this machine, each of which opens the project itself."""

    def run(chunks: Iterable[Chunk]) -> Generator[Result, None, None]:
        context = get_context("spawn")
        stop = context.Event()
        pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=(job, stop))
        try:
            with _one_thread_each():
                yield from _windowed(chunks, lambda one: _submit(pool, one), _first_futures, count * _AHEAD)
        except BrokenProcessPool:
            raise ModelError(
                "a worker process ended by itself, maybe for lack of memory; what is finished is kept: run "
                "the same command again, perhaps with fewer --workers"
            ) from None
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)

    return run


def on_ray(job: Job, address: str | None) -> Crew:
    """Work on a Ray cluster: the one at an address, else one that is started on this machine."""
    require("ray", "ray", "--ray")

    def run(chunks: Iterable[Chunk]) -> Generator[Result, None, None]:
        # Ray would ask about this, and report how it is used.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray: Any = import_module("ray")
        dashboard = None if address else False
        ray.init(address or "local", include_dashboard=dashboard, log_to_driver=False, logging_level="ERROR")
        try:
            task = ray.remote(_work_remotely)
            shared = ray.put(job)
            most = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD
            yield from _windowed(chunks, lambda one: task.remote(shared, one), _first_tasks, most)
        except ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines()
            raise ModelError(
                f"the Ray cluster failed: {lines[-1] if lines else type(error).__name__}"
            ) from None
        finally:
            ray.shutdown()

    return run


def _windowed(
    chunks: Iterable[Chunk],
    submit: Callable[[Chunk], Any],
    first: Callable[[Sequence[Any]], tuple[list[Result], Sequence[Any]]],
    most: int,
) -> Iterator[Result]:
    """Keep so many chunks at work, and give results as they come."""
    waiting = iter(chunks)
    pending: Sequence[Any] = [submit(one) for one in islice(waiting, most)]
    while pending:
        finished, pending = first(pending)
        yield from finished
        pending = [*pending, *(submit(one) for one in islice(waiting, most - len(pending)))]


def _first_futures(pending: Sequence[Future[Result]]) -> tuple[list[Result], Sequence[Future[Result]]]:
    finished, left = wait(pending, return_when=FIRST_COMPLETED)
    return [one.result() for one in finished], list(left)


def _first_tasks(pending: Sequence[Any]) -> tuple[list[Result], Sequence[Any]]:
    import ray

    finished, left = ray.wait(list(pending), num_returns=1)
    return list(ray.get(finished)), left


def _submit(pool: ProcessPoolExecutor, chunk: Chunk) -> Future[Result]:
    """Hand a chunk over; a process that is started meanwhile leaves Ctrl-C to this one.

    It inherits that the signal is blocked, and this process gets it a moment later. Where signals cannot be
    blocked, on Windows, workers may print that they were interrupted.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return pool.submit(_work, chunk)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_work, chunk)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Have processes that are started meanwhile compute with one thread, unless the user says otherwise."""
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


_WORKING: dict[str, Any] = {}
"""In a worker process: the worker, and the event that ends its work."""


def _begin(job: Job, stop: Any) -> None:
    # What is to be said about the project was said when the first process opened it.
    warnings.simplefilter("ignore")
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
