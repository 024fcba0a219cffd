"""The legal values of every column, as one array kernel: whole numbers, declared steps, level codes.

The model is only ever asked about snapped rows, so what was tested is what is returned.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ssba.problem.features import Feature
from ssba.run.arrays import Array, namespace

# Numerators above this leave no room for an exact product with the step count in a double.
_LARGEST_DENOMINATOR = 10**9


@dataclass(frozen=True)
class Grid:
    """Per column: multiples of `numerator / denominator`, or any number where `stepped` is false.

    A step is kept as a fraction because ``3 * 0.1`` is not ``0.3`` but ``3 * 1 / 10`` is.
    `single` marks columns that the user keeps in 32-bit floats: only those numbers are legal there.
    """

    stepped: Array
    numerator: Array
    denominator: Array
    single: Array
    trivial: bool

    def snap(self, Z: Array) -> Array:
        """Round every cell to the nearest legal value; idempotent."""
        if self.trivial:
            return Z
        xp = namespace(Z)
        return self._on_grid(Z, xp.round)

    def floor(self, Z: Array) -> Array:
        """Round every cell down to a legal value at or below it."""
        if self.trivial:
            return Z
        xp = namespace(Z)
        snapped = self._on_grid(Z, xp.floor)
        below = _nextafter_single(snapped, -math.inf)
        return xp.where(self.single & (snapped > Z), below, snapped)

    def ceil(self, Z: Array) -> Array:
        """Round every cell up to a legal value at or above it."""
        return -self.floor(-Z)

    def _on_grid(self, Z: Array, rounding: Array) -> Array:
        xp = namespace(Z)
        count = rounding(Z * self.denominator / self.numerator)
        # A value that is already legal must not fall to its neighbour by the rounding of the division.
        nearest = xp.round(Z * self.denominator / self.numerator)
        count = xp.where(nearest * self.numerator / self.denominator == Z, nearest, count)
        stepped = xp.where(self.stepped, count * self.numerator / self.denominator, Z)
        return xp.where(self.single, _as_single(stepped), stepped)


def grid(features: Sequence[Feature], single: Sequence[bool]) -> Grid:
    """Build the grid of the features; `single` tells which columns are 32-bit floats."""
    steps = [_fraction(feature) for feature in features]
    stepped = np.array([step is not None for step in steps], dtype=bool)
    return Grid(
        stepped=stepped,
        numerator=np.array([float(step.numerator) if step else 1.0 for step in steps]),
        denominator=np.array([float(step.denominator) if step else 1.0 for step in steps]),
        single=np.array(single, dtype=bool),
        trivial=not (stepped.any() or any(single)),
    )


def _fraction(feature: Feature) -> Fraction | None:
    if feature.levels or feature.kind == "integer":
        return Fraction(1)
    if feature.step is None:
        return None
    exact = Fraction(repr(float(feature.step)))
    return (
        exact if exact.denominator <= _LARGEST_DENOMINATOR else exact.limit_denominator(_LARGEST_DENOMINATOR)
    )


def _as_single(Z: Array) -> Array:
    xp = namespace(Z)
    return xp.astype(xp.astype(Z, xp.float32), xp.float64)


def _nextafter_single(Z: Array, toward: float) -> Array:
    xp = namespace(Z)
    single = xp.astype(Z, xp.float32)
    return xp.astype(xp.nextafter(single, xp.asarray(toward, dtype=xp.float32)), xp.float64)
