"""One query's choices: in each column the cells between cuts, each with its cheapest legal value.

Within a cell no tree tells values apart, so the nearest answer takes the cheapest value of each of its cells.
What is left is to choose one cell, here called an option, in each column.

What it costs to get into a leaf at all is known before any choice. Choices that cost no more than some
amount are made of the leaves that cost no more, mostly a small part of them: `Surroundings.cells`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from ssba.arrays import Integers, Mask, Matrix, Vector
from ssba.columns.distance import Metric, changed_cells
from ssba.constraints.regions.nearest_linear import allowed_codes
from ssba.constraints.regions.region import Region
from ssba.whitebox.forest import Asked, Trees
from ssba.whitebox.scoring import CannotTell, Condition, Way

# Of a cost: more than rounding can change it by.
_HAIR = 1e-9


@final
@dataclass(frozen=True)
class Options:
    """The options of one column: what each costs, what it writes in the row, and which leaves it fits.

    They are in such an order that costs only grow on both sides of the cheapest.
    """

    cost: Vector
    value: Vector
    low: Vector
    """The smallest and the largest legal value of the cell, for rows that linear constraints push about."""
    high: Vector
    fits: Mask
    """[options, leaves]"""

    def only(self, kept: Mask, leaves: Mask) -> "Options":
        """Return some of the options and what they say about some of the leaves."""
        return Options(
            self.cost[kept], self.value[kept], self.low[kept], self.high[kept], self.fits[kept][:, leaves]
        )


@final
@dataclass(frozen=True)
class Cells:
    """A query as a choice of one option in each free column.

    Attributes
    ----------
    row
        The query with every column that is not free at its cheapest value.
    columns
        The free columns, and `options` what they can be.
    fixed_cost
        What the columns that are not free cost.
    gain
        [conditions, leaves]: what a leaf adds to each condition; all of them must end up at 0 or more.
    base
        What each condition starts at.
    first
        Where the leaves of each tree begin.
    leaf_cost
        What it costs at least to get into each leaf.
    reach
        What choices may cost. Those that cost more may fall into leaves that are left out: their margins
        mean nothing.
    slack
        How far sums may be off by rounding.
    squared
        Whether costs are squares of distances.
    region
        Where rows must lie; its linear rows, if any, are no part of the choice.
    coded
        Which columns of a row are levels.
    changes_left
        How many of the free columns may change; None for any number.
    """

    row: Vector
    columns: Integers
    options: tuple[Options, ...]
    fixed_cost: float
    gain: Matrix
    base: Vector
    first: Integers
    leaf_cost: Vector
    reach: float
    slack: float
    squared: bool
    region: Region
    coded: Mask

    changes_left: int | None = None

    @property
    def size(self) -> int:
        """Leaves times columns: what a look at all choices goes through."""
        return int(self.gain.shape[1]) * len(self.options)

    @cached_property
    def own(self) -> Integers:
        """The option of each column that keeps the query's own value; -1 where none does."""
        kept = [
            one.value == self.region.x[column] for column, one in zip(self.columns, self.options, strict=True)
        ]
        return np.array([int(one.argmax()) if one.any() else -1 for one in kept], dtype=np.int64)

    @cached_property
    def home(self) -> Integers:
        """The cheapest option of each column."""
        return np.array([int(one.cost.argmin()) for one in self.options], dtype=np.int64)

    def cost(self, choice: Integers) -> Vector:
        """Return what choices [n, columns] cost together."""
        total = np.full(len(choice), self.fixed_cost)
        for j, one in enumerate(self.options):
            total += one.cost[choice[:, j]]
        return total

    def active(self, choice: Integers) -> Mask:
        """Return the leaves that choices fall into, [n, leaves]."""
        fits = np.ones((len(choice), self.gain.shape[1]), dtype=bool)
        for j, one in enumerate(self.options):
            fits &= one.fits[choice[:, j]]
        return fits

    def margin(self, choice: Integers) -> Vector:
        """Return how far the worst condition of each choice is above 0."""
        return self.margin_in(self.active(choice))

    def margin_in(self, leaves: Mask) -> Vector:
        """Return the same for choices that fall into these leaves, [n, leaves]."""
        return np.asarray((leaves @ self.gain.T + self.base).min(axis=1, initial=np.inf))

    def allows(self, choice: Integers) -> Mask:
        """Tell which choices [n, columns] change no more columns than may change."""
        if self.changes_left is None:
            return np.ones(len(choice), dtype=bool)
        return np.asarray((choice != self.own).sum(axis=1) <= self.changes_left)

    def rows(self, choice: Integers) -> Matrix:
        """Return the encoded rows of choices."""
        rows = np.tile(self.row, (len(choice), 1))
        for j, (column, one) in enumerate(zip(self.columns, self.options, strict=True)):
            rows[:, column] = one.value[choice[:, j]]
        return rows

    def distance(self, cost: float) -> float:
        """Return a cost as a distance."""
        return float(np.sqrt(max(0.0, cost))) if self.squared else float(cost)

    def cost_of(self, distance: float) -> float:
        """Return a distance as a cost."""
        return distance**2 if self.squared else distance

    def within(self, best: float) -> "Cells":
        """Return the same choices without options and leaves that alone make a choice cost more than that.

        The cheapest choice stays, even if it costs more. A column that is left with one option is no choice
        any more, unless linear rows tie it to others.
        """
        # A hair more, so that a choice that costs just that stays one of them.
        room = max(0.0, best * (1 + _HAIR) - float(self.cost(self.home[None, :])[0]))
        kept = [one.cost - one.cost.min() <= room for one in self.options]
        alive = self.leaf_cost <= max(best, float(self.leaf_cost.min())) * (1 + _HAIR)
        tree = np.searchsorted(self.first, np.flatnonzero(alive), side="right")
        options = tuple(one.only(keep, alive) for one, keep in zip(self.options, kept, strict=True))
        return replace(
            self,
            options=options,
            gain=self.gain[:, alive],
            first=np.flatnonzero(np.diff(tree, prepend=-1)),
            leaf_cost=self.leaf_cost[alive],
            reach=min(self.reach, best),
        )._with_choices_only()

    def _with_choices_only(self) -> "Cells":
        """Return the same without columns of one option."""
        single = np.array([len(one.cost) == 1 for one in self.options], dtype=bool)
        if self.region.linear is not None or not single.any():
            return self
        row, gone = self.row.copy(), self.columns[single]
        settled = [one for one in self.options if len(one.cost) == 1]
        row[gone] = [one.value[0] for one in settled]
        changed = int(changed_cells(row[gone][None, :], self.region.x[gone])[0].sum())
        return replace(
            self,
            row=row,
            columns=self.columns[~single],
            options=tuple(one for one in self.options if len(one.cost) > 1),
            fixed_cost=self.fixed_cost
            + sum(float(one.cost[0]) for one in self.options if len(one.cost) == 1),
            changes_left=None if self.changes_left is None else self.changes_left - changed,
        )

    def choice_near(self, row: Vector) -> Integers:
        """Return the options that a row's cells fall into; the nearest where a cell falls into none."""
        near = [
            int(np.abs(np.clip(row[column], one.low, one.high) - row[column]).argmin())
            for column, one in zip(self.columns, self.options, strict=True)
        ]
        return np.array(near, dtype=np.int64)


