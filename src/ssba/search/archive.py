"""What searches have found so far: every row that reached the target, and how far the misses are.

Moves only decide what to ask. What was asked is recorded all the same, here or in the ledger of a search, so
that whatever reached is a candidate, a search can be stopped at any row, and a larger budget can only add
candidates.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ssba.boundary.bisection import Answer, Asking
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.search.lanes import different, row_keys
from ssba.search.regions import Matrix, Numbers, Vector

# Different rows are looked for among so many of the nearest.
_FRONT = 64


@dataclass(frozen=True)
class Share:
    """The rows of one archive among those of many, by their numbers there.

    Mostly nobody asks for more than the nearest row of each, and to sort out all of them takes its time.
    """

    among: Matrix
    numbers: Numbers


@dataclass
class Archive:
    """Rows that reached the target, the best miss by margin, and how far all feasible misses are.

    Nearer than `exhausted` every legal row of the region was asked about.
    """

    region: Region
    metric: Metric
    rows_asked: int = 0
    stopped: bool = False
    miss: Vector | None = None
    miss_margin: float = -np.inf
    missed: list[Vector] = field(default_factory=list)
    memory: dict[bytes, tuple[bool, float]] = field(default_factory=dict)
    best_distance: float = np.inf
    exhausted: float = 0.0
    _best: tuple[Share, int] | None = None
    _kept: list[tuple[Share, Vector]] = field(default_factory=list)

    def record(self, Z: Matrix, reply: Reply) -> None:
        """Keep what reached the target and is feasible; remember the miss nearest to reaching it."""
        feasible = np.asarray(self.region.contains(Z))
        far = np.asarray(self.metric.distance(Z, self.region.x))
        hits, misses = feasible & reply.reached, feasible & ~reply.reached
        if hits.any():
            self.add(Z[hits], far[hits])
        self.missed.append(far[misses])
        if reply.margin is not None and misses.any() and not self.has_found:
            margin = np.where(misses, reply.margin, -np.inf)
            best = int(np.argmax(margin))
            if margin[best] > self.miss_margin:
                self.miss, self.miss_margin = Z[best], float(margin[best])

    def add(self, rows: Matrix | Share, distances: Vector) -> None:
        """Keep rows, at least one, that are known to be feasible and to reach the target."""
        share = rows if isinstance(rows, Share) else Share(rows, np.arange(len(rows)))
        self._kept.append((share, distances))
        nearest = int(distances.argmin())
        if self._best is None or distances[nearest] < self.best_distance:
            self.best_distance = float(distances[nearest])
            self._best = share, nearest

    @property
    def hits(self) -> list[Matrix]:
        """All feasible rows that reached the target, as they came in."""
        return [share.among[share.numbers] for share, _ in self._kept]

    @property
    def has_found(self) -> bool:
        """Whether any feasible row asked about reached the target."""
        return self._best is not None

    def nearest(self, count: int) -> Matrix:
        """Return the nearest different rows that reached the target."""
        if self._best is None:
            return np.asarray(self.region.x[None, :][:0])
        if count == 1:
            share, place = self._best
            return np.asarray(share.among[share.numbers[place : place + 1]])
        order = np.argsort(np.concatenate([far for _, far in self._kept]), kind="stable")[:_FRONT]
        rows = np.concatenate(self.hits)[order]
        return np.asarray(rows[different(rows)[:count]])


def recorded(
    search: Asking[Answer],
    archive: Archive,
    left: Callable[[], float],
    is_over: Callable[[], bool],
    wish: Callable[[Matrix], Any] = np.asarray,
) -> Generator[Any, Reply, Answer | None]:
    """Run a search until it is over, or wants more rows than are left; record all it asks.

    What is asked never depends on what is left, but for where it ends. On a grid no row is asked twice. Rows
    are yielded as `wish` puts them.
    """
    try:
        Z = next(search)
        while not is_over():
            # The last rows that the budget allows may still hold the best answer.
            reply = yield from _asked_once(Z, archive, left(), wish)
            if len(reply.reached) < len(Z):
                break
            Z = search.send(reply)
        archive.stopped = True
        return None
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        search.close()


def _asked_once(
    Z: Matrix, archive: Archive, left: float, wish: Callable[[Matrix], Any]
) -> Generator[Any, Reply, Reply]:
    """Ask about rows, from the first on, as far as so many fresh ones go; return the replies to these.

    Telling which were asked before is worth its while where rows repeat, that is on a grid.
    """
    if archive.region.grid.trivial:
        return (yield from _asked(Z[: int(max(0, min(left, len(Z))))], archive, wish))
    memory, keys, fresh = archive.memory, row_keys(Z), dict[bytes, int]()
    for number, key in enumerate(keys):
        if key not in memory and key not in fresh:
            if len(fresh) >= left:
                keys = keys[:number]
                break
            fresh[key] = number
    reply = yield from _asked(Z[list(fresh.values())], archive, wish)
    margins = [np.nan] * len(fresh) if reply.margin is None else np.asarray(reply.margin).tolist()
    memory.update(zip(fresh, zip(reply.reached.tolist(), margins, strict=True), strict=True))
    reached = np.array([memory[key][0] for key in keys], dtype=bool)
    margin = np.array([memory[key][1] for key in keys])
    return Reply(reached, None if np.isnan(margin).all() else margin)


def _asked(Z: Matrix, archive: Archive, wish: Callable[[Matrix], Any]) -> Generator[Any, Reply, Reply]:
    if not len(Z):
        return Reply(np.zeros(0, dtype=bool), None)
    archive.rows_asked += len(Z)
    reply = yield wish(Z)
    archive.record(Z, reply)
    return reply


def share_out(archives: Sequence[Archive], hits: Sequence[tuple[Matrix, Numbers, Vector]]) -> None:
    """Add to each archive its rows, as they came, which are feasible and reach.

    With the rows come the numbers of their archives, and how far they are.
    """
    rows, at, far = (np.concatenate(parts) for parts in zip(*hits, strict=True))
    order = np.argsort(at, kind="stable")
    ends = np.cumsum([0, *np.bincount(at, minlength=len(archives))]).tolist()
    for archive, (begin, end) in zip(archives, pairwise(ends), strict=True):
        if begin < end:
            numbers = order[begin:end]
            archive.add(Share(rows, numbers), far[numbers])
