"""The words: a sentence for every status, a table a person can read."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import every

import ssba
from ssba.results.words import cell, columns, join, show

QUERY: dict[str, Any] = {"age": 61, "chol": 286.0, "pain": "strong", "ca": None}
ANSWER = ssba.results.Counterfactual(
    values={"age": 61, "chol": 240.123456789, "pain": "mild", "ca": 1.0},
    changes={"chol": (286.0, 240.123456789), "pain": ("strong", "mild"), "ca": (None, 1.0)},
    distance=1.2345678,
    prediction="well",
    score=0.7312345,
)
FOUND = ssba.results.Explanation(
    status=ssba.results.Status.FOUND,
    query=QUERY,
    prediction="ill",
    score=0.2,
    target="'well'",
    constraints=("age == x.age",),
    counterfactuals=(ANSWER,),
    rows_used=1234,
    seconds=0.5,
    columns=(ssba.results.Column("chol", "numeric", unit="mg/dl"),),
)
MOVE = replace(ANSWER, prediction="ill", score=0.4, distance_to_boundary=0.875)
BOUNDED = replace(FOUND, status=ssba.results.Status.BOUNDED, counterfactuals=(), bounded=MOVE)
STAY = ssba.results.Counterfactual(QUERY, {}, 0.0, "ill", 0.2, distance_to_boundary=0.875)


class TestSentence:
    def test_found_says_what_to_change_and_what_it_does(self) -> None:
        assert FOUND.sentence == (
            "Changing chol from 286 mg/dl to 240.123456789 mg/dl, pain from strong to mild and ca from "
            "missing to 1 changes the model's prediction from ill to well."
        )

    def test_bounded_says_how_far_it_gets_and_what_to_relax(self) -> None:
        for part in ("'well'", "chol, pain and ca", "0.875", "from 0.2 to 0.4", '"age == x.age"', "relax"):
            assert part in BOUNDED.sentence

    def test_bounded_without_a_move_says_so(self) -> None:
        told = replace(BOUNDED, bounded=STAY).sentence
        assert "the query itself" in told
        assert '"age == x.age"' in told

    def test_bounded_without_constraints_points_to_the_ranges(self) -> None:
        said = "only the ranges of the data limit the search, and a constraint with a bound beyond them"
        told = replace(BOUNDED, constraints=()).sentence
        assert f"; {said} widens them." in told
        assert "relax" not in told
        columns = tuple(
            ssba.results.Column(name, "integer", step=1.0, data_low=20.0, data_high=high)
            for name, high in (("constant", 20.0), ("max HR", 80.0))
        )
        named = replace(BOUNDED, bounded=STAY, constraints=(), columns=columns).sentence
        assert named.startswith(
            "No feasible row was found that reaches 'well', and no feasible move that gets closer than "
            f'the query itself was found; {said}, such as "`max HR` <= 95", widens them.'
        )

    def test_where_there_are_only_levels_no_range_is_blamed(self) -> None:
        column = ssba.results.Column("pain", "categorical", ("mild", "strong"))
        told = replace(BOUNDED, constraints=(), columns=(column,)).sentence
        assert "; only the levels of the columns limit the search." in told

    def test_a_score_that_misses_the_target_does_not_look_like_it(self) -> None:
        target = "a probability of 'well' of at least 0.9"
        for score, shown in ((0.8996, "0.8996"), (0.899961, "0.89996"), (0.99961, "0.9996")):
            told = replace(BOUNDED, target=target, bounded=replace(MOVE, score=score)).sentence
            assert f"with the score going from 0.2 to {shown};" in told

    def test_two_scores_look_different(self) -> None:
        near = replace(BOUNDED, score=0.40001, bounded=replace(MOVE, score=0.40002))
        assert "going from 0.40001 to 0.40002;" in near.sentence
        same = replace(BOUNDED, score=0.0, bounded=replace(MOVE, score=0.0))
        assert ", with the score staying at 0;" in same.sentence

    def test_a_column_of_whole_numbers_is_told_in_about_whole_ones(self) -> None:
        def told(**facts: Any) -> str:
            column = ssba.results.Column("chol", weight=1.0, **facts)
            return replace(BOUNDED, columns=(column,)).sentence

        change = "as far as a change of chol by"
        whole = {"kind": "integer", "step": 1.0, "unit": "mg/dl"}
        assert f"{change} about 53 mg/dl," in told(scale=60.2, **whole)
        assert f"{change} about 1.3 mg/dl," in told(scale=1.51, **whole)
        assert f"{change} about 42 days," in told(kind="date", step=1.0, scale=47.5)
        assert f"{change} 52.7 mg/dl," in told(kind="numeric", scale=60.2, unit="mg/dl")
        assert f"{change} 612000 mg/dl," in told(kind="numeric", scale=7e5, unit="mg/dl")

    def test_bounded_names_missing_cells_that_might_be_filled(self) -> None:
        gap = replace(BOUNDED, query={**BOUNDED.query, "ca": None}, constraints=("age == x.age",))
        assert gap.sentence.endswith('ca is missing, and stays so without the constraint "ca may be filled".')
        two = replace(gap, query={**gap.query, "max HR": None})
        assert two.sentence.endswith(
            'are missing, and stay so without constraints such as "ca may be filled".'
        )
        spaced = replace(
            BOUNDED,
            query={**BOUNDED.query, "max HR": None},
            constraints=("`max HR` may be filled", "ca may be filled"),
        )
        assert "missing" not in spaced.sentence
        allowed = replace(gap, constraints=("age == x.age", "ca may be filled"))
        assert "missing" not in allowed.sentence

    def test_infeasible_names_the_clash_and_the_remedy(self) -> None:
        clash = ("chol >= 300", "chol <= 200")
        told = replace(FOUND, status=ssba.results.Status.INFEASIBLE, counterfactuals=(), clash=clash).sentence
        assert '"chol >= 300" and "chol <= 200"' in told
        assert "contradict" in told
        assert "relax" in told

    def test_infeasible_by_one_constraint_alone(self) -> None:
        told = replace(
            FOUND, status=ssba.results.Status.INFEASIBLE, counterfactuals=(), clash=("chol >= 900",)
        ).sentence
        assert 'the constraint "chol >= 900"' in told
        assert "each other" not in told

    def test_infeasible_names_the_columns_of_the_clash_that_are_constant(self) -> None:
        columns = tuple(
            ssba.results.Column(name, "numeric", data_low=0.0, data_high=high)
            for name, high in (("chol", 500.0), ("max HR", 0.0), ("ca", 0.0))
        )
        infeasible = replace(
            FOUND,
            status=ssba.results.Status.INFEASIBLE,
            counterfactuals=(),
            columns=columns,
            options=ssba.Options(max_changes=1),
            clash=("chol >= 300", "`max HR` >= 1", "max_changes=1"),
        )
        assert infeasible.sentence.endswith(
            "drop or relax one of them. Column 'max HR' holds a single value in the background data and is "
            "held fixed; give data in which it varies if it may change."
        )
        assert "fixed" not in replace(infeasible, clash=("chol >= 300",)).sentence

    def test_infeasible_names_the_declared_bounds_of_the_columns_of_the_clash(self) -> None:
        columns = (
            ssba.results.Column("max HR", "numeric", low=300.0, data_low=0.0, data_high=200.0),
            ssba.results.Column("age", "numeric", high=90.0, data_low=0.0, data_high=80.0),
        )
        infeasible = replace(
            FOUND,
            status=ssba.results.Status.INFEASIBLE,
            counterfactuals=(),
            columns=columns,
            clash=("`max HR` <= 200",),
        )
        assert infeasible.sentence.endswith("drop or relax it. Declared is `max HR` >= 300.")

    def test_already_there(self) -> None:
        told = replace(
            FOUND, status=ssba.results.Status.ALREADY_THERE, prediction="well", counterfactuals=()
        ).sentence
        assert told == "The model already predicts well, which reaches 'well': nothing to change."

    def test_already_there_names_the_constraints_that_the_row_itself_breaks(self) -> None:
        rows = np.random.default_rng(0).integers(0, 30, size=(200, 2))
        explainer = ssba.Explainer(lambda rows: rows[:, 0] >= 15, rows, target=True)
        own = "The model already predicts True, which reaches True: nothing to change."
        assert explainer.explain([20, 9], ["x0 >= 5", "x1 == x.x1"]).sentence == own
        one = explainer.explain([20, 9], ["x0 <= 5", "x1 <= x.x1"])
        assert one.status == "already_there"
        about = "constraints are about proposed rows, so none that meets"
        assert one.sentence == f'{own} The row itself breaks "x0 <= 5"; {about} it was looked for.'
        both = explainer.explain([20, 9], ["x0 <= 5", "x1 != 9"])
        assert both.sentence == (
            f'{own} The row itself breaks "x0 <= 5" and "x1 != 9"; {about} them was looked for.'
        )
        assert both.sentence in ssba.results.paragraph(both)
        assert ssba.results.Explanation.from_json(both.to_json()).sentence == both.sentence

    def test_out_of_budget_says_which_budget_and_how_to_allow_more(self) -> None:
        out = replace(FOUND, status=ssba.results.Status.OUT_OF_BUDGET, counterfactuals=(), stopped="rows")
        by_rows = replace(out, budget=ssba.Budget(rows=1234)).sentence
        assert "The budget of 1,234 model rows ran out" in by_rows
        assert "budget=ssba.Budget(rows=...)" in by_rows
        by_time = replace(out, stopped="seconds", budget=ssba.Budget(seconds=2.5)).sentence
        assert "The budget of 2.5 seconds ran out" in by_time
        assert "budget=ssba.Budget(seconds=...)" in by_time

    def test_an_answer_from_a_search_that_was_cut_short_says_so(self) -> None:
        by_rows = replace(FOUND, stopped="rows", budget=ssba.Budget(rows=1234)).sentence
        assert by_rows.startswith(FOUND.sentence)
        assert "its budget of 1,234 model rows" in by_rows
        by_time = replace(FOUND, stopped="seconds", budget=ssba.Budget(seconds=2.5)).sentence
        assert "its budget of 2.5 seconds" in by_time

    def test_every_sentence_ends_in_one_full_stop(self) -> None:
        told = [
            FOUND.sentence,
            BOUNDED.sentence,
            replace(BOUNDED, constraints=()).sentence,
            replace(FOUND, status=ssba.results.Status.OUT_OF_BUDGET, counterfactuals=()).sentence,
        ]
        assert every(one.endswith(".") and not one.endswith("..") for one in told)


class TestRepr:
    def test_it_is_a_readable_table(self) -> None:
        assert repr(FOUND).splitlines()[2:] == [
            "column      now        proposed",
            "chol        286 mg/dl  240.123456789 mg/dl",
            "pain        strong     mild",
            "ca          missing    1",
            "prediction  ill        well",
            "score       0.2        0.7312",
            "distance    0          1.235",
            "",
            "1,234 model rows, 0.50 s, seed 0",
        ]
        assert repr(FOUND).startswith("found: Changing chol")

    @pytest.mark.parametrize("explanation", [FOUND, BOUNDED, replace(BOUNDED, bounded=STAY)])
    def test_no_nan_and_no_none_is_shown(self, explanation: ssba.results.Explanation) -> None:
        assert "nan" not in repr(explanation).lower()
        assert "None" not in repr(explanation)

    def test_several_answers_have_a_table_each(self) -> None:
        assert repr(replace(FOUND, counterfactuals=(ANSWER, ANSWER))).count("proposed") == 2

    def test_many_are_counted_by_status(self) -> None:
        assert (
            repr(ssba.results.Explanations((FOUND, BOUNDED, FOUND))) == "<3 explanations: 2 found, 1 bounded>"
        )


class TestPieces:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (2.30000001, "2.3"),
            (3.0, "3"),
            (1e-9, "1e-09"),
            (123456789, "123456789"),
            (True, "True"),
            (None, "missing"),
            ("a b", "a b"),
        ],
    )
    def test_values_are_short(self, value: Any, shown: str) -> None:
        assert show(value) == shown

    def test_a_missing_value_has_no_unit(self) -> None:
        assert show(None, "mg/dl") == "missing"
        assert show(5, "mg/dl") == "5 mg/dl"

    def test_two_numbers_that_differ_are_not_shown_alike(self) -> None:
        # "from 240.123 to 240.123" would tell the reader to change nothing.
        near = replace(ANSWER, changes={"chol": (240.1234567, 240.1234999)})
        told = replace(FOUND, counterfactuals=(near,)).sentence
        before, after = told.split(" from ")[1].split(" turns")[0].split(" to ")
        assert before != after

    def test_joining(self) -> None:
        assert [join([]), join(["a"]), join(["a", "b"])] == ["nothing", "a", "a and b"]

    def test_columns_are_aligned_without_trailing_space(self) -> None:
        assert columns([("a", "bb", ""), ("cc", "d", "e")]) == "a   bb\ncc  d   e"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_can_be_read_back(value: float) -> None:
    """As it was; one that 32 bits can hold at least as that."""
    read = float(cell(value))
    assert read == value or np.float32(read) == np.float32(value) == value


@given(st.floats(2.0**-10, 2.0**20, width=32))
def test_numbers_of_32_bits_have_no_more_digits_than_these(value: float) -> None:
    assert len(cell(value).replace(".", "").lstrip("0")) <= 12
    assert np.float32(float(cell(value))) == np.float32(value)


class TestBudgets:
    """What ended the search is what more is asked of."""

    def ended(self, **changes: Any) -> str:
        return replace(FOUND, **changes).sentence

    @pytest.mark.parametrize(
        ("stopped", "budget", "spent", "more"),
        [
            ("seconds", ssba.Budget(seconds=2.5), "2.5 seconds", "seconds"),
            ("seconds", ssba.Budget(seconds=1), "1 second", "seconds"),
            ("rows", ssba.Budget(rows=2000), "2,000 model rows", "rows"),
            ("rows", ssba.Budget(rows=1, seconds=9), "1 model row", "rows"),
        ],
    )
    def test_the_part_that_ended_it_is_named(self, stopped: Any, budget: Any, spent: str, more: str) -> None:
        ended = f"The search ended with its budget of {spent}"
        larger = f"a larger one (budget=ssba.Budget({more}=...)) may find"
        found = self.ended(stopped=stopped, budget=budget)
        assert found.endswith(f" {ended}; {larger} a nearer answer.")
        bounded = replace(BOUNDED, stopped=stopped, budget=budget).sentence
        assert bounded.endswith(f" {ended}; {larger} an answer.")
        out = self.ended(
            status=ssba.results.Status.OUT_OF_BUDGET, counterfactuals=(), stopped=stopped, budget=budget
        )
        assert out == (
            f"The budget of {spent} ran out before any feasible row reached 'well'; allow more with "
            f"budget=ssba.Budget({more}=...)."
        )


class TestProbabilities:
    GOAL = ssba.probability("well", at_least=0.7)

    def test_the_probability_is_named_beside_the_prediction(self) -> None:
        found = replace(FOUND, goal=self.GOAL, target="probability of 'well' at least 0.7")
        assert found.sentence == (
            "Changing chol from 286 mg/dl to 240.123456789 mg/dl, pain from strong to mild and ca from "
            "missing to 1 reaches probability of 'well' at least 0.7 (0.2 before, 0.7312 after) and "
            "changes the model's prediction from ill to well."
        )

    def test_a_prediction_that_stays_is_not_named(self) -> None:
        found = replace(FOUND, goal=self.GOAL, target="probability of 'well' at least 0.7", prediction="well")
        assert found.sentence.endswith(
            "reaches probability of 'well' at least 0.7 (0.2 before, 0.7312 after)."
        )


class TestRegressors:
    """The number that a regressor predicts is no score."""

    MOVE = replace(ANSWER, prediction=131.5, score=131.5)

    def test_a_table_has_the_number_once(self) -> None:
        target = "a value of at least 130"
        found = replace(FOUND, prediction=120.25, score=120.25, target=target, counterfactuals=(self.MOVE,))
        assert "score" not in repr(found)
        assert "prediction  120.2" in repr(found)
        assert "reaches a value of at least 130 (120.2 before, 131.5 after)." in found.sentence
        assert "score" not in found._repr_html_()

    def test_large_values_are_written_out_and_alike(self) -> None:
        target = "a value of at least 1000000"
        move = replace(self.MOVE, prediction=1000460.25, score=1000460.25)
        found = replace(FOUND, prediction=780000.25, score=780000.25, target=target, counterfactuals=(move,))
        assert "reaches a value of at least 1000000 (780000 before, 1000460 after)." in found.sentence
        shown = (repr(found), found._repr_html_(), ssba.results.paragraph(found))
        assert all("1000460" in one and "780000" in one and "e+0" not in one for one in shown)

    def test_a_bounded_move_has_a_predicted_value(self) -> None:
        bounded = replace(BOUNDED, prediction=120.25, score=120.25, bounded=self.MOVE)
        assert ", with the predicted value going from 120.2 to 131.5;" in bounded.sentence


def test_an_empty_level_is_seen_in_quotes() -> None:
    rows = pd.DataFrame({"c": ["", "nan", " "] * 40, "b": np.arange(120.0)})
    explainer = ssba.Explainer(lambda rows: (rows["c"] == "nan").to_numpy(), rows, target=True)
    found = explainer.explain({"c": "", "b": 3.0})
    assert found.sentence == "Changing c from '' to nan changes the model's prediction from False to True."
    assert "change c from '' to nan" in ssba.results.paragraph(found)
    assert show(" ") == "' '"


def test_three_times_the_same_score_is_written_alike() -> None:
    found = replace(FOUND, goal=TestProbabilities.GOAL, target="probability of 'well' at least 0.7")
    shown = (found.sentence, repr(found), found._repr_html_(), ssba.results.paragraph(found))
    assert all("0.7312" in one and "0.73123" not in one for one in shown)
