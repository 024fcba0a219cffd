"""What constraints leave of single columns: bounds, levels, and default ranges where nothing is said."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.columns.space import Space
from ssba.constraints.constraint import Atom, Bound, Fill, Keep, Levels, Linear
from ssba.constraints.regions.placing import placed_in_box
from ssba.constraints.regions.region import Region

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Box:
    """Bounds under construction.

    `lower` and `upper` hold what any atom says, `asked_low` and `asked_high` only what is asked for: a bound
    that merely forbids does not replace the default range, and does not open it. `open_low` and `open_high`
    mark sides whose default is given up, `wide_low` and `wide_high` hold how far a default is widened.
    """

    lower: Vector
    upper: Vector
    asked_low: Vector
    asked_high: Vector
    allowed: Mask
    keep: Mask
    fill: Mask
    open_low: Mask
    open_high: Mask
    wide_low: Vector
    wide_high: Vector

    def opened(self, linear: Sequence[Linear], ranges: "Ranges") -> "Box":
        """Return the box without the default ranges of the columns that relations speak about."""
        involved = np.isin(ranges.space.names, [name for atom in linear for name, _ in atom.terms])
        return replace(self, open_low=self.open_low | involved, open_high=self.open_high | involved)


@dataclass(frozen=True)
class Limits:
    """The legal values that are left of each column."""

    lower: Vector
    upper: Vector
    keeps_x: Mask
    held: Mask


@dataclass(frozen=True)
class Ranges:
    """The columns around one query: what they may hold by default, and at all."""

    space: Space
    metric: Metric
    x: Vector

    @cached_property
    def default(self) -> tuple[Vector, Vector]:
        """The range of the data and the query."""
        low, high = self.space.data_range
        return np.fmin(low, self.x), np.fmax(high, self.x)

    def sides(self, box: Box) -> tuple[Vector, Vector]:
        """Return the ends of each column, before they are rounded to legal values.

        A side that nobody asks about ends where data and query do. A default never contradicts what is asked
        for: where it would, that side has no end.
        """
        low, high = self.default
        low, high = np.minimum(low, box.wide_low), np.maximum(high, box.wide_high)
        asked_low, asked_high = box.asked_low > -math.inf, box.asked_high < math.inf
        low = np.where(asked_low | box.open_low | (low > box.asked_high), -math.inf, low)
        high = np.where(asked_high | box.open_high | (high < box.asked_low), math.inf, high)
        declared_low, declared_high = self.space.declared_range
        return (
            np.maximum(np.maximum(low, box.lower), declared_low),
            np.minimum(np.minimum(high, box.upper), declared_high),
        )

    def limits(self, box: Box) -> Limits | None:
        """Return what is left of each column, or None where one has no value."""
        x, discrete, grid = self.x, self.space.discrete, self.space.grid
        lower, upper = self.sides(box)
        own = self.allows_own(box)
        keeps_x = np.isnan(x) | np.where(discrete, own, (lower <= x) & (x <= upper))
        lower, upper = grid.ceil(lower), grid.floor(upper)
        has_value = np.where(discrete, box.allowed.any(axis=1), lower <= upper)
        no_other = np.where(
            discrete, box.allowed.sum(axis=1) <= own, (lower > upper) | ((lower == upper) & (lower == x))
        )
        held = box.keep | self.space.constant | (np.isnan(x) & ~box.fill) | (no_other & keeps_x)
        if not (has_value | keeps_x).all() or (held & ~keeps_x).any():
            return None
        return Limits(np.where(held, x, lower), np.where(held, x, upper), keeps_x, held)

    def allows_own(self, box: Box) -> Mask:
        """Tell whether the query's own level is allowed; false for a missing one."""
        width = box.allowed.shape[1]
        codes = np.clip(np.nan_to_num(self.x), 0, width - 1).astype(int)
        return np.asarray(box.allowed[np.arange(len(self.x)), codes] & ~np.isnan(self.x))


