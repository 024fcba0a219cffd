"""The packaged project: heart patients, a model of their diagnosis, and what treatment may change."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ssba
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import FeatureSettings, ProjectSettings
from ssba.results.prose import CAUTION

if TYPE_CHECKING:
    import pandas as pd

HEALTHY = "no disease"
LABELS = "diagnosis"
EXAMPLE_ROW = 6
"""A patient whom the model takes for ill, and for whom it can be turned within the constraints."""

CONSTRAINTS = (
    *(f"{name} == x.{name}" for name in ("age", "sex", "cp", "fbs", "restecg", "slope", "ca", "thal")),
    "0.8 * x.trestbps <= trestbps <= x.trestbps",
    "0.8 * x.chol <= chol <= x.chol",
    "x.thalach <= thalach <= 1.1 * x.thalach",
    "oldpeak <= x.oldpeak",
    "exang: 'yes' -> {'no'}",
)
"""Facts and findings stay; blood pressure, cholesterol and strain may fall, and fitness may rise."""


def heart_table() -> "pd.DataFrame":
    """Return the 303 patients with their diagnosis."""
    heart = ssba.datasets.load_heart()
    table: pd.DataFrame = heart.frame.assign(**{LABELS: heart.target})
    return table


def heart_model() -> Any:
    """Train a logistic regression on the raw columns, text and gaps included; it takes a moment."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    heart = ssba.datasets.load_heart()
    texts = [name for name, column in heart.columns.items() if column.kind == "categorical"]
    numbers = [name for name in heart.columns if name not in texts]
    one_hot = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer((one_hot, texts), (scaled, numbers))
    return make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(heart.frame, heart.target)


def heart_settings() -> ProjectSettings:
    """Return what the project file of the heart patients says."""
    described = ssba.datasets.load_heart().columns
    return ProjectSettings(
        title="Heart patients",
        model="model.skops",
        data="heart.csv",
        target=HEALTHY,
        labels=LABELS,
        constraints=CONSTRAINTS,
        caution=CAUTION,
        distance="l1",
        features={
            name: FeatureSettings(unit=column.unit, meaning=column.meaning)
            for name, column in described.items()
        },
    )


def heart_project() -> OpenedProject:
    """Return the packaged project, ready to be asked."""
    return OpenedProject(heart_settings(), Path(), heart_table(), heart_model(), example_row=EXAMPLE_ROW)
