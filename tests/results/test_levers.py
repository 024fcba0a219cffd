"""Words and plain forms of the table of levers."""

import json
import re

from ssba.results.levers import Lever, LeverTable

ALONE = Lever(
    ("chol",), "found", 1.5, {"chol": (240.0, 200.0)}, {"chol": 200.0, "age": 60}, "healthy", 0.6, 120
)
PAIR = Lever(("trestbps", "thalach"), "found", 0.9, rows_asked=300, proof="optimal")
MISSED = Lever(("age",), "not_found", rows_asked=1500)
PROVED = Lever(("sex",), "unreachable", rows_asked=3, proof="unreachable")
TABLE = LeverTable(
    "found",
    "healthy",
    levers=(PAIR, ALONE),
    unable=(MISSED, PROVED, Lever(("age", "sex"), "not_found", rows_asked=2000)),
    sets_tried=6,
    sets_untried=8,
    rows_used=4000,
)


def test_the_paragraph_tells_what_can_and_what_cannot() -> None:
    assert TABLE.sentence == (
        "Columns that can reach healthy, nearest first: trestbps and thalach (distance 0.9); "
        "chol (distance 1.5). "
        "Proved not to be enough alone: sex. "
        "Not found to be enough alone: age (1,500 rows asked). "
        "6 sets of columns were tried, 8 were not."
    )


def test_without_levers_and_without_need() -> None:
    none = LeverTable("bounded", "healthy", max_columns=2)
    assert none.sentence == "No set of up to 2 columns was found that reaches healthy."
    assert "no lever is needed" in LeverTable("already_there", "healthy").sentence
    assert "No row meets all constraints" in LeverTable("infeasible", "healthy").sentence
    assert repr(none) == none.sentence


def test_each_lever_says_how_sure_it_is() -> None:
    assert ALONE.sentence == "Changing chol reaches the target at a distance of 1.5."
    assert MISSED.sentence == "No change of age alone was found to reach the target (1,500 rows asked)."
    assert PROVED.sentence == ("Changing sex alone cannot reach the target (proved from the model's inside).")


def test_the_plain_form_is_json_and_complete() -> None:
    told = json.loads(json.dumps(TABLE.to_dict(), allow_nan=False))
    assert set(told) == {*LeverTable.__dataclass_fields__, "schema", "kind", "sentence"}
    assert told["levers"][1]["changes"] == {"chol": [240.0, 200.0]}
    assert told["unable"][1]["proof"] == "unreachable"


def test_the_table_shows_all_of_them() -> None:
    lines = [re.split(r"\s{2,}", line) for line in repr(TABLE).splitlines()[2:]]
    assert lines[0] == ["columns", "status", "distance", "rows", "proof"]
    assert lines[1] == ["trestbps and thalach", "found", "0.9", "300", "optimal"]
    assert lines[4] == ["sex", "unreachable", "3", "unreachable"]
    assert len(lines) == 6
