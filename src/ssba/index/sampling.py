"""Filling a store with the boundary points of pairs, where it left off and beside other processes.

A shelf knows which positions of which stream its blocks come from, so that only missing ones are computed.
Nothing else is kept: no lock, no claim on work. Two processes that compute the same positions publish
them once, since the second finds them covered.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from ssba.arrays import Array
from ssba.boundary.points import Stream, shares
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.engine.beside_model import Beside, beside_model
from ssba.index.point_store import About, PointStore, Unwanted, column_major, on_host
from ssba.models.oracle import Oracle
from ssba.models.targets import Reply, describe

Watch = Callable[[int], object]

# Pairs to a block: large enough that a file outweighs its name, small enough to hold a few in memory.
BLOCK_PAIRS = 32_768
# Seconds after which less than a block is published, so that a killed run of a slow model loses no more.
_PUBLISH_AFTER = 20.0


@dataclass(frozen=True)
class Part:
    """The share of the work that is one process's own: every `of`-th block, from the `number`-th on."""

    number: int = 0
    of: int = 1


@dataclass(frozen=True)
class Growth:
    """What a store shall hold: the first `n` pairs of these streams, of which a process does its `part`.

    `kind` says what the pairs are: ``"pairs"`` of background rows, or of rows drawn ``"around"`` a query.
    """

    streams: Sequence[Stream]
    n: int
    part: Part = Part()
    kind: str = "pairs"

    @property
    def pairs(self) -> int:
        """How many pairs there are in all."""
        return sum(stream.sides.pairs for stream in self.streams)

    @property
    def wanted(self) -> list[tuple[Stream, int]]:
        """How many pairs of each stream are wanted."""
        counts = shares([stream.sides for stream in self.streams], self.n)
        return list(zip(self.streams, counts, strict=True))

    def about(self, stream: Stream, positions: range) -> About:
        """Tell where the points of some positions come from."""
        how = stream.sampling
        return {
            "kind": self.kind,
            "goal": describe(stream.sides.goal),
            "stream": stream.key,
            "begin": positions.start,
            "end": positions.stop,
            "pairs": self.pairs,
            "seed": how.seed,
            "tolerance": how.tolerance,
            "resolution": how.resolution,
        }


def grow(engine: Engine, store: PointStore, growth: Growth, watch: Watch) -> int:
    """Add what is missing, and return how many model rows that took."""
    oracle = engine.judging.oracle()
    with _Adding(store) as adding:
        for stream, count in growth.wanted:
            beside = beside_model(engine.background, stream, oracle)
            if beside is not None and _grow_beside(adding, growth, (stream, count), beside, watch):
                continue
            ask = _asker(engine, stream, oracle)
            while piece := next(_missing(_covered(adding.abouts, stream), count, growth.part), None):
                _add(adding, growth, stream, piece, ask, watch)
    return oracle.rows_asked


def find_points(engine: Engine, stream: Stream, positions: range) -> tuple[Matrix, int]:
    """Return the points of the pairs at some positions, and how many model rows that took."""
    oracle = engine.judging.oracle()
    beside = beside_model(engine.background, stream, oracle)
    points = None if beside is None else beside.points(positions)
    if points is None:
        ask = _asker(engine, stream, oracle)
        points = column_major([batch.points for batch in stream.batches(positions, ask)])
    return on_host(points), oracle.rows_asked


def missing_pieces(store: PointStore, growth: Growth) -> list[tuple[int, range]]:
    """Return what is missing on a store, block by block: the number of the stream, and positions in it."""
    abouts = _abouts(store)
    return [
        (number, piece)
        for number, (stream, count) in enumerate(growth.wanted)
        for piece in _missing(_covered(abouts, stream), count, growth.part)
    ]


def add_points(store: PointStore, growth: Growth, piece: tuple[int, range], points: Matrix) -> None:
    """Put the points of a piece on a store, unless others have done so by now."""
    number, positions = piece
    stream = growth.streams[number]
    store.add(points, growth.about(stream, positions), _unless_covered(stream, positions))


def _asker(engine: Engine, stream: Stream, oracle: Oracle) -> Callable[[Array], Reply]:
    ends = stream.sides.leaving, stream.sides.reaching
    missing = np.logical_or(*(np.isnan(side).any(axis=0) for side in ends))
    return engine.judging.asker(stream.sides.goal, oracle, missing)