@final
@dataclass(frozen=True)
class Surroundings:
    """A query among the leaves of trees, and what it costs to get into each of them."""

    trees: Trees
    way: Way
    region: Region
    squared: bool
    legal: "list[_Numbers | _Levels | _Missing]"
    most_changes: int | None

    @cached_property
    def leaf_cost(self) -> Vector:
        """What it costs at least to get into each leaf; infinite where no legal row does."""
        leaves = self.trees.leaves
        more = np.zeros(len(leaves.leaf))
        for j, column in enumerate(self.legal):
            some = slice(int(leaves.first[j]), int(leaves.first[j + 1]))
            if some.start < some.stop:
                more[some] = column.least(leaves.asked(j)) - column.cheapest
        home = sum(column.cheapest for column in self.legal)
        return np.asarray(home + np.bincount(leaves.leaf, more, minlength=len(leaves.tree)))

    @cached_property
    def gain(self) -> Matrix:
        """What each leaf adds to each condition."""
        return np.asarray(self._weight @ self.trees.leaves.value.T)

    @cached_property
    def base(self) -> Vector:
        """What each condition starts at."""
        starts = np.array([_start(one, self.trees) for one in self.way])
        return np.asarray(self._weight @ self.trees.offset + starts)

    @cached_property
    def slack(self) -> float:
        """How far sums may be off by rounding."""
        each = (self.trees.rounding * float(np.abs(one.weight).sum()) + one.vague for one in self.way)
        return max(each, default=0.0)

    @property
    def _weight(self) -> Matrix:
        if not self.way:
            return np.zeros((0, self.trees.scoring.columns))
        return np.stack([one.weight for one in self.way])

    @property
    def dearest(self) -> float:
        """What no choice costs more than."""
        return float(sum(column.dearest for column in self.legal))

    @property
    def free_columns(self) -> int:
        """How many columns there are to choose in, at most."""
        asked = np.diff(self.trees.leaves.first) > 0
        return sum(column.count > 1 for column, some in zip(self.legal, asked, strict=True) if some)

    @cached_property
    def least_cost(self) -> float:
        """A cost below which no choice reaches; infinite where none does.

        For less, the best leaves of all trees do not reach, even if all of them could be had together.
        """
        costs = np.unique(self.leaf_cost[np.isfinite(self.leaf_cost)])
        low, high = 0, len(costs)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._has_hope(costs[middle]) else (middle + 1, high)
        return float(costs[low]) * (1 - _HAIR) if low < len(costs) else np.inf

    def _has_hope(self, cost: float) -> bool:
        first = np.flatnonzero(np.diff(self.trees.leaves.tree, prepend=-1))
        gain = np.where(self.leaf_cost <= cost, self.gain, -np.inf)
        best = np.maximum.reduceat(gain, first, axis=1).sum(axis=1) + self.base
        return bool((best >= -self.slack).all())

    def _alive(self, within: float) -> Mask:
        cost = self.leaf_cost
        return np.asarray(np.isfinite(cost) & (cost <= max(within, float(cost.min())) * (1 + _HAIR)))

    def size(self, within: float = np.inf) -> int:
        """Return what the size of the choices that cost no more than that is at most."""
        alive, leaves = self._alive(within), self.trees.leaves
        asked = np.add.reduceat(np.append(alive[leaves.leaf], False), leaves.first[:-1])
        asked[np.diff(leaves.first) == 0] = 0
        return int(alive.sum()) * int((asked > 0).sum())

    def cells(self, within: float = np.inf) -> Cells:
        """Return the choices that cost no more than that, if the cheapest of all does not."""
        leaf_cost, alive = self.leaf_cost, self._alive(within)
        number = np.where(alive, np.cumsum(alive) - 1, -1)
        row = np.array([column.value for column in self.legal])
        columns, options = [], []
        for j, column in enumerate(self.legal):
            asked = self.trees.leaves.asked(j).renumbered(number)
            if len(asked.leaf):
                one = column.options(asked, int(alive.sum()), merge=self.region.linear is None)
                if len(one.cost) > 1:
                    columns.append(j)
                    options.append(one)
        x, fixed = self.region.x, np.ones(len(self.legal), dtype=bool)
        fixed[columns] = False
        changed = int((fixed & changed_cells(row[None, :], x)[0]).sum())
        found = Cells(
            row=row,
            columns=np.array(columns, dtype=np.int64),
            options=tuple(options),
            fixed_cost=float(sum(self.legal[j].cheapest for j in np.flatnonzero(fixed))),
            gain=self.gain[:, alive],
            base=self.base,
            first=np.flatnonzero(np.diff(self.trees.leaves.tree[alive], prepend=-1)),
            leaf_cost=leaf_cost[alive],
            reach=within,
            slack=self.slack,
            squared=self.squared,
            region=self.region,
            coded=self.trees.coded,
            changes_left=None if self.most_changes is None else self.most_changes - changed,
        )
        return found.within(within) if np.isfinite(within) else found

    def cost_of(self, distance: float) -> float:
        """Return a distance as a cost."""
        return distance**2 if self.squared else distance

    def distance(self, cost: float) -> float:
        """Return a cost as a distance."""
        return float(np.sqrt(max(0.0, cost))) if self.squared else float(cost)


