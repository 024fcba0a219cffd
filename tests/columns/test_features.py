"""Declarations are checked when made; a feature encodes user values and says what it cannot encode."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.columns.features import (
    Declaration,
    Feature,
    boolean,
    categorical,
    declared,
    integer,
    is_missing,
    numeric,
    ordinal,
    unknown_columns,
)
from ssba.errors import ArgumentError, SchemaError

PAIN = Feature("pain", "ordinal", ("none", "some", "much"))
AGE = Feature("age", "integer")
CHOL = Feature("chol", "numeric")


@pytest.mark.parametrize("step", [0.0, -0.1, math.inf, math.nan])
def test_a_step_must_be_a_positive_number(step: float) -> None:
    with pytest.raises(ArgumentError, match="positive number"):
        numeric(step=step)


@pytest.mark.parametrize("make", [numeric, integer])
@pytest.mark.parametrize(("low", "high"), [(2, 1), (math.nan, 1), (0, math.nan)])
def test_a_range_that_is_turned_around_or_no_number_is_refused(make: Any, low: float, high: float) -> None:
    with pytest.raises(ArgumentError, match=r"(integer|numeric)\(low|high="):
        make(low=low, high=high)


def test_levels_are_given_once_each_and_an_order_needs_two() -> None:
    with pytest.raises(ArgumentError, match="at least 2 levels"):
        ordinal(["only"])
    with pytest.raises(ArgumentError, match="each once"):
        categorical(["a", "b", "a"])
    with pytest.raises(ArgumentError, match="at least 1"):
        categorical([])


def test_declarations_carry_what_was_said() -> None:
    assert numeric(step=0.5, low=1, high=2, unit="mm") == Declaration("numeric", (), 1.0, 2.0, 0.5, "mm")
    assert integer(low=0).step == 1.0
    assert categorical().levels == ()
    assert boolean() == Declaration("boolean")


@given(st.sampled_from(PAIN.levels))
def test_a_level_survives_code_and_value(level: str) -> None:
    assert PAIN.value(PAIN.code(level)) == level


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_code_and_value(number: float) -> None:
    assert CHOL.value(CHOL.code(number)) == number


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_comes_back_as_int(number: int) -> None:
    back = AGE.value(AGE.code(number))
    assert type(back) is int
    assert back == number


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("feature", [PAIN, AGE, CHOL])
def test_every_marker_of_a_missing_cell_is_nan_and_comes_back_as_none(feature: Feature, missing: Any) -> None:
    assert is_missing(missing)
    assert math.isnan(feature.code(missing))
    assert feature.value(math.nan) is None


@pytest.mark.parametrize("value", [0, "", "nan", False, b"", np.float64(0), np.str_("x")])
def test_values_are_not_missing(value: Any) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("feature", "value", "words"),
    [
        (PAIN, "sume", ["'pain'", "'sume'", "did you mean 'some'?"]),
        (PAIN, "MUCH", ["'pain'", "'MUCH'", "did you mean 'much'?"]),
        (Feature("sex", "categorical", ("Female", "Male")), "male", ["did you mean 'Male'?"]),
        (PAIN, 7, ["'pain'", "7", "'none', 'some', 'much'", "ssba.categorical"]),
        (CHOL, "200", ["'chol'", "'200'", "not a number", "without quotes: 200"]),
        (CHOL, "high", ["'chol'", "'high'", "not a number", 'kind = "categorical"']),
        (CHOL, True, ["'chol'", "True", "not a number"]),
        (CHOL, math.inf, ["'chol'", "inf", "finite"]),
        (AGE, 1.5, ["'age'", "1.5", "not a whole number", "ssba.numeric()"]),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_what_is_allowed(
    feature: Feature, value: Any, words: list[str]
) -> None:
    with pytest.raises(SchemaError) as caught:
        feature.code(value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("storable", "value", "shown"),
    [
        (2.0**53 - 1, 1e308, "1e+308"),
        (2.0**53 - 1, 10**16, "10,000,000,000,000,000"),
        (127.0, 10**300, "1e+300"),
    ],
)
def test_a_number_of_hundreds_of_digits_is_shown_with_few(storable: float, value: Any, shown: str) -> None:
    feature = Feature("age", "integer", step=1.0, data_high=9, data_low=0, storable=(-storable, storable))
    with pytest.raises(SchemaError) as caught:
        feature.code(value)
    assert shown in str(caught.value)
    assert len(str(caught.value)) < 400


def test_many_levels_are_listed_in_part() -> None:
    many = Feature("town", "categorical", tuple(f"town {i}" for i in range(40)))
    with pytest.raises(SchemaError, match="and 28 more"):
        many.code(3)


def test_numbers_of_every_library_are_read() -> None:
    for value in (np.int8(3), np.uint64(3), np.float32(3), pa.scalar(3).as_py(), pl.Series([3])[0]):
        assert CHOL.code(value) == AGE.code(value) == 3.0


@pytest.mark.parametrize(
    ("kind", "discrete"),
    [
        ("numeric", False),
        ("integer", False),
        ("ordinal", False),
        ("categorical", True),
        ("boolean", True),
    ],
)
def test_only_kinds_without_order_are_discrete(kind: Any, discrete: bool) -> None:
    assert Feature("a", kind, ("u", "v")).is_discrete is discrete


def test_a_feature_is_constant_where_the_data_holds_one_value() -> None:
    assert Feature("a", "numeric", data_low=1.0, data_high=1.0).is_constant
    assert not Feature("a", "numeric", data_low=1.0, data_high=2.0).is_constant


def test_unknown_columns_and_things_that_are_no_declaration_are_refused() -> None:
    assert "did you mean 'chol'?" in unknown_columns(["chl"], ["age", "chol"], "features")
    assert "did you mean 'chol'?" in unknown_columns(["CHOL"], ["age", "chol"], "features")
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        declared({"aeg": integer()}, ["age", "chol"])
    wrong: Any = {"age": "integer"}
    with pytest.raises(ArgumentError, match=r"ssba\.integer"):
        declared(wrong, ["age"])
    assert declared(None, ["age"]) == {}
