import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.constraints.language.parser import DEEPEST, constraint
from ssba.constraints.language.tree import (
    OPERATORS,
    Arithmetic,
    Changes,
    Comparison,
    Constraint,
    Expression,
    MayFill,
    Membership,
    New,
    Number,
    Old,
    Text,
    Transition,
    Truth,
    Within,
    cells,
)
from ssba.errors import ConstraintError

COLUMNS = st.sampled_from(
    ["age", "max HR", "a`b", "", "x", "if", "None", "within", "größe", "年齢", "ca.1"]
) | st.text(max_size=6)
NUMBERS = st.builds(
    Number,
    st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3),
)
VALUES = NUMBERS | st.builds(Text, st.text(max_size=6)) | st.builds(Truth, st.booleans())


def runs(
    first: st.SearchStrategy[Expression], rest: st.SearchStrategy[tuple[str, Expression]]
) -> st.SearchStrategy[Expression]:
    return st.builds(Arithmetic, first, st.lists(rest, min_size=1, max_size=3).map(tuple))


def signed(sign: str, term: st.SearchStrategy[Expression]) -> st.SearchStrategy[tuple[str, Expression]]:
    return st.tuples(st.just(sign), term)


def with_operations(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    divisor = inner.filter(lambda expression: expression != Number(0))
    sums = runs(inner, signed("+", inner) | signed("-", inner))
    products = runs(inner, signed("*", inner) | signed("/", divisor))
    return sums | products


OF_QUERY = st.recursive(NUMBERS | st.builds(Old, COLUMNS), with_operations, max_leaves=5)


def with_linear_operations(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    divisor = OF_QUERY.filter(lambda expression: expression != Number(0))
    sums = runs(inner, signed("+", inner) | signed("-", inner))
    products = runs(inner, signed("*", OF_QUERY) | signed("/", divisor))
    return sums | products


SUMS = st.recursive(OF_QUERY | st.builds(New, COLUMNS), with_linear_operations, max_leaves=5)


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    operands = draw(st.lists(SUMS | VALUES, min_size=2, max_size=4))
    if not any(True for operand in operands for _ in cells(operand)):
        operands[0] = New(draw(COLUMNS))
    operators = draw(
        st.lists(st.sampled_from(OPERATORS), min_size=len(operands) - 1, max_size=len(operands) - 1)
    )
    return Comparison(tuple(operands), tuple(operators))


def sets(at_least: int) -> st.SearchStrategy[tuple[Number | Text | Truth, ...]]:
    return st.lists(VALUES, min_size=at_least, max_size=4, unique=True).map(tuple)


CLAUSES = st.one_of(
    comparisons(),
    st.builds(Membership, st.builds(New, COLUMNS) | st.builds(Old, COLUMNS), sets(1), st.booleans()),
    st.builds(Changes, COLUMNS),
    st.builds(Within, COLUMNS, NUMBERS.map(lambda number: Number(abs(number.value))), st.booleans()),
    st.builds(Transition, COLUMNS, st.lists(st.tuples(VALUES, sets(0)), min_size=1, max_size=3).map(tuple)),
)
CONSTRAINTS = st.one_of(
    st.builds(
        Constraint,
        st.lists(CLAUSES, min_size=1, max_size=3).map(tuple),
        st.lists(CLAUSES, max_size=2).map(tuple),
    ),
    st.builds(lambda column: Constraint((MayFill(column),)), COLUMNS),
)


@given(CONSTRAINTS)
def test_any_constraint_is_read_back_from_its_text(made: Constraint) -> None:
    again = constraint(made.text)
    assert again == made
    assert hash(again) == hash(made)
    assert again.text == made.text


WORDS = ["age", "x", "x.", "and", "or", "if", "in", "not", "changes", "does", "within", "may", "be", "filled"]
LITERALS = ["0", "1", "2.5e3", "1e999", "True", "None", "'", '"', "\\", "`", "``", "'a'", "{1}"]
SIGNS = [*OPERATORS, *".%+-*/(){}[],:;=!&|@#$^~ \n\x00\ud800é²", "->", "__import__"]
PIECES = st.lists(st.sampled_from(WORDS + LITERALS + SIGNS), max_size=12)


@given(st.text() | PIECES.map("".join) | PIECES.map(" ".join))
def test_any_text_is_read_or_refused_with_a_constraint_error(text: str) -> None:
    read = None
    with contextlib.suppress(ConstraintError):
        read = constraint(text)
    assert read is None or constraint(read.text) == read


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("age>=x.age", "age >= x.age"),
        ("chol <= .9*x.chol", "chol <= 0.9 * x.chol"),
        ("120<=chol<=2.40e2", "120 <= chol <= 240"),
        ('cp in {"typical",\'atypical\', "typical"}', "cp in {'typical', 'atypical'}"),
        ("cp not in {1, -2.5, True}", "cp not in {1, -2.5, True}"),
        ("sex does not change", "sex == x.sex"),
        ("if smoker changes: age >= x.age + 1", "if smoker changes: age >= x.age + 1"),
        ("if x.age > 60 and cp == 'a' : chol within 20 % and age >= 1", None),
        ("trestbps within 15.0", "trestbps within 15"),
        ("smoker:'yes'->{'no'},'former'->{}", "smoker: 'yes' -> {'no'}, 'former' -> {}"),
        ("if stage: -1 -> {2}: age >= 3", "if stage: -1 -> {2}: age >= 3"),
        ("`max HR` >= x.`max HR`", "`max HR` >= x.`max HR`"),
        ("`age` >= 3", "age >= 3"),
        ("größe >= x.größe", "größe >= x.größe"),
        ("within within 3", "`within` within 3"),
        ("x >= x.x", "x >= x.x"),
        ("a - (b - c) <= ((3))", "a - (b - c) <= 3"),
        ("2 * (a + b) / 4 - -c > -(x.a * x.b)", "2 * (a + b) / 4 - -1 * c > -1 * (x.a * x.b)"),
        ("who == 'it\\'s \\\\ \"'", "who == 'it\\'s \\\\ \"'"),
        ("patient == 9007199254740993", "patient == 9007199254740993"),
        ("a >= 1e-7 and a != -0.0", "a >= 1e-07 and a != 0"),
        ("chol may be filled", "chol may be filled"),
    ],
)
def test_text_has_one_canonical_form(text: str, canonical: str | None) -> None:
    printed = constraint(text).text
    assert constraint(printed).text == printed
    if canonical is not None:
        assert printed == canonical


