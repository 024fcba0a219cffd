"""Clauses as docs/constraints.md means them: each prints its text and judges rows by itself.

Sums are exact in decimal digits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tests.generated.columns import Matrix
from tests.generated.verdicts import (
    EITHER,
    NO,
    YES,
    Asked,
    Ground,
    Verdicts,
    everywhere,
    literal,
    quoted,
    together,
    with_missing,
)

Operator = Literal["<=", "<", ">=", ">", "==", "!="]

# What docs/constraints.md allows an equality of several columns, and below which rounding may decide.
ALLOWED, ALLOWED_SINGLE = 1e-9, 1e-6
# Of a term's size: sums within it are computed again, exactly.
_DOUBTFUL = 1e-6


@dataclass(frozen=True)
class Term:
    """A decimal factor times a cell of the new row, or with `old` of the query."""

    factor: str
    name: str
    old: bool = False

    @property
    def text(self) -> str:
        cell = f"x.{quoted(self.name)}" if self.old else quoted(self.name)
        return cell if self.factor == "1" else f"{self.factor} * {cell}"


@dataclass(frozen=True)
class Linear:
    """Numbers: the sum of the terms, compared with a sum of terms of the query and a number."""

    terms: tuple[Term, ...]
    operator: Operator
    right: tuple[Term, ...] = ()
    number: str | None = None

    @property
    def text(self) -> str:
        return f"{_sum(self.terms, None)} {self.operator} {_sum(self.right, self.number)}"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.name for one in (*self.terms, *self.right) if not one.old))

    @property
    def is_plain(self) -> bool:
        """Whether a single cell is compared with a single cell or number, without arithmetic."""
        sides = (len(self.terms), len(self.right) + (self.number is not None))
        return sides == (1, 1) and all(one.factor == "1" for one in (*self.terms, *self.right))

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        places = [ground.place(name) for name in self.names]
        right = self.right_side(ground)
        if right is None:
            return with_missing(everywhere(NO, Z), Z, places)
        factors = self.factors(places, ground)
        terms = Z[:, places] * [float(one) for one in factors]
        gap = terms.sum(axis=1) - float(right)
        size = np.maximum(np.abs(terms).max(axis=1), abs(float(right)))
        doubtful = np.flatnonzero(~np.isnan(gap) & (np.abs(gap) <= _DOUBTFUL * np.maximum(size, 1e-300)))
        is_tie = np.zeros(len(Z), dtype=bool)
        # Many rows have the same cells here, such as those of the query; each set of them is added up once.
        alike, which = np.unique(Z[doubtful][:, places], axis=0, return_inverse=True)
        gaps = [self._exact_sum(cells, places, factors, ground) - right for cells in alike]
        gap[doubtful] = np.array([float(one) for one in gaps])[which.ravel()]
        is_tie[doubtful] = np.array([one == 0 for one in gaps], dtype=bool)[which.ravel()]
        verdicts = self._judged(gap, size, is_tie, places, factors, ground)
        return with_missing(verdicts, Z, places)

    @staticmethod
    def _exact_sum(cells: Matrix, places: list[int], factors: list[Fraction], ground: Ground) -> Fraction:
        digits = (ground.columns[j].digits(cell) for j, cell in zip(places, cells, strict=True))
        return sum((one * cell for one, cell in zip(factors, digits, strict=True)), Fraction(0))

    def factors(self, places: Sequence[int], ground: Ground) -> list[Fraction]:
        """Return the factor of each column, once all cells of the new row are on the left."""
        total = dict.fromkeys(places, Fraction(0))
        for sign, terms in ((1, self.terms), (-1, self.right)):
            for one in terms:
                if not one.old:
                    total[ground.place(one.name)] += sign * Fraction(one.factor)
        return [total[j] for j in places]

    def right_side(self, ground: Ground) -> Fraction | None:
        """Return the number on the right; None where a cell of the query that it needs is missing."""
        total = Fraction(self.number or "0")
        for sign, terms in ((-1, self.terms), (1, self.right)):
            for one in terms:
                if one.old and math.isnan(ground.now(one.name)):
                    return None
                if one.old:
                    total += sign * Fraction(one.factor) * ground.digits(one.name)
        return total

    def _judged(
        self,
        gap: Matrix,
        size: Matrix,
        is_tie: NDArray[np.bool_],
        places: list[int],
        factors: list[Fraction],
        ground: Ground,
    ) -> Verdicts:
        single = any(ground.columns[j].is_single for j in places)
        band = ALLOWED_SINGLE if single else ALLOWED
        largest = max(abs(float(one)) * ground.sizes[j] for one, j in zip(factors, places, strict=True))
        if self.operator in ("==", "!="):
            wide = 1.01 * band * np.maximum(size, largest) * (not self.is_plain)
            close, apart = np.abs(gap) <= 0.1 * band * size * (not self.is_plain), np.abs(gap) > wide
            met = np.where(is_tie | close, YES, np.where(apart, NO, EITHER))
            return met if self.operator == "==" else np.where(met == EITHER, EITHER, YES - met)
        near = ~is_tie & (np.abs(gap) <= 2 * band * size)
        sides = {"<=": (gap < 0) | is_tie, "<": (gap < 0) & ~is_tie, ">=": (gap > 0) | is_tie, ">": gap > 0}
        return np.where(near, EITHER, np.where(sides[self.operator], YES, NO)).astype(np.int8)

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        right = self.right_side(ground)
        if len(self.names) != 1 or right is None or self.operator == "!=":
            return {}
        (factor,) = self.factors([ground.place(self.names[0])], ground)
        if factor == 0:
            return {}
        bound = float(right / factor)
        if self.operator == "==":
            return {self.names[0]: (bound, bound)}
        is_low = (self.operator in (">=", ">")) == (factor > 0)
        single = ground.column(self.names[0]).is_single
        bound = float(np.float32(bound)) if single else bound
        if self.operator in ("<", ">"):
            beyond = math.inf if is_low else -math.inf
            # The digits of a 32-bit number end where the next one of 32 bits begins.
            if single:
                bound = float(np.nextafter(np.float32(bound), np.float32(beyond)))
            else:
                bound = math.nextafter(bound, beyond)
        return {self.names[0]: (bound, None) if is_low else (None, bound)}


def _sum(terms: Sequence[Term], number: str | None) -> str:
    parts = [one.text for one in terms] + ([] if number is None else [number])
    return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class Level:
    """A column with levels, compared with a level or with the query's own; ordinal ones by rank."""

    name: str
    operator: Operator
    value: Any = None

    @property
    def text(self) -> str:
        name = quoted(self.name)
        return f"{name} {self.operator} {f'x.{name}' if self.value is None else literal(self.value)}"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        j = ground.place(self.name)
        rank = ground.now(self.name) if self.value is None else ground.columns[j].code(self.value)
        cells = Z[:, j]
        met = {
            "<=": cells <= rank,
            "<": cells < rank,
            ">=": cells >= rank,
            ">": cells > rank,
            "==": cells == rank,
            "!=": (cells != rank) & (not math.isnan(rank)),
        }[self.operator]
        return with_missing(met.astype(np.int8), Z, [j])

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        return {}