def boxed(ranges: Ranges, box: Box) -> Region | None:
    """Return the region of the single columns' bounds and levels, or None where one column has no value."""
    limits = ranges.limits(box)
    if limits is None:
        return None
    x = ranges.x
    region = Region(
        x=x,
        held=limits.held,
        lower=limits.lower,
        upper=limits.upper,
        discrete=ranges.space.discrete,
        allowed=box.allowed,
        fallback=np.where(limits.keeps_x, x, box.allowed.argmax(axis=1).astype(float)),
        keeps_x=limits.keeps_x,
        linear=None,
        grid=ranges.space.grid,
        scale=ranges.metric.scale / ranges.metric.weight,
        center=x,
        start=x,
    )
    return placed_in_box(region, ranges.metric)


def collected(ranges: Ranges, atoms: Iterable[Atom]) -> Box:
    """Put all that is said about single columns together."""
    n = len(ranges.space.features)

    def ends(value: float) -> Vector:
        return np.full(n, value)

    def no() -> Mask:
        return np.zeros(n, dtype=bool)

    down, up = -math.inf, math.inf
    box = Box(
        lower=ends(down),
        upper=ends(up),
        asked_low=ends(down),
        asked_high=ends(up),
        allowed=ranges.space.has_code.copy(),
        keep=no(),
        fill=no(),
        open_low=no(),
        open_high=no(),
        wide_low=ends(up),
        wide_high=ends(down),
    )
    for atom in atoms:
        if not isinstance(atom, Linear):
            _tighten(box, ranges.space.index(atom.column), atom)
    return box


def _tighten(box: Box, j: int, atom: Bound | Levels | Keep | Fill) -> None:
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
        if atom.asks:
            box.asked_low[j] = max(box.asked_low[j], low)
            box.asked_high[j] = min(box.asked_high[j], high)


def widened(ranges: Ranges, box: Box, linear: Sequence[Linear]) -> Iterator[Box]:
    """Yield the box with ranges as far out as relations need, and then as they need given these.

    Each column may go so far that the relation is met whatever the others of it are within their ranges. At
    first that is done for relations that nothing within the ranges meets, then for all.
    """
    for turn in range(len(linear) + 2):
        lower, upper = ranges.sides(box)
        low, high = box.wide_low.copy(), box.wide_high.copy()
        for atom in linear:
            columns = np.array([ranges.space.index(name) for name, _ in atom.terms])
            weight = np.array([float(coefficient) for _, coefficient in atom.terms])
            ends = np.stack([weight * lower[columns], weight * upper[columns]])
            if np.isnan(ranges.x[columns]).any() or (
                turn == 0 and ends.min(axis=0).sum() <= float(atom.high)
            ):
                continue
            for k, j in enumerate(columns):
                # A strict relation needs one step more; a real number's next one is near enough.
                others = float(np.delete(ends.max(axis=0), k).sum())
                if weight[k] == 0 or not math.isfinite(others):
                    continue
                needed = (float(atom.high) - others) / weight[k]
                step = _step(ranges, j) if atom.open else 0.0
                if weight[k] > 0:
                    low[j] = min(low[j], needed - step)
                else:
                    high[j] = max(high[j], needed + step)
        grid = ranges.space.grid
        box = replace(box, wide_low=_outward(grid.floor, low), wide_high=_outward(grid.ceil, high))
        yield box


def _outward(rounded: object, ends: Vector) -> Vector:
    assert callable(rounded)
    finite = np.where(np.isfinite(ends), ends, 0.0)
    return np.where(np.isfinite(ends), rounded(finite), ends)


def _step(ranges: Ranges, j: int) -> float:
    """Return a column's step, or, where it has none, the smallest difference that its digits show."""
    grid = ranges.space.grid
    if grid.stepped[j]:
        return float(grid.numerator[j] / grid.denominator[j])
    return 1e-9 * float(ranges.metric.scale[j])
