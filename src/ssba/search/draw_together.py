"""Rows drawn at random from what is nearer than an answer: evidence that nothing is there.

How rows are drawn is told in `ssba.search.evidence`, which draws for one region at a time. Where only real
numbers move inside bounds, most of the ball around the query is feasible, and all regions draw together.
"""

import numpy as np

from ssba.search.draws import Draws
from ssba.search.evidence import draw_nearer
from ssba.search.ledger import Ledger, rank_within
from ssba.search.regions import Mask, Matrix, Numbers, Vector

# Rows that fell outside are drawn again so often; where some still do, a region draws for itself.
_ROUNDS = 16


def draw_rows(
    ledger: Ledger, at: Numbers, radius: Vector, count: Numbers, draws: Draws
) -> tuple[Matrix, Numbers]:
    """Draw so many legal feasible rows of each region nearer than a radius; fewer where there are few."""
    plain = _only_numbers(ledger, at)
    rows, of, inside = _in_balls(ledger, at[plain], radius[plain], count[plain], draws)
    left_out = np.bincount(of[~inside], minlength=ledger.regions.count) > 0
    kept = ~left_out[of]
    found, owners = [rows[kept]], [of[kept]]
    for number in np.flatnonzero(~plain | left_out[at]):
        region = ledger.regions.parts[at[number]]
        rng = draws.of("alone").generator
        own = draw_nearer(region, ledger.metric, float(radius[number]), int(count[number]), rng)
        found.append(np.asarray(own))
        owners.append(np.full(len(own), at[number]))
    all_of = np.concatenate(owners)
    order = np.argsort(all_of, kind="stable")
    return np.concatenate(found)[order], all_of[order]


def _only_numbers(ledger: Ledger, at: Numbers) -> Mask:
    """Tell which regions have nothing but real numbers that move, and no linear rows."""
    regions = ledger.regions
    free = regions.free[at]
    numbers = free & ~regions.discrete & ~regions.grid.stepped & ~np.isnan(regions.x[at])
    return np.asarray((free == numbers).all(axis=1) & free.any(axis=1) & ~regions.linear[at])


def _in_balls(
    ledger: Ledger, at: Numbers, radius: Vector, count: Numbers, draws: Draws
) -> tuple[Matrix, Numbers, Mask]:
    """Draw from balls around queries; return the rows, whose they are, and which lie inside all bounds."""
    regions = ledger.regions
    of = np.repeat(at, count)
    owner = np.repeat(np.arange(len(at)), count)
    place = rank_within(of)
    rows, inside = np.empty((len(of), regions.x.shape[1])), np.zeros(len(of), dtype=bool)
    short = radius * (1 - 1e-12)
    most = int(count.max(initial=0))
    all_free = bool(regions.free[at].all())
    only_up, only_down = regions.low >= regions.x, regions.high <= regions.x
    folds = bool(only_up[at].any() or only_down[at].any())
    for number in range(_ROUNDS):
        out = np.flatnonzero(~inside)
        if not len(out):
            break
        way, far = _block(ledger, most, draws.of("ball", number))
        region, x = of[out], regions.x[of[out]]
        drawn = way[place[out]] if all_free else np.where(regions.free[region], way[place[out]], 0.0)
        drawn = drawn * (_share(ledger, drawn, far[place[out]], region) * short[owner[out]])[:, None]
        if folds:
            # Where a column may go one way only, the other half of the ball is folded onto this one.
            drawn = np.where(only_up[region], np.abs(drawn), drawn)
            drawn = np.where(only_down[region], -np.abs(drawn), drawn)
        moved = x + drawn * regions.scale
        if not all_free:
            moved = np.where(regions.free[region], moved, x)
        fits = regions.contains(moved, region)
        if not regions.grid.trivial:
            moved = regions.snap(moved, region)
        fits &= ledger.metric.distance(moved, x) < short[owner[out]]
        rows[out], inside[out] = moved, fits
    return rows, of, inside


def _share(ledger: Ledger, drawn: Matrix, far: Vector, region: Numbers) -> Vector:
    """Return what to multiply directions by so that rows lie evenly in the ball of radius 1."""
    if ledger.metric.adds_squares:
        length = np.sqrt((drawn * drawn).sum(axis=1))
        free = ledger.regions.free.sum(axis=1)[region]
        return np.asarray(far ** (1.0 / free) / np.where(length > 0, length, 1.0))
    # Of n + 1 exponentials divided by their sum, the first n are even over the simplex.
    return np.asarray(1.0 / (np.abs(drawn).sum(axis=1) - np.log(far)))


def _block(ledger: Ledger, count: int, draws: Draws) -> tuple[Matrix, Vector]:
    """Return ways and how far to go on each; the first of them are the same however many are asked for."""
    shape = count, ledger.regions.x.shape[1]
    far = 1.0 - draws.of("far").generator.random(count)
    if ledger.metric.adds_squares:
        return draws.of("way").generator.normal(size=shape), far
    signs = np.sign(draws.of("sign").generator.random(shape) - 0.5)
    return draws.of("way").generator.exponential(size=shape) * signs, far
