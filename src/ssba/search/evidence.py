"""Rows drawn at random from the feasible region nearer than an answer: evidence that nothing is there.

If none of n independent draws reaches the target, then at 95% confidence less than
``1 - 0.05 ** (1 / n)`` of the region does, measured by how the rows are drawn:

1. How many categories change (or missing cells are filled) is drawn evenly from none to as many as the
   radius allows; then which, and to what.
2. The numbers are drawn evenly from what is left of the ball around the query, inside bounds and linear
   rows: directly where little cuts the ball, else by redrawing one column after the other given the others
   (Gibbs sampling, eight sweeps), which is nearly even. Whole numbers and steps: from their legal values.
3. Equalities between columns cannot be met by chance: rows are drawn beside them and pulled onto them.

Where only real numbers move inside bounds, most of the ball around the query is feasible, and all regions
draw together; else one region draws at a time.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, blocks, choose, like, namespace, put, to_numpy
from ssba.columns.distance import Metric
from ssba.constraints.regions.region import Region
from ssba.search.lanes import Draws, rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Mask, Matrix, Numbers, Vector

# One minus the confidence of the bound.
_DOUBT = 0.05
_DIRECT_ROUNDS = 16
_SWEEPS = 8
_HALVINGS = 30

# Rows that rounding took out of the ball are drawn anew so often.
_ROUNDS = 8

# Rows that fell outside are drawn again so often; where some still do, a region draws for itself.
_ROUNDS_TOGETHER = 16


def share_bound(drawn: int) -> float | None:
    """Return the 95% bound on the share that reaches the target when none of so many draws did.

    >>> round(share_bound(59), 3), round(share_bound(1000), 3), share_bound(0)
    (0.05, 0.003, None)
    """
    return 1 - _DOUBT ** (1 / drawn) if drawn else None


def draw_nearer(
    region: Region, metric: Metric, radius: float, count: int, rng: np.random.Generator
) -> Matrix:
    """Draw up to `count` legal feasible rows nearer to the query than `radius`; fewer where there are few."""
    ball = _Ball(region, metric, radius * (1 - 1e-12))
    found = region.start[None, :][:0]
    for _ in range(_ROUNDS):
        # Rounding takes some rows out of the ball: others are drawn in their place.
        rows = ball.with_numbers(ball.with_levels(count - len(found), rng), rng)
        rows = rows[ball.contains(rows)]
        found = np.concatenate([found, rows])
        if not len(rows) or len(found) == count:
            break
    return found


@dataclass(frozen=True)
class _Ball:
    """The part of a region that lies nearer to the query than `radius`."""

    region: Region
    metric: Metric
    radius: float

    @property
    def x(self) -> Vector:
        return np.asarray(self.region.x)

    def contains(self, rows: Matrix) -> Mask:
        return np.asarray((self.metric.distance(rows, self.x) < self.radius) & self.region.contains(rows))

    def costs(self, rows: Matrix) -> Matrix:
        """Return what each cell adds to the distance, squared for L2, so that costs add up."""
        return np.asarray(self.metric.cost(self.metric.parts(rows, self.x)))

    @cached_property
    def budget(self) -> float:
        """The radius as a sum of costs."""
        return float(self.metric.cost(self.radius))

    def with_levels(self, count: int, rng: np.random.Generator) -> Vector:
        """Return copies of the start in which a random number of categories has changed."""
        region, rows = self.region, np.tile(self.region.start, (count, 1))
        # Categories, and missing cells that may be filled from a finite range.
        fillable = np.isnan(self.x) & np.isfinite(region.lower) & np.isfinite(region.upper)
        columns = np.flatnonzero(region.free & (region.discrete | fillable))
        if not len(columns):
            return rows
        begun = self.costs(region.start[None, :])[0]
        price = np.where(begun[columns] > 0, 0.0, self.metric.cost(self.metric.weight[columns]))
        left = self.budget - begun.sum()
        most = int((np.cumsum(np.sort(price)) < left).sum())
        order = np.argsort(rng.random((count, len(columns))), axis=1)
        wanted = np.arange(len(columns))[None, :] < rng.integers(0, most + 1, size=count)[:, None]
        affordable = np.cumsum(price[order], axis=1) < left
        for i, k in zip(*np.nonzero(wanted & affordable), strict=True):
            j = int(columns[order[i, k]])
            rows[i, j] = self._other_value(j, rng)
        return rows

    def _other_value(self, j: int, rng: np.random.Generator) -> float:
        region = self.region
        if bool(region.discrete[j]):
            levels = np.flatnonzero(region.allowed[j])
            others = levels[levels != region.start[j]]
            return float(others[rng.integers(len(others))])
        drawn = self.x.copy()
        drawn[j] = rng.uniform(float(region.lower[j]), float(region.upper[j]))
        return float(region.snap(drawn[None, :])[0, j])

    def with_numbers(self, rows: Vector, rng: np.random.Generator) -> Vector:
        """Draw the numbers of rows whose categories are drawn."""
        columns = np.flatnonzero(self.region.free & ~self.region.discrete & ~np.isnan(self.x))
        if not len(columns):
            return rows
        fixed = self.costs(rows)
        fixed[:, columns] = 0.0
        left = self.metric.length(self.budget - fixed.sum(axis=1))
        rough = self._in_ball(rows, columns, left, rng)
        out = np.ones(len(rows), dtype=bool)
        if not self.region.grid.stepped[columns].any():
            for _ in range(_DIRECT_ROUNDS):
                out = ~self.contains(rough)
                if not out.any():
                    break
                rough[out] = self._in_ball(rows[out], columns, left[out], rng)
            out = ~self.contains(rough)
        rough[out] = self._swept(self._pulled_in(rough[out], rows[out]), columns, rng)
        return np.asarray(self.region.snap(rough))

    def _in_ball(
        self, rows: Vector, columns: NDArray[np.int64], radius: Vector, rng: np.random.Generator
    ) -> Vector:
        """Draw the columns evenly from a ball around the query that nothing cuts."""
        n, size = len(columns), (len(rows), len(columns))
        if self.metric.norm == "l2":
            way = rng.normal(size=size)
            way /= np.sqrt((way**2).sum(axis=1, keepdims=True))
            way *= rng.random((len(rows), 1)) ** (1 / n)
        else:
            # Of n + 1 exponentials divided by their sum, the first n are even over the simplex.
            share = rng.exponential(size=(len(rows), n + 1))
            way = rng.choice([-1.0, 1.0], size=size) * share[:, :n] / share.sum(axis=1, keepdims=True)
        # Where a column may go one way only, the other half of the ball is folded onto this one.
        lower, upper = self.region.lower[columns], self.region.upper[columns]
        way = np.where(lower >= self.x[columns], np.abs(way), way)
        way = np.where(upper <= self.x[columns], -np.abs(way), way)
        drawn = rows.copy()
        drawn[:, columns] = self.x[columns] + way * radius[:, None] * self.region.scale[columns]
        return drawn

    def _pulled_in(self, rough: Vector, homes: Vector) -> Vector:
        """Bring rows into region and ball: pulled in, else from ever nearer to their homes."""
        pulled = homes.copy()
        out = np.ones(len(rough), dtype=bool)
        for _ in range(_HALVINGS):
            tried = self.region.pull_in(rough)[0]
            fine = out & self.contains(tried)
            pulled[fine] = tried[fine]
            out &= ~fine
            if not out.any():
                break
            rough = homes + 0.5 * (rough - homes)
        return pulled

    def _swept(self, rows: Vector, columns: NDArray[np.int64], rng: np.random.Generator) -> Vector:
        """Redraw one column after the other, given the others, some times over."""
        for _ in range(_SWEEPS):
            costs = self.costs(rows)
            total = costs.sum(axis=1)
            for j in rng.permutation(columns).tolist():
                others = total - costs[:, j]
                low, high = self._room(rows, self.metric.length(self.budget - others), j)
                rows[:, j] = self._between(j, low, high, rows[:, j], rng)
                gap = np.abs(rows[:, j] - self.x[j]) / self.region.scale[j]
                total = others + self.metric.cost(gap)
        return rows

    def _room(self, rows: Vector, reach: Vector, j: int) -> tuple[Vector, Vector]:
        """Return between what ends a column may lie, given all others: ball, bounds, linear rows."""
        region, aside = self.region, reach * self.region.scale[j]
        low, high = (
            np.maximum(region.lower[j], self.x[j] - aside),
            np.minimum(region.upper[j], self.x[j] + aside),
        )
        if region.linear is None:
            return low, high
        A, aim = region.linear.A, region.linear.aim
        for i in np.flatnonzero(A[:, j] != 0):
            involved = np.flatnonzero(A[i])
            end = (aim[i] - rows[:, involved] @ A[i, involved]) / A[i, j] + rows[:, j]
            # A linear row asks nothing where one of its cells is missing.
            if A[i, j] > 0:
                high = np.fmin(high, end)
            else:
                low = np.fmax(low, end)
        return low, high

    def _between(self, j: int, low: Vector, high: Vector, now: Vector, rng: np.random.Generator) -> Vector:
        """Draw legal values between ends; where there are none, all stays as it is."""
        grid, share = self.region.grid, rng.random(len(low))
        if not bool(grid.stepped[j]):
            return np.where(low < high, low + share * (high - low), now)
        # Rounding errors must not cost a value that is the end itself.
        slack = 1e-9 * float(grid.numerator[j]) / float(grid.denominator[j])
        first, last = self._steps(j, low - slack, up=True), self._steps(j, high + slack, up=False)
        count = np.maximum(last - first + 1, 0)
        number = first + np.floor(share * count)
        drawn = number * float(grid.numerator[j]) / float(grid.denominator[j]) + 0.0
        drawn = np.where(count >= 1, drawn, now)
        if self._own_is_extra[j]:
            own = (rng.random(len(low)) * (count + 1) < 1) & (low <= self.x[j]) & (self.x[j] <= high)
            drawn = np.where(own, self.x[j], drawn)
        return drawn

    def _steps(self, j: int, ends: Vector, *, up: bool) -> Vector:
        """Return how many steps from zero the legal values next to some ends of a column lie."""
        grid = self.region.grid.columns[j]
        values = (grid.ceil(ends[:, None]) if up else grid.floor(ends[:, None]))[:, 0]
        return np.asarray(np.round(values * float(grid.denominator[0]) / float(grid.numerator[0])))

    @cached_property
    def _own_is_extra(self) -> Mask:
        """In which columns the query's own value is legal though it lies off the grid."""
        return np.asarray(self.region.keeps_x & (self.region.grid.snap(self.x[None, :])[0] != self.x))


