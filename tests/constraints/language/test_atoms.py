import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.constraints.cases import FEATURES, X

from ssba.columns.features import LARGEST_SINGLE, Feature
from ssba.constraints.constraint import check, constraint, holds, transition
from ssba.constraints.language.atoms import (
    Atom,
    Bound,
    Fill,
    Keep,
    Levels,
    Linear,
    alternatives,
    reads_values,
)
from ssba.constraints.language.tree import Arithmetic, Comparison, Expression, New, Number, Old

STEPS = st.sampled_from([-8.0, -2.5, -1.0, 0.0, 0.3, 1.0, 2.0, 2.4, 3.0, 8.0])
WHOLE = st.integers(-3, 5)


def user_values(feature: Feature) -> st.SearchStrategy[Any]:
    if feature.levels:
        return st.sampled_from(feature.levels)
    if feature.kind == "date":
        return st.sampled_from(["2019-12-31", "2020-01-31", "2024-02-29T12:00:00"])
    return WHOLE if feature.kind == "integer" else STEPS


@st.composite
def queries_and_rows(draw: st.DrawFn, missing: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    x, row = {}, {}
    for name, feature in FEATURES.items():
        values = user_values(feature)
        x[name] = draw(st.one_of(values, values, st.none()) if missing else values)
        may_stay = st.just(x[name])
        row[name] = draw(may_stay | values)
    return x, row


ANY = st.sampled_from(sorted(FEATURES))
NUMERIC = st.sampled_from(["age", "chol", "`max HR`"])
# Columns of 0 and 1 are numbers, too, where something is calculated or ordered.
COUNTED = NUMERIC | st.sampled_from(["smokes", "drinks"])
OPERATOR = st.sampled_from(["<=", "<", ">=", ">", "==", "!="])
ORDER = st.sampled_from(["<=", "<", ">=", ">"])
EQUALITY = st.sampled_from(["==", "!="])
FACTOR = st.sampled_from(["0", "1", "2", "-0.5", "0.1", "-3", "x.age", "x.chol", "(x.age - 1)"])


def quoted(name: str) -> str:
    return f"`{name}`"


@st.composite
def linear_texts(draw: st.DrawFn) -> str:
    product = st.builds("{} * {}".format, FACTOR, COUNTED)
    quotient = st.builds("{} * 2 / {}".format, COUNTED, FACTOR.filter(lambda factor: factor != "0"))
    parts = draw(st.lists(product | quotient, min_size=1, max_size=3))
    right = draw(FACTOR | COUNTED)
    return f"{' + '.join(parts)} {draw(OPERATOR)} {right}"


@st.composite
def level_texts(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["school", "parent", "ca", "job", "wish", "fbs", "smokes"]))
    feature = FEATURES[name]
    peers = {"school": "parent", "parent": "school", "job": "wish", "wish": "job"}
    other = draw(
        st.sampled_from([name, peers.get(name, name)]).flatmap(
            lambda peer: st.sampled_from([peer, f"x.{peer}"])
        )
        | user_values(feature).map(repr)
    )
    operator = draw(EQUALITY if feature.is_discrete else OPERATOR)
    return f"{draw(st.sampled_from(['', 'x.']))}{name} {operator} {other}"


@st.composite
def set_texts(draw: st.DrawFn) -> str:
    name = draw(ANY)
    values = draw(st.lists(user_values(FEATURES[name]).map(repr), min_size=1, max_size=4))
    prefix, word = draw(st.sampled_from(["", "", "x."])), draw(st.sampled_from(["in", "not in"]))
    return f"{prefix}{quoted(name)} {word} {{{', '.join(values)}}}"


@st.composite
def transition_texts(draw: st.DrawFn) -> str:
    name = draw(ANY)
    values = user_values(FEATURES[name])
    return transition(
        name, draw(st.dictionaries(values, st.lists(values, max_size=3), min_size=1, max_size=3))
    ).text


