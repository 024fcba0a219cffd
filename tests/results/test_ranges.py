import json
from typing import Any

import pytest

from ssba.results.ranges import Interval, Ranges


def interval(low: Any, high: Any, **limits: Any) -> Interval:
    return Interval("chol", low, high, 240, low, unit="mg/dl", **limits)


RANGES = Ranges(
    (
        Interval("chol", 186, 212, 240, 210, low_is_limit=True, unit="mg/dl"),
        Interval("exang", "no", "no", "yes", "no"),
    ),
    n_samples=2000,
    held=0.9995,
    target="'no disease'",
    rows_used=4321,
)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (interval(186, 212, low_is_limit=True), "chol at most 212 mg/dl"),
        (interval(186, 212, high_is_limit=True), "chol at least 186 mg/dl"),
        (interval(186, 212), "chol 186 to 212 mg/dl"),
        (interval(186, 212, low_is_limit=True, high_is_limit=True), "chol any allowed value"),
        (interval(186.5, 186.5), "chol 186.5 mg/dl"),
        (Interval("exang", "no", "no", "yes", "no"), "exang no"),
        (
            Interval("ends", "2022-11-01", "2022-12-08", "2023-01-31", "2022-12-01", low_is_limit=True),
            "ends no later than 2022-12-08",
        ),
        (
            Interval("ends", "2022-11-01", "2022-12-08", "2022-10-01", "2022-12-01", high_is_limit=True),
            "ends no earlier than 2022-11-01",
        ),
    ],
)
def test_an_interval_in_words(one: Interval, text: str) -> None:
    assert one.text == text


class TestRanges:
    def test_the_sentence_says_how_many_rows_held(self) -> None:
        assert RANGES.sentence == (
            "Rows with chol at most 212 mg/dl and exang no reach 'no disease', the rest being as it is: "
            "1,999 of 2,000 rows drawn from these ranges do."
        )

    def test_intervals_are_found_by_column(self) -> None:
        assert RANGES["exang"].proposed == "no"

    def test_everything_is_in_the_dict(self) -> None:
        plain = json.loads(json.dumps(RANGES.to_dict()))
        assert plain["intervals"][0]["text"] == "chol at most 212 mg/dl"
        assert (plain["n_samples"], plain["held"], plain["rows_used"]) == (2000, 0.9995, 4321)
        assert plain["sentence"] == RANGES.sentence

    def test_it_shows_as_a_table(self) -> None:
        table = repr(RANGES).split("\n\n")[1].splitlines()
        assert " ".join(table[1].split()) == "chol 240 mg/dl 210 mg/dl at most 212 mg/dl"

    def test_nothing_changed_is_no_range(self) -> None:
        empty = Ranges((), 10, 1.0, "'no disease'")
        assert repr(empty) == "Nothing changes, so that there are no ranges toward 'no disease'."