def surroundings_of(
    trees: Trees, way: Way, region: Region, metric: Metric, most_changes: int | None = None
) -> Surroundings:
    """Place a query among trees; `CannotTell` where it has a missing cell that the trees cannot place."""
    missing = np.isnan(region.x)
    if missing.any() and not trees.takes_missing(missing):
        raise CannotTell("the query has a missing cell, and it is not known where the trees send it")
    if not region.held[missing].all():
        raise CannotTell("a missing cell of the query may be filled in")
    legal = _legal_cells(trees, region, metric)
    return Surroundings(trees, way, region, metric.adds_squares, legal, most_changes)


def _start(condition: Condition, trees: Trees) -> float:
    """Return where a condition starts; sums that come in grains are moved off the tie by half of one."""
    grain = trees.grain
    if not grain:
        return condition.offset
    if condition.limit is None:
        return condition.offset + (-0.5 if condition.beyond else 0.5) * grain
    if abs(condition.offset) > 2.0**52 * grain:
        return condition.offset  # far from any sum
    # The model divides its sums before it compares: so do we, with those nearest to the limit.
    sums = (np.round(condition.limit * trees.scoring.total / grain) + np.arange(-2, 3)) * grain
    means = sums / trees.scoring.total
    allowed = means != condition.limit if condition.beyond else np.ones(len(sums), dtype=bool)
    if condition.weight.sum() > 0:
        return float(0.5 * grain - sums[allowed & (means >= condition.limit)].min())
    return float(0.5 * grain + sums[allowed & (means <= condition.limit)].max())


