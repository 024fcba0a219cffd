"""Exchanges by trial, for which labels suffice: a row gives up one column and takes others from another row.

It takes more than it needs, and all that it can do without goes back. So each row that reaches the target
ends where no single column can go back, mostly elsewhere than those it came from.
"""

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, like, namespace, repeated, to_numpy
from ssba.boundary.bisection import Asking
from ssba.search import columns
from ssba.search.archive import Archive

Vector = NDArray[np.float64]

# For so many rounds so many rows are asked about, and of those that reach so many are followed.
_ROUNDS, _OFFSPRING, _FOLLOWED = 12, 96, 24
# Parents are the nearest rows that lie this share of their distance apart; the first are taken more often.
_PARENTS, _APART, _FAVOUR = 8, 0.05, 1.5
# How much of the column given up stays, how far donors are stretched, and what share of their cells is taken.
_STAYS = (0.0, 0.0, 0.5)
_STRETCH = (0.5, 0.8, 1.1, 1.4)
_TAKEN = (0.2, 0.7)
# Donors are first brought to this many times the best distance, if they are farther.
_NEAR = 1.2
# Rows may lie so many times beyond the best one before anything went back, and after.
_FAR, _WORTHWHILE = 2.2, 1.1
# Small changes are given up too, if rarely.
_RARELY = 0.02


def swap_search(
    archive: Archive, parents: Array, donors: Array, rng: np.random.Generator, rounds: int = _ROUNDS
) -> Asking[None]:
    """Bring rows that reach the target nearer by exchanges with each other and with donors."""
    xp, region = namespace(parents), archive.region
    parents = _apart(archive, parents)
    for _ in range(rounds):
        rows = _offspring(archive, parents, xp.concat([parents, donors]), rng)
        if not rows.shape[0]:
            continue
        reply = yield rows
        hits = rows[reply.reached & region.contains(rows)]
        if hits.shape[0]:
            followed = columns.nearest_of(archive, hits, _FOLLOWED)
            ends = yield from columns.pull_back(archive, followed, rng, _WORTHWHILE * archive.best_distance)
            parents = _apart(archive, xp.concat([parents, ends]))


def _offspring(archive: Archive, parents: Array, donors: Array, rng: np.random.Generator) -> Array:
    """Return parents that gave up a column, mostly a large one, and took cells that donors changed more."""
    region, metric = archive.region, archive.metric
    xp = namespace(parents)
    favoured = np.minimum(rng.exponential(_FAVOUR, _OFFSPRING).astype(int), parents.shape[0] - 1)
    own = choose(parents, favoured)
    other = choose(donors, rng.integers(0, donors.shape[0], _OFFSPRING))
    far = np.maximum(to_numpy(metric.distance(other, region.start)), 1e-300)
    stretch = rng.choice(_STRETCH, _OFFSPRING) * np.minimum(_NEAR * archive.best_distance / far, 1.0)
    other = _with_share(archive, other, stretch)
    parts = metric.parts(own, region.start)
    taken = rng.random(own.shape) < rng.uniform(*_TAKEN, size=(_OFFSPRING, 1))
    rows = xp.where(like(taken, own) & (metric.parts(other, region.start) > parts), other, own)
    less = _with_share(archive, own, rng.choice(_STAYS, _OFFSPRING))
    rows = xp.where(like(_one_each(to_numpy(parts) ** 2, rng), own), less, rows)
    rows, fine = region.pull_in(rows)
    return rows[fine & (metric.distance(rows, region.x) < _FAR * archive.best_distance)]


def _one_each(costs: Vector, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark one of the changed cells of each row, mostly one that costs much."""
    weights = costs + _RARELY * costs.sum(axis=1, keepdims=True) * (costs > 0)
    level = weights.cumsum(axis=1)
    drawn = (level <= rng.random((len(level), 1)) * level[:, -1:]).sum(axis=1)
    return np.asarray(np.arange(costs.shape[1]) == drawn[:, None])


def _with_share(archive: Archive, rows: Array, shares: Vector) -> Array:
    """Return rows with a share of their changes; levels and missing cells go back only if none is left."""
    start, xp = archive.region.start, namespace(rows)
    left = like(shares[:, None], rows)
    change = rows - start
    whole = archive.region.discrete | xp.isnan(change)
    return xp.where(whole, xp.where(left > 0, rows, start), start + left * change)


def _apart(archive: Archive, rows: Array) -> Array:
    """Return the nearest rows of which no two are almost the same."""
    metric = archive.metric
    distances = to_numpy(metric.distance(rows, archive.region.x))
    chosen: list[int] = []
    for i in np.argsort(distances, kind="stable").tolist():
        gaps = to_numpy(metric.distance(choose(rows, chosen), repeated(rows[i, :], len(chosen))))
        if (gaps > _APART * distances[i]).all():
            chosen.append(i)
        if len(chosen) == _PARENTS:
            break
    return choose(rows, chosen)
