"""The Cleveland heart disease data: 303 patients, 13 findings each, and the diagnosis."""

import csv
import importlib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import narwhals as nw

from ssba.errors import ArgumentError

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")

TARGET = "diagnosis"

ATTRIBUTION = (
    "Heart Disease (Cleveland), A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano, 1989, "
    "UCI Machine Learning Repository, doi:10.24432/C52P4X, CC BY 4.0"
)


@dataclass(frozen=True)
class Column:
    """What one column of the heart data says about a patient."""

    name: str
    meaning: str
    unit: str | None = None
    kind: Literal["numeric", "integer", "categorical"] = "categorical"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Heart:
    """The heart data as `load_heart` returns it.

    Attributes
    ----------
    frame
        One row a patient and the 13 columns a model may use, in the frame library asked for.
    target
        The diagnosis, one a row: ``disease`` where a coronary vessel is narrowed by more than
        half, else ``no disease``.
    columns
        What each column of `frame` means, by name and in the same order.
    attribution
        Whom to cite, and the licence (CC BY 4.0).
    """

    frame: Any
    target: Any
    columns: dict[str, Column]
    attribution: str = ATTRIBUTION

    def __repr__(self) -> str:
        return f"Heart({len(self.target)} patients: {', '.join(self.columns)})"


def load_heart(backend: Backend = "pandas") -> Heart:
    """The 303 Cleveland patients, in readable categories and clinical units.

    Six patients have a missing cell, four in ``ca`` and two in ``thal``. They are kept as they
    are, so ``ca``, though a count, is a column of floats.

    Parameters
    ----------
    backend
        The frame library of the answer: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.

    Examples
    --------
    >>> heart = load_heart()
    >>> heart.frame.shape
    (303, 13)
    >>> heart.frame.loc[0, ["age", "sex", "cp"]].to_dict()
    {'age': 63, 'sex': 'male', 'cp': 'typical angina'}
    >>> heart.target.value_counts().to_dict()
    {'no disease': 164, 'disease': 139}
    >>> heart.columns["chol"].meaning, heart.columns["chol"].unit
    ('serum cholesterol', 'mg/dl')
    """
    _require(backend)
    table = nw.from_dict(_read_cells(), backend=backend)
    return Heart(
        frame=table.drop(TARGET).to_native(),
        target=table.get_column(TARGET).to_native(),
        columns={column.name: column for column in COLUMNS},
    )


def _require(backend: str) -> None:
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ArgumentError(f"load_heart: backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    try:
        importlib.import_module(backend)
    except ImportError as error:
        raise ImportError(
            f"load_heart(backend={backend!r}) needs {backend}, which is not installed: pip install {backend}"
        ) from error


def _read_cells() -> dict[str, list[Any]]:
    """The columns of heart.csv as Python values; every frame library infers the same dtypes from these."""
    text = resources.files(__package__).joinpath("heart.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    texts = dict(zip(header, zip(*rows, strict=True), strict=True))
    cells = {column.name: _typed(column, texts[column.name]) for column in COLUMNS}
    return cells | {TARGET: list(texts[TARGET])}


def _typed(column: Column, texts: tuple[str, ...]) -> list[Any]:
    if column.kind == "categorical":
        return [text or None for text in texts]
    # A pandas int64 column cannot hold a gap: whole numbers with gaps become floats everywhere.
    number = int if column.kind == "integer" and "" not in texts else float
    return [number(text) if text else None for text in texts]


COLUMNS = (
    Column("age", "age", "years", "integer"),
    Column("sex", "sex", values=("female", "male")),
    Column(
        "cp",
        "type of chest pain",
        values=("typical angina", "atypical angina", "non-anginal pain", "asymptomatic"),
    ),
    Column("trestbps", "resting systolic blood pressure, on admission", "mm Hg", "integer"),
    Column("chol", "serum cholesterol", "mg/dl", "integer"),
    Column("fbs", "fasting blood sugar above 120 mg/dl", values=("no", "yes")),
    Column(
        "restecg",
        "resting electrocardiogram",
        values=("normal", "ST-T abnormality", "left ventricular hypertrophy"),
    ),
    Column("thalach", "highest heart rate reached during exercise", "beats/min", "integer"),
    Column("exang", "chest pain brought on by exercise", values=("no", "yes")),
    Column("oldpeak", "ST depression brought on by exercise, relative to rest", "mm", "numeric"),
    Column(
        "slope",
        "slope of the ST segment at peak exercise",
        values=("upsloping", "flat", "downsloping"),
    ),
    Column("ca", "major vessels coloured by fluoroscopy, 0 to 3", "vessels", "integer"),
    Column(
        "thal",
        "thallium scan of the heart",
        values=("normal", "fixed defect", "reversible defect"),
    ),
)
