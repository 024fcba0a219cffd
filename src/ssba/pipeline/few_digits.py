"""Answers in few digits: the forms in which a person may read a found row, the shortest first.

Found rows lie just past the boundary and have all the digits of a bisection. The number that a person reads
shall be the very one that was scored, and have no more digits than the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssba.arrays import Mask
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.options import SHORTER
from ssba.pipeline.state import Vector
from ssba.search.lanes import different, rank_within
from ssba.search.regions import Numbers

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
# Cells that are worked on at a time, in each of the forms: what is held in memory stays small.
_CELLS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Forms:
    """Forms of rows, those of each row together, with the number of the row that each is a form of."""

    rows: Matrix
    of: Numbers

    @classmethod
    def joined(cls, parts: Sequence["Forms"]) -> "Forms":
        """Return all forms by row, those of an earlier part first."""
        of = np.concatenate([part.of for part in parts])
        order = np.argsort(of, kind="stable")
        return cls(np.concatenate([part.rows for part in parts])[order], of[order])

    @classmethod
    def chosen(cls, forms: Matrix, wanted: Mask) -> "Forms":
        """Return the wanted ones of forms [rows, forms, columns]."""
        number, place = np.nonzero(wanted)
        return cls(forms[number, place], number)

    def take(self, which: Sequence[int] | Numbers | Mask) -> "Forms":
        """Return some of them."""
        return Forms(self.rows[which], self.of[which])

    @property
    def without_repeats(self) -> "Forms":
        """The different forms of each row, where they first occur."""
        return self.take(different(np.column_stack([self.of, self.rows])))


def short_forms(engine: Engine, rows: Matrix, x: Matrix) -> Forms:
    """Return found rows with their changed numbers in few digits, and last as they were found.

    `x` are the rows of their queries. Forms in no more digits than the data come first: those that are hardly
    longer than the row, then, where the data have few digits, any. Finer ones are for a boundary so near that
    none of these reaches.
    """
    size = max(1, _CELLS_AT_ONCE // rows.shape[1])
    found = []
    for begin in range(0, len(rows), size):
        some = slice(begin, begin + size)
        forms = _Rounding(engine, rows[some], x[some]).short_forms()
        found.append(Forms(forms.rows, forms.of + begin))
    return Forms.joined(found)


def readable_forms(engine: Engine, rows: Matrix, x: Matrix) -> Forms:
    """Return rows that need not reach the target in few digits: rounded, rounded back, and as they are."""
    rounding = _Rounding(engine, rows, x)
    power = 10.0 ** np.minimum(rounding.places(_FINE), rounding.of_data)
    forms = [rounding.nearest(rows[:, None, :], power)[:, 0], rounding.rounded(power, away=False)[:, 0], rows]
    of = np.arange(len(rows))
    return Forms.joined([Forms(one, of) for one in forms]).without_repeats


@dataclass(frozen=True)
class _Rounding:
    """Roundings of the changed numbers of rows: forms are [rows, forms, columns]."""

    engine: Engine
    rows: Matrix
    x: Matrix

    @cached_property
    def changed(self) -> Mask:
        """The numbers that changed, and may have any value."""
        real = ~self.engine.space.grid.stepped & ~self.engine.metric.discrete
        return np.asarray(real & (self.rows != self.x) & ~np.isnan(self.rows))

    @cached_property
    def of_scale(self) -> Vector:
        """The decimals of each column that has the first digit of its scale."""
        return np.asarray(-np.floor(np.log10(self.engine.metric.scale)))

    @cached_property
    def of_data(self) -> Vector:
        """The decimals of each column's data, infinite where these have all that floats can hold."""
        features = self.engine.space.features
        return np.array([np.inf if one.decimals is None else one.decimals for one in features])

    def places(self, digits: int) -> Vector:
        """The decimals of each column that so many digits of its scale take."""
        return np.asarray(np.minimum(self.of_scale + digits, _MOST_PLACES))

    def short_forms(self) -> Forms:
        """Return all forms of the rows, the shortest first, and last as they were found."""
        whole = np.arange(len(self.rows))
        found = [self._hardly_longer(_DIGITS, finer=False)]
        few = np.flatnonzero((self.changed & np.isfinite(self.of_data)).any(axis=1))
        if len(few):
            part = _Rounding(self.engine, self.rows[few], self.x[few])
            in_digits, finer = part._in_digits_of_data(), part._hardly_longer(_DIGITS[_USUAL:], finer=True)
            found += [Forms(in_digits.rows, few[in_digits.of]), Forms(finer.rows, few[finer.of])]
        return Forms.joined([*found, Forms(self.rows, whole)]).without_repeats

    def _hardly_longer(self, digits: range, *, finer: bool) -> Forms:
        """Return the first few different roundings that are at most a small share longer than the rows.

        They have so many digits, of which the data have as many unless `finer` ones are asked for.
        """
        places = np.stack([self.places(count) for count in digits])
        forms = self.rounded(10.0 ** (places if finer else np.minimum(places, self.of_data)), away=True)
        longest = (1 + SHORTER) * self._distance(self.rows)
        kept = Forms.chosen(forms, self._distance(forms) <= longest[:, None]).without_repeats
        return kept.take(rank_within(kept.of) < _MOST_FORMS)

    def _in_digits_of_data(self) -> Forms:
        """Return forms around the rows in the data's digits, the nearest to the query first."""
        power = 10.0 ** np.where(np.isfinite(self.of_data), self.of_data, self.places(_FINE))
        # A cell that is filled has no way behind it.
        way = np.nan_to_num(self.rows - self.x)[:, None, :]
        beyond = self.rows[:, None, :] + (np.array(_SHARES)[:, None] - 1) * way
        either, wanted = self._either_way(power)
        forms = np.concatenate(
            [self.nearest(beyond, power), self.rounded(power[None, :], away=True), either], axis=1
        )
        always = np.ones((len(self.rows), len(_SHARES) + 1), dtype=bool)
        # One unit of the last digit in each number is what a form in the data's digits may cost.
        near = (np.abs(forms - self.rows[:, None, :]) <= _UNIT / power) | ~self.changed[:, None, :]
        wanted = np.concatenate([always, wanted], axis=1) & near.all(axis=2)
        kept = Forms.chosen(forms, wanted)
        return kept.take(np.lexsort((self._distance(forms)[wanted], kept.of)))

    def _either_way(self, power: Vector) -> tuple[Matrix, Mask]:
        """Return, where few numbers changed, rows with each of them rounded up or down; and where that is."""
        count = self.changed.sum(axis=1)[:, None]
        numbers = np.arange(2**_FEW)
        # The bits of a form's number tell which of the changed columns go up; the last bit is the last one's.
        place = np.maximum(count - np.cumsum(self.changed, axis=1), 0)
        upward = (numbers[:, None] >> np.minimum(place, _FEW)[:, None, :]) & 1
        counts = np.floor(self.rows * power)[:, None, :] + upward
        return self._kept(counts / power), (count <= _FEW) & (numbers < 2 ** np.minimum(count, _FEW))

    def rounded(self, power: Matrix, *, away: bool) -> Matrix:
        """Round away from the query, which rather adds to the change, or back, which stays within bounds.

        A change of less than half a unit of the last digit is none.
        """
        rows, x = self.rows[:, None, :], self.x[:, None, :]
        scaled, upward = rows * power, rows > x
        rounded = self._kept(np.where(upward == away, np.ceil(scaled), np.floor(scaled)) / power)
        little = self.changed[:, None, :] & (2 * np.abs(rows - x) * power < 1)
        return np.where(little, x, rounded)

    def nearest(self, forms: Matrix, power: Vector) -> Matrix:
        """Round the changed numbers, taken from forms near the rows, to the nearest."""
        return self._kept(np.round(forms * power) / power)

    def _kept(self, rounded: Matrix) -> Matrix:
        """Return the rows with their changed numbers rounded; all else stays, on its step or not."""
        changed, rows = self.changed[:, None, :], self.rows[:, None, :]
        snapped = self.engine.space.grid.snap(np.where(changed, rounded, rows))
        return np.where(changed, snapped, rows)

    def _distance(self, forms: Matrix) -> Vector:
        """Return how far rows, or forms of them, are from the queries."""
        x = self.x if forms.ndim == self.x.ndim else self.x[:, None, :]
        return np.asarray(self.engine.metric.distance(forms, x))
