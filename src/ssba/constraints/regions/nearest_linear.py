"""The nearest row that meets linear conditions: duality for numbers, branching for levels and steps."""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ssba.arrays import Mask, Matrix, Vector
from ssba.columns.distance import Metric
from ssba.constraints.regions.polytope import bound_l1, bound_l2, nearest_l1, nearest_l2
from ssba.constraints.regions.region import Region
from ssba.interrupts import is_past

Reached = Callable[[Matrix], Mask]

# How far past the solver's point a row is tried, as shares of the whole move, where rounding keeps it
# from reaching.
_HAIRS = (0.0, 1e-12, 1e-10, 1e-8, 3e-7, 1e-5)
# Bounds beyond this are none.
_FAR = 1e15
# Rows so near to a tie that the model has to decide: no more of them are asked in one search.
_MOST_ASKED = 32
# Bounds this near to the best cost, as a share of it, are worth no further look.
_SAME = 1e-9


@final
@dataclass(frozen=True)
class Demands:
    """What a row must meet: ``weight @ z + tables + offset >= slack`` for each condition.

    `weight` is [conditions, columns], zero where a column has levels; `tables` give [conditions, codes].
    Sums below `-slack` are certain to miss, sums above `slack` certain to meet; between, the model decides.
    """

    weight: Matrix
    tables: dict[int, Matrix]
    offset: Vector
    slack: float

    def margin(self, z: Vector) -> float:
        """Return how far the worst condition of a row is above 0."""
        coded = list(self.tables)
        numbers = z.copy()
        numbers[coded] = 0.0
        sums = self.weight @ np.where(np.isnan(numbers), 0.0, numbers) + self.offset
        for j in coded:
            sums = sums + self.tables[j][:, int(z[j])]
        return float(sums.min(initial=math.inf))


@final
@dataclass(frozen=True)
class Result:
    """The nearest row found, its cost, and a cost below which there is none."""

    row: Vector | None
    cost: float
    bound: float
    relaxations: int


@final
@dataclass(frozen=True)
class _Node:
    """Bounds of the columns of numbers, and the codes still open in each column of levels."""

    low: Vector
    high: Vector
    codes: tuple[tuple[float, ...], ...]


@final
@dataclass(frozen=True)
class Work:
    """What a search may spend: relaxations, and time up to a moment of `time.monotonic`."""

    relaxations: int = 1000
    deadline: float = math.inf


def nearest_row(
    demands: Demands,
    region: Region,
    metric: Metric,
    best: float = math.inf,
    work: Work | None = None,
    reached: Reached | None = None,
) -> Result:
    """Find the feasible row of least cost that meets all demands.

    Costs are distances, squared for L2. `best` is the cost of a row known already. Rows so near to a tie
    that rounding decides are shown to `reached`, which asks the model itself, up to 32 of them; others are
    no answers, and no bound goes beyond them.
    """
    return _Search(demands, region, metric, reached).run(best, work or Work())


def no_demands(region: Region) -> Demands:
    """Return demands that every row meets, for those who look for the nearest feasible row."""
    codes = np.zeros((0, region.allowed.shape[1]))
    tables = {int(j): codes for j in np.flatnonzero(region.discrete & ~region.held)}
    return Demands(np.zeros((0, len(region.x))), tables, np.zeros(0), 0.0)


