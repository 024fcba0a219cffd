"""A quick check of many rows: which of them certainly meet their constraints, by comparing floats.

`holds` is the last word on a row, in fractions and in the user's units. The check here only tells where it
need not be asked: the digits of floats are in the same order as the floats, so that comparing a number with
the query's own, or with one that was written, comes to the same.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssba.arrays import Mask, Matrix, Vector
from ssba.columns.features import LARGEST_EXACT, Feature
from ssba.constraints.language.tree import (
    Clause,
    Comparison,
    Constraint,
    Expression,
    MayFill,
    New,
    Number,
    Old,
    Operator,
    Within,
)

_COMPARE: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
# More than what the digits of a float, and sums of floats, can differ from the numbers themselves.
_ROUNDING = 1e-12


def surely_hold(constraints: Sequence[Constraint], X: Matrix, Z: Matrix, features: Sequence[Feature]) -> Mask:
    """Tell which encoded rows `Z` certainly meet which constraints, each given its query in `X`.

    There is a row for each of them, and a column for each constraint; of the others nothing is known.
    """
    columns = {feature.name: _Column(feature, X[:, j], Z[:, j]) for j, feature in enumerate(features)}
    sure = np.ones((len(Z), len(constraints)), dtype=bool)
    for i, one in enumerate(constraints):
        for clause in one.clauses:
            sure[:, i] &= not one.guard and _surely_met(clause, columns)
    return sure


@dataclass(frozen=True)
class _Column:
    """One column of queries and rows."""

    feature: Feature
    x: Vector
    z: Vector

    @property
    def holds_numbers(self) -> bool:
        """Whether cells are the numbers that a person reads: no levels, dates or 32-bit floats."""
        return self.feature.kind in ("numeric", "integer") and not self.feature.is_single

    def side(self, expression: Expression) -> Vector | float | None:
        """Return a side of a comparison where it is a cell of this column, or a number that floats hold."""
        match expression:
            case New(name) if name == self.feature.name:
                return self.z
            case Old(name) if name == self.feature.name:
                return self.x
            case Number(value) if self.holds_numbers and abs(value) <= LARGEST_EXACT:
                return float(value)
        return None


def _surely_met(clause: Clause, columns: Mapping[str, _Column]) -> Mask | bool:
    match clause:
        case MayFill():
            return True
        case Within():
            return _is_within(clause, columns[clause.column])
        case Comparison():
            return _all_true([_compares(*pair, columns) for pair in clause.pairs])
    return False


def _all_true(masks: Sequence[Mask | bool]) -> Mask | bool:
    """Tell where all of some masks are true."""
    result: Mask | bool = True
    for mask in masks:
        result = result & mask
    return result


def _is_within(clause: Within, column: _Column) -> Mask | bool:
    if not column.holds_numbers or not 0 <= clause.size.value <= LARGEST_EXACT:
        return False
    x, z, size = column.x, column.z, float(clause.size.value)
    room = np.abs(x) * size / 100 if clause.percent else size
    slack = _ROUNDING * (np.abs(x) + np.abs(z) + room)
    # A cell that stays missing is asked nothing.
    return np.asarray((np.abs(z - x) + slack <= room) | (z == x) | np.isnan(z))


def _compares(
    left: Expression, sign: Operator, right: Expression, columns: Mapping[str, _Column]
) -> Mask | bool:
    """Tell where a cell of the row compares as said with the query's own, or with a number."""
    named = [side.column for side in (left, right) if isinstance(side, New)]
    if len(named) != 1 or sign not in _COMPARE:
        return False
    column = columns[named[0]]
    one, other = column.side(left), column.side(right)
    # Cells of levels are equal where their codes are; all else about them is up to their meaning.
    if one is None or other is None or not (column.holds_numbers or _is_same_level(column, sign)):
        return False
    return np.asarray(_COMPARE[sign](one, other) | np.isnan(column.z))


def _is_same_level(column: _Column, sign: Operator) -> bool:
    return sign == "==" and column.feature.has_levels
