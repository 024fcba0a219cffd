"""The center and the start of a region with linear rows: exact, by linear programming."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssba.problem.distance import Norm
from ssba.problem.region import Region, Rows

Vector = NDArray[np.float64]

# Bounds beyond this (what a dtype can hold) are none to a solver that counts in 1e-7.
_FAR = 1e15


def place(region: Region, norm: Norm = "l2") -> Region | None:
    """Give the region its center and start, or return None where no legal row meets the linear rows.

    The start is the feasible row nearest to the query: exactly so in L1, and in L2 where numbers have no
    steps; on a grid it is one of the nearest.
    """
    center = _center(region)
    if center is None:
        return None
    region = replace(region, center=center)
    if region.contains(region.x[None, :])[0]:
        return replace(region, start=region.x)
    near, fine = region.pull_in(region.x[None, :])
    exact = _nearest_on_grid(region)
    starts = [row for row in (near[0] if fine[0] else None, exact) if row is not None]
    if not starts:
        return None
    return replace(region, start=min(starts, key=lambda row: _gap(region, row, norm)))


def _gap(region: Region, row: Vector, norm: Norm) -> float:
    gaps = np.nan_to_num((row - region.x) / region.scale)
    return float(gaps @ gaps if norm == "l2" else np.abs(gaps).sum())


def _movable(region: Region) -> NDArray[np.int64]:
    return np.flatnonzero(~region.held & ~region.discrete)


def _center(region: Region) -> Vector | None:
    """Return the point with the most room to every linear row and bound (a linear program), or None."""
    from scipy.optimize import linprog

    rows = region.rows
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
        b_ub=np.r_[rows.b[wide], -lower[low], upper[high]],
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


def _to_equalities(rows: Rows, center: Vector, free: NDArray[np.int64]) -> Vector:
    """Return the smallest step onto the equalities, which the solver meets to its own tolerance only."""
    if not rows.thin.any():
        return np.zeros(len(free))
    A = rows.A[rows.thin]
    gap = rows.aim[rows.thin] - A @ np.nan_to_num(center)
    return np.asarray(np.linalg.lstsq(A[:, free], gap, rcond=None)[0])


def _nearest_on_grid(region: Region) -> Vector | None:
    """Return the legal feasible row nearest to the query in scaled L1 (a mixed-integer program)."""
    rows = region.rows
    assert rows is not None
    # The solver may be off by its tolerance: first stay clear of rows of real numbers by that much.
    tolerance = np.where((rows.aim < rows.b) & ~rows.thin, 1e-6 * (1 + np.abs(rows.b)), 0.0)
    for clear in (tolerance, 0.0):
        row = _solved(region, rows, rows.b - clear)
        if row is not None and region.contains(row[None, :])[0]:
            return row
    return None


def _solved(region: Region, rows: Rows, b: Vector) -> Vector | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    free = _movable(region)
    n = len(free)
    stepped = region.grid.stepped[free]
    step = np.where(stepped, region.grid.numerator[free] / region.grid.denominator[free], 1.0)
    home = np.where(np.isnan(region.x[free]), region.center[free], region.x[free])
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
