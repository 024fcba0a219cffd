"""Kinds come from dtypes unless declared; what cannot be meant is refused by name."""

import datetime as dt
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ssba.columns.features import Declaration, Feature, boolean, categorical, integer, numeric, ordinal
from ssba.columns.frames import read_columns
from ssba.columns.inference import infer_feature
from ssba.errors import SchemaError


def inferred(cells: Any, declaration: Declaration | None = None) -> Feature:
    (column,) = read_columns(pd.DataFrame({"a": cells}))
    return infer_feature(column, declaration)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1.5, 2.0], "numeric"),
        (np.array([1, 2], dtype=np.uint8), "integer"),
        (pd.array([1, None], dtype="Int32"), "integer"),
        (["u", "v"], "categorical"),
        (pd.Series(["u", None], dtype=object), "categorical"),
        (pd.Categorical(["u", "v"]), "categorical"),
        (pd.Categorical(["u", "v"], ordered=True), "ordinal"),
        ([True, False], "boolean"),
        (pd.array([True, None], dtype="boolean"), "boolean"),
    ],
)
def test_the_dtype_tells_the_kind(cells: Any, kind: str) -> None:
    assert inferred(cells).kind == kind


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(pl.Categorical, "categorical"), (pl.Enum(["u", "v"]), "categorical"), (pl.String, "categorical")],
)
def test_polars_levels_have_no_order(dtype: Any, kind: str) -> None:
    (column,) = read_columns(pl.DataFrame({"a": pl.Series(["v", "u", None], dtype=dtype)}))
    feature = infer_feature(column, None)
    assert feature.kind == kind
    assert set(feature.levels) == {"u", "v"}


def test_an_ordered_categorical_keeps_its_order_and_drops_levels_that_never_occur() -> None:
    cells = pd.Categorical(["high", "low"], categories=["low", "middle", "high"], ordered=True)
    assert inferred(cells).levels == ("low", "high")


def test_levels_are_sorted_whatever_the_row_order() -> None:
    assert inferred(["b", "c", "a", "b"]).levels == inferred(["a", "c", "b"]).levels == ("a", "b", "c")


def test_numbers_declared_as_levels_are_whole_where_they_can_be() -> None:
    feature = inferred([2.0, 1.0, 2.5], categorical())
    assert feature.levels == (1, 2, 2.5)
    assert type(feature.levels[0]) is int


def test_a_boolean_column_knows_both_truths_even_if_the_data_shows_one() -> None:
    feature = inferred([True, True])
    assert feature.levels == (False, True)
    assert feature.is_constant


def test_the_range_of_the_data_is_kept_in_encoded_units() -> None:
    feature = inferred([3.0, math.nan, -1.0])
    assert (feature.data_low, feature.data_high) == (-1.0, 3.0)
    levels = inferred(["b", "c"], ordinal(["a", "b", "c", "d"]))
    assert (levels.data_low, levels.data_high) == (1.0, 2.0)


def test_declarations_win_over_dtypes() -> None:
    assert inferred([1, 2, 3], numeric(unit="mm")).unit == "mm"
    assert inferred([1.0, 2.0], integer(low=0, high=9)).high == 9
    assert inferred([0, 1], boolean()).levels == (0, 1)
    assert inferred(["yes", "no"], boolean()).levels == ("no", "yes")


@pytest.mark.parametrize(
    ("cells", "declaration", "words"),
    [
        (["u", "v"], numeric(), ["'a'", "declared numeric", "ssba.categorical()"]),
        (["u", "v", "w"], boolean(), ["'a'", "declared boolean", "3 values"]),
        (["u", "v"], ordinal(["u", "w"]), ["'a'", "'v'", "not among the declared levels"]),
        ([1.0, math.inf], None, ["'a'", "infinite"]),
        ([1.0, math.inf], categorical(), ["'a'", "inf"]),
        ([dt.date(2020, 1, 1)] * 2, None, ["'a'"]),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), None, ["'a'", "datetime64"]),
        (pd.Series([1, 2.5, None], dtype=object), None, ["'a'", "dtype object", "astype(float)"]),
        (pd.Series([[1], [2]]), None, ["'a'"]),
        (pd.Series([{"k": 1}, {"k": 2}]), None, ["'a'"]),
        (pd.Series([(), ()]), None, ["'a'"]),
        (pd.cut(pd.Series([1, 2, 3]), 2), None, ["'a'", "Interval"]),
        ([1j, 2j], None, ["'a'", "complex"]),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    cells: Any, declaration: Declaration | None, words: list[str]
) -> None:
    with pytest.raises(SchemaError) as caught:
        inferred(cells, declaration)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "Float64", "object", "str", "boolean", "category"])
def test_a_column_without_any_value_is_constant(dtype: str) -> None:
    assert inferred(pd.Series([None, None], dtype=dtype)).is_constant
