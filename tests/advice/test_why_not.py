"""Why not, and what to relax: half-spaces in closed form, the heart data, and every claim applied again."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.problems import half_space
from tests.support import every
from tests.test_heart_case import DISEASE, X, rules

import ssba
from ssba.advice.context import Context
from ssba.advice.probing import Find, Prober
from ssba.advice.relaxations import attempts_alone, conditions_of
from ssba.advice.why_not import _brought_down, _Inquiry, why_not
from ssba.options import Options
from ssba.results.why_not import Relaxation, WhyNot

DATA = np.random.default_rng(0).uniform(-4, 4, size=(400, 3))


def explainer_of(model: Any, **wishes: Any) -> ssba.Explainer:
    return ssba.Explainer(model, DATA, target=True, distance=ssba.Distance(scale="none"), **wishes)


def context_of(explainer: ssba.Explainer, row: Any, *texts: str, **wishes: Any) -> Context:
    engine = explainer._engine
    given = tuple(ssba.constraint(text) for text in texts)
    return Context(engine, engine.space.encode_row(row), given, Options(**wishes))


def asked(context: Context, one: Relaxation) -> list[str]:
    """The constraints of the next call, if a person does what a relaxation of constraints says."""
    instead = dict(zip(one.constraints, one.relaxed, strict=True))
    kept = [text for text in (own.text for own in context.constraints) if text not in instead]
    return kept + [text for text in instead.values() if text is not None]


def by_text(why: WhyNot) -> dict[tuple[str, ...], Relaxation]:
    return {one.constraints: one for one in why.relaxations}


# The sum of x0 and x1 has to be above 4, and x1 stays below 1: one of them has to go further.
PLANE = explainer_of(half_space(1, 1, 0, at=4).logistic(DATA))
BOXED = ("x0 <= 2", "x1 <= 1", "x2 == x.x2")


def test_a_bound_is_moved_just_as_far_as_the_plane_asks() -> None:
    found = by_text(why_not(context_of(PLANE, [0.0, 0.0, 0.0], *BOXED)))
    assert set(found) == {("x0 <= 2",), ("x1 <= 1",)}
    for text, column, other in (("x0 <= 2", 0, 1), ("x1 <= 1", 1, 2)):
        one = found[text,]
        # In closed form the bound has to pass 4 less the other one's bound: by 1 for both.
        relaxed = ssba.constraint(one.relaxed[0] or "")
        moved = float(relaxed.text.split("<=")[1]) - (3 - other)
        assert 1 < moved <= 1 / 0.95 * (1 + 1e-9)
        assert one.flips
        assert one.is_tight
        assert bool(one.prediction)
        assert one.values[f"x{column}"] <= 3 - other + moved


def test_the_smaller_relaxation_comes_first() -> None:
    why = why_not(context_of(PLANE, [0.0, 0.0, 0.0], *BOXED))
    assert why.best is not None
    # 1 more is half as much again for a bound of 2, and as much again for a bound of 1.
    assert why.best.constraints == ("x0 <= 2",)
    assert why.best.size == pytest.approx(0.5, rel=0.06)
    assert why.best.words[0].startswith("let x0 go up to 3.0")


def test_what_binds_is_named_and_what_does_not_is_not() -> None:
    why = why_not(context_of(PLANE, [0.0, 0.0, 0.0], *BOXED))
    assert [one.constraint for one in why.bindings] == ["x0 <= 2", "x1 <= 1"]
    assert every(one.flips for one in why.bindings)
    assert "x2" not in why.sentence


def test_what_helps_without_being_enough_binds_too() -> None:
    # 4 of x0 and 1 of x1 are needed at least, and x1 is worth a tenth: it helps, but x0 is what is missing.
    explainer = explainer_of(half_space(1, 0.1, 0, at=3.5).logistic(DATA))
    why = why_not(context_of(explainer, [0.0, 0.0, 0.0], "x0 <= 1", "x1 <= 1", "x2 == x.x2"))
    assert [(one.constraint, one.flips) for one in why.bindings] == [("x0 <= 1", True), ("x1 <= 1", False)]
    before = explainer.explain([0.0, 0.0, 0.0], ["x0 <= 1", "x1 <= 1", "x2 == x.x2"]).bounded
    assert before is not None
    assert (why.bindings[1].score or 0) > (before.score or 1)


@settings(max_examples=6)
@given(
    st.lists(st.floats(0.3, 3), min_size=2, max_size=2),
    st.lists(st.floats(0.2, 3), min_size=2, max_size=2),
    st.sampled_from(
        ["x{j} <= {bound}", "x{j} within {bound}", "0 <= x{j} <= {bound}", "x{j} <= x.x{j} + {bound}"]
    ),
)
def test_each_relaxation_flips_and_five_percent_less_does_not(
    weights: list[float], bounds: list[float], form: str
) -> None:
    bounds = [round(bound, 3) for bound in bounds]
    reached = weights[0] * bounds[0] + weights[1] * bounds[1]
    explainer = explainer_of(half_space(*weights, 0, at=1.2 * reached).logistic(DATA))
    texts = [form.format(j=j, bound=bound) for j, bound in enumerate(bounds)] + ["x2 == x.x2"]
    context = context_of(explainer, [0.0, 0.0, 0.0], *texts)
    for one in why_not(context).relaxations:
        assert one.flips
        assert one.is_tight
        assert explainer.explain([0.0, 0.0, 0.0], asked(context, one)).status == "found"
        if len(one.constraints) == 1 and one.relaxed[0] is not None:
            less = _shrunk(one.constraints[0], one.relaxed[0])
            kept = [text for text in texts if text != one.constraints[0]]
            assert explainer.explain([0.0, 0.0, 0.0], [*kept, less]).status == "bounded"


def _shrunk(before: str, after: str) -> str:
    """Replace the last number of a text by one that lies 5% nearer to that of another."""
    *words, now = after.split(" ")
    was = float(before.split(" ")[-1])
    return " ".join([*words, repr(was + 0.95 * (float(now) - was))])


def test_two_constraints_are_relaxed_together_where_neither_alone_is_enough() -> None:
    # The data end below 4, so that x0 + x1 > 6 needs more than 2 of both.
    explainer = explainer_of(half_space(1, 1, 0, at=6).logistic(DATA))
    context = context_of(explainer, [0.0, 0.0, 0.0], "x0 <= 1", "x1 <= 1", "x2 == x.x2")
    why = why_not(context)
    (one,) = why.relaxations
    assert one.constraints == ("x0 <= 1", "x1 <= 1")
    assert explainer.explain([0.0, 0.0, 0.0], asked(context, one)).status == "found"
    bounds = [float((text or "").split("<=")[1]) for text in one.relaxed]
    assert 6 < sum(bounds) < 2 + 4 / 0.9
    assert why.pairs_tried == 3
    assert not why.pairs_untried


def test_without_constraints_the_range_of_the_data_is_what_binds() -> None:
    explainer = explainer_of(half_space(1, 0, 0, at=5).logistic(DATA))
    with pytest.raises(ssba.SsbaError, match="background"):
        why_not(context_of(explainer, [0.0, 0.0, 0.0], "x1 == x.x1"))
    mixed = np.concatenate([DATA, [[0.0, 3.9, 6.0]]])
    model = half_space(1, 0, 1, at=5).logistic(DATA)
    explainer = ssba.Explainer(model, mixed, target=True, distance=ssba.Distance(scale="none"))
    context = context_of(explainer, [0.0, 0.0, 0.0], "x2 == x.x2")
    found = [one for one in why_not(context).relaxations if "range of the data" in one.constraints[0]]
    (one,) = found
    assert 5 < float((one.relaxed[0] or "").split("<=")[1]) < 5.1
    assert explainer.explain([0.0, 0.0, 0.0], ["x2 == x.x2", one.relaxed[0] or ""]).status == "found"


def test_contradictions_are_named_and_resolved_by_the_least() -> None:
    context = context_of(PLANE, [0.0, 0.0, 0.0], "x0 >= 3", "x0 <= 1.5", "x1 within 50%", "x2 == x.x2")
    why = why_not(context)
    assert why.status == "infeasible"
    assert set(why.clash) == {"x0 >= 3", "x0 <= 1.5"}
    assert '"x0 >= 3"' in why.sentence
    feasible = {one.constraints: one for one in why.relaxations if not one.flips}
    # x1 is held at 0 (half of nothing), so that x0 alone has to pass 4, which is beyond the data.
    assert {one.relaxed for one in feasible.values()} <= {("x0 >= 1.5",), ("x0 <= 3",)}
    assert feasible
    for one in feasible.values():
        assert PLANE.explain([0.0, 0.0, 0.0], asked(context, one)).status == "bounded"


def test_a_contradiction_whose_smallest_resolution_flips_says_so() -> None:
    context = context_of(PLANE, [0.0, 0.0, 0.0], "x0 >= 3", "x0 <= 1.5", "x2 == x.x2")
    why = why_not(context)
    assert every(one.flips for one in why.relaxations)
    up = by_text(why)["x0 <= 1.5",]
    assert up.relaxed == ("x0 <= 3",)
    assert PLANE.explain([0.0, 0.0, 0.0], asked(context, up)).status == "found"


def test_a_query_that_is_there_has_a_contradiction_to_resolve_and_nothing_to_flip() -> None:
    row = [3.0, 3.0, 0.0]
    context = context_of(PLANE, row, "x0 >= 3", "x0 <= 1.5")
    why = why_not(context)
    assert why.is_there
    assert why.relaxations
    assert not any(one.flips for one in why.relaxations)
    assert why.sentence.endswith("the query reaches True as it is.")
    for one in why.relaxations:
        assert one.sentence.endswith(": then the constraints can be met.")
        assert PLANE.explain(row, asked(context, one)).status == "already_there"


def test_a_query_that_misses_has_a_contradiction_to_resolve_and_is_told_to_miss() -> None:
    why = why_not(context_of(PLANE, [0.0, 0.0, 0.0], "x2 >= 1", "x2 <= 0", "x0 <= 1", "x1 <= 1"))
    assert not why.is_there
    assert why.relaxations
    assert not any(one.flips for one in why.relaxations)
    assert every("no row was found that reaches the target" in one.sentence for one in why.relaxations)


def test_a_constraint_that_was_given_twice_is_relaxed_once() -> None:
    once = context_of(PLANE, [0.0, 0.0, 0.0], "x0 == x.x0", "x1 <= 1", "x2 == x.x2")
    twice = context_of(PLANE, [0.0, 0.0, 0.0], "x0 == x.x0", "x1 <= 1", "x0 does not change", "x2 == x.x2")
    why = why_not(twice)
    assert [one.constraints for one in why.relaxations] == [
        one.constraints for one in why_not(once).relaxations
    ]
    assert len({one.constraint for one in why.bindings}) == len(why.bindings)
    for one in why.relaxations:
        assert PLANE.explain([0.0, 0.0, 0.0], asked(twice, one)).status == "found"


def test_two_contradictions_at_once_need_two_relaxations() -> None:
    texts = ("x0 >= 3", "x0 <= 2", "x1 >= 3", "x1 <= 2")
    why = why_not(context_of(PLANE, [0.0, 0.0, 0.0], *texts))
    assert why.relaxations
    for one in why.relaxations:
        assert len(one.constraints) == 2
        assert {text[:2] for text in one.constraints} == {"x0", "x1"}


def test_a_limit_on_changes_is_relaxed_by_the_fewest_columns() -> None:
    # No column alone gets beyond 4 of the 6 that are needed; two do, if only just.
    explainer = explainer_of(half_space(1, 1, 1, at=6).logistic(DATA))
    why = why_not(context_of(explainer, [0.0, 0.0, 0.0], max_changes=1))
    one = by_text(why)["max_changes=1",]
    assert one.relaxed == ("max_changes=2",)
    assert one.words == ("let 2 columns change instead of 1",)
    assert len(one.changes) == 2


def test_what_makes_contradicting_constraints_possible_to_meet_keeps_to_the_limit_on_changes() -> None:
    """Three columns have to change and one may: to let "a" change as well does not help by itself."""
    data = pd.DataFrame({name: np.random.default_rng(i).integers(0, 6, 60) for i, name in enumerate("abc")})
    explainer = ssba.Explainer(lambda rows: rows["a"] > 3, data, target=True)
    rules = ["a == x.a", "a != x.a", "b != x.b", "c != x.c"]
    found = explainer.explain({"a": 1, "b": 2, "c": 3}, rules, max_changes=1)
    assert found.status.value == "infeasible"
    why = explainer.why_not(found)
    assert why.relaxations
    for one in why.relaxations:
        assert "max_changes=3" in one.relaxed


def test_a_margin_is_reduced_by_as_little_as_needed() -> None:
    # With x0 and x1 at most 2.5 the plane at 4 is at most 1 / sqrt(2) away: no larger ball fits.
    context = context_of(
        PLANE, [0.0, 0.0, 0.0], "x0 <= 2.5", "x1 <= 2.5", "x2 == x.x2", margin=ssba.ball(1.0)
    )
    one = by_text(why_not(context))["margin=ball(1)",]
    radius = float((one.relaxed[0] or "").removeprefix("margin=ball(").removesuffix(")"))
    assert 0.6 < radius < 1 / np.sqrt(2)


def test_plausibility_can_only_be_left_out() -> None:
    # The data lie around the two corners, the constraints force a row between them.
    rng = np.random.default_rng(1)
    data = np.concatenate([rng.normal(-3, 0.2, size=(60, 2)), rng.normal(3, 0.2, size=(60, 2))])
    explainer = ssba.Explainer(
        lambda rows: rows.sum(axis=1) > 1, data, target=True, distance=ssba.Distance(scale="none")
    )
    context = context_of(explainer, [-3.0, -3.0], "x0 <= 0", "x1 <= 1.5", plausible=True)
    one = by_text(why_not(context, most_rows=30_000))["plausible=True",]
    assert one.relaxed == (None,)
    assert one.size is None


def test_where_there_is_an_answer_there_is_nothing_to_relax() -> None:
    for row, status in (([0.0, 0.0, 0.0], "found"), ([4.0, 4.0, 0.0], "already_there")):
        why = why_not(context_of(PLANE, row))
        assert (why.status, why.relaxations) == (status, ())
        assert "nothing to relax" in why.sentence


def test_the_budget_is_kept_and_nothing_untried_is_called_smallest() -> None:
    def model(rows: Any) -> Any:
        return rows[:, 0] + np.sin(rows[:, 1]) > 3.5

    explainer = ssba.Explainer(model, DATA, target=True, distance=ssba.Distance(scale="none"))
    context = context_of(explainer, [0.0, 0.0, 0.0], "x0 <= 1", "x1 within 0.5", "x2 == x.x2")
    told = context.explain()
    full = why_not(context, told)
    for most_rows in (1, 2_000, 5_000):
        why = why_not(context, told, most_rows=most_rows)
        assert why.rows_used <= most_rows + 100
        assert why.ran_out
        for one in why.relaxations:
            # Tight is what cannot be loosened by 5% less, as far as the whole budget tells.
            sizes = [other.size or 0 for other in full.relaxations if other.constraints == one.constraints]
            assert not one.is_tight or 0.95 * (one.size or 0) < min(sizes)
            assert explainer.explain([0.0, 0.0, 0.0], asked(context, one)).status == "found"
    with pytest.raises(ssba.errors.ArgumentError, match="most_rows is 0"):
        why_not(context, told, most_rows=0)


def test_levels_and_ranks_are_allowed_one_by_one() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "pain": rng.choice(["none", "dull", "sharp"], 300),
            "school": rng.choice(["none", "HS", "BSc", "MSc"], 300),
            "age": rng.integers(20, 80, 300),
        }
    )

    def model(rows: Any) -> Any:
        ranks = rows["school"].map({"none": 0, "HS": 1, "BSc": 2, "MSc": 3}).to_numpy(dtype=float)
        return 2 * (rows["pain"] == "sharp").to_numpy() + ranks + rows["age"].to_numpy() / 100 > 2.65

    school = ssba.ordinal(["none", "HS", "BSc", "MSc"])
    explainer = ssba.Explainer(model, frame, target=True, features={"school": school})
    query = {"pain": "none", "school": "none", "age": 60}
    texts = ["pain in {'none', 'dull'}", "school <= 'HS'", "age == x.age"]
    context = context_of(explainer, query, *texts)
    found = by_text(why_not(context))
    # 2 for the pain and 1 for the school are enough; without the pain it takes 3; age alone does not help.
    assert found[texts[0],].relaxed == ("pain in {'none', 'dull', 'sharp'}",)
    assert found[texts[1],].relaxed == ("school <= 'MSc'",)
    assert (texts[2],) not in found
    for one in found.values():
        assert explainer.explain(query, asked(context, one)).status == "found"


@pytest.mark.parametrize("kind", ["linear", "network"])
def test_on_the_heart_data_every_relaxation_flips_when_it_is_applied(kind: str) -> None:
    network = MLPClassifier((8,), solver="lbfgs", alpha=10.0, max_iter=1000, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression() if kind == "linear" else network)
    model.fit(X, DISEASE)
    explainer = ssba.Explainer(model, X, target=False)
    texts = [rule.text for rule in rules()]
    patients = X[model.predict(X)][:6]
    told = explainer.explain_many(patients, texts)
    bounded = [(row, one) for row, one in zip(patients, told, strict=True) if one.status == "bounded"][:2]
    flips = 0
    for row, one in bounded:
        context = context_of(explainer, row, *texts)
        for relaxation in why_not(context, one, most_rows=30_000).relaxations:
            again = explainer.explain(row, asked(context, relaxation))
            assert again.best is not None
            assert again.best.distance <= (relaxation.distance or 0) * (1 + 1e-6)
            flips += 1
    assert flips >= len(bounded) == 2


def test_what_was_said_not_to_change_is_relaxed_last() -> None:
    # Alone, x0 would have to go up by 0.375, which is little; x1 would have to go up to 3, which is much.
    near = explainer_of(half_space(8, 1, 0, at=3).logistic(DATA))
    found = why_not(context_of(near, [0.0, 0.0, 0.0], "x0 == x.x0", "x1 <= 0.1", "x2 == x.x2")).relaxations
    assert [one.constraints for one in found] == [("x1 <= 0.1",), ("x0 == x.x0",)]
    assert found[0].size is not None
    assert found[1].size is not None
    assert found[0].size > found[1].size


WHOLE = pd.DataFrame({"age": np.arange(20, 80).repeat(10), "hours": np.tile(np.arange(10, 70), 10)})


@pytest.mark.parametrize(("age", "hours"), [(45, 48), (47, 61), (41, 55)])
def test_each_bound_of_a_pair_goes_just_as_far_as_its_own_answer_needs(age: int, hours: int) -> None:
    """A single row reaches, found only once the bounds are narrow; a wide corner beyond it, at once."""

    def model(rows: Any) -> Any:
        is_corner = (rows["age"] >= 64) & (rows["hours"] >= 64)
        return (((rows["age"] == age) & (rows["hours"] == hours)) | is_corner).to_numpy()

    explainer = ssba.Explainer(model, WHOLE, target=True)
    context = context_of(explainer, {"age": 35, "hours": 38}, "hours <= 40", "age <= 40")
    (one,) = why_not(context).relaxations
    assert set(one.relaxed) == {f"age <= {age}", f"hours <= {hours}"}
    assert {name: after for name, (_, after) in one.changes.items()} == {"age": age, "hours": hours}
    assert one.is_tight
    for tighter in ([f"age <= {age - 1}", f"hours <= {hours}"], [f"age <= {age}", f"hours <= {hours - 1}"]):
        assert explainer.explain({"age": 35, "hours": 38}, tighter).status == "bounded"


def test_what_is_called_the_smallest_cannot_be_a_step_tighter_as_far_as_explain_tells() -> None:
    def model(rows: Any) -> Any:
        age, hours = rows["age"].to_numpy(), rows["hours"].to_numpy()
        return (age * hours >= 2500) & ((age + hours) % 7 != 3)

    explainer = ssba.Explainer(model, WHOLE, target=True)
    query = {"age": 35, "hours": 38}
    context = context_of(explainer, query, "hours <= 40", "age <= 40")
    called = [one for one in why_not(context).relaxations if one.is_tight]
    assert called
    for one in called:
        bounds = {text.split()[0]: int(text.split()[-1]) for text in one.relaxed if text}
        for name in bounds:
            tighter = {"hours": 40, "age": 40, **bounds, name: bounds[name] - 1}
            texts = [f"{column} <= {bound}" for column, bound in tighter.items()]
            assert explainer.explain(query, texts).status == "bounded"


LONE = (12, 15, 3)
CUBE = np.array([row for row in itertools.product(range(18), repeat=3) if row != LONE])
LONELY = ssba.Explainer(lambda rows: (rows[:, 0] >= 16) | (rows == LONE).all(axis=1), CUBE, target=True)


def test_a_bound_goes_no_further_than_its_answer_needs_where_no_search_finds_that_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = context_of(LONELY, [8, 8, 8], "x0 <= 9")
    terms, (condition,) = conditions_of(context, None)
    own = LONELY.explain([8, 8, 8], ["x0 <= 15"]).best
    (attempt,) = attempts_alone(context, condition, {"x0": 16, "x1": 8, "x2": 8})
    wide = replace(attempt, outcome=Find(own), is_tight=True)
    inquiry = _Inquiry(context, context.explain(), Prober(context.goal, 20_000), terms, [condition])
    monkeypatch.setattr(_Inquiry, "nearest", lambda inquiry, terms: [None for _ in terms])
    monkeypatch.setattr(_Inquiry, "flips_as_explained", lambda inquiry, terms: [None for _ in terms])
    (narrow,) = _brought_down(inquiry, [wide])
    assert wide.at(wide.high, terms).constraints[0] == ssba.constraint("x0 <= 16")
    assert narrow.at(narrow.high, terms).constraints[0] == ssba.constraint("x0 <= 12")
    assert not narrow.is_tight


def test_smallest_is_said_with_what_shows_it() -> None:
    why = why_not(context_of(PLANE, [0.0, 0.0, 0.0], *BOXED))
    assert why.best is not None
    assert why.best.is_proved
    assert "A relaxation that is just enough (proved: with a bound a step" in why.sentence
    short = why_not(context_of(PLANE, [0.0, 0.0, 0.0], *BOXED), most_rows=9_000)
    for one in short.relaxations:
        assert one.is_tight or one.claim == "A relaxation that is enough, perhaps more than is needed"
