import json
from dataclasses import replace

from ssba.results.line_scan import Turn, Way

TURN = Turn(0.375, "disease", "no disease", True, {"chol": 225.0}, 0.5)
WAY = Way(
    start={"chol": 240.0},
    end={"chol": 200.0},
    shares=(0.0, 0.5, 1.0),
    predictions=("disease", "no disease", "no disease"),
    scores=(0.25, 0.625, 0.75),
    reached=(False, True, True),
    turns=(TURN,),
    target="'no disease'",
)


def test_the_sentence_says_where_it_turns() -> None:
    assert (
        WAY.sentence == "The decision turns once on the way: from disease to no disease after 37.50% of it."
    )
    twice = replace(WAY, turns=(TURN, replace(TURN, share=0.75, before="no disease", after="disease")))
    assert twice.sentence.startswith("The decision turns 2 times on the way:")
    assert twice.sentence.endswith("; from no disease to disease after 75.00% of it.")


def test_a_threshold_is_reached_or_left() -> None:
    at = replace(TURN, before=120.0, after=120.00000001)
    way = replace(WAY, turns=(at, replace(at, share=0.5, reached=False)), target="a value of at most 120")
    assert "a value of at most 120 is reached after 37.50% of it; " in way.sentence
    assert "a value of at most 120 is left after 50.00% of it." in way.sentence


def test_no_turn() -> None:
    assert repr(replace(WAY, turns=())) == "The decision does not turn on the way, as 3 rows of it show."


def test_everything_is_in_the_dict() -> None:
    plain = json.loads(json.dumps(WAY.to_dict()))
    assert plain["turns"][0]["values"] == {"chol": 225.0}
    assert plain["reached"] == [False, True, True]
    assert plain["sentence"] == WAY.sentence


def test_it_shows_as_a_table() -> None:
    assert repr(WAY).splitlines()[-1].split() == ["37.50%", "disease", "no", "disease", "yes"]
