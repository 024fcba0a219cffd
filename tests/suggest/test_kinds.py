"""The kind of a column by its cells, each in the frame library's own dtypes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.columns.frames import read_columns
from ssba.suggest.kinds import Reading, read_kind

TEN = list(range(10))


def reading(cells: Any, name: str = "column") -> Reading:
    (column,) = read_columns(pd.DataFrame({name: cells}))
    return read_kind(column)


@pytest.mark.parametrize(
    ("name", "cells", "declared"),
    [
        ("a", [1.0, 2.0] * 5 + [7.0], None),
        ("weight_kg", [1.0, 2.0] * 5 + [7.0], ssba.integer(unit="kg")),
        ("a", [0.1, 0.2, 0.7] * 4, None),
        ("weight_kg", [0.1, 0.2, 0.7] * 4, ssba.numeric(step=0.1, unit="kg")),
        ("weight_kg", [1.25, 2.0, 3.0] * 4, ssba.numeric(step=0.01, unit="kg")),
        ("a", np.linspace(0, 1, 37) ** 2, None),
        ("a_kg", np.array([0.1, 0.2, 0.7] * 4, dtype=np.float32), ssba.numeric(step=0.1, unit="kg")),
        ("a", TEN * 2, None),
        ("weight_kg", TEN * 2, ssba.integer(unit="kg")),
        ("weight_kg", np.linspace(0, 1, 37) ** 2, ssba.numeric(unit="kg")),
        ("a", [0, 1] * 10, None),
        ("a", [1, 2] * 10, ssba.boolean()),
        ("a", [-0.5, 0.25] * 10, ssba.boolean()),
        ("a", ["Yes", "No"] * 5, ssba.boolean()),
        ("a", ["m", "f"] * 5, None),
        ("a", ["high", "low", "medium"] * 5, ssba.ordinal(["low", "medium", "high"])),
        ("a", ["red", "blue", "green"] * 5, None),
        ("zip_code", [10115, 20095, 80331] * 5, ssba.categorical()),
        ("zip_code", ["10115", "20095", "80331"] * 5, None),
        ("a", pd.Categorical(["lo", "hi"] * 5, categories=["lo", "hi"], ordered=True), None),
        ("a", [True, False] * 5, None),
        ("a", [0.5, 1.0], None),
        ("a", [1e12, 2e12, 3e12] * 5, None),
    ],
    ids=str,
)
def test_what_is_declared(name: str, cells: Any, declared: Any) -> None:
    assert reading(cells, name).declaration == declared


@pytest.mark.parametrize(
    ("name", "cells", "flag"),
    [
        ("a", [f"P{n}" for n in range(30)], "identifier"),
        ("a", list(range(1, 31)), "identifier"),
        ("record id", [3 * n**2 for n in range(30)], "identifier"),
        ("visits", [3 * n**2 for n in range(30)], None),
        ("a", list(reversed(range(30))), None),
        ("a", np.linspace(0, 1, 30), None),
        ("a", ["x"] * 30, "constant"),
        ("a", [np.nan] * 30, "constant"),
        ("a", [1, "x"] * 15, "unreadable"),
        ("a", [1.0, np.inf] * 15, "unreadable"),
        ("a", pd.to_datetime(["2020-01-01"] * 30), "constant"),
        ("a", pd.to_timedelta([1] * 30, unit="D"), "unreadable"),
        ("id", list(range(5)), None),
    ],
    ids=str,
)
def test_what_stands_out(name: str, cells: Any, flag: str | None) -> None:
    assert reading(cells, name).flag == flag


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([0, 1, 2, 3] * 5, "few values, 0, 1, 2, 3: declare it categorical if they are codes"),
        ([1.0, np.nan, 3.0, 4.5] * 5, "missing in 5 of 20 rows"),
        (["a", None] * 5 + ["b"], "missing in 5 of 11 rows"),
        ([f"{n}.5" for n in range(25)] * 2, "text that holds numbers"),
    ],
)
def test_what_a_person_should_know(cells: Any, told: str) -> None:
    assert any(told in one for one in reading(cells).reasons)