@pytest.mark.parametrize(
    ("text", "caret", "says"),
    [
        ("sex = x.sex", 4, "=="),
        ("age ≥ 3", 4, ">="),
        ("age", 3, "expected a comparison, found the end"),
        ("", 0, "found the end"),
        ("__import__('os').system('x')", 0, "functions cannot be called"),
        ("age >= abs(x.age)", 7, "functions cannot be called"),
        ("age.__class__ == 3", 0, "only x has cells"),
        ("petal.width > 3", 0, "`petal.width`"),
        ("x.a.b > 3", 2, "only x has cells"),
        ("a > 3 or b > 3", 6, "no 'or'"),
        ("(a > 3) and b > 3", 3, "parentheses around arithmetic only"),
        ("a * b > 3", 4, "cannot multiply columns of the new row"),
        ("a * (2 * x.b + b) > 3", 4, "cannot multiply columns of the new row"),
        ("3 / a > 3", 4, "cannot divide by a column"),
        ("a / 0 > 3", 4, "division by zero"),
        ("a + 'b' > 3", 4, "calculate with numbers"),
        ("('b') == a", 1, "calculate with numbers"),
        ("-True < a", 1, "calculate with numbers"),
        ("a > 1e999", 4, "too large"),
        ("1 < 2", 0, "no column"),
        ("cp in {}", 0, "empty"),
        ("cp in {typical}", 7, "in quotes"),
        ("cp in ['typical']", 6, "braces"),
        ("a + 1 in {3}", 0, "only a column"),
        ("cp == 'typical", 6, "quote"),
        ("cp == 'a\\n'", 6, "backslash"),
        ("`max HR > 3", 0, "backtick"),
        ("age within -3", 11, "at least 0"),
        ("x.age changes", 0, "column of the new row"),
        ("if smoker changes", 17, "colon"),
        ("if smoker: age > 3", 9, "expected a comparison"),
        ("a may be filled and b > 3", 0, "stands alone"),
        ("a ** 2 > 3", 3, "expected a column or a number"),
        ("lambda: 3", 6, "expected a comparison"),
        ("a > None", 4, "found 'None'"),
    ],
)
def test_an_unreadable_text_is_shown_with_a_caret_and_a_way_out(text: str, caret: int, says: str) -> None:
    with pytest.raises(ConstraintError) as caught:
        constraint(text)
    message = str(caught.value)
    _, shown, pointer, fix = message.split("\n")
    assert shown == "    " + text
    assert pointer == "    " + " " * caret + "^"
    assert fix.startswith("write ")
    assert says in message


