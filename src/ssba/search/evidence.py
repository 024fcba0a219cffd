"""Rows drawn at random from the feasible region nearer than an answer: evidence that nothing is there.

If none of n independent draws reaches the target, then at 95% confidence less than
``1 - 0.05 ** (1 / n)`` of the region does, measured by how the rows are drawn:

1. How many categories change (or missing cells are filled) is drawn evenly from none to as many as the
   radius allows; then which, and to what.
2. The numbers are drawn evenly from what is left of the ball around the query, inside bounds and linear
   rows: directly where little cuts the ball, else by redrawing one column after the other given the others
   (Gibbs sampling, eight sweeps), which is nearly even. Whole numbers and steps: from their legal values.
3. Equalities between columns cannot be met by chance: rows are drawn beside them and pulled onto them.

What a region draws is the same whatever other regions there are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ssba.arrays import Array, blocks, choose, like, namespace, put, to_numpy
from ssba.columns.distance import Metric
from ssba.search.lanes import Draws, rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Cells, Mask, Matrix, Numbers, Regions, Vector

# One minus the confidence of the bound.
_DOUBT = 0.05
_DIRECT_ROUNDS = 16
_SWEEPS = 8
_HALVINGS = 30

# Rows that rounding took out of the ball are drawn anew so often.
_ROUNDS = 8

# Rows that fell outside are drawn again so often; where some still do, the region is swept.
_ROUNDS_TOGETHER = 16


def share_bound(drawn: int) -> float | None:
    """Return the 95% bound on the share that reaches the target when none of so many draws did.

    >>> round(share_bound(59), 3), round(share_bound(1000), 3), share_bound(0)
    (0.05, 0.003, None)
    """
    return 1 - _DOUBT ** (1 / drawn) if drawn else None


def draw_rows(
    ledger: Ledger, at: Numbers, radius: Vector, count: Numbers, draws: Draws
) -> tuple[Matrix, Numbers]:
    """Draw so many legal feasible rows of each region nearer than a radius; fewer where there are few.

    Regions come in the order of their numbers, and so do their rows.
    """
    # Beside a model there is nothing else.
    plain = np.ones(len(at), dtype=bool) if ledger.is_beside else _only_numbers(ledger, at)
    rows, of, inside = _drawn_directly(ledger, at[plain], radius[plain], count[plain], draws)
    left_out = np.bincount(of[~inside], minlength=ledger.regions.count) > 0
    rest = np.flatnonzero(~plain | left_out[at])
    if not len(rest):
        return rows, of
    kept = np.flatnonzero(~left_out[of])
    regions = Regions(ledger.regions.parts, ledger.regions.query) if ledger.is_beside else ledger.regions
    others, whose = draw_nearer(
        regions, ledger.metric, at[rest], radius[rest], count[rest], draws.of("nearer")
    )
    all_of = np.concatenate([of[kept], whose])
    order = np.argsort(all_of, kind="stable")
    return choose(namespace(rows).concat([choose(rows, kept), like(others, rows)]), order), all_of[order]


def draw_nearer(
    regions: Regions, metric: Metric, at: Numbers, radius: Vector, count: Numbers, draws: Draws
) -> tuple[Matrix, Numbers]:
    """Draw up to so many legal feasible rows of some regions nearer than a radius; fewer where there are few.

    What a region draws does not depend on the others. Returned is also the number of the region of each row.
    """
    found, owners = [regions.x[:0]], [at[:0]]
    missing = count.copy()
    for number in range(_ROUNDS):
        # Rounding takes some rows out of the ball: others are drawn in their place.
        going = np.flatnonzero(missing)
        if not len(going):
            break
        drawn = np.zeros_like(missing)
        for some in _cut(going, missing, regions.x.shape[1]):
            who = np.repeat(some, missing[some])
            ball = _Ball(regions, metric, at[who], rank_within(who), radius[who] * (1 - 1e-12))
            rows = ball.rows(draws.of("round", number))
            fine = np.flatnonzero(ball.contains(rows))
            found.append(rows[fine])
            owners.append(ball.of[fine])
            drawn += np.bincount(who[fine], minlength=len(at))
        missing = np.where(drawn > 0, missing - drawn, 0)
    return np.concatenate(found), np.concatenate(owners)


def _cut(going: Numbers, missing: Numbers, cells: int) -> list[Numbers]:
    """Cut regions into parts whose rows can be worked on in the processor's cache; each stays whole."""
    room = next(blocks(int(missing.sum()), cells)).stop
    begins = np.cumsum(missing[going]) // room
    return np.split(going, np.flatnonzero(np.diff(begins)) + 1)


