"""What a search has found so far: every row that reached the target, and the nearest misses.

Moves only decide what to ask. Recording is done in one place, so that whatever was asked and reached is
a candidate, a search can be stopped at any row, and a larger budget can only add candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ssba.boundary.bisection import Answer, Asking
from ssba.problem.distance import Metric
from ssba.problem.region import Region
from ssba.problem.targets import Reply
from ssba.run.arrays import Array, choose, like, namespace, to_numpy

_FRONT = 64


@dataclass
class Archive:
    """Rows that reached the target, the nearest of them in order, and the best miss by margin."""

    region: Region
    metric: Metric
    rows_asked: int = 0
    stopped: bool = False
    found: Array = None
    distances: Array = None
    hits: list[Array] = field(default_factory=list)
    miss: Array = None
    miss_margin: float = -np.inf
    memory: dict[bytes, tuple[bool, float]] = field(default_factory=dict)

    def record(self, Z: Array, reply: Reply) -> None:
        """Keep what reached the target and is feasible; remember the miss nearest to reaching it."""
        fine = reply.reached & self.region.contains(Z)
        hits = Z[fine]
        if hits.shape[0]:
            self.hits.append(hits)
            self._add(hits)
        if reply.margin is not None and self.found is None and Z.shape[0]:
            self._add_miss(Z, reply)

    def _add(self, hits: Array) -> None:
        xp = namespace(hits)
        distances = self.metric.distance(hits, self.region.x)
        if self.found is not None:
            hits = xp.concat([self.found, hits])
            distances = xp.concat([self.distances, distances])
        order = xp.argsort(distances, stable=True)[:_FRONT]
        self.found, self.distances = xp.take(hits, order, axis=0), xp.take(distances, order)

    def _add_miss(self, Z: Array, reply: Reply) -> None:
        xp = namespace(Z)
        margin = xp.where(self.region.contains(Z), reply.margin, xp.full_like(reply.margin, -np.inf))
        best = int(xp.argmax(margin))
        if float(margin[best]) > self.miss_margin:
            self.miss, self.miss_margin = Z[best, :], float(margin[best])

    @property
    def has_found(self) -> bool:
        """Whether any feasible row asked about reached the target."""
        return self.found is not None

    @property
    def best_distance(self) -> float:
        """Distance of the nearest row that reached the target; infinite while there is none."""
        return float(self.distances[0]) if self.found is not None else np.inf

    def nearest(self, count: int) -> Array:
        """Return the nearest different rows that reached the target."""
        if self.found is None:
            return self.region.x[None, :][:0]
        chosen: dict[bytes, int] = {}
        for i, row in enumerate(to_numpy(self.found)):
            chosen.setdefault(row_key(row), i)
            if len(chosen) == count:
                break
        return choose(self.found, list(chosen.values()))


def row_key(row: Array) -> bytes:
    """Return a key that equal rows share: missing cells are equal, and so are 0.0 and -0.0."""
    key: bytes = np.ascontiguousarray(row + 0.0).tobytes()
    return key


def recorded(
    search: Asking[Answer], archive: Archive, rows: float, is_over: Callable[[], bool]
) -> Asking[Answer | None]:
    """Run a search within a number of model rows and record all it asks; no row is asked about twice."""
    try:
        Z = next(search)
        while not is_over():
            left = int(min(rows - archive.rows_asked, Z.shape[0]))
            if left < Z.shape[0]:
                # The last rows that the budget allows may still hold the best answer.
                last = Z[: max(left, 0), :]
                archive.record(last, (yield from _asked_once(last, archive)))
                break
            reply = yield from _asked_once(Z, archive)
            archive.record(Z, reply)
            Z = search.send(reply)
        archive.stopped = True
        return None
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        search.close()


def _asked_once(Z: Array, archive: Archive) -> Asking[Reply]:
    """Ask only about rows not asked before; worth its while where rows repeat, that is on a grid."""
    if not Z.shape[0]:
        return Reply(like(np.zeros(0, dtype=bool), Z), None)
    if archive.region.grid.trivial:
        archive.rows_asked += Z.shape[0]
        return (yield Z)
    memory = archive.memory
    keys = [row_key(row) for row in to_numpy(Z)]
    fresh = {key: i for i, key in enumerate(keys) if key not in memory}
    if fresh:
        asked = choose(Z, list(fresh.values()))
        archive.rows_asked += asked.shape[0]
        reply = yield asked
        margins = [np.nan] * len(fresh) if reply.margin is None else to_numpy(reply.margin).tolist()
        memory.update(zip(fresh, zip(to_numpy(reply.reached).tolist(), margins, strict=True), strict=True))
    known = [memory[key] for key in keys]
    hits = like(np.array([hit for hit, _ in known], dtype=bool), Z)
    margin = np.array([margin for _, margin in known])
    return Reply(hits, None if np.isnan(margin).all() else like(margin, Z))
