"""The center and the start of a region with linear rows: exact, by linear programming."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssba.problem.region import Region

Vector = NDArray[np.float64]


def place(region: Region) -> Region | None:
    """Give the region its center and start, or return None where no legal row meets the linear rows."""
    center = _center(region)
    if center is None:
        return None
    region = replace(region, center=center)
    if region.contains(region.x[None, :])[0]:
        return replace(region, start=region.x)
    start, fine = region.pull_in(region.x[None, :])
    if fine[0]:
        return replace(region, start=start[0])
    nearest = _nearest_on_grid(region)
    return None if nearest is None else replace(region, start=nearest)


def _movable(region: Region) -> NDArray[np.int64]:
    return np.flatnonzero(~region.held & ~region.discrete)


def _center(region: Region) -> Vector | None:
    """Return the point with the most room to every linear row (a linear program), or None."""
    from scipy.optimize import linprog

    rows = region.rows
    assert rows is not None
    free = _movable(region)
    norm = np.sqrt(((rows.A * region.scale)[:, free] ** 2).sum(axis=1))
    bounds = [*zip(region.lower[free], region.upper[free], strict=True), (0.0, 1.0)]
    solved = linprog(
        c=np.r_[np.zeros(len(free)), -1.0],
        A_ub=np.c_[rows.A[:, free], norm],
        b_ub=rows.b,
        bounds=bounds,
    )
    if solved.x is None:
        return None
    center: Vector = region.x.copy()
    center[free] = np.clip(solved.x[:-1], region.lower[free], region.upper[free])
    return center


def _nearest_on_grid(region: Region) -> Vector | None:
    """Return the legal feasible row nearest to the query in scaled L1 (a mixed-integer program)."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows, free = region.rows, _movable(region)
    assert rows is not None
    n = len(free)
    stepped = region.grid.stepped[free]
    step = np.where(stepped, region.grid.numerator[free] / region.grid.denominator[free], 1.0)
    home = np.where(np.isnan(region.x[free]), region.center[free], region.x[free])
    cost = np.r_[np.zeros(n), 1 / region.scale[free]]
    gap = LinearConstraint(
        np.block([[np.diag(step), -np.eye(n)], [-np.diag(step), -np.eye(n)]]), ub=np.r_[home, -home]
    )
    lines = LinearConstraint(
        np.c_[rows.A[:, free] * step, np.zeros((len(rows.b), n))], ub=rows.b - rows.slack
    )
    solved = milp(
        cost,
        integrality=np.r_[stepped.astype(int), np.zeros(n)],
        bounds=Bounds(
            np.r_[region.lower[free] / step, np.zeros(n)],
            np.r_[region.upper[free] / step, np.full(n, np.inf)],
        ),
        constraints=[gap, lines],
    )
    if solved.x is None:
        return None
    row = region.snap(region.project(region.x[None, :]))[0]
    row[free] = region.grid.snap(_scatter(region.x, free, solved.x[:n] * step))[free]
    return np.asarray(row) if region.contains(row[None, :])[0] else None


def _scatter(x: Vector, free: NDArray[np.int64], values: Vector) -> Vector:
    filled = x.copy()
    filled[free] = values
    return filled
