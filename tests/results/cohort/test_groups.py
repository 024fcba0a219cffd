"""Which group a query belongs to."""

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.results.cohort.groups import group_labels, in_order

AGES = [{"age": age, "sex": "male" if age % 2 else "female"} for age in range(30, 70)]


def test_a_column_of_levels_gives_one_group_a_level() -> None:
    labels, name = group_labels(AGES, "sex")
    assert name == "sex"
    assert labels == ["male" if one["age"] % 2 else "female" for one in AGES]


def test_many_numbers_are_cut_into_four_groups_of_equal_size() -> None:
    labels, _ = group_labels(AGES, "age")
    assert labels is not None
    assert {one: labels.count(one) for one in in_order(labels)} == {
        "30 to 39": 10,
        "40 to 49": 10,
        "50 to 59": 10,
        "60 to 69": 10,
    }


def test_few_numbers_stay_as_they_are() -> None:
    labels, _ = group_labels([{"n": n % 3} for n in range(9)], "n")
    assert labels == ["0", "1", "2"] * 3


def test_numbers_that_are_mostly_equal_make_fewer_groups() -> None:
    gains = [{"gain": 0}] * 30 + [{"gain": 100 + n} for n in range(10)]
    labels, _ = group_labels(gains, "gain")
    assert labels is not None
    assert labels[0] == "0 to 0"
    assert set(labels[30:]) == {"100 to 109"}


@pytest.mark.parametrize(
    "given", [np.array([1, 2]), pd.Series([1, 2]), (1, 2)], ids=["array", "series", "tuple"]
)
def test_labels_may_come_as_any_list(given: object) -> None:
    assert group_labels([{}, {}], given) == (["1", "2"], "group")


def test_a_named_series_names_the_groups() -> None:
    assert group_labels([{}, {}], pd.Series(["a", "b"], name="clinic"))[1] == "clinic"


def test_missing_cells_are_a_group_of_their_own_and_stand_last() -> None:
    labels, _ = group_labels([{"thal": None}, {"thal": "normal"}, {"thal": float("nan")}], "thal")
    assert labels == ["missing", "normal", "missing"]
    assert in_order(labels) == ["normal", "missing"]


def test_missing_numbers_do_not_keep_the_others_from_being_cut() -> None:
    labels, _ = group_labels([*AGES, {"age": None}], "age")
    assert labels is not None
    assert labels[-1] == "missing"
    assert labels[0] == "30 to 39"


def test_an_unknown_column_is_refused_with_the_likely_one() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match=r"by: unknown column 'sx' \(did you mean 'sex'\?\)"):
        group_labels(AGES, "sx")


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match="by holds 3 labels for 40 queries; give the name"):
        group_labels(AGES, ["a", "b", "c"])


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match="by is 7; give the name of a column"):
        group_labels(AGES, 7)
