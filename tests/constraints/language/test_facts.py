"""Numbers beyond floats: worked out in fractions where they cancel out, refused where floats have to do."""

from fractions import Fraction

import pytest

from ssba.columns.features import Feature
from ssba.constraints.constraint import alternatives, constraint, holds
from ssba.constraints.language.atoms import Bound
from ssba.constraints.language.digits import highest_at_most, nearest_float
from ssba.errors import ConstraintError

FEATURES = {name: Feature(name, "numeric", data_low=0.0, data_high=300.0) for name in ("age", "chol")}
QUERY = {"age": 62.0, "chol": 268.0}
HUGE = Fraction(10**400)


@pytest.mark.parametrize(
    "text",
    [
        "1e308 * age + chol <= 5",
        "9e300 * 9e300 * age <= chol",
        "1e-300 * age <= 1e300",
        "age <= x.age * 1e308",
        "age == 1e300 * -1e300",
        "if 1e-300 * age <= 1e300: chol <= 100",
    ],
)
def test_what_floats_cannot_hold_is_refused_in_a_sentence(text: str) -> None:
    for ask in (
        lambda: alternatives(constraint(text), QUERY, FEATURES),
        lambda: holds(constraint(text), QUERY, QUERY, FEATURES),
    ):
        with pytest.raises(ConstraintError, match=r"needs numbers beyond 1\.8e\+308, .*; write smaller ones"):
            ask()


def test_what_cancels_out_is_worked_out() -> None:
    ((bound,),) = alternatives(constraint("9e300 * 9e300 * 9e300 * age <= 5"), QUERY, FEATURES)
    assert bound == Bound("age", high=0.0)
    ((bound,),) = alternatives(constraint("1e300 * 1e300 * age <= 1e300 * 5e301"), QUERY, FEATURES)
    assert bound == Bound("age", high=50.0)


def test_a_percentage_beyond_floats_is_no_limit() -> None:
    atoms = alternatives(constraint("chol within 1e308%"), QUERY, FEATURES)[0]
    assert {atom for atom in atoms if isinstance(atom, Bound)} <= {Bound("chol")}


def test_the_nearest_float_of_a_huge_fraction_is_infinite() -> None:
    assert (nearest_float(HUGE), nearest_float(-HUGE)) == (float("inf"), float("-inf"))
    assert highest_at_most(HUGE) == float("inf")
