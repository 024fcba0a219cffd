"""A constraint, given the query, as alternatives that are each convex.

`alternatives` returns a disjunction of conjunctions of atoms in encoded units (the value
of a number, the rank of an ordinal level, the code of any other level). An atom about a
cell that is missing in the new row is met, except `Keep`, which asks that
the cell be as it is in the query; see `constraint_facts` for the rule on missing cells.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ssba.errors import ConstraintError
from ssba.problem.constraint_facts import Among, Fact, Inequality, Query, SameLevel, Settled, encode, facts
from ssba.problem.constraint_tree import Clause, Constraint, MayFill, columns
from ssba.problem.features import Feature

MOST_ALTERNATIVES = 10_000


@dataclass(frozen=True)
class Bound:
    """A number or a rank lies between two values, which belong to it unless open."""

    column: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def allows(self, code: float) -> bool:
        above = self.low < code if self.low_open else self.low <= code
        below = code < self.high if self.high_open else code <= self.high
        return above and below


@dataclass(frozen=True)
class Levels:
    """A cell without order holds one of some levels."""

    column: str
    codes: frozenset[int]

    def allows(self, code: float) -> bool:
        return code in self.codes


@dataclass(frozen=True)
class Linear:
    """The sum of coefficient times cell is at most `high`, or below it if `open`."""

    terms: tuple[tuple[str, float], ...]
    high: float
    open: bool = False


@dataclass(frozen=True)
class Fill:
    """If the cell is missing in the query, it may be filled."""

    column: str


@dataclass(frozen=True)
class Keep:
    """The cell is exactly as in the query, missing included."""

    column: str


Atom = Bound | Levels | Linear | Fill | Keep
Conjunction = tuple[Atom, ...]


def alternatives(
    constraint: Constraint, x: Mapping[str, Any], features: Mapping[str, Feature]
) -> tuple[Conjunction, ...]:
    """Return the ways to meet a constraint, given the query: any one of them is enough.

    Parameters
    ----------
    constraint : Constraint
        Passed by `check` for these features.
    x : Mapping
        The query, in user units.
    features : Mapping
        Feature of each column.

    Returns
    -------
    tuple of tuples of atoms
        ``()`` if the constraint can never hold for this query, ``((),)`` if it always
        does. For an if-rule the ways in which the guard is false come first.

    Examples
    --------
    >>> from ssba.problem.constraint_text import constraint
    >>> from ssba.problem.features import Feature
    >>> chol = {"chol": Feature("chol", "numeric")}
    >>> alternatives(constraint("chol <= 0.5 * x.chol"), {"chol": 300.0}, chol)
    ((Bound(column='chol', low=-inf, high=150.0, low_open=False, high_open=False),),)
    """
    query = Query(encode(columns(constraint), x, features), features)
    first = constraint.clauses[0]
    if isinstance(first, MayFill):
        return ((Fill(first.column),),)
    guard_false = (
        _merged(way, query)
        for fact in _facts(constraint.guard, query)
        for way in _ways(fact.negated(), query)
    )
    ways = [way for way in guard_false if way is not None] + _jointly(constraint, query)
    return ((),) if () in ways else tuple(dict.fromkeys(ways))


def _facts(clauses: Iterable[Clause], query: Query) -> list[Fact]:
    return [fact for clause in clauses for fact in facts(clause, query)]


def _jointly(constraint: Constraint, query: Query) -> list[Conjunction]:
    """Return the ways to meet all clauses at once."""
    joint: list[Conjunction] = [()]
    for fact in _facts(constraint.clauses, query):
        ways = _ways(fact, query)
        if len(joint) * len(ways) > MOST_ALTERNATIVES:
            raise ConstraintError(
                f"constraint {constraint.text!r}: it can be met in more than {MOST_ALTERNATIVES} separate "
                "ways, too many to search; use fewer '!=' and 'not in' joined by 'and'"
            )
        merged = (_merged(done + way, query) for done in joint for way in ways)
        joint = list(dict.fromkeys(way for way in merged if way is not None))
    return joint


def _ways(fact: Fact, query: Query) -> list[Conjunction]:
    """Return the ways to meet one fact, before any simplification."""
    match fact:
        case Settled():
            if fact.truth:
                return [()]
            return [(Keep(column),) for column in fact.columns if query.is_missing(column)]
        case Inequality():
            return _intervals(fact) if len(fact.terms) == 1 else _halfspaces(fact)
        case Among():
            return _among(fact, query)
        case SameLevel():
            return _same_level(fact, query)


def _intervals(fact: Inequality) -> list[Conjunction]:
    column, low, high = fact.columns[0], fact.right - fact.slack, fact.right + fact.slack
    match fact.operator:
        case "<=" | "<":
            return [(Bound(column, high=high, high_open=fact.operator == "<"),)]
        case ">=" | ">":
            return [(Bound(column, low=low, low_open=fact.operator == ">"),)]
        case "==":
            return [(Bound(column, low, high),)]
        case "!=":
            return [(Bound(column, high=low, high_open=True),), (Bound(column, low=high, low_open=True),)]


def _halfspaces(fact: Inequality) -> list[Conjunction]:
    low, high = fact.right - fact.slack, fact.right + fact.slack
    mirrored = tuple((column, -coefficient) for column, coefficient in fact.terms)
    match fact.operator:
        case "<=" | "<":
            return [(Linear(fact.terms, high, fact.operator == "<"),)]
        case ">=" | ">":
            return [(Linear(mirrored, -low, fact.operator == ">"),)]
        case "==":
            return [(Linear(fact.terms, high), Linear(mirrored, -low))]
        case "!=":
            return [(Linear(fact.terms, low, open=True),), (Linear(mirrored, -high, open=True),)]


def _among(fact: Among, query: Query) -> list[Conjunction]:
    feature = query.features[fact.column]
    if fact.inside and fact.codes == {query.cells[fact.column]}:
        return [(Keep(fact.column),)]
    if feature.is_discrete:
        codes = frozenset(int(code) for code in fact.codes)
        return [(Levels(fact.column, codes if fact.inside else _all_codes(feature) - codes),)]
    ordered = sorted(fact.codes)
    if fact.inside:
        return [(Bound(fact.column, low, high),) for low, high in _runs(ordered, _is_whole(feature))]
    gaps = pairwise((-math.inf, *ordered, math.inf))
    return [(Bound(fact.column, low, high, low > -math.inf, high < math.inf),) for low, high in gaps]


def _runs(ordered: list[float], is_whole: bool) -> list[tuple[float, float]]:
    """Join neighbouring whole numbers, between which a whole column has nothing."""
    runs: list[tuple[float, float]] = []
    for code in ordered:
        if is_whole and runs and code.is_integer() and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _same_level(fact: SameLevel, query: Query) -> list[Conjunction]:
    ways: list[Conjunction] = [(Keep(column),) for column in fact.columns if query.is_missing(column)]
    left, right = (_all_codes(query.features[column]) for column in fact.columns)
    for code in sorted(left):
        partners = frozenset(int(other) for one, other in fact.matches if one == code)
        allowed = partners if fact.same else right - partners
        ways.append((Levels(fact.left, frozenset({code})), Levels(fact.right, allowed)))
    return ways


def _merged(atoms: Conjunction, query: Query) -> Conjunction | None:
    """Simplify a conjunction to at most one atom a column; None if it cannot be met."""
    by_column: dict[str, list[Bound | Levels | Keep]] = {}
    for atom in atoms:
        if isinstance(atom, Bound | Levels | Keep):
            by_column.setdefault(atom.column, []).append(atom)
    merged: list[Atom] = []
    for column, about in by_column.items():
        shared = _intersected(column, about, query)
        if shared is None:
            return None
        if shared != _everything(query.features[column]):
            merged.append(shared)
    return (*merged, *dict.fromkeys(atom for atom in atoms if isinstance(atom, Linear)))


def _intersected(
    column: str, atoms: list[Bound | Levels | Keep], query: Query
) -> Bound | Levels | Keep | None:
    shared, now = _everything(query.features[column]), query.cells[column]
    for atom in atoms:
        if not isinstance(atom, Keep):
            shared = _both(shared, atom)
    if isinstance(shared, Bound) and _is_whole(query.features[column]):
        shared = _whole(shared)
    if query.is_missing(column):
        # Atoms ask nothing of a missing cell; where no value would do, staying missing still does.
        return Keep(column) if Keep(column) in atoms or _is_empty(shared) else shared
    if Keep(column) in atoms:
        return Keep(column) if shared.allows(now) else None
    return None if _is_empty(shared) else shared


def _both(one: Bound | Levels, other: Bound | Levels) -> Bound | Levels:
    if isinstance(one, Levels) and isinstance(other, Levels):
        return Levels(one.column, one.codes & other.codes)
    assert isinstance(one, Bound)
    assert isinstance(other, Bound)
    low, low_open = max((bound.low, bound.low_open) for bound in (one, other))
    high, high_closed = min((bound.high, not bound.high_open) for bound in (one, other))
    return Bound(one.column, low, high, low_open, not high_closed)


def _whole(bound: Bound) -> Bound:
    """Move the ends of a bound on a whole column to the whole numbers it contains."""
    low, high = bound.low, bound.high
    if math.isfinite(low):
        low = math.floor(low) + 1.0 if bound.low_open else float(math.ceil(low))
    if math.isfinite(high):
        high = math.ceil(high) - 1.0 if bound.high_open else float(math.floor(high))
    return replace(bound, low=low, high=high, low_open=False, high_open=False)


def _is_empty(atom: Bound | Levels) -> bool:
    if isinstance(atom, Levels):
        return not atom.codes
    return atom.low > atom.high or (atom.low == atom.high and (atom.low_open or atom.high_open))


def _everything(feature: Feature) -> Bound | Levels:
    if feature.is_discrete:
        return Levels(feature.name, _all_codes(feature))
    if feature.levels:
        return Bound(feature.name, 0.0, len(feature.levels) - 1.0)
    return Bound(feature.name)


def _all_codes(feature: Feature) -> frozenset[int]:
    return frozenset(range(len(feature.levels)))


def _is_whole(feature: Feature) -> bool:
    return feature.kind in ("integer", "ordinal")
