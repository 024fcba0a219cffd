import json
from dataclasses import replace

from ssba.results.line_scan import Crossing, LineScan

CROSSING = Crossing(0.375, "disease", "no disease", True, {"chol": 225.0}, 0.5)
SCAN = LineScan(
    start={"chol": 240.0},
    end={"chol": 200.0},
    shares=(0.0, 0.5, 1.0),
    predictions=("disease", "no disease", "no disease"),
    scores=(0.25, 0.625, 0.75),
    reached=(False, True, True),
    crossings=(CROSSING,),
    target="'no disease'",
)


def test_the_sentence_says_where_it_changes() -> None:
    assert (
        SCAN.sentence == "The decision changes once along the line: from disease to no disease after 37.50%."
    )
    twice = replace(
        SCAN, crossings=(CROSSING, replace(CROSSING, share=0.75, before="no disease", after="disease"))
    )
    assert twice.sentence.startswith("The decision changes 2 times along the line:")
    assert twice.sentence.endswith("; from no disease to disease after 75.00%.")


def test_a_threshold_is_reached_or_left() -> None:
    at = replace(CROSSING, before=120.0, after=120.00000001)
    scan = replace(
        SCAN, crossings=(at, replace(at, share=0.5, reached=False)), target="a value of at most 120"
    )
    assert "a value of at most 120 is reached after 37.50%; " in scan.sentence
    assert "a value of at most 120 is left after 50.00%." in scan.sentence


def test_no_crossing() -> None:
    assert repr(replace(SCAN, crossings=())) == "The decision does not change along the line (3 rows asked)."


def test_everything_is_in_the_dict() -> None:
    plain = json.loads(json.dumps(SCAN.to_dict()))
    assert plain["crossings"][0]["values"] == {"chol": 225.0}
    assert plain["reached"] == [False, True, True]
    assert plain["sentence"] == SCAN.sentence


def test_it_shows_as_a_table() -> None:
    assert repr(SCAN).splitlines()[-1].split() == ["37.50%", "disease", "no", "disease", "yes"]


def test_a_regressor_has_values_and_no_decision() -> None:
    values = replace(
        SCAN, predictions=(90.0, 110.0, 120.0), scores=(90.0, 110.0, 120.0), target="a value of at least 100"
    )
    at = replace(CROSSING, before=99.99, after=100.0)
    assert replace(values, crossings=(at,)).sentence == (
        "The predicted value crosses a limit once along the line: a value of at least 100 is reached after "
        "37.50%."
    )
    nowhere = replace(values, crossings=(), reached=(False, False, False))
    assert nowhere.sentence == (
        "The predicted value reaches a value of at least 100 at none of the rows along the line "
        "(3 rows asked)."
    )
