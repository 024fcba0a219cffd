"""Exchanges between columns, by scores: give up distance where it costs little score, and buy it where cheap.

Around a row that reaches the target, the score is asked for with one column changed at a time, over a
grid of values. As long as columns add up, the best row within reach
of these changes is known for every price of score in distance; all such rows are asked about, and the
nearest that reaches the target is the next centre.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Asking
from ssba.run.arrays import Array, like, marked, to_numpy
from ssba.search.archive import Archive
from ssba.search.starts import levels_of

Vector = NDArray[np.float64]

_POINTS = 6
_ROUNDS = 8
_PRICES = np.geomspace(1e-3, 1e4, 200)
_GAIN = 1e-3
_PAIRS = 48
_MIXED, _MIXTURES = 6, 10


def profile_search(archive: Archive, z: Array, rng: np.random.Generator) -> Asking[None]:
    """Improve a row by exchanges between its columns, until rounds gain too little."""
    region, stalled = archive.region, 0
    for _ in range(_ROUNDS):
        before = archive.best_distance
        profile = yield from _profile(archive, to_numpy(z))
        if profile is None:
            return
        for wanted in (profile.priced(rng), profile.pairs()):
            pulled, fine = region.pull_in(like(wanted, z))
            pulled = pulled[fine]
            pulled = pulled[archive.metric.distance(pulled, region.x) < archive.best_distance]
            if pulled.shape[0]:
                yield pulled
        stalled = stalled + 1 if archive.best_distance > before * (1 - _GAIN) else 0
        if stalled > 1:
            return
        z = archive.nearest(1)[0, :]


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
        # What is not legal alone is never worth it.
        gain=np.where(legal, margin[:-1] - margin[-1], -1e300),
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
