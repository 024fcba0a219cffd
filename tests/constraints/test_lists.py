"""Lists of constraints: what is a desired outcome instead, or hardly does what was meant, is told."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.columns.features import Feature
from ssba.constraints.constraint import constraint, within
from ssba.constraints.lists import constraint_list, refuse_targets, small_percents
from ssba.errors import ArgumentError, ConstraintError

CLASSES = ("disease", "no disease")

YEARS, MILLIMETRES, REAL = (
    Feature("a", "integer", step=1.0),
    Feature("a", "numeric", step=0.1),
    Feature("a", "numeric"),
)
DATA = pd.DataFrame({"age": np.arange(200) % 60 + 20, "dose": np.linspace(0, 1, 200)})


@pytest.mark.parametrize(
    "given",
    ["no disease", ["no disease"], ["age >= 40", "no disease"], [["age >= 40"], ["no disease"]]],
    ids=str,
)
def test_a_class_of_the_model_belongs_to_the_target(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"'no disease', a class of the model; .*toward\('no disease'\)"):
        refuse_targets(given, CLASSES)


@pytest.mark.parametrize(
    ("given", "call"),
    [
        (ssba.probability("no disease", at_least=0.7), r"ssba.probability\('no disease', at_least=0.7\)"),
        (ssba.probability("disease", at_most=0.3), r"ssba.probability\('disease', at_most=0.3\)"),
        (ssba.value_between(high=120), r"ssba.value_between\(high=120\)"),
        (ssba.value_change(at_least=10), r"ssba.value_change\(at_least=10\)"),
        (ssba.value_change(percent=-5), r"ssba.value_change\(percent=-5\)"),
    ],
    ids=str,
)
def test_so_does_any_other_outcome(given: Any, call: str) -> None:
    with pytest.raises(ArgumentError, match=rf"a desired outcome; write toward\({call}\)\.explain"):
        refuse_targets([given], None)


@pytest.mark.parametrize(
    "given", [(), "age >= 40", [ssba.fixed("age")], ssba.only("age"), [["age >= 1"], []], None]
)
def test_constraints_and_what_others_refuse_pass(given: Any) -> None:
    refuse_targets(given, CLASSES)
    refuse_targets(given, None)


def test_a_number_may_be_a_class_too() -> None:
    with pytest.raises(ArgumentError, match=r"holds 1, a class of the model; write toward\(1\)"):
        refuse_targets(1, (0, 1))


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


def test_all_constraints_that_do_not_fit_are_told_together() -> None:
    features = {"a": MILLIMETRES}
    with pytest.raises(ConstraintError) as told:
        constraint_list(["a fixed", "a <= 3", "b <= 200", "a <"], features)
    lines = str(told.value).splitlines()
    assert lines[0] == "3 constraints do not fit:"
    for word in ("'a fixed'", "'b <= 200'", "'a <'"):
        assert word in told.value.one_line
    assert "\n" not in told.value.one_line
    with pytest.raises(ConstraintError) as alone:
        constraint_list(["a <= 3", "b <= 200"], features)
    assert str(alone.value).startswith("constraint 'b <= 200': unknown column 'b'")


def test_of_many_constraints_that_do_not_fit_the_first_are_told() -> None:
    with pytest.raises(ConstraintError) as told:
        constraint_list(["b <= 200"] * 1000, {"a": MILLIMETRES})
    assert told.value.one_line.endswith("; and 980 more")
    assert len(told.value.one_line) < 3000