def draw_rows(
    ledger: Ledger, at: Numbers, radius: Vector, count: Numbers, draws: Draws
) -> tuple[Matrix, Numbers]:
    """Draw so many legal feasible rows of each region nearer than a radius; fewer where there are few.

    Regions come in the order of their numbers, and so do their rows.
    """
    # Beside a model there is nothing else.
    plain = np.ones(len(at), dtype=bool) if ledger.is_beside else _only_numbers(ledger, at)
    rows, of, inside = _in_balls(ledger, at[plain], radius[plain], count[plain], draws)
    left_out = np.bincount(of[~inside], minlength=ledger.regions.count) > 0
    alone = np.flatnonzero(~plain | left_out[at])
    if not len(alone):
        return rows, of
    kept = np.flatnonzero(~left_out[of])
    found, owners = [choose(rows, kept)], [of[kept]]
    for number in alone:
        region = ledger.regions.parts[at[number]]
        rng = draws.of("alone").generator
        own = draw_nearer(region, ledger.metric, float(radius[number]), int(count[number]), rng)
        found.append(like(own, rows))
        owners.append(np.full(len(own), at[number]))
    all_of = np.concatenate(owners)
    order = np.argsort(all_of, kind="stable")
    return choose(namespace(rows).concat(found), order), all_of[order]


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
    of = np.repeat(at, count)
    place, short = rank_within(of), np.repeat(radius * (1 - 1e-12), count)
    most, inside = int(count.max(initial=0)), np.zeros(len(of), dtype=bool)
    balls = _Balls(ledger)
    rows = choose(ledger.regions.x, of)
    for number in range(_ROUNDS_TOGETHER):
        out = np.flatnonzero(~inside)
        if not len(out):
            break
        way, far = _block(ledger, most, draws.of("ball", number))
        way = like(way, rows)
        for part in blocks(len(out), rows.shape[1], rows):
            some = out[part]
            drawn, inside[some] = balls.drawn(
                of[some], choose(way, place[some]), far[place[some]], short[some]
            )
            put(rows, some, drawn)
    return rows, of, inside


