"""The tables behind the cases: from a folder, from OpenML, or from a package that is installed anyway."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_breast_cancer, load_wine, make_classification

import ssba


class NoDataError(Exception):
    """A table that is neither in the folder given with ``--data`` nor to be had otherwise."""


@dataclass(frozen=True)
class Table:
    """Rows, their labels as 0, 1, ..., and where they come from."""

    rows: Any
    labels: np.ndarray[Any, np.dtype[np.int64]]
    source: str


def toy(folder: Path | None) -> Table:
    """The 20 points of the paper's authors; class 1 is their 1, class 0 their -1."""
    frame = _read(folder, "toy_dataset.csv")
    if frame is None:
        raise NoDataError("the toy points are the paper's: give the folder of toy_dataset.csv with --data")
    return Table(frame[["x1", "x2"]].to_numpy(float), _whole(frame["y"] > 0), "toy_dataset.csv")


def synthetic(features: int, seed: int = 42) -> Table:
    """The paper's generated data, all features informative; its seed is 42."""
    X, y = make_classification(
        n_samples=2000, n_features=features, n_informative=features, n_redundant=0, random_state=seed
    )
    return Table(X, _whole(y), "scikit-learn make_classification")


def wide() -> Table:
    """1,000 columns, of which 20 tell the class."""
    X, y = make_classification(n_samples=2000, n_features=1000, n_informative=20, random_state=0)
    return Table(X, _whole(y), "scikit-learn make_classification")


def wine() -> Table:
    """Three cultivars of wine, 13 columns in standard deviations."""
    X, y = load_wine(return_X_y=True)
    return Table((X - X.mean(axis=0)) / X.std(axis=0), _whole(y), "scikit-learn load_wine")


def breast_cancer() -> Table:
    """The Wisconsin data in standard deviations; class 1 is benign."""
    X, y = load_breast_cancer(return_X_y=True)
    return Table((X - X.mean(axis=0)) / X.std(axis=0), _whole(y), "scikit-learn load_breast_cancer")


def heart(folder: Path | None) -> Table:
    """Heart disease as numbers, as the paper has it but without its repeated rows; class 1 is disease.

    All columns are floats: the paper moves in continuous units, and so do limits and methods here.
    """
    frame = _read(folder, "heart.csv")
    if frame is not None:
        frame = frame.drop_duplicates(ignore_index=True)
        return Table(frame.drop(columns="target").astype(float), _whole(frame["target"]), "heart.csv")
    packaged = mixed_heart()
    return Table(_coded(packaged.rows), packaged.labels, f"{packaged.source}, categories as codes")


def whole_heart(folder: Path | None) -> Table:
    """The same rows with the dtypes of the file: whole numbers, but for oldpeak."""
    frame = _read(folder, "heart.csv")
    if frame is None:
        raise NoDataError("the whole numbers are those of heart.csv: give its folder with --data")
    frame = frame.drop_duplicates(ignore_index=True)
    return Table(frame.drop(columns="target"), _whole(frame["target"]), "heart.csv")


def mixed_heart() -> Table:
    """The packaged Cleveland patients without missing cells, in text categories; class 1 is disease."""
    loaded = ssba.datasets.load_heart()
    complete = loaded.frame.notna().all(axis=1)
    frame = loaded.frame[complete].reset_index(drop=True).astype({"ca": "int64"})
    return Table(frame, _whole(loaded.target[complete] == "disease"), "ssba.datasets.load_heart")


def adult(folder: Path | None) -> Table:
    """Adult with DiCE's eight features and merged categories; class 1 earns more than 50,000."""
    frame = _read(folder, "adult.csv")
    if frame is not None:
        return Table(frame.drop(columns="income"), _whole(frame["income"]), "adult.csv")
    try:
        fetched = fetch_openml("adult", version=2, as_frame=True)
    except OSError as error:
        raise NoDataError("adult.csv is not in the folder given with --data, nor OpenML reachable") from error
    return Table(_merged_adult(fetched.data), _whole(fetched.target == ">50K"), "OpenML adult, version 2")


def real_adult(folder: Path | None) -> Table:
    """Adult with age and hours as real numbers."""
    table = adult(folder)
    return replace(table, rows=table.rows.astype({"age": float, "hours_per_week": float}))


def _read(folder: Path | None, name: str) -> pd.DataFrame | None:
    if folder is None or not (folder / name).exists():
        return None
    return pd.read_csv(folder / name)


def _whole(labels: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(labels).astype(np.int64)


def _coded(frame: pd.DataFrame) -> pd.DataFrame:
    text = [str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    codes = {name: frame[name].astype("category").cat.codes for name in text}
    return frame.assign(**codes).astype(float)


_WORK = {
    "Government": ("Federal-gov", "Local-gov", "State-gov"),
    "Self-Employed": ("Self-emp-inc", "Self-emp-not-inc"),
    "Other/Unknown": ("Never-worked", "Without-pay"),
}
_OCCUPATION = {
    "White-Collar": ("Adm-clerical", "Exec-managerial"),
    "Blue-Collar": (
        "Craft-repair",
        "Farming-fishing",
        "Handlers-cleaners",
        "Machine-op-inspct",
        "Transport-moving",
    ),
    "Service": ("Other-service", "Priv-house-serv", "Protective-serv", "Tech-support"),
    "Professional": ("Prof-specialty",),
    "Other/Unknown": ("Armed-Forces",),
}
_MARITAL = {
    "Married": ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"),
    "Single": ("Never-married",),
}
_SCHOOL = {
    "School": ("10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Preschool"),
    "Assoc": ("Assoc-acdm", "Assoc-voc"),
}


def _merged_adult(raw: pd.DataFrame) -> pd.DataFrame:
    text = raw.select_dtypes(exclude="number").astype(object).fillna("Other/Unknown")
    return pd.DataFrame(
        {
            "age": raw["age"].astype("int64"),
            "workclass": _merged(text["workclass"], _WORK),
            "education": _merged(text["education"], _SCHOOL),
            "marital_status": _merged(text["marital-status"], _MARITAL),
            "occupation": _merged(text["occupation"], _OCCUPATION),
            "race": text["race"].where(text["race"] == "White", "Other"),
            "gender": text["sex"],
            "hours_per_week": raw["hours-per-week"].astype("int64"),
        }
    )


def _merged(cells: pd.Series, groups: dict[str, tuple[str, ...]]) -> pd.Series:
    return cells.replace({old: new for new, members in groups.items() for old in members})