def _grow_beside(
    adding: "_Adding", growth: Growth, wanted: tuple[Stream, int], beside: Beside, watch: Watch
) -> bool:
    """Add what is missing of a stream from the model's device, many blocks at a time.

    Tells whether that is all: it ends early where the model fails there.
    """
    stream = wanted[0]
    while pieces := _next_run(adding, growth, wanted, beside.pairs_at_once):
        begin = pieces[0].start
        points = beside.points(range(begin, pieces[-1].stop))
        if points is None:
            return False
        # Files have blocks of one size; in memory there is no need to cut.
        for piece in pieces if adding.cuts else [range(begin, pieces[-1].stop)]:
            found = points[piece.start - begin : piece.stop - begin]
            adding.add(found, growth.about(stream, piece), _unless_covered(stream, piece))
        watch(pieces[-1].stop - begin)
    return True


def _next_run(adding: "_Adding", growth: Growth, wanted: tuple[Stream, int], most: int) -> list[range]:
    """Return the next missing stretches that follow each other, as many as can be done at a time."""
    stream, count = wanted
    run: list[range] = []
    for piece in _missing(_covered(adding.abouts, stream), count, growth.part):
        if run and (piece.start != run[-1].stop or piece.stop - run[0].start > most):
            break
        run.append(piece)
    return run


class _Adding:
    """Puts a block on a store while the next one is computed: writing and syncing files is mostly waiting."""

    def __init__(self, store: PointStore) -> None:
        self._store = store
        self._thread = None if store.path is None else ThreadPoolExecutor(1)
        self._last: tuple[About, Future[None]] | None = None

    @property
    def cuts(self) -> bool:
        """Whether blocks of one size are wanted."""
        return self._thread is not None

    @property
    def abouts(self) -> list[About]:
        """What is on the store, or about to be."""
        return _abouts(self._store) + ([self._last[0]] if self._last else [])

    def add(self, points: Array, about: About, unwanted: Unwanted) -> None:
        if self._thread is None:
            self._store.add(points, about, unwanted)
            return
        self._wait()
        self._last = about, self._thread.submit(self._store.add, points, about, unwanted)

    def _wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last[1].result()

    def __enter__(self) -> "_Adding":
        return self

    def __exit__(self, *error: object) -> None:
        with self._thread or nullcontext():
            self._wait()


def covered_pairs(store: PointStore, growth: Growth) -> int:
    """Return how many of the wanted pairs are on the store already."""
    abouts = _abouts(store)
    return sum(
        len(range(one.start, min(one.stop, count)))
        for stream, count in growth.wanted
        for one in _covered(abouts, stream)
    )


def other_samples(store: PointStore, growth: Growth) -> int:
    """Return how many points on the store come from pairs of other streams than those that shall grow."""
    own = {stream.key for stream in growth.streams}
    others = [block for block in store.blocks() if block.about.get("kind") == growth.kind == "pairs"]
    return sum(block.rows for block in others if block.about["stream"] not in own)


def _abouts(store: PointStore) -> list[About]:
    return [block.about for block in store.blocks()]


def _covered(abouts: Sequence[About], stream: Stream) -> list[range]:
    """Return the stretches of a stream's positions that blocks come from, in order."""
    mine = [one for one in abouts if one.get("stream") == stream.key]
    return sorted((range(int(one["begin"]), int(one["end"])) for one in mine), key=lambda one: one.start)


def _missing(covered: Sequence[range], count: int, part: Part) -> Iterator[range]:
    """Yield the stretches of the first `count` positions that are not covered, cut at every block's end."""
    begin = 0
    for one in [*covered, range(count, count)]:
        while begin < min(one.start, count):
            number = begin // BLOCK_PAIRS
            end = min(one.start, count, (number + 1) * BLOCK_PAIRS)
            if number % part.of == part.number:
                yield range(begin, end)
            begin = end
        begin = max(begin, one.stop)


def _add(
    adding: _Adding,
    growth: Growth,
    stream: Stream,
    piece: range,
    ask: Callable[[Array], Reply],
    watch: Watch,
) -> None:
    """Put the points of a stretch of pairs on the store; cut short, what is done of it."""
    found, end, begun = [], piece.start, time.monotonic()
    try:
        for batch in stream.batches(piece, ask):
            found.append(batch.points)
            watch(batch.end - end)
            end = batch.end
            if time.monotonic() - begun > _PUBLISH_AFTER:
                break
    finally:
        if found:
            done = range(piece.start, end)
            adding.add(column_major(found), growth.about(stream, done), _unless_covered(stream, done))


def _unless_covered(stream: Stream, done: range) -> Unwanted:
    """Tell whether others have published some of a stretch by now."""
    return lambda others: any(
        one.start < done.stop and done.start < one.stop for one in _covered(others, stream)
    )