@dataclass(frozen=True)
class _Ball:
    """For each of many rows the part of its region that lies nearer to the query than a radius.

    `of` is the region of each row, `place` its number among the rows of this region.
    """

    regions: Regions
    metric: Metric
    of: Numbers
    place: Numbers
    radius: Vector

    def rows(self, draws: Draws) -> Matrix:
        """Draw a row each, first its categories, then its numbers; some may lie outside."""
        return self._with_numbers(self._with_levels(draws), draws)

    def contains(self, rows: Matrix) -> Mask:
        """Tell which rows are feasible, and nearer than the radius."""
        nearer = self.metric.distance(rows, self._x) < self.radius
        return np.asarray(nearer & self.regions.contains(rows, self.of))

    def take(self, numbers: Numbers) -> "_Ball":
        """Return the same for some of the rows."""
        return replace(self, of=self.of[numbers], place=self.place[numbers], radius=self.radius[numbers])

    @cached_property
    def _x(self) -> Matrix:
        return choose(self.regions.x, self.of)

    @cached_property
    def _budget(self) -> Vector:
        """The radius as a sum of costs."""
        return np.asarray(self.metric.cost(self.radius))

    def _costs(self, rows: Matrix) -> Matrix:
        """Return what each cell adds to the distance, squared for L2, so that costs add up."""
        return np.asarray(self.metric.cost(self.metric.parts(rows, self._x)))

    def _shared(self, draws: Draws, columns: int) -> Matrix:
        """Draw numbers from 0 to 1 for each row and column, the same for all regions."""
        count = int(self.place.max(initial=-1)) + 1
        return choose(draws.generator.random((count, columns)), self.place)

    def _with_levels(self, draws: Draws) -> Matrix:
        """Return copies of starts in which a random number of categories has changed."""
        regions = self.regions
        rows, columns = choose(regions.start, self.of), regions.x.shape[1]
        # Categories, and missing cells that may be filled from a finite range.
        ends = np.isfinite(regions.low) & np.isfinite(regions.high)
        changeable = regions.free & (regions.discrete | (np.isnan(regions.x) & ends))
        if not changeable.any():
            return rows
        begun = self._costs(rows)
        price = np.where(begun > 0, 0.0, self.metric.cost(self.metric.weight))
        price = np.where(choose(changeable, self.of), price, np.inf)
        left = (self._budget - begun.sum(axis=1))[:, None]
        most = (np.cumsum(np.sort(price, axis=1), axis=1) < left).sum(axis=1)
        luck = np.where(np.isinf(price), np.inf, self._shared(draws.of("which"), columns))
        order = np.argsort(luck, axis=1, kind="stable")
        wanted = np.arange(columns) < np.floor(self._shared(draws.of("many"), 1) * (most + 1)[:, None])
        affordable = np.cumsum(np.take_along_axis(price, order, axis=1), axis=1) < left
        i, k = np.nonzero(wanted & affordable)
        j, share = order[i, k], self._shared(draws.of("value"), columns)
        rows[i, j] = self._other_values(i, j, share[i, j])
        return rows

    def _other_values(self, i: Numbers, j: Numbers, share: Vector) -> Vector:
        """Return for some cells another level than at the start, or what fills them if they are missing."""
        regions, of = self.regions, self.of[i]
        low, high = regions.low[of, j], regions.high[of, j]
        filled, cells = self._x[i], np.arange(len(i))
        filled[cells, j] = low + share * (high - low)
        values = regions.snap(filled, of)[cells, j]
        level = np.flatnonzero(regions.discrete[j])
        values[level] = regions.other_level_at(of[level], j[level], share[level])
        return np.asarray(values)

    def _with_numbers(self, rows: Matrix, draws: Draws) -> Matrix:
        """Draw the numbers of rows whose categories are drawn."""
        regions = self.regions
        numbers = _numbers(regions)
        moved = choose(numbers, self.of)
        if not moved.any():
            return rows
        left = self.metric.length(self._budget - np.where(moved, 0.0, self._costs(rows)).sum(axis=1))
        aims = _Directions(regions, self.metric, numbers)
        rough, waiting = rows.copy(), np.arange(len(rows))
        # On steps hardly a row lies in the ball as it is drawn.
        on_steps = (moved & regions.grid.stepped).any(axis=1)
        for number in range(_DIRECT_ROUNDS):
            place = self.place[waiting]
            way, far = _block(regions, self.metric, int(place.max()) + 1, draws.of("ball", number))
            aimed = aims.rows(self.of[waiting], choose(way, place), far[place], left[waiting])
            rough[waiting] = np.where(moved[waiting], aimed, rows[waiting])
            waiting = waiting[~on_steps[waiting]]
            waiting = waiting[~self.take(waiting).contains(rough[waiting])]
            if not len(waiting):
                break
        out = np.union1d(np.flatnonzero(on_steps), waiting)
        if len(out):
            rest = self.take(out)
            rough[out] = rest._swept(rest._pulled_in(rough[out], rows[out]), numbers, draws)
        return regions.snap(rough, self.of)

    def _pulled_in(self, rough: Matrix, homes: Matrix) -> Matrix:
        """Bring rows into region and ball: pulled in, else from ever nearer to their homes."""
        pulled, out = homes.copy(), np.arange(len(homes))
        for _ in range(_HALVINGS):
            ball = self.take(out)
            tried = self.regions.pull_in(rough, ball.of)[0]
            fine = ball.contains(tried)
            pulled[out[fine]] = tried[fine]
            out, rough = out[~fine], rough[~fine]
            if not len(out):
                break
            rough = homes[out] + 0.5 * (rough - homes[out])
        return pulled

    def _swept(self, rows: Matrix, numbers: Mask, draws: Draws) -> Matrix:
        """Redraw one column after the other, given the others, some times over."""
        regions, moved = self.regions, choose(numbers, self.of)
        # Column by column, since that is how they are redrawn.
        cells, costs = rows.T.copy(), self._costs(rows).T.copy()
        for sweep in range(_SWEEPS):
            turn = draws.of("sweep", sweep)
            luck = self._shared(turn.of("luck"), 2 * len(cells)).T
            # Added up in the same order however many rows there are.
            total = sum(costs[1:], costs[0])
            for j in turn.of("order").generator.permutation(len(cells)).tolist():
                mine = np.flatnonzero(moved[:, j])
                if not len(mine):
                    continue
                others = total[mine] - costs[j, mine]
                reach = self.metric.length(self._budget[mine] - others) * regions.scale[j]
                ends = self._room(cells, mine, reach, j)
                cells[j, mine] = self._between(mine, j, ends, cells[j, mine], luck[2 * j : 2 * j + 2, mine])
                gap = np.abs(cells[j, mine] - self._x[mine, j]) / regions.scale[j]
                costs[j, mine] = self.metric.cost(gap)
                total[mine] = others + costs[j, mine]
        return cells.T.copy()

    def _room(self, cells: Matrix, mine: Numbers, reach: Vector, j: int) -> tuple[Vector, Vector]:
        """Return between what ends a column may lie, given all others: ball, bounds, linear rows."""
        regions, of, x = self.regions, self.of[mine], self._x[mine, j]
        low = np.maximum(regions.low[of, j], x - reach)
        high = np.minimum(regions.high[of, j], x + reach)
        for number, some in regions.linear_rows(of):
            linear = regions.parts[number].linear
            assert linear is not None
            for i in np.flatnonzero(linear.A[:, j] != 0):
                involved, own = np.flatnonzero(linear.A[i]), mine[some]
                rest = linear.aim[i] - linear.A[i, involved] @ cells[np.ix_(involved, own)]
                end = rest / linear.A[i, j] + cells[j, own]
                # A linear row asks nothing where one of its cells is missing.
                if linear.A[i, j] > 0:
                    high[some] = np.fmin(high[some], end)
                else:
                    low[some] = np.fmax(low[some], end)
        return low, high

    def _between(
        self, mine: Numbers, j: int, ends: tuple[Vector, Vector], now: Vector, luck: Matrix
    ) -> Vector:
        """Draw legal values between ends; where there are none, all stays as it is."""
        (low, high), grid = ends, self.regions.grid
        if not bool(grid.stepped[j]):
            return np.where(low < high, low + luck[0] * (high - low), now)
        # Rounding errors must not cost a value that is the end itself.
        slack = 1e-9 * float(grid.numerator[j]) / float(grid.denominator[j])
        first, last = self._steps(j, low - slack, up=True), self._steps(j, high + slack, up=False)
        count = np.maximum(last - first + 1, 0)
        number = first + np.floor(luck[0] * count)
        drawn = number * float(grid.numerator[j]) / float(grid.denominator[j]) + 0.0
        drawn = np.where(count >= 1, drawn, now)
        x = self._x[mine, j]
        extra = self._own_is_extra[self.of[mine], j] & (low <= x) & (x <= high)
        return np.where(extra & (luck[1] * (count + 1) < 1), x, drawn)

    def _steps(self, j: int, ends: Vector, *, up: bool) -> Vector:
        """Return how many steps from zero the legal values next to some ends of a column lie."""
        grid = self.regions.grid.columns[j]
        values = (grid.ceil(ends[:, None]) if up else grid.floor(ends[:, None]))[:, 0]
        return np.asarray(np.round(values * float(grid.denominator[0]) / float(grid.numerator[0])))

    @cached_property
    def _own_is_extra(self) -> Mask:
        """In which cells the query's own value is legal though it lies off the grid."""
        x = self.regions.x
        return np.asarray(self.regions.keeps_x & (self.regions.grid.snap(x) != x))