def test_a_long_text_is_shown_around_the_error_only() -> None:
    with pytest.raises(ConstraintError) as caught:
        constraint("age >= 1 and " * 1000 + "age = 3\n")
    shown, pointer = str(caught.value).split("\n")[1:3]
    assert shown[pointer.index("^")] == "="
    assert len(shown) < 120


def test_parentheses_nest_to_a_limit() -> None:
    deepest = "(" * DEEPEST + "age" + ")" * DEEPEST
    assert constraint(f"{deepest} > 3") == constraint("age > 3")
    signed = constraint("3 * -(" * DEEPEST + "age" + ")" * DEEPEST + " > 3")
    assert constraint(signed.text) == signed
    for text in (f"({deepest}) > 3", "(" * 100_000, "-(" * 100_000):
        with pytest.raises(ConstraintError, match="nested parentheses"):
            constraint(text)


def test_long_texts_need_no_deep_recursion() -> None:
    names = [f"c{number}" for number in range(5_000)]
    total = constraint(" + ".join(names) + " <= 1")
    assert constraint(total.text) == total
    assert constraint("-" * 10_001 + "3 <= age").text == "-3 <= age"


def test_a_constraint_object_passes_through_and_other_things_are_refused() -> None:
    made = constraint("age >= x.age")
    assert constraint(made) is made
    assert repr(made) == "constraint('age >= x.age')"
    with pytest.raises(ConstraintError, match="not 3"):
        constraint(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("chol increases", "chol >= x.chol"),
        ("age goes up", "age >= x.age"),
        ("chol may only decrease", "chol <= x.chol"),
        ("chol does not increase", "chol <= x.chol"),
        ("`max HR` must never fall", "`max HR` >= x.`max HR`"),
    ],
)
def test_a_direction_in_words_is_told_as_a_comparison_with_the_query(text: str, instead: str) -> None:
    with pytest.raises(ConstraintError, match=f"write {re.escape(instead)} for a column that may"):
        constraint(text)


@pytest.mark.parametrize("text", ["price (€) <= 3", "price (eur) <= 3", "price$ <= 3"])
def test_a_name_of_odd_characters_is_told_to_stand_in_backticks(text: str) -> None:
    with pytest.raises(ConstraintError, match=r"write odd column names in backticks, as in: `price \(€\)`"):
        constraint(text)
    with pytest.raises(ConstraintError, match="write a constraint such as"):
        constraint("abs(price) <= 3")


def test_a_name_with_spaces_is_told_to_stand_in_backticks() -> None:
    with pytest.raises(ConstraintError, match="names with spaces in backticks, as in: `mean radius` <= 12"):
        constraint("mean radius <= 12")
    assert constraint("`mean radius` <= 12").text == "`mean radius` <= 12"


@pytest.mark.parametrize("text", ["age fixed", "fixed age", "age stays fixed", "age is unchanged"])
def test_words_for_what_stays_are_told_as_a_comparison(text: str) -> None:
    with pytest.raises(ConstraintError, match=r"write age == x\.age for a column that stays as it is"):
        constraint(text)
    with pytest.raises(ConstraintError, match=r"write `max HR` == x\.`max HR` for a column"):
        constraint("`max HR` fixed")


@pytest.mark.parametrize(("text", "meant"), [("age => 40", "write >= "), ("age =< 40", "write <= ")])
def test_signs_the_wrong_way_round_are_told(text: str, meant: str) -> None:
    with pytest.raises(ConstraintError, match=meant):
        constraint(text)
