import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.constraints.cases import FEATURES, X

from ssba.constraints.constraint import (
    Atom,
    Bound,
    Constraint,
    Fill,
    Keep,
    Levels,
    Linear,
    alternatives,
    between,
    check,
    columns,
    constraint,
    decrease,
    fixed,
    holds,
    increase,
    may_fill,
    one_of,
    relation,
    transition,
    within,
)
from ssba.errors import ConstraintError

ONE = Fraction(1)


def ok(given: str | Constraint, x: Mapping[str, Any] | None = None, **changed: Any) -> bool:
    query = {**X, **(x or {})}
    return holds(constraint(given), query, {**query, **changed}, FEATURES)


def ways(given: str | Constraint, **x: Any) -> tuple[tuple[Atom, ...], ...]:
    return alternatives(constraint(given), {**X, **x}, FEATURES)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (fixed("sex"), "sex == x.sex"),
        (fixed("max HR"), "`max HR` == x.`max HR`"),
        (increase("age"), "age >= x.age"),
        (decrease("age"), "age <= x.age"),
        (between("chol", 120, 240.5), "120 <= chol <= 240.5"),
        (between("chol", None, 3), "chol <= 3"),
        (between("chol", 3), "chol >= 3"),
        (between("school", None, "BSc"), "school <= 'BSc'"),
        (between("school", "HS", "PhD"), "'HS' <= school <= 'PhD'"),
        (within("chol", percent=20), "chol within 20%"),
        (within("chol", amount=np.float64(0.5)), "chol within 0.5"),
        (one_of("cp", ["b", "a", "b"]), "cp in {'b', 'a'}"),
        (one_of("cp", {"b", "a"}), "cp in {'a', 'b'}"),
        (one_of("cp", [np.int64(3), 1.5, True, np.bool_(False)]), "cp in {3, 1.5, True, False}"),
        (transition("smoker", {"yes": ["no"], "no": []}), "smoker: 'yes' -> {'no'}, 'no' -> {}"),
        (relation("systolic-diastolic>=20"), "systolic - diastolic >= 20"),
        (may_fill("chol"), "chol may be filled"),
    ],
)
def test_constructors_build_what_their_text_reads(made: Constraint, text: str) -> None:
    assert str(made) == made.text == text
    assert constraint(text) == made
    assert len({made, constraint(text)}) == 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: between("chol", 240, 120), r"low is above high; did you mean between\('chol', 120, 240\)"),
        (lambda: between("chol", 120, math.inf), "inf is not finite"),
        (lambda: between("chol", math.nan, 3), "nan is not finite"),
        (lambda: between("chol"), r"give at least one end, as in between\('chol', None, 240\)"),
        (lambda: between("chol", None, None), "give at least one end"),
        (lambda: between("chol", None, math.nan), "nan is not finite"),
        (lambda: within("chol", percent=20, amount=15), "either percent or amount"),
        (lambda: within("chol"), "either percent or amount"),
        (lambda: within("chol", percent=-1), "-1 is not a number of at least 0"),
        (lambda: within("chol", amount="a"), "'a' is not a number of at least 0"),  # type: ignore[arg-type]
        (lambda: one_of("cp", []), "at least one"),
        (lambda: one_of("cp", "typical"), r"write \['typical'\]"),
        (lambda: one_of("cp", [10**400]), "not finite"),
        (lambda: transition("smoker", {}), "give a mapping"),
        (lambda: transition("smoker", {"yes": "no"}), r"write \['no'\]"),
        (lambda: relation("cp in {1}"), "expected a comparison"),
        (lambda: relation("if age changes: age > 3"), "expected a comparison"),
        (lambda: fixed(None), "named by a text, not by None"),
    ],
)
def test_constructors_refuse_what_has_no_meaning(make: Any, says: str) -> None:
    with pytest.raises(ConstraintError, match=says):
        make()


