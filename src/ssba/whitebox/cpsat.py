"""The nearest choice by OR-tools' CP-SAT, for trees with many free columns: a proof, or a bound, on request.

Every leaf is a literal that implies its box, one leaf of each tree is chosen, and their gains must add
up. Sums are made of whole numbers: costs are rounded down and gains up, so that what CP-SAT proves holds
without rounding.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Vector
from ssba.errors import ArgumentError
from ssba.whitebox.branching import Found
from ssba.whitebox.cells import Cells, Options

# Whole units that the largest cost and the largest gain are counted in.
_COST_UNITS = 2**30
_GAIN_UNITS = 2**34

# What it may spend, by its own deterministic time: without a deadline every run ends the same.
_DETERMINISTIC_SECONDS = 10.0


def cheapest_choice(cells: Cells, known: Vector | None, best: float, deadline: float = math.inf) -> Found:
    """Return the row of the cheapest choice that reaches the goal at a cost of at most `best`.

    `known` is a row to begin with; `deadline` a moment of `time.monotonic` to end at.
    """
    least = float(cells.cost(cells.home[None, :])[0])
    hint = cells.home if known is None else cells.choice_near(known)
    reaches = cells.margin(hint[None, :])[0] >= cells.slack and cells.allows(hint[None, :])[0]
    best = min(best, float(cells.cost(hint[None, :])[0]) if reaches else math.inf)
    dearest = sum(float(one.cost.max()) for one in cells.options)
    most = min(best - cells.fixed_cost, dearest)
    if best <= least or most <= 0:
        return Found(None, best, min(best, least), 0)
    per_cost = _COST_UNITS / most
    cp = _library()
    model, columns = _modelled(cp, cells, hint, most, per_cost)
    solver = cp.CpSolver()
    solver.parameters.max_deterministic_time = _DETERMINISTIC_SECONDS
    if math.isfinite(deadline):
        solver.parameters.max_time_in_seconds = max(1e-3, deadline - time.monotonic())
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    outcome = _Outcome(solver, solver.solve(model), cp, columns)
    return _found(cells, best, per_cost, outcome)


def _modelled(
    cp: Any, cells: Cells, hint: Integers, most: float, per_cost: float
) -> "tuple[Any, list[_Column]]":
    """Return the choices of a query in the words of CP-SAT."""
    model = cp.CpModel()
    columns = [_Column(model, one) for one in cells.options]
    for column, one, option in zip(columns, cells.options, hint, strict=True):
        column.hint(model, int(option))
        column.forbid_dearer(model, one, most)
    if cells.changes_left is not None:
        changed = [column.changed(int(own)) for column, own in zip(columns, cells.own, strict=True)]
        model.add(sum(changed) <= cells.changes_left)
    leaves = _leaves(model, cells, columns, hint)
    for gain, base in zip(cells.gain, cells.base, strict=True):
        per_gain = _GAIN_UNITS / max(float(np.abs(gain).max(initial=0.0)), abs(float(base)), 1e-270)
        # One unit less, for what the products round.
        need = math.floor((-base - cells.slack) * per_gain) - 1
        model.add(cp.LinearExpr.weighted_sum(leaves, np.ceil(gain * per_gain).astype(np.int64)) >= need)
    model.minimize(
        sum(column.cost(one, per_cost) for column, one in zip(columns, cells.options, strict=True))
    )
    return model, columns


@final
@dataclass(frozen=True)
class _Outcome:
    solver: Any
    status: Any
    cp: Any
    columns: "list[_Column]"


def _found(cells: Cells, best: float, per_cost: float, outcome: _Outcome) -> Found:
    solver, cp = outcome.solver, outcome.cp
    if outcome.status == cp.INFEASIBLE:
        return Found(None, best, best, 0)
    bound = min(best, cells.fixed_cost + max(0.0, solver.best_objective_bound) / per_cost)
    if outcome.status not in (cp.OPTIMAL, cp.FEASIBLE):
        return Found(None, best, bound, 0)
    choice = np.array([column.chosen(solver) for column in outcome.columns], dtype=np.int64)[None, :]
    cost = float(cells.cost(choice)[0])
    if cost < best and cells.margin(choice)[0] >= cells.slack:
        return Found(cells.rows(choice)[0], cost, min(bound, cost), 0)
    return Found(None, best, bound, 0)


@final
class _Column:
    """A column's choice as literals ``at_most[k]``: the option chosen is k or one before it."""

    def __init__(self, model: Any, options: Options) -> None:
        self.size = len(options.cost)
        self.at_most = [model.new_bool_var("") for _ in range(self.size - 1)]
        for before, after in zip(self.at_most, self.at_most[1:], strict=False):
            model.add_implication(before, after)
        self.model = model
        self.singles: dict[int, Any] = {}

    def hint(self, model: Any, option: int) -> None:
        for k, literal in enumerate(self.at_most):
            model.add_hint(literal, option <= k)

    def forbid_dearer(self, model: Any, options: Options, most: float) -> None:
        """Take out options that alone cost more than the best choice known."""
        fine = np.flatnonzero(options.cost <= most * (1 + 1e-12))
        if fine[0] > 0:
            model.add(self.at_most[fine[0] - 1] == 0)
        if fine[-1] < self.size - 1:
            model.add(self.at_most[fine[-1]] == 1)

    def changed(self, own: int) -> Any:
        """Return what is 1 unless the query's own option is chosen; own is -1 where there is none."""
        literal = self.model.new_bool_var("")
        for clause in [[]] if own < 0 else self.within(np.arange(self.size) == own):
            self.model.add_bool_or([*clause, literal])
        return literal

    def cost(self, options: Options, per_cost: float) -> Any:
        whole = np.floor(np.minimum(options.cost * per_cost, 2.0**40)).astype(np.int64)
        terms = (int(whole[k] - whole[k + 1]) * literal for k, literal in enumerate(self.at_most))
        return int(whole[-1]) + sum(terms)

    def within(self, fits: NDArray[np.bool_]) -> list[list[Any]]:
        """Return clauses that say: one of the options that fit is chosen."""
        inside = np.flatnonzero(fits)
        if len(inside) == self.size:
            return []
        first, last = int(inside[0]), int(inside[-1])
        clauses = []
        if first > 0:
            clauses.append([~self.at_most[first - 1]])
        if last < self.size - 1:
            clauses.append([self.at_most[last]])
        gaps = np.flatnonzero(~fits[first:last]) + first
        # Not the option k: one before it, or one after it.
        clauses += [[self.at_most[k - 1], ~self.at_most[k]] for k in gaps]
        return clauses

    def chosen(self, solver: Any) -> int:
        return sum(not solver.boolean_value(literal) for literal in self.at_most)


def _leaves(model: Any, cells: Cells, columns: list[_Column], known: Integers) -> list[Any]:
    """Return a literal for each leaf, of which each tree has exactly one."""
    literals = [model.new_bool_var("") for _ in range(cells.gain.shape[1])]
    ends = np.append(cells.first[1:], len(literals))
    for begin, end in zip(cells.first, ends, strict=True):
        model.add_exactly_one(literals[begin:end])
    active = cells.active(known[None, :])[0]
    for leaf, literal in enumerate(literals):
        model.add_hint(literal, bool(active[leaf]))
        for column, one in zip(columns, cells.options, strict=True):
            for clause in column.within(one.fits[:, leaf]):
                model.add_bool_or([*clause, ~literal])
    return literals


def _library() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise ArgumentError(
            "proofs for trees with many free columns need OR-tools: pip install 'ssba[exact]'"
        ) from error
    return cp_model
