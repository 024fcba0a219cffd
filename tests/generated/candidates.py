"""Rows to hold against a claim: all legal ones where these are few, else many drawn near the query."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from tests.generated.clauses import Linear
from tests.generated.columns import Column, Matrix
from tests.generated.truth import Truth
from tests.generated.verdicts import NO

MOST_ROWS = 40_000
"""How many rows are listed at most; worlds with more are attacked at random."""

# Where a column has no end, so many steps beyond what a rule asks are listed.
_BEYOND = 12
_BATCH = 20_000


@dataclass(frozen=True, eq=False)
class Listed:
    """Feasible rows of a world, all of them if `is_complete`, with their distances; nearest first."""

    rows: Matrix
    distances: Matrix
    is_complete: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """Feasible rows of a world."""

    truth: Truth

    @cached_property
    def listed(self) -> Listed | None:
        """The feasible rows one by one; None where they are too many, or some column is continuous."""
        values = [self._values(j) for j in range(len(self.truth.world.columns))]
        if any(one is None for one in values):
            return None
        columns = [self._allowed(j, one[0]) for j, one in enumerate(values) if one is not None]
        if math.prod(map(len, columns)) > MOST_ROWS:
            return None
        rows = np.array(list(itertools.product(*columns)), dtype=np.float64).reshape(-1, len(columns))
        rows = rows[self.truth.feasible(rows)]
        distances = self.truth.distance(rows)
        order = np.argsort(distances, kind="stable")
        return Listed(rows[order], distances[order], all(one[1] for one in values if one is not None))

    def _values(self, j: int) -> tuple[Matrix, bool] | None:
        """Return the values a column may take, and whether these are all; None for a continuum."""
        truth = self.truth
        column, now = truth.world.columns[j], float(truth.world.query[j])
        if truth.is_constant[j] or (math.isnan(now) and not truth.may_fill[j]):
            return np.array([now]), True
        if column.levels:
            return np.unique(np.r_[np.arange(len(column.levels)), now]), True
        pinned = self._pinned(j)
        if pinned is not None:
            return np.unique(np.r_[column.stored(pinned), now]), True
        if not column.is_stepped:
            return None
        low, high, complete = self._span(j)
        return np.unique(np.r_[column.grid(low, high), now]), complete

    def _allowed(self, j: int, values: Matrix) -> Matrix:
        """Return the values that no rule about this column alone forbids."""
        world = self.truth.world
        rows = np.repeat(world.query[None, :], len(values), axis=0)
        rows[:, j] = values
        kept = np.ones(len(values), dtype=bool)
        for rule in world.rules:
            if rule.names == (world.names[j],):
                kept &= rule.truth(world.ground, rows) != NO
        return values[kept]

    def _pinned(self, j: int) -> Matrix | None:
        """Return the few values that a rule without a guard leaves a column, if it does."""
        least, most = self.truth.asked[j]
        if least is not None and least == most and not self.truth.world.columns[j].is_stepped:
            return np.array([least])
        return None

    def _span(self, j: int) -> tuple[float, float, bool]:
        """Return from where to where a column's steps are listed, and whether that is all."""
        truth, column = self.truth, self.truth.world.columns[j]
        ends = [truth.defaults[0][j], truth.defaults[1][j]]
        for rule in truth.world.rules:
            for clause in rule.clauses:
                sides = clause.asks(truth.world.ground).get(column.name, (None, None))
                ends += [side for side in sides if side is not None]
        stretch = truth.stretches.get(j)
        if stretch is not None and math.isfinite(stretch.low):
            ends += [stretch.low, stretch.high]
        low, high = min(ends), max(ends)
        is_open = j in truth.stretches or any(rule.guard for rule in truth.world.rules)
        opens_low, opens_high = truth.opened[j]
        opens_low, opens_high = opens_low or is_open, opens_high or is_open
        low -= _BEYOND * float(column.unit) * opens_low
        high += _BEYOND * float(column.unit) * opens_high
        bounds = column.limits()
        complete = (not opens_low or low <= bounds[0]) and (not opens_high or high >= bounds[1])
        return max(low, bounds[0]), min(high, bounds[1]), complete

    def attack(self, radius: float, count: int, seed: int, around: Matrix) -> Iterator[Matrix]:
        """Yield batches of feasible rows nearer than a radius; `around` are rows worth starting from."""
        rng = np.random.default_rng([seed, 7])
        listed = self.listed
        if listed is not None:
            yield listed.rows[listed.distances < radius]
            return
        for _ in range(math.ceil(count / _BATCH)):
            rows = self._drawn(rng, radius, min(count, _BATCH), around)
            rows = rows[self.truth.distance(rows) < radius]
            yield rows[self.truth.feasible(rows)]

    def _drawn(self, rng: np.random.Generator, radius: float, count: int, around: Matrix) -> Matrix:
        """Return rows near the query: some cells changed, to special values or by as much as allowed."""
        truth = self.truth
        x, width = truth.world.query, len(truth.world.query)
        start = np.where(rng.random((count, 1)) < 0.5, x, around[rng.integers(len(around), size=count)])
        size = min(radius, 1e6) * rng.random((count, 1)) ** (1 / width)
        way = rng.normal(size=(count, width))
        way /= np.sqrt((way * way).sum(axis=1, keepdims=True))
        small = rng.random((count, 1)) < 0.3
        moved = start + np.where(small, 0.02, 1.0) * way * size * truth.scales / truth.weights
        touched = rng.random((count, width)) < rng.choice([0.3, 0.6, 1.0], size=(count, 1))
        Z = np.where(touched, moved, start)
        for j, column in enumerate(truth.world.columns):
            Z[:, j] = self._settled(rng, j, column, Z[:, j])
        for clause in self._relations:
            Z = self._repaired(rng, clause, Z)
        return self._pulled(rng, Z, radius)

    def _settled(self, rng: np.random.Generator, j: int, column: Column, cells: Matrix) -> Matrix:
        """Return legal cells: some special ones, the others on the grid and in range."""
        truth, count = self.truth, len(cells)
        now = float(truth.world.query[j])
        if truth.is_constant[j] or (math.isnan(now) and not truth.may_fill[j]):
            return np.full(count, now)
        special = self._special[j]
        use = rng.random(count) < (0.6 if column.levels else 0.35)
        cells = np.where(use | np.isnan(cells), special[rng.integers(len(special), size=count)], cells)
        low, high = (side[j] for side in truth.box)
        kept = np.clip(cells, low, high)
        if not column.levels:
            kept = np.where(use, kept, column.snapped(kept))
        stay = rng.random(count) < 0.15
        return np.where(stay | ~column.on_grid(kept), now, kept)

    @cached_property
    def _special(self) -> list[Matrix]:
        """Values at which something may happen: the query's, ends of ranges, split values, levels."""
        truth, found = self.truth, []
        splits = split_values(truth.world.built, len(truth.world.columns))
        for j, column in enumerate(truth.world.columns):
            if column.levels:
                found.append(np.arange(len(column.levels), dtype=np.float64))
                continue
            ends = [truth.box[0][j], truth.box[1][j], truth.defaults[0][j], truth.defaults[1][j]]
            near = np.array([end for end in (truth.world.query[j], *ends) if math.isfinite(end)] or [0.0])
            near = np.concatenate([near, splits[j]])
            near = np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)])
            single = splits[j].astype(np.float32)
            for toward in (-np.inf, np.inf):
                single_next = np.nextafter(single, np.float32(toward))
                near = np.concatenate([near, single_next.astype(np.float64)])
            if column.is_stepped:
                unit = float(column.unit)
                near = np.concatenate(
                    [column.snapped(near + shift * unit) for shift in (-1, -0.5, 0, 0.5, 1)]
                )
            found.append(np.unique(column.stored(near)))
        return found

    @cached_property
    def _relations(self) -> list[Linear]:
        rules = [rule for rule in self.truth.world.rules if not rule.guard]
        clauses = [one for rule in rules for one in rule.clauses]
        return [one for one in clauses if isinstance(one, Linear) and len(one.names) > 1]

    def _repaired(self, rng: np.random.Generator, clause: Linear, Z: Matrix) -> Matrix:
        """Move one column of each row that breaks a relation so far that it just holds."""
        ground = self.truth.world.ground
        right = clause.right_side(ground)
        if right is None or clause.operator == "!=":
            return Z
        places = [ground.place(name) for name in clause.names]
        factors = np.array([float(one) for one in clause.factors(places, ground)])
        broken = np.flatnonzero((clause.truth(ground, Z) == NO) & ~np.isnan(Z[:, places]).any(axis=1))
        chosen = rng.integers(len(places), size=len(broken))
        Z = Z.copy()
        for i, j in enumerate(places):
            rows = broken[chosen == i]
            if not factors[i] or not len(rows):
                continue
            others = Z[np.ix_(rows, places)] @ factors - Z[rows, j] * factors[i]
            needed = (float(right) - others) / factors[i]
            up = (clause.operator in (">=", ">")) == (factors[i] > 0)
            Z[rows, j] = _beside(ground.columns[j], needed, clause.operator, up)
        return Z

    def _pulled(self, rng: np.random.Generator, Z: Matrix, radius: float) -> Matrix:
        """Pull rows that are a little too far back toward the query, where nothing has steps."""
        truth = self.truth
        if math.isinf(radius) or any(one.is_stepped for one in truth.world.columns) or self._relations:
            return Z
        distances = truth.distance(Z)
        share = np.minimum(
            1.0, radius * (1 - 10.0 ** -rng.uniform(1, 6, len(Z))) / np.maximum(distances, 1e-300)
        )
        pulled = truth.world.query + (Z - truth.world.query) * share[:, None]
        stored = [one.stored(pulled[:, j]) for j, one in enumerate(truth.world.columns)]
        return np.column_stack(stored)