def test_columns_are_those_of_the_new_row_and_of_the_query() -> None:
    named = columns(
        constraint("if `max HR` changes and x.job in {'cook'}: age - x.chol >= 3 and ca: 1 -> {2}")
    )
    assert named == {"max HR", "job", "age", "chol", "ca"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("foo == x.foo", "unknown column 'foo'; columns are 'age', [^;]*$"),
        ("chl > 3", "unknown column 'chl' .did you mean 'chol'.*columns are 'age', 'chol'"),
        ("job == pilot", "unknown column 'pilot'.*in quotes: 'pilot'"),
        (
            "job == 'pilto'",
            "column 'job': unknown level 'pilto'.*'cook', 'nurse', 'pilot'.*did you mean 'pilot'",
        ),
        ("job in {'cook', 'x'}", "unknown level 'x'"),
        ("job: 'cook' -> {'x'}", "unknown level 'x'"),
        ("x.ca in {3}", "unknown level 3; known levels are 1, 2, 5"),
        ("school >= 'MSc'", "unknown level 'MSc'"),
        ("job + 1 > 3", "column 'job' is categorical, but 'job . 1' calculates with it"),
        ("school + 1 > 3", "column 'school' is ordinal"),
        ("school > chol + 1", "column 'school' is ordinal, but 'chol . 1' is a number"),
        ("job > 'cook'", "'>' has no meaning.*ssba.ordinal"),
        ("fbs <= True", "True is not a number and cannot be compared with fbs"),
        ("fbs + chol <= 'no'", "'no' is not a number"),
        ("chol == 'high'", "column 'chol' is numeric, but 'high' is not a number.*ssba.categorical"),
        ("chol in {'high'}", "column 'chol' is numeric"),
        ("chol == True", "column 'chol' is numeric"),
        ("chol + 1 == 'high'", "'high' is not a number and cannot be compared with chol . 1"),
        ("'a' == 'b' == job", "'a' is not a number and cannot be compared with 'b'"),
        ("job within 3", "column 'job' is categorical, but 'within' needs numbers"),
        ("job == chol", "columns 'job' .categorical. and 'chol' .numeric. cannot be compared"),
        ("school == job", "cannot be compared"),
        ("school >= ca", "cannot be compared"),
        ("240 <= chol <= 120", "240 is above 120"),
        ("'PhD' <= school <= 'HS'", "'PhD' is above 'HS'"),
        ("if job == 'x': age > 3", "unknown level 'x'"),
    ],
)
def test_check_names_the_constraint_and_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ConstraintError, match=says) as caught:
        check(constraint(text), FEATURES)
    assert str(caught.value).startswith(f"constraint {constraint(text).text!r}: ")


@pytest.mark.parametrize(
    "text",
    [
        "fbs == True",
        "fbs != x.fbs",
        "ca >= 2",
        "job == wish",
        "school >= parent",
        "age in {1, 2.5}",
        "`max HR` > age",
    ],
)
def test_check_passes_what_fits(text: str) -> None:
    check(constraint(text), FEATURES)


def test_fixed_cells_stay_bit_for_bit() -> None:
    assert ok(fixed("chol"))
    assert not ok(fixed("chol"), chol=math.nextafter(200.0, 0))
    assert ways(fixed("chol")) == ways(fixed("chol"), chol=None) == ((Keep("chol"),),)
    assert ways("job does not change") == ((Keep("job"),),)


def test_increase_and_decrease_follow_numbers_and_ranks() -> None:
    assert ok(increase("age"), age=50)
    assert not ok(increase("age"), age=49)
    assert ok(decrease("school"), school="none")
    assert not ok(decrease("school"), school="BSc")
    assert ways(increase("age")) == ((Bound("age", low=50.0),),)
    assert ways(decrease("school")) == ((Bound("school", low=0.0, high=1.0),),)


def test_a_percentage_is_of_the_size_of_the_value() -> None:
    def bounds(value: float) -> tuple[tuple[Atom, ...], ...]:
        return ways(within("chol", percent=20), chol=value)

    assert bounds(200.0) == ((Bound("chol", 160.0, 240.0),),)
    assert bounds(-130.0) == ((Bound("chol", -156.0, -104.0),),)
    assert bounds(0.0) == ((Bound("chol", 0.0, 0.0),),)
    assert ok(within("chol", percent=20), {"chol": -130.0}, chol=-104.0)
    assert not ok(within("chol", percent=20), {"chol": -130.0}, chol=-103.9)
    assert not ok(within("chol", percent=20), {"chol": 0.0}, chol=1e-300)


