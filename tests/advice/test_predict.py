"""Predictions: the model's own word on rows, and whether it is the target."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.problems import half_space
from tests.support import every

import ssba
from ssba.errors import SchemaError, TargetError

X = np.random.default_rng(0).uniform(0, 10, size=(300, 2))
Y = np.where(X.sum(axis=1) > 10, "many", "few")
MODEL = LogisticRegression().fit(X, Y)
EXPLAINER = ssba.Explainer(MODEL, X, target="many")


def test_it_is_what_the_model_says() -> None:
    said = EXPLAINER.predict([1.0, 2.0])
    assert (said.prediction, said.reached, said.target) == ("few", False, "'many'")
    assert said.score == pytest.approx(MODEL.predict_proba([[1.0, 2.0]])[0][1], rel=1e-8)
    assert said.values == {"x0": 1.0, "x1": 2.0}
    assert said.sentence.startswith("The model predicts few (score ")
    assert "which does not reach 'many'" in said.sentence


def test_many_rows_give_what_each_gives_alone() -> None:
    many = EXPLAINER.predict_many(X[:40])
    assert [one.prediction for one in many] == MODEL.predict(X[:40]).tolist()
    assert every(one == EXPLAINER.predict(row) for one, row in zip(many, X[:40], strict=True))
    assert EXPLAINER.predict_many(X[:0]) == ()


def test_another_target_is_judged_for_one_call() -> None:
    assert EXPLAINER.toward("few").predict([1.0, 2.0]).reached
    with pytest.raises(TargetError, match="some"):
        EXPLAINER.toward("some")


def test_any_other_class_is_never_reached_by_the_row_itself() -> None:
    explainer = ssba.Explainer(half_space(1.0, 1.0, at=10), X)
    assert not explainer.predict([1.0, 2.0]).reached
    assert not explainer.predict([9.0, 9.0]).reached


def test_a_number_is_its_own_score() -> None:
    model = LinearRegression().fit(X, X.sum(axis=1))
    said = ssba.Explainer(model, X, target=ssba.value_between(5, 8)).predict([3.0, 3.0])
    assert (said.prediction, said.reached) == (pytest.approx(6.0), True)
    assert said.sentence == "The model predicts 6, which reaches a value between 5 and 8."


def test_a_row_that_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(SchemaError, match="x1"):
        EXPLAINER.predict({"x0": 1.0})


def test_classes_and_target_are_told() -> None:
    assert EXPLAINER.classes == ("few", "many")
    assert EXPLAINER.target == "'many'"
    assert ssba.Explainer(LinearRegression().fit(X, X[:, 0]), X, ssba.value_between(0, 1)).classes is None