CLAUSE_TEXTS = st.one_of(
    linear_texts(),
    level_texts(),
    set_texts(),
    transition_texts(),
    st.builds(
        "{} within {}{}".format,
        COUNTED,
        st.sampled_from(["0", "0.3", "20", "150"]),
        st.sampled_from(["", "%"]),
    ),
    st.builds("{} changes".format, ANY.map(quoted)),
    st.builds("{} does not change".format, ANY.map(quoted)),
    st.builds("{} {} x.{}".format, COUNTED, OPERATOR, COUNTED),
    st.builds("since {} x.since + {}".format, OPERATOR, st.sampled_from(["0", "1", "-31", "1490.5"])),
    st.builds("since {} {}".format, OPERATOR, user_values(FEATURES["since"]).map(repr)),
    st.builds("{} {} {} {} x.{}".format, STEPS, OPERATOR, NUMERIC, OPERATOR, NUMERIC),
)
BODIES = st.lists(CLAUSE_TEXTS, min_size=1, max_size=3).map(" and ".join)
TEXTS = BODIES | st.builds("if {}: {}".format, BODIES, BODIES)


def is_met(atom: Atom, x: Mapping[str, float], z: Mapping[str, float]) -> bool:
    """What each atom promises, written down a second time."""
    match atom:
        case Keep(column):
            return z[column] == x[column] or (math.isnan(z[column]) and math.isnan(x[column]))
        case Fill():
            return True
        case Levels(column, codes):
            return math.isnan(z[column]) or z[column] in codes
        case Linear(terms, high, is_open):
            total = sum(coefficient * z[column] for column, coefficient in terms)
            return math.isnan(total) or (total < high if is_open else total <= high)
        case Bound(column, low, high, low_open, high_open):
            if math.isnan(z[column]):
                return True
            above = z[column] > low if low_open else z[column] >= low
            return above and (z[column] < high if high_open else z[column] <= high)


def codes(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: feature.code(row[name]) for name, feature in FEATURES.items()}


@settings(max_examples=500)
@given(TEXTS, queries_and_rows())
@example("chol within 20%", ({**X, "chol": -2.5}, {**X, "chol": -3.0}))
@example("age - age >= 1", ({**X, "age": None}, {**X, "age": None}))
@example("age + chol - chol >= 60", ({**X, "chol": None}, {**X, "chol": None}))
@example("0 * age + smokes >= 1", ({**X, "smokes": 0}, {**X, "smokes": 1}))
@example("0 * age + smokes >= 1", ({**X, "smokes": 0, "age": None}, {**X, "smokes": 0, "age": None}))
@example("job == wish", ({**X, "job": None}, {**X, "job": None, "wish": "vet"}))
def test_a_row_holds_exactly_where_an_alternative_contains_it(
    text: str, case: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    x, row = case
    read = constraint(text)
    assert constraint(read.text) == read
    check(read, FEATURES)
    found = alternatives(read, x, FEATURES)
    inside = any(all(is_met(atom, codes(x), codes(row)) for atom in way) for way in found)
    assert holds(read, x, row, FEATURES) == inside


@settings(max_examples=500)
@given(BODIES, BODIES, queries_and_rows(missing=False))
@example("chol <= 3", "age >= 60", ({**X, "chol": 3.0}, {**X, "chol": 3.0}))
def test_a_rule_without_missing_cells_is_an_implication(
    guard: str, body: str, case: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    def is_so(text: str) -> bool:
        return holds(constraint(text), *case, FEATURES)

    assert is_so(f"if {guard}: {body}") == (not is_so(guard) or is_so(body))


SMALL = st.integers(-8, 8).map(lambda number: number / 4)
EXACT = st.sampled_from(["1", "2", "-1", "0.5", "-4", "x.chol", "0"])


def exactly(expression: Expression, x: Mapping[str, Any], row: Mapping[str, Any]) -> Fraction:
    match expression:
        case Number(value):
            return Fraction(value)
        case New(column):
            return Fraction(row[column])
        case Old(column):
            return Fraction(x[column])
        case Arithmetic(first, rest):
            total = exactly(first, x, row)
            for sign, term in rest:
                other = exactly(term, x, row)
                total = total + other if sign == "+" else total - other if sign == "-" else total * other
            return total
    raise AssertionError(expression)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(EXACT, st.sampled_from(["chol", "`max HR`", "x.`max HR`"])), min_size=1, max_size=3),
    st.sampled_from(["<=", "<", ">=", ">"]),
    st.sampled_from(["chol", "x.chol - 1", "2", "-(chol - 3)"]),
    st.tuples(SMALL, SMALL, SMALL, SMALL),
)
def test_linear_comparisons_mean_what_arithmetic_says(
    terms: list[tuple[str, str]], operator: str, right: str, values: tuple[float, ...]
) -> None:
    # Quarters and powers of two: floats are exact here, so fractions are the truth.
    x, row = ({**X, "chol": pair[0], "max HR": pair[1]} for pair in (values[:2], values[2:]))
    read = constraint(" - ".join(f"{factor} * {name}" for factor, name in terms) + f" {operator} {right}")
    clause = read.clauses[0]
    assert isinstance(clause, Comparison)
    one, other = (exactly(side, x, row) for side in clause.operands)
    expected = {"<=": one <= other, "<": one < other, ">=": one >= other, ">": one > other}[operator]
    assert holds(read, x, row, FEATURES) == expected