def test_an_amount_reaches_both_ways() -> None:
    assert ways(within("age", amount=15)) == ((Bound("age", 35.0, 65.0),),)
    assert ok("age within 15", age=35)
    assert not ok("age within 15", age=34)


def test_sets_hold_levels_numbers_and_ranks() -> None:
    assert ways("job in {'pilot', 'cook'}") == ((Levels("job", frozenset({0, 2})),),)
    assert ways("job not in {'cook'}") == ((Levels("job", frozenset({1, 2})),),)
    assert ways("age in {3, 1, 2, 7}") == ((Bound("age", 1.0, 3.0),), (Bound("age", 7.0, 7.0),))
    assert ways("school in {'none', 'PhD'}") == ((Bound("school", 0.0, 0.0),), (Bound("school", 3.0, 3.0),))
    assert ways("school not in {'none', 'PhD'}") == ((Bound("school", 1.0, 2.0, asks=False),),)
    assert ways("fbs in {True, False}") == ((),)
    assert ok("ca in {5}", ca=5)
    assert not ok("ca in {5}", ca=2)


def test_transitions_allow_the_listed_moves_and_staying() -> None:
    moves = transition("job", {"cook": ["nurse"]})
    assert ways(moves) == ((Levels("job", frozenset({0, 1})),),)
    assert ways(moves, job="pilot") == ((Keep("job"),),)
    assert ok(moves, job="cook")
    assert ok(moves, job="nurse")
    assert not ok(moves, job="pilot")
    assert not ok(moves, {"job": "pilot"}, job="cook")


def test_numbers_that_differ_lie_below_or_above() -> None:
    below = Bound("chol", high=3.0, high_open=True, asks=False)
    above = Bound("chol", low=3.0, low_open=True, asks=False)
    assert ways("chol != 3") == ((below,), (above,))
    assert ways("age != 3") == ((Bound("age", high=2.0, asks=False),), (Bound("age", low=4.0, asks=False),))
    assert ways("school != 'none'") == ((Bound("school", 1.0, 3.0, asks=False),),)


def test_bounds_of_whole_columns_are_the_whole_numbers_inside() -> None:
    assert ways("age > 2.4") == ways("age >= 2.4") == ways("age > 2") == ((Bound("age", low=3.0),),)
    assert ways("age < 2.4") == ways("age <= 2.4") == ways("age < 3") == ((Bound("age", high=2.0),),)
    assert ways("age == 2.5") == ()
    assert ways("school > 'HS'") == ((Bound("school", 2.0, 3.0),),)


def test_a_relation_of_several_columns_is_linear_and_of_one_a_bound() -> None:
    assert ways("chol - age > 20") == ((Linear((("chol", -ONE), ("age", ONE)), -20 * ONE, open=True),),)
    assert ways("school <= parent") == ((Linear((("school", ONE), ("parent", -ONE)), 0 * ONE),),)
    assert ways("10 - 2 * chol <= x.age") == ((Bound("chol", low=-20.0),),)
    assert ways("chol <= 0.9 * x.chol") == ((Bound("chol", high=0.9 * 200.0),),)
    assert ways("age / x.age < 1.5") == ((Bound("age", high=74.0),),)


def test_equality_over_several_columns_allows_for_rounding() -> None:
    total = "chol + `max HR` == 0.3"
    assert 0.1 + 0.2 != 0.3
    assert ok(total, {"chol": 0.1, "max HR": 0.2})
    assert not ok(total, {"chol": 0.1, "max HR": 0.2}, chol=0.1001)
    assert not ok("chol + `max HR` != 0.3", {"chol": 0.1, "max HR": 0.2})


def test_levels_of_two_columns_are_compared_by_what_the_user_sees() -> None:
    assert ok("job == wish", job="pilot", wish="pilot")
    assert not ok("job == wish", job="cook", wish="pilot")
    assert (Levels("job", frozenset({0})), Levels("wish", frozenset({2}))) in ways("job == wish")
    assert ways("job == x.wish") == ()
    assert ways("job == x.wish", wish="pilot") == ((Levels("job", frozenset({2})),),)


