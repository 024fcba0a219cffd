"""A percentage of less than one that holds a number still: told once, and only where it does."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.columns.features import Feature
from ssba.constraints.constraint import constraint, within
from ssba.constraints.hints import small_percents

YEARS, MILLIMETRES, REAL = (
    Feature("a", "integer", step=1.0),
    Feature("a", "numeric", step=0.1),
    Feature("a", "numeric"),
)


def hints(rule: Any, now: float, feature: Feature) -> list[str]:
    return small_percents(np.array([[now]]), [(constraint(rule),)], [feature])


def test_a_share_in_the_place_of_a_percentage_is_told() -> None:
    (hint,) = hints(within("a", percent=0.2), 54, YEARS)
    assert hint == (
        "'a within 0.2%' leaves a no value but 54: 0.2% of that is 0.108, less than a step of 1; percent=1 "
        "is one in a hundred: did you mean percent=20?"
    )


@pytest.mark.parametrize(
    ("rule", "now", "feature"),
    [
        ("a within 0.2%", 500.0, YEARS),  # 0.2% of 500 is a whole step
        ("a within 0.2%", 54.0, REAL),  # a real number has room in any interval
        ("a within 0.5%", 2.395, MILLIMETRES),  # 2.4 is nearer than 0.5% of it
        ("a within 20%", 2.0, YEARS),  # 20% of 2 is less than a step, but nobody meant 2000%
        ("a within 0.2", 54.0, YEARS),  # an amount
        ("a within 0.2%", 0.0, YEARS),  # no percentage of zero moves it
        ("a within 0.2%", np.nan, YEARS),
        ("if a changes: a within 0.2%", 54.0, YEARS),
    ],
)
def test_nothing_is_told_elsewhere(rule: str, now: float, feature: Feature) -> None:
    assert hints(rule, now, feature) == []


def test_a_value_between_two_steps_has_none_near() -> None:
    assert len(hints("a within 0.5%", 2.35, MILLIMETRES)) == 1


DATA = pd.DataFrame({"age": np.arange(200) % 60 + 20, "dose": np.linspace(0, 1, 200)})


@pytest.fixture(scope="module")
def explainer() -> ssba.Explainer:
    return ssba.Explainer(lambda rows: rows["age"] > 50, DATA, target=True)


def test_explain_warns(explainer: ssba.Explainer) -> None:
    with pytest.warns(ssba.SsbaWarning, match="leaves age no value but 40"):
        explainer.explain({"age": 40, "dose": 0.5}, "age within 0.2%")


def test_explain_many_warns_once_for_a_constraint(explainer: ssba.Explainer) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        explainer.explain_many(DATA[:5], [ssba.within("age", percent=0.2)])
    assert [str(one.message)[:33] for one in caught] == ["'age within 0.2%' leaves age no v"]
