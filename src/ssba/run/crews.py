"""Who does the work: this process, or actors on a Ray cluster.

Each takes pieces as there is room for them, so that few are in memory at any time, and gives results as they
come. What comes of a piece does not depend on who worked on it.
"""

import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from ssba.engine import Engine
from ssba.errors import ArgumentError, ModelError, SsbaError, SsbaWarning, StoppedError
from ssba.explainer import Inside
from ssba.pipeline.blueprint import Blueprint, packed
from ssba.processes import windowed
from ssba.run.cluster import joined, telling
from ssba.run.tasks import Task, Work

_AHEAD = 2
"""Pieces for each actor: the one at work, and the next."""
_TRIES = 3
"""So often a piece is begun whose actor was lost each time."""
_OTHERWISE = "use ssba.run.locally"


class Crew(Protocol):
    """Whoever does the work of a task."""

    def results(self, task: Task, pieces: Iterable[Any], spare_cpus: int = 0) -> Generator[Any, None, None]:
        """Give the results of pieces as they come; `spare_cpus` are left to others on the cluster."""
        ...

    def close(self) -> None:
        """End what was begun for the work."""
        ...


@dataclass(frozen=True)
class Here:
    """The process itself."""

    inside: Inside

    def results(self, task: Task, pieces: Iterable[Any], spare_cpus: int = 0) -> Generator[Any, None, None]:
        """Give the results one after the other."""
        yield from map(task.begun(self.inside.engine), pieces)

    def close(self) -> None:
        """End nothing."""


@dataclass(frozen=True)
class Actors:
    """How many actors there are (None: as many as have room), and what each of them takes of the cluster."""

    count: int | None
    num_cpus: float
    num_gpus: float

    def room(self, free: dict[str, float]) -> int:
        """Return for how many actors there is room."""
        wanted = {"CPU": self.num_cpus, "GPU": self.num_gpus}
        return min(int(free.get(name, 0.0) / each) for name, each in wanted.items() if each)


@dataclass(frozen=True)
class _Ticket:
    """A piece that is worked on: by which actor, what stands for its result, and how often it was begun."""

    piece: Any
    slot: int
    actor: Any
    result: Any
    tries: int = 1


@dataclass(frozen=True)
class _Failed:
    """An error of ours in an actor, which says all that there is to say."""

    error: SsbaError


