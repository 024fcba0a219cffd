"""Exchanges by trial, for which labels suffice: a row gives up one column and takes others from another row.

It takes more than it needs, and all that it can do without goes back. So each row that reaches the target
ends where no single column can go back, mostly elsewhere than those it came from.
"""

from dataclasses import dataclass

import numpy as np

from ssba.search.columns import pull_back
from ssba.search.draws import Draws
from ssba.search.ledger import Ledger, are_repeats, rank_within
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS


@dataclass(frozen=True)
class Herd:
    """Rows of several regions; those of a region stand next to each other."""

    rows: Matrix
    at: Numbers

    def with_rows(self, rows: Matrix, at: Numbers) -> "Herd":
        """Return the herd with further rows behind those of each region."""
        all_at = np.concatenate([self.at, at])
        order = np.argsort(all_at, kind="stable")
        return Herd(np.concatenate([self.rows, rows])[order], all_at[order])

    def of(self, at: Numbers) -> "Herd":
        """Return the rows of some regions."""
        return self.take(np.flatnonzero(np.isin(self.at, at)))

    def take(self, numbers: Numbers) -> "Herd":
        """Return some of the rows."""
        return Herd(self.rows[numbers], self.at[numbers])


def swap(ledger: Ledger, parents: Herd, donors: Herd, draws: Draws, rounds: int) -> Herd:
    """Bring rows that reach the target nearer by exchanges with each other and with donors."""
    settings = SETTINGS.swaps
    parents = apart(ledger, parents, settings.parents)
    for number in range(rounds):
        if not len(parents.at):
            break
        rows, at = _offspring(
            ledger, parents, parents.with_rows(donors.rows, donors.at), draws.of("swap", number)
        )
        reached = ledger.ask(rows, at).reached
        hits, at = nearest_few(ledger, rows[reached], at[reached], settings.followed)
        if len(at):
            worthwhile = settings.worthwhile * ledger.best
            ends, at = pull_back(ledger, hits, at, draws.of("back", number), worthwhile)
            parents = apart(ledger, parents.with_rows(ends, at), settings.parents)
    return parents


def nearest_few(ledger: Ledger, rows: Matrix, at: Numbers, most: int) -> tuple[Matrix, Numbers]:
    """Return the nearest different rows of each region, in order."""
    far = ledger.distance(rows, at)
    order = np.lexsort((far, at))
    rows, at, far = rows[order], at[order], far[order]
    fresh = ~are_repeats(rows, at, far)
    rows, at = rows[fresh], at[fresh]
    few = rank_within(at) < most
    return rows[few], at[few]


def _offspring(ledger: Ledger, parents: Herd, others: Herd, draws: Draws) -> tuple[Matrix, Numbers]:
    """Return parents that gave up a column, mostly a large one, and took cells that donors changed more."""
    regions, metric, settings = ledger.regions, ledger.metric, SETTINGS.swaps
    rng, count, columns = draws.generator, settings.offspring, regions.x.shape[1]
    favoured = rng.exponential(settings.favour, count).astype(np.int64)
    luck, stretch = rng.random(count), rng.choice(np.array(settings.stretch), count)
    taken = rng.random((count, columns)) < rng.uniform(*settings.taken, size=(count, 1))
    stays, given_up = rng.choice(np.array(settings.stays), count), rng.random(count)
    names, first, size = np.unique(parents.at, return_index=True, return_counts=True)
    _, first_other, size_other = np.unique(others.at, return_index=True, return_counts=True)
    own = parents.rows[(first[:, None] + np.minimum(favoured, size[:, None] - 1)).ravel()]
    other = others.rows[(first_other[:, None] + (luck * size_other[:, None]).astype(np.int64)).ravel()]
    at, repeat = np.repeat(names, count), len(names)
    start = regions.start[at]
    far = np.maximum(metric.distance(other, start), 1e-300)
    share = np.tile(stretch, repeat) * np.minimum(settings.near * ledger.best[at] / far, 1.0)
    other = _with_share(ledger, other, start, share)
    parts = metric.parts(own, start)
    more = np.tile(taken, (repeat, 1)) & (metric.parts(other, start) > parts)
    rows = np.where(more, other, own)
    less = _with_share(ledger, own, start, np.tile(stays, repeat))
    rows = np.where(_one_each(parts**2, np.tile(given_up, repeat)), less, rows)
    rows, fine = regions.pull_in(rows, at)
    fine &= ledger.distance(rows, at) < settings.far * ledger.best[at]
    return rows[fine], at[fine]


def _one_each(costs: Matrix, drawn: Vector) -> Mask:
    """Mark one of the changed cells of each row, mostly one that costs much."""
    total = costs.sum(axis=1, keepdims=True)
    weights = costs + SETTINGS.swaps.rarely * total * (costs > 0)
    level = weights.cumsum(axis=1)
    place = (level <= drawn[:, None] * level[:, -1:]).sum(axis=1)
    return np.asarray(np.arange(costs.shape[1]) == place[:, None])


def _with_share(ledger: Ledger, rows: Matrix, start: Matrix, shares: Vector) -> Matrix:
    """Return rows with a share of their changes; levels and missing cells go back only if none is left."""
    left = shares[:, None]
    change = rows - start
    whole = ledger.regions.discrete | np.isnan(change)
    return np.where(whole, np.where(left > 0, rows, start), start + left * change)


def apart(ledger: Ledger, herd: Herd, most: int) -> Herd:
    """Return the nearest rows of each region, up to so many, of which no two are almost the same."""
    settings, metric = SETTINGS.swaps, ledger.metric
    if not len(herd.at):
        return herd
    far = ledger.distance(herd.rows, herd.at)
    order = np.lexsort((far, herd.at))
    rows, at, far = herd.rows[order], herd.at[order], far[order]
    names, first, size = np.unique(at, return_index=True, return_counts=True)
    chosen = np.full((len(names), most), -1)
    count = np.zeros(len(names), dtype=np.int64)
    for place in range(int(size.max())):
        lanes = np.flatnonzero((place < size) & (count < most))
        if not len(lanes):
            break
        now = first[lanes] + place
        fine = np.ones(len(lanes), dtype=bool)
        for other in range(int(count[lanes].max(initial=0))):
            has = other < count[lanes]
            gap = metric.distance(rows[now], rows[np.where(has, chosen[lanes, other], now)])
            fine &= ~has | (gap > settings.apart * far[now])
        taken = lanes[fine]
        chosen[taken, count[taken]] = now[fine]
        count[taken] += 1
    kept = chosen[chosen >= 0]
    return Herd(rows[kept], at[kept])