def _beside(column: Column, needed: Matrix, operator: str, up: bool) -> Matrix:
    """Return legal values at a bound, or on its allowed side."""
    if operator == "==":
        return column.snapped(needed)
    if column.is_stepped:
        unit = float(column.unit)
        counts = np.ceil(needed / unit - 1e-9) if up else np.floor(needed / unit + 1e-9)
        if operator in ("<", ">"):
            counts = counts + np.where(counts * unit == needed, 1 if up else -1, 0)
        return column.at(counts)
    away = np.maximum(np.abs(needed), 1.0) * (2e-6 if column.is_single else 4e-9)
    return column.stored(needed + (away if up else -away))


def split_values(model: Any, width: int) -> list[Matrix]:
    """Return the values at which scikit-learn's trees split each column; none behind a pipeline."""
    found: list[list[float]] = [[] for _ in range(width)]
    if not isinstance(model, Pipeline):
        for tree in _trees_of(model):
            for j, threshold in zip(tree.feature, tree.threshold, strict=True):
                if j >= 0:
                    found[j].append(float(threshold))
    return [np.array(sorted(set(one)), dtype=np.float64) for one in found]


def _trees_of(model: Any) -> list[Any]:
    if hasattr(model, "tree_"):
        return [model.tree_]
    parts = getattr(model, "estimators_", None)
    if parts is None:
        return []
    return [one.tree_ for one in np.ravel(parts) if hasattr(one, "tree_")]
