"""From constraints and a query to the regions of feasible rows, or to the constraints that clash."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ssba.errors import ConstraintError
from ssba.problem.constraints import (
    Atom,
    Bound,
    Conjunction,
    Constraint,
    Fill,
    Keep,
    Levels,
    Linear,
    alternatives,
)
from ssba.problem.distance import Metric
from ssba.problem.features import Feature
from ssba.problem.placing import place
from ssba.problem.region import Region, Rows
from ssba.problem.space import Space

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

# If-then rules multiply: n rules can be obeyed in 2^n ways. Beyond this many, the first are searched.
MAX_REGIONS = 64
# Ways that are tried for these, and steps to find ways at all.
_MOST_TRIED, _MOST_STEPS = 512, 20_000
# Of a linear row's own size: how far sums of real numbers stay inside it.
_ROUNDING = 1e-12
# Two opposite rows nearer than this share of their size are the two sides of an equality.
_THIN = 1e-8


def compile_regions(
    space: Space, metric: Metric, x: Vector, constraints: Sequence[Constraint]
) -> tuple[Region, ...]:
    """Return one region per way to obey the constraints; none where they contradict each other.

    The region that begins nearest to the query comes first.
    """
    values = space.row_values(x)
    found = [alternatives(one, values, space.by_name) for one in constraints]
    # Constraints without a choice first: they rule out most ways before these multiply.
    ways = sorted((_nearest_first(space, metric, x, choices) for choices in found), key=len)
    settled = [choices[0] for choices in ways if len(choices) == 1]
    if _region(space, metric, x, list(itertools.chain(*settled))) is None:
        return ()
    regions: list[Region] = []
    for atoms in itertools.islice(_joint_ways(space, metric, x, ways), _MOST_TRIED):
        region = _region(space, metric, x, atoms)
        if region is not None:
            regions.append(region)
        if len(regions) == MAX_REGIONS:
            break
    return tuple(sorted(regions, key=lambda one: _gap(metric, one)))


def _gap(metric: Metric, region: Region | None) -> float:
    return math.inf if region is None else float(metric.distance(region.start[None, :], region.x)[0])


def _nearest_first(
    space: Space, metric: Metric, x: Vector, choices: Sequence[Conjunction]
) -> Sequence[Conjunction]:
    if len(choices) < 2:
        return choices
    return sorted(choices, key=lambda atoms: _gap(metric, _boxed(space, metric, x, _collect(space, atoms))))


def _joint_ways(
    space: Space, metric: Metric, x: Vector, ways: Sequence[Sequence[Conjunction]]
) -> Iterator[Conjunction]:
    """Yield the ways to obey all constraints at once that no single column rules out, depth first."""
    open_ways: list[Conjunction] = [()]
    depths = [0]
    for _ in range(_MOST_STEPS):
        if not open_ways:
            return
        atoms, depth = open_ways.pop(), depths.pop()
        if depth == len(ways):
            yield atoms
            continue
        choices = ways[depth]
        for choice in reversed(choices):
            joint = atoms + choice
            if len(choices) == 1 or _boxed(space, metric, x, _collect(space, joint)) is not None:
                open_ways.append(joint)
                depths.append(depth + 1)
    raise ConstraintError(
        f"the constraints can be combined in too many ways to search ({len(ways)} of them leave a choice); "
        "use fewer if-rules and '!=' at once"
    )


def clashing(
    space: Space, metric: Metric, x: Vector, constraints: Sequence[Constraint]
) -> tuple[Constraint, ...]:
    """Return constraints that contradict each other and of which none can be left out."""
    kept = list(constraints)
    for position in reversed(range(len(constraints))):
        rest = kept[:position] + kept[position + 1 :]
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
    linear = [atom for atom in atoms if isinstance(atom, Linear)]
    region = _boxed(space, metric, x, box)
    if region is None or not linear:
        return region
    placed = _with_rows(space, metric, region, linear)
    if placed is None:
        # Perhaps only the data's range stands in the way, which is a default and no wish.
        wide = _boxed(space, metric, x, _without_defaults(space, box, linear))
        placed = None if wide is None else _with_rows(space, metric, wide, linear)
    return placed


def _boxed(space: Space, metric: Metric, x: Vector, box: _Box) -> Region | None:
    """Return the region of the single columns' bounds and levels, or None where one column has no value."""
    discrete = np.array([feature.is_discrete for feature in space.features], dtype=bool)
    lower, upper = _with_defaults(space.features, x, box)
    keeps_x = np.isnan(x) | np.where(discrete, _is_allowed(box, x), (lower <= x) & (x <= upper))
    lower, upper = space.grid.ceil(lower), space.grid.floor(upper)
    has_value = np.where(discrete, box.allowed.any(axis=1), lower <= upper)
    no_other = np.where(
        discrete,
        box.allowed.sum(axis=1) <= _is_allowed(box, x),
        (lower > upper) | ((lower == upper) & (lower == x)),
    )
    constant = np.array([feature.is_constant for feature in space.features], dtype=bool)
    held = box.keep | constant | (np.isnan(x) & ~box.fill) | (no_other & keeps_x)
    if not (has_value | keeps_x).all() or (held & ~keeps_x).any():
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
    start = region.pull_in(x[None, :])[0][0]
    return replace(region, start=start, center=start)


