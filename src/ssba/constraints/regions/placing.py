"""The center and the start of a region with linear rows: the feasible row nearest to the query."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Mask, Vector
from ssba.columns.distance import Metric
from ssba.constraints.regions.nearest_linear import Result, Work, nearest_row, no_demands
from ssba.constraints.regions.region import Halfspaces, Region

# Bounds beyond this (what a dtype can hold) are none to a solver that counts in 1e-7.
_FAR = 1e15
# Relaxations that the nearest feasible row may take, and nodes of the solver that looks for any.
_RELAXATIONS, _NODES = 100, 5_000
# A solver that has not come to its last node by then is stopped, whatever the budget allows, in seconds.
_LONGEST = 60.0


@dataclass(frozen=True)
class Placed:
    """A region with its center and start; without one, whether it is certain that no legal row lies in it."""

    region: Region | None
    is_empty: bool = False


def place(region: Region, metric: Metric, deadline: float = math.inf) -> Placed:
    """Give a region with linear rows its center, its start, and the distance at which it begins.

    The start is the feasible row nearest to the query where that could be proved, else the nearest found.
    That a region is empty is claimed only if multipliers prove it for every part of it.
    """
    center = _center(region)
    region = replace(region, center=region.x if center is None else center)
    if region.contains(region.x[None, :])[0]:
        return Placed(replace(region, start=region.x, begins=0.0))
    near, fine = region.pull_in(region.x[None, :])
    known = near[0] if fine[0] else None
    fills = np.isnan(region.x) & ~region.held & ~region.discrete
    # What a filled number is does not matter to the distance: with some of them any feasible row will do.
    best = math.inf if known is None or fills.any() else _cost(metric, region, known)
    found = _nearest(region, metric, best, fills, deadline)
    start = known if found.row is None else found.row
    if start is None and math.isinf(found.bound):
        return Placed(None, is_empty=True)
    begins = 0.0 if fills.any() else float(metric.length(found.bound))
    if start is None:
        return _placed_by_solver(region, metric, begins, deadline)
    region = region if center is not None else replace(region, center=start)
    return Placed(replace(region, start=start, begins=begins * (1 - 1e-12)))


def _nearest(region: Region, metric: Metric, best: float, fills: Mask, deadline: float) -> Result:
    """Find the feasible row nearest to the query, or to it with some number in each cell that is filled."""
    # A missing level that may be filled costs least where it stays missing.
    held = region.held | (region.discrete & np.isnan(region.x))
    home = np.where(fills, np.clip(0.0, region.lower, region.upper), region.x)
    around = replace(region, held=held, x=home, keeps_x=region.keeps_x & ~fills)
    return nearest_row(no_demands(around), around, metric, best, Work(_RELAXATIONS, deadline))


def placed_in_box(region: Region, metric: Metric) -> Region:
    """Give a region without linear rows its start: the nearest legal value of each column."""
    start, begins = start_in_box(region, metric)
    return replace(region, start=start, center=start, begins=float(begins))


def start_in_box(region: Region, metric: Metric) -> tuple[Vector, Vector]:
    """Return the start of a region without linear rows, or of many such, and where it begins for certain."""
    start = region.snap(region.project(region.x))
    return start, np.asarray(metric.distance(start, region.x)) * (1 - 1e-12)


def _placed_by_solver(region: Region, metric: Metric, begins: float, deadline: float) -> Placed:
    """Look for any feasible row by mixed-integer programming, which proves nothing."""
    near, fine = region.pull_in(region.x[None, :])
    exact = _nearest_on_grid(region, deadline)
    starts = [row for row in (near[0] if fine[0] else None, exact) if row is not None]
    if not starts:
        return Placed(None)
    start = min(starts, key=lambda row: _cost(metric, region, row))
    return Placed(replace(region, start=start, begins=begins))


def _cost(metric: Metric, region: Region, row: Vector) -> float:
    return float(metric.cost(metric.distance(row[None, :], region.x)[0]))


def _movable(region: Region) -> NDArray[np.int64]:
    return np.flatnonzero(~region.held & ~region.discrete)


def _center(region: Region) -> Vector | None:
    """Return the point with the most room to every linear row and bound (a linear program), or None."""
    from scipy.optimize import linprog

    rows = region.linear
    assert rows is not None
    free = _movable(region)
    room = np.sqrt(((rows.A * region.scale)[:, free] ** 2).sum(axis=1))
    thin, wide = rows.thin, ~rows.thin
    lower, upper = region.lower[free], region.upper[free]
    width = np.where(lower < upper, region.scale[free], 0.0)
    low, high = lower > -_FAR, upper < _FAR
    eye = np.eye(len(free))
    solved = linprog(
        c=np.r_[np.zeros(len(free)), -1.0],
        A_ub=np.block(
            [
                [rows.A[wide][:, free], room[wide][:, None]],
                [-eye[low], width[low][:, None]],
                [eye[high], width[high][:, None]],
            ]
        ),
        b_ub=np.r_[rows.aim[wide], -lower[low], upper[high]],
        A_eq=np.c_[rows.A[thin][:, free], np.zeros(thin.sum())] if thin.any() else None,
        b_eq=rows.aim[thin] if thin.any() else None,
        bounds=[(None, None)] * len(free) + [(0.0, 1.0)],
    )
    if solved.x is None:
        return None
    center: Vector = region.x.copy()
    center[free] = solved.x[:-1]
    center[free] += _to_equalities(rows, center, free)
    center[free] = np.clip(center[free], lower, upper)
    return center


def _to_equalities(rows: Halfspaces, center: Vector, free: NDArray[np.int64]) -> Vector:
    """Return the smallest step onto the equalities, which the solver meets to its own tolerance only."""
    if not rows.thin.any():
        return np.zeros(len(free))
    A = rows.A[rows.thin]
    gap = rows.aim[rows.thin] - A @ np.nan_to_num(center)
    return np.asarray(np.linalg.lstsq(A[:, free], gap, rcond=None)[0])


def _nearest_on_grid(region: Region, deadline: float) -> Vector | None:
    """Return a legal feasible row near the query in scaled L1 (a mixed-integer program)."""
    rows = region.linear
    assert rows is not None
    # The solver may be off by its tolerance: first stay clear of rows of real numbers by that much.
    tolerance = np.where((rows.aim < rows.b) & ~rows.thin, 1e-6 * (1 + np.abs(rows.aim)), 0.0)
    for clear in (tolerance, 0.0):
        left = deadline - time.monotonic()
        row = _solved(region, rows, rows.aim - clear, left) if left > 0 else None
        if row is not None and region.contains(row[None, :])[0]:
            return row
    return None


def _solved(region: Region, rows: Halfspaces, b: Vector, seconds: float) -> Vector | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    free = _movable(region)
    n = len(free)
    stepped = region.grid.stepped[free]
    step = np.where(stepped, region.grid.numerator[free] / region.grid.denominator[free], 1.0)
    home = np.where(np.isnan(region.x[free]), region.center[free], region.x[free])
    home = np.where(np.isnan(home), np.clip(0.0, region.lower[free], region.upper[free]), home)
    gap = LinearConstraint(
        np.block([[np.diag(step), -np.eye(n)], [-np.diag(step), -np.eye(n)]]), ub=np.r_[home, -home]
    )
    # The two sides of an equality are one for the solver, which is not made for slabs that thin.
    low = np.where(rows.thin, rows.aim, -np.inf)
    high = np.where(rows.thin, rows.aim, b)
    lines = LinearConstraint(np.c_[rows.A[:, free] * step, np.zeros((len(b), n))], low, high)
    lower = np.where(region.lower[free] > -_FAR, region.lower[free], -np.inf) / step
    upper = np.where(region.upper[free] < _FAR, region.upper[free], np.inf) / step
    solved = milp(
        np.r_[np.zeros(n), 1 / region.scale[free]],
        integrality=np.r_[stepped.astype(int), np.zeros(n)],
        bounds=Bounds(np.r_[lower, np.zeros(n)], np.r_[upper, np.full(n, np.inf)]),
        constraints=[gap, lines],
        options={"node_limit": _NODES, "time_limit": min(seconds, _LONGEST)},
    )
    if solved.x is None:
        return None
    row: Vector = region.snap(region.project(region.x[None, :]))[0]
    row[free] = region.snap(_scatter(region.x, free, solved.x[:n] * step)[None, :])[0, free]
    # Whole numbers and steps stay as solved; real numbers close the solver's last gap to an equality.
    real = free[~stepped]
    row[real] = np.clip(row[real] + _to_equalities(rows, row, real), region.lower[real], region.upper[real])
    return row


def _scatter(x: Vector, free: NDArray[np.int64], values: Vector) -> Vector:
    filled = x.copy()
    filled[free] = values
    return filled