@dataclass(frozen=True)
class Between:
    """A cell lies between two values, both allowed."""

    name: str
    low: Any
    high: Any

    @property
    def text(self) -> str:
        return f"{literal(self.low)} <= {quoted(self.name)} <= {literal(self.high)}"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        column, cells = ground.column(self.name), Z[:, ground.place(self.name)]
        met = (cells >= column.code(self.low)) & (cells <= column.code(self.high))
        return with_missing(met.astype(np.int8), Z, [ground.place(self.name)])

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        column = ground.column(self.name)
        return {self.name: (float(self.low), float(self.high))} if column.is_number else {}


@dataclass(frozen=True)
class Within:
    """A number moves by at most so much, or so many percent of its size."""

    name: str
    size: str
    percent: bool

    @property
    def text(self) -> str:
        return f"{quoted(self.name)} within {self.size}{'%' if self.percent else ''}"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def bounds(self, ground: Ground) -> tuple[Fraction, Fraction]:
        now = ground.digits(self.name)
        reach = abs(now) * Fraction(self.size) / 100 if self.percent else Fraction(self.size)
        return now - reach, now + reach

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        j = ground.place(self.name)
        if math.isnan(ground.now(self.name)):
            return with_missing(everywhere(NO, Z), Z, [j])
        low, high = self.bounds(ground)
        cell = (Term("1", self.name),)
        above, below = Linear(cell, ">=", number=str(low)), Linear(cell, "<=", number=str(high))
        return together([above.truth(ground, Z), below.truth(ground, Z)])

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        if math.isnan(ground.now(self.name)):
            return {}
        low, high = self.bounds(ground)
        return {self.name: (float(low), float(high))}


@dataclass(frozen=True)
class Member:
    """A cell is one of some values, or none of them."""

    name: str
    values: tuple[Any, ...]
    inside: bool = True

    @property
    def text(self) -> str:
        members = ", ".join(map(literal, self.values))
        return f"{quoted(self.name)} {'in' if self.inside else 'not in'} {{{members}}}"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        column, j = ground.column(self.name), ground.place(self.name)
        met = np.isin(Z[:, j], [column.code(value) for value in self.values]) == self.inside
        return with_missing(met.astype(np.int8), Z, [j])

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        if not self.inside or not ground.column(self.name).is_number:
            return {}
        return {self.name: (float(min(self.values)), float(max(self.values)))}


@dataclass(frozen=True)
class Moves:
    """Permitted changes; staying is always allowed."""

    name: str
    moves: tuple[tuple[Any, tuple[Any, ...]], ...]

    @property
    def text(self) -> str:
        told = (f"{literal(start)} -> {{{', '.join(map(literal, ends))}}}" for start, ends in self.moves)
        return f"{quoted(self.name)}: {', '.join(told)}"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def reachable(self, ground: Ground) -> list[float]:
        column, now = ground.column(self.name), ground.now(self.name)
        ends = [end for start, ends in self.moves if column.code(start) == now for end in ends]
        return [now, *(column.code(end) for end in ends)]

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        j = ground.place(self.name)
        return with_missing(np.isin(Z[:, j], self.reachable(ground)).astype(np.int8), Z, [j])

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        if not ground.column(self.name).is_number or math.isnan(ground.now(self.name)):
            return {}
        return {self.name: (min(self.reachable(ground)), max(self.reachable(ground)))}


@dataclass(frozen=True)
class Changes:
    """A cell changes; with `stays` it does not."""

    name: str
    stays: bool = False

    @property
    def text(self) -> str:
        return f"{quoted(self.name)} {'does not change' if self.stays else 'changes'}"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        j = ground.place(self.name)
        return with_missing(((Z[:, j] == ground.query[j]) == self.stays).astype(np.int8), Z, [j])

    def asks(self, ground: Ground) -> Mapping[str, Asked]:
        now = ground.now(self.name)
        fits = self.stays and ground.column(self.name).is_number and not math.isnan(now)
        return {self.name: (now, now)} if fits else {}
