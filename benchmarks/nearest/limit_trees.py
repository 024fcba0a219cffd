"""Limits of tree ensembles: the nearest cell of their splits that reaches the target, found with CP-SAT.

Each column gets one yes-or-no variable a threshold, "the cell lies above it", each tree one a leaf. Distances
add up over thresholds: crossing the next one costs the difference. So squared L2 and L1 are both linear.
The margin is asked to be positive by more than the rounding of its integer form, 1e-7 a tree. Class 0 also
wins ties, which forests have: for it the margin may be 0 or a rounding below, and only a row that the model
itself puts into class 0 counts.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.whitebox import Ensemble, Leaf, ensemble
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Norm = Literal["l2", "l1"]

WORKERS = 8
"""CP-SAT's strategies: even on one core, eight side by side prove in seconds what one cannot in minutes."""

_COST_UNIT = 1e7
_MARGIN_UNIT = 1e7


class Solved(NamedTuple):
    """The nearest row found, and whether the solver showed that none is nearer."""

    row: Matrix | None
    proved: bool


@dataclass(frozen=True)
class _Split:
    """A threshold of a column that an answer nearer than the known one may cross."""

    column: int
    threshold: float
    upward: bool
    value: float
    cost: float


def nearest_cell(case: Case, i: int, norm: Norm, known: Matrix | None, seconds: float) -> Solved:
    """The nearest row of query `i`; `known`, where there is one, reaches the target and is the bound."""
    opened = ensemble(case)
    bound = np.inf if known is None else _length(case, i, norm, known) * (1 + 1e-9)
    program = _Program(case, i, opened, _splits(case, i, opened, norm, bound), bound)
    if known is not None:
        program.hint(known)
    return program.solve(seconds)


def _length(case: Case, i: int, norm: Norm, z: Matrix) -> float:
    """The distance as it adds up over columns: squared for L2."""
    if norm == "l2":
        return float(case.distance(case.X[i], z)) ** 2
    return float(case.distance_l1(case.X[i], z))


def _splits(case: Case, i: int, opened: Ensemble, norm: Norm, bound: float) -> dict[int, list[_Split]]:
    """The thresholds of each column that can be crossed within bounds and distance, in ascending order."""
    thresholds: dict[int, set[float]] = defaultdict(set)
    for tree in opened.trees:
        for leaf in tree:
            for column, threshold, _ in leaf.path:
                thresholds[column].add(threshold)
    power = 2 if norm == "l2" else 1
    found = {}
    for column, values in thresholds.items():
        x = _seen(case.X[i][column], opened.single)
        options = [
            _split(case, i, column, threshold, x, opened.single, power) for threshold in sorted(values)
        ]
        low, high = case.low[i][column], case.high[i][column]
        found[column] = [one for one in options if low <= one.value <= high and one.cost <= bound]
    return found


def _split(case: Case, i: int, column: int, threshold: float, x: float, single: bool, power: int) -> _Split:
    upward = x <= threshold
    if case.is_whole[column]:
        value = float(np.floor(threshold)) + upward
    else:
        value = first_above(threshold, single) if upward else last_below(threshold, single)
    return _Split(
        column, threshold, upward, value, (abs(value - case.X[i][column]) / case.scale[column]) ** power
    )


def _seen(cell: float, single: bool) -> float:
    return float(np.float32(cell)) if single else float(cell)


def first_above(threshold: float, single: bool) -> float:
    if not single:
        return float(np.nextafter(threshold, np.inf))
    nearest = np.float32(threshold)
    return float(nearest if float(nearest) > threshold else np.nextafter(nearest, np.float32(np.inf)))


def last_below(threshold: float, single: bool) -> float:
    if not single:
        return threshold
    nearest = np.float32(threshold)
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))


