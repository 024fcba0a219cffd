"""Targets as text: every form, the names of classes, and the first reading that the model knows."""

from typing import Any

import pytest

import ssba
from ssba.apps.project.target import first_possible, named, target_readings
from ssba.errors import TargetError


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("ill", ["ill"]),
        (1, [1]),
        (True, [True]),
        ("1.5", [1.5, "1.5"]),
        ("true", [True, "true"]),
        ("label:other", ["other"]),
        ("probability:ill<=0.2", [ssba.probability("ill", at_most=0.2)]),
        ("probability:a>=b>=0.7", [ssba.probability("a>=b", at_least=0.7)]),
        ("value:10..", [ssba.value_between(low=10)]),
        ("change:>=10", [ssba.value_change(at_least=10)]),
        ("change:5..10", [ssba.value_change(at_least=5, at_most=10)]),
        ("change:-10%", [ssba.value_change(percent=-10)]),
        ("probability:ill=0.2..0.4", [ssba.probability("ill", at_least=0.2, at_most=0.4)]),
        ("colour:red", ["colour:red"]),
    ],
)
def test_forms(text: Any, readings: list[Any]) -> None:
    assert target_readings(text) == readings


@pytest.mark.parametrize(
    "text", ["value:5", "value:a..b", "change:10", "probability:ill", "probability:ill>=x"]
)
def test_what_is_none_of_the_forms_is_refused_with_all_of_them(text: str) -> None:
    with pytest.raises(TargetError, match=r"probability:LABEL>=0.7, value:LOW..HIGH, change:>=10"):
        target_readings(text)


def test_names_of_classes_stand_for_the_classes() -> None:
    names = {"0": "well", "1": "ill"}
    assert target_readings("ill", names) == [1, "1"]
    assert target_readings("probability:ill>=0.7", names)[0] == ssba.probability(1, at_least=0.7)
    assert (named(1, names), named(2, names), named("x", {})) == ("ill", 2, "x")
    assert named(True, {"true": "yes"}) == "yes"


def test_the_first_reading_that_the_model_knows_counts() -> None:
    def make(target: Any) -> Any:
        if target != "1":
            raise TargetError(f"target {target!r} is not a class")
        return target

    assert first_possible(make, "1", None) == "1"
    with pytest.raises(TargetError, match="target 2 is not a class; as a target: LABEL"):
        first_possible(make, "2", None)
