"""The only door to the model: what was asked for each query, what came of it, and what may still be asked.

Whatever reached the target is a candidate, whichever move asked about it. So a move only decides what to ask
next, and none can lose an answer; and since a query's rows are the same for every budget, up to where that
ends, a larger budget can only add candidates.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ssba.arrays import Array, choose, copied, in_blocks, like, on_host, put, to_numpy
from ssba.columns.distance import Metric, is_lost
from ssba.models.targets import Reply
from ssba.search.lanes import Herd, first_of_each, nearest_different, rank_within, row_keys
from ssba.search.regions import Mask, Matrix, Numbers, Regions, Vector


@dataclass(frozen=True)
class Door:
    """How rows are asked about: with the number of the query that each belongs to.

    `most` is how many rows each query may still ask; `is_over` tells that there is no more time. Where calls
    are dear, `calls_left` is how many more each query may take part in; then more is asked at once.
    With `until_found` a query asks no more once a row of it has reached. With `widely` a call costs much more
    than a few rows more in it, as on a GPU. `slopes` tells of rows how far they are beyond the
    target, in units of its own, and how that rises with each cell; None where the model does not tell. It
    leads in the regions `led`. With `has_faces` the target lies beyond several faces, as among many classes.
    The search of the queries that `ends_early` marks may end where it is certain that no row is nearer.
    """

    ask: Callable[[Matrix, Numbers], Reply]
    has_scores: bool
    most: Vector
    is_over: Callable[[], bool] = lambda: False
    calls_left: Numbers | None = None
    until_found: bool = False
    widely: bool = False
    slopes: Callable[[Matrix, Numbers], tuple[Array, Matrix] | None] | None = None
    led: Mask | None = None
    has_faces: bool = False
    ends_early: Mask | None = None


class NoNumbersError(Exception):
    """A model beside which is searched answers with what is no number; the host knows what to say."""


@dataclass(frozen=True)
class Asked:
    """What came of feasible and other rows: which are hits, which count as asked now, margins, distances."""

    hits: Mask
    counted: Mask
    margin: Vector | None
    distance: Vector


@dataclass
class _Answers:
    """Answers to rows in the order in which these were asked about, with room for more."""

    reached: Mask = field(default_factory=lambda: np.empty(1024, dtype=bool))
    margin: Vector = field(default_factory=lambda: np.empty(1024))
    count: int = 0

    def add(self, reply: Reply) -> None:
        """Keep the answers to some more rows."""
        end = self.count + len(reply.reached)
        if end > len(self.reached):
            self.reached = np.resize(self.reached, 2 * end)
            self.margin = np.resize(self.margin, 2 * end)
        self.reached[self.count : end] = reply.reached
        self.margin[self.count : end] = np.nan if reply.margin is None else reply.margin
        self.count = end

    def of(self, places: Numbers, *, has_margin: bool) -> Reply:
        """Return the answers to rows that were asked about, by their places in this order."""
        return Reply(self.reached[places], self.margin[places] if has_margin else None)


@dataclass
class Ledger:
    """What all queries asked so far; rows lie where the regions do, all that is known of them on the host.

    Attributes
    ----------
    asked, calls
        How many model rows each query has asked, and in how many calls.
    is_open
        Which queries may ask on; one that could not ask all it wanted is closed.
    best, best_row, best_margin
        Distance of the nearest row of each region that reached the target, infinite where none did; that row,
        and its margin, NaN where that is not known.
    exhausted
        Nearer than this every legal row of a region was asked about; 0 where that is not known.
    miss, miss_margin
        The row of each region that came nearest to the target by score, where none has reached it.
    hits, misses
        All feasible rows that reached, with their regions; the distances of those that did not, each once.
    """

    regions: Regions
    metric: Metric
    door: Door
    asked: Numbers = field(init=False)
    is_open: Mask = field(init=False)
    best: Vector = field(init=False)
    exhausted: Vector = field(init=False)
    best_margin: Vector = field(init=False)
    best_row: Matrix = field(init=False)
    miss: Matrix = field(init=False)
    miss_margin: Vector = field(init=False)
    hits: list[tuple[Matrix, Numbers, Vector]] = field(default_factory=list)
    misses: list[tuple[Numbers, Vector]] = field(default_factory=list)
    calls: Numbers = field(init=False)
    # Rows that were asked about, numbered in the order in which they came.
    _memory: dict[bytes, int] = field(default_factory=lambda: defaultdict(itertools.count().__next__))
    _answers: _Answers = field(default_factory=_Answers)

    def __post_init__(self) -> None:
        regions, queries = self.regions, len(self.door.most)
        self.asked = np.zeros(queries, dtype=np.int64)
        self.calls = np.zeros(queries, dtype=np.int64)
        self.is_open = np.ones(queries, dtype=bool)
        self.best, self.best_margin = np.full(regions.count, np.inf), np.full(regions.count, np.nan)
        self.exhausted = np.zeros(regions.count)
        self.best_row, self.miss = copied(regions.start), copied(regions.start)
        self.miss_margin = np.full(regions.count, -np.inf)

    def distance(self, Z: Matrix, at: Numbers) -> Vector:
        """Return how far rows are from their queries."""

        def distance(rows: Matrix, of: Numbers) -> Matrix:
            return self.metric.distance(rows, choose(self.regions.x, of))

        return np.asarray(to_numpy(in_blocks(distance, Z.shape[1], Z, at)))

    def goes_on(self, at: Numbers) -> Mask:
        """Tell which regions belong to queries that may ask on."""
        return np.asarray(self.is_open[self.regions.query[at]])

    def ask(self, Z: Matrix, at: Numbers) -> Reply:
        """Ask about legal rows; the rows of a query that its budget does not allow count as misses.

        A row that is not feasible never counts as reached, though its margin is the model's; one that was not
        asked has none.
        """
        count = len(Z)
        reached, margin = np.zeros(count, dtype=bool), np.full(count, np.nan)
        fits = np.flatnonzero(self._allowed(Z, at)) if count else np.empty(0, dtype=np.int64)
        if not len(fits):
            return Reply(reached, margin if self.has_scores else None)
        if len(fits) < count:
            Z, at = choose(Z, fits), at[fits]
        reply, feasible, fresh, distance = (self._asked_beside if self.is_beside else self._asked_here)(Z, at)
        hits = reply.reached & feasible
        self._record(Z, at, Asked(hits, feasible & fresh, reply.margin, distance))
        reached[fits] = hits
        if reply.margin is None:
            return Reply(reached, None)
        margin[fits] = reply.margin
        return Reply(reached, margin)

    def _asked_here(self, Z: Matrix, at: Numbers) -> tuple[Reply, Mask, Mask, Vector]:
        """Ask about rows on the host; tell which are feasible, which were not asked before, and how far."""
        reply, fresh = self._once(Z, at)
        return reply, self.regions.contains(Z, at), fresh, self.distance(Z, at)

    def _asked_beside(self, Z: Matrix, at: Numbers) -> tuple[Reply, Mask, Mask, Vector]:
        """Ask about rows on a device; all that is known of them comes to the host at once."""
        reply, there = self._asked(Z, self.regions.query[at]), like(at, Z)
        x = choose(self.regions.x, there)
        distance = self.metric.quick_distance(Z, x)
        known = on_host(reply.reached, reply.margin, self.regions.inside(Z, there), distance)
        if not np.isfinite(known[1]).all():
            raise NoNumbersError
        distance, lost = known[3], np.flatnonzero(is_lost(known[3]))
        if len(lost):
            distance[lost] = to_numpy(self.metric.distance(choose(Z, lost), choose(x, lost)))
        return Reply(known[0] > 0, known[1]), known[2] > 0, np.ones(len(at), dtype=bool), distance

    def slopes(self, Z: Matrix, at: Numbers) -> tuple[Array, Matrix] | None:
        """Return how far rows are beyond the target and how that rises with each cell, where the model tells.

        Both lie where the rows do. Each row counts as asked, unless the model was opened and is not asked.
        """
        query = self.regions.query[at]
        if self.door.slopes is None or self.door.is_over():
            return None
        told = self.door.slopes(Z, query)
        if told is not None and self.is_beside:
            self._count(query)
        return told

    def can_afford(self, at: Numbers, rows: int) -> Mask:
        """Tell for which of some ways, in this order, their queries may ask about so many rows each."""
        query = self.regions.query[at]
        order = np.argsort(query, kind="stable")
        rank = np.empty(len(at), dtype=np.int64)
        rank[order] = rank_within(query[order])
        return np.asarray((rank + 1) * rows <= (self.door.most - self.asked)[query])

    def close(self, at: Numbers) -> None:
        """Let the queries of some regions ask no more."""
        self.is_open[self.regions.query[at]] = False

    @property
    def few_calls(self) -> bool:
        """Whether calls are counted, so that ways are followed at once instead of one after the other."""
        return self.door.calls_left is not None

    @property
    def asks_widely(self) -> bool:
        """Whether calls are dear, so that more is asked at once."""
        return self.few_calls or self.door.widely

    @cached_property
    def is_beside(self) -> bool:
        """Whether rows lie beside a model, on its device, and not on the host."""
        return type(self.regions.x) is not np.ndarray

    @property
    def has_scores(self) -> bool:
        """Whether the model gives margins."""
        return self.door.has_scores

    def _allowed(self, Z: Matrix, at: Numbers) -> Mask:
        """Tell which rows may be asked about; close the queries that wanted more."""
        if self.door.is_over():
            self.is_open[:] = False
        if self.door.calls_left is not None:
            self.is_open &= self.calls < self.door.calls_left
        if self.door.until_found:
            self.is_open &= np.isinf(self.best_of_query())
        query = self.regions.query[at]
        allowed = np.asarray(self.is_open[query])
        wanted = np.bincount(query, minlength=len(self.asked))
        short = (self.asked + wanted > self.door.most) & self.is_open
        for number in np.flatnonzero(short):
            mine = np.flatnonzero(query == number)
            fresh = self._are_fresh(choose(Z, mine), at[mine])
            beyond = np.cumsum(fresh) > self.door.most[number] - self.asked[number]
            allowed[mine[beyond]] = False
            self.is_open[number] = not beyond.any()
        return allowed

    @cached_property
    def _repeats(self) -> bool:
        """Whether rows are likely to come again, as they do where there are steps or levels."""
        return bool(self.regions.grid.stepped.any() or self.regions.has_levels)

    def _keys(self, Z: Matrix, at: Numbers) -> list[bytes]:
        return row_keys(np.column_stack([self.regions.query[at].astype(float), Z]))

    def _are_fresh(self, Z: Matrix, at: Numbers) -> Mask:
        """Tell which rows were not asked before, nor earlier among them."""
        if not self._repeats:
            return np.ones(len(Z), dtype=bool)
        seen: set[bytes] = set()
        fresh = np.zeros(len(Z), dtype=bool)
        for i, key in enumerate(self._keys(Z, at)):
            fresh[i] = key not in seen and key not in self._memory
            seen.add(key)
        return fresh

    def _once(self, Z: Matrix, at: Numbers) -> tuple[Reply, Mask]:
        """Ask about rows that were not asked before, the others are known; tell which were asked now."""
        query = self.regions.query[at]
        if not self._repeats:
            return self._asked(Z, query), np.ones(len(Z), dtype=bool)
        memory, before = self._memory, len(self._memory)
        keys = self._keys(Z, at)
        place = np.fromiter(map(memory.__getitem__, keys), np.int64, len(keys))
        asked_now = np.zeros(len(Z), dtype=bool)
        if len(memory) > before:
            # The first of equal rows is asked about: written last.
            fresh, first = np.flatnonzero(place >= before)[::-1], np.empty(len(memory) - before, np.int64)
            first[place[fresh] - before] = fresh
            asked_now[first] = True
            self._answers.add(self._asked(choose(Z, first), query[first]))
        return self._answers.of(place, has_margin=self.has_scores), asked_now

    def _asked(self, Z: Matrix, query: Numbers) -> Reply:
        self._count(query)
        return self.door.ask(Z, query)

    def _count(self, query: Numbers) -> None:
        asked = np.bincount(query, minlength=len(self.asked))
        self.asked += asked
        self.calls += asked > 0

    def _record(self, Z: Matrix, at: Numbers, asked: Asked) -> None:
        """Keep what reached; note how far away those are that did not, of the feasible rows just asked.

        Of rows beside a model only the nearest of each region are kept, since they have to come to the host.
        """
        margin, distance = asked.margin, asked.distance
        missed = asked.counted & ~asked.hits
        self.misses.append((at[missed], distance[missed]))
        found = np.flatnonzero(asked.hits)
        if len(found):
            nearest = found[first_of_each(at[found], distance[found])]
            kept = nearest if self.is_beside else found
            self.hits.append((choose(Z, kept), at[kept], distance[kept]))
            nearest = nearest[distance[nearest] < self.best[at[nearest]]]
            self.best[at[nearest]] = distance[nearest]
            put(self.best_row, at[nearest], choose(Z, nearest))
            self.best_margin[at[nearest]] = np.nan if margin is None else margin[nearest]
        if margin is not None and missed.any() and np.isinf(self.best).any():
            wanted = np.flatnonzero(missed & np.isinf(self.best[at]))
            first = wanted[first_of_each(at[wanted], -margin[wanted])]
            first = first[margin[first] > self.miss_margin[at[first]]]
            self.miss_margin[at[first]] = margin[first]
            put(self.miss, at[first], choose(Z, first))

    def add_known(self, Z: Matrix, at: Numbers) -> None:
        """Take in rows that the model was asked about before, and that reach the target."""
        hits = self.regions.contains(Z, at)
        self._record(Z, at, Asked(hits, hits, None, self.distance(Z, at)))

    def best_of_query(self) -> Vector:
        """Return the distance of the nearest row of each query that reached the target."""
        best = np.full(len(self.asked), np.inf)
        np.minimum.at(best, self.regions.query, self.best)
        return best

    def nearest(self, at: Numbers, most: int) -> Herd:
        """Return the nearest different rows of some regions that reached, up to `most` of each."""
        wanted = np.zeros(self.regions.count, dtype=bool)
        wanted[at] = True
        kept = [(rows[wanted[of]], of[wanted[of]], far[wanted[of]]) for rows, of, far in self.hits]
        if not kept:
            return Herd(self.best_row[:0], at[:0])
        rows, of, far = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        return Herd(rows, of).take(nearest_different(rows, of, far, most))