@dataclass
class OnRay:
    """Actors on a Ray cluster, each of which builds an engine once; they live until the crew is closed."""

    inside: Inside
    address: str | None
    wanted: Actors
    _held: ExitStack = field(default_factory=ExitStack)
    _actors: list[Any] = field(default_factory=list)
    _load: list[int] = field(default_factory=list)

    def results(self, task: Task, pieces: Iterable[Any], spare_cpus: int = 0) -> Generator[Any, None, None]:
        """Give the results as actors finish them."""
        with telling():
            yield from self._results(task, pieces, spare_cpus)

    def _results(self, task: Task, pieces: Iterable[Any], spare_cpus: int) -> Generator[Any, None, None]:
        ray = self._ray
        self._have_actors(spare_cpus)
        # In a list it is a reference still when it comes to an actor, which reads what it is of once.
        shared = [ray.put(packed(task, "actors", _OTHERWISE, ray.cloudpickle.dumps))]
        key = shared[0].hex()
        most = len(self._actors) * _AHEAD

        def submit(piece: Any) -> _Ticket:
            return self._begun(_Ticket(piece, 0, None, None, 0), key, shared)

        def first(pending: Sequence[_Ticket]) -> tuple[list[Any], list[_Ticket]]:
            return self._first(pending, key, shared)

        yield from windowed(pieces, submit, first, most)

    def close(self) -> None:
        """End the actors, and leave the cluster unless this process had joined it before."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors.clear()
        self._held.close()
        self.__dict__.pop("_ray", None)
        self.__dict__.pop("_data", None)

    @cached_property
    def _ray(self) -> Any:
        return self._held.enter_context(joined(self.address))

    @cached_property
    def _data(self) -> Any:
        """What every actor builds its engine from, once for the whole cluster."""
        ray = self._ray
        return ray.put(packed(self.inside.blueprint, "actors", _OTHERWISE, ray.cloudpickle.dumps))

    def _have_actors(self, spare_cpus: int) -> None:
        room = self._room(self._ray.cluster_resources(), spare_cpus)
        count = self.wanted.count or max(1, self._fitting(spare_cpus))
        if room < count:
            self._short_of_room(count, room, spare_cpus)
        while len(self._actors) > count:
            self._ray.kill(self._actors.pop())
        while len(self._actors) < count:
            self._actors.append(self._actor())
        self._load = [0] * count

    def _room(self, resources: dict[str, float], spare_cpus: int) -> int:
        return self.wanted.room({**resources, "CPU": resources.get("CPU", 0.0) - spare_cpus})

    def _fitting(self, spare_cpus: int) -> int:
        """Return how many actors fit beside what others do on the cluster."""
        if not self._actors:
            return self._room(self._ray.available_resources(), spare_cpus)
        return min(len(self._actors), self._room(self._ray.cluster_resources(), spare_cpus))

    def _short_of_room(self, count: int, room: int, spare_cpus: int) -> None:
        beside = " and leaves one of its processors to the Ray Dataset" if spare_cpus else ""
        said = (
            f"{count} {'actor' if count == 1 else 'actors'} of {self.wanted.num_cpus:g} processors and "
            f"{self.wanted.num_gpus:g} GPUs each were asked for, and the Ray cluster has room for "
            f"{room}{beside}"
        )
        if self.address is None:
            raise ArgumentError(f"{said}; give fewer actors, or less to each of them")
        warnings.warn(f"{said}; waiting for it to grow", SsbaWarning, stacklevel=5)

    def _actor(self) -> Any:
        remote = self._ray.remote(_Actor)
        # What a lost actor was at is begun anew here, by another one.
        options = remote.options(num_cpus=self.wanted.num_cpus, num_gpus=self.wanted.num_gpus, max_restarts=0)
        return options.remote(self._data)

    def _begun(self, ticket: _Ticket, key: str, shared: list[Any]) -> _Ticket:
        slot = min(range(len(self._load)), key=self._load.__getitem__)
        self._load[slot] += 1
        actor = self._actors[slot]
        result = actor.work.remote(key, shared, ticket.piece)
        return replace(ticket, slot=slot, actor=actor, result=result, tries=ticket.tries + 1)

    def _first(
        self, pending: Sequence[_Ticket], key: str, shared: list[Any]
    ) -> tuple[list[Any], list[_Ticket]]:
        """Wait for the first result; the piece of an actor that was lost is begun anew."""
        (ready, *_), _ = self._ray.wait([one.result for one in pending], num_returns=1)
        ticket = next(one for one in pending if one.result == ready)
        left = [one for one in pending if one is not ticket]
        self._load[ticket.slot] -= 1
        lost = self._ray.exceptions
        try:
            found = self._ray.get(ready)
        except (lost.RayActorError, lost.WorkerCrashedError, lost.OutOfMemoryError, lost.ObjectLostError):
            self._replace(ticket)
            return [], [*left, self._begun(ticket, key, shared)]
        if isinstance(found, _Failed):
            raise found.error
        return [found], left

    def _replace(self, ticket: _Ticket) -> None:
        """Put another actor in the place of one that was lost, once for all that it had to do."""
        if ticket.tries == _TRIES:
            raise StoppedError(
                f"a piece of the work was begun {_TRIES} times, and its actor was lost each time; what is "
                "finished is kept. Maybe memory is short: give fewer actors, or a smaller chunk; or the "
                "model crashes, which shows with ssba.run.locally"
            )
        if self._actors[ticket.slot] is ticket.actor:
            self._ray.kill(ticket.actor)
            self._actors[ticket.slot] = self._actor()


class _Actor:
    """In a process of the cluster: an engine, and the work of the task that was last asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._engine: Engine | None = None
        self._work: tuple[str, Work] | None = None
        # What is to be said is said by the process that asks.
        warnings.simplefilter("ignore")

    def work(self, key: str, shared: list[Any], piece: Any) -> Any:
        """Return what comes of a piece, or the error that it ended in."""
        try:
            if self._work is None or self._work[0] != key:
                self._work = key, self._begun(shared)
            return self._work[1](piece)
        except SsbaError as error:
            return _Failed(error)

    def _begun(self, shared: list[Any]) -> Work:
        import ray

        if self._engine is None:
            blueprint: Blueprint = _read(self._data)
            self._engine = blueprint.built(_OTHERWISE)
        task: Task = _read(ray.get(shared[0]))
        return task.begun(self._engine)


def _read(data: bytes) -> Any:
    """Read what the process that asks has sent."""
    from ray import cloudpickle

    try:
        return cloudpickle.loads(data)
    except SsbaError:
        raise
    except Exception as error:
        raise ModelError(
            f"an actor cannot read the model, or what it is asked ({type(error).__name__}: {error}); every "
            "node of the cluster needs the modules and versions that the model is made of, and a model on a "
            "GPU needs num_gpus"
        ) from error
