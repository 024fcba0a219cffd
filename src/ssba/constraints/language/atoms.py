"""A constraint, given the query, as alternatives that are each convex.

`alternatives` returns a disjunction of conjunctions of atoms in encoded units (the value
of a number, the rank of an ordinal level, the code of any other level). An atom about a
cell that is missing in the new row is met, except `Keep`, which asks that
the cell be as it is in the query; see `facts` for the rule on missing cells.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ssba.columns.features import Feature
from ssba.constraints.language.digits import digits, highest_at_most
from ssba.constraints.language.facts import Among, Fact, Inequality, Query, SameLevel, Settled, encode, facts
from ssba.constraints.language.tree import (
    Clause,
    Comparison,
    Constraint,
    MayFill,
    New,
    Number,
    Old,
    Text,
    columns,
)
from ssba.errors import ConstraintError

MOST_ALTERNATIVES = 10_000


@dataclass(frozen=True)
class Bound:
    """A number or a rank lies between two values, which belong to it unless open.

    A bound that `asks` for its sides replaces the default range there. One that does not only forbids:
    it is one of the two sides of ``!=``, or a way around an if-rule.
    """

    column: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    asks: bool = True

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

    terms: tuple[tuple[str, Fraction], ...]
    high: Fraction
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
    >>> from ssba.constraints.language.parser import constraint
    >>> from ssba.columns.features import Feature
    >>> chol = {"chol": Feature("chol", "numeric")}
    >>> alternatives(constraint("chol <= 0.5 * x.chol"), {"chol": 300.0}, chol)
    ((Bound(column='chol', low=-inf, high=150.0, low_open=False, high_open=False, asks=True),),)
    """
    query = Query(encode(columns(constraint), x, features), features)
    first = constraint.clauses[0]
    if isinstance(first, MayFill):
        return ((Fill(first.column),),)
    if (own := _own_bound(constraint, query)) is not None:
        return ((own,),)
    guard_false = (
        _merged(_forbidding(way), query)
        for fact in _facts(constraint.guard, query)
        for way in _ways(fact.negated(), query)
    )
    ways = [way for way in guard_false if way is not None] + _jointly(constraint, query)
    return ((),) if () in ways else tuple(dict.fromkeys(ways))


def _own_bound(constraint: Constraint, query: Query) -> Bound | None:
    """Return the bound at the query's own number, which needs no arithmetic; None for other constraints."""
    if constraint.guard or len(constraint.clauses) > 1:
        return None
    match constraint.clauses[0]:
        case Comparison((New(column), Old(same)), (("<=" | ">=") as operator,)) if column == same:
            if query.features[column].kind != "numeric" or query.is_missing(column):
                return None
            # A limit from below is the negative of one from above, and of 0 that is -0.0.
            above, below = query.cells[column] + 0.0, -(0.0 - query.cells[column])
            return Bound(column, high=above) if operator == "<=" else Bound(column, low=below)
    return None


def reads_values(constraint: Constraint, features: Mapping[str, Feature]) -> bool:
    """Tell whether what a constraint says depends on values of the query, and not only on missing ones.

    >>> from ssba.constraints.language.parser import constraint
    >>> chol = {"chol": Feature("chol", "numeric")}
    >>> [reads_values(constraint(f"chol {rule}"), chol) for rule in ("<= 240", "== x.chol", "<= x.chol")]
    [False, False, True]
    """
    if constraint.guard:
        return True
    match constraint.clauses:
        case (Comparison((New(column), Old(same)), ("==",)),) if column == same:
            # Levels of different types may be equal, so that a level is not always the only one like it.
            return features[column].is_discrete
    return not all(map(_is_absolute_order, constraint.clauses))


def _is_absolute_order(clause: Clause) -> bool:
    return (
        isinstance(clause, Comparison)
        and all(operator not in ("==", "!=") for operator in clause.operators)
        and all(isinstance(operand, New | Number | Text) for operand in clause.operands)
    )


def _forbidding(atoms: Conjunction) -> Conjunction:
    """Return atoms that ask for no side: whoever does not want a rule to apply does not ask for that."""
    return tuple(replace(atom, asks=False) if isinstance(atom, Bound) else atom for atom in atoms)


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
            flags = [name for name in fact.columns if query.features[name].is_discrete]
            return _by_flags(fact, flags, query) if flags else _numbers(fact)
        case Among():
            return _among(fact, query)
        case SameLevel():
            return _same_level(fact, query)


