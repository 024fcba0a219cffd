"""Whether a constraint fits its columns is told without more work than it has terms."""

import pytest

from ssba.columns.features import Feature
from ssba.constraints.language.check import check
from ssba.constraints.language.parser import constraint
from ssba.constraints.language.tree import Arithmetic
from ssba.errors import ConstraintError

FEATURES = {"age": Feature("age", "numeric"), "cp": Feature("cp", "categorical", levels=("low", "high"))}


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
