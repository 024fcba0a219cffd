"""Answers in few digits: the forms in which a person may read a found row, the shortest first.

Found rows lie just past the boundary and have all the digits of a bisection. The number that a person reads
shall be the very one that was scored, and have no more digits than the data.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ssba.columns.space import Matrix
from ssba.options import SHORTER
from ssba.pipeline.state import QueryState, Vector
from ssba.search.repeats import different

# Digits are counted from the first one of the column's scale; four are one of ten thousand parts of it.
_DIGITS = range(1, 13)
_USUAL, _FINE = 4, 8
# Powers of ten beyond this are no numbers any more.
_MOST_PLACES = 300
# How many forms of a kind are asked about.
_MOST_FORMS = 4
# Of so few numbers all ways to round them up or down are asked about.
_FEW = 3
# One of the last digit, and a rounding error.
_UNIT = 1 + 1e-9
# How far beyond the found row one in the data's digits is looked for, in its distance from the query.
_SHARES = (1.0, 1.003, 1.01, 1.03)


def short_forms(state: QueryState, row: Vector) -> Matrix:
    """Return a found row with its changed numbers in few digits, and last as it was found.

    Forms in no more digits than the data come first: those that are hardly longer than the row, then, where
    the data have few digits, any. Finer ones are for a boundary so near that none of these reaches.
    """
    changed = _changed_numbers(state, row)
    if not changed.any():
        return row[None, :]
    rounding = _Rounding(state, row, changed)
    forms = rounding.hardly_longer(rounding.away(digits) for digits in _DIGITS)
    if np.isfinite(rounding.of_data[changed]).any():
        forms += rounding.in_digits_of_data()
        forms += rounding.hardly_longer(rounding.away(digits, finer=True) for digits in _DIGITS[_USUAL:])
    rows = np.stack([*forms, row])
    return rows[different(rows)]


def readable_forms(state: QueryState, row: Vector) -> Matrix:
    """Return a row that need not reach the target in few digits: rounded, rounded back, and as it is."""
    rounding = _Rounding(state, row, _changed_numbers(state, row))
    power = 10.0 ** np.minimum(rounding.places(_FINE), rounding.of_data)
    rows = np.stack([rounding.nearest(row, power), rounding.back(power), row])
    return rows[different(rows)]


def _changed_numbers(state: QueryState, row: Vector) -> Vector:
    engine = state.engine
    real = ~engine.space.grid.stepped & ~engine.metric.discrete
    return np.asarray(real & (row != state.x) & ~np.isnan(row))


@dataclass(frozen=True)
class _Rounding:
    """Roundings of a row's changed numbers."""

    state: QueryState
    row: Vector
    changed: Vector

    @property
    def of_scale(self) -> Vector:
        """The decimals of each column that has the first digit of its scale."""
        return np.asarray(-np.floor(np.log10(self.state.engine.metric.scale)))

    @property
    def of_data(self) -> Vector:
        """The decimals of each column's data, infinite where these have all that floats can hold."""
        features = self.state.engine.space.features
        return np.array([np.inf if one.decimals is None else one.decimals for one in features])

    def places(self, digits: int) -> Vector:
        """The decimals of each column that so many digits of its scale take."""
        return np.asarray(np.minimum(self.of_scale + digits, _MOST_PLACES))

    def away(self, digits: int, finer: bool = False) -> Vector:
        """Round to so many digits, of which the data have as many unless `finer` ones are asked for."""
        places = self.places(digits)
        return self._away(10.0 ** (places if finer else np.minimum(places, self.of_data)))

    def _away(self, power: Vector) -> Vector:
        """Round away from the query, so that it rather adds to the change than undoes it."""
        upward = self.row > self.state.x
        return self._kept(np.where(upward, np.ceil(self.row * power), np.floor(self.row * power)) / power)

    def nearest(self, row: Vector, power: Vector) -> Vector:
        """Round the changed numbers, taken from a row near this one, to the nearest."""
        return self._kept(np.round(row * power) / power)

    def back(self, power: Vector) -> Vector:
        """Round toward the query, so that what a bound allows stays within it."""
        upward = self.row > self.state.x
        return self._kept(np.where(upward, np.floor(self.row * power), np.ceil(self.row * power)) / power)

    def in_digits_of_data(self) -> list[Vector]:
        """Return rows around the found one in the data's digits, the nearest to the query first."""
        x, power = self.state.x, 10.0 ** np.where(np.isfinite(self.of_data), self.of_data, self.places(_FINE))
        # A cell that is filled has no way behind it.
        way = np.nan_to_num(self.row - x)
        beyond = (self.row + (share - 1) * way for share in _SHARES)
        rounded = [self.nearest(one, power) for one in beyond]
        rows = np.stack([*rounded, self._away(power), *self._either_way(power)])
        # One unit of the last digit in each number is what a row in the data's digits may cost.
        rows = rows[(np.abs(rows - self.row)[:, self.changed] <= _UNIT / power[self.changed]).all(axis=1)]
        return list(rows[np.argsort(self.state.distance(rows), kind="stable")])

    def _either_way(self, power: Vector) -> Iterator[Vector]:
        """Yield, where few numbers changed, the row with each of them rounded up or down."""
        columns = np.flatnonzero(self.changed)
        for upward in itertools.product((0, 1), repeat=len(columns)) if len(columns) <= _FEW else ():
            counts = np.floor(self.row * power)
            counts[columns] += upward
            yield self._kept(counts / power)

    def hardly_longer(self, forms: Iterable[Vector]) -> list[Vector]:
        """Return the first few that are different and at most a small share longer than the row."""
        longest = (1 + SHORTER) * float(self.state.distance(self.row[None, :])[0])
        rows = np.stack(list(forms))
        rows = rows[self.state.distance(rows) <= longest]
        return [rows[i] for i in different(rows)[:_MOST_FORMS]]

    def _kept(self, rounded: Vector) -> Vector:
        """Return the row with its changed numbers rounded; all else stays, on its step or not."""
        snapped = self.state.engine.space.grid.snap(np.where(self.changed, rounded, self.row)[None, :])[0]
        return np.where(self.changed, snapped, self.row)
