"""The demo's study: heart patients, a model of them, and the rules that its answers must respect."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

import ssba
from ssba.views.charts.decision_map import Point

if TYPE_CHECKING:
    import pandas as pd

DISEASE, HEALTHY = "disease", "no disease"


@dataclass(frozen=True)
class Lever:
    """A number that treatment or training may move: one way only, by at most a share of today's value."""

    column: str
    way: Literal["up", "down"]
    percent: float

    @property
    def rule(self) -> str:
        """The constraints in words."""
        return f"only {self.way}" if self.percent >= 100 else f"only {self.way}, at most {self.percent:g}%"

    @property
    def constraints(self) -> tuple[ssba.Constraint, ...]:
        """The constraints as the library takes them."""
        one_way = ssba.increase if self.way == "up" else ssba.decrease
        return one_way(self.column), ssba.within(self.column, percent=self.percent)

    def allowed(self, now: float) -> Point:
        """The interval in which the constraints leave a value that is `now`."""
        most = now * self.percent / 100
        return (now, now + most) if self.way == "up" else (now - most, now)


LEVERS = {
    "trestbps": Lever("trestbps", "down", 20),
    "chol": Lever("chol", "down", 20),
    "thalach": Lever("thalach", "up", 10),
    "oldpeak": Lever("oldpeak", "down", 100),
}
PAIN = ssba.transition("exang", {"yes": ["no"]})
PAIN_RULE = "only from yes to no"

PLANE = ("thalach", "oldpeak")
"""The two columns of the picture: across and upward."""


@dataclass(frozen=True)
class Study:
    """The heart data split in two, a model trained on one part, and an explainer around the model."""

    heart: ssba.datasets.Heart
    train: "pd.DataFrame"
    held_out: "pd.DataFrame"
    truth: "pd.Series[str]"
    model: Any
    explainer: ssba.Explainer
    seed: int

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """What the model says about the held-out patients."""
        return np.asarray(self.model.predict(self.held_out))

    @property
    def at_risk(self) -> "pd.DataFrame":
        """The held-out patients whom the model takes for ill."""
        rows: pd.DataFrame = self.held_out[self.predicted == DISEASE]
        return rows

    @property
    def meanings(self) -> dict[str, str]:
        """What the columns mean."""
        return {name: column.meaning for name, column in self.heart.columns.items()}

    def fixed_but(self, *levers: str) -> list[ssba.Constraint]:
        """Hold every column but some."""
        return [ssba.fixed(column) for column in self.heart.columns if column not in levers]

    @property
    def rules(self) -> list[ssba.Constraint]:
        """What every answer must respect: facts and findings are held, the rest moves one way."""
        moving = [constraint for lever in LEVERS.values() for constraint in lever.constraints]
        return [*self.fixed_but("exang", *LEVERS), *moving, PAIN]

    @property
    def picture_rules(self) -> list[ssba.Constraint]:
        """The rules, with all but the two columns of the picture held."""
        moving = [constraint for name in PLANE for constraint in LEVERS[name].constraints]
        return [*self.fixed_but(*PLANE), *moving]


def train_model(seed: int) -> Study:
    """Train a small neural network on three quarters of the patients."""
    from sklearn.model_selection import train_test_split

    heart = ssba.datasets.load_heart()
    train, held_out, diagnosis, truth = train_test_split(
        heart.frame, heart.target, test_size=0.25, random_state=seed, stratify=heart.target
    )
    model = untrained_model(heart, seed).fit(train, diagnosis)
    features = {name: declare(heart, name) for name in heart.columns}
    # With l1 a few columns change; with l2 all of them would, a little.
    explainer = ssba.Explainer(model, train, HEALTHY, features=features, distance="l1", seed=seed)
    return Study(heart, train, held_out, truth, model, explainer, seed)


def untrained_model(heart: ssba.datasets.Heart, seed: int) -> Any:
    """A pipeline that takes the raw columns, text and gaps included."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = [name for name, column in heart.columns.items() if column.kind == "categorical"]
    numbers = [name for name in heart.columns if name not in texts]
    one_hot = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_pipeline(
        make_column_transformer((one_hot, texts), (scaled, numbers)),
        MLPClassifier(hidden_layer_sizes=(16,), alpha=1.0, max_iter=2000, random_state=seed),
    )


def declare(heart: ssba.datasets.Heart, name: str) -> Any:
    """Tell the library what a column is, and to propose no number beyond those of the 303 patients."""
    column = heart.columns[name]
    if column.kind == "categorical":
        return ssba.categorical(column.values)
    low, high = heart.frame[name].min(), heart.frame[name].max()
    if column.kind == "integer":
        return ssba.integer(low=low, high=high, unit=column.unit)
    return ssba.numeric(step=0.1, low=low, high=high, unit=column.unit)
