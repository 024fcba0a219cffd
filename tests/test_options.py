"""Options and budgets: checked when they are made, comparable, and the same in every form of a call."""

from dataclasses import FrozenInstanceError, fields
from typing import Any, get_type_hints

import numpy as np
import pytest

import ssba
from ssba.options import OptionFields

X = np.random.default_rng(2).normal(size=(200, 3))
EXPLAINER = ssba.Explainer(lambda rows: rows @ [1.0, 2.0, -0.5] > 1, X, target=True)
GIVEN: dict[str, Any] = {
    "k": 3,
    "sparsity": "balanced",
    "diversity": "levers",
    "max_changes": 2,
    "plausible": True,
    "margin": ssba.score_margin(0.1),
    "evidence": 0,
    "prove": True,
    "calls": "few",
}


class TestMaking:
    @pytest.mark.parametrize(
        ("field", "value", "says"),
        [
            ("k", 0, "k is 0; give"),
            ("k", 1.5, "k is 1.5"),
            ("k", True, "k is True"),
            ("sparsity", "some", "sparsity is 'some'.*'balanced'"),
            ("diversity", None, "diversity is None.*'levers'"),
            ("max_changes", 0, "max_changes is 0"),
            ("max_changes", "two", "max_changes is 'two'"),
            ("plausible", 1, "plausible is 1; give True or False"),
            ("prove", "yes", "prove is 'yes'; give 'auto', True or False"),
            ("prove", 1, "prove is 1; give 'auto', True or False"),
            ("calls", "some", "calls is 'some'.*'few'"),
            ("margin", 0, "margin is 0; give a distance above 0"),
            ("margin", "wide", "margin is 'wide'"),
            ("evidence", -1, "evidence is -1"),
        ],
    )
    def test_what_means_nothing_is_refused_by_name(self, field: str, value: Any, says: str) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=says):
            ssba.Options(**{field: value})
        with pytest.raises(ssba.errors.ArgumentError, match=says):
            EXPLAINER.explain([0.0, 0.0, 0.0], **{field: value})

    def test_a_number_is_the_radius_of_a_ball(self) -> None:
        assert ssba.Options(margin=0.5) == ssba.Options(margin=ssba.ball(0.5))  # type: ignore[arg-type]

    def test_numpys_whole_numbers_become_plain_ones(self) -> None:
        made = ssba.Options(k=np.int64(3), max_changes=np.int8(2))  # type: ignore[arg-type]
        assert [type(made.k), type(made.max_changes)] == [int, int]

    def test_they_cannot_be_changed_and_can_be_keys(self) -> None:
        made = ssba.Options(**GIVEN)
        with pytest.raises(FrozenInstanceError):
            made.k = 5  # type: ignore[misc]
        assert {made: 1}[ssba.Options(**GIVEN)] == 1

    def test_a_call_takes_exactly_the_fields_by_name(self) -> None:
        assert set(get_type_hints(OptionFields)) == {one.name for one in fields(ssba.Options)} == set(GIVEN)

    def test_limits_are_told_in_the_words_of_the_call(self) -> None:
        assert ssba.Options().limits == ()
        assert ssba.Options(k=3, evidence=0, prove=True, sparsity="strong").limits == ()
        assert ssba.Options(**GIVEN).limits == (
            "max_changes=2",
            "plausible=True",
            "margin=score_margin(0.1)",
        )


class TestJson:
    @pytest.mark.parametrize(
        "options",
        [{}, *({name: value} for name, value in GIVEN.items()), GIVEN, {"margin": 1 / 3}, {"prove": False}],
        ids=str,
    )
    def test_it_loses_nothing(self, options: dict[str, Any]) -> None:
        before = ssba.Options(**options)
        after = ssba.Options.from_json(before.to_json())
        assert after == before
        assert type(after.margin) is type(before.margin)

    @pytest.mark.parametrize(
        "change", [{"k": 0}, {"k": "3"}, {"sparsity": "some"}, {"margin": {"kind": "x"}}, {"prove": "yes"}]
    )
    def test_what_no_call_takes_is_refused(self, change: dict[str, Any]) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="this is not the JSON of the kind 'options'"):
            ssba.Options.from_dict({**ssba.Options().to_dict(), **change})


class TestCalls:
    def test_fields_by_name_are_short_for_options(self) -> None:
        by_name = EXPLAINER.explain([0.0, 0.0, 0.0], k=3)
        by_options = EXPLAINER.explain([0.0, 0.0, 0.0], options=ssba.Options(k=3))
        assert len(by_name.counterfactuals) == 3
        assert by_name.counterfactuals == by_options.counterfactuals
        assert by_name.options == by_options.options == ssba.Options(k=3)

    def test_fields_by_name_go_before_those_of_options(self) -> None:
        asked = EXPLAINER.explain([0.0, 0.0, 0.0], options=ssba.Options(k=2, evidence=0), k=1, max_changes=1)
        assert asked.options == ssba.Options(k=1, evidence=0, max_changes=1)
        assert len(asked.counterfactuals) == 1

    def test_many_queries_take_them_too(self) -> None:
        rows = X[X @ [1.0, 2.0, -0.5] < 0.5][:3]
        by_name = EXPLAINER.explain_many(rows, max_changes=1)
        by_options = EXPLAINER.explain_many(rows, options=ssba.Options(max_changes=1))
        assert len(by_name) == 3
        for one, other in zip(by_name, by_options, strict=True):
            assert one.counterfactuals == other.counterfactuals
            assert one.best is not None
            assert len(one.best.changes) == 1

    def test_a_name_that_is_no_option_is_refused(self) -> None:
        for ask in (EXPLAINER.explain, EXPLAINER.explain_many):
            with pytest.raises(
                ssba.errors.ArgumentError,
                match=r"'sparcity' is not an option \(did you mean 'sparsity'\?\); the options are k, ",
            ):
                ask(X[:1], sparcity="strong")  # type: ignore[call-arg]

    @pytest.mark.parametrize("options", [3, {"k": 3}, "k=3"])
    def test_what_are_no_options_is_refused(self, options: Any) -> None:
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"options is .*; give ssba.Options\(k=..., ...\)"
        ):
            EXPLAINER.explain([0.0, 0.0, 0.0], options=options)

    def test_many_rows_have_no_target_of_their_own(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"write toward\(target\).explain_many"):
            EXPLAINER.explain_many(X[:1], target=False)  # type: ignore[call-arg]

    def test_a_budget_is_named(self) -> None:
        with pytest.raises(TypeError):
            EXPLAINER.explain([0.0, 0.0, 0.0], (), ssba.Budget(rows=100))  # type: ignore[call-arg]
        with pytest.raises(ssba.errors.ArgumentError, match=r"budget is 100; give ssba.Budget"):
            EXPLAINER.explain([0.0, 0.0, 0.0], budget=100)  # type: ignore[arg-type]

    def test_an_explanation_knows_its_budget(self) -> None:
        asked = EXPLAINER.explain([0.0, 0.0, 0.0], budget=ssba.Budget(rows=300))
        assert asked.budget == ssba.Budget(rows=300)
        assert EXPLAINER.explain([0.0, 0.0, 0.0]).budget == ssba.Budget()
