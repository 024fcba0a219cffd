"""Kinds come from dtypes and values unless declared; what cannot be meant is refused by name."""

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
        (pd.to_datetime(["2020-01-01", "NaT"]), "date"),
        (pd.array([True, None], dtype="boolean"), "boolean"),
    ],
)
def test_the_dtype_tells_the_kind(cells: Any, kind: str) -> None:
    assert inferred(cells).kind == kind


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(pl.Categorical, "categorical"), (pl.String, "categorical")],
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
        ([True, False], numeric(), ["'a'", "convert it to numbers", "leave the declaration out"]),
        (["u", "v", "w"], boolean(), ["'a'", "declared boolean", "3 values"]),
        (["u", "v"], ordinal(["u", "w"]), ["'a'", "'v'", "not among the declared levels"]),
        ([1.0, math.inf], None, ["'a'", "infinite"]),
        ([1.0, math.inf], categorical(), ["'a'", "inf"]),
        ([dt.date(2020, 1, 1)] * 2, None, ["'a'"]),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC"), None, ["'a'", "tz_localize(None)"]),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), numeric(), ["'a'", "declared numeric", "dates"]),
        (pd.to_timedelta([1, 2], unit="D"), None, ["'a'", "timedelta64"]),
        ([1.0, 2.0], Declaration("date"), ["'a'", "declared date"]),
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


class TestOrderedDtypes:
    """A dtype that has an order makes an ordinal column, in that order, unless it is declared otherwise."""

    CELLS = ("mild", "none", "severe", "mild")
    ORDER = ("none", "mild", "severe")

    def read(self, cells: Any, declaration: Declaration | None = None) -> Feature:
        (column,) = read_columns(cells)
        return infer_feature(column, declaration)

    def test_a_polars_enum_is_ordinal(self) -> None:
        feature = self.read(pl.DataFrame({"a": pl.Series(self.CELLS, dtype=pl.Enum(self.ORDER))}))
        assert (feature.kind, feature.levels) == ("ordinal", self.ORDER)

    def test_only_levels_that_the_data_hold_count(self) -> None:
        cells = pl.Series(["mild", "none"], dtype=pl.Enum(self.ORDER))
        assert self.read(pl.DataFrame({"a": cells})).levels == ("none", "mild")

    def test_an_ordered_pandas_categorical_is_ordinal(self) -> None:
        cells = pd.Categorical(self.CELLS, categories=self.ORDER, ordered=True)
        feature = self.read(pd.DataFrame({"a": cells}))
        assert (feature.kind, feature.levels) == ("ordinal", self.ORDER)

    @pytest.mark.parametrize(
        "cells",
        [
            pl.DataFrame({"a": pl.Series(CELLS, dtype=pl.Categorical)}),
            pd.DataFrame({"a": pd.Categorical(CELLS, categories=ORDER)}),
        ],
        ids=["polars", "pandas"],
    )
    def test_categoricals_without_an_order_are_not(self, cells: Any) -> None:
        assert self.read(cells).kind == "categorical"

    def test_an_enum_may_be_declared_categorical(self) -> None:
        cells = pl.Series(self.CELLS, dtype=pl.Enum(self.ORDER))
        assert self.read(pl.DataFrame({"a": cells}), categorical()).kind == "categorical"


@pytest.mark.parametrize(
    "declaration", [None, integer(), categorical()], ids=["undeclared", "integer", "levels"]
)
@pytest.mark.parametrize("cells", [[1, 2**53 + 1], [-(2**60), 3]], ids=str)
def test_whole_numbers_that_a_float_cannot_tell_apart_are_refused(cells: Any, declaration: Any) -> None:
    # int64 holds them; what cannot is the 64-bit float that everything is computed in.
    with pytest.raises(SchemaError, match=r"beyond 2\*\*53 .* leave an identifier out .* turn it into text"):
        inferred(cells, declaration)


class TestValues:
    @pytest.mark.parametrize(
        ("cells", "kind", "step"),
        [
            ([56.0, 61.0, 40.0] * 5, "integer", 1.0),
            ([0.0, 1.0] * 5, "boolean", None),
            ([0, 1] * 5, "boolean", None),
            (pd.array([0, 1, None] * 5, dtype="Int64"), "boolean", None),
            (np.array([0.1, 2.3, 6.2] * 5, dtype=np.float32), "numeric", 0.1),
            ([0.123456, 2.3, 6.2] * 5, "numeric", None),
            ([56.0, 61.0], "numeric", None),
            ([0, 1], "integer", 1.0),
            ([3.0] * 20, "numeric", None),
        ],
    )
    def test_they_decide_where_there_are_enough(self, cells: Any, kind: str, step: float | None) -> None:
        feature = inferred(cells)
        assert (feature.kind, feature.step) == (kind, step)

    @pytest.mark.parametrize(
        ("cells", "declaration", "kind", "step"),
        [
            ([56.0, 61.0] * 5, numeric(), "numeric", None),
            ([0.0, 1.0] * 5, numeric(step=0.5), "numeric", 0.5),
            ([0, 1] * 5, integer(), "integer", 1.0),
            ([0.5, 1.5] * 5, categorical(), "categorical", None),
        ],
    )
    def test_declarations_win(
        self, cells: Any, declaration: Declaration, kind: str, step: float | None
    ) -> None:
        feature = inferred(cells, declaration)
        assert (feature.kind, feature.step, feature.why, feature.by_values) == (kind, step, "declared", False)

    def test_each_column_of_an_array_is_read_by_itself(self) -> None:
        rows = np.column_stack([np.arange(20.0), np.arange(20) % 2, np.linspace(0, 1, 20) ** 3])
        kinds = [infer_feature(column, None).kind for column in read_columns(rows)]
        assert kinds == ["integer", "boolean", "numeric"]

    @pytest.mark.parametrize(
        ("cells", "cell", "words"),
        [
            ([56.0, 61.0, 70.0] * 5, 56.5, ["'a'", "not a whole number", "all its values", "ssba.numeric()"]),
            ([0.0, 1.0] * 5, 0.5, ["'a'", "neither 0 nor 1", "ssba.numeric()"]),
        ],
    )
    def test_a_query_that_does_not_fit_is_told_what_to_declare(
        self, cells: Any, cell: float, words: list[str]
    ) -> None:
        with pytest.raises(SchemaError) as caught:
            inferred(cells).code(cell)
        for word in words:
            assert word in str(caught.value)
