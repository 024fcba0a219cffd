"""A twin of every known kind answers as its original does, in 64 and in 32 bits."""

import warnings
from copy import deepcopy
from typing import Any

import lightgbm
import numpy as np
import pytest
import torch
import xgboost
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ssba
from ssba.models.answers import first_highest

Floats = NDArray[np.float64]

_rng = np.random.default_rng(3)
X = _rng.normal(size=(240, 4))
FRESH = 1.5 * _rng.normal(size=(500, 4))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "ill", "well")
THREE = np.digitize(X[:, 0] - X[:, 2] + X[:, 3] ** 2, [0.2, 1.5]) + 10
NUMBERS = X @ np.array([3.0, -2.0, 1.0, 0.5]) + X[:, 0] * X[:, 1]

CLASSIFIERS = [
    LogisticRegression(),
    LinearDiscriminantAnalysis(),
    LinearSVC(),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    SGDClassifier(loss="modified_huber", random_state=0),
    RidgeClassifier(),
    Perceptron(),
    SVC(kernel="linear"),
    SVC(kernel="poly", degree=2, coef0=0.5),
    SVC(kernel="rbf"),
    SVC(kernel="rbf", break_ties=True),
    SVC(kernel="sigmoid"),
    NuSVC(nu=0.2),
    MLPClassifier((8,), max_iter=60, random_state=0),
    MLPClassifier((6, 4), activation="tanh", max_iter=60, random_state=0),
    MLPClassifier((6,), activation="logistic", max_iter=60, random_state=0),
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(12, random_state=0),
    ExtraTreesClassifier(12, max_depth=4, random_state=0),
    GradientBoostingClassifier(n_estimators=8, random_state=0),
    HistGradientBoostingClassifier(max_iter=8),
    lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
]
REGRESSORS = [
    LinearRegression(),
    Ridge(),
    Lasso(0.1),
    LinearSVR(),
    SVR(kernel="poly"),
    SVR(),
    NuSVR(),
    MLPRegressor(hidden_layer_sizes=(8,), max_iter=60, random_state=0),
    DecisionTreeRegressor(random_state=0),
    RandomForestRegressor(12, random_state=0),
    ExtraTreesRegressor(12, max_depth=4, random_state=0),
    GradientBoostingRegressor(n_estimators=8, random_state=0),
    HistGradientBoostingRegressor(max_iter=8),
    lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, n_jobs=1),
    xgboost.XGBRegressor(n_estimators=8, n_jobs=1),
    xgboost.XGBRFRegressor(n_estimators=8, n_jobs=1),
]


def fitted(estimator: Any, target: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations, deprecated settings
        return clone(estimator).fit(X, target)


def answers(twin: Any, rows: Floats) -> Floats:
    return np.asarray(twin(torch.tensor(rows)).double().numpy())


def own_scores(twin: Any, rows: Floats) -> Floats:
    scores = np.asarray(getattr(twin.original, twin.method)(rows), dtype=np.float64)
    return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1)


def labels(twin: Any, rows: Floats) -> Any:
    return np.asarray(twin.classes)[first_highest(answers(twin, rows))]


def named(estimator: Any) -> str:
    return str(estimator).replace(" ", "")


@pytest.fixture(scope="module", params=[TWO, THREE], ids=["two", "three"])
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module", params=CLASSIFIERS, ids=named)
def twin(request: pytest.FixtureRequest, target: Any) -> Any:
    return ssba.to_torch(fitted(request.param, target), X)


class TestClassifiers:
    def test_labels_of_fresh_rows_are_the_originals(self, twin: Any) -> None:
        np.testing.assert_array_equal(labels(twin, FRESH), twin.original.predict(FRESH))
        assert twin.classes == tuple(twin.original.classes_.tolist())
        assert twin.agreement.differing == twin.agreement.near_differing == 0
        assert twin.agreement.near_rows > 0

    def test_scores_of_fresh_rows_are_the_originals(self, twin: Any) -> None:
        own, scores = own_scores(twin, FRESH), answers(twin, FRESH)
        # Where votes tie, SVC's decisions contradict its label; there the twin lifts the label's score.
        untied = np.asarray(twin.classes)[first_highest(own)] == twin.original.predict(FRESH)
        assert untied.mean() > 0.9
        size = max(1, np.abs(own).max())
        np.testing.assert_allclose(scores[untied], own[untied], rtol=0, atol=1e-11 * size)

    def test_32_bits_are_nearly_as_good(self, twin: Any) -> None:
        single = deepcopy(twin).to(torch.float32)
        assert single.dtype == single(torch.tensor(FRESH)).dtype == torch.float32
        assert (labels(single, FRESH) != twin.original.predict(FRESH)).sum() <= 1


