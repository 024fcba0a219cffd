"""The legal values of every column, as one array kernel: whole numbers, declared steps, level codes.

The model is only ever asked about snapped rows, so what was tested is what is returned.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ssba.arrays import Array, like, namespace
from ssba.columns.features import Feature, step_fraction


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

    def beside(self, reference: Array) -> "Grid":
        """Return the grid with its arrays where others lie."""
        arrays = (self.stepped, self.numerator, self.denominator, self.single)
        stepped, numerator, denominator, single = (like(one, reference) for one in arrays)
        return Grid(stepped, numerator, denominator, single, self.trivial)

    def snap(self, Z: Array) -> Array:
        """Round every cell to the nearest legal value; idempotent."""
        if self.trivial:
            return Z
        xp = namespace(Z)
        return self._value(xp.round(self._count(Z)), Z)

    def floor(self, Z: Array) -> Array:
        """Round every cell down to the largest legal value that is not above it."""
        if self.trivial:
            return Z
        xp = namespace(Z)
        # The division may round to either side of a whole count: look one below and one above.
        count = xp.floor(self._count(Z)) + 1
        below = self._value(count, Z)
        for _ in range(3):
            count = xp.where(self.stepped & (below > Z), count - 1, count)
            below = self._value(count, Z)
        single = xp.where(self.single, below, xp.zeros_like(below))
        lower = xp.where(self.single, _nextafter_single(single, -math.inf), below)
        return xp.where(below > Z, lower, below)

    def ceil(self, Z: Array) -> Array:
        """Round every cell up to the smallest legal value that is not below it."""
        return -self.floor(-Z) + 0.0

    def storable(self, Z: Array) -> Array:
        """Round cells of 32-bit columns to what these can hold, and leave the others alone."""
        xp = namespace(Z)
        if not bool(xp.any(self.single)):
            return Z
        return xp.where(self.single, _as_single(xp.where(self.single, Z, xp.zeros_like(Z))), Z)

    def _count(self, Z: Array) -> Array:
        return Z * self.denominator / self.numerator

    def _value(self, count: Array, Z: Array) -> Array:
        """Return that many steps, where there are steps; adding zero turns -0.0 to 0.0."""
        xp = namespace(Z)
        return self.storable(xp.where(self.stepped, count * self.numerator / self.denominator + 0.0, Z))


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
    if feature.step is None:
        return None if feature.kind == "numeric" else Fraction(1)
    return step_fraction(feature.step)


def _as_single(Z: Array) -> Array:
    xp = namespace(Z)
    # What rounds to more than 32 bits can hold becomes infinite, and is left out by whoever has bounds.
    with np.errstate(over="ignore"):
        return xp.astype(xp.astype(Z, xp.float32), xp.float64)


def _nextafter_single(Z: Array, toward: float) -> Array:
    xp = namespace(Z)
    single = xp.astype(Z, xp.float32)
    return xp.astype(xp.nextafter(single, xp.asarray(toward, dtype=xp.float32)), xp.float64)
