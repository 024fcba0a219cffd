"""Several columns at once: `fixed`, `increase`, `decrease` and `only` become one constraint a column."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.columns.features import Feature
from ssba.constraints.constraint import decrease, fixed, increase, only
from ssba.constraints.lists import constraint_list, constraints_by_row
from ssba.errors import ConstraintError

FEATURES = {name: Feature(name, "numeric") for name in ("a", "b", "c", "max HR")}


def texts(given: Any) -> list[str]:
    return [one.text for one in constraint_list(given, FEATURES)]


@pytest.mark.parametrize(
    "given", [fixed("a", "b"), fixed(["a", "b"]), fixed("a", "b", "a"), [fixed("a"), fixed("b")]], ids=str
)
def test_fixed_columns_are_a_constraint_each(given: Any) -> None:
    assert texts(given) == ["a == x.a", "b == x.b"]


def test_a_single_column_is_a_constraint_itself() -> None:
    assert isinstance(fixed("a"), ssba.Constraint)
    assert fixed(["a"]) == fixed("a")


def test_a_set_of_columns_holds_each_of_them() -> None:
    assert sorted(texts(fixed({"b", "a"}))) == ["a == x.a", "b == x.b"]


@pytest.mark.parametrize("given", [only("a", "c"), only(["a", "c"])], ids=["names", "list"])
def test_only_holds_all_other_columns(given: Any) -> None:
    assert texts(given) == ["b == x.b", "`max HR` == x.`max HR`"]


def test_only_all_columns_holds_none() -> None:
    assert texts(only(list(FEATURES))) == []


def test_they_stand_beside_other_constraints_in_their_order() -> None:
    assert texts(["a >= 1", fixed("b", "c"), "a <= 9"]) == ["a >= 1", "b == x.b", "c == x.c", "a <= 9"]


def test_each_row_may_have_its_own() -> None:
    by_row = constraints_by_row([[only("a")], ["a >= 1"]], 2, FEATURES)
    assert [[one.text for one in own] for own in by_row] == [
        ["b == x.b", "c == x.c", "`max HR` == x.`max HR`"],
        ["a >= 1"],
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (fixed("a", "chol"), r"fixed\(...\).*unknown column 'chol'"),
        (only("chol"), r"only\(...\).*unknown column 'chol'"),
        (only("max hr"), "did you mean 'max HR'"),
    ],
    ids=str,
)
def test_unknown_columns_are_named(given: Any, says: str) -> None:
    with pytest.raises(ConstraintError, match=says):
        constraint_list([given], FEATURES)


@pytest.mark.parametrize("make", [fixed, only])
def test_at_least_one_column_is_named(make: Any) -> None:
    nothing: tuple[tuple[Any, ...], ...] = ((), ([],))
    for given in nothing:
        with pytest.raises(ConstraintError, match=rf"{make.__name__}\(\): name at least one column"):
            make(*given)


@pytest.mark.parametrize("name", [None, {"a": 1}], ids=str)
def test_what_is_no_name_is_refused(name: Any) -> None:
    for make in (fixed, only):
        with pytest.raises(ConstraintError, match="a column is named by a text"):
            make("a", name)


def test_an_answer_changes_nothing_but_what_only_names() -> None:
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=list("abc"))
    explainer = ssba.Explainer(lambda rows: rows.sum(axis=1) > 1.5, data, target=True)
    query = {"a": 0.0, "b": 0.0, "c": 0.0}
    named = explainer.explain(query, ssba.only("b"))
    assert named.best is not None
    assert set(named.best.changes) == {"b"}
    assert named.constraints == ("a == x.a", "c == x.c")
    assert explainer.explain(query, [ssba.fixed("a", "c")]).counterfactuals == named.counterfactuals


@pytest.mark.parametrize(("make", "sign"), [(increase, ">="), (decrease, "<=")])
class TestDirections:
    def test_many_columns_are_a_constraint_each(self, make: Any, sign: str) -> None:
        assert texts(make("a", "b")) == texts(make(["a", "b"])) == [f"a {sign} x.a", f"b {sign} x.b"]

    def test_a_single_column_is_a_constraint_itself(self, make: Any, sign: str) -> None:
        assert make("a").text == make(["a"]).text == f"a {sign} x.a"

    def test_an_unknown_column_is_told_by_the_name_of_the_call(self, make: Any, sign: str) -> None:
        with pytest.raises(ConstraintError, match=rf"{make.__name__}\(\.\.\.\): unknown column 'd'"):
            texts(make("a", "d"))

    def test_no_column_is_refused(self, make: Any, sign: str) -> None:
        with pytest.raises(ConstraintError, match=rf"{make.__name__}\(\): name at least one column"):
            make()
