"""First rows on the target side: background rows, boundary points, corners, and a climb by score."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.problem.distance import Metric
from ssba.problem.region import Region
from ssba.search.archive import Archive

Matrix = NDArray[np.float64]

_NEAREST, _FURTHER, _RANDOM = 48, 128, 128
_CLIMB_ROUNDS = 30


def find_ends(archive: Archive, pool: Matrix, rng: np.random.Generator) -> Asking[None]:
    """Ask about ever more distant kinds of rows until some reach the target."""
    region = archive.region
    for rows in _waves(region, archive.metric, pool, rng):
        if len(rows):
            yield rows
        if archive.found is not None:
            return
    if archive.miss is not None:
        yield from _climb(archive)


def _waves(region: Region, metric: Metric, pool: Matrix, rng: np.random.Generator) -> Iterator[Matrix]:
    near = _pulled_in(region, pool)
    near = near[np.argsort(metric.distance(near, region.x), kind="stable")]
    yield near[:_NEAREST]
    rest = near[_NEAREST:]
    yield rest[np.unique(np.linspace(0, len(rest) - 1, _FURTHER).astype(int))] if len(rest) else rest
    yield _feasible(region, _corners(region, rng))
    yield _feasible(region, _scattered(region, rng))


def _pulled_in(region: Region, pool: Matrix) -> Matrix:
    """Move rows into the region, each as it is and once more with the query's own levels.

    A background row's missing cells take the query's value.
    """
    pool = np.where(np.isnan(pool), region.x, pool)
    if region.discrete.any():
        pool = np.concatenate([pool, np.where(region.discrete, region.start, pool)])
    return _feasible(region, pool)


def _feasible(region: Region, rows: Matrix) -> Matrix:
    pulled, fine = region.pull_in(rows)
    return _distinct(pulled[fine])


def _distinct(rows: Matrix) -> Matrix:
    _, first = np.unique(rows, axis=0, return_index=True, equal_nan=False)
    return rows[np.sort(first)]


def _reach(region: Region) -> tuple[Matrix, Matrix]:
    """Return finite ends to draw between: the bounds, or some scales around the start without them."""
    far = 6 * region.scale
    home = np.nan_to_num(region.start)
    low = np.where(np.isfinite(region.lower), region.lower, home - far)
    high = np.where(np.isfinite(region.upper), region.upper, home + far)
    return low, high


def _corners(region: Region, rng: np.random.Generator) -> Matrix:
    """Return rows with every free number at one of its ends, or left alone; all such rows if few."""
    low, high = _reach(region)
    free = np.flatnonzero(region.free & ~region.discrete)
    if not len(free):
        choice = np.zeros((_RANDOM, 0), dtype=int)
    elif len(free) <= 4:
        choice = np.stack(np.meshgrid(*[[0, 1, 2]] * len(free), indexing="ij"), axis=-1).reshape(
            -1, len(free)
        )
    else:
        choice = rng.integers(0, 3, size=(_RANDOM, len(free)))
    rows = np.repeat(region.start[None, :], len(choice), axis=0)
    ends = np.stack([region.start, low, high])
    rows[:, free] = ends[choice, free]
    return _with_levels(region, rows, rng)


def _scattered(region: Region, rng: np.random.Generator) -> Matrix:
    low, high = _reach(region)
    rows = rng.uniform(low, high, size=(_RANDOM, len(low)))
    return _with_levels(region, np.where(region.free, rows, region.start), rng)


def _with_levels(region: Region, rows: Matrix, rng: np.random.Generator) -> Matrix:
    """Draw an allowed level for every free discrete cell, keeping the start's half of the time."""
    for j in np.flatnonzero(region.free & region.discrete):
        levels = np.flatnonzero(region.allowed[j]).astype(float)
        drawn = rng.choice(levels, size=len(rows))
        rows[:, j] = np.where(rng.random(len(rows)) < 0.5, region.start[j], drawn)
    return rows


def _climb(archive: Archive) -> Asking[None]:
    """Follow the score: change one column of the best miss at a time, then all that helped together.

    Steps begin at all of the way to a column's ends and shrink whenever none of them helps.
    """
    region, share = archive.region, 1.0
    for _ in range(_CLIMB_ROUNDS):
        before, base = archive.miss_margin, archive.miss
        rows = single_changes(region, base, share)
        if archive.has_found or not len(rows):
            return
        reply = yield rows
        if reply.margin is None:
            return
        helped = np.asarray(reply.margin > before)
        if helped.any():
            yield _feasible(region, _combined(base, rows[helped], reply.margin[helped])[None, :])
        else:
            share *= 0.4


def single_changes(region: Region, base: Matrix, share: float) -> Matrix:
    """Return `base` with one column changed at a time: part of the way to its ends, or to each level."""
    low, high = _reach(region)
    rows = []
    for j in np.flatnonzero(region.free):
        if region.discrete[j]:
            values = np.flatnonzero(region.allowed[j]).astype(float)
        else:
            home = 0.5 * (low[j] + high[j]) if np.isnan(base[j]) else base[j]
            values = home + share * np.array([low[j] - home, high[j] - home])
        changed = np.repeat(base[None, :], len(values), axis=0)
        changed[:, j] = values
        rows.append(changed)
    if not rows:
        return base[None, :][:0]
    pulled = _feasible(region, np.concatenate(rows))
    return np.asarray(pulled[(pulled != base).any(axis=1)])


def _combined(base: Matrix, rows: Matrix, margins: Matrix) -> Matrix:
    """Return `base` with, for every column, the change that helped most."""
    best = base.copy()
    for i in np.argsort(margins, kind="stable"):
        best = np.where(rows[i] != base, rows[i], best)
    return np.asarray(best)
