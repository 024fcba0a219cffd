"""One paragraph in plain language: what it says, and that every number in it comes from the result."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.views.support import (
    AROUND,
    BOUNDED,
    EVERY,
    FOUND,
    NUMBERS,
    ORDINAL,
    PLAN,
    RANGES,
    STAYS,
    WHY_NOT,
    answer,
)

import ssba
from ssba.results.prose import CAUTION, Wording, action, actions, direction, paragraph, wording_of

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def numbers_of(result: Any) -> Iterator[float]:
    """Every number of a result: as such, or in a text of it, but for the sentences that views wrote."""
    if isinstance(result, dict):
        for name, value in result.items():
            if name not in ("sentence", "text"):
                yield from numbers_of(value)
    elif isinstance(result, list | tuple):
        for value in result:
            yield from numbers_of(value)
    elif isinstance(result, str):
        yield from (read(token) for token in NUMBER.findall(result))
    elif isinstance(result, int | float) and not isinstance(result, bool):
        yield float(result)


def read(token: str) -> float:
    return float(token.replace(",", ""))


def is_rounded(token: str, number: float) -> bool:
    """Whether a number written in fewer digits gives the token."""
    digits = len(re.sub(r"e.*|[^\d]", "", token).lstrip("0")) or 1
    return any(read(f"{number:.{more}g}") == read(token) for more in range(digits, 18))


def foreign_numbers(told: str, *results: Any) -> list[str]:
    known = [number for one in results for number in numbers_of(one.to_dict())]
    return [token for token in NUMBER.findall(told) if not any(is_rounded(token, one) for one in known)]


@pytest.mark.parametrize("explanation", EVERY.values(), ids=EVERY)
class TestEveryResult:
    def test_no_number_is_told_that_is_not_in_the_result(self, explanation: ssba.results.Explanation) -> None:
        assert foreign_numbers(paragraph(explanation), explanation) == []

    def test_caution_is_said_once_and_last(self, explanation: ssba.results.Explanation) -> None:
        told = paragraph(explanation)
        assert told.endswith(CAUTION)
        assert told.count("medical advice") == 1

    def test_it_is_one_paragraph_of_whole_sentences(self, explanation: ssba.results.Explanation) -> None:
        told = paragraph(explanation, PLAN, RANGES, WHY_NOT, meanings=AROUND.meanings)
        assert "\n" not in told
        assert "  " not in told
        assert "None" not in told


def test_numbers_of_plan_ranges_and_relaxations_are_theirs() -> None:
    told = paragraph(FOUND, PLAN, RANGES, WHY_NOT)
    assert foreign_numbers(told, FOUND, PLAN, RANGES, WHY_NOT) == []
    # Without them as a source some numbers are foreign, so that the check above can fail.
    assert set(foreign_numbers(told, FOUND)) == {
        "10",
        "20",
        "0.4688",
        "0.998",
        "1,000",
        "242",
        "117",
        "124",
        "2.625",
        "12.5",
    }


def test_check_of_numbers_sees_a_wrong_digit() -> None:
    assert foreign_numbers("The score is 0.312.", FOUND) == []
    assert foreign_numbers("The score is 0.314.", FOUND) == ["0.314"]


def test_found_answer_tells_direction_units_and_both_predictions() -> None:
    told = paragraph(FOUND)
    assert "The model predicts ill for this row (score 0.3125)." in told
    assert "lower chol from 286 to 240.5 mg/dl and raise rate from 108 to 120 beats/min" in told
    assert "then it predicts well (score 0.5312)" in told


def test_further_answers_are_told_by_their_distance() -> None:
    assert "Other answers lie at distances of 1.5 and 2.375, this one at 1.25." in paragraph(FOUND)
    assert "Other answers" not in paragraph(replace(FOUND, counterfactuals=FOUND.counterfactuals[:1]))


def test_missing_cell_is_filled_in() -> None:
    filled = replace(FOUND, counterfactuals=(answer({"vessels": 1.0}),))
    assert "fill in vessels with 1:" in paragraph(filled)


def test_regression_says_what_is_reached() -> None:
    told = paragraph(NUMBERS)
    assert "then it predicts 4.875, which reaches a value between 3 and 5" in told
    assert "It is proved that no feasible row nearer than 1.2 reaches the target." in told


def test_bounded_move_does_not_claim_a_flip() -> None:
    told = paragraph(BOUNDED)
    assert "no change was found that reaches 'well'" in told
    assert "the model then still predicts ill (score 0.4375)" in told
    assert "turns" not in told


def test_a_bounded_move_may_change_the_prediction_and_miss_the_probability() -> None:
    target = "a probability of 'well' of at least 0.9"
    assert BOUNDED.bounded is not None
    moved = replace(BOUNDED.bounded, prediction="well", score=0.6893)
    told = paragraph(replace(BOUNDED, target=target, bounded=moved))
    assert f"the model then predicts well (score 0.6893), which does not reach {target}." in told
    assert "still" not in told


def test_long_numbers_are_shortened() -> None:
    filled = answer({"chol": 285.99999123, "vessels": -0.1398549236535486})
    told = paragraph(replace(FOUND, counterfactuals=(filled,)))
    assert "lower chol from 286 to 285.99999 mg/dl and fill in vessels with -0.139855:" in told
    assert action("a", 250000.5, 1234567.25, Wording()) == "raise a from 250000.5 to 1234567"


def test_where_no_move_helps_none_is_told() -> None:
    assert "and none that gets closer to it" in paragraph(STAYS)
    assert "is to" not in paragraph(STAYS)


def test_plan_is_told_in_order_with_scores() -> None:
    told = paragraph(FOUND, PLAN)
    first, then = told.index("first lower chol from 286"), told.index("then raise rate from 108")
    assert first < then
    assert "(score 0.4688)" in told


def test_plan_of_one_step_says_nothing_new() -> None:
    assert paragraph(FOUND, replace(PLAN, steps=PLAN.steps[:1])) == paragraph(FOUND)


def test_ranges_are_told_in_words_with_their_check() -> None:
    told = paragraph(FOUND, ranges=RANGES, meanings=AROUND.meanings)
    assert "serum cholesterol at most 242 mg/dl and rate 117 to 124 beats/min" in told
    assert "a share of 0.998 of 1,000 rows" in told
    assert "all of 1,000 rows" in paragraph(FOUND, ranges=replace(RANGES, held=1.0))


def test_smallest_relaxation_that_flips_is_told() -> None:
    told = paragraph(BOUNDED, why_not=WHY_NOT)
    assert 'What holds it back: "rate within 10%", "chol within 20%" and "sex == x.sex".' in told
    assert "let rate move by up to 12.5% instead of 10%" in told
    assert "leave out" not in told


def test_meanings_stand_before_the_names() -> None:
    assert "lower serum cholesterol (chol) from 286" in paragraph(FOUND, meanings=AROUND.meanings)


class TestDirection:
    @given(st.integers(-50, 50), st.integers(-50, 50))
    def test_a_number_is_raised_or_lowered(self, before: int, after: int) -> None:
        assume(before != after)
        assert direction(before, float(after)) == ("raise" if after > before else "lower")

    @pytest.mark.parametrize(("before", "after"), [("1", "2"), (True, False), ("a", 3)])
    def test_levels_change(self, before: Any, after: Any) -> None:
        assert direction(before, after) == "change"

    def test_a_cell_that_was_missing_is_filled_in(self) -> None:
        assert action("a", None, 2.0, Wording({"a": "mg"})) == "fill in a with 2 mg"

    def test_of_a_boolean_column_0_and_1_are_no_more_and_less(self) -> None:
        data = pd.DataFrame({"owner": [0, 1] * 30, "debt": [*range(60)]})
        explainer = ssba.Explainer(lambda rows: rows["owner"] == 1, data, target=True)
        answer = explainer.explain({"owner": 0, "debt": 5})
        assert answer.best is not None
        assert actions(answer.best.changes, wording_of(answer)) == "change owner from 0 to 1"

    @pytest.mark.parametrize(
        ("before", "after", "word"), [("school", "college", "raise"), ("phd", "school", "lower")]
    )
    def test_an_ordinal_level_is_raised_or_lowered_in_its_declared_order(
        self, before: str, after: str, word: str
    ) -> None:
        assert direction(before, after, ("school", "college", "phd")) == word

    def test_the_paragraph_follows_the_order_of_an_ordinal_column(self) -> None:
        assert "raise education from school to phd" in paragraph(ORDINAL)


def test_numbers_of_real_answers_are_all_in_their_results() -> None:
    # A hundred numbers or more are told, with signs, many digits and small steps among them.
    data = np.random.default_rng(5).normal(size=(200, 4)) * [1, 30, 0.01, 400]
    weights = np.array([1.0, -0.03, 90.0, 0.002])
    explainer = ssba.Explainer(_Scored(weights), data, target=1)
    told = 0
    for row in data[data @ weights < -1][:8]:
        found = explainer.explain(row, ["x1 within 40%", "x2 >= x.x2"], k=2)
        plan, ranges = explainer.plan(found), explainer.ranges(found, n_samples=100)
        words = paragraph(found, plan, ranges)
        assert foreign_numbers(words, found, plan, ranges) == []
        told += len(NUMBER.findall(words))
    assert told > 100


class _Scored:
    """A logistic model of a weighted sum."""

    classes_ = np.array([0, 1])

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def predict_proba(self, rows: Any) -> Any:
        share = 1 / (1 + np.exp(-(np.asarray(rows) @ self.weights)))
        return np.stack([1 - share, share], axis=1)

    def predict(self, rows: Any) -> Any:
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]
