"""Classifiers and regressors with `predict` answer through `adapt` as they do themselves."""

import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from catboost import CatBoostClassifier, CatBoostRegressor
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ssba.models.model import adapt

Floats = NDArray[np.float64]

_rng = np.random.default_rng(7)
X = _rng.normal(size=(60, 3))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.6, "ill", "well")
THREE = np.digitize(X[:, 0] - X[:, 2], [-0.7, 0.7]) + 10
NUMBERS = X @ np.array([3.0, -2.0, 1.0])

BOOSTING: dict[str, Any] = {"n_estimators": 5, "max_depth": 2, "n_jobs": 1}
CATBOOST = {"iterations": 4, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "rbf svc": SVC,
    "poly svc": lambda: SVC(kernel="poly", degree=2, C=10),
    "mlp": lambda: MLPClassifier((8,), max_iter=60, solver="lbfgs", random_state=0),
    "forest": lambda: RandomForestClassifier(5, random_state=0, n_jobs=1),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=3),
    "neighbours": lambda: KNeighborsClassifier(3, algorithm="brute"),  # a tree counts its queries
    "ridge": RidgeClassifier,
    "scaled logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "lightgbm": lambda: lightgbm.LGBMClassifier(**BOOSTING, verbosity=-1, min_child_samples=2),
    "catboost": lambda: CatBoostClassifier(**CATBOOST),
}
WITHOUT_PROBABILITIES = {"rbf svc", "poly svc", "ridge"}


@cache
def fitted(name: str, many: bool = False) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data: some do not converge, which does not matter here
        return CLASSIFIERS[name]().fit(X, THREE if many else TWO)


def as_the_model_says(model: Any, rows: Any) -> list[Any]:
    return list(np.asarray(model.predict(rows)).ravel().tolist())


@pytest.mark.parametrize("many", [False, True], ids=["two classes", "three classes"])
@pytest.mark.parametrize("name", CLASSIFIERS)
class TestClassifiersWithPredict:
    def test_all_three_questions_give_the_labels_of_predict(self, name: str, many: bool) -> None:
        model = fitted(name, many)
        adapted = adapt(model, X)
        for ask in (adapted.labels, adapted.output, adapted.verdict):
            labels = ask(X).labels
            assert labels is not None
            assert labels.tolist() == as_the_model_says(model, X)

    def test_scores_have_a_column_per_class_and_the_highest_is_the_label(self, name: str, many: bool) -> None:
        adapted = adapt(fitted(name, many), X)
        output = adapted.output(X)
        assert adapted.has_scores
        assert adapted.classes == ((10, 11, 12) if many else ("ill", "well"))
        assert output.scores is not None
        assert output.labels is not None
        assert [adapted.classes[i] for i in output.scores.argmax(axis=1)] == output.labels.tolist()
        assert adapted.labels(X).scores is None

    def test_probabilities_are_recognised(self, name: str, many: bool) -> None:
        assert adapt(fitted(name, many), X).gives_probabilities == (name not in WITHOUT_PROBABILITIES)

    def test_the_model_is_not_changed(self, name: str, many: bool) -> None:
        model = fitted(name, many)
        before = pickle.dumps(model)
        adapt(model, X).verdict(X)
        assert pickle.dumps(model) == before

    def test_one_row_is_answered_like_many(self, name: str, many: bool) -> None:
        adapted = adapt(fitted(name, many), X)
        one = adapted.output(X[:1]).labels
        assert one is not None
        assert one.tolist() == as_the_model_says(fitted(name, many), X)[:1]


