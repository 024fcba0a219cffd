"""Whether a constraint fits its columns is told without more work than it has terms."""

import re

import pytest

from ssba.columns.features import Feature
from ssba.constraints.language.check import check
from ssba.constraints.language.parser import constraint
from ssba.constraints.language.tree import Arithmetic
from ssba.errors import ConstraintError

FEATURES = {
    "age": Feature("age", "numeric"),
    "cp": Feature("cp", "categorical", levels=("low", "high")),
    "flag": Feature("flag", "boolean", levels=(False, True)),
    "word": Feature("word", "categorical", levels=("False", "True", "2")),
    "code": Feature("code", "categorical", levels=(1, 2)),
    "x.y": Feature("x.y", "numeric"),
}


def test_a_long_sum_is_not_written_for_each_of_its_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    write = vars(Arithmetic)["text"].fget

    def counting(self: Arithmetic) -> str:
        nonlocal written
        written += 1
        return str(write(self))

    monkeypatch.setattr(Arithmetic, "text", property(counting))
    check(constraint(" + ".join(["age"] * 1000) + " <= 5e9"), FEATURES)
    assert written == 1


def test_a_sum_over_levels_is_quoted() -> None:
    with pytest.raises(ConstraintError, match=r"'cp' is categorical, but 'age \+ cp' calculates with it"):
        check(constraint("age + cp <= 5"), FEATURES)


@pytest.mark.parametrize(
    ("text", "hint", "better"),
    [
        ("flag == true", "a truth value is written True", "flag == True"),
        ("flag != FALSE", "a truth value is written False", "flag != False"),
        ("flag == 'True'", "'True' is no level of it; write True, without quotes", "flag == True"),
        ("flag in {'false'}", "'false' is no level of it; write False, without quotes", "flag in {False}"),
        ("word == True", "True is no level of it; write 'True', in quotes", "word == 'True'"),
        ("word: 2 -> {'True'}", "2 is no level of it; write '2', in quotes", "word: '2' -> {'True'}"),
        ("code == '1'", "'1' is no level of it; write 1, without quotes", "code == 1"),
        ("x.y == 3", "the column 'x.y' is written in backticks: `x.y`", "`x.y` == 3"),
        ("cp == high_", "a level is written in quotes: 'high_'", "cp == 'high'"),
    ],
)
def test_a_hint_says_how_it_is_written(text: str, hint: str, better: str) -> None:
    with pytest.raises(ConstraintError, match=re.escape(hint)):
        check(constraint(text), FEATURES)
    check(constraint(better), FEATURES)
