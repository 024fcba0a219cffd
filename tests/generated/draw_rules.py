"""Drawing rules of every kind around a query, most of which leave something to find."""

import math
from typing import Any

import numpy as np
from tests.generated.clauses import Between, Changes, Level, Linear, Member, Moves, Operator, Term, Within
from tests.generated.columns import Column, Matrix
from tests.generated.draw_columns import Rng, pick
from tests.generated.rules import Rule
from tests.generated.verdicts import Clause

_FACTORS = ("1", "1", "2", "0.5", "1.5", "0.3", "3", "-1", "-0.5", "-2")


class Drawer:
    """Draws rules about one query."""

    def __init__(self, rng: Rng, columns: tuple[Column, ...], data: Matrix, query: Matrix) -> None:
        self.rng, self.columns, self.data, self.query = rng, columns, data, query

    def rules(self, most: int) -> tuple[Rule, ...]:
        found = [self.rule() for _ in range(int(self.rng.integers(0, most + 1)))]
        for j in np.flatnonzero(np.isnan(self.query)):
            if self.rng.random() < 0.5:
                found.append(Rule(fill=self.columns[j].name))
        distinct = {rule.text: rule for rule in found if rule is not None}
        return tuple(distinct.values())

    def planes(self, most: int) -> tuple[Rule, ...]:
        """Return rules that are ranges of single columns and relations."""
        kinds = ("fixed", "up", "down", "between", "percent", "amount", "side", "factor")
        found: dict[str, Rule] = {}
        for _ in range(int(self.rng.integers(0, most + 1))):
            clause: Clause | None = self.relation() if self.rng.random() < 0.4 else None
            if clause is None:
                clause = self.clause(self.column(), str(self.rng.choice(kinds)))
            if not (isinstance(clause, Linear) and clause.operator == "!="):
                found[clause.text] = Rule((clause,), as_object=bool(self.rng.random() < 0.4))
        return tuple(found.values())

    def rule(self) -> Rule | None:
        kind = pick(self.rng, ("single", 6), ("relation", 3), ("if", 2), ("two", 1))
        as_object = bool(self.rng.random() < 0.4)
        match kind:
            case "single":
                return Rule((self.single(),), as_object=as_object)
            case "relation":
                relation = self.relation()
                return None if relation is None else Rule((relation,), as_object=as_object)
            case "two":
                return Rule((self.single(), self.single()))
            case _:
                return self.conditional()

    def conditional(self) -> Rule:
        guard = [self.guard() for _ in range(1 + (self.rng.random() < 0.25))]
        clauses: list[Clause] = [self.single() for _ in range(1 + (self.rng.random() < 0.2))]
        relation = self.relation()
        if relation is not None and self.rng.random() < 0.2:
            clauses = [relation]
        return Rule(tuple(clauses), tuple(guard))

    def guard(self) -> Clause:
        if self.rng.random() < 0.5:
            return Changes(self.column().name)
        return self.single()

    def column(self) -> Column:
        return self.columns[int(self.rng.integers(len(self.columns)))]

    def single(self) -> Clause:
        column = self.column()
        return self.about_number(column) if column.is_number else self.about_levels(column)

    def about_levels(self, column: Column) -> Clause:
        rng, level = self.rng, column.levels[int(self.rng.integers(len(column.levels)))]
        some = tuple(one for one in column.levels if rng.random() < 0.6) or (level,)
        kinds = [("fixed", 2.0), ("in", 1.0), ("not in", 1.0), ("==", 0.4), ("!=", 1.0), ("moves", 1.5)]
        if column.kind == "ordinal":
            kinds += [("increase", 1.0), ("decrease", 1.0), ("order", 1.0)]
        match pick(rng, *kinds):
            case "fixed":
                return Changes(column.name, stays=True) if rng.random() < 0.5 else Level(column.name, "==")
            case "in":
                return Member(column.name, some)
            case "not in":
                return Member(column.name, some[: max(1, len(column.levels) - 1)], inside=False)
            case "==":
                return Level(column.name, "==", level)
            case "!=":
                return Level(column.name, "!=", level)
            case "moves":
                return self.moves(column, column.levels)
            case "increase":
                return Level(column.name, ">=")
            case "decrease":
                return Level(column.name, "<=")
            case _:
                operators: tuple[Operator, ...] = ("<=", ">=", "<", ">")
                return Level(column.name, operators[int(rng.integers(4))], level)

    def moves(self, column: Column, values: tuple[Any, ...]) -> Moves:
        starts = [one for one in values if self.rng.random() < 0.7] or [values[0]]
        pairs = [(one, tuple(other for other in values if self.rng.random() < 0.5)) for one in starts]
        return Moves(column.name, tuple((one, ends) for one, ends in pairs if ends) or ((values[0], values),))

    def about_number(self, column: Column) -> Clause:
        kinds = (
            ("fixed", 2), ("up", 1), ("down", 1), ("between", 1), ("percent", 1), ("amount", 1), ("side", 2),
            ("in", 0.7), ("not in", 0.5), ("!=", 0.8), ("==", 0.3), ("factor", 0.7), ("moves", 0.3),
        )  # fmt: skip
        return self.clause(column, str(pick(self.rng, *kinds)))

    def clause(self, column: Column, kind: str) -> Clause:
        """Return a clause of some kind about a column of numbers."""
        rng, name = self.rng, column.name
        cell, old = (Term("1", name),), (Term("1", name, old=True),)
        match kind:
            case "fixed":
                return Changes(name, stays=True) if rng.random() < 0.5 else Linear(cell, "==", old)
            case "up":
                return Linear(cell, ">=", old)
            case "down":
                return Linear(cell, "<=", old)
            case "between":
                low, high = sorted((self.value(column), self.value(column)))
                return Between(name, low, high)
            case "percent":
                return Within(name, str(rng.choice(["10", "20", "33", "50", "12.5"])), percent=True)
            case "amount":
                return Within(
                    name, _decimal(float(rng.choice([0.5, 1, 2, 0.3])) * self.spread(column)), False
                )
            case "side":
                operators: tuple[Operator, ...] = ("<=", ">=", "<", ">")
                return Linear(cell, operators[int(rng.integers(4))], number=_decimal(self.value(column)))
            case "in":
                return Member(name, tuple(dict.fromkeys(self.value(column) for _ in range(3))))
            case "not in":
                return Member(name, tuple(dict.fromkeys(self.value(column) for _ in range(2))), inside=False)
            case "==":
                return Linear(cell, "==", number=_decimal(self.value(column)))
            case "!=":
                return Linear(cell, "!=", number=_decimal(self.value(column)))
            case "moves":
                values = dict.fromkeys([self.now(column), *(self.value(column) for _ in range(3))])
                return self.moves(column, tuple(values))
            case _:
                factor = str(rng.choice(["0.9", "1.1", "0.5", "2"]))
                return Linear(cell, "<=" if rng.random() < 0.5 else ">=", (Term(factor, name, old=True),))

    def now(self, column: Column) -> Any:
        """Return the query's own number, or one of the data where it is missing."""
        code = float(self.query[self.columns.index(column)])
        return self.value(column) if math.isnan(code) else column.cell(float(column.digits(code)))

    def value(self, column: Column) -> Any:
        """Return a number of the column, mostly of the data, sometimes near its ends or beyond."""
        cells = self.data[:, self.columns.index(column)]
        cells = cells[~np.isnan(cells)]
        drawn = float(self.rng.choice(cells)) if len(cells) else 0.0
        if self.rng.random() < 0.1:
            drawn += float(self.rng.choice([-1, 1])) * 2 * self.spread(column)
        if column.is_stepped:
            drawn = float(column.snapped(np.array([drawn]))[0])
            return float(column.digits(drawn)) if column.is_single else column.cell(drawn)
        return round(drawn, 2)

    def spread(self, column: Column) -> float:
        cells = self.data[:, self.columns.index(column)]
        width = float(np.nanmax(cells) - np.nanmin(cells)) if np.isfinite(cells).any() else 1.0
        return max(round(width / 3), 1.0) if column.kind == "integer" else max(round(width / 3, 2), 0.1)

    def relation(self) -> Linear | None:
        """Return a comparison of two or three columns, near to what the query or the data's ends give."""
        numbers = [one for one in self.columns if one.is_number]
        if len(numbers) < 2:
            return None
        count = min(len(numbers), int(self.rng.integers(2, 4)))
        chosen = [numbers[j] for j in self.rng.choice(len(numbers), count, replace=False)]
        terms = tuple(Term(str(self.rng.choice(_FACTORS)), one.name) for one in chosen)
        kinds: tuple[tuple[Operator, float], ...] = (
            ("<=", 3), (">=", 3), ("<", 1), (">", 1), ("==", 0.6), ("!=", 0.4),
        )  # fmt: skip
        operator: Any = pick(self.rng, *kinds)
        number = self.level_of(terms, chosen)
        if operator in ("==", "!=") or self.rng.random() < 0.8:
            return Linear(terms, operator, number=_decimal(number))
        return Linear(terms[:1], operator, terms[1:], _decimal(round(number / 2, 1)))

    def level_of(self, terms: tuple[Term, ...], chosen: list[Column]) -> float:
        """Return a number that the sum of the terms takes: at the query, at a row of the data, or beyond."""
        factors = np.array([float(one.factor) for one in terms])
        places = [self.columns.index(one) for one in chosen]
        sums = self.data[:, places] @ factors
        sums = sums[np.isfinite(sums)]
        if not len(sums):
            return 0.0
        now = float(np.nan_to_num(self.query[places]) @ factors)
        if self.rng.random() < 0.1:
            width = float(sums.max() - sums.min())
            return round(float(self.rng.choice([sums.min() - 0.6 * width, sums.max() + 0.6 * width])), 1)
        drawn = now if self.rng.random() < 0.3 else float(self.rng.choice(sums))
        return round(drawn, int(self.rng.choice([0, 1, 2])))


def _decimal(number: float | int) -> str:
    """Write a number as the text of rules has it, without an exponent."""
    text = repr(round(float(number), 6))
    return text.removesuffix(".0") if "e" not in text else format(float(number), "f")
