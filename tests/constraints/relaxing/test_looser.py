"""Looser versions of constraints: what they say, that they are looser, and that their texts read back."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.columns.features import Feature
from ssba.constraints.constraint import Constraint, check, constraint, holds
from ssba.constraints.relaxing.ladder import short_between, tidy
from ssba.constraints.relaxing.looser import Ladder, ladders, left_out, needed

FEATURES = {
    "age": Feature("age", "integer", step=1.0, data_low=20, data_high=80, unit="years"),
    "chol": Feature("chol", "numeric", data_low=120.0, data_high=560.0),
    "oldpeak": Feature("oldpeak", "numeric", step=0.1, data_low=0.0, data_high=6.0),
    "sys": Feature("sys", "integer", step=1.0, data_low=90, data_high=200),
    "dia": Feature("dia", "integer", step=1.0, data_low=50, data_high=120),
    "cp": Feature("cp", "categorical", ("asymptomatic", "atypical", "typical"), data_low=0, data_high=2),
    "sex": Feature("sex", "boolean", (0, 1), data_low=0, data_high=1),
    "school": Feature("school", "ordinal", ("none", "HS", "BSc", "MSc"), data_low=0, data_high=3),
}
QUERY: dict[str, Any] = {
    "age": 60, "chol": 250.0, "oldpeak": 0.0, "sys": 140, "dia": 90,
    "cp": "typical", "sex": 1, "school": "BSc",
}  # fmt: skip


def rungs(text: str, wanted: dict[str, Any] | None = None) -> list[Ladder]:
    row = None if wanted is None else {**QUERY, **wanted}
    return ladders(constraint(text), QUERY, FEATURES, row)


@pytest.mark.parametrize(
    ("text", "number", "amount", "relaxed", "words"),
    [
        ("chol within 20%", 0, 4, "chol within 24%", "let chol move by up to 24% instead of 20%"),
        ("age within 5", 0, 3, "age within 8", "let age move by up to 8 years instead of 5"),
        # 9% of nothing is nothing, whatever the percentage: the looser version is an amount.
        ("oldpeak within 9%", 0, 0.5, "oldpeak within 0.5", None),
        ("chol <= 240", 0, 24, "chol <= 264", "let chol go up to 264 instead of 240"),
        ("240 <= chol", 0, 24, "216 <= chol", "let chol go down to 216 instead of 240"),
        ("150 <= chol <= 240", 0, 20, "130 <= chol <= 240", "let chol go down to 130 instead of 150"),
        ("150 <= chol <= 240", 1, 20, "150 <= chol <= 260", "let chol go up to 260 instead of 240"),
        ("age >= x.age", 0, 2, "age >= x.age - 2", "let age go down to 58 years instead of 60"),
        ("age <= x.age + 1", 0, 2, "age <= x.age + 3", "let age go up to 63 years instead of 61"),
        ("age <= x.age - 2", 0, 2, "age <= x.age", "let age go up to 60 years instead of 58"),
        ("chol <= 0.9 * x.chol", 0, 5, "chol <= 0.9 * x.chol + 5", "let chol go up to 230 instead of 225"),
        ("2 * chol <= 400", 0, 50, "2 * chol <= 450", "let chol go up to 225 instead of 200"),
        ("-1 * chol >= -200", 0, 50, "-1 * chol >= -250", "let chol go up to 250 instead of 200"),
        ("age == x.age", 0, 3, "x.age <= age <= x.age + 3", "let age go up to 63 years instead of 60"),
        ("age == x.age", 1, 3, "x.age - 3 <= age <= x.age", "let age go down to 57 years instead of 60"),
        (
            "sys - dia >= 60",
            0,
            10,
            "sys - dia >= 50",
            "ask for sys - dia >= 50 instead of sys - dia >= 60",
        ),
        (
            "dia <= sys - 60",
            0,
            10,
            "dia <= sys - 50",
            "ask for dia <= sys - 50 instead of dia <= sys - 60",
        ),
        ("school >= x.school", 0, 1, "school >= 'HS'", "let school go down to HS instead of BSc"),
        ("school == x.school", 0, 1, "x.school <= school <= 'MSc'", "let school go up to MSc instead of BSc"),
        ("cp == x.cp", 0, 1, "cp in {'asymptomatic', 'typical'}", "let cp also be 'asymptomatic'"),
        ("sex == x.sex", 0, 1, "sex in {0, 1}", "let sex also be 0"),
        ("cp != 'typical'", 0, 1, "cp in {'asymptomatic', 'atypical', 'typical'}", None),
        ("cp in {'typical'}", 1, 1, "cp in {'typical', 'atypical'}", "let cp also be 'atypical'"),
        ("cp not in {'typical', 'atypical'}", 0, 1, "cp not in {'atypical'}", "let cp also be 'typical'"),
        (
            "cp: 'typical' -> {'atypical'}",
            0,
            1,
            "cp: 'typical' -> {'atypical', 'asymptomatic'}",
            "let cp also go from 'typical' to 'asymptomatic'",
        ),
        (
            "cp: 'atypical' -> {'typical'}",
            0,
            1,
            "cp: 'atypical' -> {'typical'}, 'typical' -> {'asymptomatic'}",
            "let cp also go from 'typical' to 'asymptomatic'",
        ),
        (
            "if cp changes: age >= x.age + 2",
            0,
            1,
            "if cp changes: age >= x.age + 1",
            "let age go down to 61 years instead of 62",
        ),
        ("chol <= 240 and age >= x.age", 1, 1, "chol <= 240 and age >= x.age - 1", None),
        ("sys <= dia + 30 <= 100 <= chol", 1, 5, "sys <= dia + 30 and 100 <= chol and dia + 30 <= 105", None),
    ],
)  # fmt: skip
def test_a_rung_of_each_kind(text: str, number: int, amount: float, relaxed: str, words: str | None) -> None:
    ladder = rungs(text)[number]
    assert ladder.at(amount).text == relaxed
    assert words is None or ladder.says(amount) == words


@pytest.mark.parametrize(
    "text", ["chol may be filled", "cp changes", "age != 3", "x.age >= 18", "cp == x.sex"]
)
def test_what_can_only_be_left_out_has_no_ladder(text: str) -> None:
    assert rungs(text) == []


def test_a_missing_cell_of_the_query_leaves_nothing_to_loosen() -> None:
    query = {**QUERY, "chol": None, "cp": None, "school": None}
    for text in (
        "chol within 20%",
        "chol <= x.chol",
        "cp == x.cp",
        "school >= x.school",
        "cp: 'typical' -> {}",
    ):
        assert ladders(constraint(text), query, FEATURES) == []


def test_a_wanted_row_tells_which_level_to_allow() -> None:
    (level,) = rungs("cp == x.cp", {"cp": "atypical"})
    assert level.at(1.0).text == "cp in {'atypical', 'typical'}"
    (number,) = rungs("chol in {200, 240}", {"chol": 260.5})
    assert number.at(1.0).text == "chol in {200, 240, 260.5}"
    (out,) = rungs("cp not in {'atypical', 'asymptomatic'}", {"cp": "atypical"})
    assert out.at(1.0).text == "cp not in {'asymptomatic'}"


@pytest.mark.parametrize(
    ("text", "number", "most", "step", "scale"),
    [
        # From 20% of 250 to all of the data: up to 560, which is 124% of it.
        ("chol within 20%", 0, 104, None, 20),
        ("chol <= 240", 0, 320, None, 240),
        ("age <= 60", 0, 20, 1, 60),
        ("age <= 60.5", 0, 19.5, None, 60.5),
        ("oldpeak <= 2", 0, 4, 0.1, 2),
        # Nothing to compare the amount with: the width of the data.
        ("oldpeak <= 0", 0, 6, 0.1, 6),
        # Beyond the data already: as far again.
        ("chol <= 600", 0, 440, None, 600),
        # sys - dia is at most 150 and at least -30 in the data.
        ("sys - dia >= 60", 0, 90, 1, 60),
        ("school >= 'BSc'", 0, 2, 1, 3),
        ("school <= 'BSc'", 0, 1, 1, 3),
    ],
)
def test_how_far_a_ladder_goes(text: str, number: int, most: float, step: float | None, scale: float) -> None:
    ladder = rungs(text)[number]
    assert ladder.most == pytest.approx(most)
    assert ladder.step == step
    assert ladder.scale == pytest.approx(scale)


def test_a_bound_at_the_end_of_the_data_counts_as_beyond_them_whatever_its_digits() -> None:
    high = 3.93618582865156
    features = {"a": Feature("a", "numeric", data_low=-4.0, data_high=high)}
    (ladder,) = ladders(constraint(f"a <= {high!r}"), {"a": 0.0}, features)
    assert ladder.beyond
    assert ladder.most == pytest.approx(high + 4)


def test_a_percentage_of_nothing_becomes_an_amount() -> None:
    (ladder,) = rungs("oldpeak within 20%")
    assert ladder.says(0.5) == "let oldpeak move by up to 0.5 instead of 20% of 0"


def test_an_amount_is_one_whatever_the_value_is() -> None:
    (ladder,) = rungs("oldpeak within 0.2")
    assert ladder.says(0.5) == "let oldpeak move by up to 0.7 instead of 0.2"


def test_dates_are_early_or_late_and_move_by_days() -> None:
    ends = {"ends": Feature("ends", "date", step=1.0, data_low=18000.0, data_high=20000.0)}

    def says(text: str, amount: float) -> str:
        (ladder,) = ladders(constraint(text), {"ends": "2022-12-20"}, ends)
        return ladder.says(amount)

    assert says("ends within 14", 30.0) == "let ends move by up to 44 days instead of 14"
    assert says("ends >= '2022-12-20'", 6.0) == "let ends be as early as 2022-12-14 instead of 2022-12-20"
    assert says("ends <= '2022-12-20'", 6.0) == "let ends be as late as 2022-12-26 instead of 2022-12-20"


def test_leaving_out_counts_as_larger_than_any_amount() -> None:
    assert math.isinf(left_out("drop it").size(1.0))
    assert rungs("chol <= 240")[0].size(24.0) == pytest.approx(0.1)


TEXTS = st.sampled_from(
    [
        "chol within 20%", "age within 5", "oldpeak within 20%", "chol <= 240", "240 > chol",
        "150 <= chol <= 240", "age >= x.age", "age == x.age", "chol <= 0.9 * x.chol", "sys - dia >= 60",
        "dia <= sys - 60", "sys + dia == 230", "school >= x.school",
        "school == 'HS'", "cp == x.cp", "cp != 'atypical'",
        "cp in {'typical'}", "cp not in {'typical', 'atypical'}", "cp: 'typical' -> {'atypical'}",
        "if cp changes: age >= x.age + 2", "-2 * (sys - dia) + 3 <= x.age / 2 - 100", "oldpeak == x.oldpeak",
    ]
)  # fmt: skip
ROWS = st.fixed_dictionaries(
    {
        "age": st.integers(20, 80),
        "chol": st.floats(120, 560),
        "oldpeak": st.integers(0, 60).map(lambda tenths: tenths / 10),
        "sys": st.integers(90, 200),
        "dia": st.integers(50, 120),
        "cp": st.sampled_from(FEATURES["cp"].levels),
        "sex": st.sampled_from([0, 1]),
        "school": st.sampled_from(FEATURES["school"].levels),
    }
)


def amounts(ladder: Ladder, share: float) -> float:
    amount = share * ladder.most
    return amount if ladder.step is None else tidy(max(1, round(amount / ladder.step)) * ladder.step)


@given(TEXTS, ROWS, ROWS, st.floats(0.01, 1))
def test_relaxed_constraints_are_constraints_that_read_back(
    text: str, x: dict[str, Any], wanted: dict[str, Any], share: float
) -> None:
    for ladder in ladders(constraint(text), x, FEATURES, wanted):
        looser = ladder.at(amounts(ladder, share))
        assert isinstance(looser, Constraint)
        check(looser, FEATURES)
        assert constraint(looser.text) == looser
        assert ladder.says(amounts(ladder, share))


@given(TEXTS, ROWS, ROWS, st.floats(0.01, 1), st.floats(0.01, 1))
def test_more_of_a_relaxation_allows_no_less(
    text: str, x: dict[str, Any], row: dict[str, Any], one: float, other: float
) -> None:
    asked = constraint(text)
    for ladder in ladders(asked, x, FEATURES, row):
        less, more = (ladder.at(amounts(ladder, share)) for share in sorted((one, other)))
        allowed = [holds(each, x, row, FEATURES) for each in (asked, less, more)]
        assert allowed == sorted(allowed)


@given(TEXTS, ROWS, ROWS)
def test_the_needed_amount_allows_a_row_and_less_does_not(
    text: str, x: dict[str, Any], row: dict[str, Any]
) -> None:
    for ladder in ladders(constraint(text), x, FEATURES, row):
        amount = needed(ladder, x, row, FEATURES)
        if amount is None:
            assert not holds(ladder.at(ladder.most), x, row, FEATURES)
        elif amount == 0:
            assert holds(constraint(text), x, row, FEATURES)
        else:
            assert holds(ladder.at(amount), x, row, FEATURES)
            less = 0.99 * amount if ladder.step is None else amount - ladder.step
            assert not holds(ladder.at(less), x, row, FEATURES)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_a_short_number_lies_between(low: float, width: float) -> None:
    high = low + width
    assert low <= short_between(low, high) <= high


@given(TEXTS, ROWS, st.floats(0, 0.9), st.floats(0.05, 1))
def test_brackets_are_halved_on_the_ladder(text: str, x: dict[str, Any], begin: float, share: float) -> None:
    for ladder in ladders(constraint(text), x, FEATURES):
        low = 0.0 if ladder.step else begin * ladder.most
        high = amounts(ladder, max(share, begin + 0.05))
        middle = ladder.between(low, high)
        assert low < middle <= high
        assert ladder.above(high) >= high or ladder.above(high) == ladder.most
        assert ladder.above(high) <= 1.02 * high
        if not ladder.is_narrow(low, high):
            assert middle - low <= 0.7 * (high - low)
            assert high - middle <= 0.7 * (high - low)
