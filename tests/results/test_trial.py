import json
from dataclasses import replace

from ssba.results.explanation import Counterfactual
from ssba.results.trial import Trial

TRIAL = Trial(
    tried={"chol": (240, 220)},
    values={"chol": 220, "thalach": 150},
    prediction="disease",
    score=0.4375,
    score_before=0.25,
    reached=False,
    broken=(),
    outside=(),
    enough=False,
    answer=Counterfactual(
        {"chol": 220, "thalach": 158}, {"chol": (240, 220), "thalach": (150, 158)}, 1.5, "no disease", 0.53
    ),
    missing={"thalach": (150, 158)},
    distance_left=0.75,
    keeps=True,
    target="'no disease'",
    units={"chol": "mg/dl"},
)
ENOUGH = replace(TRIAL, reached=True, enough=True, prediction="no disease", answer=None, missing={})


class TestSentence:
    def test_what_is_still_missing(self) -> None:
        assert TRIAL.sentence == (
            "With chol = 220 mg/dl the model predicts disease (score 0.4375), which does not reach "
            "'no disease'. Still missing: thalach from 150 to 158."
        )

    def test_nothing_is_missing(self) -> None:
        assert ENOUGH.sentence == (
            "With chol = 220 mg/dl the model predicts no disease (score 0.4375), which reaches 'no disease'. "
            "Nothing is missing."
        )

    def test_what_stands_against_it(self) -> None:
        trial = replace(TRIAL, broken=("chol within 5%",), outside=("chol = 900 lies too high",), keeps=False)
        assert 'It breaks "chol within 5%". chol = 900 lies too high.' in trial.sentence
        assert "Still missing (the nearest answer does not keep every edit): thalach" in trial.sentence

    def test_no_way_from_there(self) -> None:
        trial = replace(TRIAL, answer=None, missing={}, distance_left=None)
        assert trial.sentence.endswith("From there no feasible row was found that reaches the target.")

    def test_where_the_target_is_reached_it_is_not_what_is_missing(self) -> None:
        trial = replace(TRIAL, reached=True, broken=("margin=ball(1)",), answer=None, missing={})
        assert trial.sentence.endswith(
            "which reaches 'no disease'. It breaks \"margin=ball(1)\". From there no feasible row was found "
            "that reaches the target with all that was asked for."
        )

    def test_nothing_edited(self) -> None:
        assert replace(TRIAL, tried={}, score=None).sentence.startswith(
            "With nothing edited the model predicts disease, which"
        )

    def test_a_number_is_told_once(self) -> None:
        assert "predicts 118.5, which" in replace(TRIAL, prediction=118.5, score=118.5).sentence


def test_everything_is_in_the_dict() -> None:
    plain = json.loads(json.dumps(TRIAL.to_dict()))
    assert plain["missing"] == {"thalach": [150, 158]}
    assert plain["answer"]["changes"] == {"chol": [240, 220], "thalach": [150, 158]}
    assert plain["sentence"] == TRIAL.sentence
    assert json.loads(json.dumps(ENOUGH.to_dict()))["answer"] is None


def test_it_shows_as_a_table() -> None:
    assert repr(TRIAL).splitlines()[-1].split() == ["thalach", "150", "158"]
    assert repr(ENOUGH) == ENOUGH.sentence
