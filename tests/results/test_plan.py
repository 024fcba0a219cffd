import json
from dataclasses import replace

from ssba.results.plan import Plan, Step, change_words

FIRST = Step(
    columns=("chol",),
    changes={"chol": (240, 212)},
    values={"chol": 212, "exang": "yes"},
    prediction="disease",
    score_before=0.25,
    score_after=0.375,
    gain=0.125,
    share=0.5,
    reached=False,
    effort=2.0,
)
SECOND = Step(
    columns=("exang",),
    changes={"exang": ("yes", "no")},
    values={"chol": 212, "exang": "no"},
    prediction="no disease",
    score_before=0.375,
    score_after=0.625,
    gain=0.25,
    share=0.5,
    reached=True,
    effort=1.0,
)
PLAN = Plan(
    query={"chol": 240, "exang": "yes"},
    prediction="disease",
    score=0.25,
    target="'no disease'",
    steps=(FIRST, SECOND),
    reached=True,
    units={"chol": "mg/dl"},
)


class TestSentence:
    def test_it_names_every_step_with_its_score(self) -> None:
        assert PLAN.sentence == (
            "2 steps lead from disease to no disease: chol from 240 mg/dl to 212 mg/dl "
            "(score 0.25 to 0.375); exang from yes to no (score 0.375 to 0.625)."
        )

    def test_one_step_is_one_step(self) -> None:
        plan = replace(PLAN, steps=(SECOND,), left_out={"chol": (240, 212)})
        assert plan.sentence.startswith("One step leads from disease to no disease: exang from yes to no")
        assert plan.sentence.endswith(
            "Of the proposed changes chol from 240 mg/dl to 212 mg/dl is not needed: "
            "the last row is a counterfactual of its own."
        )

    def test_a_plan_that_falls_short_says_so(self) -> None:
        plan = replace(PLAN, steps=(FIRST,), reached=False, left_out={"exang": ("yes", "no")})
        assert plan.sentence == (
            "One step toward 'no disease', which it does not reach (score 0.25 to 0.375): "
            "chol from 240 mg/dl to 212 mg/dl (score 0.25 to 0.375). "
            "This is a directional improvement: the best score along this plan. "
            "Of the proposed changes exang from yes to no would not raise the score."
        )

    def test_without_scores_it_does_not_speak_of_the_best_one(self) -> None:
        step = replace(FIRST, score_before=None, score_after=None, gain=None)
        plan = replace(PLAN, steps=(step,), reached=False, score=None)
        assert plan.sentence.endswith(
            "This is a directional improvement; the model gives no score to measure it by."
        )

    def test_a_score_that_falls_short_does_not_look_like_the_target(self) -> None:
        target = "a probability of 'no disease' of at least 0.9"
        step = replace(FIRST, score_after=0.899961)
        plan = replace(PLAN, target=target, steps=(step,), reached=False)
        assert "which it does not reach (score 0.25 to 0.89996):" in plan.sentence
        assert "0.89996 " in repr(plan)

    def test_a_number_has_no_classes_to_name(self) -> None:
        steps = (replace(SECOND, prediction=118.5),)
        plan = replace(PLAN, prediction=130.25, target="a value of at most 120", steps=steps)
        assert plan.sentence.startswith("One step leads to a value of at most 120:")

    def test_no_steps_are_explained(self) -> None:
        assert "already predicts disease" in replace(PLAN, steps=()).sentence
        assert "No step toward 'no disease'" in replace(PLAN, steps=(), reached=False).sentence

    def test_steps_beyond_the_limit_are_named(self) -> None:
        assert "chol: a step is longer than max_step" in replace(PLAN, beyond=("chol",)).sentence


class TestPlan:
    def test_it_ends_with_its_last_step(self) -> None:
        assert PLAN.final == {"chol": 212, "exang": "no"}
        assert replace(PLAN, steps=()).final == PLAN.query
        assert PLAN.total_effort == 3.0

    def test_everything_is_in_the_dict(self) -> None:
        plain = json.loads(json.dumps(PLAN.to_dict()))
        assert plain["steps"][0]["changes"] == {"chol": [240, 212]}
        assert (plain["final"], plain["total_effort"]) == (PLAN.final, 3.0)
        assert plain["sentence"] == PLAN.sentence

    def test_it_shows_as_a_table(self) -> None:
        table = repr(PLAN).split("\n\n")[1].splitlines()
        assert table[0].split() == ["step", "change", "score", "gain", "prediction"]
        assert table[1].split() == ["as", "it", "is", "0.25", "disease"]
        assert " ".join(table[3].split()) == "2 exang from yes to no 0.625 +0.25 no disease"

    def test_without_scores_there_is_no_score_to_show(self) -> None:
        step = replace(SECOND, score_before=None, score_after=None, gain=None)
        plan = replace(PLAN, score=None, steps=(step,))
        assert plan.sentence.endswith("exang from yes to no.")
        assert repr(plan).split("\n\n")[1].splitlines()[0].split() == ["step", "change", "prediction"]


def test_changes_show_all_digits() -> None:
    assert change_words({"a": (0.1, 0.123456789)}, {}) == "a from 0.1 to 0.123456789"


class TestRegressors:
    """The number that a regressor predicts is no score."""

    STEP = replace(FIRST, prediction=110.0, score_before=100.0, score_after=110.0, gain=10.0)
    PLAN = replace(
        PLAN, prediction=100.0, score=100.0, target="a value of at least 120", steps=(STEP,), reached=False
    )

    def test_sentences_speak_of_the_predicted_value(self) -> None:
        plan = replace(self.PLAN, left_out={"exang": ("yes", "no")})
        assert plan.sentence == (
            "One step toward a value of at least 120, which it does not reach (predicted value 100 to 110): "
            "chol from 240 mg/dl to 212 mg/dl (predicted value 100 to 110). This is a directional "
            "improvement: the best predicted value along this plan. Of the proposed changes exang from yes "
            "to no would not bring the predicted value nearer."
        )

    def test_the_table_has_the_number_once(self) -> None:
        lines = repr(self.PLAN).splitlines()
        assert "predicted value  nearer by" in lines[-3]
        assert lines[-1].split()[-2:] == ["110", "+10"]
        assert "score" not in repr(self.PLAN)

    def test_large_values_that_are_near_each_other_look_different(self) -> None:
        step = replace(
            self.STEP, prediction=780012.5, score_before=780011.75, score_after=780012.5, gain=25000.25
        )
        near = replace(PLAN, prediction=780011.75, score=780011.75, steps=(step,))
        assert "(predicted value 780011.8 to 780012.5)" in near.sentence
        assert "e+" not in repr(near)
        assert "+25000" in repr(near)
