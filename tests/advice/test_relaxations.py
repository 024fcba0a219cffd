"""What may be relaxed about a query, and bisection over the amounts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ssba
from ssba.advice.context import Context
from ssba.advice.relaxations import (
    Attempt,
    Condition,
    Terms,
    Verdict,
    amount_for,
    attempt_together,
    attempts_alone,
    conditions_of,
    is_feasible,
    narrowed,
)
from ssba.constraints.relaxing.ladder import left_out
from ssba.options import Options

DATA = np.random.default_rng(0).uniform(-4, 4, size=(200, 3))
TEXTS = ("x0 <= 1", "x1 within 1", "x2 == x.x2", "x2 may be filled")


@pytest.fixture(scope="module")
def context() -> Context:
    engine = ssba.Explainer(
        lambda rows: rows.sum(axis=1) > 3, DATA, target=True, distance=ssba.Distance(scale="none")
    )._engine
    given = tuple(ssba.constraint(text) for text in TEXTS)
    request = Options(max_changes=1, plausible=True, margin=ssba.ball(0.5))
    return Context(engine, engine.space.encode_row([0.0, 0.0, 0.0]), given, request)


def bound_of(terms: Terms, place: int = 0) -> float:
    one = terms.constraints[place]
    assert one is not None
    return float(one.text.split(" ")[-1])


def test_constraints_and_limits_can_be_relaxed_and_permissions_cannot(context: Context) -> None:
    _, found = conditions_of(context, None)
    limits = ["max_changes=1", "plausible=True", "margin=ball(0.5)"]
    assert [one.text for one in found] == [*TEXTS[:3], *limits]


@pytest.mark.parametrize(("lowest", "ends"), [(0.0, []), (2.0, [2.0]), (-1.0, [np.inf])])
def test_no_range_of_what_was_never_negative_is_widened_below_zero(lowest: float, ends: list[float]) -> None:
    data = np.random.default_rng(0).uniform([lowest, 0.0], [lowest + 1, 1.0], size=(200, 2))
    data[:2] = [[lowest, 0.0], [lowest + 0.5, 0.5]]
    engine = ssba.Explainer(lambda rows: rows[:, 0] < lowest + 1e-6, data, target=True)._engine
    x = engine.space.encode_row([lowest + 0.5, 0.5])
    context = Context(engine, x, (ssba.constraint("x1 == x.x1"),), Options())
    _, found = conditions_of(context, {"x0": lowest, "x1": 0.5})
    longest = [one.ladders(None)[0].most for one in found if one.is_range]
    assert len(longest) == len(ends)
    assert all(0 < most <= end for most, end in zip(longest, ends, strict=True))


def test_terms_without_a_limit_leave_its_option_out(context: Context) -> None:
    terms, found = conditions_of(context, None)
    for one in found:
        terms = one.widest(terms)
    left = terms.of(context)
    assert [one.text for one in left.constraints] == ["x2 may be filled"]
    assert left.options == Options()


def test_a_constraint_is_left_out_only_for_a_row_that_breaks_it(context: Context) -> None:
    _, (first, *_) = conditions_of(context, None)
    ladder = left_out("leave it out")
    allowed, refused = {"x0": 0.5, "x1": 0.0, "x2": 0.0}, {"x0": 1.5, "x1": 0.0, "x2": 0.0}
    assert amount_for(context, first, ladder, allowed) == 0
    assert amount_for(context, first, ladder, refused) == ladder.most


def test_the_end_of_the_data_counts_where_the_move_stands_there(context: Context) -> None:
    high = float(DATA[:, 1].max())
    bare = context.with_constraints([ssba.constraint("x0 <= 1")], Options())
    terms, found = conditions_of(bare, {"x0": 1.0, "x1": high, "x2": 0.0})
    (end,) = [one for one in found if one.is_range]
    assert end.columns == ("x1",)
    assert bound_of(end.widest(terms), 1) > high + 7


@pytest.mark.parametrize("threshold", [1.0001, 1.4, 2.0, 2.71828, 3.4])
def test_amounts_come_down_to_what_is_just_enough(context: Context, threshold: float) -> None:
    terms, (condition, *_) = conditions_of(context, None)
    (attempt,) = attempts_alone(context, condition, None)
    asked: list[float] = []

    def asks(given: Sequence[Terms]) -> list[Verdict | None]:
        asked.extend(bound_of(one) for one in given)
        return [Verdict(bound_of(one) > threshold) for one in given]

    (found,) = narrowed([attempt], terms, asks)
    assert found.is_tight
    assert threshold < 1 + found.high[0]
    assert 1 + 0.95 * found.high[0] <= threshold * (1 + 1e-12)
    # Two amounts in each of 17 rounds: a third of the bracket is left at most.
    assert len(asked) <= 34


def test_an_attempt_that_the_budget_cut_short_is_not_called_the_smallest(context: Context) -> None:
    terms, (condition, *_) = conditions_of(context, None)
    (attempt,) = attempts_alone(context, condition, None)
    (found,) = narrowed([attempt], terms, lambda given: [None for _ in given])
    assert found.high == attempt.high
    assert not found.is_tight


def test_amounts_of_two_conditions_come_down_together(context: Context) -> None:
    terms, (one, other, *_) = conditions_of(context, None)
    attempt = attempt_together(context, (one, other), {"x0": 3.0, "x1": 3.0, "x2": 0.0})
    assert attempt is not None
    assert attempt.high == pytest.approx((2.0, 2.0), rel=0.02)

    def asks(given: Sequence[Terms]) -> list[Verdict | None]:
        return [Verdict(bound_of(each, 0) + bound_of(each, 1) > 4) for each in given]

    (found,) = narrowed([attempt], terms, asks)
    # From 1 and 1 on, both go equally far.
    assert found.high == pytest.approx((1.0, 1.0), rel=0.06)


def test_a_condition_that_the_wanted_row_meets_takes_no_part(context: Context) -> None:
    _, (one, other, *_) = conditions_of(context, None)
    attempt = attempt_together(context, (one, other), {"x0": 3.0, "x1": 0.5, "x2": 0.0})
    assert attempt is not None
    assert attempt.conditions == (one,)


def test_feasibility_is_told_without_the_model(context: Context) -> None:
    terms, _ = conditions_of(context, None)
    assert is_feasible(context, terms)
    assert not is_feasible(context, terms.having(1, ssba.constraint("x0 >= 2")))


def test_the_text_of_what_is_asked_for_instead(context: Context) -> None:
    _, found = conditions_of(context, None)
    by_text: dict[str, Condition] = {one.text: one for one in found}
    things: dict[str, Any] = {
        "x0 <= 1": ssba.constraint("x0 <= 2"),
        "max_changes=1": 2,
        "margin=ball(0.5)": ssba.ball(0.25),
    }
    told = [by_text[text].text_of(thing) for text, thing in things.items()]
    assert told == ["x0 <= 2", "max_changes=2", "margin=ball(0.25)"]
    assert by_text["plausible=True"].text_of(None) is None


def test_leaving_out_is_larger_than_any_amount(context: Context) -> None:
    _, (one, *_, margin) = conditions_of(context, None)
    (bounded,), (ball,) = attempts_alone(context, one, None), attempts_alone(context, margin, None)
    assert isinstance(bounded, Attempt)
    assert bounded.size == pytest.approx(DATA[:, 0].max() - 1)
    assert ball.size == pytest.approx(0.99)