@final
@dataclass(frozen=True)
class _Numbers:
    """Cells of numbers that hold a legal value, by rank, rising; costs rise to both sides of the cheapest."""

    rank: Integers
    low: Vector
    high: Vector
    values: Vector
    cost: Vector

    @property
    def count(self) -> int:
        return len(self.rank)

    @cached_property
    def _home(self) -> int:
        return int(self.cost.argmin())

    @property
    def cheapest(self) -> float:
        return float(self.cost[self._home])

    @property
    def dearest(self) -> float:
        return float(self.cost.max())

    @property
    def value(self) -> float:
        return float(self.values[self._home])

    def least(self, asked: Asked) -> Vector:
        """Return the least cost of a value that each leaf takes; infinite where it takes none."""
        begin, end = self._span(asked)
        near = np.clip(self._home, begin, np.maximum(end - 1, begin))
        return np.where(begin < end, self.cost[np.minimum(near, len(self.cost) - 1)], np.inf)

    def options(self, asked: Asked, leaves: int, *, merge: bool) -> Options:
        """Join neighbouring cells that no leaf tells apart."""
        begin, end = self._span(asked)
        starts = np.unique(np.concatenate([[0], begin, end[end < len(self.rank)]]))
        ends = np.append(starts[1:], len(self.rank))
        # The cheapest of each is the one nearest to the cheapest of all.
        best = np.clip(self._home, starts, ends - 1)
        fits = np.ones((len(starts), leaves), dtype=bool)
        fits[:, asked.leaf] = (begin <= starts[:, None]) & (end > starts[:, None])
        return Options(
            cost=self.cost[best],
            value=self.values[best],
            low=self.low[starts],
            high=self.high[ends - 1],
            fits=fits,
        )

    def _span(self, asked: Asked) -> tuple[Integers, Integers]:
        begin = np.searchsorted(self.rank, asked.low, side="left")
        return begin, np.searchsorted(self.rank, asked.high, side="right")


