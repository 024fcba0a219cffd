"""One query's choices: in each column the cells between cuts, each with its cheapest legal value.

Within a cell no tree tells values apart, so the nearest answer takes the cheapest value of each of its cells.
What is left is to choose one cell, here called an option, in each column.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from ssba.arrays import Integers, Mask, Matrix, Vector
from ssba.columns.distance import Metric, changed_cells
from ssba.constraints.regions.nearest_linear import allowed_codes
from ssba.constraints.regions.region import Region
from ssba.whitebox.forest import Leaves, Trees
from ssba.whitebox.scoring import CannotTell, Condition, Way


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
    slack: float
    squared: bool
    region: Region
    coded: Mask

    changes_left: int | None = None

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

    @property
    def hopeful(self) -> bool:
        """Whether the best leaf of each tree, if they could be had together, would reach the goal."""
        best = np.maximum.reduceat(self.gain, self.first, axis=1).sum(axis=1) + self.base
        return bool((best >= -self.slack).all())

    def within(self, best: float) -> "Cells":
        """Return the same choices without options that alone make a choice cost more than that.

        The cheapest choice stays, even if it costs more.
        """
        # A hair more, so that a choice that costs just that stays one of them.
        room = max(0.0, best * (1 + 1e-9) - float(self.cost(self.home[None, :])[0]))
        kept = [one.cost - one.cost.min() <= room for one in self.options]
        alive = np.ones(self.gain.shape[1], dtype=bool)
        for one, keep in zip(self.options, kept, strict=True):
            alive &= one.fits[keep].any(axis=0)
        tree = np.searchsorted(self.first, np.flatnonzero(alive), side="right")
        return replace(
            self,
            options=tuple(one.only(keep, alive) for one, keep in zip(self.options, kept, strict=True)),
            gain=self.gain[:, alive],
            first=np.flatnonzero(np.diff(tree, prepend=-1)),
        )

    def choice_near(self, row: Vector) -> Integers:
        """Return the options that a row's cells fall into; the nearest where a cell falls into none."""
        near = [
            int(np.abs(np.clip(row[column], one.low, one.high) - row[column]).argmin())
            for column, one in zip(self.columns, self.options, strict=True)
        ]
        return np.array(near, dtype=np.int64)


def cells_of(
    trees: Trees, way: Way, region: Region, metric: Metric, most_changes: int | None = None
) -> Cells:
    """Return the choices of a query; `CannotTell` where it has a missing cell that the trees cannot place."""
    x = region.x
    missing = np.isnan(x)
    if missing.any() and not trees.takes_missing(missing):
        raise CannotTell("the query has a missing cell, and it is not known where the trees send it")
    if not region.held[missing].all():
        raise CannotTell("a missing cell of the query may be filled in")
    legal = _legal_cells(trees, region, metric)
    leaves = trees.leaves
    alive = np.ones(len(leaves.tree), dtype=bool)
    for j, column in enumerate(legal):
        alive &= column.possible(leaves, j)
    kept = _only(leaves, alive)
    options = [column.options(kept, j, merge=region.linear is None) for j, column in enumerate(legal)]
    free = np.array([len(one.cost) > 1 for one in options], dtype=bool)
    row = np.array([one.value[one.cost.argmin()] for one in options])
    changed = int((~free & changed_cells(row[None, :], x)[0]).sum())
    weight = np.stack([one.weight for one in way]) if way else np.zeros((0, trees.scoring.columns))
    return Cells(
        row=row,
        columns=np.flatnonzero(free),
        options=tuple(one for one, is_free in zip(options, free, strict=True) if is_free),
        fixed_cost=float(
            sum(one.cost.min() for one, is_free in zip(options, free, strict=True) if not is_free)
        ),
        gain=weight @ kept.value.T,
        base=weight @ trees.offset + np.array([_start(one, trees) for one in way]),
        first=np.flatnonzero(np.diff(kept.tree, prepend=-1)),
        slack=max((trees.rounding * float(np.abs(one.weight).sum()) + one.vague for one in way), default=0.0),
        squared=metric.adds_squares,
        region=region,
        coded=trees.coded,
        changes_left=None if most_changes is None else most_changes - changed,
    )


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


def _only(leaves: Leaves, alive: Mask) -> Leaves:
    return Leaves(*(getattr(leaves, name)[alive] for name in Leaves.__dataclass_fields__))


@final
@dataclass(frozen=True)
class _Numbers:
    """Cells of numbers that hold a legal value, by rank, rising."""

    rank: Integers
    low: Vector
    high: Vector
    value: Vector
    cost: Vector

    def possible(self, leaves: Leaves, j: int) -> Mask:
        return np.asarray(np.less(*self._span(leaves, j)))

    def options(self, leaves: Leaves, j: int, *, merge: bool) -> Options:
        """Join neighbouring cells that no leaf tells apart."""
        begin, end = self._span(leaves, j)
        starts = np.unique(np.concatenate([[0], begin, end[end < len(self.rank)]]))
        ends = np.append(starts[1:], len(self.rank))
        best = np.array([a + int(self.cost[a:b].argmin()) for a, b in zip(starts, ends, strict=True)])
        return Options(
            cost=self.cost[best],
            value=self.value[best],
            low=self.low[starts],
            high=self.high[ends - 1],
            fits=(begin <= starts[:, None]) & (end > starts[:, None]),
        )

    def _span(self, leaves: Leaves, j: int) -> tuple[Integers, Integers]:
        begin = np.searchsorted(self.rank, leaves.low[:, j], side="left")
        return begin, np.searchsorted(self.rank, leaves.high[:, j], side="right")


@final
@dataclass(frozen=True)
class _Levels:
    """Codes that are allowed."""

    code: Vector
    cost: Vector

    def possible(self, leaves: Leaves, j: int) -> Mask:
        return np.asarray(self._fits(leaves, j).any(axis=0))

    def options(self, leaves: Leaves, j: int, *, merge: bool) -> Options:
        """Of levels that no leaf tells apart keep the cheapest; cheap ones come first."""
        fits = self._fits(leaves, j)
        kept = np.argsort(self.cost, kind="stable")
        if merge:
            # NumPy's own search for equal rows takes seconds where there are many leaves.
            cheapest: dict[bytes, int] = {}
            for option in kept.tolist():
                cheapest.setdefault(np.packbits(fits[option]).tobytes(), option)
            kept = np.array(list(cheapest.values()), dtype=np.int64)
        code = self.code[kept]
        return Options(self.cost[kept], code, code, code, fits[kept])

    def _fits(self, leaves: Leaves, j: int) -> Mask:
        bits = leaves.codes[:, j] >> self.code.astype(np.uint64)[:, None]
        return np.asarray((bits & np.uint64(1)).astype(bool))


@final
@dataclass(frozen=True)
class _Missing:
    """A missing cell that stays so."""

    def possible(self, leaves: Leaves, j: int) -> Mask:
        return leaves.missing[:, j]

    def options(self, leaves: Leaves, j: int, *, merge: bool) -> Options:
        nan = np.array([np.nan])
        return Options(np.zeros(1), nan, nan, nan, leaves.missing[None, :, j])


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
