"""What constraints leave of single columns: bounds, levels, and default ranges where nothing is said."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Mask, Vector
from ssba.columns.distance import Metric
from ssba.columns.space import Space
from ssba.constraints.constraint import Atom, Bound, Fill, Keep, Levels, Linear
from ssba.constraints.regions.placing import placed_in_box, start_in_box
from ssba.constraints.regions.region import Region

Queries = NDArray[np.int64] | EllipsisType
"""The numbers of some queries, or all of them, or the only one."""


@dataclass(frozen=True)
class Box:
    """Bounds under construction, around one query or around each of many (a first axis in every array).

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

    def take(self, rows: Mask) -> "Limits":
        """Return the limits of some of many queries."""
        return Limits(self.lower[rows], self.upper[rows], self.keeps_x[rows], self.held[rows])


@dataclass(frozen=True)
class Ranges:
    """The columns around one query, or around each row of many: what they may hold by default, and at all."""

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
        for or declared: where it would, that side has no end.
        """
        low, high = self.default
        low, high = np.minimum(low, box.wide_low), np.maximum(high, box.wide_high)
        declared_low, declared_high = self.space.declared_range
        least = self.space.grid.ceil(np.maximum(box.asked_low, declared_low))
        most = self.space.grid.floor(np.minimum(box.asked_high, declared_high))
        asked_low, asked_high = box.asked_low > -math.inf, box.asked_high < math.inf
        low = np.where(asked_low | box.open_low | (low > most), -math.inf, low)
        high = np.where(asked_high | box.open_high | (high < least), math.inf, high)
        return (
            np.maximum(np.maximum(low, box.lower), declared_low),
            np.minimum(np.minimum(high, box.upper), declared_high),
        )

    def limits(self, box: Box) -> Limits | None:
        """Return what is left of each column, or None where one has no value."""
        limits, has_row = self.all_limits(box)
        return limits if has_row else None

    def all_limits(self, box: Box) -> tuple[Limits, Mask]:
        """Return what is left of each column, and, by query, whether each of them has a value."""
        x, discrete, grid = self.x, self.space.discrete, self.space.grid
        lower, upper = self.sides(box)
        own = self.allows_own(box)
        keeps_x = np.isnan(x) | np.where(discrete, own, (lower <= x) & (x <= upper))
        lower, upper = grid.ceil(lower), grid.floor(upper)
        has_value = np.where(discrete, box.allowed.any(axis=-1), lower <= upper)
        no_other = np.where(
            discrete, box.allowed.sum(axis=-1) <= own, (lower > upper) | ((lower == upper) & (lower == x))
        )
        held = box.keep | self.space.constant | (np.isnan(x) & ~box.fill) | (no_other & keeps_x)
        has_row = np.asarray(np.where(held, keeps_x, has_value | keeps_x).all(axis=-1))
        return Limits(np.where(held, x, lower), np.where(held, x, upper), keeps_x, held), has_row

    def allows_own(self, box: Box) -> Mask:
        """Tell whether the query's own level is allowed; false for a missing one."""
        width = box.allowed.shape[-1]
        codes = np.clip(np.nan_to_num(self.x), 0, width - 1).astype(int)
        allowed = np.take_along_axis(box.allowed, codes[..., None], axis=-1)[..., 0]
        return np.asarray(allowed & ~np.isnan(self.x))


def boxed(ranges: Ranges, box: Box) -> Region | None:
    """Return the region of the single columns' bounds and levels, or None where one column has no value."""
    limits = ranges.limits(box)
    return None if limits is None else placed_in_box(_unplaced(ranges, box.allowed, limits), ranges.metric)


def boxed_queries(ranges: Ranges, box: Box) -> list[Region | None]:
    """Return the same for each of many queries: as if each were alone, to the last bit."""
    limits, has_row = ranges.all_limits(box)
    found: list[Region | None] = [None] * len(has_row)
    if not has_row.any():
        return found
    some = Ranges(ranges.space, ranges.metric, ranges.x[has_row])
    stacked = _unplaced(some, box.allowed[has_row], limits.take(has_row))
    start, begins = start_in_box(stacked, ranges.metric)
    for place, number in enumerate(np.flatnonzero(has_row).tolist()):
        found[number] = Region(
            x=stacked.x[place],
            held=stacked.held[place],
            lower=stacked.lower[place],
            upper=stacked.upper[place],
            discrete=stacked.discrete,
            allowed=stacked.allowed[place],
            fallback=stacked.fallback[place],
            keeps_x=stacked.keeps_x[place],
            linear=None,
            grid=stacked.grid,
            scale=stacked.scale,
            center=start[place],
            start=start[place],
            begins=float(begins[place]),
        )
    return found


def _unplaced(ranges: Ranges, allowed: Mask, limits: Limits) -> Region:
    """Return the region, or the regions of many queries, before the start is known."""
    x = ranges.x
    return Region(
        x=x,
        held=limits.held,
        lower=limits.lower,
        upper=limits.upper,
        discrete=ranges.space.discrete,
        allowed=allowed,
        fallback=np.where(limits.keeps_x, x, allowed.argmax(axis=-1).astype(float)),
        keeps_x=limits.keeps_x,
        linear=None,
        grid=ranges.space.grid,
        scale=ranges.metric.scale / ranges.metric.weight,
        center=x,
        start=x,
    )


def collected(ranges: Ranges, atoms: Iterable[Atom]) -> Box:
    """Put all that is said about single columns together."""
    box = empty_box(ranges)
    tighten(box, ranges.space, atoms)
    return box


def empty_box(ranges: Ranges) -> Box:
    """Return the box, or one for each query, about which nothing is said yet."""
    shape, has_code = ranges.x.shape, ranges.space.has_code

    def ends(value: float) -> Vector:
        return np.full(shape, value)

    def no() -> Mask:
        return np.zeros(shape, dtype=bool)

    down, up = -math.inf, math.inf
    return Box(
        lower=ends(down),
        upper=ends(up),
        asked_low=ends(down),
        asked_high=ends(up),
        allowed=np.broadcast_to(has_code, shape[:-1] + has_code.shape).copy(),
        keep=no(),
        fill=no(),
        open_low=no(),
        open_high=no(),
        wide_low=ends(up),
        wide_high=ends(down),
    )


def tighten(box: Box, space: Space, atoms: Iterable[Atom], queries: Queries = ...) -> None:
    """Add what is said about single columns to a box; to the boxes of some queries, where there are many."""
    for atom in atoms:
        if not isinstance(atom, Linear):
            _tighten(box, (queries, space.index(atom.column)), atom)


def _tighten(box: Box, at: tuple[Queries, int], atom: Bound | Levels | Keep | Fill) -> None:
    if isinstance(atom, Keep):
        box.keep[at] = True
    elif isinstance(atom, Fill):
        box.fill[at] = True
    elif isinstance(atom, Levels):
        box.allowed[(*at, slice(None))] &= np.isin(np.arange(box.allowed.shape[-1]), list(atom.codes))
    else:
        low = math.nextafter(atom.low, math.inf) if atom.low_open else atom.low
        high = math.nextafter(atom.high, -math.inf) if atom.high_open else atom.high
        _raise(box.lower, at, low)
        _reduce(box.upper, at, high)
        if atom.asks:
            _raise(box.asked_low, at, low)
            _reduce(box.asked_high, at, high)


def _raise(ends: Vector, at: tuple[Queries, int], least: float) -> None:
    ends[at] = np.where(ends[at] < least, least, ends[at])


def _reduce(ends: Vector, at: tuple[Queries, int], most: float) -> None:
    ends[at] = np.where(ends[at] > most, most, ends[at])


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