@pytest.mark.parametrize("estimator", REGRESSORS, ids=named)
def test_numbers_of_fresh_rows_are_the_originals(estimator: Any) -> None:
    twin = ssba.to_torch(fitted(estimator, NUMBERS), X)
    assert twin.classes is None
    own = twin.original.predict(FRESH)
    # XGBoost adds up in 32 bits.
    off = 1e-5 if "xgboost" in type(estimator).__module__ else 1e-11
    np.testing.assert_allclose(answers(twin, FRESH), own, rtol=0, atol=off * np.abs(own).max())
    assert twin.agreement.differing == twin.agreement.near_differing == 0


@pytest.mark.parametrize("kind", [xgboost.XGBClassifier, xgboost.XGBRFClassifier])
def test_xgboosts_classifiers(kind: Any, target: Any) -> None:
    codes = np.unique(target, return_inverse=True)[1]
    model = kind(n_estimators=8, n_jobs=1).fit(X, codes)
    twin = ssba.to_torch(model, X)
    np.testing.assert_array_equal(first_highest(answers(twin, FRESH)), model.predict(FRESH))
    np.testing.assert_allclose(answers(twin, FRESH), model.predict_proba(FRESH), rtol=0, atol=1e-6)


def test_early_stopping_leaves_the_same_trees_out() -> None:
    codes = np.unique(TWO, return_inverse=True)[1]
    model = xgboost.XGBClassifier(n_estimators=60, n_jobs=1, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(X[:160], codes[:160], eval_set=[(X[160:], codes[160:])], verbose=False)
    assert model.best_iteration < 50
    twin = ssba.to_torch(model, X)
    np.testing.assert_allclose(answers(twin, FRESH), model.predict_proba(FRESH), rtol=0, atol=1e-6)


class TestBoosters:
    """Boosters know no classes: of two there is a probability, of three a column each."""

    @pytest.mark.parametrize(("labels", "classes"), [(TWO, (0, 1)), (THREE, (0, 1, 2))])
    def test_xgboosts_own(self, labels: Any, classes: tuple[int, ...]) -> None:
        codes = np.unique(labels, return_inverse=True)[1]
        several = {"objective": "multi:softprob", "num_class": 3}
        settings = several if len(classes) == 3 else {"objective": "binary:logistic"}
        booster = xgboost.train(settings | {"nthread": 1}, xgboost.DMatrix(X, codes), 8)
        twin = ssba.to_torch(booster, X)
        assert twin.classes == classes
        own = booster.inplace_predict(FRESH)
        np.testing.assert_allclose(_columns(own), answers(twin, FRESH), rtol=0, atol=1e-6)

    @pytest.mark.parametrize(("labels", "classes"), [(TWO, (0, 1)), (THREE, (0, 1, 2))])
    def test_lightgbms_own(self, labels: Any, classes: tuple[int, ...]) -> None:
        codes = np.unique(labels, return_inverse=True)[1]
        several = {"objective": "multiclass", "num_class": 3}
        settings = several if len(classes) == 3 else {"objective": "binary", "sigmoid": 2.0}
        booster = lightgbm.train(
            settings | {"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, codes), num_boost_round=8
        )
        twin = ssba.to_torch(booster, X)
        assert twin.classes == classes
        np.testing.assert_allclose(_columns(booster.predict(FRESH)), answers(twin, FRESH), rtol=0, atol=1e-12)

    def test_numbers(self) -> None:
        booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, NUMBERS), 8)
        twin = ssba.to_torch(booster, X)
        assert twin.classes is None
        np.testing.assert_allclose(booster.inplace_predict(FRESH), answers(twin, FRESH), rtol=0, atol=1e-4)


def _columns(answer: Any) -> Floats:
    return np.asarray(answer if answer.ndim == 2 else np.stack([1 - answer, answer], axis=1))


def test_losses_that_bend_the_sums_otherwise() -> None:
    models: list[Any] = [
        GradientBoostingClassifier(n_estimators=8, loss="exponential", random_state=0),
        lightgbm.LGBMClassifier(n_estimators=8, sigmoid=3.0, verbose=-1, n_jobs=1),
    ]
    for model in models:
        twin = ssba.to_torch(model.fit(X, TWO), X)
        np.testing.assert_allclose(answers(twin, FRESH), model.predict_proba(FRESH), rtol=0, atol=1e-12)


def test_a_model_trained_on_sparse_rows() -> None:
    model = SVC(kernel="rbf").fit(csr_matrix(X), THREE)
    twin = ssba.to_torch(model, X)
    np.testing.assert_array_equal(labels(twin, FRESH), model.predict(FRESH))


def test_a_search_for_settings_is_the_estimator_that_it_found() -> None:
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 5]}, cv=2).fit(X, TWO)
    twin = ssba.to_torch(search, X)
    assert twin.original is search
    np.testing.assert_allclose(answers(twin, FRESH), search.predict_proba(FRESH), rtol=0, atol=1e-15)
