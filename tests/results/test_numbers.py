"""Numbers for people: short, and still different where they are different."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ssba.results.numbers import Numbers, short, short_value

NUMBERS = st.floats(min_value=-1e15, max_value=1e15)


def test_large_numbers_are_written_out() -> None:
    assert [short(one) for one in (1000460.25, 780000.0, 999999.7, 12345.6)] == [
        "1000460",
        "780000",
        "999999.7",
        "12346",
    ]


@given(number=NUMBERS)
def test_a_short_number_is_near(number: float) -> None:
    assert math.isclose(float(short(number)), number, rel_tol=5.01e-4)
    assert math.isclose(float(short_value(number)), number, rel_tol=5.01e-6)


@given(one=NUMBERS, other=NUMBERS)
def test_two_numbers_look_different_and_keep_their_order(one: float, other: float) -> None:
    first, second = short(one, other), short(other, one)
    assert (first == second) == (one == other)
    assert (float(first) < float(second)) == (one < other)


@given(limit=st.floats(0.01, 0.99), missed_by=st.floats(1e-12, 0.5))
def test_a_miss_does_not_look_like_the_limit(limit: float, missed_by: float) -> None:
    score, asked = limit - missed_by, f"{limit:.9g}"
    if score >= float(asked):
        return
    written = Numbers.of(f"a probability of 'well' of at least {asked}", [score]).write(score, reached=False)
    assert float(written) < float(asked)


def test_what_reaches_by_the_last_bits_may_look_like_the_limit() -> None:
    numbers = Numbers.of("a value of at least 130", [130.00000000000003])
    assert numbers.write(130.00000000000003) == "130"
    assert numbers.write(129.99999999999997, reached=False) == "129.99999999999997"
