"""What the tests of this folder share: contexts of queries, and models of the heart data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import ssba
from ssba.advice.context import Context
from ssba.columns.space import Matrix
from ssba.constraints.lists import constraint_list
from ssba.options import Options

HEALTHY = "no disease"
HEART = ssba.datasets.load_heart()
MODELS = {
    "MLP": MLPClassifier(hidden_layer_sizes=(16,), alpha=1.0, max_iter=2000, random_state=0),
    "forest": RandomForestClassifier(50, random_state=0),
    "SVC": SVC(),
    "logistic": LogisticRegression(max_iter=2000),
}
# Among these are, for every model, patients with a counterfactual and patients with a bounded move only.
PLACES = [0, 2, 6, 10, 11, 13]

LEVERS = {"trestbps": (-20, 0), "chol": (-20, 0), "thalach": (0, 10), "oldpeak": (-100, 0)}
"""By how many percent of today's value a finding may move, down and up; the rules of the demo."""


def rules() -> list[ssba.Constraint]:
    """What is no lever is held, but for chest pain, which may go."""
    held = [ssba.fixed(name) for name in HEART.columns if name not in (*LEVERS, "exang")]
    one_way = [ssba.decrease(name) if down else ssba.increase(name) for name, (down, _) in LEVERS.items()]
    near = [ssba.within(name, percent=max(-down, up)) for name, (down, up) in LEVERS.items()]
    return [*held, *one_way, *near, ssba.transition("exang", {"yes": ["no"]})]


def context_of(
    explainer: ssba.Explainer, row: Any, constraints: Sequence[Any] = (), **request: Any
) -> Context:
    engine = explainer._engine
    given = constraint_list(constraints, engine.space.by_name)
    return Context(engine, engine.space.encode_row(row), given, Options(**request))


@dataclass(frozen=True)
class Patient:
    """One explained patient; `z` is the counterfactual, or else the bounded move."""

    model: Any
    context: Context
    explanation: ssba.results.Explanation
    z: Matrix


@cache
def patients(name: str) -> tuple[Patient, ...]:
    """Some held-out patients whom a model takes for ill, explained under the rules."""
    train, held_out, diagnosis, _ = train_test_split(
        HEART.frame, HEART.target, test_size=0.25, random_state=0, stratify=HEART.target
    )
    model = make_pipeline(_prepare(), MODELS[name]).fit(train, diagnosis)
    features = {column: _declared(column) for column in HEART.columns}
    explainer = ssba.Explainer(model, train, HEALTHY, features=features)
    ill: pd.DataFrame = held_out[model.predict(held_out) != HEALTHY].iloc[PLACES]
    found = explainer.explain_many(ill, rules(), budget=ssba.Budget(rows=600), progress=False)
    return tuple(
        Patient(model, context, one, context.encode(move.values))
        for row, one in zip(ill.to_dict("records"), found, strict=True)
        if (context := context_of(explainer, row, rules())) and (move := one.best or one.bounded)
    )


def _prepare() -> Any:
    texts = [name for name, column in HEART.columns.items() if column.kind == "categorical"]
    numbers = [name for name in HEART.columns if name not in texts]
    one_hot = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_column_transformer((one_hot, texts), (scaled, numbers))


def _declared(name: str) -> Any:
    column = HEART.columns[name]
    if column.kind == "categorical":
        return ssba.categorical(column.values)
    return ssba.integer() if column.kind == "integer" else ssba.numeric(step=0.1)
