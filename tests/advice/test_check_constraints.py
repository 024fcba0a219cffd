"""Constraints without a search: how they read, what they leave free, whether they contradict each other."""

from typing import Any

import pandas as pd
import pytest

import ssba
from ssba.errors import ConstraintError
from ssba.results import Allowed, ConstraintCheck

DATA = pd.DataFrame(
    {
        "age": [30, 40, 50, 60],
        "dose": [0.5, 1.0, 1.5, 2.0],
        "smoker": ["yes", "no", "no", "yes"],
    }
)
QUERY = {"age": 40, "dose": 1.0, "smoker": "yes"}


def asked(rows: Any) -> Any:
    return rows["dose"] > 1.2


EXPLAINER = ssba.Explainer(asked, DATA, target=True, features={"dose": ssba.numeric(step=0.5)})


def check(*constraints: Any, query: Any = QUERY) -> ConstraintCheck:
    before = EXPLAINER.rows_used
    found = EXPLAINER.check_constraints(query, list(constraints))
    assert EXPLAINER.rows_used == before, "the model is not asked"
    return found


def test_without_constraints_every_column_may_take_what_the_data_show() -> None:
    assert check().may_change == (
        Allowed("age", 40, 30, 60),
        Allowed("dose", 1.0, 0.5, 2.0),
        Allowed("smoker", "yes", levels=("no", "yes")),
    )


def test_what_is_held_is_not_listed_and_bounds_are_told() -> None:
    found = check("age == x.age", "dose <= x.dose", "smoker: 'yes' -> {'no'}")
    assert found.constraints == ("age == x.age", "dose <= x.dose", "smoker: 'yes' -> {'no'}")
    assert found.may_change == (
        Allowed("dose", 1.0, 0.5, 1.0),
        Allowed("smoker", "yes", levels=("no", "yes")),
    )
    assert found.sentence == "dose and smoker may change."


def test_objects_and_texts_are_the_same() -> None:
    assert check(ssba.fixed("age")) == check("age == x.age")


def test_a_constraint_that_the_row_breaks_is_named() -> None:
    found = check("age >= 45", ssba.fixed("dose", "smoker"))
    assert found.broken == ("age >= 45",)
    assert found.may_change == (Allowed("age", 40, 45, 60),)
    assert found.sentence == 'age may change. The row itself breaks "age >= 45".'


def test_contradictions_are_named_and_nothing_else() -> None:
    found = check("age >= 45", "dose <= 1", "age <= 44")
    assert found.clash == ("age >= 45", "age <= 44")
    assert (found.may_change, found.settled) == ((), True)
    assert '"age >= 45" and "age <= 44" contradict each other' in found.sentence


def test_a_declared_range_beyond_the_data_is_no_contradiction() -> None:
    older = ssba.Explainer(asked, DATA, target=True, features={"age": ssba.integer(low=90, high=99)})
    assert older.check_constraints(QUERY, []).may_change[0] == Allowed("age", 40, 90, 99)
    assert older.check_constraints(QUERY, ["age <= 85"]).sentence == (
        'No row can meet the constraint "age <= 85".'
    )


def test_if_then_rules_allow_what_any_way_to_obey_them_allows() -> None:
    found = check("if smoker changes: age >= x.age + 5", "dose == x.dose")
    assert found.may_change == (
        Allowed("age", 40, 30, 60),
        Allowed("smoker", "yes", levels=("no", "yes")),
    )


def test_nothing_may_change() -> None:
    found = check(ssba.fixed("age", "dose", "smoker"))
    assert (found.may_change, found.sentence) == ((), "No column may change.")


def test_an_unknown_column_is_refused_with_the_likely_one() -> None:
    with pytest.raises(ConstraintError, match="did you mean 'dose'"):
        check("doze <= 1")