def _numbers(regions: Regions) -> Cells:
    """Tell which cells are numbers that move, in regions on the host or beside a model."""
    return regions.free & ~regions.discrete & ~namespace(regions.x).isnan(regions.x)


def _only_numbers(ledger: Ledger, at: Numbers) -> Mask:
    """Tell which regions have nothing but real numbers that move, and no linear rows."""
    regions = ledger.regions
    free = regions.free[at]
    numbers = free & ~regions.discrete & ~regions.grid.stepped & ~np.isnan(regions.x[at])
    return np.asarray((free == numbers).all(axis=1) & free.any(axis=1) & ~regions.linear[at])


def _drawn_directly(
    ledger: Ledger, at: Numbers, radius: Vector, count: Numbers, draws: Draws
) -> tuple[Matrix, Numbers, Mask]:
    """Draw from balls that little cuts; return the rows, whose they are, and which lie inside all bounds."""
    regions, metric, of = ledger.regions, ledger.metric, np.repeat(at, count)
    place, short = rank_within(of), np.repeat(radius * (1 - 1e-12), count)
    most, inside = int(count.max(initial=0)), np.zeros(len(of), dtype=bool)
    aims, rows = _Directions(regions, metric, _numbers(regions)), choose(regions.x, of)
    for number in range(_ROUNDS_TOGETHER):
        out = np.flatnonzero(~inside)
        if not len(out):
            break
        way, far = _block(regions, metric, most, draws.of("ball", number))
        way = like(way, rows)
        for part in blocks(len(out), rows.shape[1], rows):
            some = out[part]
            drawn = aims.rows(of[some], choose(way, place[some]), far[place[some]], short[some])
            fits = regions.contains(drawn, of[some])
            if not regions.grid.trivial:
                drawn = regions.snap(drawn, of[some])
            inside[some] = fits & (ledger.distance(drawn, of[some]) < short[some])
            put(rows, some, drawn)
    return rows, of, inside


