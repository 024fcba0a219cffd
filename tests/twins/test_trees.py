"""Trees of all libraries send rows the same way as their originals, on thresholds and beside them."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pytest
import torch
import xgboost
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import ssba
from ssba.twins import layers
from ssba.whitebox.tree_readers import read_trees

Floats = NDArray[np.float64]

_rng = np.random.default_rng(5)
X = _rng.normal(size=(300, 3))
Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0.2).astype(int)
GAPS = np.where(_rng.random(X.shape) < 0.15, np.nan, X)

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(8, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=6, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=6),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=6, n_jobs=1),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=6, verbose=-1, n_jobs=1),
}


def on_thresholds(model: Any, dtype: type) -> Floats:
    """Rows whose cells are thresholds of their column, and the floats of a dtype next to them."""
    nodes = read_trees(model, lambda: X).nodes
    split = nodes.left >= 0
    columns = []
    for j in range(X.shape[1]):
        cuts = nodes.threshold[split & (nodes.feature == j)].astype(dtype)
        sides = [np.nextafter(cuts, dtype(-np.inf)), cuts, np.nextafter(cuts, dtype(np.inf))]
        columns.append(_rng.choice(np.concatenate(sides), 2000))
    return np.stack(columns, axis=1).astype(np.float64)


def shares(twin: Any, rows: Floats) -> Floats:
    return np.asarray(twin(torch.tensor(rows)).double().numpy())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_cells_on_thresholds_and_next_to_them_go_the_same_way(kind: str, dtype: type) -> None:
    model = ESTIMATORS[kind]().fit(X, Y)
    rows = on_thresholds(model, dtype)
    twin = ssba.to_torch(model, X)
    np.testing.assert_allclose(shares(twin, rows), model.predict_proba(rows), rtol=0, atol=3e-7)
    # The leaves of this data are far enough apart for a wrong turn to show.
    assert np.abs(np.diff(np.unique(model.predict_proba(X)[:, 1].round(6)))).max() > 1e-4


@pytest.mark.parametrize("kind", ["histogram", "lightgbm", "forest"])
def test_a_module_that_is_moved_to_32_bits_keeps_its_thresholds(kind: str) -> None:
    model = ESTIMATORS[kind]().fit(X, Y)
    twin = ssba.to_torch(model, X).to(torch.float32)
    rows = on_thresholds(model, np.float64)
    np.testing.assert_allclose(shares(twin, rows), model.predict_proba(rows), rtol=0, atol=3e-7)


@pytest.mark.parametrize("kind", ["tree", "forest", "histogram", "xgboost", "lightgbm"])
def test_missing_cells_go_the_same_way(kind: str) -> None:
    model = ESTIMATORS[kind]().fit(GAPS, Y)
    twin = ssba.to_torch(model, GAPS)
    fresh = np.where(_rng.random((500, 3)) < 0.3, np.nan, _rng.normal(size=(500, 3)))
    np.testing.assert_allclose(shares(twin, fresh), model.predict_proba(fresh), rtol=0, atol=3e-7)


@pytest.mark.parametrize("kind", ["histogram", "xgboost", "lightgbm"])
def test_missing_cells_that_training_never_saw(kind: str) -> None:
    model = ESTIMATORS[kind]().fit(X, Y)
    twin = ssba.to_torch(model, X)
    np.testing.assert_allclose(shares(twin, GAPS), model.predict_proba(GAPS), rtol=0, atol=3e-7)


def test_lightgbm_takes_tiny_numbers_for_zero() -> None:
    whole = np.round(X)
    model = ESTIMATORS["lightgbm"]().fit(whole, Y)
    twin = ssba.to_torch(model, whole)
    # The largest of them is where it splits zero from numbers below; one further away is below.
    largest = float(np.float32(1e-35))
    tiny = _rng.choice([largest, -largest, -2 * largest, 1e-36, -1e-20], whole.shape)
    rows = np.where(whole == 0, tiny, whole)
    np.testing.assert_allclose(shares(twin, rows), model.predict_proba(rows), rtol=0, atol=1e-12)


def test_memory_is_bounded_by_walking_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ESTIMATORS["forest"]().fit(X, Y)
    twin = ssba.to_torch(model, X)
    at_once = shares(twin, X)
    monkeypatch.setattr(layers, "_CPU_CELLS", 8 * 2 * 7)
    parts = list(layers.parts_of(torch.tensor(X), 8 * 2))
    assert [len(part) for part in parts] == [7] * 42 + [6]
    np.testing.assert_array_equal(shares(twin, X), at_once)


def test_no_rows_have_no_answers() -> None:
    twin = ssba.to_torch(ESTIMATORS["forest"]().fit(X, Y), X)
    assert twin(torch.empty(0, 3)).shape == (0, 2)


def test_a_tree_without_splits() -> None:
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=1000).fit(X, X[:, 0])
    twin = ssba.to_torch(model, X)
    np.testing.assert_allclose(shares(twin, X), model.predict(X), rtol=0, atol=1e-15)