def test_a_rule_is_met_where_its_guard_is_false_or_its_rest_holds() -> None:
    rule = "if chol > 240 and job == 'cook': age >= x.age + 1"
    assert ways(rule) == (
        (Bound("chol", high=240.0, asks=False),),
        (Levels("job", frozenset({1, 2})),),
        (Bound("age", low=51.0),),
    )
    assert not ok(rule, chol=240.1)
    assert ok(rule, chol=240.1, age=51)
    assert ok(rule, chol=240.1, job="nurse")


def test_a_guard_about_the_query_alone_is_decided_at_once() -> None:
    rule = "if x.age > 60 and x.job in {'cook'}: chol <= 200"
    assert ways(rule) == ((),)
    assert ways(rule, age=61) == ((Bound("chol", high=200.0),),)
    assert ways(rule, age=61, job="pilot") == ways(rule, age=None) == ((),)


def test_a_changed_cell_triggers_a_rule() -> None:
    rule = "if job changes: age >= x.age + 1"
    assert ways(rule) == ((Keep("job"),), (Bound("age", low=51.0),))
    assert ok(rule)
    assert not ok(rule, job="pilot")
    assert not ok(rule, {"job": None}, job="pilot")
    assert ok(rule, {"job": None})


def test_what_is_missing_is_asked_nothing_and_compares_with_nothing() -> None:
    gone = {"chol": None}
    for text in ("chol >= 300", "chol >= x.chol", "chol within 5", "chol changes", "chol - age >= 1000"):
        assert ok(text, gone), text
    for text in (
        "chol >= x.chol",
        "chol == x.chol",
        "chol != x.chol",
        "chol within 5",
        "chol - age >= x.chol",
    ):
        assert not ok(text, gone, chol=300.0), text
        assert ways(text, chol=None) == ((Keep("chol"),),), text
    assert ok("chol >= 300", gone, chol=300.0)
    assert ways("chol >= 300", chol=None) == ((Bound("chol", low=300.0),),)
    assert ways("age >= x.chol", chol=None) == ()


def test_a_rule_whose_guard_looks_at_a_missing_cell_asks_for_nothing() -> None:
    rule = "if chol >= 240: age >= 60"
    assert ok(rule, {"chol": None})
    assert not ok(rule, {"chol": None}, chol=240.0)
    assert ways("if chol >= x.chol: age >= 60", chol=None) == ((),)


def test_an_undefined_comparison_fails_like_a_missing_one() -> None:
    assert not ok("age >= x.age / x.chol", {"chol": 0.0})
    assert ways("age >= x.age / x.chol", chol=0.0) == ()
    assert ways("if age >= x.age / x.chol: chol >= 3", chol=0.0) == ((),)


def test_a_permission_to_fill_is_always_met() -> None:
    assert ways(may_fill("chol")) == ((Fill("chol"),),)
    assert ok(may_fill("chol"), {"chol": None}, chol=3.0)


def test_what_contradicts_itself_has_no_alternative() -> None:
    assert ways("chol >= 300 and chol <= 200") == ()
    assert ways("chol > 3 and chol < 3") == ()
    assert ways("age > 3 and age < 4") == ()
    assert ways("job == 'cook' and job == 'pilot'") == ()
    assert ways("chol == x.chol and chol <= 100") == ()
    assert ways("chol - chol >= 1") == ()
    assert ways("chol >= 300 and chol <= 200", chol=None) == ((Keep("chol"),),)


def test_too_many_alternatives_are_refused() -> None:
    listed = "{" + ", ".join(str(3 * number) for number in range(150)) + "}"
    with pytest.raises(ConstraintError, match="more than 10000 separate ways"):
        ways(f"age not in {listed} and chol not in {listed}")


def test_a_bare_number_of_within_is_asked_what_it_is() -> None:
    with pytest.raises(ConstraintError, match=r"within\('a', amount=20\).* or within\('a', percent=20\)"):
        within("a", 20)
