"""Models inside others: what decides is opened, exactly, and what bends the decision keeps a model closed."""

from collections.abc import Callable
from typing import Any

import catboost
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.support import setting
from tests.whitebox.worlds import World, check

from ssba.models.model import adapt
from ssba.models.targets import Goal, Leave, Probability, Reach
from ssba.whitebox.additive import Additive
from ssba.whitebox.exact import nearest_exact
from ssba.whitebox.read_model import Closed, Opened, open_model

RANDOM = np.random.default_rng(0)
DATA = pd.DataFrame(RANDOM.integers(0, 6, (200, 3)), columns=["a", "b", "c"])
SUM = DATA["a"] + DATA["b"] - DATA["c"] + RANDOM.normal(size=200)
TWO = (SUM > 4).astype(int)
THREE = np.digitize(SUM, [2, 5])
BOOSTING = GradientBoostingClassifier(n_estimators=5, random_state=0)
FOREST = RandomForestClassifier(5, random_state=0)


def opened(model: Any, y: Any = TWO, goal: Goal | None = None) -> tuple[Any, Opened | Closed]:
    fitted = model.fit(DATA, y)
    made = setting(DATA)
    adapted = adapt(fitted, DATA, wants_probabilities=isinstance(goal, Probability))
    return (made, adapted), open_model(fitted, adapted, made.space, made.Z)


def prove(model: Any, y: Any, goals: tuple[Goal, ...]) -> None:
    """What is proved is the nearest of all rows, and it is proved nearly always."""
    proved = []
    for goal in goals:
        (made, adapted), found = opened(model, y, goal)
        assert not isinstance(found, Closed), found
        one = World(made, adapted, found)
        for query in DATA[~one.reached(goal, made.Z)].to_numpy()[:8]:
            region = made.region(query)
            question, limit = one.question(goal, region), one.limit(goal, region)
            answer = nearest_exact(found, question)
            check(answer, question, limit)
            proved.append(answer.proved)
    assert len(proved) >= 8
    assert np.mean(proved) > 0.9


SEARCHES: dict[str, Callable[[], Any]] = {
    "a grid": lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "draws": lambda: RandomizedSearchCV(FOREST, {"max_depth": [2, 3]}, n_iter=2, cv=2, random_state=0),
    "halving": lambda: HalvingGridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [2, 4]}, cv=2, random_state=0
    ),
    "a grid of pipelines": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=2
    ),
    "a grid in a pipeline": lambda: make_pipeline(
        StandardScaler(), GridSearchCV(FOREST, {"max_depth": [2, 3]}, cv=2)
    ),
    "a frozen model": lambda: FrozenEstimator(LogisticRegression().fit(DATA, TWO)),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_what_a_search_for_settings_chose_is_opened(name: str) -> None:
    prove(SEARCHES[name](), TWO, (Reach(0), Reach(1)))


INNER: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "ridge, by its decision": RidgeClassifier(),
    "forest": FOREST,
    "pure forest": RandomForestClassifier(4, random_state=0),
    "boosting": BOOSTING,
    "xgboost": xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1),
    "searched": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
}


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("name", INNER)
def test_a_threshold_of_its_own_is_part_of_the_decision(name: str, positive: int) -> None:
    for threshold in (0.25, 0.8):
        model = FixedThresholdClassifier(INNER[name], threshold=threshold, pos_label=positive)
        prove(model, TWO, (Reach(0), Reach(1)))


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_a_share_of_votes_just_at_the_threshold_passes_it(share: float) -> None:
    """Of four pure trees shares are quarters, so that rows at the threshold itself occur."""
    model = FixedThresholdClassifier(RandomForestClassifier(4, random_state=0), threshold=share)
    at = model.fit(DATA, TWO).predict_proba(DATA)[:, 1] == share
    assert at.any()
    prove(model, TWO, (Reach(0), Reach(1), Leave(1)))


@pytest.mark.parametrize("response", ["predict_proba", "decision_function"])
def test_a_tuned_threshold_is_part_of_the_decision(response: str) -> None:
    model = TunedThresholdClassifierCV(LogisticRegression(), response_method=response, cv=3, random_state=0)
    prove(model, TWO, (Reach(0), Reach(1)))


def test_the_threshold_of_catboost_is_part_of_the_decision() -> None:
    model = catboost.CatBoostClassifier(
        iterations=5, depth=3, verbose=0, thread_count=1, allow_writing_files=False
    )
    model.fit(DATA, TWO)
    model.set_probability_threshold(0.3)
    made = setting(DATA)
    adapted = adapt(model, DATA)
    found = open_model(model, adapted, made.space, made.Z)
    assert not isinstance(found, Closed)
    assert found.scoring.threshold is not None
    one = World(made, adapted, found)
    for query in DATA[~one.reached(Reach(1), made.Z)].to_numpy()[:5]:
        region = made.region(query)
        question, limit = one.question(Reach(1), region), one.limit(Reach(1), region)
        check(nearest_exact(found, question), question, limit)


ONE_VS_REST: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "linear SVC": SVC(kernel="linear"),
    "searched": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": FOREST,
    "boosting": BOOSTING,
    "histogram boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
}


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_one_model_a_class_is_opened(name: str) -> None:
    prove(OneVsRestClassifier(ONE_VS_REST[name]), THREE, (Reach(1), Leave(0)))
    prove(OneVsRestClassifier(ONE_VS_REST[name]), TWO, (Reach(0), Reach(1)))


def test_steps_before_one_model_a_class_are_read() -> None:
    (_, found) = opened(make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())), THREE)
    assert isinstance(found, Additive)
    assert found.scoring.columns == 3


CLOSED: dict[str, tuple[Any, str]] = {
    "a network": (
        MLPClassifier((3,), max_iter=5),
        "MLPClassifier is neither a linear model nor trees that can be opened",
    ),
    "votes of pairs": (
        OneVsOneClassifier(LogisticRegression()),
        "OneVsOneClassifier is neither a linear model nor trees that can be opened",
    ),
    "a search over networks": (
        GridSearchCV(MLPClassifier((3,), max_iter=5), {"alpha": [0.1]}, cv=2),
        "MLPClassifier is neither a linear model nor trees that can be opened",
    ),
    "calibration": (
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        "CalibratedClassifierCV bends the scores of the model inside it and cannot be opened",
    ),
    "a threshold on bent scores": (
        FixedThresholdClassifier(CalibratedClassifierCV(LogisticRegression(), cv=2), threshold=0.3),
        "CalibratedClassifierCV bends the scores of the model inside it and cannot be opened",
    ),
    "a threshold at an end": (
        FixedThresholdClassifier(LogisticRegression(), threshold=0.0),
        "it decides by a threshold of its own, and no raw score has a probability of 0",
    ),
    "probabilities that tie": (
        OneVsRestClassifier(xgboost.XGBClassifier(n_estimators=3, n_jobs=1)),
        "OneVsRestClassifier of XGBClassifier cannot be opened",
    ),
    "a pipeline a class": (
        OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
        "the estimators in OneVsRestClassifier are pipelines; put their steps in front of it",
    ),
    "a step that is not known": (
        make_pipeline(PolynomialFeatures(), FOREST),
        "the step PolynomialFeatures in the pipeline is not one that can be read",
    ),
    "a curved kernel": (SVC(), "SVC is opened with a linear kernel and two classes only"),
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("name", CLOSED)
def test_what_stays_closed_says_why(name: str) -> None:
    model, reason = CLOSED[name]
    _, found = opened(model)
    assert found == Closed(reason)