class _Balls:
    """Balls around queries, cut by the bounds of their regions, where only numbers move."""

    def __init__(self, ledger: Ledger) -> None:
        regions = ledger.regions
        xp, free = namespace(regions.x), to_numpy(regions.free)
        self._ledger = ledger
        self._free, self._all_free = free.sum(axis=1), bool(free.all())
        self._folds = bool(xp.any((regions.low >= regions.x) | (regions.high <= regions.x)))

    def drawn(self, of: Numbers, way: Matrix, far: Vector, radius: Vector) -> tuple[Matrix, Mask]:
        """Return rows in some directions, as far out as `far` says from 0 to 1, and which lie inside."""
        regions, xp, there = self._ledger.regions, namespace(way), like(of, way)
        x, free = choose(regions.x, there), None if self._all_free else choose(regions.free, there)
        if free is not None:
            way = xp.where(free, way, 0.0)
        way = way * (self._share(way, far, of) * like(radius, way))[:, None]
        if self._folds:
            # Where a column may go one way only, the other half of the ball is folded onto this one.
            way = xp.where(choose(regions.low, there) >= x, xp.abs(way), way)
            way = xp.where(choose(regions.high, there) <= x, -xp.abs(way), way)
        moved = x + way * regions.scale
        if free is not None:
            moved = xp.where(free, moved, x)
        fits = regions.contains(moved, of)
        if not regions.grid.trivial:
            moved = regions.snap(moved, of)
        return moved, fits & (self._ledger.distance(moved, of) < radius)

    def _share(self, way: Matrix, far: Vector, of: Numbers) -> Array:
        """Return what to multiply directions by so that rows lie evenly in the ball of radius 1."""
        xp = namespace(way)
        if self._ledger.metric.adds_squares:
            length = xp.sqrt(xp.sum(way * way, axis=1))
            return like(far ** (1.0 / self._free[of]), way) / xp.where(length > 0, length, 1.0)
        # Of n + 1 exponentials divided by their sum, the first n are even over the simplex.
        return 1.0 / (xp.sum(xp.abs(way), axis=1) - like(np.log(far), way))


def _block(ledger: Ledger, count: int, draws: Draws) -> tuple[Matrix, Vector]:
    """Return ways and how far to go on each; the first of them are the same however many are asked for."""
    shape = count, ledger.regions.x.shape[1]
    far = 1.0 - draws.of("far").generator.random(count)
    if ledger.metric.adds_squares:
        return draws.of("way").generator.normal(size=shape), far
    signs = np.sign(draws.of("sign").generator.random(shape) - 0.5)
    return draws.of("way").generator.exponential(size=shape) * signs, far
