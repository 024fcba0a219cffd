"""What searches have found so far: every row that reached the target, and the nearest misses.

Moves only decide what to ask. Recording is done in one place, so that whatever was asked and reached is a
candidate, a search can be stopped at any row, and a larger budget can only add candidates.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ssba.arrays import Array, choose, like, namespace, to_numpy
from ssba.boundary.bisection import Answer, Asking
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.search.lanes import different, row_keys
from ssba.search.regions import Matrix, Numbers, Regions, Vector

_FRONT = 64


@dataclass(frozen=True)
class Gathered:
    """Rows of many archives in the parts in which they came; `order` puts those of each archive together.

    Mostly nobody asks for more than the nearest row of each, and a copy of all of them takes its time.
    """

    parts: tuple[Matrix, ...]
    order: Numbers

    @cached_property
    def rows(self) -> Matrix:
        """All rows, in order."""
        return np.concatenate(self.parts)[self.order]

    def row(self, place: int) -> Vector:
        """Return one of the rows in order."""
        part = bisect_right(self._begins, number := int(self.order[place])) - 1
        return np.asarray(self.parts[part][number - self._begins[part]])

    @cached_property
    def _begins(self) -> list[int]:
        return [0, *accumulate(map(len, self.parts[:-1]))]


@dataclass(frozen=True)
class Share:
    """The rows of one archive among those of many."""

    gathered: Gathered
    begin: int
    end: int

    @property
    def rows(self) -> Matrix:
        """The rows."""
        return self.gathered.rows[self.begin : self.end]

    def row(self, place: int) -> Vector:
        """Return one of the rows."""
        return self.gathered.row(self.begin + place)


@dataclass
class Archive:
    """Rows that reached the target, the nearest of them in order, and the best miss by margin."""

    region: Region
    metric: Metric
    rows_asked: int = 0
    stopped: bool = False
    miss: Array = None
    miss_margin: float = -np.inf
    memory: dict[bytes, tuple[bool, float]] = field(default_factory=dict)
    _new: list[Array] = field(default_factory=list)
    _kept: list[tuple[Array | Share, Array]] = field(default_factory=list)
    _sorted: int = 0
    _found: Array = None
    _distances: Array = None
    _best: float = np.inf
    _best_row: Array = None

    def record(self, Z: Array, reply: Reply) -> None:
        """Keep what reached the target and is feasible; remember the miss nearest to reaching it."""
        # What came in is looked at when somebody asks for it: one large step costs less than many small ones.
        self._new.append(Z[reply.reached])
        if reply.margin is not None and Z.shape[0] and not self.has_found:
            self._add_miss(Z, reply)

    def add(self, rows: Array | Share, distances: Array) -> None:
        """Keep rows, at least one, that are known to be feasible and to reach the target."""
        self._look_at_new()
        self._keep(rows, distances)

    def take_new(self) -> Array:
        """Return the rows that reached and were not looked at yet, and forget them; None without any."""
        if not self._new:
            return None
        rows = self._new[0] if len(self._new) == 1 else namespace(*self._new).concat(self._new)
        self._new.clear()
        return rows

    def _look_at_new(self) -> None:
        if not self._new:
            return
        rows = self.take_new()
        hits = rows[self.region.contains(rows)] if rows.shape[0] else rows
        if not hits.shape[0]:
            return
        self._keep(hits, self.metric.distance(hits, self.region.x))

    def _keep(self, rows: Array | Share, distances: Array) -> None:
        self._kept.append((rows, distances))
        nearest = int(namespace(distances).argmin(distances))
        if self._best_row is None or float(distances[nearest]) < self._best:
            self._best = float(distances[nearest])
            self._best_row = rows.row(nearest) if isinstance(rows, Share) else rows[nearest, :]

    def _sort_in(self) -> None:
        """Put rows among the nearest; mostly nobody asks for more than the best of them."""
        rows, far = self.hits[self._sorted :], [far for _, far in self._kept[self._sorted :]]
        if not rows:
            return
        self._sorted = len(self._kept)
        if self._found is not None:
            rows, far = [self._found, *rows], [self._distances, *far]
        xp = namespace(rows[0])
        distances = xp.concat(far)
        order = xp.argsort(distances, stable=True)[:_FRONT]
        self._found = xp.take(xp.concat(rows), order, axis=0)
        self._distances = xp.take(distances, order)

    @property
    def found(self) -> Array:
        """The nearest rows that reached the target, in order; None while there is none."""
        self._sort_in()
        return self._found

    @property
    def distances(self) -> Array:
        """Distances of the rows in `found`."""
        self._sort_in()
        return self._distances

    @property
    def hits(self) -> list[Array]:
        """All feasible rows that reached the target, as they came in."""
        self._look_at_new()
        return [rows.rows if isinstance(rows, Share) else rows for rows, _ in self._kept]

    def _add_miss(self, Z: Array, reply: Reply) -> None:
        xp = namespace(Z)
        margin = xp.where(self.region.contains(Z), reply.margin, xp.full_like(reply.margin, -np.inf))
        best = int(xp.argmax(margin))
        if float(margin[best]) > self.miss_margin:
            self.miss, self.miss_margin = Z[best, :], float(margin[best])

    @property
    def has_found(self) -> bool:
        """Whether any feasible row asked about reached the target."""
        self._look_at_new()
        return self._best_row is not None

    @property
    def best_distance(self) -> float:
        """Distance of the nearest row that reached the target; infinite while there is none."""
        if self._new:
            self._look_at_new()
        return self._best

    def nearest(self, count: int) -> Array:
        """Return the nearest different rows that reached the target."""
        if not self.has_found:
            return self.region.x[None, :][:0]
        if count == 1:
            return self._best_row[None, :]
        return choose(self.found, different(self.found)[:count])


def recorded(
    search: Asking[Answer],
    archive: Archive,
    rows: float,
    is_over: Callable[[], bool],
    left: Callable[[], float] = lambda: math.inf,
) -> Asking[Answer | None]:
    """Run a search until its archive has asked so many rows, and record all it asks.

    `left` tells, whenever something is to be asked, how many rows may still be asked at all. What is asked
    never depends on it, but for where it ends. On a grid no row is asked twice.
    """
    try:
        Z = next(search)
        while not is_over():
            fitting = _how_many_fit(Z, archive, min(rows - archive.rows_asked, left()))
            if fitting < Z.shape[0]:
                # The last rows that the budget allows may still hold the best answer.
                last = Z[:fitting, :]
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


def _how_many_fit(Z: Array, archive: Archive, left: float) -> int:
    """Return how many of the rows, from the first on, can be asked with so many left."""
    if Z.shape[0] <= left:
        return int(Z.shape[0])
    if archive.region.grid.trivial:
        return max(0, int(left))
    fresh: set[bytes] = set()
    for number, key in enumerate(row_keys(Z)):
        if key not in archive.memory:
            fresh.add(key)
        if len(fresh) > left:
            return number
    return int(Z.shape[0])


def _asked_once(Z: Array, archive: Archive) -> Asking[Reply]:
    """Ask only about rows not asked before; worth its while where rows repeat, that is on a grid."""
    if not Z.shape[0]:
        return Reply(like(np.zeros(0, dtype=bool), Z), None)
    if archive.region.grid.trivial:
        archive.rows_asked += Z.shape[0]
        return (yield Z)
    memory = archive.memory
    keys = row_keys(Z)
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


def look_at_new(archives: Sequence[Archive]) -> None:
    """Give each archive, of the rows that were recorded in it, those that are feasible."""
    waiting = [(archive, rows) for archive in archives if (rows := archive.take_new()) is not None]
    waiting = [(archive, rows) for archive, rows in waiting if len(rows)]
    if not waiting:
        return
    regions = Regions(tuple(archive.region for archive, _ in waiting), np.arange(len(waiting)))
    at = np.repeat(np.arange(len(waiting)), [len(rows) for _, rows in waiting])
    rows = np.concatenate([rows for _, rows in waiting])
    inside = regions.contains(rows, at)
    rows, at = rows[inside], at[inside]
    far = waiting[0][0].metric.distance(rows, regions.x[at])
    share_out([archive for archive, _ in waiting], [(rows, at, far)])


def share_out(archives: Sequence[Archive], hits: Sequence[tuple[Matrix, Numbers, Vector]]) -> None:
    """Add to each archive its rows, as they came, which are feasible and reach.

    With the rows come the numbers of their archives, and how far they are.
    """
    parts, owners, distances = zip(*hits, strict=True)
    at = np.concatenate(owners)
    gathered = Gathered(parts, np.argsort(at, kind="stable"))
    far = np.concatenate(distances)[gathered.order]
    ends = np.cumsum([0, *np.bincount(at, minlength=len(archives))]).tolist()
    for archive, (begin, end) in zip(archives, pairwise(ends), strict=True):
        if begin < end:
            archive.add(Share(gathered, begin, end), far[begin:end])
