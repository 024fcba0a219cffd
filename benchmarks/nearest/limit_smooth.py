"""Limits of models that are smooth or linear: closed form, branch and bound, many-start SLSQP."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.whitebox import Linear, Smooth, linear, smooth
from numpy.typing import NDArray
from scipy.optimize import minimize

Matrix = NDArray[np.float64]

NEAREST_ROWS = 50
RANDOM_STARTS = 30
HOPS = 40
_PUSHES = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


def descend(case: Case, i: int, more_starts: Matrix, white: Smooth | None = None) -> Matrix | None:
    """The nearest row of query `i` that many local descents found; None where none reaches the target.

    They start from the nearest target rows, from random rows of the box and from `more_starts` (in matrix
    form), and then from the best rows so far, shaken. `white` is what must be positive, if not the margin
    of the one target class.
    """
    white = smooth(case) if white is None else white
    rng = np.random.default_rng(i)
    best: Matrix | None = None
    for start in _starts(case, i, more_starts, rng):
        best = _nearer(case, i, best, _slsqp(case, i, white, start))
    for hop in range(HOPS if best is not None else 0):
        assert best is not None
        shaken = best + rng.normal(size=len(best)) * np.abs(best - case.X[i]).max() * 0.5 ** (hop % 5)
        best = _nearer(case, i, best, _slsqp(case, i, white, _boxed(case, i, shaken)))
    return best


def halfspace(case: Case, i: int) -> Matrix | None:
    """The nearest row under a linear model, exactly: a projection, and branch and bound for whole numbers."""
    opened = _toward(linear(case), case.one_target)
    best: Matrix | None = None
    for base, bonus in _category_choices(case, i, opened):
        cost = float((case.is_category & (base != case.X[i])).sum())
        if best is not None and cost >= _near(case, i, best) ** 2:
            continue
        low, high = (np.where(case.is_category, base, bound[i]) for bound in (case.low, case.high))
        half = _Half(opened.weights, opened.constant + bonus)
        found = _branch(case, i, half, _Box(base, low, high, case.scale), cost, best)
        best = found if found is not None else best
    return best


def pushed(case: Case, i: int, z: Matrix, direction: Matrix) -> Matrix | None:
    """The row `z`, moved by the last bits along `direction` where the model does not yet reach the target."""
    for push in _PUSHES:
        moved = _boxed(case, i, z + push * max(1.0, float(np.abs(z).max())) * direction)
        if case.reaches(moved[None], [i])[0]:
            return moved
    return None


def _starts(case: Case, i: int, more: Matrix, rng: np.random.Generator) -> Iterator[Matrix]:
    target_rows = case.background[case.is_target(case.labels(case.data), i)]
    order = np.argsort(case.distance(case.X[i], target_rows))[:NEAREST_ROWS]
    for z in (*more, *target_rows[order], *_promising(case, i, rng)):
        yield _boxed(case, i, z)


def _promising(case: Case, i: int, rng: np.random.Generator) -> Matrix:
    """Of many random rows and corners of the box, those the model likes best, and a few at random."""
    low, high = case.low[i], case.high[i]
    inside = rng.uniform(low, high, (2000, len(low)))
    corners = np.where(rng.random((500, len(low))) < 0.5, low, high)
    Z = np.concatenate([inside, corners])
    scores = case.scores(case.rows(Z))
    liking = scores[:, case.target] if case.target is not None else -scores[:, case.own_labels[i]]
    liked = np.argsort(-liking, kind="stable")
    return np.concatenate([Z[liked[:RANDOM_STARTS]], inside[: RANDOM_STARTS // 3]])


def _slsqp(case: Case, i: int, white: Smooth, start: Matrix) -> Matrix | None:
    free = np.flatnonzero(case.high[i] > case.low[i])
    x, scale = case.X[i][free], case.scale[free]

    def full(part: Matrix) -> Matrix:
        z = case.X[i].copy()
        z[free] = part
        return np.asarray(z)

    # the margin in units of its slope at the start, so that one tolerance fits every model
    slope = float(np.linalg.norm(white.gradient(start)[free])) or 1.0
    reached = {
        "type": "ineq",
        "fun": lambda part: white.value(full(part)) / slope,
        "jac": lambda part: white.gradient(full(part))[free] / slope,
    }
    # the stubs know no overload for a constraint with its own derivative
    solve: Any = minimize
    ended = solve(
        lambda part: float((((part - x) / scale) ** 2).sum()),
        start[free],
        jac=lambda part: 2 * (part - x) / scale**2,
        bounds=list(zip(case.low[i][free], case.high[i][free], strict=True)),
        constraints=reached,
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    )
    z = full(np.clip(ended.x, case.low[i][free], case.high[i][free]))
    if not np.isfinite(z).all():
        return None
    up = white.gradient(z)
    return pushed(case, i, z, up / (float(np.linalg.norm(up)) or 1.0))


def _nearer(case: Case, i: int, best: Matrix | None, found: Matrix | None) -> Matrix | None:
    if best is None or found is None:
        return found if best is None else best
    return found if _near(case, i, found) < _near(case, i, best) else best


def _boxed(case: Case, i: int, z: Matrix) -> Matrix:
    return np.asarray(np.clip(z, case.low[i], case.high[i]))


@dataclass(frozen=True)
class _Half:
    """The rows with weights @ z + constant > 0."""

    weights: Matrix
    constant: float


@dataclass(frozen=True)
class _Box:
    x: Matrix
    low: Matrix
    high: Matrix
    scale: Matrix

    def with_bound(self, j: int, low: float, high: float) -> "_Box":
        lows, highs = self.low.copy(), self.high.copy()
        lows[j], highs[j] = low, high
        return _Box(self.x, lows, highs, self.scale)


def _project(half: _Half, box: _Box) -> Matrix | None:
    """The nearest row of the box in the closed half-space.

    It is x + t * scale^2 * weights, clipped, for the least t. The margin at t is piecewise linear and
    grows; its knots are where a column reaches its bound.
    """
    step = box.scale**2 * half.weights

    def at(t: float) -> Matrix:
        return np.asarray(np.clip(box.x + t * step, box.low, box.high))

    def margin(t: float) -> float:
        return float(half.weights @ at(t) + half.constant)

    if margin(0.0) >= 0:
        return at(0.0)
    moving = step != 0
    ends = np.where(step > 0, box.high, box.low)[moving]
    starts = np.where(step > 0, box.low, box.high)[moving]
    knots = np.concatenate([(ends - box.x[moving]) / step[moving], (starts - box.x[moving]) / step[moving]])
    before = 0.0
    for t in np.sort(knots[knots > 0]):
        if margin(t) >= 0:
            gained = margin(t) - margin(before)
            return at(before - margin(before) * (t - before) / gained)
        before = float(t)
    return None


def _branch(case: Case, i: int, half: _Half, box: _Box, cost: float, best: Matrix | None) -> Matrix | None:
    """The best row of the box that beats `best`, columns that must be whole being split until they are."""
    found = None
    waiting = [box]
    while waiting:
        box = waiting.pop()
        z = _project(half, box)
        known = best if found is None else found
        if z is None or (
            known is not None and _squared(box, z) + cost >= case.distance(case.X[i], known) ** 2
        ):
            continue
        broken = np.flatnonzero(case.is_whole & (np.abs(z - np.round(z)) > 1e-9))
        if len(broken):
            j = broken[0]
            waiting.append(box.with_bound(j, box.low[j], np.floor(z[j])))
            waiting.append(box.with_bound(j, np.ceil(z[j]), box.high[j]))
            continue
        real = np.where(case.is_whole, 0.0, half.weights * box.scale**2)
        z = np.where(case.is_whole, np.round(z), z)
        reached = pushed(case, i, z, real / (float(np.linalg.norm(real)) or 1.0))
        if reached is not None and (known is None or _near(case, i, reached) < _near(case, i, known)):
            found = reached
    return found


def _near(case: Case, i: int, z: Matrix) -> float:
    return float(case.distance(case.X[i], z))


def _squared(box: _Box, z: Matrix) -> float:
    return float((((z - box.x) / box.scale) ** 2).sum())


def _toward(opened: Linear, target: int) -> Linear:
    if target == 1:
        return opened
    turned = {j: -table for j, table in opened.levels.items()}
    return Linear(-opened.weights, turned, -opened.constant)


def _category_choices(case: Case, i: int, opened: Linear) -> Iterator[tuple[Matrix, float]]:
    """The query with each choice of categories, fewest changes first, and what the categories add up to."""
    columns = sorted(opened.levels)
    allowed = [range(int(case.low[i][j]), int(case.high[i][j]) + 1) for j in columns]
    choices = []
    for choice in product(*allowed):
        base = case.X[i].copy()
        base[columns] = choice
        bonus = sum(float(opened.levels[j][level]) for j, level in zip(columns, choice, strict=True))
        choices.append((base, bonus))
    return iter(sorted(choices, key=lambda one: float((one[0] != case.X[i]).sum())))
