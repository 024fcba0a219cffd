"""The nearest choice by branch and bound over boxes of options, nearest box first.

A box is an interval of options in each column. No choice in it costs less than its nearest corner, and
none reaches more of a condition than the best leaf of each tree that the box still touches. A box whose
corner reaches the goal is settled; one that cannot reach it, that changes more columns than may change, or
that is farther than the best choice known, is dropped.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Mask, Matrix, Vector
from ssba.columns.distance import Metric
from ssba.constraints.regions.nearest_linear import Demands, Result, Work, nearest_row
from ssba.interrupts import is_past
from ssba.whitebox.cells import Cells
from ssba.whitebox.spans import spans_of

Reached = Callable[[Matrix], Mask]

# Boxes that are looked at together: enough to keep array operations busy, few enough to stay best-first.
_TOGETHER = 32
# Costs nearer than this share are the same.
SAME = 1e-12
# Relaxations for one cell that linear rows cut.
_RELAXATIONS = 200


@final
@dataclass(frozen=True)
class Found:
    """The cheapest row found, its cost, and a cost below which there is none.

    `row` is None where nothing cheaper than asked for was found.
    """

    row: Vector | None
    cost: float
    bound: float
    boxes: int


@final
@dataclass(frozen=True)
class _Boxes:
    """Intervals of options [boxes, columns], the leaves that they touch, and their least costs."""

    low: Integers
    high: Integers
    alive: Mask
    cost: Vector

    def where(self, chosen: Mask | Integers) -> "_Boxes":
        return _Boxes(self.low[chosen], self.high[chosen], self.alive[chosen], self.cost[chosen])


@final
@dataclass
class _Open:
    """Boxes that wait, nearest first; the leaves they touch are kept as bits."""

    leaves: int
    heap: list[tuple[float, int, Integers, Integers, NDArray[np.uint8]]] = field(default_factory=list)
    serial: int = 0

    def push(self, boxes: _Boxes) -> None:
        packed = np.packbits(boxes.alive, axis=1)
        for i, cost in enumerate(boxes.cost):
            heapq.heappush(self.heap, (float(cost), self.serial, boxes.low[i], boxes.high[i], packed[i]))
            self.serial += 1

    def pop(self, below: float) -> _Boxes | None:
        """Take some of the nearest boxes that cost less than that; None where there is none."""
        taken: list[tuple[float, int, Integers, Integers, NDArray[np.uint8]]] = []
        while self.heap and len(taken) < _TOGETHER and self.heap[0][0] < below:
            taken.append(heapq.heappop(self.heap))
        if not taken:
            return None
        alive = np.unpackbits(np.stack([one[4] for one in taken]), axis=1, count=self.leaves).astype(bool)
        low, high = np.stack([one[2] for one in taken]), np.stack([one[3] for one in taken])
        return _Boxes(low, high, alive, np.array([one[0] for one in taken]))

    @property
    def nearest(self) -> float:
        return self.heap[0][0] if self.heap else math.inf


@final
class _BestLeaves:
    """The leaves of all trees in the order of what they gain for one condition, the best of a tree first."""

    def __init__(self, cells: Cells, gain: Vector, base: float) -> None:
        leaves = len(gain)
        tree = np.searchsorted(cells.first, np.arange(leaves), side="right")
        order = np.lexsort([-gain, tree])
        place = np.empty(leaves, dtype=np.int32)
        place[order] = np.arange(leaves, dtype=np.int32)
        self.first, self.base, self.order = cells.first, base, order
        self.place, self.none = place, np.int32(leaves)
        # A tree of which no leaf is left is one that the choices of a box cannot pay for.
        self.gain = np.append(gain[order], -np.inf)

    def among(self, alive: Mask) -> NDArray[np.int32]:
        """Return the place of each tree's best leaf among those alive, [boxes, trees]."""
        places = np.where(alive, self.place, self.none)
        return np.asarray(np.minimum.reduceat(places, self.first, axis=1))

    def total(self, places: NDArray[np.int32]) -> Vector:
        """Return what the condition comes to with these leaves."""
        return np.asarray(self.gain[places].sum(axis=1) + self.base)