def _is_allowed(box: _Box, x: Vector) -> Mask:
    """Tell whether the query's own level is allowed; false for a missing one."""
    width = box.allowed.shape[1]
    codes = np.clip(np.nan_to_num(x), 0, width - 1).astype(int)
    return np.asarray(box.allowed[np.arange(len(x)), codes] & ~np.isnan(x))


def _without_defaults(space: Space, box: _Box, linear: Sequence[Linear]) -> _Box:
    involved = np.isin(space.names, [name for atom in linear for name, _ in atom.terms])
    return replace(box, set_low=box.set_low | involved, set_high=box.set_high | involved)


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
    declared_low = np.array([0.0 if one.levels else max(one.low, one.storable[0]) for one in features])
    declared_high = np.array(
        [len(one.levels) - 1.0 if one.levels else min(one.high, one.storable[1]) for one in features]
    )
    return np.maximum(low, declared_low), np.minimum(high, declared_high)


def _with_rows(space: Space, metric: Metric, region: Region, linear: Sequence[Linear]) -> Region | None:
    A, b = _matrix(space, linear)
    strict = np.array([atom.open for atom in linear], dtype=bool)
    # A row asks nothing where one of its cells is missing and stays so.
    asks = ~((A != 0) & region.held & np.isnan(region.x)).any(axis=1)
    A, b, strict = A[asks], b[asks], strict[asks]
    # Cells that cannot move are constants of the row.
    b = b - (A * region.held) @ np.nan_to_num(region.x)
    A = A * ~region.held
    settled = ~A.any(axis=1)
    if ((b < 0) | (strict & (b == 0)))[settled].any():
        return None
    A, b, strict = A[~settled], b[~settled], strict[~settled]
    if not len(b):
        return region
    whole = _is_whole(region, A)
    size = np.abs(b) + np.abs(A) @ _largest(region)
    # Below b means b - 1 at most in whole numbers, and a rounding error less than b in real ones.
    below = np.where(whole, np.ceil(b) - 1, b - _ROUNDING * size)
    b = np.where(strict, below, np.where(whole, np.floor(b), b))
    slack, thin = _half_gaps(A, b, size)
    slack = np.where(thin, slack, np.where(whole, 0.0, _ROUNDING * size))
    return place(replace(region, rows=Rows(A, b, b - slack, thin)), metric.norm)


def _is_whole(region: Region, A: Vector) -> Mask:
    """Tell rows whose sums are whole numbers, and exact."""
    grid = region.grid
    units = grid.stepped & (grid.denominator == 1)
    return np.asarray(((A == np.round(A)) & (units | (A == 0))).all(axis=1))


def _half_gaps(A: Vector, b: Vector, size: Vector) -> tuple[Vector, Mask]:
    """Return half the distance of each row to its mirror image, and whether the two make an equality."""
    gaps = np.full(len(b), math.inf)
    for i, k in itertools.permutations(range(len(b)), 2):
        if (A[i] == -A[k]).all():
            gaps[i] = min(gaps[i], b[i] + b[k])
    thin = (gaps >= 0) & (gaps <= _THIN * size)
    return np.where(thin, gaps / 2, 0.0), thin


def _matrix(space: Space, linear: Sequence[Linear]) -> tuple[Vector, Vector]:
    A = np.zeros((len(linear), len(space.features)))
    for i, atom in enumerate(linear):
        for name, coefficient in atom.terms:
            A[i, space.index(name)] += coefficient
    return A, np.array([atom.high for atom in linear])


def _largest(region: Region) -> Vector:
    bounds = np.abs(np.stack([region.lower, region.upper, region.x]))
    return np.asarray(np.where(np.isfinite(bounds), bounds, 0.0).max(axis=0))
