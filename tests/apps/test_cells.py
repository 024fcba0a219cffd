"""Cells as text."""

import pytest

from ssba.apps.cells import read_cell, read_conditions, read_number, read_values
from ssba.errors import ArgumentError, SchemaError
from ssba.results import Column

COLUMNS = {
    one.name: one
    for one in (
        Column("chol", "integer"),
        Column("oldpeak", "numeric"),
        Column("stage", "ordinal", (1.0, 2.0)),
        Column("sex", "categorical", ("female", "male", "null")),
        Column("fbs", "boolean", (False, True)),
        Column("seen", "date"),
    )
}


@pytest.mark.parametrize(
    ("name", "text", "cell"),
    [
        ("chol", "233", 233),
        ("chol", "233.0", 233.0),
        ("chol", "", None),
        ("oldpeak", "null", None),
        ("stage", "2", 2.0),
        ("stage", "7", "7"),
        ("sex", "null", "null"),
        ("sex", "", None),
        ("fbs", "true", True),
        ("fbs", "False", False),
        ("seen", "2024-02-29", "2024-02-29"),
    ],
)
def test_cell_is_read_as_its_column_has_it(name: str, text: str, cell: object) -> None:
    assert read_cell(COLUMNS[name], text) == cell


@pytest.mark.parametrize("text", ["many", "nan", "inf", "1_000", "", "1e999"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"--effort chol: .* is not a number"):
        read_number(text, "--effort chol")


def test_values_are_for_columns_of_the_model() -> None:
    assert read_values("--set", ["chol=1", "sex=male"], COLUMNS) == {"chol": 1, "sex": "male"}
    with pytest.raises(SchemaError, match=r"unknown column 'cho'.*'chol'"):
        read_values("--set", ["cho=1"], COLUMNS)


def test_conditions_are_for_any_column() -> None:
    found = read_conditions("--where", ["id=007", "ward=", "fbs=true"], COLUMNS)
    assert found == {"id": "007", "ward": None, "fbs": True}
