"""Moves that need no slope, for steps, corners and levels: columns one by one, and mixtures of good rows."""

import itertools

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.problem.region import Region
from ssba.run.arrays import Array, choose, like, marked, namespace, to_numpy
from ssba.search.archive import Archive, row_key
from ssba.search.starts import levels_of, with_column

# How much of a column's change is left, in the one question asked about it.
_LEFT = np.array([0.0, 0.2, 0.4, 0.6, 0.8])


def pull_back(archive: Archive, rows: Array, rng: np.random.Generator) -> Asking[Array]:
    """Take every column of each row back toward the start, as far as the target stays reached.

    Columns with a large change tend to come first, in an order of its own for each row. All rows share
    each model call, one call a column.
    """
    region = archive.region
    free = np.array(marked(region.free), dtype=np.int64)
    parts = to_numpy(archive.metric.parts(rows, region.start))[:, free]
    noise = np.exp(0.5 * rng.normal(size=parts.shape))
    orders = free[np.argsort(-parts * noise, axis=1, kind="stable")]
    for turn in range(free.shape[0]):
        rows = yield from _take_back(region, rows, orders[:, turn])
    return rows


def _take_back(region: Region, rows: Array, columns: NDArray[np.int64]) -> Asking[Array]:
    """Return the rows with one column of each, as given, nearer to the start where that still reaches."""
    xp = namespace(rows)
    picked = like(np.arange(rows.shape[1]) == columns[:, None], rows)
    both_missing = xp.isnan(rows) & xp.isnan(region.start)
    moved = marked(xp.any(picked & (rows != region.start) & ~both_missing, axis=1))
    if not moved:
        return rows
    now, picked = choose(rows, moved), choose(picked, moved)
    numbers = xp.any(picked & ~region.discrete & ~xp.isnan(now - region.start), axis=1)
    tries = []
    for left in _LEFT.tolist():
        partly = region.start + left * (now - region.start)
        # A level or a missing cell goes all the way back, or stays.
        changed = picked & (numbers[:, None] if left else picked)
        tries.append(region.snap(xp.where(changed, region.start if left == 0 else partly, now)))
    asked = xp.concat(tries)
    reply = yield asked
    hits = to_numpy(reply.reached & region.contains(asked)).reshape(len(_LEFT), len(moved))
    best = np.where(hits.any(axis=0), hits.argmax(axis=0) * len(moved) + np.arange(len(moved)), -1)
    chosen = xp.where(like(best >= 0, now)[:, None], choose(asked, np.maximum(best, 0)), now)
    where = np.full(rows.shape[0], -1)
    where[moved] = np.arange(len(moved))
    kept = like(where < 0, rows)[:, None]
    return xp.where(kept, rows, choose(chosen, np.maximum(where, 0)))


def capped(archive: Archive, z: Array, halvings: int = 6) -> Asking[Array]:
    """Stretch a row's changes, then cut the largest ones down to one size, as small as still reaches.

    Where many small changes do as well as a few large ones, they are nearer in L2.
    """
    region = archive.region
    xp = namespace(z)
    numbers = ~region.discrete & ~xp.isnan(z - region.start)
    u = xp.where(numbers, (z - region.start) / region.scale, xp.zeros_like(z))
    stretched = like(np.array([1.0, 1.15, 1.3, 1.5, 1.8, 2.2]), z)[:, None] * u
    largest = float(xp.max(xp.abs(u))) * like(np.array([1.0, 1.15, 1.3, 1.5, 1.8, 2.2]), z)

    def cut(share: Array) -> Array:
        size = (largest * share)[:, None]
        rows = region.start + xp.clip(stretched, -size, size) * region.scale
        return region.snap(xp.where(numbers, rows, z))

    low = xp.zeros_like(largest)
    high = xp.ones_like(largest)
    for halving in range(halvings + 1):
        middle = high if halving == 0 else 0.5 * (low + high)
        reply = yield cut(middle)
        if halving:
            high = xp.where(reply.reached, middle, high)
            low = xp.where(reply.reached, low, middle)
    rows = cut(high)
    return rows[region.contains(rows)]


def recombined(region: Region, rows: Array, count: int, rng: np.random.Generator) -> Array:
    """Return mixtures of good rows: each cell from one of two parents."""
    xp = namespace(rows)
    first, second = rng.integers(0, rows.shape[0], size=(2, count))
    mask = like(rng.random((count, rows.shape[1])) < 0.5, rows)
    pulled, fine = region.pull_in(xp.where(mask, choose(rows, first), choose(rows, second)))
    return pulled[fine]


def scattered_around(
    region: Region, rows: Array, count: int, width: float, rng: np.random.Generator
) -> Array:
    """Return rows drawn around good ones, their changes stretched by random factors (paper, future work)."""
    xp = namespace(rows)
    parents = choose(rows, rng.integers(0, rows.shape[0], size=count))
    factors = like(np.exp(rng.normal(0.0, width, size=(count, rows.shape[1]))), rows)
    stretched = region.start + (parents - region.start) * factors
    pulled, fine = region.pull_in(xp.where(region.free & ~region.discrete, stretched, parents))
    return pulled[fine]


def neighbours(region: Region, z: Array) -> Array:
    """Return the rows one step of the grid, or one level, away from `z`."""
    step = region.grid.numerator / region.grid.denominator
    rows = []
    for j in marked(region.free & (region.grid.stepped | region.discrete)):
        if bool(region.discrete[j]):
            values = levels_of(region, j)
        else:
            values = [float(z[j] - step[j]), float(z[j] + step[j])]
        rows.append(with_column(z, j, values))
    if not rows:
        return z[None, :][:0, :]
    pulled, fine = region.pull_in(namespace(z).concat(rows))
    return pulled[fine]


def other_levels(archive: Archive, most: int) -> Array:
    """Return the start with one or two levels changed, as far as that alone is nearer than the best row."""
    region = archive.region
    ones = [
        (j, level)
        for j in marked(region.free & region.discrete)
        for level in levels_of(region, j)
        if level != float(region.start[j])
    ]
    sets: list[tuple[tuple[int, float], ...]] = [(one,) for one in ones]
    sets += [pair for pair in itertools.combinations(ones, 2) if pair[0][0] != pair[1][0]]
    rows = np.repeat(to_numpy(region.start)[None, :], len(sets) + 1, axis=0)
    for row, chosen in zip(rows[1:], sets, strict=True):
        for j, level in chosen:
            row[j] = level
    found = like(rows, region.start)
    distances = to_numpy(archive.metric.distance(found, region.x))
    order = np.argsort(distances, kind="stable")
    return choose(found, order[distances[order] < archive.best_distance][:most])


def nearest_of(archive: Archive, rows: Array, count: int) -> Array:
    """Return the nearest different rows of some."""
    order = np.argsort(to_numpy(archive.metric.distance(rows, archive.region.x)), kind="stable")
    host = to_numpy(rows)
    chosen: dict[bytes, int] = {}
    for i in order.tolist():
        chosen.setdefault(row_key(host[i]), i)
        if len(chosen) == count:
            break
    return choose(rows, list(chosen.values()))
