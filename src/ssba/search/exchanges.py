"""Exchanges by trial, for which labels suffice: some changes of a row go back, and others pay for it.

Swaps: a row gives up one column and takes others from another row. It takes more than it needs, and all that
it can do without goes back. So each row that reaches the target ends where no single column can go back,
mostly elsewhere than those it came from.

Trades: on a grid of whole numbers and levels there is no slope to follow, and few values to try. What some
changes give back, in cost, is what others may spend: so each row that is asked about lies a little nearer
than the best one.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ssba.arrays import choose, in_blocks
from ssba.columns.distance import changed_cells
from ssba.search.lanes import Draws, Herd, nearest_different
from ssba.search.ledger import Ledger
from ssba.search.regions import Mask, Matrix, Numbers, Regions, Vector
from ssba.search.settings import SETTINGS
from ssba.search.steps import pull_back


def swap(ledger: Ledger, parents: Herd, donors: Herd, draws: Draws, rounds: int) -> None:
    """Bring rows that reach the target nearer by exchanges with each other and with donors."""
    parents = apart(ledger, parents, SETTINGS.columns.followed)
    for number in range(rounds):
        if not len(parents.at):
            return
        rows, at = _offspring(ledger, parents, parents.and_(donors), draws.of("swap", number))
        reached = ledger.ask(rows, at).reached
        hits, at = nearest_few(ledger, rows[reached], at[reached], SETTINGS.columns.followed)
        if len(at):
            ends, at = pull_back(ledger, hits, at, SETTINGS.columns.worthwhile * ledger.best)
            parents = apart(ledger, parents.and_(Herd(ends, at)), SETTINGS.columns.followed)


def nearest_few(ledger: Ledger, rows: Matrix, at: Numbers, most: int) -> tuple[Matrix, Numbers]:
    """Return the nearest different rows of each region, in order."""
    numbers = nearest_different(rows, at, ledger.distance(rows, at), most)
    return choose(rows, numbers), at[numbers]


def _offspring(ledger: Ledger, parents: Herd, others: Herd, draws: Draws) -> tuple[Matrix, Numbers]:
    """Return parents that gave up a column, mostly a large one, and took cells that donors changed more."""
    regions, metric, settings = ledger.regions, ledger.metric, SETTINGS.swaps
    rng, count, columns = draws.generator, SETTINGS.starts.trials, regions.x.shape[1]
    pairs = _pairs(parents, others, rng, count)
    stretch = rng.choice(np.array(settings.stretch), count)
    taken = rng.random((count, columns)) < rng.random((count, 1))
    stays, given_up = rng.choice(np.array(settings.stays), count), rng.random(count)

    def bred(at: Numbers, own: Numbers, other: Numbers, place: Numbers) -> Matrix:
        start, mine = choose(regions.start, at), choose(parents.rows, own)
        theirs = choose(others.rows, other)
        far = np.maximum(metric.distance(theirs, start), 1e-300)
        share = stretch[place] * np.minimum(SETTINGS.descent.close * ledger.best[at] / far, 1.0)
        theirs = _with_share(ledger, theirs, start, share[:, None])
        parts = metric.parts(mine, start)
        rows = np.where(choose(taken, place) & (metric.parts(theirs, start) > parts), theirs, mine)
        less = _with_share(ledger, mine, start, stays[place][:, None])
        return np.where(_one_each(parts**2, given_up[place]), less, rows)

    rows, fine = regions.pull_in(in_blocks(bred, columns, *pairs), pairs.at)
    return rows[fine], pairs.at[fine]


class _Pairs(NamedTuple):
    """Parents and other rows of their regions, by their numbers; `place` is that among those of a region."""

    at: Numbers
    own: Numbers
    other: Numbers
    place: Numbers


def _pairs(parents: Herd, others: Herd, rng: np.random.Generator, count: int) -> _Pairs:
    """Draw so many pairs for each region, mostly with a near parent; each parent is among the others."""
    favoured = rng.exponential(SETTINGS.swaps.favour, count).astype(np.int64)
    luck = rng.random(count)
    names, first, size = np.unique(parents.at, return_index=True, return_counts=True)
    own = first[:, None] + np.minimum(favoured, size[:, None] - 1)
    begin, end = (np.searchsorted(others.at, names, side) for side in ("left", "right"))
    other = begin[:, None] + (luck * (end - begin)[:, None]).astype(np.int64)
    place = np.tile(np.arange(count), len(names))
    return _Pairs(np.repeat(names, count), own.ravel(), other.ravel(), place)


def _one_each(costs: Matrix, drawn: Vector) -> Mask:
    """Mark one of the changed cells of each row, mostly one that costs much."""
    level = costs.cumsum(axis=1)
    place = (level <= drawn[:, None] * level[:, -1:]).sum(axis=1)
    return np.asarray(np.arange(costs.shape[1]) == place[:, None])


def _with_share(ledger: Ledger, rows: Matrix, start: Matrix, left: Matrix) -> Matrix:
    """Return rows with a share of their changes; levels and missing cells go back only if none is left."""
    change = rows - start
    whole = ledger.regions.discrete | np.isnan(change)
    return np.where(whole, np.where(left > 0, rows, start), start + left * change)


def apart(ledger: Ledger, herd: Herd, most: int) -> Herd:
    """Return the nearest rows of each region, up to so many, of which no two are almost the same."""
    metric = ledger.metric
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
            fine &= ~has | (gap > SETTINGS.descent.first_tolerance * far[now])
        taken = lanes[fine]
        chosen[taken, count[taken]] = now[fine]
        count[taken] += 1
    kept = chosen[chosen >= 0]
    return Herd(rows[kept], at[kept])


def trade(ledger: Ledger, at: Numbers, donors: Herd, draws: Draws) -> None:
    """Bring rows that reach nearer by trades, until some rounds one after the other gained nothing.

    Where calls are dear, columns are not taken back.
    """
    idle = np.zeros(ledger.regions.count, dtype=np.int64)
    parents = ledger.nearest(at, SETTINGS.columns.followed)
    for number in itertools.count():
        parents = parents.of(at[ledger.goes_on(at) & (idle[at] < SETTINGS.trades.patience)])
        if not len(parents.at):
            return
        at, before = np.unique(parents.at), ledger.best.copy()
        rows, of = trades(ledger, parents, donors, draws.of("trade", number))
        reached = ledger.ask(rows, of).reached
        hits, of = nearest_few(ledger, rows[reached], of[reached], SETTINGS.columns.followed)
        if not ledger.few_calls:
            hits, of = pull_back(ledger, hits, of, SETTINGS.columns.worthwhile * ledger.best)
        parents = apart(ledger, parents.and_(Herd(hits, of)), SETTINGS.columns.followed)
        gained = ledger.best[at] < before[at] * (1 - SETTINGS.descent.gain)
        idle[at] = np.where(gained, 0, idle[at] + 1)


def trades(ledger: Ledger, parents: Herd, donors: Herd, draws: Draws) -> tuple[Matrix, Numbers]:
    """Return rows nearer than the best in which changes went back, and others were made for what they cost.

    Every other row begins at the start, so that all of its changes are new. A few columns are drawn; each but
    the last spends any part of what is left, to the side on which a donor lies or, by halves, to any. With
    several numbers without steps, every other row changes all of these together instead, last and in the
    proportions in which they were changed before.
    """
    regions, columns = ledger.regions, ledger.regions.x.shape[1]
    others, rng = parents.and_(donors), draws.generator
    pairs = _pairs(parents, others, rng, SETTINGS.trades.trials)
    trading = _Trading.drawn(rng, SETTINGS.trades.trials, columns)

    def traded(at: Numbers, own: Numbers, other: Numbers, place: Numbers) -> Matrix:
        start, mine = choose(regions.start, at), choose(parents.rows, own)
        reals, shares = choose(regions.reals, at), choose(trading.shares, place)
        together = trading.together[place] & (reals.sum(axis=1) > 1)
        way = np.where(reals & together[:, None], mine - start, 0.0)
        rows = regions.snap(_with_share(ledger, mine, start, np.where(way == 0, shares, 0.0)), at)
        trading.spend(ledger, rows, choose(others.rows, other), way, at, place)
        return rows

    rows, fine = regions.pull_in(in_blocks(traded, columns, *pairs), pairs.at, has_legal_levels=True)
    far, best = ledger.distance(rows, pairs.at), ledger.best[pairs.at]
    fine &= far < best * (1 - 1e-9)
    if not ledger.few_calls:
        # Of 45,000 trades by labels that were much nearer than the best row one reached.
        fine &= far * SETTINGS.columns.worthwhile > best
    kept = np.flatnonzero(fine)
    return choose(rows, kept), pairs.at[kept]


@dataclass(frozen=True)
class _Trading:
    """What chance says of each trade: how much of every change stays, and what is bought for the others.

    By cell: in which order columns are drawn, which part of what is left each spends, to which side, whether
    rather to that of the donor, and for which level. `size` is how many columns are drawn; where numbers
    change `together`, they are one of these.
    """

    shares: Matrix
    size: Numbers
    order: Matrix
    spent: Matrix
    side: Matrix
    luck: Matrix
    follows: Mask
    together: Mask

    @classmethod
    def drawn(cls, rng: np.random.Generator, count: int, columns: int) -> "_Trading":
        """Draw what so many trades need."""
        cells = count, columns
        kept = rng.random(cells) < rng.random((count, 1))
        shares = np.where(kept, 1.0, rng.random(cells))
        shares[::2] = 0.0
        size = rng.integers(1, 1 + min(columns, SETTINGS.race.few_columns), count)
        order, spent = rng.random(cells), rng.random(cells)
        side, luck = rng.choice([-1.0, 1.0], cells), rng.random(cells)
        follows, together = rng.random(cells) < 0.5, rng.random(count) < 0.5
        return cls(shares, size, order, spent, side, luck, follows, together)

    def spend(
        self, ledger: Ledger, rows: Matrix, donors: Matrix, way: Matrix, at: Numbers, place: Numbers
    ) -> None:
        """Change cells of rows that are as they are at the start, for what the best row costs more.

        Where there is a `way` to go, the rest is spent on going it, and not on single cells of it.
        """
        regions, metric = ledger.regions, ledger.metric
        x, start = choose(regions.x, at), choose(regions.start, at)
        # Distances count from the query's cells, or from the start's where that has none.
        home: Matrix = np.where(np.isnan(x), start, x)
        left = metric.cost(ledger.best[at]) - metric.cost(metric.parts(rows, x)).sum(axis=1)
        least = metric.cost(np.where(regions.discrete, metric.weight, regions.step / regions.scale))
        goes = way.any(axis=1)
        fine = choose(regions.free, at) & ~changed_cells(rows, start) & (least <= left[:, None])
        fine &= ~(choose(regions.reals, at) & goes[:, None])
        column = np.argsort(np.where(fine, choose(self.order, place), np.inf), axis=1, kind="stable")
        many = np.minimum(self.size[place] - goes, fine.sum(axis=1))
        for turn in range(int(many.max(initial=0))):
            now = np.flatnonzero(turn < many)
            j, of, own, drawn = column[now, turn], at[now], home[now, column[now, turn]], place[now]
            part = np.where((turn == many[now] - 1) & ~goes[now], 1.0, self.spent[drawn, j])
            length = _whole_steps(regions, metric.length(left[now] * part) * regions.scale[j], j)
            toward = np.sign(donors[now, j] - own)
            sign = np.where(self.follows[drawn, j] & (np.abs(toward) > 0), toward, self.side[drawn, j])
            value = np.clip(own + sign * length, regions.low[of, j], regions.high[of, j])
            cost = metric.cost(np.abs(value - own) / regions.scale[j])
            if regions.has_levels:
                level = np.flatnonzero(regions.discrete[j])
                value[level] = regions.level_at(of[level], j[level], self.luck[drawn, j][level])
                cost[level] = least[j[level]]
            pays = cost <= left[now]
            rows[now[pays], j[pays]] = value[pays]
            left[now[pays]] -= cost[pays]
        now = np.flatnonzero(goes & (left > 0))
        whole = metric.length(metric.cost(np.abs(way[now]) / regions.scale).sum(axis=1))
        # A little less than all of it, or rounding would leave nothing nearer.
        rows[now] += (0.999 * metric.length(left[now]) / whole)[:, None] * way[now]


def _whole_steps(regions: Regions, length: Vector, j: Numbers) -> Vector:
    """Return lengths in columns, shortened to whole steps where these have any."""
    step = regions.step[j]
    return np.where(step > 0, np.floor(length / np.where(step > 0, step, 1.0)) * step, length)
