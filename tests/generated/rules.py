"""Rules: clauses that must hold, always or where a guard does, or the permission to fill a cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.generated.clauses import Between, Changes, Linear, Member, Moves, Term, Within
from tests.generated.columns import Matrix
from tests.generated.verdicts import (
    EITHER,
    NO,
    UNKNOWN,
    YES,
    Clause,
    Ground,
    Verdicts,
    everywhere,
    quoted,
    together,
)

import ssba


@dataclass(frozen=True)
class Rule:
    """Clauses that must hold, always or where a guard does; or the permission to fill a cell."""

    clauses: tuple[Clause, ...] = ()
    guard: tuple[Clause, ...] = ()
    fill: str | None = None
    as_object: bool = False

    @property
    def text(self) -> str:
        if self.fill is not None:
            return f"{quoted(self.fill)} may be filled"
        said = " and ".join(one.text for one in self.clauses)
        return f"if {' and '.join(one.text for one in self.guard)}: {said}" if self.guard else said

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the rule speaks about, the query's cells included."""
        found = [self.fill] if self.fill is not None else []
        for clause in (*self.guard, *self.clauses):
            found += clause.names
            if isinstance(clause, Linear):
                found += [one.name for one in (*clause.terms, *clause.right)]
        return tuple(dict.fromkeys(found))

    def said(self, ground: Ground, Z: Matrix) -> Verdicts:
        """Judge the clauses alone."""
        return together([everywhere(UNKNOWN, Z), *(one.truth(ground, Z) for one in self.clauses)])

    def truth(self, ground: Ground, Z: Matrix) -> Verdicts:
        """Say YES, NO or EITHER for each row."""
        said = self.said(ground, Z)
        said = np.where(said == UNKNOWN, YES, said)
        if not self.guard:
            return said
        guards = np.stack([one.truth(ground, Z) for one in self.guard])
        spared = ((guards == NO) | (guards == UNKNOWN)).any(axis=0)
        open_guard = (guards == EITHER).any(axis=0)
        fired = np.where((said == NO) & open_guard, EITHER, said)
        return np.where(spared, YES, fired).astype(np.int8)

    def given(self) -> Any:
        """Return the rule as it is handed to the library: a text, or an object where there is a maker."""
        made = _object(self) if self.as_object else None
        return self.text if made is None else made


def _object(rule: Rule) -> Any:
    if rule.fill is not None:
        return ssba.may_fill(rule.fill)
    if rule.guard or len(rule.clauses) != 1:
        return ssba.constraint(rule.text)
    match rule.clauses[0]:
        case Between(name, low, high):
            return ssba.between(name, low, high)
        case Within(name, size, percent):
            amount = float(size)
            return ssba.within(name, percent=amount) if percent else ssba.within(name, amount=amount)
        case Member(name, values, True):
            return ssba.one_of(name, values)
        case Moves(name, moves):
            return ssba.transition(name, dict(moves))
        case Changes(name, True):
            return ssba.fixed(name)
        case Linear((Term("1", name),), ">=", (Term("1", other, True),), None) if name == other:
            return ssba.increase(name)
        case Linear((Term("1", name),), "<=", (Term("1", other, True),), None) if name == other:
            return ssba.decrease(name)
        case Linear(terms) if len(terms) > 1:
            return ssba.relation(rule.text)
    return None


def source(rule: Rule) -> str:
    """Return the rule as code."""
    if not rule.as_object or rule.fill is not None or rule.guard or len(rule.clauses) != 1:
        return repr(rule.text)
    match rule.clauses[0]:
        case Between(name, low, high):
            return f"ssba.between({name!r}, {low!r}, {high!r})"
        case Within(name, size, percent):
            return f"ssba.within({name!r}, {'percent' if percent else 'amount'}={float(size)!r})"
        case Moves(name, moves):
            return f"ssba.transition({name!r}, {dict(moves)!r})"
    return repr(rule.text)
