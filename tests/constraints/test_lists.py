"""Lists of constraints: what is no constraint, but a desired outcome, is told apart."""

from typing import Any

import pytest

import ssba
from ssba.constraints.lists import refuse_targets
from ssba.errors import ArgumentError

CLASSES = ("disease", "no disease")


@pytest.mark.parametrize(
    "given",
    ["no disease", ["no disease"], ["age >= 40", "no disease"], [["age >= 40"], ["no disease"]]],
    ids=str,
)
def test_a_class_of_the_model_belongs_to_the_target(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"'no disease', a class of the model; .*target='no disease'"):
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
    with pytest.raises(ArgumentError, match=f"a desired outcome; give it by name: target={call}$"):
        refuse_targets([given], None)


@pytest.mark.parametrize(
    "given", [(), "age >= 40", [ssba.fixed("age")], ssba.only("age"), [["age >= 1"], []], None]
)
def test_constraints_and_what_others_refuse_pass(given: Any) -> None:
    refuse_targets(given, CLASSES)
    refuse_targets(given, None)


def test_a_number_may_be_a_class_too() -> None:
    with pytest.raises(ArgumentError, match="holds 1, a class of the model; give it by name: target=1"):
        refuse_targets(1, (0, 1))
