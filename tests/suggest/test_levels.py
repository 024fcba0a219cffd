"""Texts that look ordered, and texts that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.suggest.levels import ordered_levels

ORDERED = [
    ["low", "medium", "high"],
    ["very low", "low", "normal", "high", "very high"],
    ["None", "Mild", "Moderate", "Severe"],
    ["never", "sometimes", "always"],
    ["S", "M", "L", "XL"],
    ["Primary", "High school", "Bachelor's".replace("'", ""), "Master", "PhD"],
    ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
    ["downsloping", "flat", "upsloping"],
    ["0-9", "10-19", "20-29", "100+"],
    ["under 18", "18 to 40", "over 40"],
    ["< 5", "5", "> 5"],
    ["grade 1", "grade 2", "grade 10"],
    ["NYHA I", "NYHA II", "NYHA III", "NYHA IV"],
    ["1", "2", "10"],
]


@pytest.mark.parametrize("levels", ORDERED, ids="/".join)
def test_the_order_is_found_whatever_the_order_they_come_in(levels: list[str]) -> None:
    assert ordered_levels(list(reversed(levels))) == tuple(levels)
    assert ordered_levels(sorted(levels)) == tuple(levels)


@pytest.mark.parametrize(
    "levels",
    [
        ["red", "green", "blue"],
        ["low", "high", "purple"],
        ["low", "high"],
        ["medium", "moderate", "high"],
        ["route 1", "street 2", "road 3"],
        ["1-2-3", "4-5-6", "7-8-9"],
        ["typical angina", "atypical angina", "asymptomatic"],
        ["I", "think", "not"],
        [],
    ],
    ids="/".join,
)
def test_no_order_is_made_up(levels: list[str]) -> None:
    assert ordered_levels(levels) is None


@given(st.lists(st.text(max_size=12), unique=True, max_size=8))
def test_any_texts_come_back_once_each_or_not_at_all(levels: list[str]) -> None:
    ordered = ordered_levels(levels)
    assert ordered is None or sorted(ordered) == sorted(levels)