@final
class _Search:
    """Branch and bound for one region; numbers are counted from the query in units of the metric."""

    def __init__(self, demands: Demands, region: Region, metric: Metric, reached: Reached | None) -> None:
        self.demands, self.region, self.metric, self.reached = demands, region, metric, reached
        self.asked: dict[bytes, bool] = {}
        self.code_costs: dict[tuple[int, tuple[float, ...]], Vector] = {}
        self.coded = sorted(demands.tables)
        is_coded = np.zeros(len(region.x), dtype=bool)
        is_coded[self.coded] = True
        self.numbers = np.flatnonzero(~(is_coded | region.held))
        self.constants = np.where(region.held & ~is_coded & ~np.isnan(region.x), region.x, 0.0)
        self.unit = (metric.scale / metric.weight)[self.numbers]
        self.home = region.x[self.numbers]
        self.stepped = region.grid.stepped[self.numbers]

    def run(self, best: float, work: Work) -> Result:
        row: Vector | None = None
        waiting: list[tuple[float, int, _Node]] = [(0.0, 0, self._root())]
        settled, serial, done = math.inf, 0, 0
        while waiting and waiting[0][0] < best * (1 - _SAME):
            if done >= work.relaxations or is_past(work.deadline):
                break
            _, _, node = heapq.heappop(waiting)
            done += 1
            relaxed = self._relaxed(node)
            if relaxed.bound >= best * (1 - _SAME):
                continue
            only = self._only_row(node)
            candidates = self._rows_near(relaxed.point, node) if only is None else only[None, :]
            if (answer := self._first_answer(candidates, best)) is not None:
                row, best = answer
            if only is not None and self._is_decided(only):
                continue
            children = self._split(node, relaxed.point)
            if not children:
                settled = min(settled, relaxed.bound)
            for child in children:
                serial += 1
                heapq.heappush(waiting, (relaxed.bound, serial, child))
        left = waiting[0][0] if waiting else math.inf
        return Result(row, best, min(best, settled, left), done)

    def _only_row(self, node: _Node) -> Vector | None:
        """Return the row of a node that holds a single one."""
        if (node.low < node.high).any() or any(len(codes) > 1 for codes in node.codes):
            return None
        row = self.region.x.copy()
        row[self.coded] = [codes[0] for codes in node.codes]
        row[self.numbers] = node.low
        return np.asarray(row)

    def _is_decided(self, row: Vector) -> bool:
        """Tell whether it is certain that a row is, or is not, an answer."""
        if not self.region.may_contain(row[None, :])[0]:
            return True
        return bool(self.region.contains(row[None, :])[0]) and self._meets(row) is not None

    def _meets(self, row: Vector) -> bool | None:
        """Tell whether a row meets the demands; None where only the model could tell, and it is not asked."""
        margin = self.demands.margin(row)
        if abs(margin) >= self.demands.slack:
            return margin >= 0
        key = row.tobytes()
        if key not in self.asked and self.reached is not None and len(self.asked) < _MOST_ASKED:
            self.asked[key] = bool(self.reached(row[None, :])[0])
        return self.asked.get(key)

    def _root(self) -> _Node:
        region, at = self.region, self.numbers
        low, high = region.lower[at], region.upper[at]
        own = region.keeps_x[at]
        low = np.where(own, np.fmin(low, self.home), low)
        high = np.where(own, np.fmax(high, self.home), high)
        # What a dtype can hold is no bound to a solver.
        low, high = np.where(low < -_FAR, -np.inf, low), np.where(high > _FAR, np.inf, high)
        return _Node(low, high, tuple(self._codes(j) for j in self.coded))

    def _codes(self, j: int) -> tuple[float, ...]:
        """Return the codes to choose from in a column: the cheapest will do where no sum depends on them."""
        codes = allowed_codes(self.region, j)
        rows = self.region.linear
        if self._spread(j, codes) > 0 or (rows is not None and rows.A[:, j].any()):
            return codes
        return (self._likely_code(j, codes),)

    def _relaxed(self, node: _Node) -> "_Relaxed":
        """Solve a node as if steps were real numbers, and each demand had its pick of the levels left."""
        demands, rows, at = self.demands, self.region.linear, self.numbers
        G = demands.weight[:, at] * self.unit
        sums = demands.weight[:, at] @ self.home + demands.weight @ self.constants + demands.offset
        for j, codes in zip(self.coded, node.codes, strict=True):
            sums = sums + demands.tables[j][:, np.array(codes, dtype=int)].max(axis=1)
        aimed, certain = demands.slack - sums, -demands.slack - sums
        if rows is not None:
            used = rows.A[:, at] @ self.home
            for j, codes in zip(self.coded, node.codes, strict=True):
                used = used + (rows.A[:, [j]] * np.array(codes)).min(axis=1)
            G = np.vstack([G, -rows.A[:, at] * self.unit])
            aimed, certain = np.append(aimed, used - rows.aim), np.append(certain, used - rows.certain)
        low, high = (node.low - self.home) / self.unit, (node.high - self.home) / self.unit
        solve, bounded = (nearest_l2, bound_l2) if self.metric.adds_squares else (nearest_l1, bound_l1)
        nearest = solve(G, aimed, low, high)
        if nearest.point is None:
            # What is aimed at lies a rounding error inside: only what holds for certain rules a node out.
            nearest = solve(G, certain, low, high)
        if nearest.empty:
            return _Relaxed(None, math.inf)
        bound = bounded(nearest, G, certain, low, high)
        return _Relaxed(nearest.point, bound + self._cost_of_levels(node))

    def _cost_of_levels(self, node: _Node) -> float:
        pairs = zip(self.coded, node.codes, strict=True)
        return float(sum(self._code_costs(j, codes).min() for j, codes in pairs))

    def _code_costs(self, j: int, codes: tuple[float, ...]) -> Vector:
        if (j, codes) not in self.code_costs:
            rows = np.tile(self.region.x, (len(codes), 1))
            rows[:, j] = codes
            parts = np.asarray(self.metric.parts(rows, self.region.x))[:, j]
            self.code_costs[j, codes] = np.asarray(self.metric.cost(parts))
        return self.code_costs[j, codes]

    def _rows_near(self, point: Vector | None, node: _Node) -> Matrix:
        """Return legal rows at a relaxed point and a hair beyond it, in the order in which they are tried."""
        x, grid = self.region.x, self.region.grid
        if point is None:
            return np.empty((0, len(x)))
        # What is left of a solver's zeros would change cells that need not change.
        point = np.where(np.abs(point) <= 1e-12 * np.abs(point).max(initial=0.0), 0.0, point)
        # Only scores are so near to a tie that a hair decides.
        hairs = np.array(_HAIRS if len(self.demands.offset) else _HAIRS[:1])
        rows = np.tile(x, (len(hairs), 1))
        rows[:, self.coded] = [
            self._likely_code(j, codes) for j, codes in zip(self.coded, node.codes, strict=True)
        ]
        moved = self.home + point * (1 + hairs[:, None]) * self.unit
        rows[:, self.numbers] = np.clip(moved, node.low, node.high)
        legal = [self.region.snap(rows)]
        if self.stepped.any():
            legal.append(self.region.snap(np.where(rows < x, grid.floor(rows), grid.ceil(rows))))
        if self.region.linear is not None:
            legal.append(self.region.pull_in(rows)[0])
        return np.stack(legal, axis=1).reshape(-1, len(x))

    def _likely_code(self, j: int, codes: tuple[float, ...]) -> float:
        return codes[int(np.argmin(self._code_costs(j, codes)))]

    def _first_answer(self, rows: Matrix, best: float) -> tuple[Vector, float] | None:
        """Return the first of some rows that is an answer below the best cost, and its cost."""
        costs = np.asarray(self.metric.cost(self.metric.distance(rows, self.region.x)))
        cheaper = np.flatnonzero(costs < best)
        for i in cheaper[np.asarray(self.region.contains(rows[cheaper]))].tolist():
            if self._meets(rows[i]):
                return rows[i], float(costs[i])
        return None

    def _split(self, node: _Node, point: Vector | None) -> list[_Node]:
        """Return the parts of a node whose relaxed point is no legal row yet; none where nothing is open."""
        several = [k for k, codes in enumerate(node.codes) if len(codes) > 1]
        if several:
            k = max(several, key=lambda k: self._spread(self.coded[k], node.codes[k]))
            return [replace(node, codes=_with(node.codes, k, (code,))) for code in node.codes[k]]
        if point is None:
            return self._halved(node)
        value = np.clip(self.home + point * self.unit, node.low, node.high)
        full = self.region.x.copy()
        full[self.numbers] = value
        grid = self.region.grid
        below, above = grid.floor(full)[self.numbers], grid.ceil(full)[self.numbers]
        off = np.minimum(value - below, above - value) / self.unit
        off = np.where(self.stepped & (value != self.home) & (node.low < node.high), off, 0.0)
        if not off.max(initial=0.0) > 1e-9:
            return self._around(node, value)
        j = int(off.argmax())
        parts = [(node.low[j], below[j]), (above[j], node.high[j])]
        if below[j] < self.home[j] < above[j] and self.region.keeps_x[self.numbers[j]]:
            parts.append((self.home[j], self.home[j]))
        return _parts(node, j, parts)

    def _widest_step(self, node: _Node) -> int | None:
        """Return the stepped column with the most room; None where every one of them has a single value."""
        room = np.where(self.stepped, (node.high - node.low) / self.unit, 0.0)
        return int(room.argmax()) if room.max(initial=0.0) > 0 else None

    def _halved(self, node: _Node) -> list[_Node]:
        """Split a node of which no relaxed point is known in the middle of its widest column of steps."""
        j = self._widest_step(node)
        if j is None:
            return []
        low, high = node.low[j], node.high[j]
        has_ends = math.isfinite(low) and math.isfinite(high)
        middle = 0.5 * (low + high) if has_ends else self.home[j]
        if not low < middle < high:
            middle = low if math.isfinite(low) else high
        return self._at(node, j, middle)

    def _around(self, node: _Node, value: Vector) -> list[_Node]:
        """Split a node whose relaxed point is legal, yet no answer, at that point."""
        j = self._widest_step(node)
        # Once the model is not asked any more, smaller parts tell no more than this one.
        if j is None or len(self.asked) >= _MOST_ASKED:
            return []
        return self._at(node, j, value[j])

    def _at(self, node: _Node, j: int, value: float) -> list[_Node]:
        """Split a column of steps at a value: what lies below, the value itself, what lies above."""
        column = self.numbers[j]
        full = self.region.x.copy()
        full[column] = value
        grid = self.region.grid
        here = float(grid.floor(full)[column])
        full[column] = math.nextafter(here, -math.inf)
        below = float(grid.floor(full)[column])
        full[column] = math.nextafter(here, math.inf)
        above = float(grid.ceil(full)[column])
        own = self.home[j]
        singles = {here}
        if self.region.keeps_x[column] and (below < own < here or here < own < above):
            singles.add(float(own))
        parts = [(node.low[j], below), (above, node.high[j]), *((one, one) for one in sorted(singles))]
        return _parts(node, j, [(max(low, node.low[j]), min(high, node.high[j])) for low, high in parts])

    def _spread(self, j: int, codes: Sequence[float]) -> float:
        gains = self.demands.tables[j][:, np.array(codes, dtype=int)]
        return float(np.ptp(gains, axis=1).max(initial=0.0))


@final
@dataclass(frozen=True)
class _Relaxed:
    point: Vector | None
    bound: float


def allowed_codes(region: Region, j: int) -> tuple[float, ...]:
    """Return the codes that a column of levels may take, the query's own among them where it is feasible."""
    if region.held[j]:
        return (float(region.x[j]),)
    codes = {float(code) for code in np.flatnonzero(region.allowed[j])}
    if not region.discrete[j]:
        codes = {code for code in codes if region.lower[j] <= code <= region.upper[j]}
    if region.keeps_x[j]:
        codes.add(float(region.x[j]))
    return tuple(sorted(codes))


def _with(
    codes: tuple[tuple[float, ...], ...], k: int, chosen: tuple[float, ...]
) -> tuple[tuple[float, ...], ...]:
    return (*codes[:k], chosen, *codes[k + 1 :])


def _parts(node: _Node, j: int, parts: Sequence[tuple[float, float]]) -> list[_Node]:
    return [
        replace(node, low=_with_cell(node.low, j, low), high=_with_cell(node.high, j, high))
        for low, high in parts
        if low <= high
    ]


def _with_cell(values: Vector, j: int, value: float) -> Vector:
    changed = values.copy()
    changed[j] = value
    return changed