def _by_flags(fact: Inequality, flags: list[str], query: Query) -> list[Conjunction]:
    """Return the ways to meet an inequality over columns of 0 and 1, one for each choice of their values.

    What stays missing asks nothing of the others.
    """
    if len(fact.terms) == 1:
        allowed = frozenset(value for value in (0, 1) if fact.test({flags[0]: float(value)}))
        return [(Levels(flags[0], allowed),)]
    ways: list[Conjunction] = [(Keep(column),) for column in flags if query.is_missing(column)]
    if 2 ** len(flags) > MOST_ALTERNATIVES:
        raise ConstraintError(
            f"a comparison of {len(flags)} columns that hold 0 and 1 can be met in too many separate ways; "
            "give them as numbers that are declared ssba.integer(low=0, high=1)"
        )
    for chosen in itertools.product((0, 1), repeat=len(flags)):
        values = dict(zip(flags, chosen, strict=True))
        levels = tuple(Levels(column, frozenset({value})) for column, value in values.items())
        rest = tuple((column, factor) for column, factor in fact.terms if column not in values)
        total = sum((factor * values.get(column, 0) for column, factor in fact.terms), Fraction(0))
        left = replace(fact, terms=rest, right=fact.right - total)
        if any(factor for _, factor in rest):
            ways += [(*levels, *way) for way in _numbers(left)]
        elif replace(left, terms=()).test({}):
            ways.append(levels)
        else:
            ways += [(*levels, Keep(column)) for column, _ in rest if query.is_missing(column)]
    return ways


def _numbers(fact: Inequality) -> list[Conjunction]:
    return _intervals(fact.solved()) if len(fact.terms) == 1 else _halfspaces(fact)


def _intervals(fact: Inequality) -> list[Conjunction]:
    column, low, high = fact.columns[0], fact.right - fact.slack, fact.right + fact.slack
    short = column in fact.short
    match fact.operator:
        case "<=" | "<":
            return [(_below(column, high, fact.operator == "<", short),)]
        case ">=" | ">":
            return [(_above(column, low, fact.operator == ">", short),)]
        case "==":
            under, over = _below(column, high, False, short), _above(column, low, False, short)
            return [(Bound(column, over.low, under.high),)]
        case "!=":
            ends = _below(column, low, True, short), _above(column, high, True, short)
            return [(replace(end, asks=False),) for end in ends]


def _below(column: str, limit: Fraction, is_open: bool, short: bool) -> Bound:
    """Return the bound from above: the last float that the limit allows, left out only if it is the limit."""
    last = highest_at_most(limit, short=short)
    return Bound(column, high=last, high_open=is_open and digits(last, short=short) == limit)


def _above(column: str, limit: Fraction, is_open: bool, short: bool) -> Bound:
    mirrored = _below(column, -limit, is_open, short)
    return Bound(column, low=-mirrored.high, low_open=mirrored.high_open)


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
    return [
        (Bound(fact.column, low, high, low > -math.inf, high < math.inf, asks=False),) for low, high in gaps
    ]


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
    """Simplify a conjunction to one atom a column, two where one only forbids; None if it cannot be met."""
    by_column: dict[str, list[Bound | Levels | Keep]] = {}
    for atom in atoms:
        if isinstance(atom, Bound | Levels | Keep):
            by_column.setdefault(atom.column, []).append(atom)
    merged: list[Atom] = []
    for column, about in by_column.items():
        shared = _intersected(column, about, query)
        if shared is None:
            return None
        merged += shared
    return (*merged, *dict.fromkeys(atom for atom in atoms if isinstance(atom, Linear)))


def _intersected(column: str, atoms: list[Bound | Levels | Keep], query: Query) -> list[Atom] | None:
    """Return what atoms about one column say together; None where nothing meets them."""
    feature, keep = query.features[column], Keep(column)
    stated = [atom for atom in atoms if not isinstance(atom, Keep)]
    asking = [atom for atom in stated if isinstance(atom, Levels) or atom.asks]
    forbidding = [atom for atom in stated if isinstance(atom, Bound) and not atom.asks]
    shared = _joint(stated, feature)
    if query.is_missing(column):
        # Atoms ask nothing of a missing cell; where no value would do, staying missing still does.
        if keep in atoms or _is_empty(shared):
            return [keep]
    elif keep in atoms:
        return [keep] if shared.allows(query.cells[column]) else None
    elif _is_empty(shared):
        return None
    parts = [_joint(asking, feature)]
    if forbidding:
        joint = _joint(forbidding, feature)
        assert isinstance(joint, Bound)
        parts.append(replace(joint, asks=False))
    everything = _everything(feature)
    return [part for part in parts if part not in (everything, _silent(everything))]


def _silent(atom: Bound | Levels) -> Bound | Levels:
    return replace(atom, asks=False) if isinstance(atom, Bound) else atom


def _joint(atoms: Iterable[Bound | Levels], feature: Feature) -> Bound | Levels:
    """Return what all atoms about a column allow."""
    shared = _everything(feature)
    for atom in atoms:
        shared = _both(shared, atom)
    return _whole(shared) if isinstance(shared, Bound) and _is_whole(feature) else shared


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
