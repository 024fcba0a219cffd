"""From constraints and a query to the regions of feasible rows, or to the constraints that clash."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ssba.problem.constraints import Atom, Bound, Constraint, Fill, Keep, Levels, Linear, alternatives
from ssba.problem.distance import Metric
from ssba.problem.features import Feature
from ssba.problem.placing import place
from ssba.problem.region import Region, Rows
from ssba.problem.space import Space

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

# If-then rules multiply: n rules can be obeyed in 2^n ways. Beyond this many, the first are searched.
MAX_REGIONS = 64
# Of a linear row's own size: how far sums of real numbers stay inside it.
_ROUNDING = 1e-12


def compile_regions(
    space: Space, metric: Metric, x: Vector, constraints: Sequence[Constraint]
) -> tuple[Region, ...]:
    """Return one region per way to obey the constraints; none where they contradict each other."""
    values = space.row_values(x)
    ways = [alternatives(one, values, space.by_name) for one in constraints]
    chosen = itertools.islice(itertools.product(*ways), MAX_REGIONS)
    regions = (_region(space, metric, x, list(itertools.chain(*way))) for way in chosen)
    return tuple(region for region in regions if region is not None)


def clashing(
    space: Space, metric: Metric, x: Vector, constraints: Sequence[Constraint]
) -> tuple[Constraint, ...]:
    """Return a smallest set of constraints that contradict each other, by leaving out one at a time."""
    kept = list(constraints)
    for one in constraints:
        rest = [other for other in kept if other is not one]
        if not compile_regions(space, metric, x, rest):
            kept = rest
    return tuple(kept)


@dataclass
class _Box:
    """Bounds under construction; `set_low` and `set_high` mark sides that a constraint speaks about."""

    lower: Vector
    upper: Vector
    set_low: Mask
    set_high: Mask
    allowed: Mask
    keep: Mask
    fill: Mask


def _region(space: Space, metric: Metric, x: Vector, atoms: Sequence[Atom]) -> Region | None:
    box = _collect(space, atoms)
    lower, upper = _with_defaults(space.features, x, box)
    discrete = np.array([feature.is_discrete for feature in space.features], dtype=bool)
    missing = np.isnan(x)
    with np.errstate(invalid="ignore"):
        codes = np.where(discrete & ~missing, x, 0).astype(int)
        keeps_x = (
            np.where(discrete, box.allowed[np.arange(len(x)), codes], (lower <= x) & (x <= upper)) | missing
        )
    lower, upper = space.grid.ceil(lower), space.grid.floor(upper)
    only_x = np.where(
        discrete, box.allowed.sum(axis=1) <= keeps_x, (lower > upper) | ((lower == upper) & (lower == x))
    )
    constant = np.array([feature.is_constant for feature in space.features], dtype=bool)
    held = box.keep | constant | (missing & ~box.fill) | (only_x & keeps_x)
    if (
        not (keeps_x | np.where(discrete, box.allowed.any(axis=1), lower <= upper)).all()
        or (held & ~keeps_x).any()
    ):
        return None
    region = Region(
        x=x,
        held=held,
        lower=np.where(held, x, lower),
        upper=np.where(held, x, upper),
        discrete=discrete,
        allowed=box.allowed,
        fallback=np.where(keeps_x, x, box.allowed.argmax(axis=1).astype(float)),
        keeps_x=keeps_x,
        rows=None,
        grid=space.grid,
        scale=metric.scale / metric.weight,
        center=x,
        start=x,
    )
    linear = [atom for atom in atoms if isinstance(atom, Linear)]
    return _with_start(region) if not linear else _with_rows(space, region, linear)


def _collect(space: Space, atoms: Iterable[Atom]) -> _Box:
    width = max([1, *(len(feature.levels) for feature in space.features)])
    n = len(space.features)
    allowed = np.array(
        [[code < len(one.levels) for code in range(width)] for one in space.features], dtype=bool
    )
    flags = [np.zeros(n, dtype=bool) for _ in range(4)]
    box = _Box(np.full(n, -math.inf), np.full(n, math.inf), flags[0], flags[1], allowed, flags[2], flags[3])
    for atom in atoms:
        if not isinstance(atom, Linear):
            _tighten(box, space.index(atom.column), atom)
    return box


def _tighten(box: _Box, j: int, atom: Bound | Levels | Keep | Fill) -> None:
    if isinstance(atom, Keep):
        box.keep[j] = True
    elif isinstance(atom, Fill):
        box.fill[j] = True
    elif isinstance(atom, Levels):
        box.allowed[j] &= np.isin(np.arange(box.allowed.shape[1]), list(atom.codes))
    else:
        low = math.nextafter(atom.low, math.inf) if atom.low_open else atom.low
        high = math.nextafter(atom.high, -math.inf) if atom.high_open else atom.high
        box.lower[j] = max(box.lower[j], low)
        box.upper[j] = min(box.upper[j], high)
        box.set_low[j] |= low > -math.inf
        box.set_high[j] |= high < math.inf


def _with_defaults(features: Sequence[Feature], x: Vector, box: _Box) -> tuple[Vector, Vector]:
    """Fill the sides no constraint speaks about with the range of the data and the query.

    A default never contradicts a constraint: where it would, that side is left open instead.
    """
    low = np.array([0.0 if one.levels else one.data_low for one in features])
    high = np.array([len(one.levels) - 1.0 if one.levels else one.data_high for one in features])
    low, high = np.fmin(low, x), np.fmax(high, x)
    low = np.where(box.set_low, box.lower, np.where(low > box.upper, -math.inf, low))
    high = np.where(box.set_high, box.upper, np.where(high < box.lower, math.inf, high))
    declared_low = np.array([0.0 if one.levels else one.low for one in features])
    declared_high = np.array([len(one.levels) - 1.0 if one.levels else one.high for one in features])
    return np.maximum(low, declared_low), np.minimum(high, declared_high)


def _with_start(region: Region) -> Region:
    start = region.pull_in(region.x[None, :])[0][0]
    return replace(region, start=start, center=start)


def _with_rows(space: Space, region: Region, linear: Sequence[Linear]) -> Region | None:
    A = np.zeros((len(linear), len(region.x)))
    for i, atom in enumerate(linear):
        for name, coefficient in atom.terms:
            A[i, space.index(name)] += coefficient
    # Cells that cannot move are constants of the row.
    b = np.array([atom.high for atom in linear]) - np.nan_to_num(
        A * region.held * np.nan_to_num(region.x)
    ).sum(axis=1)
    A = A * ~region.held
    size = np.abs(b) + np.abs(A) @ _largest(region)
    strict = np.array([atom.open for atom in linear], dtype=bool)
    b = np.where(strict, np.nextafter(b, -math.inf), b)
    trivial = ~A.any(axis=1)
    if (b[trivial] < 0).any():
        return None
    if trivial.all():
        return _with_start(region)
    exact = ((A == np.round(A)) & (region.grid.stepped | (A == 0))).all(axis=1) & (b == np.round(b))
    slack = np.where(exact, 0.0, _ROUNDING * size)
    rows = Rows(A[~trivial], b[~trivial], slack[~trivial])
    return place(replace(region, rows=rows))


def _largest(region: Region) -> Vector:
    bounds = np.abs(np.stack([region.lower, region.upper, region.x]))
    return np.asarray(np.where(np.isfinite(bounds), bounds, 0.0).max(axis=0))