class _Program:
    """The integer program of one query."""

    def __init__(
        self, case: Case, i: int, opened: Ensemble, splits: dict[int, list[_Split]], bound: float
    ) -> None:
        from ortools.sat.python import cp_model

        self.case, self.i, self.opened, self.splits = case, i, opened, splits
        self.model = cp_model.CpModel()
        self.crossed = {
            (one.column, one.threshold): self.model.new_bool_var("")
            for group in splits.values()
            for one in group
        }
        self.leaves: list[tuple[Leaf, Any]] = []
        self._order_crossings()
        margin = sum(self._add_tree(tree, bound) for tree in opened.trees)
        sign = 1 if case.one_target == 1 else -1
        shift = sign * opened.constant
        self.model.add(sign * margin >= self._integer(-shift) + sign * (len(opened.trees) + 1))
        self._minimize()

    def _order_crossings(self) -> None:
        """Crossing a farther threshold means crossing the nearer ones; a column moves one way only."""
        for group in self.splits.values():
            up = [one for one in group if one.upward]
            down = [one for one in reversed(group) if not one.upward]
            for side in (up, down):
                for nearer, farther in pairwise(side):
                    self.model.add_implication(self._var(farther), self._var(nearer))
                    # no legal value lies between them
                    if nearer.value == farther.value:
                        self.model.add_implication(self._var(nearer), self._var(farther))
            if up and down:
                self.model.add_bool_or([~self._var(up[0]), ~self._var(down[0])])

    def _var(self, split: _Split) -> Any:
        return self.crossed[split.column, split.threshold]

    def _add_tree(self, tree: tuple[Leaf, ...], bound: float) -> Any:
        """Add one variable a leaf that can be reached; return the tree's share of the margin."""
        kept = [leaf for leaf in tree if self._is_within(leaf, bound)]
        chosen = [(leaf, self.model.new_bool_var("")) for leaf in kept]
        self.leaves += chosen
        self.model.add_exactly_one(var for _, var in chosen)
        under: dict[Any, list[Any]] = defaultdict(list)
        for leaf, var in chosen:
            for depth in range(len(leaf.path)):
                under[leaf.path[: depth + 1]].append(var)
        for path, members in under.items():
            literal = self._literal(*path[-1])
            if literal is not True:
                self.model.add(sum(members) <= literal)
        return sum(self._integer(leaf.value) * var for leaf, var in chosen)

    def _literal(self, column: int, threshold: float, above: bool) -> Any:
        """The condition of a branch: True where it always holds, None where it never does, or a variable."""
        starts_above = _seen(self.case.X[self.i][column], self.opened.single) > threshold
        var = self.crossed.get((column, threshold))
        if var is None:
            return True if above == starts_above else None
        return ~var if above == starts_above else var

    def _is_within(self, leaf: Leaf, bound: float) -> bool:
        cost = self._least_cost(leaf)
        return bool(np.isfinite(cost)) and cost <= bound

    def _least_cost(self, leaf: Leaf) -> float:
        """What it costs at least to reach a leaf; infinite where a split on its way cannot be crossed."""
        cost: dict[int, float] = defaultdict(float)
        by_threshold = self._cost_by_threshold
        for column, threshold, above in leaf.path:
            literal = self._literal(column, threshold, above)
            if literal is None:
                return np.inf
            starts_above = _seen(self.case.X[self.i][column], self.opened.single) > threshold
            if above != starts_above:
                cost[column] = max(cost[column], by_threshold[column, threshold])
        return sum(cost.values())

    @cached_property
    def _cost_by_threshold(self) -> dict[tuple[int, float], float]:
        return {(one.column, one.threshold): one.cost for group in self.splits.values() for one in group}

    def _integer(self, margin: float) -> int:
        return round(margin * _MARGIN_UNIT)

    def _minimize(self) -> None:
        terms = []
        for group in self.splits.values():
            for side in (
                [one for one in group if one.upward],
                [one for one in reversed(group) if not one.upward],
            ):
                before = 0
                for one in side:
                    cost = round(one.cost * _COST_UNIT)
                    terms.append((cost - before) * self._var(one))
                    before = cost
        self.model.minimize(sum(terms))

    def hint(self, z: Matrix) -> None:
        """Tell the solver a row that reaches the target."""
        seen = z.astype(np.float32).astype(float) if self.opened.single else z
        for group in self.splits.values():
            for one in group:
                crossed = (seen[one.column] > one.threshold) == one.upward
                self.model.add_hint(self._var(one), crossed)
        for leaf, var in self.leaves:
            self.model.add_hint(var, all((seen[c] > t) == above for c, t, above in leaf.path))

    def solve(self, seconds: float) -> Solved:
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = WORKERS
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return Solved(None, True)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Solved(None, False)
        row = self._row(solver)
        if not self.case.reaches(row[None], [self.i])[0]:
            return Solved(None, False)
        return Solved(row, status == cp_model.OPTIMAL)

    def _row(self, solver: Any) -> Matrix:
        z = self.case.X[self.i].copy()
        for column, group in self.splits.items():
            crossed = [one for one in group if solver.boolean_value(self._var(one))]
            if crossed:
                z[column] = max(crossed, key=lambda one: one.cost).value
        return np.asarray(z)
