"""Columns that hang together in the data: one above the other, a sum, a line, one following another.

Each is looked for among a bounded number of columns and rows, in those rows in which its columns are present.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Matrix, Vector
from ssba.columns.features import Feature
from ssba.constraints.language.tree import column_text
from ssba.suggest.names import is_named_above, words_of

LinkKind = Literal["equal", "sum", "one_hot", "above", "follows"]

MOST_COLUMNS = 60
MOST_ROWS = 5000
_MOST_LINKS = 20
# Fewer rows, or fewer different values, show a law by accident.
_ENOUGH_ROWS = 20
_ENOUGH_VALUES = {"numeric": 5, "integer": 5, "ordinal": 3}
# An order that would be broken so often between unrelated columns, and never is, is no accident.
_EXPECTED_BREAKS = 10.0
_NEARLY_ALL = 0.99
# What a sum or a line may be off, of the size of its numbers, to be called exact, and of their range at most.
_EXACT = 1e-9
_BAND = 0.01
# What is plainly no law shows in so many rows already, of which a law with exceptions breaks few.
_SCREENING_ROWS = 64
_MOST_BROKEN = 0.1


@dataclass(frozen=True)
class Link:
    """A relation between columns: the constraints that keep it, and what in the data speaks for it."""

    kind: LinkKind
    columns: tuple[str, ...]
    texts: tuple[str, ...]
    reason: str


def find_links(features: Sequence[Feature], Z: Matrix) -> list[Link]:
    """Return what links the columns of encoded rows, the strongest kind of link first.

    Examples
    --------
    >>> a = np.arange(30.0)
    >>> features = [Feature("age", "numeric"), Feature("months", "numeric")]
    >>> [link.texts for link in find_links(features, np.stack([a, 12 * a], axis=1))]
    [('months == 12 * age',)]
    """
    rows = Z[np.linspace(0, len(Z) - 1, min(len(Z), MOST_ROWS)).astype(int)]
    enough = [_values(rows[:, i]) >= _ENOUGH_VALUES.get(one.kind, np.inf) for i, one in enumerate(features)]
    table = _Table(features, rows, tuple(np.flatnonzero(enough).tolist()[:MOST_COLUMNS]))
    links: list[Link] = list(_lines(table))
    links += [one for one in _sums(table) if not _is_known(one, links)]
    links += [one for one in _followers(table) if not _is_known(one, links)]
    links += [one for one in _orders(table) if not _is_known(one, links)]
    return links[:_MOST_LINKS]


def one_hot_groups(names: Sequence[str], columns: Sequence[Vector]) -> list[tuple[str, ...]]:
    """Return groups of 0/1 columns with a common beginning of their names of which each row has exactly one.

    >>> red = np.array([1.0, 0.0] * 15)
    >>> one_hot_groups(["color_red", "color_blue", "smoker"], [red, 1 - red, red])
    [('color_red', 'color_blue')]
    """
    by_stem: dict[tuple[str, ...], list[int]] = {}
    for i, (name, cells) in enumerate(zip(names, columns, strict=True)):
        if len(words_of(name)) > 1 and np.isin(cells, (0.0, 1.0)).all():
            by_stem.setdefault(words_of(name)[:-1], []).append(i)
    groups = [members for members in by_stem.values() if len(members) > 1]
    return [
        tuple(names[i] for i in members)
        for members in groups
        if len(columns[members[0]]) >= _ENOUGH_ROWS
        and (np.stack([columns[i] for i in members]).sum(axis=0) == 1).all()
    ]


def one_hot_link(group: Sequence[str]) -> Link:
    """Return the link of 0/1 columns that stand for one category."""
    text = f"{' + '.join(map(column_text, group))} == 1"
    return Link("one_hot", tuple(group), (text,), "exactly one of them is 1 in every row: one category")


@dataclass(frozen=True)
class _Table:
    """The encoded rows, and which of their columns have an order and enough values to show a law."""

    features: Sequence[Feature]
    Z: Matrix
    columns: tuple[int, ...]

    @property
    def numbers(self) -> list[int]:
        return [i for i in self.columns if self.features[i].kind != "ordinal"]

    def name(self, i: int) -> str:
        return self.features[i].name

    def text(self, i: int) -> str:
        return column_text(self.features[i].name)

    @cached_property
    def screen(self) -> Matrix:
        """A few rows all over the table, to look at first."""
        return np.asarray(self.Z[np.linspace(0, len(self.Z) - 1, _SCREENING_ROWS).astype(int)])

    def present(self, *columns: int) -> Matrix:
        rows = self.Z[:, columns]
        return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def _values(column: Vector) -> int:
    return len(np.unique(column[~np.isnan(column)]))


def _is_known(link: Link, links: Sequence[Link]) -> bool:
    """Whether a link says nothing beyond stronger ones over the same columns."""
    return any(set(link.columns) <= set(one.columns) for one in links if one.kind != "above")


def _lines(table: _Table) -> Iterator[Link]:
    for i, j in itertools.combinations(table.numbers, 2):
        rows = table.present(i, j)
        if len(rows) < _ENOUGH_ROWS or not _is_nearly_a_line(rows):
            continue
        forward, backward = _line(rows[:, 0], rows[:, 1]), _line(rows[:, 1], rows[:, 0])
        (a, b), line = min([((i, j), forward), ((j, i), backward)], key=lambda one: one[1].rank)
        if line.slack <= _BAND * float(np.ptp(table.present(b))):
            yield _line_link(table, a, b, line, len(rows))


def _is_nearly_a_line(rows: Matrix) -> bool:
    centred = rows - rows.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    return bool(size.min() > 0 and abs(centred[:, 0] @ centred[:, 1]) > 0.999 * size[0] * size[1])


@dataclass(frozen=True)
class _Line:
    """`slope * a + offset`, and how far the other column lies off it at most: 0 where that is rounding."""

    slope: float
    offset: float
    slack: float

    @property
    def rank(self) -> tuple[float, int]:
        """Exact ones first, then those with the shortest numbers."""
        return self.slack, len(f"{self.slope!r}{self.offset!r}")


def _line(a: Vector, b: Vector) -> _Line:
    """Return the line with the fewest digits that meets all points, or one that comes near them."""
    slope, offset = np.polyfit(a - a.mean(), b, 1)
    offset -= slope * a.mean()
    for digits in range(1, 11):
        short = _rounded(slope, digits)
        lifted = _rounded(float(np.median(b - short * a)), digits)
        off = float(np.abs(b - (short * a + lifted)).max())
        if off <= _EXACT * max(1.0, float(np.abs(b).max())):
            return _Line(short, lifted, 0.0)
    short, lifted = _rounded(slope, 5), _rounded(offset, 5)
    return _Line(short, lifted, _rounded_up(float(np.abs(b - (short * a + lifted)).max())))


def _line_link(table: _Table, a: int, b: int, line: _Line, rows: int) -> Link:
    factor = table.text(a) if line.slope == 1 else f"{_short(line.slope)} * {table.text(a)}"
    if line.slack == 0:
        text = f"{table.text(b)} == {factor}{_plus(line.offset)}"
        reason = f"true of all {rows:,} rows: one column says what the other says"
    else:
        low, high = _plus(line.offset - line.slack), _plus(line.offset + line.slack)
        text = f"{factor}{low} <= {table.text(b)} <= {factor}{high}"
        reason = f"true of all {rows:,} rows: nearly one line, off by at most {_short(line.slack)}"
    return Link("equal", (table.name(b), table.name(a)), (text,), reason)


def _sums(table: _Table) -> Iterator[Link]:
    """Find columns that are the sum of two others; a difference is a sum read the other way."""
    numbers = table.numbers
    complete = table.Z[~np.isnan(table.Z[:, numbers]).any(axis=1)][:, numbers]
    if len(numbers) < 3 or len(complete) < _ENOUGH_ROWS:
        return
    screen = complete[:_SCREENING_ROWS]
    for i, j in itertools.combinations(range(len(numbers)), 2):
        for k in np.flatnonzero(_meets(screen, screen[:, i] + screen[:, j])):
            if k in (i, j) or not _meets(complete, complete[:, i] + complete[:, j])[k]:
                continue
            total, one, other = (numbers[place] for place in (k, i, j))
            text = f"{table.text(total)} == {table.text(one)} + {table.text(other)}"
            reason = f"true of all {len(complete):,} rows"
            yield Link("sum", (table.name(total), table.name(one), table.name(other)), (text,), reason)


def _meets(rows: Matrix, wanted: Vector) -> NDArray[np.bool_]:
    """Tell which columns hold the desired numbers in every row."""
    slack = _EXACT * np.maximum(1.0, np.abs(wanted))[:, None]
    return np.asarray((np.abs(rows - wanted[:, None]) <= slack).all(axis=0))


def _orders(table: _Table) -> list[Link]:
    """Find columns that lie above others, without those that follow from two of them."""
    found: dict[tuple[int, int], str] = {}
    for pair in itertools.permutations(table.numbers, 2):
        if (table.screen[:, pair[0]] < table.screen[:, pair[1]]).mean() > _MOST_BROKEN:
            continue
        rows = table.present(*pair)
        reason = _reason_above(table.name(pair[0]), table.name(pair[1]), rows)
        if reason:
            found[pair] = reason
    implied = {(a, c) for a, b in found for other, c in found if b == other and (a, c) in found}
    return [
        Link("above", (table.name(a), table.name(b)), (f"{table.text(a)} >= {table.text(b)}",), reason)
        for (a, b), reason in found.items()
        if (a, b) not in implied
    ]


def _reason_above(above: str, below: str, rows: Matrix) -> str:
    """Say why one column is always the greater one; empty where that may be an accident."""
    count = len(rows)
    if count < _ENOUGH_ROWS:
        return ""
    held = int((rows[:, 0] >= rows[:, 1]).sum())
    if is_named_above(above, below) and held >= _NEARLY_ALL * count:
        share = f"all {count:,}" if held == count else f"{held:,} of {count:,}"
        return f"their names say so, and it is true of {share} rows"
    if held < count:
        return ""
    # Were the two unrelated, every value of one would meet every value of the other equally often.
    below_it = np.searchsorted(np.sort(rows[:, 0]), rows[:, 1], side="left").sum()
    expected = float(below_it) / count
    if expected < _EXPECTED_BREAKS:
        return ""
    return f"true of all {count:,} rows; of unrelated columns about {expected:,.0f} rows would break it"


def _followers(table: _Table) -> Iterator[Link]:
    """Find columns that are a monotone function of another one."""
    taken: set[int] = set()
    counts = {i: _values(table.Z[:, i]) for i in table.columns}
    for a, b in itertools.permutations(table.columns, 2):
        if b in taken or counts[a] < counts[b] or (a in taken and counts[a] == counts[b]):
            continue
        screen = table.screen[:, (a, b)]
        if not _direction(screen[~np.isnan(screen).any(axis=1)]):
            continue
        rows = table.present(a, b)
        sign = _direction(rows)
        if sign and len(rows) >= _ENOUGH_ROWS:
            taken.add(b)
            yield _follower_link(table, a, b, sign, len(rows))


def _direction(rows: Matrix) -> int:
    """Return 1 or -1 where the second column rises or falls with the first, which determines it, else 0."""
    ordered = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    steps = np.diff(ordered, axis=0)
    if (steps[steps[:, 0] == 0, 1] != 0).any():
        return 0
    if (steps[:, 1] >= 0).all():
        return 1
    return -1 if (steps[:, 1] <= 0).all() else 0


def _follower_link(table: _Table, a: int, b: int, sign: int, rows: int) -> Link:
    leads, follows = table.text(a), table.text(b)
    up, down, word = (">=", "<=", "grows") if sign > 0 else ("<=", ">=", "falls")
    texts = (
        f"if {leads} does not change: {follows} does not change",
        f"if {leads} > x.{leads}: {follows} {up} x.{follows}",
        f"if {leads} < x.{leads}: {follows} {down} x.{follows}",
    )
    reason = f"true of all {rows:,} rows: {follows} is determined by {leads} and {word} with it"
    return Link("follows", (table.name(b), table.name(a)), texts, reason)


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _rounded_up(value: float) -> float:
    """Round up to two digits.

    >>> _rounded_up(0.0312), _rounded_up(7.0)
    (0.032, 7.0)
    """
    power = 10.0 ** (math.floor(math.log10(value)) - 1) if value else 1.0
    return float(f"{math.ceil(round(value / power, 6)) * power:.2g}")


def _short(value: float) -> str:
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _plus(value: float) -> str:
    """Write a number to be added.

    >>> _plus(2.0), _plus(-0.5), _plus(0.0)
    (' + 2', ' - 0.5', '')
    """
    rounded = float(f"{value:.10g}")
    if not rounded:
        return ""
    return f" {'+' if rounded > 0 else '-'} {_short(abs(rounded))}"
