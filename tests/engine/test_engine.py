"""What an explainer knows before any query comes, and how its target is exchanged."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.engine.cases import X, engine, plane

from ssba.engine import Settings, build_engine
from ssba.errors import ArgumentError, TargetError
from ssba.models.targets import Reach, probability, value_between, value_change


def test_another_target_keeps_columns_metric_and_rows() -> None:
    one = engine(LogisticRegression().fit(X, plane(X)))
    other = one.toward(probability(True, at_least=0.9))
    assert (other.space, other.metric) == (one.space, one.metric)
    assert other.background.rows is one.background.rows
    assert other.judging.model.gives_probabilities
    assert other.background.target == other.target == probability(True, at_least=0.9)


def test_another_class_is_judged_by_the_same_model() -> None:
    one = engine()
    other = one.toward(False)
    assert other.judging is one.judging
    known = other.judging.known
    np.testing.assert_array_equal(known.reached(Reach(False)), ~plane(known.rows))


def test_a_target_that_the_model_cannot_be_judged_by_is_refused() -> None:
    with pytest.raises(TargetError, match="not a class"):
        engine().toward("perhaps")
    with pytest.raises(TargetError, match="for models that give numbers"):
        engine(LogisticRegression().fit(X, plane(X))).toward(value_between(0, 1))


def test_the_goal_is_known_before_the_query_unless_it_depends_on_it() -> None:
    assert engine().goal == Reach(True)
    assert engine(target=None).goal is None
    regressor = LinearRegression().fit(X, X[:, 0])
    assert engine(regressor, target=value_between(1, 2)).goal == value_between(1, 2)
    assert engine(regressor, target=value_change(at_least=1)).goal is None


@pytest.mark.parametrize("data", [np.zeros((3, 2)), pd.DataFrame({"a": [1.0, 2.0]})], ids=["array", "frame"])
@pytest.mark.parametrize("model", [LogisticRegression(), len], ids=["model", "function"])
def test_model_and_data_in_each_others_place_are_told(model: Any, data: Any) -> None:
    with pytest.raises(ArgumentError, match=r"they are swapped; write ssba.Explainer\(model, data\)"):
        build_engine(data, model, Settings())
