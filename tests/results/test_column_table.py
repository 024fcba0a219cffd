"""The columns of an explainer as a table: what was decided, and why."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import every

import ssba
from ssba.results import ColumnTable

_rng = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "age": _rng.integers(20, 80, 100).astype(float),
        "sex": _rng.integers(0, 2, 100),
        "dose": _rng.integers(0, 60, 100) / 10,
        "stress": _rng.normal(size=100),
        "smoker": _rng.choice(["never", "yes"], 100),
        "grade": pd.Categorical(_rng.choice(["a", "b"], 100), ordered=True),
        "visits": _rng.integers(0, 9, 100),
    }
)


def model(rows: Any) -> Any:
    return np.asarray(rows["age"]) + 10 * np.asarray(rows["sex"]) > 60


def explainer(frame: Any = FRAME, **settings: Any) -> ssba.Explainer:
    return ssba.Explainer(model, frame, target=False, **settings)


def test_each_column_says_what_it_is_and_why() -> None:
    table = explainer(features={"visits": ssba.integer(high=20, unit="visits")}).columns
    assert [(one.name, one.kind, one.step, one.why, one.by_values) for one in table] == [
        ("age", "integer", 1.0, "whole numbers in a float column", True),
        ("sex", "boolean", None, "only 0 and 1", True),
        ("dose", "numeric", 0.1, "multiples of 0.1", True),
        ("stress", "numeric", None, "dtype float64", False),
        ("smoker", "categorical", None, f"dtype {FRAME['smoker'].dtype}", False),
        ("grade", "ordinal", None, "dtype category, ordered", False),
        ("visits", "integer", 1.0, "declared", False),
    ]
    assert table["age"].range == (FRAME["age"].min(), FRAME["age"].max())
    assert table["grade"].range == ("a", "b")
    assert table["sex"].range == (None, None)
    assert table["sex"].levels == (0, 1)
    assert table["visits"].unit == "visits"


@pytest.mark.parametrize("note", ["object", "string", "category", "polars"])
def test_a_column_of_texts_that_are_all_missing_is_held_fixed(note: str, tmp_path: Path) -> None:
    dtype = "object" if note == "polars" else note
    data: Any = FRAME[["age", "sex"]].assign(note=pd.Series([None] * len(FRAME), dtype=dtype))
    if note == "polars":
        data = pl.DataFrame({**FRAME[["age", "sex"]].to_dict("list"), "note": [None] * len(FRAME)})
        data = data.with_columns(pl.col("note").cast(pl.String))
    with pytest.warns(ssba.SsbaWarning, match="column 'note' holds a single value"):
        told = explainer(data)
    column = told.columns["note"]
    assert (column.kind, column.levels, column.range) == ("categorical", (), (None, None))
    found = told.explain({"age": 70.0, "sex": 1, "note": None})
    assert found.best is not None
    assert found.best.values["note"] is None
    assert ssba.results.Explanation.from_json(found.to_json()) == found
    assert told.check_certificate(told.certificate(found)).passed
    told.report(found, tmp_path / "page.html")
    assert "note" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(ssba.errors.SchemaError, match="unknown level 'late'; the background data holds none"):
        told.explain({"age": 70.0, "sex": 1, "note": "late"})


def test_declared_kinds_win() -> None:
    told = {"age": ssba.numeric(), "sex": ssba.integer(), "dose": ssba.numeric(step=0.5)}
    table = explainer(features=told).columns
    assert [(one.kind, one.step) for one in table[:3]] == [
        ("numeric", None),
        ("integer", 1.0),
        ("numeric", 0.5),
    ]
    assert not any(one.by_values for one in table)
    assert "come from dtypes" in table.sentence


def test_data_outside_the_declared_range_show_its_end() -> None:
    beyond = {"age": ssba.integer(low=90), "stress": ssba.numeric(high=-9)}
    table = explainer(features=beyond).columns
    assert (table["age"].range, table["stress"].range) == ((90, 90), (-9, -9))


def test_it_prints_as_a_table() -> None:
    lines = repr(explainer().columns).splitlines()
    assert lines[0].startswith("7 columns, 3 of them of a kind that comes from their values")
    assert lines[2].split() == ["column", "kind", "range", "step", "levels", "scale", "why"]
    assert lines[4].split() == ["sex", "boolean", "0,", "1", "only", "0", "and", "1"]
    assert len(lines) == 10


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME.drop(columns="grade"))])
def test_it_is_a_frame_of_the_users_library(frame: Any) -> None:
    table = explainer(frame).columns
    made = table.to_frame()
    assert type(made) is type(frame)
    assert list(made["column"]) == [one.name for one in table]
    assert next(iter(made["why"])) == "whole numbers in a float column"


def test_it_shows_itself_in_a_notebook() -> None:
    page = explainer().columns._repr_html_()
    assert "<table>" in page
    assert "whole numbers in a float column" in page


def test_it_survives_json() -> None:
    table = explainer().columns
    assert ColumnTable.from_json(table.to_json()) == table


def test_an_answer_points_to_it_where_values_decided() -> None:
    answer = explainer().explain(FRAME.iloc[0].to_dict() | {"age": 75.0})
    assert "The kinds of 3 columns come from the data's values: explainer.columns lists them." in repr(answer)
    assert "explainer.columns" in answer._repr_html_()
    told = {"age": ssba.integer(), "sex": ssba.boolean(), "dose": ssba.numeric(step=0.1)}
    declared = explainer(features=told).explain(FRAME.iloc[0].to_dict() | {"age": 75.0})
    assert "explainer.columns" not in repr(declared)
    assert every(
        one.changes == other.changes
        for one, other in zip(answer.counterfactuals, declared.counterfactuals, strict=True)
    )