class _Directions:
    """Rows in some directions from queries, evenly in balls around these: only `numbers` move."""

    def __init__(self, regions: Regions, metric: Metric, numbers: Cells) -> None:
        xp, free = namespace(regions.x), to_numpy(numbers)
        self._regions, self._metric, self._numbers = regions, metric, numbers
        self._count, self._all_move = free.sum(axis=1), bool(free.all())
        self._folds = bool(xp.any((regions.low >= regions.x) | (regions.high <= regions.x)))

    def rows(self, of: Numbers, way: Matrix, far: Vector, radius: Vector) -> Matrix:
        """Return rows in some directions, as far out as `far` says from 0 to 1."""
        regions, xp, there = self._regions, namespace(way), like(of, way)
        x, moved = choose(regions.x, there), None if self._all_move else choose(self._numbers, there)
        if moved is not None:
            way = xp.where(moved, way, 0.0)
        way = way * (self._share(way, far, of) * like(radius, way))[:, None]
        if self._folds:
            # Where a column may go one way only, the other half of the ball is folded onto this one.
            way = xp.where(choose(regions.low, there) >= x, xp.abs(way), way)
            way = xp.where(choose(regions.high, there) <= x, -xp.abs(way), way)
        rows = x + way * regions.scale
        return rows if moved is None else xp.where(moved, rows, x)

    def _share(self, way: Matrix, far: Vector, of: Numbers) -> Array:
        """Return what to multiply directions by so that rows lie evenly in the ball of radius 1."""
        xp = namespace(way)
        if self._metric.adds_squares:
            length = xp.sqrt(xp.sum(way * way, axis=1))
            return like(far ** (1.0 / np.maximum(self._count[of], 1)), way) / xp.where(
                length > 0, length, 1.0
            )
        # Of n + 1 exponentials divided by their sum, the first n are even over the simplex.
        return 1.0 / (xp.sum(xp.abs(way), axis=1) - like(np.log(far), way))


def _block(regions: Regions, metric: Metric, count: int, draws: Draws) -> tuple[Matrix, Vector]:
    """Return ways and how far to go on each; the first of them are the same however many are asked for."""
    shape = count, regions.x.shape[1]
    far = 1.0 - draws.of("far").generator.random(count)
    if metric.adds_squares:
        return draws.of("way").generator.normal(size=shape), far
    signs = np.sign(draws.of("sign").generator.random(shape) - 0.5)
    return draws.of("way").generator.exponential(size=shape) * signs, far
