"""Rows that searches begin with: those of each region's pool that are nearest to its query."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ssba.arrays import blocks, lowest
from ssba.search.ledger import Ledger, are_repeats, rank_within
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.repeats import different
from ssba.search.settings import SETTINGS


@dataclass(frozen=True)
class Pool:
    """Rows to begin with: some that the model was asked about and that reach the target, and mere guesses.

    Only the former count as found where they are feasible as they are. Whatever was pulled into a region,
    filled or stretched is a guess.
    """

    reaching: Matrix
    guesses: Matrix | None = None

    @property
    def rows(self) -> Matrix:
        """All rows, the guesses first."""
        if self.guesses is None:
            return self.reaching
        return np.concatenate([self.guesses, self.reaching])

    @property
    def guess_count(self) -> int:
        """How many of the rows are guesses."""
        return 0 if self.guesses is None else len(self.guesses)

    def with_reaching(self, rows: Matrix) -> "Pool":
        """Return the pool with more rows that reach the target, in front of the others."""
        return Pool(np.concatenate([rows, self.reaching]), self.guesses)

    def with_guesses(self, rows: Matrix) -> "Pool":
        """Return the pool with more guesses, in front of the others."""
        others = [] if self.guesses is None else [self.guesses]
        return Pool(self.reaching, np.concatenate([rows, *others]))


@dataclass(frozen=True)
class Near:
    """Rows of regions in order of their distance; `known` ones reach the target as they are."""

    rows: Matrix
    at: Numbers
    known: Mask

    def of(self, at: Numbers, most: int) -> "Near":
        """Return up to so many rows of some regions."""
        wanted = np.isin(self.at, at) & (rank_within(self.at) < most)
        return Near(self.rows[wanted], self.at[wanted], self.known[wanted])


@dataclass
class Pools:
    """The pools of all regions; many regions share one."""

    ledger: Ledger
    pools: Sequence[Pool]
    number: Numbers
    _order: dict[int, tuple[Numbers, Numbers, Vector]] = field(default_factory=dict)

    def nearest(self, at: Numbers, most: int) -> Near:
        """Return the rows of the pools nearest to some regions as they are, where these can be brought there.

        Bounds bring a row nearer; `known` are those that lie inside them already.
        """
        rows, of, known = [], [], []
        for name in np.unique(self.number[at]):
            mine = at[self.number[at] == name]
            pool = self.pools[name]
            every = pool.rows
            if not len(every):
                continue
            order = self._nearest_numbers(every, mine, most)
            owner = np.repeat(mine, order.shape[1])
            found = every[order.ravel()]
            asked = order.ravel() >= pool.guess_count
            rows.append(found)
            of.append(owner)
            known.append(asked & self.ledger.regions.contains(found, owner))
        if not rows:
            return Near(self.ledger.regions.start[:0], at[:0], np.empty(0, dtype=bool))
        all_of = np.concatenate(of)
        order = np.argsort(all_of, kind="stable")
        return Near(np.concatenate(rows)[order], all_of[order], np.concatenate(known)[order])

    def _nearest_numbers(self, rows: Matrix, at: Numbers, most: int) -> Numbers:
        """Return the numbers of the rows whose way into each region ends nearest to its query."""
        regions, metric = self.ledger.regions, self.ledger.metric
        most = min(most, len(rows))
        found = np.empty((len(at), most), dtype=np.int64)
        for part in blocks(len(at), rows.size):
            some = at[part]
            clipped = np.minimum(np.maximum(rows, regions.low[some][:, None]), regions.high[some][:, None])
            far = metric.distance(clipped, regions.x[some][:, None])
            found[part] = lowest(far, most)
        return found

    def pulled_in(self, at: Numbers, most: int) -> Near:
        """Return the nearest rows pulled into regions, as they are and with the query's own levels.

        A missing cell takes the query's value.
        """
        regions = self.ledger.regions
        near = self.nearest(at, 2 * most)
        rows, of = np.where(np.isnan(near.rows), regions.x[near.at], near.rows), near.at
        known = near.known
        if regions.discrete.any():
            rows = np.concatenate([rows, np.where(regions.discrete, regions.start[of], rows)])
            of, known = np.concatenate([of, of]), np.concatenate([known, np.zeros(len(of), dtype=bool)])
        pulled, fine = regions.pull_in(rows, of)
        pulled, of, known = pulled[fine], of[fine], known[fine]
        far = self.ledger.distance(pulled, of)
        order = np.lexsort((far, of))
        pulled, of, known, far = pulled[order], of[order], known[order], far[order]
        kept = ~are_repeats(pulled, of, far)
        pulled, of, known = pulled[kept], of[kept], known[kept]
        few = rank_within(of) < most
        return Near(pulled[few], of[few], known[few])

    def farther(self, number: int) -> Matrix:
        """Return rows of a region's pool beyond the nearest, pulled in: some of all distances."""
        regions, settings = self.ledger.regions, SETTINGS.starts
        rows = self.pools[self.number[number]].rows
        rows = np.where(np.isnan(rows), regions.x[number], rows)
        if regions.discrete.any():
            rows = np.concatenate([rows, np.where(regions.discrete, regions.start[number], rows)])
        at = np.full(len(rows), number)
        pulled, fine = regions.pull_in(rows, at)
        pulled = pulled[fine]
        pulled = pulled[different(pulled)]
        far = self.ledger.distance(pulled, at[: len(pulled)])
        rest = pulled[np.argsort(far, kind="stable")][settings.nearest :]
        chosen = np.unique(np.linspace(0, max(len(rest) - 1, 0), settings.farther).astype(int))
        return np.asarray(rest[chosen[: len(rest)]])