class TestClassifiersWithRulesOfTheirOwn:
    def svc_with_probability(self) -> Any:
        with pytest.warns(FutureWarning, match="probability"):
            return SVC(probability=True, random_state=2).fit(X[:20], TWO[:20])

    def test_an_svc_whose_probabilities_disagree_with_predict_is_scored_by_its_decision(self) -> None:
        model = self.svc_with_probability()
        assert (model.classes_[model.predict_proba(X).argmax(axis=1)] != model.predict(X)).any()
        adapted = adapt(model, X)
        assert adapted.has_scores
        assert not adapted.gives_probabilities
        scores = adapted.verdict(X).scores
        assert scores is not None
        np.testing.assert_array_equal(scores[:, 1], model.decision_function(X))
        np.testing.assert_array_equal(scores[:, 0], -model.decision_function(X))

    def test_asked_for_probabilities_it_gives_them_without_inventing_labels(self) -> None:
        model = self.svc_with_probability()
        adapted = adapt(model, X, wants_probabilities=True)
        output = adapted.output(X)
        assert adapted.gives_probabilities
        assert adapted.has_scores
        assert output.labels is None
        np.testing.assert_array_equal(output.scores, model.predict_proba(X))
        labels = adapted.verdict(X).labels
        assert labels is not None
        assert labels.tolist() == model.predict(X).tolist()

    def test_a_shifted_threshold_leaves_labels_only_to_the_search(self) -> None:
        model = FixedThresholdClassifier(fitted("logistic"), threshold=0.9, pos_label="well").fit(X, TWO)
        adapted = adapt(model, X)
        assert not adapted.has_scores
        assert adapted.output(X).scores is None
        np.testing.assert_array_equal(adapted.output(X).labels, model.predict(X))
        assert adapted.verdict(X).scores is not None

    def test_one_against_one_votes_are_not_taken_for_class_scores(self) -> None:
        four = np.digitize(X[:, 0], [-0.7, 0.0, 0.7])
        adapted = adapt(SVC(decision_function_shape="ovo").fit(X, four), X)
        assert adapted.classes == (0, 1, 2, 3)
        assert not adapted.has_scores

    def test_clusters_and_outlier_detectors_have_the_classes_they_predict(self) -> None:
        assert adapt(KMeans(3, n_init=1, random_state=0).fit(X), X).classes == (0, 1, 2)
        outliers = adapt(IsolationForest(n_estimators=10, random_state=0, n_jobs=1).fit(X), X)
        assert outliers.classes == (-1, 1)

    def test_boolean_classes_stay_booleans(self) -> None:
        assert adapt(LogisticRegression().fit(X, X[:, 0] > 0), X).classes == (False, True)

    def test_labels_spoken_as_text_are_turned_into_the_declared_classes(self) -> None:
        class Spoken:
            classes_ = np.array([False, True])

            def predict(self, rows: Floats) -> NDArray[np.str_]:
                return np.array([[str(cell > 0)] for cell in rows[:, 0]])

        adapted = adapt(Spoken(), X)
        np.testing.assert_array_equal(adapted.labels(X).labels, X[:, 0] > 0)

    def test_predict_proba_in_name_only_is_no_score(self) -> None:
        class Shy:
            classes_ = np.array([0, 1])

            def predict(self, rows: Floats) -> NDArray[np.int64]:
                return (rows[:, 0] > 0).astype(np.int64)

            def predict_proba(self, rows: Floats) -> Floats:
                raise NotImplementedError

        assert not adapt(Shy(), X).has_scores

    def test_probabilities_of_class_1_in_one_column_are_completed(self) -> None:
        class OneColumn:
            classes_ = np.array(["no", "yes"])

            def predict(self, rows: Floats) -> NDArray[np.str_]:
                return np.where(self.predict_proba(rows) > 0.5, "yes", "no")

            def predict_proba(self, rows: Floats) -> Floats:
                return 1 / (1 + np.exp(-rows[:, 0]))

        scores = adapt(OneColumn(), X).output(X).scores
        assert scores is not None
        np.testing.assert_allclose(scores.sum(axis=1), 1.0)


class TestXGBoost:
    def test_it_answers_like_its_predict_and_probabilities(self) -> None:
        for target in ((THREE > 10).astype(int), THREE - 10):
            model = xgboost.XGBClassifier(**BOOSTING).fit(X, target)
            before = model.get_booster().save_raw()
            adapted = adapt(model, X)
            output = adapted.output(X)
            assert adapted.classes == tuple(range(target.max() + 1))
            assert adapted.gives_probabilities
            np.testing.assert_array_equal(output.labels, model.predict(X))
            assert model.get_booster().save_raw() == before


class TestRegressors:
    @pytest.mark.parametrize(
        "make",
        [
            LinearRegression,
            lambda: make_pipeline(StandardScaler(), LinearRegression()),
            lambda: xgboost.XGBRegressor(**BOOSTING),
            lambda: lightgbm.LGBMRegressor(**BOOSTING, verbosity=-1),
            lambda: CatBoostRegressor(**CATBOOST),
        ],
    )
    @pytest.mark.parametrize("wants_numbers", [False, True])
    def test_every_question_gives_the_numbers_of_predict(
        self, make: Callable[[], Any], wants_numbers: bool
    ) -> None:
        model = make().fit(X, NUMBERS)
        adapted = adapt(model, X, wants_numbers=wants_numbers)
        assert adapted.classes is None
        assert not adapted.has_scores
        for ask in (adapted.labels, adapted.output, adapted.verdict):
            output = ask(X)
            assert output.labels is None
            assert output.values is not None
            assert output.values.dtype == np.float64
            np.testing.assert_array_equal(output.values, model.predict(X))

    def test_a_regressor_of_values_within_0_and_1_is_not_taken_for_a_classifier(self) -> None:
        assert adapt(LinearRegression().fit(X, NUMBERS * 0 + 0.5), X).classes is None

    def test_a_model_without_tags_or_classes_gives_numbers_when_they_are_no_probabilities(self) -> None:
        class Bare:
            def predict(self, rows: Floats) -> Floats:
                return 100 * rows[:, 0]

        assert adapt(Bare(), X).classes is None
