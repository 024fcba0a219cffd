"""The one form a constraint has inside: a small tree that prints its own text.

The constructors in `constraint` and the reader of `parser` build the same
nodes, so that an object and its text are two views of one thing. Nodes hold what was
said, not what it means for a query; the meaning is in `facts`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Operator = Literal["<=", "<", ">=", ">", "==", "!="]
OPERATORS: tuple[Operator, ...] = get_args(Operator)

# Words that cannot stand for a column without backticks.
RESERVED = frozenset({"and", "or", "not", "in", "if", "True", "False", "None"})
# Words the reader would take for a column where one is expected, but a person might not.
_CONFUSING = frozenset({"within", "changes", "does", "change", "may", "be", "filled"})


def column_text(name: str) -> str:
    """Write a column's name, in backticks (doubled inside) where it is no plain word.

    >>> print(column_text("chol"), column_text("max HR"), column_text("a`b"))
    chol `max HR` `a``b`
    """
    if name.isidentifier() and name not in RESERVED | _CONFUSING:
        return name
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Number:
    """A finite number; whole numbers too long for a float are kept as they are."""

    value: int | float

    @property
    def text(self) -> str:
        nearest = float(self.value)
        if nearest != self.value:
            return str(self.value)
        if nearest.is_integer() and abs(nearest) < 2**53:
            return str(int(nearest))
        return repr(nearest)


@dataclass(frozen=True)
class Text:
    """A level that is a string."""

    value: str

    @property
    def text(self) -> str:
        return "'" + self.value.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class Truth:
    """A level that is True or False."""

    value: bool

    @property
    def text(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class New:
    """A cell of the new row: ``age``."""

    column: str

    @property
    def text(self) -> str:
        return column_text(self.column)


@dataclass(frozen=True)
class Old:
    """A cell of the query: ``x.age``."""

    column: str

    @property
    def text(self) -> str:
        return "x." + column_text(self.column)


@dataclass(frozen=True)
class Arithmetic:
    """Sums (signs ``+ -``) or products (``* /``) of any length, worked out from left to right.

    One node holds a whole run of terms, so that only parentheses make the tree deeper.
    """

    first: "Expression"
    rest: tuple[tuple[str, "Expression"], ...]

    @property
    def is_sum(self) -> bool:
        return self.rest[0][0] in "+-"

    @property
    def text(self) -> str:
        return self._operand(self.first) + "".join(
            f" {sign} {self._operand(term)}" for sign, term in self.rest
        )

    def _operand(self, term: "Expression") -> str:
        binds_tighter = isinstance(term, Arithmetic) and self.is_sum and not term.is_sum
        return term.text if binds_tighter or not isinstance(term, Arithmetic) else f"({term.text})"


Value = Number | Text | Truth
Cell = New | Old
Expression = Value | Cell | Arithmetic


def cells(expression: Expression) -> Iterator[Cell]:
    """Walk over the cells an expression reads, from left to right."""
    if isinstance(expression, New | Old):
        yield expression
    elif isinstance(expression, Arithmetic):
        yield from cells(expression.first)
        for _, term in expression.rest:
            yield from cells(term)


def new_columns(*expressions: Expression) -> tuple[str, ...]:
    """Return the columns of the new row that expressions read, each once, in order."""
    found = (cell.column for expression in expressions for cell in cells(expression) if isinstance(cell, New))
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Comparison:
    """``120 <= chol <= 240``: every neighbouring pair of operands compares as written."""

    operands: tuple[Expression, ...]
    operators: tuple[Operator, ...]

    @property
    def text(self) -> str:
        tail = zip(self.operators, self.operands[1:], strict=True)
        return self.operands[0].text + "".join(f" {operator} {operand.text}" for operator, operand in tail)

    @property
    def pairs(self) -> tuple[tuple[Expression, Operator, Expression], ...]:
        return tuple(zip(self.operands, self.operators, self.operands[1:], strict=False))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(cell.column for operand in self.operands for cell in cells(operand))


@dataclass(frozen=True)
class Membership:
    """``cp in {'typical', 'atypical'}`` or, with `inside` false, ``not in``."""

    cell: Cell
    values: tuple[Value, ...]
    inside: bool = True

    @property
    def text(self) -> str:
        return f"{self.cell.text} {'in' if self.inside else 'not in'} {_set_text(self.values)}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.cell.column,)


@dataclass(frozen=True)
class Changes:
    """``smoker changes``; its opposite is written ``smoker == x.smoker``."""

    column: str

    @property
    def text(self) -> str:
        return f"{column_text(self.column)} changes"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class Within:
    """``trestbps within 15``, or ``within 20%`` of the size of the query's value."""

    column: str
    size: Number
    percent: bool

    @property
    def text(self) -> str:
        return f"{column_text(self.column)} within {self.size.text}{'%' if self.percent else ''}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class Transition:
    """``smoker: 'yes' -> {'no'}``: from which level one may go to which others."""

    column: str
    moves: tuple[tuple[Value, tuple[Value, ...]], ...]

    @property
    def text(self) -> str:
        moves = ", ".join(f"{start.text} -> {_set_text(ends)}" for start, ends in self.moves)
        return f"{column_text(self.column)}: {moves}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class MayFill:
    """``chol may be filled``: a permission, always met."""

    column: str

    @property
    def text(self) -> str:
        return f"{column_text(self.column)} may be filled"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


Clause = Comparison | Membership | Changes | Within | Transition | MayFill


def _set_text(values: Iterable[Value]) -> str:
    return "{" + ", ".join(value.text for value in values) + "}"


@dataclass(frozen=True, repr=False)
class Constraint:
    """A condition on a new row, given the query: if all of its guard holds, all of its clauses must.

    Made by `constraint(text)` or a constructor such as `fixed`; equal by value and
    hashable. `text` (also `str`) is its canonical text, which `constraint` reads back.
    """

    clauses: tuple[Clause, ...]
    guard: tuple[Clause, ...] = ()

    @property
    def text(self) -> str:
        """The canonical text."""
        body = " and ".join(clause.text for clause in self.clauses)
        if not self.guard:
            return body
        return f"if {' and '.join(clause.text for clause in self.guard)}: {body}"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"constraint({self.text!r})"


def columns(constraint: Constraint) -> frozenset[str]:
    """Return the columns a constraint names, in the new row or the query.

    Examples
    --------
    >>> from ssba.constraints.language.parser import constraint
    >>> sorted(columns(constraint("if smoker changes: age >= x.age + 1")))
    ['age', 'smoker']
    """
    return frozenset(column for clause in constraint.guard + constraint.clauses for column in clause.columns)