@final
class Search:
    """Branch and bound over the choices of one query."""

    def __init__(
        self, cells: Cells, metric: Metric, reached: Reached | None = None, deadline: float = math.inf
    ) -> None:
        self.cells = cells
        self.metric = metric
        self.reached = reached
        self.deadline = deadline
        self.unclear = math.inf
        self.spans = spans_of(cells)
        self.best_leaves = [_BestLeaves(cells, *one) for one in zip(cells.gain, cells.base, strict=True)]

    def run(self, best: float, work: int, pace: float = 0.0) -> Found:
        """Find a row cheaper than `best`, looking at no more than `work` boxes, or until the deadline.

        It ends after a tenth of the work or later where the bound falls behind `pace`: that share of the best
        cost, in proportion to the work done.
        """
        waiting = _Open(self.cells.gain.shape[1])
        waiting.push(self._hopeful(self._few_changed(self._everything())))
        row, done, best = None, 0, min(best, self.cells.reach)
        while done < work and not is_past(self.deadline):
            if 10 * done >= work and math.isfinite(best) and waiting.nearest < pace * best * done / work:
                break
            boxes = waiting.pop(min(best, self.unclear) * (1 - SAME))
            if boxes is None:
                break
            done += len(boxes.cost)
            boxes = self._hopeful(self._affordable(boxes, best))
            corner = np.clip(self.cells.home, boxes.low, boxes.high)
            inside = self.cells.active(corner)
            settled, rows, costs = self._settled(boxes, corner, self._hits(corner, inside), best)
            if len(costs) and costs.min() < best:
                row, best = rows[costs.argmin()], float(costs.min())
            if not settled.all():
                children = self._split(boxes.where(~settled), corner[~settled], inside[~settled])
                waiting.push(children.where(children.cost < best * (1 - SAME)))
        return Found(row, best, min(best, waiting.nearest, self.unclear), done)

    def _settled(
        self, boxes: _Boxes, corner: Integers, hit: Mask, best: float
    ) -> tuple[Mask, Matrix, Vector]:
        """Tell which boxes need no further look, and return the rows that their corners gave, with costs."""
        cells, region = self.cells, self.cells.region
        rows, costs = cells.rows(corner[hit]), boxes.cost[hit]
        single = (boxes.low == boxes.high).all(axis=1)
        if region.linear is None:
            return hit | single, rows, costs
        feasible = np.asarray(region.contains(rows), dtype=bool)
        settled = single.copy()
        settled[np.flatnonzero(hit)[feasible]] = True
        rows, costs = rows[feasible], costs[feasible]
        # The corner of a single cell breaks a linear row, but another of its rows may not.
        for i in np.flatnonzero(single & hit & ~region.contains(cells.rows(corner))):
            found = self._nearest_in_cell(corner[i], best)
            if found.row is not None:
                rows, costs = np.vstack([rows, found.row]), np.append(costs, found.cost)
            self.unclear = min(self.unclear, found.bound)
        return settled, rows, costs

    def _nearest_in_cell(self, choice: Integers, best: float) -> Result:
        """Return the row of a cell nearest to the query that meets the region's linear rows."""
        cells, region = self.cells, self.cells.region
        lower, upper, allowed = region.lower.copy(), region.upper.copy(), region.allowed.copy()
        keeps_x, x = region.keeps_x.copy(), region.x
        for j, one, k in zip(cells.columns, cells.options, choice, strict=True):
            keeps_x[j] &= bool(one.low[k] <= x[j] <= one.high[k])
            lower[j], upper[j] = max(lower[j], one.low[k]), min(upper[j], one.high[k])
            if lower[j] > upper[j]:
                # Of this cell only the query's own value is feasible, which may lie outside the bounds.
                lower[j] = upper[j] = x[j]
            if cells.coded[j]:
                allowed[j] = np.arange(allowed.shape[1]) == one.value[k]
        inside = replace(region, lower=lower, upper=upper, allowed=allowed, keeps_x=keeps_x)
        codes = region.allowed.shape[1]
        # A missing level stays missing, and is none of them.
        coded = np.flatnonzero(cells.coded & ~np.isnan(x))
        no_demands = Demands(
            weight=np.zeros((0, len(x))),
            tables={int(j): np.zeros((0, codes)) for j in coded},
            offset=np.zeros(0),
            slack=0.0,
        )
        return nearest_row(no_demands, inside, self.metric, best, Work(_RELAXATIONS, self.deadline))

    def _everything(self) -> _Boxes:
        cells = self.cells
        low = np.zeros((1, len(cells.options)), dtype=np.int64)
        high = np.array([[len(one.cost) - 1 for one in cells.options]], dtype=np.int64)
        return _Boxes(
            low, high, np.ones((1, cells.gain.shape[1]), dtype=bool), cells.cost(cells.home[None, :])
        )

    def _affordable(self, boxes: _Boxes, best: float) -> _Boxes:
        """Take out of each box the options that alone make it cost as much as the best row known."""
        cells = self.cells
        if math.isinf(best) or not len(boxes.cost):
            return boxes
        low, high, alive = boxes.low.copy(), boxes.high.copy(), boxes.alive.copy()
        for j, (one, home) in enumerate(zip(cells.options, cells.home, strict=True)):
            corner = np.clip(home, low[:, j], high[:, j])
            budget = best - boxes.cost + one.cost[corner]
            # Costs fall toward the cheapest option and rise behind it.
            last = home + np.searchsorted(one.cost[home:], budget, side="left") - 1
            first = home + 1 - np.searchsorted(one.cost[home::-1], budget, side="left")
            high[:, j] = np.maximum(corner, np.minimum(high[:, j], last))
            low[:, j] = np.minimum(corner, np.maximum(low[:, j], first))
            narrower = np.flatnonzero((low[:, j] > boxes.low[:, j]) | (high[:, j] < boxes.high[:, j]))
            if len(narrower):
                alive[narrower] &= self.spans.touched(j, low[narrower, j], high[narrower, j])
        return _Boxes(low, high, alive, boxes.cost)

    def _few_changed(self, boxes: _Boxes) -> _Boxes:
        """Drop boxes that change too many columns; where no more may change, the others are as they are."""
        cells = self.cells
        if cells.changes_left is None or not len(boxes.cost):
            return boxes
        forced = (cells.own < boxes.low) | (cells.own > boxes.high)
        count = forced.sum(axis=1)
        boxes, forced, count = (
            boxes.where(count <= cells.changes_left),
            forced[count <= cells.changes_left],
            count[count <= cells.changes_left],
        )
        full = (count == cells.changes_left)[:, None] & ~forced & (boxes.low < boxes.high)
        low, high = np.where(full, cells.own, boxes.low), np.where(full, cells.own, boxes.high)
        alive = boxes.alive.copy()
        for j in np.flatnonzero(full.any(axis=0)):
            alive[full[:, j]] &= cells.options[j].fits[cells.own[j]]
        return _Boxes(low, high, alive, boxes.cost)

    def _hits(self, corner: Integers, inside: Mask) -> Mask:
        """Tell which choices, in these leaves, reach the goal; the model is asked where rounding decides."""
        cells = self.cells
        margin = cells.margin_in(inside)
        hit = margin >= cells.slack
        close = ~hit & (margin >= -cells.slack)
        if close.any() and self.reached is not None:
            hit[close] = self.reached(cells.rows(corner[close]))
        elif close.any():
            self.unclear = min(self.unclear, float(cells.cost(corner[close]).min()))
        return np.asarray(hit)

    def _hopeful(self, boxes: _Boxes) -> _Boxes:
        """Drop boxes in which the best leaf of each tree does not reach some condition."""
        for one in self.best_leaves:
            boxes = boxes.where(one.total(one.among(boxes.alive)) >= -self.cells.slack)
        return boxes

    def _split(self, boxes: _Boxes, corner: Integers, inside: Mask) -> _Boxes:
        """Split each box in the column where keeping to the corner costs the most hope."""
        column = self._decisive(boxes, corner, inside)
        n = np.arange(len(column))
        at = corner[n, column]
        near, left, right = (boxes.where(n) for _ in range(3))
        near.low[n, column] = near.high[n, column] = at
        left.high[n, column] = at - 1
        right.low[n, column] = at + 1
        children = _joined([near, left, right])
        columns = np.tile(column, 3)
        exists = children.low[np.arange(3 * len(n)), columns] <= children.high[np.arange(3 * len(n)), columns]
        children = self._updated(children.where(exists), columns[exists])
        return self._hopeful(self._few_changed(children))

    def _decisive(self, boxes: _Boxes, corner: Integers, inside: Mask) -> Integers:
        """Return the column of each box whose option at the corner keeps it from the most gain.

        That is added up over trees: what the best leaf that the box touches gains over the leaf of the
        corner counts for every column in which the corner lies outside of the best leaf.
        """
        lost = np.zeros(boxes.low.shape)
        places = [one.among(boxes.alive) for one in self.best_leaves]
        totals = [one.total(place) for one, place in zip(self.best_leaves, places, strict=True)]
        worst = np.argmin(totals, axis=0) if totals else np.full(len(lost), -1)
        for number, (one, place) in enumerate(zip(self.best_leaves, places, strict=True)):
            mine = np.flatnonzero(worst == number)
            best = place[mine]
            missed = one.gain[best] - one.gain[one.among(inside[mine])]
            leaf = one.order[best]
            for j, options in enumerate(self.cells.options):
                outside = ~options.fits[corner[mine, j, None], leaf]
                lost[mine, j] = (outside * missed).sum(axis=1)
        lost[boxes.low == boxes.high] = -1.0
        return np.asarray(lost.argmax(axis=1))

    def _updated(self, boxes: _Boxes, column: Integers) -> _Boxes:
        """Return boxes that were narrowed in one column each with their leaves and costs set right."""
        cells = self.cells
        alive = boxes.alive.copy()
        for j in np.unique(column):
            mine = np.flatnonzero(column == j)
            alive[mine] &= self.spans.touched(int(j), boxes.low[mine, j], boxes.high[mine, j])
        cost = cells.cost(np.clip(cells.home, boxes.low, boxes.high))
        return _Boxes(boxes.low, boxes.high, alive, cost)


def _joined(parts: list[_Boxes]) -> _Boxes:
    return _Boxes(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.alive for part in parts]),
        np.concatenate([part.cost for part in parts]),
    )
