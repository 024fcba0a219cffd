"""The heart case of the paper: five free findings within 20%, everything else fixed.

Filtering stored boundary points answers none of these queries. Here every reachable one is answered;
what is reachable is found by brute force.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import ssba

FREE = ("trestbps", "chol", "thalach", "oldpeak", "ca")
DRAWS = 20_000


def numeric_heart() -> tuple[Any, Any, list[str]]:
    """The 297 complete patients, categories as numbers in the order of their description."""
    heart = ssba.datasets.load_heart()
    complete = ~heart.frame.isna().any(axis=1)
    columns = [
        heart.frame.loc[complete, name].map(column.values.index).astype(float)
        if column.values
        else heart.frame.loc[complete, name].astype(float)
        for name, column in heart.columns.items()
    ]
    return np.stack(columns, axis=1), (heart.target[complete] == "disease").to_numpy(), list(heart.columns)


X, DISEASE, NAMES = numeric_heart()
PLACES = [NAMES.index(name) for name in FREE]
MODELS = {
    "poly SVC": SVC(kernel="poly", C=10, degree=2),
    "MLP": make_pipeline(
        StandardScaler(), MLPClassifier((16, 8), solver="lbfgs", alpha=10.0, max_iter=3000, random_state=0)
    ),
}


def rules() -> list[ssba.Constraint]:
    free = [ssba.within(f"x{place}", percent=20) for place in PLACES]
    return free + [ssba.fixed(f"x{place}") for place in range(len(NAMES)) if place not in PLACES]


def reachable(model: Any, query: Any) -> bool:
    """Whether any of many rows of the box flips: random ones, and every corner and middle."""
    rng = np.random.default_rng(0)
    shares = rng.uniform(-1, 1, size=(DRAWS, 5))
    grid = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 5), axis=-1).reshape(-1, 5)
    shares = np.concatenate([shares, np.sign(shares[:2000]), grid])
    rows = np.repeat(query[None, :], len(shares), axis=0)
    rows[:, PLACES] = query[PLACES] + 0.2 * np.abs(query[PLACES]) * shares
    return bool((~model.predict(rows)).any())


@pytest.mark.parametrize("name", MODELS)
def test_every_reachable_patient_gets_an_answer(name: str) -> None:
    model = MODELS[name].fit(X, DISEASE)
    # Continuous, as in the paper, though the data are whole numbers.
    continuous = {f"x{place}": ssba.numeric() for place in PLACES}
    explainer = ssba.Explainer(model, X, target=False, features=continuous)
    queries = X[model.predict(X)][:70]
    explanations = explainer.explain_many(queries, rules(), budget=ssba.Budget(rows=2000))
    found = 0
    for query, explanation in zip(queries, explanations, strict=True):
        if explanation.best is None:
            assert explanation.status in {"bounded", "out_of_budget"}
            assert not reachable(model, query)
            continue
        found += 1
        row = np.array(list(explanation.best.values.values()))
        moved = np.flatnonzero(row != query)
        assert set(moved) <= set(PLACES)
        assert (np.abs(row - query) <= 0.2 * np.abs(query) * (1 + 1e-12)).all()
        assert not model.predict(row[None, :])[0]
    # Neither none nor all: both kinds of patients are in this test.
    assert 10 <= found < len(queries)
