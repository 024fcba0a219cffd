r"""Read constraints written as text.

The grammar, in full; whatever is not in it is refused, and nothing is ever evaluated::

    constraint  =  [ "if" clauses ":" ] clauses
    clauses     =  clause { "and" clause }
    clause      =  sum operator sum { operator sum }          120 <= chol <= 0.9 * x.chol
                |  cell [ "not" ] "in" set                    cp in {'typical', 'atypical'}
                |  column "changes"
                |  column "does" "not" "change"               the same as  column == x.column
                |  column "within" number [ "%" ]             trestbps within 20%
                |  column ":" value "->" set { "," value "->" set }
                |  column "may" "be" "filled"                 stands alone
    operator    =  "<=" | "<" | ">=" | ">" | "==" | "!="
    sum         =  product { ("+" | "-") product }
    product     =  factor { ("*" | "/") factor }
    factor      =  { "+" | "-" } ( value | cell | "(" sum ")" )
    cell        =  column | "x" "." column                    of the new row; of the query
    column      =  identifier | "`" any characters, a backtick doubled "`"
    set         =  "{" [ value { "," value } ] "}"
    value       =  number | 'text' | "text" | True | False    escapes: \' \" \\

Sums are linear in the new row: at most one factor of a product may contain its cells,
and no divisor may.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar

from ssba.constraints.language.tree import (
    OPERATORS,
    RESERVED,
    Arithmetic,
    Changes,
    Clause,
    Comparison,
    Constraint,
    Expression,
    MayFill,
    Membership,
    New,
    Number,
    Old,
    Operator,
    Text,
    Transition,
    Truth,
    Value,
    Within,
    column_text,
    new_columns,
)
from ssba.errors import ConstraintError

DEEPEST = 50  # nested parentheses

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<column>`(?:[^`]|``)*`)
    |(?P<string>'(?:[^'\\]|\\['"\\])*'|"(?:[^"\\]|\\['"\\])*")
    |(?P<symbol><=|>=|==|!=|->|[-+*/()<>{},:.%])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_QUOTES = r"levels as in: cp == 'typical'; inside quotes write \' for a quote and \\ for a backslash"
_INSTEAD = {
    "=": "two equal signs, as in: sex == x.sex",
    "=>": ">= , as in: age >= x.age",
    "=<": "<= , as in: age <= 60",
    "≤": "<= , as in: age <= 60",
    "≥": ">= , as in: age >= x.age",
    "≠": "!= , as in: cp != 'typical'",
    "&": "the word and, as in: age >= 40 and age <= 60",
    "[": "braces, as in: cp in {'typical', 'atypical'}",
    "'": _QUOTES,
    '"': _QUOTES,
    "`": "a second backtick behind the name, as in: `max HR` >= 100",
}
_EXAMPLE = "a constraint such as: age >= x.age"
_STAYS = {"fixed", "stays", "stay", "unchanged", "constant", "same", "locked", "frozen"}
_BESIDE = {"is", "be", "must", "as", "it", "remains"}
"""Words by which people say that something stays as it is, and those that stand beside them."""
_RISES = {"increases", "increase", "increasing", "rises", "rise", "grows", "grow", "up"}
_FALLS = {"decreases", "decrease", "decreasing", "falls", "fall", "drops", "drop", "shrinks", "down"}
_GOES = {"goes", "go", "does", "only", "may", "can", "cannot", "must", "should", "not", "never"}
"""Words by which people say which way a number may go, and those that stand beside them."""
_NEVER = {"not", "never", "cannot"}
_ODD_NAME = "odd column names in backticks, as in: `price (€)` <= 3"
_NO_NAME = ";|!^~?\\]"
"""Characters that no parser knows, but that are no part of a name, either."""

_Item = TypeVar("_Item")


def constraint(given: str | Constraint) -> Constraint:
    """Read a constraint from its text; a constraint object is returned as it is.

    Bare names are cells of the new row, ``x.name`` those of the query; backticks quote
    odd names. The text is parsed against a fixed grammar and never evaluated.

    Examples
    --------
    >>> constraint("if smoker changes:  age>=x.age+1").text
    'if smoker changes: age >= x.age + 1'
    >>> constraint("`max HR` within 10%") == constraint("`max HR`  within 10.0 %")
    True
    """
    if isinstance(given, Constraint):
        return given
    if not isinstance(given, str):
        raise ConstraintError(
            f"a constraint is a text such as 'age >= x.age' or an object such as fixed('age'), not {given!r}"
        )
    return _Reader(given, tuple(_tokens(given))).constraint()


@dataclass(frozen=True)
class _Token:
    kind: Literal["number", "string", "column", "word", "symbol", "end"]
    content: str
    start: int

    def says(self, *contents: str) -> bool:
        return self.kind in ("word", "symbol") and self.content in contents


def _unreadable(text: str, start: int, problem: str, fix: str) -> ConstraintError:
    """Say what is wrong where and what to write instead, with a caret under the place or in one line."""
    visible = "".join(character if character.isprintable() else " " for character in text)
    left = max(0, start - 60)
    place = f"    {visible[left : start + 40]}\n    {' ' * (start - left)}^"
    rest = visible[start : start + 40].rstrip()
    at = f" at {rest!r}" if rest else ""
    return ConstraintError(
        f"cannot read this constraint: {problem}\n{place}\nwrite {fix}",
        f"cannot read the constraint {visible!r:.80}: {problem}{at}; write {fix}",
    )


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        if text[at].isidentifier():
            end = _word_end(text, at)
            yield _Token("word", text[at:end], at)
            at = end
        elif match := _TOKEN.match(text, at):
            if match.lastgroup != "space":
                yield _token(match)
            at = match.end()
        else:
            here = text[at : at + 2] if text[at : at + 2] in _INSTEAD else text[at]
            fix = _INSTEAD.get(here, _EXAMPLE if here in _NO_NAME else _ODD_NAME)
            raise _unreadable(text, at, f"unexpected {here!r}", fix)
    yield _Token("end", "", len(text))


def _word_end(text: str, start: int) -> int:
    end = start + 1
    while end < len(text) and ("a" + text[end]).isidentifier():
        end += 1
    return end


def _token(match: re.Match[str]) -> _Token:
    content, start = match.group(), match.start()
    match match.lastgroup:
        case "column":
            return _Token("column", content[1:-1].replace("``", "`"), start)
        case "string":
            return _Token("string", _ESCAPE.sub(r"\1", content[1:-1]), start)
        case "number":
            if math.isinf(float(content)):
                raise _unreadable(match.string, start, "this number is too large", "a finite number")
            return _Token("number", content, start)
    return _Token("symbol", content, start)


def _run(parts: list[tuple[str, Expression]]) -> Expression:
    first = parts[0][1]
    return Arithmetic(first, tuple(parts[1:])) if len(parts) > 1 else first


@dataclass
class _Reader:
    """Recursive descent over the tokens, one method a rule of the grammar."""

    text: str
    tokens: tuple[_Token, ...]
    at: int = 0
    depth: int = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.next
        self.at += token.kind != "end"
        return token

    def accept(self, *contents: str) -> str | None:
        return self.take().content if self.next.says(*contents) else None

    def expect(self, content: str, fix: str) -> None:
        if not self.accept(content):
            self.fail(f"expected {content!r}, found {self.found()}", fix)

    def found(self) -> str:
        return "the end" if self.next.kind == "end" else repr(self.next.content)

    def fail(self, problem: str, fix: str, at: _Token | None = None) -> NoReturn:
        raise _unreadable(self.text, (at or self.next).start, problem, fix)

    def separated(self, separator: str, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        items = [item()]
        while self.accept(separator):
            items.append(item())
        return tuple(items)

    def constraint(self) -> Constraint:
        guard: tuple[Clause, ...] = ()
        if self.accept("if"):
            guard = self.separated("and", self.clause)
            self.expect(":", "the rule behind a colon, as in: if smoker changes: age >= x.age + 1")
        clauses = self.separated("and", self.clause)
        if self.next.kind != "end":
            self.fail(f"expected 'and' or the end, found {self.found()}", self.advice())
        everything = guard + clauses
        if len(everything) > 1 and any(isinstance(clause, MayFill) for clause in everything):
            fix = "it as a constraint of its own, as in: chol may be filled"
            self.fail("'may be filled' is a permission and stands alone", fix, self.tokens[0])
        return Constraint(clauses, guard)

    def advice(self) -> str:
        if self.next.says("or"):
            return "two constraints or an if-rule; there is no 'or', but: cp in {'typical', 'atypical'}"
        if self.next.says("."):
            return "odd column names in backticks, as in: `petal.width` <= 3; only x has cells, as in x.age"
        if any(one.kind == "word" and one.content in _STAYS for one in self.tokens):
            return f"{self.about_old('==', _STAYS | _BESIDE)} for a column that stays as it is"
        if operator := self.direction():
            way = "rise, never fall" if operator == ">=" else "fall, never rise"
            return f"{self.about_old(operator, _RISES | _FALLS | _GOES)} for a column that may {way}"
        if self.next.kind in ("word", "column"):
            return "names with spaces in backticks, as in: `mean radius` <= 12"
        return _EXAMPLE

    def unless_directed(self, example: str) -> str:
        """Give an example, but where it is a direction that is meant, what says so."""
        return self.advice() if self.direction() else f"for example: {example}"

    def direction(self) -> Operator | None:
        """Tell which way a column is said to go, in words; None where nothing is said."""
        words = [one.content if one.kind == "word" else "" for one in self.tokens]
        rises, falls = not _RISES.isdisjoint(words[self.at :]), not _FALLS.isdisjoint(words[self.at :])
        if rises == falls:
            return None
        # What must not rise may fall.
        return ">=" if rises == _NEVER.isdisjoint(words) else "<="

    def about_old(self, operator: Operator, beside: set[str]) -> str:
        """Compare the one column that seems to be meant with what it is for the query."""
        words = [one.content for one in self.tokens if one.kind in ("word", "column")]
        names = [one for one in words if one not in beside]
        name = names[0] if len(names) == 1 else "age"
        return f"{New(name).text} {operator} {Old(name).text}"

    def clause(self) -> Clause:
        start = self.next
        subject = self.sum()
        if self.next.says(*OPERATORS):
            return self.comparison(start, subject)
        if self.next.says("in", "not"):
            return self.membership(start, subject)
        if self.next.says("changes", "does", "within", "may") or self.starts_transition():
            return self.about_column(start, subject)
        self.fail(f"expected a comparison, found {self.found()}", self.advice())

    def comparison(self, start: _Token, first: Expression) -> Comparison:
        operands: list[Expression] = [first]
        operators: list[Operator] = []
        while self.next.says(*OPERATORS):
            content = self.take().content
            operators += [operator for operator in OPERATORS if operator == content]
            operands.append(self.sum())
        comparison = Comparison(tuple(operands), tuple(operators))
        if not comparison.columns:
            self.fail("no column is compared here", _EXAMPLE, start)
        return comparison

    def membership(self, start: _Token, subject: Expression) -> Membership:
        if not isinstance(subject, New | Old):
            self.fail("only a column can be 'in' a set", "for example: cp in {'typical'}", start)
        inside = not self.accept("not")
        self.expect("in", "for example: cp not in {'typical'}")
        if values := self.set():
            return Membership(subject, values, inside)
        self.fail("the set is empty", "what is allowed, as in: cp in {'typical'}", start)

    def about_column(self, start: _Token, subject: Expression) -> Clause:
        if not isinstance(subject, New):
            fix = "the bare name of a column before it, as in: age changes"
            self.fail(f"{self.found()} must follow a column of the new row", fix, start)
        column, verb = subject.column, self.take().content
        match verb:
            case "changes":
                return Changes(column)
            case "does":
                for word in ("not", "change"):
                    self.expect(word, self.unless_directed(f"{column_text(column)} does not change"))
                return Comparison((New(column), Old(column)), ("==",))
            case "may":
                for word in ("be", "filled"):
                    self.expect(word, self.unless_directed(f"{column_text(column)} may be filled"))
                return MayFill(column)
            case "within":
                return self.within(column)
        return Transition(column, self.separated(",", self.move))

    def within(self, column: str) -> Within:
        if self.next.kind != "number":
            self.fail(
                f"expected a number of at least 0, found {self.found()}", "for example: chol within 20%"
            )
        return Within(column, self.number(1), bool(self.accept("%")))

    def starts_transition(self) -> bool:
        """Tell ``smoker: 'yes' ->`` from the colon of an if-rule, by the arrow."""
        if not self.next.says(":"):
            return False
        at = self.at + 1
        while self.tokens[at].says("+", "-"):
            at += 1
        return self.tokens[min(at + 1, len(self.tokens) - 1)].says("->")

    def move(self) -> tuple[Value, tuple[Value, ...]]:
        start = self.value()
        self.expect("->", "for example: smoker: 'yes' -> {'no'}")
        return start, self.set()

    def set(self) -> tuple[Value, ...]:
        self.expect("{", "the values in braces, as in: cp in {'typical', 'atypical'}")
        if self.accept("}"):
            return ()
        values = self.separated(",", self.value)
        self.expect("}", "the values in braces, as in: cp in {'typical', 'atypical'}")
        return tuple(dict.fromkeys(values))

    def value(self) -> Value:
        sign = self.signs()
        if self.next.kind == "number":
            return self.number(sign or 1)
        if self.next.kind == "string" and not sign:
            return Text(self.take().content)
        if self.next.says("True", "False") and not sign:
            return Truth(self.take().content == "True")
        fix = "numbers as they are and other levels in quotes, as in: cp in {'typical', 'atypical'}"
        self.fail(f"expected a number or a level in quotes, found {self.found()}", fix)

    def number(self, sign: int) -> Number:
        content = self.take().content
        # A long integer may be a level, such as an identifier, and must not lose digits.
        is_whole = content.isdigit() and len(content) <= 300
        return Number(sign * (int(content) if is_whole else float(content)))

    def signs(self) -> int:
        """Take leading signs; 0 if there are none, else 1 or -1."""
        sign = 0
        while taken := self.accept("+", "-"):
            sign = (sign or 1) * (1 if taken == "+" else -1)
        return sign

    def sum(self) -> Expression:
        parts = [("+", self.product())]
        while sign := self.accept("+", "-"):
            parts.append((sign, self.product()))
        return _run(parts)

    def product(self) -> Expression:
        parts = self.factor("*")
        has_new = bool(new_columns(parts[-1][1]))
        while sign := self.accept("*", "/"):
            start, more = self.next, self.factor(sign)
            self.ensure_linear(start, sign, more[-1][1], has_new)
            has_new = has_new or bool(new_columns(more[-1][1]))
            parts += more
        return _run(parts)

    def ensure_linear(self, start: _Token, sign: str, factor: Expression, has_new: bool) -> None:
        fix = "linear terms, as in: chol <= 0.9 * x.chol"
        if sign == "/" and new_columns(factor):
            self.fail("one cannot divide by a column of the new row", fix, start)
        if has_new and new_columns(factor):
            self.fail("one cannot multiply columns of the new row with each other", fix, start)
        if sign == "/" and factor == Number(0):
            self.fail("division by zero", fix, start)

    def factor(self, operation: str) -> list[tuple[str, Expression]]:
        """Read a factor; a minus before what is no number becomes a factor -1 of its own."""
        sign = self.signs()
        if self.next.kind == "number":
            return [(operation, self.number(sign or 1))]
        minus: list[tuple[str, Expression]] = [(operation, Number(-1))] if sign < 0 else []
        return [*minus, (operation, self.operand())]

    def operand(self) -> Expression:
        if self.next.kind == "string" or self.next.says("True", "False"):
            before, after = self.tokens[max(0, self.at - 1)], self.tokens[self.at + 1]
            if before.says(*"+-*/(") or after.says(*"+-*/"):
                self.fail("one can only calculate with numbers", "for example: a - b >= 20")
            return self.value()
        if self.next.says("("):
            return self.parenthesis()
        return self.cell()

    def parenthesis(self) -> Expression:
        if self.depth == DEEPEST:
            self.fail(f"more than {DEEPEST} nested parentheses", "it with fewer of them")
        self.take()
        self.depth += 1
        inner = self.sum()
        self.expect(")", "parentheses around arithmetic only, as in: 2 * (a + b) <= 10 and a >= 1")
        self.depth -= 1
        return inner

    def cell(self) -> Expression:
        is_query = self.next.says("x") and self.tokens[self.at + 1].says(".")
        if is_query:
            self.at += 2
        if self.next.kind not in ("word", "column") or self.next.says(*RESERVED):
            fix = "odd or reserved names in backticks, as in: `max HR` >= 100" if is_query else _EXAMPLE
            self.fail(f"expected a column or a number, found {self.found()}", fix)
        name = self.take()
        if self.next.says("("):
            # Behind a space the parenthesis is more likely a part of the name.
            fix = _ODD_NAME if self.next.start > name.start + len(name.content) else _EXAMPLE
            self.fail("functions cannot be called; only columns, numbers and levels are read", fix, name)
        if self.next.says("."):
            self.fail(f"{name.content!r} is followed by a dot, and only x has cells", self.advice(), name)
        return Old(name.content) if is_query else New(name.content)
