"""Words and plain forms of why-not results."""

import json
import re
from dataclasses import replace

from ssba.results.why_not import Binding, Relaxation, WhyNot

WIDER = Relaxation(
    constraints=("trestbps within 20%",),
    relaxed=("trestbps within 24%",),
    words=("let trestbps move by up to 24% instead of 20%",),
    size=0.2,
    flips=True,
    changes={"trestbps": (140.0, 107.5)},
    values={"trestbps": 107.5, "sex": "male"},
    distance=1.25,
    prediction="healthy",
    score=0.51,
)
BOTH = Relaxation(
    constraints=("sex == x.sex", "margin=ball(0.2)"),
    relaxed=("sex in {'female', 'male'}", None),
    words=("let sex also be 'female'", 'leave out "margin=ball(0.2)"'),
    size=None,
    flips=True,
    distance=2.0,
)
ONLY_FEASIBLE = Relaxation(
    ("age <= 30",), ("age <= 61",), ("let age go up to 61 instead of 30",), 1.03, False, values={"age": 61}
)
WHY = WhyNot(
    status="bounded",
    target="healthy",
    bindings=(Binding("trestbps within 20%", True, None, 0.51), Binding("sex == x.sex", False, 0.7, 0.4)),
    relaxations=(WIDER, BOTH),
    pairs_tried=3,
    pairs_untried=1,
    rows_used=4321,
    ran_out=True,
)


def test_the_paragraph_names_what_holds_back_and_what_to_relax() -> None:
    assert WHY.sentence == (
        "No feasible row was found that reaches healthy; "
        '"trestbps within 20%" and "sex == x.sex" hold it back. '
        "A relaxation that is enough (with a bound a step or a twentieth tighter, no answer was found): "
        "let trestbps move by up to 24% instead of 20% (distance 1.25). "
        "Or: let sex also be 'female' and leave out \"margin=ball(0.2)\" (distance 2). "
        "1 pair of constraints was not tried. "
        "The budget ended after 4,321 model rows; more may show smaller relaxations."
    )


def test_a_contradiction_is_told_as_one() -> None:
    why = WhyNot("infeasible", "healthy", clash=("age <= 30", "age >= x.age"), relaxations=(ONLY_FEASIBLE,))
    assert why.best is None
    assert why.sentence == (
        'No row can meet the constraints at once: "age <= 30" and "age >= x.age" contradict each other. '
        "A relaxation that leaves feasible rows: let age go up to 61 instead of 30; "
        "none of them was found to reach it."
    )
    assert "no row was found that reaches the target" in ONLY_FEASIBLE.sentence


def test_of_a_query_that_is_there_no_miss_is_told() -> None:
    there = replace(ONLY_FEASIBLE, values={})
    assert there.sentence == "Let age go up to 61 instead of 30: then the constraints can be met."


def test_a_single_constraint_contradicts_nothing_but_the_columns() -> None:
    why = WhyNot("infeasible", "healthy", clash=("age <= 30",))
    assert why.sentence.startswith('No row can meet the constraint "age <= 30". ')


def test_where_nothing_helps_that_is_said() -> None:
    alone = WhyNot("bounded", "healthy", pairs_tried=10)
    assert alone.sentence.endswith(
        "No single constraint, nor any of 10 pairs, was found to be enough to relax."
    )
    assert "no constraint alone holds it back" in alone.sentence
    assert "nothing to relax" in WhyNot("found", "healthy").sentence


def test_a_relaxation_tells_what_it_gives() -> None:
    assert WIDER.sentence == (
        "Let trestbps move by up to 24% instead of 20%: then changing trestbps from 140 to 107.5 reaches the "
        "target, at a distance of 1.25."
    )


def test_the_best_is_the_first_that_flips() -> None:
    assert WHY.best is WIDER
    assert WhyNot("infeasible", "healthy", relaxations=(ONLY_FEASIBLE, BOTH)).best is BOTH


def test_the_plain_form_is_json_and_complete() -> None:
    told = json.loads(json.dumps(WHY.to_dict(), allow_nan=False))
    assert told["sentence"] == WHY.sentence
    assert told["relaxations"][0]["relaxed"] == ["trestbps within 24%"]
    assert told["relaxations"][1]["relaxed"] == ["sex in {'female', 'male'}", None]
    assert told["bindings"][1]["distance_to_boundary"] == 0.7
    assert set(told) == {*WhyNot.__dataclass_fields__, "schema", "kind", "sentence"}


def test_the_table_shows_every_relaxation() -> None:
    lines = repr(WHY).splitlines()
    assert lines[0] == WHY.sentence
    assert re.split(r"\s{2,}", lines[2]) == ["relax", "looser by", "enough", "distance", "ask for"]
    assert re.split(r"\s{2,}", lines[3]) == [WIDER.words[0], "20%", "yes", "1.25", "trestbps within 24%"]
    assert lines[4].endswith("sex in {'female', 'male'} and leave it out")