SINGLE = Feature("a", "numeric", storable=(-LARGEST_SINGLE, LARGEST_SINGLE))
SHORT_NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32)
LONG_NUMBERS = st.floats(-1e300, 1e300)


@given(
    st.tuples(st.just(Feature("a", "numeric")), LONG_NUMBERS) | st.tuples(st.just(SINGLE), SHORT_NUMBERS),
    st.sampled_from(["<=", ">="]),
)
@example((SINGLE, 0.0), ">=")
@example((SINGLE, -0.0), "<=")
def test_a_bound_at_the_query_s_own_number_is_the_one_that_arithmetic_gives(
    cell: tuple[Feature, float], operator: str
) -> None:
    feature, number = cell
    features = {"a": feature}
    direct, worked_out = (constraint(f"a {operator} {factor}x.a") for factor in ("", "1 * "))
    found = alternatives(direct, {"a": number}, features)
    assert repr(found) == repr(alternatives(worked_out, {"a": number}, features))


# Mostly these; the others read values as a rule.
SAME_FOR_ALL = st.lists(
    st.one_of(
        st.builds("{} {} {}".format, COUNTED | st.just("max HR").map(quoted), ORDER, STEPS),
        st.builds("{} <= {} < {}".format, STEPS, NUMERIC, STEPS),
        st.builds("since {} '2020-01-31'".format, ORDER),
        st.builds("school {} 'HS'".format, ORDER),
        st.builds("{} {} {}".format, NUMERIC, ORDER, NUMERIC),
    ),
    min_size=1,
    max_size=3,
).map(" and ".join) | ANY.map(quoted).map("{0} == x.{0}".format)


@settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much])
@given(queries_and_rows(), queries_and_rows(), SAME_FOR_ALL | TEXTS)
def test_a_constraint_that_reads_no_values_says_the_same_to_queries_that_miss_the_same_cells(
    one: tuple[dict[str, Any], Any], other: tuple[dict[str, Any], Any], text: str
) -> None:
    rule = constraint(text)
    (x, _), (y, _) = one, other
    y = {name: None if x[name] is None else X[name] if y[name] is None else y[name] for name in x}
    assume(not reads_values(rule, FEATURES))
    assert repr(alternatives(rule, x, FEATURES)) == repr(alternatives(rule, y, FEATURES))
