"""The packaged heart data is what its documentation says, in every frame library."""

import csv
import sys
from importlib import resources
from typing import Any

import narwhals as nw
import pytest
from tests.support import every

import ssba.datasets
from ssba.datasets import load_heart
from ssba.datasets.heart import BACKENDS, Backend
from ssba.errors import ArgumentError

INTEGERS = {"age", "trestbps", "chol", "thalach"}
FLOATS = {"oldpeak", "ca"}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def cells(frame: Any) -> dict[str, list[Any]]:
    """The columns as lists, with every missing cell as None, whatever the library calls it."""
    table = nw.from_native(frame, eager_only=True)
    return {
        name: [None if missing else cell for cell, missing in zip(column, column.is_null(), strict=True)]
        for name, column in table.to_dict(as_series=True).items()
    }


def test_frame_is_native_to_the_library_asked_for(backend: Backend) -> None:
    heart = load_heart(backend)
    assert type(heart.frame).__module__.partition(".")[0] == backend
    assert type(heart.target).__module__.partition(".")[0] == backend


def test_there_are_303_patients_of_whom_139_have_the_disease(backend: Backend) -> None:
    # counts of the Cleveland file in the UCI documentation: 164 healthy, 55 + 36 + 35 + 13 diseased
    heart = load_heart(backend)
    diagnoses = nw.from_native(heart.target, series_only=True).to_list()
    assert (diagnoses.count("disease"), diagnoses.count("no disease")) == (139, 164)
    assert nw.from_native(heart.frame, eager_only=True).shape == (303, 13)


def test_dtypes_are_the_same_in_every_library(backend: Backend) -> None:
    schema = nw.from_native(load_heart(backend).frame, eager_only=True).schema
    assert {name for name, dtype in schema.items() if dtype == nw.Int64} == INTEGERS
    assert {name for name, dtype in schema.items() if dtype == nw.Float64} == FLOATS
    assert {dtype for name, dtype in schema.items() if name not in INTEGERS | FLOATS} == {nw.String()}


def test_six_patients_keep_their_missing_cell(backend: Backend) -> None:
    columns = cells(load_heart(backend).frame)
    gaps = {
        name: [row for row, cell in enumerate(column) if cell is None] for name, column in columns.items()
    }
    assert {name: rows for name, rows in gaps.items() if rows} == {
        "ca": [166, 192, 287, 302],
        "thal": [87, 266],
    }


def test_every_library_gives_the_same_cells(backend: Backend) -> None:
    assert cells(load_heart(backend).frame) == cells(load_heart("pandas").frame)


def test_columns_describe_the_frame_one_to_one(backend: Backend) -> None:
    heart = load_heart(backend)
    assert list(heart.columns) == nw.from_native(heart.frame, eager_only=True).columns
    assert every(name == column.name and column.meaning for name, column in heart.columns.items())


def test_described_values_are_exactly_those_that_occur() -> None:
    heart = load_heart()
    for name, column in cells(heart.frame).items():
        described = heart.columns[name]
        if described.kind == "categorical":
            assert set(column) - {None} == set(described.values)
        else:
            assert described.values == ()
            assert described.unit is not None


def test_first_and_last_patient_are_those_of_the_uci_file() -> None:
    # processed.cleveland.data begins with 63,1,1,145,233,1,2,150,0,2.3,3,0,6,0
    # and ends with 38,1,3,138,175,0,0,173,0,0,1,?,3,0
    rows = list(zip(*cells(load_heart().frame).values(), strict=True))
    hypertrophy = "left ventricular hypertrophy"
    assert rows[0] == (
        *(63, "male", "typical angina", 145, 233, "yes", hypertrophy),
        *(150, "no", 2.3, "downsloping", 0, "fixed defect"),
    )
    assert rows[-1] == (
        *(38, "male", "non-anginal pain", 138, 175, "no", "normal"),
        *(173, "no", 0, "upsloping", None, "normal"),
    )


def test_whole_numbers_are_written_whole_in_the_file() -> None:
    text = resources.files(ssba.datasets).joinpath("heart.csv").read_text(encoding="utf-8")
    assert not [
        row for row in csv.DictReader(text.splitlines()) for name in INTEGERS | {"ca"} if "." in row[name]
    ]


def test_each_load_is_a_copy_of_its_own() -> None:
    first = load_heart()
    first.frame.loc[0, "age"] = 99
    first.columns.clear()
    second = load_heart()
    assert second.frame.loc[0, "age"] == 63
    assert len(second.columns) == 13


def test_repr_fits_on_a_line_and_names_the_columns() -> None:
    text = repr(load_heart())
    assert text.startswith("Heart(303 patients: age, sex, cp,")
    assert "\n" not in text


def test_attribution_names_authors_source_and_licence() -> None:
    shipped = resources.files(ssba.datasets).joinpath("ATTRIBUTION.md").read_text(encoding="utf-8")
    for text in (load_heart().attribution, shipped):
        assert every(part in text for part in ("Janosi", "Detrano", "10.24432/C52P4X", "CC BY 4.0"))


def test_unknown_backend_is_refused_with_the_choices() -> None:
    with pytest.raises(ArgumentError, match=r"backend must be one of pandas, polars, pyarrow; got 'duckdb'"):
        load_heart("duckdb")  # type: ignore[arg-type]


def test_missing_library_says_how_to_install_it(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ImportError, match=f"needs {backend}, which is not installed: pip install {backend}"):
        load_heart(backend)