@final
@dataclass(frozen=True)
class _Levels:
    """Codes that are allowed."""

    code: Vector
    cost: Vector

    @property
    def count(self) -> int:
        return len(self.code)

    @property
    def cheapest(self) -> float:
        return float(self.cost.min())

    @property
    def dearest(self) -> float:
        return float(self.cost.max())

    @property
    def value(self) -> float:
        return float(self.code[self.cost.argmin()])

    def least(self, asked: Asked) -> Vector:
        """Return the least cost of a level that each leaf takes; infinite where it takes none."""
        return np.asarray(np.where(self._fits(asked), self.cost[:, None], np.inf).min(axis=0))

    def options(self, asked: Asked, leaves: int, *, merge: bool) -> Options:
        """Of levels that no leaf tells apart keep the cheapest; cheap ones come first."""
        fits = self._fits(asked)
        kept = np.argsort(self.cost, kind="stable")
        if merge:
            # NumPy's own search for equal rows takes seconds where there are many leaves.
            cheapest: dict[bytes, int] = {}
            for option in kept.tolist():
                cheapest.setdefault(np.packbits(fits[option]).tobytes(), option)
            kept = np.array(list(cheapest.values()), dtype=np.int64)
        code, all_fits = self.code[kept], np.ones((len(kept), leaves), dtype=bool)
        all_fits[:, asked.leaf] = fits[kept]
        return Options(self.cost[kept], code, code, code, all_fits)

    def _fits(self, asked: Asked) -> Mask:
        bits = asked.codes >> self.code.astype(np.uint64)[:, None]
        return np.asarray((bits & np.uint64(1)).astype(bool))


@final
@dataclass(frozen=True)
class _Missing:
    """A missing cell that stays so."""

    count: int = 1
    cheapest: float = 0.0
    dearest: float = 0.0
    value: float = np.nan

    def least(self, asked: Asked) -> Vector:
        return np.where(asked.missing, 0.0, np.inf)

    def options(self, asked: Asked, leaves: int, *, merge: bool) -> Options:
        nan, fits = np.array([np.nan]), np.ones((1, leaves), dtype=bool)
        fits[:, asked.leaf] = asked.missing
        return Options(np.zeros(1), nan, nan, nan, fits)


def _legal_cells(trees: Trees, region: Region, metric: Metric) -> list[_Numbers | _Levels | _Missing]:
    low, high, value = _cell_values(trees, region)
    cost = _costs(metric, value, region.x)
    return [
        _Missing()
        if np.isnan(region.x[j])
        else _levels(region, metric, j)
        if trees.coded[j]
        else _numbers(len(cuts), low[:, j], high[:, j], value[:, j], cost[:, j])
        for j, cuts in enumerate(trees.cuts)
    ]


def _numbers(cuts: int, low: Vector, high: Vector, value: Vector, cost: Vector) -> _Numbers:
    rank = np.flatnonzero(~np.isnan(value[: cuts + 1]))
    return _Numbers(rank, low[rank], high[rank], value[rank], cost[rank])


def _levels(region: Region, metric: Metric, j: int) -> _Levels:
    allowed = np.array(allowed_codes(region, j))
    rows = np.tile(region.x, (len(allowed), 1))
    rows[:, j] = allowed
    return _Levels(allowed, _costs(metric, rows, region.x)[:, j])


def _costs(metric: Metric, rows: Matrix, x: Vector) -> Matrix:
    parts = metric.parts(rows, x)
    return np.asarray(metric.cost(parts))


def _cell_values(trees: Trees, region: Region) -> tuple[Matrix, Matrix, Matrix]:
    """Return for each rank and column the smallest and largest legal value, and the one nearest to the query.

    The nearest is NaN where the cell holds no legal value.
    """
    most = max(len(cuts) for cuts in trees.cuts)
    low, high = np.full((most + 1, len(trees.cuts)), -np.inf), np.full((most + 1, len(trees.cuts)), np.inf)
    for j, cuts in enumerate(trees.cuts):
        low[1 : len(cuts) + 1, j] = np.nextafter(cuts, np.inf)
        high[: len(cuts), j] = cuts
    x = region.x
    own = (low <= x) & (x <= high) & (region.keeps_x | region.held)
    low = np.asarray(region.grid.ceil(np.maximum(low, np.where(region.held, x, region.lower))))
    high = np.asarray(region.grid.floor(np.minimum(high, np.where(region.held, x, region.upper))))
    value = np.where(low <= high, np.clip(x, low, np.maximum(low, high)), np.nan)
    value = np.where(own, x, value)
    low, high = np.where(own, np.fmin(low, x), low), np.where(own, np.fmax(high, x), high)
    return low, high, value
