"""Exchanges between columns, by scores: give up distance where it costs little score, and buy it where cheap.

Around a row that reaches the target, the score is asked for with one column changed at a time, over a
grid of values. As long as columns add up, it is known from there what any exchange gains and costs: the
best row for every price of score in distance, the best pairs of changes, and rows that give up one large
change for several small ones. They are asked about, and what reaches the target is the next centre.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, like, marked, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.search import columns
from ssba.search.archive import Archive
from ssba.search.starts import levels_of

Vector = NDArray[np.float64]

_POINTS = 10
_PRICES = np.geomspace(1e-3, 1e4, 200)
_PAIRS = 48
_MIXED, _MIXTURES = 6, 10
# Rounds of exchanges, how many are tried in each, how many of those that reach are followed, and from how
# many rows exchanges may start.
_ROUNDS, _TRIED, _FOLLOWED, _PARENTS = 5, 400, 8, 6
# What is not legal alone is never worth it.
_NEVER = -1e300
# How often two changes are given up, by how much more is bought than was given up, and by what share prices
# are taken to be wrong.
_TWO, _MORE, _WRONG = 0.4, 0.6, 0.4
# How far beyond the best row an exchange may end, since columns can be taken back afterwards: as it is
# expected, and as it turns out.
_EXPECTED, _AT_MOST = 1.25, 1.1


def priced_search(archive: Archive, z: Array, rng: np.random.Generator) -> Asking[None]:
    """Ask about the best rows for every price of score around a row, and about its best pairs of changes."""
    profile = yield from _profile(archive, to_numpy(z))
    if profile is None:
        return
    for wanted in (profile.priced(rng), profile.pairs()):
        rows = _nearer_than(archive, like(wanted, z), archive.best_distance)
        if rows.shape[0]:
            yield rows


def exchange_search(archive: Archive, rows: Array, rng: np.random.Generator) -> Asking[None]:
    """Exchange large changes of the best row for several small ones, and in turn those of other rows."""
    xp = namespace(rows)
    power = 2 if archive.metric.norm == "l2" else 1
    parents = columns.nearest_of(archive, xp.concat([rows, archive.nearest(_PARENTS)]), _PARENTS)
    for number in range(_ROUNDS):
        others = parents.shape[0] - 1
        turn = 1 + number // 2 % others if number % 2 and others else 0
        centre = parents[turn, :] if turn else archive.nearest(1)[0, :]
        profile = yield from _profile(archive, to_numpy(centre))
        if profile is None:
            return
        room = (_EXPECTED - 1) * archive.best_distance**power
        wanted = profile.exchanges(rng, room)
        tried = _nearer_than(archive, like(wanted, rows), _AT_MOST * archive.best_distance)
        if not tried.shape[0]:
            continue
        reply = yield tried
        if marked(reply.reached):
            hits = columns.nearest_of(archive, tried[reply.reached], _FOLLOWED)
            ends = yield from columns.pull_back(archive, hits, rng, _AT_MOST * archive.best_distance)
            parents = columns.nearest_of(archive, xp.concat([parents, ends]), _PARENTS)


def _nearer_than(archive: Archive, rows: Array, distance: float) -> Array:
    """Return the rows that are feasible and nearer to the query than that."""
    rows, fine = archive.region.pull_in(rows)
    rows = rows[fine]
    return rows[archive.metric.distance(rows, archive.region.x) < distance]


@dataclass(frozen=True)
class _Profile:
    """Single changes of a row, grouped by column: value, score gained, and cost of the cell they leave.

    Costs add up over columns to the distance (in L2 to its square); `saved` is what a change saves.
    """

    row: Vector
    margin: float
    columns: NDArray[np.int64]
    values: Vector
    gain: Vector
    cost: Vector
    saved: Vector

    def priced(self, rng: np.random.Generator) -> Vector:
        """Return the rows that are best for each price of score, and mixtures of them with the row itself."""
        begins = np.flatnonzero(np.r_[True, np.diff(self.columns) != 0])
        worth = self.cost - _PRICES[:, None] * self.gain
        groups = np.split(worth, begins[1:], axis=1)
        best = np.stack([group.argmin(axis=1) for group in groups], axis=1) + begins
        best = np.unique(best, axis=0)
        rows = np.repeat(self.row[None, :], len(best), axis=0)
        rows[:, self.columns[begins]] = self.values[best]
        expected = self.margin + self.gain[best].sum(axis=1)
        likely = rows[np.argsort(np.abs(expected), kind="stable")[:_MIXED]]
        mixed = np.repeat(likely, _MIXTURES, axis=0)
        mask = rng.random(mixed.shape) < rng.uniform(0.3, 0.9, size=(len(mixed), 1))
        return np.concatenate([rows, np.where(mask, mixed, self.row)])

    def exchanges(self, rng: np.random.Generator, room: float) -> Vector:
        """Return rows that give up one or two changes, mostly costly ones, and buy the score back cheaply.

        Each has its own idea of what score costs. They cost at most `room` more than the row.
        """
        given_up = np.flatnonzero((self.saved > 0) & (self.gain > _NEVER))
        for_sale = np.flatnonzero((self.saved < 0) & (self.gain > 0))
        if not len(given_up) or not len(for_sale):
            return self.row[None, :][:0]
        weights = self.saved[given_up] / self.saved[given_up].sum()
        drops = rng.choice(given_up, size=(_TRIED, 2), p=weights)
        two = (rng.random(_TRIED) < _TWO) & (self.columns[drops[:, 0]] != self.columns[drops[:, 1]])
        drops[:, 1] = np.where(two, drops[:, 1], drops[:, 0])
        lost = self.gain[drops[:, 0]] + np.where(two, self.gain[drops[:, 1]], 0.0)
        saved = self.saved[drops[:, 0]] + np.where(two, self.saved[drops[:, 1]], 0.0)
        needed = -(self.margin + lost) * (1 + _MORE * rng.random(_TRIED))
        offers, prices = self._offers(for_sale, rng)
        own = self.columns[offers]
        prices[(own == self.columns[drops[:, :1]]) | (own == self.columns[drops[:, 1:]])] = np.inf
        order = np.argsort(prices, axis=1, kind="stable")
        offers = np.take_along_axis(offers, order, axis=1)
        gains = np.where(np.isfinite(np.take_along_axis(prices, order, axis=1)), self.gain[offers], 0.0)
        before = np.cumsum(gains, axis=1) - gains
        bought = (before < needed[:, None]) & (gains > 0)
        enough = (gains * bought).sum(axis=1) >= needed
        costs = -(saved + (self.saved[offers] * bought).sum(axis=1))
        kept = np.flatnonzero(enough & (costs <= room))
        rows = np.repeat(self.row[None, :], len(kept), axis=0)
        for chosen in (drops[kept, 0], drops[kept, 1]):
            rows[np.arange(len(kept)), self.columns[chosen]] = self.values[chosen]
        which, place = np.nonzero(bought[kept])
        chosen = offers[kept][which, place]
        rows[which, self.columns[chosen]] = self.values[chosen]
        return rows

    def _offers(
        self, for_sale: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], Vector]:
        """Return, by exchange and column, the change that seems cheapest for its gain, and its price."""
        wrong = np.exp(_WRONG * rng.normal(size=(_TRIED, len(for_sale))))
        prices = -self.saved[for_sale] / self.gain[for_sale] * wrong
        begins = np.flatnonzero(np.r_[True, np.diff(self.columns[for_sale]) != 0])
        groups = np.split(prices, begins[1:], axis=1)
        best = np.stack([group.argmin(axis=1) for group in groups], axis=1) + begins
        return for_sale[best], np.take_along_axis(prices, best, axis=1)

    def pairs(self) -> Vector:
        """Return the pairs of changes that save most distance and are expected to reach the target."""
        net = self.saved[:, None] + self.saved
        fine = (self.margin + self.gain[:, None] + self.gain >= 0) & (net > 0)
        fine &= self.columns[:, None] < self.columns
        first, second = np.nonzero(fine)
        best = np.argsort(-net[first, second], kind="stable")[:_PAIRS]
        rows = np.repeat(self.row[None, :], len(best), axis=0)
        for chosen in (first[best], second[best]):
            rows[np.arange(len(best)), self.columns[chosen]] = self.values[chosen]
        return rows


def _profile(archive: Archive, z: Vector) -> Asking[_Profile | None]:
    """Ask for the score of a row with one column changed at a time; None where there are no scores."""
    region, metric = archive.region, archive.metric
    free = marked(region.free)
    values = [_values(archive, z, j) for j in free]
    columns = np.repeat(np.array(free, dtype=np.int64), [len(one) for one in values])
    numbers = np.arange(len(columns))
    rows = np.repeat(z[None, :], len(columns) + 1, axis=0)
    rows[numbers, columns] = np.concatenate(values)
    asked = region.snap(like(rows, region.x))
    reply = yield asked
    if reply.margin is None:
        return None
    margin = to_numpy(reply.margin)
    legal = to_numpy(region.contains(asked))[:-1]
    power = 2 if metric.norm == "l2" else 1
    parts = to_numpy(metric.parts(asked, region.x)) ** power
    cost = parts[numbers, columns]
    return _Profile(
        row=z,
        margin=float(margin[-1]),
        columns=columns,
        values=to_numpy(asked)[numbers, columns],
        gain=np.where(legal, margin[:-1] - margin[-1], _NEVER),
        cost=cost,
        saved=parts[-1, columns] - cost,
    )


def _values(archive: Archive, z: Vector, j: int) -> Vector:
    """Return the values to try in one column: its own, the start's, and some within reach of the distance."""
    region = archive.region
    if bool(region.discrete[j]):
        return np.array(levels_of(region, j))
    start, x = float(region.start[j]), float(region.x[j])
    home = start if np.isnan(x) else x
    reach = 0.9 * archive.best_distance * float(region.scale[j])
    low, high = max(home - reach, float(region.lower[j])), min(home + reach, float(region.upper[j]))
    shares = np.linspace(0, 1, _POINTS + 1)[1:] ** 1.5
    between = np.concatenate([home - shares * (home - low), home + shares * (high - home)])
    return np.unique(np.concatenate([between, [start, z[j]]]))
