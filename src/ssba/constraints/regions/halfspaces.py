"""Relations between columns as linear rows of a region, exact where sums come in grains."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ssba.arrays import Mask, Vector
from ssba.constraints.constraint import Linear
from ssba.constraints.language.digits import digits
from ssba.constraints.regions.boxes import Limits, Ranges
from ssba.constraints.regions.placing import Placed, place
from ssba.constraints.regions.region import Halfspaces, Region

# Of a linear row's own size: what sums of real numbers may be off by, in 64 and in 32 bits.
_ROUNDING, _ROUNDING_SINGLE = 1e-12, 2e-7
# Grains finer than these shares of a row's size drown in rounding errors: 64 and 32 bits again.
_FINEST, _FINEST_SINGLE = 1e-9, 1e-5
# Two opposite rows nearer than this share of their size are the two sides of an equality.
_THIN = 1e-8
# Bounds beyond this (what a dtype can hold) say nothing about the size of sums.
_FAR = 1e15


def cannot_meet(ranges: Ranges, limits: Limits, linear: Sequence[Linear]) -> bool:
    """Tell whether one of the relations is out of reach for certain, whatever its columns hold."""
    for atom in linear:
        columns = [ranges.space.index(name) for name, _ in atom.terms]
        if np.isnan(ranges.x[columns]).any():
            continue
        weight = np.array([float(coefficient) for _, coefficient in atom.terms])
        low, high = limits.lower[columns], limits.upper[columns]
        own = ranges.x[columns]
        low = np.where(limits.keeps_x[columns], np.fmin(low, own), low)
        high = np.where(limits.keeps_x[columns], np.fmax(high, own), high)
        ends = np.where(weight > 0, weight * low, np.where(weight < 0, weight * high, 0.0))
        least, size = float(ends.sum()), float(np.abs(ends).sum()) + abs(float(atom.high))
        single = any(ranges.space.features[j].is_single for j in columns)
        slack = 2 * _ROUNDING_SINGLE if single else _FINEST
        if math.isfinite(least) and least > float(atom.high) + slack * size:
            return True
    return False


def with_rows(ranges: Ranges, region: Region, linear: Sequence[Linear], deadline: float = math.inf) -> Placed:
    """Give a region of single columns the linear rows of its relations, and a place to start from."""
    lines = [line for atom in linear if (line := _line(ranges, region, atom)) is not None]
    if any(line.is_broken for line in lines):
        return Placed(None, is_empty=True)
    lines = [line for line in lines if line.weight.any()]
    if not lines:
        return Placed(region)
    A = np.stack([line.weight for line in lines])
    edge = np.array([line.edge for line in lines])
    rounding = np.array([line.rounding for line in lines])
    grain = np.array([line.grain for line in lines])
    size = np.array([line.size for line in lines])
    half, thin = _half_gaps(A, edge, size)
    inside = np.array([line.inside for line in lines])
    rows = Halfspaces(
        A=A,
        b=np.where(grain > 0, edge + grain / 2, np.where(thin, edge, edge - inside)),
        aim=edge - np.where(thin, half, np.where(grain > 0, 0.0, rounding)),
        thin=thin,
        certain=edge + np.maximum(2 * rounding, _ROUNDING * size),
    )
    return place(replace(region, linear=rows), ranges.metric, deadline)


@dataclass(frozen=True)
class _Line:
    """One linear row over what may move: ``weight . z <= edge``.

    Sums that come in grains of `grain` are compared with the last one allowed; `grain` is 0 for sums of real
    numbers. `rounding` is what sums may be off; without grains a strict relation ends that much earlier, and
    sums of 32-bit numbers stay `inside` of the edge by what their digits may be off.
    """

    weight: Vector
    edge: float
    grain: float
    rounding: float
    inside: float
    size: float
    is_broken: bool = False


def _line(ranges: Ranges, region: Region, atom: Linear) -> _Line | None:
    """Return a relation as a linear row; None where it asks nothing, since a cell of it stays missing."""
    space, x = ranges.space, ranges.x
    columns = [space.index(name) for name, _ in atom.terms]
    if any(region.held[j] and np.isnan(x[j]) for j in columns):
        return None
    moving = [
        (j, coefficient) for j, (_, coefficient) in zip(columns, atom.terms, strict=True) if coefficient
    ]
    left = atom.high - sum(
        (coefficient * _digits(ranges, j) for j, coefficient in moving if region.held[j]), Fraction(0)
    )
    moving = [(j, coefficient) for j, coefficient in moving if not region.held[j]]
    weight = np.zeros(len(x))
    for j, coefficient in moving:
        weight[j] = float(coefficient)
    if not moving:
        is_broken = left < 0 or (atom.open and left == 0)
        return _Line(weight, float(left), 0.0, 0.0, 0.0, 0.0, is_broken)
    size = abs(float(left)) + float(np.abs(weight) @ _largest(ranges, region))
    single = any(space.features[j].is_single for j, _ in moving)
    grain = _grain(ranges, region, moving)
    if grain is not None and float(grain) >= (_FINEST_SINGLE if single else _FINEST) * size:
        count = math.floor(left / grain)
        count -= atom.open and count * grain == left
        # Numbers of 32 bits are a little more or less than their digits.
        off = _ROUNDING_SINGLE * size if single else 0.0
        return _Line(weight, float(count * grain), float(grain), off, 0.0, size)
    rounding = (_ROUNDING_SINGLE if single else _ROUNDING) * size
    edge = float(left) - (rounding if atom.open else 0.0)
    return _Line(weight, edge, 0.0, rounding, rounding if single else 0.0, size)


def _digits(ranges: Ranges, j: int) -> Fraction:
    return digits(float(ranges.x[j]), short=ranges.space.features[j].is_single)


def _grain(ranges: Ranges, region: Region, moving: Sequence[tuple[int, Fraction]]) -> Fraction | None:
    """Return what all sums of the moving columns are multiples of; None where one of them has no step."""
    grid = region.grid
    grain = Fraction(0)
    for j, coefficient in moving:
        if not grid.stepped[j]:
            return None
        grain = _common(grain, coefficient * Fraction(int(grid.numerator[j]), int(grid.denominator[j])))
        if region.keeps_x[j] and not np.isnan(ranges.x[j]):
            # The query's own number may lie beside the steps.
            grain = _common(grain, coefficient * _digits(ranges, j))
    return grain


def _common(one: Fraction, other: Fraction) -> Fraction:
    """Return the largest fraction that both are whole multiples of.

    >>> _common(Fraction(3, 10), Fraction(-1, 5))
    Fraction(1, 10)
    """
    denominator = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * denominator), int(other * denominator)), denominator)


def _largest(ranges: Ranges, region: Region) -> Vector:
    """Return how large the numbers of each column are, in the data, in the query and within bounds."""
    bounds = np.abs(np.stack([*ranges.default, region.lower, region.upper, region.x]))
    return np.asarray(np.where(bounds < _FAR, bounds, 0.0).max(axis=0))


def _half_gaps(A: Vector, edge: Vector, size: Vector) -> tuple[Vector, Mask]:
    """Return half the distance of each row to its mirror image, and whether the two make an equality."""
    gaps = np.full(len(edge), math.inf)
    for i, k in itertools.permutations(range(len(edge)), 2):
        if (A[i] == -A[k]).all():
            gaps[i] = min(gaps[i], edge[i] + edge[k])
    thin = (gaps >= 0) & (gaps <= _THIN * size)
    return np.where(thin, gaps / 2, 0.0), thin
