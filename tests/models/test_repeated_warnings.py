"""A warning of scikit-learn that each call repeats is shown once, unless the user wants it otherwise."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ssba
from ssba.errors import ModelError

ARRAY = np.random.default_rng(0).normal(size=(200, 3))
FRAME = pd.DataFrame(ARRAY, columns=["a", "b", "c"])
Y = ARRAY[:, 0] > 0.5
MODELS = [
    KNeighborsClassifier(),
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1, 2]}, cv=2
    ),
]


def shown(fitted_on: Any, rows: Any, model: Any, rule: str | None = None) -> list[str]:
    """Return the warnings of an explainer and its answers, under the usual rules for warnings, or another."""
    trained = model.fit(fitted_on, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        if rule is not None:
            warnings.simplefilter(rule)  # type: ignore[arg-type]
        ssba.Explainer(trained, rows, target=True).explain_many(rows[:5])
    # Without any rules scikit-learn warns of its own use of joblib, too.
    return [str(one.message) for one in caught if "feature names" in str(one.message)]


@pytest.mark.parametrize("model", MODELS, ids=["alone", "pipeline", "search"])
def test_it_is_shown_once(model: Any) -> None:
    (said,) = shown(ARRAY, FRAME, model)
    assert said.startswith("X has feature names, but ")
    (said,) = shown(FRAME, ARRAY, model)
    assert said.startswith("X does not have valid feature names, but ")


def test_nothing_is_changed_where_the_model_gets_what_it_was_fitted_on() -> None:
    for rows in (ARRAY, FRAME):
        before = list(warnings.filters)
        ssba.Explainer(KNeighborsClassifier().fit(rows, Y), rows, target=True)
        assert warnings.filters == before


def test_rules_of_the_user_hold() -> None:
    assert len(shown(ARRAY, FRAME, KNeighborsClassifier(), "always")) > 10
    assert shown(ARRAY, FRAME, KNeighborsClassifier(), "ignore") == []
    with pytest.raises(ModelError, match="raised UserWarning: X has feature names"):
        shown(ARRAY, FRAME, KNeighborsClassifier(), "error")


def test_other_models_and_other_warnings_are_still_heard() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        ssba.Explainer(KNeighborsClassifier().fit(ARRAY, Y), FRAME, target=True)
        LogisticRegression().fit(ARRAY, Y).predict(FRAME)
        warnings.warn("something else", UserWarning, stacklevel=1)
    said = [str(one.message) for one in caught if "joblib" not in str(one.message)]
    about = "X has feature names, but {} was fitted without feature names"
    assert said == [
        about.format("KNeighborsClassifier"),
        about.format("LogisticRegression"),
        "something else",
    ]
