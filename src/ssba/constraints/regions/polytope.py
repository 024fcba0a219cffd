"""The point of a polytope nearest to the origin, with a bound that duality proves.

The polytope is ``G u >= h`` and ``low <= u <= high``. Whatever a solver returns, what is claimed is computed
here from its multipliers alone. For any multipliers ``y >= 0`` no feasible u has a smaller cost than the
least of ``cost(u) - y . (G u - h)`` over the box, which is a sum of one term per coordinate; and where
``y . h`` exceeds the most that ``y . G u`` comes to in the box, there is no feasible u at all (Farkas).
Rounding errors of these sums are taken off.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from ssba.arrays import Matrix, Vector

# Below this share of the right side a residual is the solver's rounding.
_TINY = 1e-11
# What sums of a few hundred terms may be off by, as a share of the sum of their sizes.
_ROUNDING = 1e-13


@final
@dataclass(frozen=True)
class Nearest:
    """A point, and multipliers of ``G u >= h`` that bound its cost.

    Without a point the polytope is `empty`, which multipliers prove, or the solver gave up.
    """

    point: Vector | None
    multipliers: Vector
    empty: bool = False


def nearest_l2(G: Matrix, h: Vector, low: Vector, high: Vector) -> Nearest:
    """Return the point with the least sum of squares.

    Examples
    --------
    >>> free = np.full(2, np.inf)
    >>> nearest_l2(np.array([[3.0, 4.0]]), np.array([5.0]), -free, free).point
    array([0.6, 0.8])
    """
    home = np.clip(0.0, low, high)
    if (G @ home >= h).all():
        return Nearest(home, np.zeros(len(h)))
    if len(h) == 1:
        return _one_row(G[0], float(h[0]), low, high)
    return _by_least_squares(G, h, low, high)


def nearest_l1(G: Matrix, h: Vector, low: Vector, high: Vector) -> Nearest:
    """Return the point with the least sum of absolute values.

    Examples
    --------
    >>> free = np.full(2, np.inf)
    >>> nearest_l1(np.array([[3.0, 4.0]]), np.array([5.0]), -free, free).point
    array([0.  , 1.25])
    """
    from scipy.optimize import linprog

    home = np.clip(0.0, low, high)
    if (G @ home >= h).all():
        return Nearest(home, np.zeros(len(h)))
    n = len(low)
    if n == 0:
        return _without_point(G, h, low, high)
    up = np.stack([np.maximum(low, 0), np.maximum(high, 0)], axis=1)
    down = np.stack([np.maximum(-high, 0), np.maximum(-low, 0)], axis=1)
    solved = linprog(
        np.ones(2 * n),
        A_ub=np.hstack([-G, G]),
        b_ub=-h,
        bounds=[(low, high) for low, high in np.concatenate([up, down]).tolist()],
    )
    if solved.x is None:
        return _without_point(G, h, low, high)
    point = np.clip(solved.x[:n] - solved.x[n:], low, high)
    return Nearest(point, np.maximum(0.0, -np.asarray(solved.ineqlin.marginals)))


def bound_l2(nearest: Nearest, G: Matrix, h: Vector, low: Vector, high: Vector) -> float:
    """Return a sum of squares that no point of the polytope is below."""
    y = nearest.multipliers
    pull = y @ G
    u = np.clip(pull / 2, low, high)
    least = float((u * u - pull * u).sum() + y @ h)
    return max(0.0, least - _error(y, G, h, u) - _ROUNDING * float(u @ u))


def bound_l1(nearest: Nearest, G: Matrix, h: Vector, low: Vector, high: Vector) -> float:
    """Return a sum of absolute values that no point of the polytope is below."""
    pull, y = nearest.multipliers @ G, nearest.multipliers
    endless = np.where(np.isinf(high), pull, 0.0).max(initial=1.0)
    endless = max(endless, np.where(np.isinf(low), -pull, 0.0).max(initial=1.0))
    # Where a coordinate has no end its pull must not exceed 1, or the least would be minus infinity.
    pull, y = pull / endless, y / endless
    candidates = np.stack([np.clip(0.0, low, high), _finite(low), _finite(high)])
    values = np.abs(candidates) - pull * candidates
    u = np.take_along_axis(candidates, values.argmin(axis=0)[None, :], axis=0)[0]
    least = float(values.min(axis=0).sum() + y @ h)
    return max(0.0, least - _error(y, G, h, u) - _ROUNDING * float(np.abs(u).sum()))


def is_surely_empty(multipliers: Vector, G: Matrix, h: Vector, low: Vector, high: Vector) -> bool:
    """Tell whether multipliers prove that no point of the box meets all rows.

    Examples
    --------
    >>> one, ends = np.array([[1.0]]), np.array([2.0])
    >>> is_surely_empty(np.ones(1), one, np.array([3.0]), -ends, ends)
    True
    >>> is_surely_empty(np.ones(1), one, np.array([2.0]), -ends, ends)
    False
    """
    pull = multipliers @ G
    ends = np.where(pull > 0, high, np.where(pull < 0, low, 0.0))
    if not np.isfinite(ends).all():
        return False
    short = float(multipliers @ h - pull @ ends)
    # A pull that is zero but for rounding may be of either sign: the farther end counts.
    far = np.maximum(np.abs(low), np.abs(high))
    return short > 0 and short > _error(multipliers, G, h, np.where(np.isfinite(far), far, 0.0))


def _error(multipliers: Vector, G: Matrix, h: Vector, u: Vector) -> float:
    """Return what rounding may add to ``y . (h - G u)``."""
    y = np.abs(multipliers)
    return _ROUNDING * float(y @ np.abs(h) + y @ np.abs(G) @ np.abs(u))


def _without_point(G: Matrix, h: Vector, low: Vector, high: Vector) -> Nearest:
    """Look for the proof that there is no point: multipliers of the least sum by which rows fall short."""
    from scipy.optimize import linprog

    m, n = G.shape
    nothing = np.zeros(m)
    if n == 0:
        return Nearest(None, nothing, empty=bool((h > 0).any()))
    solved = linprog(
        np.r_[np.zeros(n), np.ones(m)],
        A_ub=np.hstack([-G, -np.eye(m)]),
        b_ub=-h,
        bounds=[*zip(low.tolist(), high.tolist(), strict=True), *([(0.0, None)] * m)],
    )
    if solved.x is None:
        return Nearest(None, nothing)
    multipliers = np.maximum(0.0, -np.asarray(solved.ineqlin.marginals))
    return Nearest(None, nothing, empty=is_surely_empty(multipliers, G, h, low, high))


def _finite(ends: Vector) -> Vector:
    return np.where(np.isinf(ends), 0.0, ends)


def _one_row(g: Vector, h: float, low: Vector, high: Vector) -> Nearest:
    """Closed form: the nearest point is ``clip(t g)`` for the least t that meets the row."""
    far = np.where(g > 0, high, low)[g != 0]
    if g[g != 0] @ far < h:
        empty = is_surely_empty(np.ones(1), g[None, :], np.array([h]), low, high)
        return Nearest(None, np.zeros(1), empty)
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.concatenate([low / g, high / g])
    turns = np.unique(np.concatenate([[0.0], turns[np.isfinite(turns) & (turns > 0)]]))
    reach = np.clip(turns[:, None] * g, low, high) @ g
    before = max(0, int(np.searchsorted(reach, h, side="left")) - 1)
    t = float(turns[before])
    # Between two turns the same coordinates move.
    ahead = turns[before + 1] if before + 1 < len(turns) else 2 * t + 1
    middle = (t + ahead) / 2 * g
    slope = float((g * g)[(middle > low) & (middle < high)].sum())
    if slope > 0:
        t += (h - float(reach[before])) / slope
    return Nearest(np.clip(t * g, low, high), np.array([2 * t]))


def _by_least_squares(G: Matrix, h: Vector, low: Vector, high: Vector) -> Nearest:
    """Least distance programming (Lawson and Hanson 1974, chapter 23) by non-negative least squares."""
    from scipy.optimize import nnls

    n = len(low)
    eye = np.eye(n)
    under, over = np.isfinite(low), np.isfinite(high)
    rows = np.vstack([G, eye[under], -eye[over]])
    right = np.concatenate([h, low[under], -high[over]])
    size = np.linalg.norm(rows, axis=1)
    size[size == 0] = 1.0
    # Rows of one length each, and a far point of about one: otherwise small rows drown.
    unit = float(np.abs(right / size).max()) or 1.0
    E = np.vstack([(rows / size[:, None]).T, right / size / unit])
    f = np.zeros(n + 1)
    f[n] = 1.0
    try:
        y, residual = nnls(E, f, maxiter=50 * len(right))
    except RuntimeError:
        return Nearest(None, np.zeros(len(h)))
    if residual <= _TINY:
        if is_surely_empty(y[: len(h)] / size[: len(h)], G, h, low, high):
            return Nearest(None, np.zeros(len(h)), empty=True)
        return _without_point(G, h, low, high)
    gap = 1.0 - float(E[n] @ y)
    multipliers = 2 * unit * y / gap / size
    return Nearest(np.clip(E[:n] @ y / gap * unit, low, high), multipliers[: len(h)])
