"""Relations as linear rows: exact where sums come in grains, whatever floats make of them."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import setting

from ssba.columns.features import numeric
from ssba.constraints.constraint import constraint
from ssba.constraints.regions.compile import compile_query

TENTHS = [round(0.1 * i, 1) for i in range(8)]
FRAME = pd.DataFrame({"a": TENTHS, "b": TENTHS, "s": np.array(TENTHS, dtype=np.float32), "n": np.arange(8)})
STEPS = setting(FRAME, {name: numeric(step=0.1) for name in "abs"}, scale="none")
COMPARE = {
    "<=": Fraction.__le__,
    "<": Fraction.__lt__,
    ">=": Fraction.__ge__,
    ">": Fraction.__gt__,
}


@given(
    weights=st.lists(st.sampled_from(["0.1", "0.3", "1", "2", "-0.7", "1.5"]), min_size=3, max_size=3),
    operator=st.sampled_from(sorted(COMPARE)),
    right=st.sampled_from(["0.3", "0.6", "0.07", "1.2", "0", "-0.14"]),
    off=st.booleans(),
)
def test_a_row_is_inside_exactly_where_its_digits_meet_the_relation(
    weights: list[str], operator: str, right: str, off: bool
) -> None:
    names = ["a", "b", "s"]
    text = " + ".join(f"{weight} * {name}" for weight, name in zip(weights, names, strict=True))
    x = STEPS.space.encode_row({"a": 0.25 if off else 0.2, "b": 0.3, "s": 0.1, "n": 3})
    grid = list(itertools.product([*range(8), *([2.5] if off else [])], range(8), range(8)))
    digits = [[Fraction(str(count)) / 10 for count in row] for row in grid]
    meets = [
        COMPARE[operator](
            sum((Fraction(one) * cell for one, cell in zip(weights, row, strict=True)), Fraction(0)),
            Fraction(right),
        )
        for row in digits
    ]
    if not any(meets):
        return
    regions = STEPS.regions(x, [constraint(f"{text} {operator} {right}")])
    rows = np.array([[*(float(cell) for cell in row), 3.0] for row in digits])
    rows = np.asarray(STEPS.space.grid.storable(rows))
    inside = np.any([region.contains(rows) for region in regions], axis=0)
    np.testing.assert_array_equal(inside, meets)


@pytest.mark.parametrize(
    "text", ["0.3 * n - 0.2 * a == 0.05", "2 * n + 4 * n == 7", "0.1 * a + 0.1 * b == 0.005"]
)
def test_an_equality_between_grains_is_refuted_at_once(text: str) -> None:
    x = STEPS.space.encode_row({"a": 0.2, "b": 0.3, "s": 0.1, "n": 3})
    compiled = compile_query(STEPS.space, STEPS.metric, x, [constraint(text)])
    assert (compiled.regions, compiled.complete) == ((), True)


def test_real_numbers_keep_a_hair_inside() -> None:
    where = setting(np.array([[0.0, 0.0], [6.0, 6.0]]), scale="none")
    region = where.region([1.0, 1.0], "x0 + x1 > 11")
    assert region.start.sum() > 11
    assert region.start.sum() == pytest.approx(11)


@pytest.mark.parametrize("held", [["n == x.n"], ["n == x.n", "s >= 0.2"], ["s <= x.s", "s >= 0.2"], []])
def test_a_relation_that_32_bits_meet_in_their_digits_only_is_met(held: list[str]) -> None:
    """In 32 bits 0.2 is a little more, and 0.2 - 0.05 * 3 = 0.05 all the same."""
    x = STEPS.space.encode_row({"a": 0.1, "b": 0.1, "s": 0.2, "n": 3})
    rules = tuple(constraint(text) for text in (*held, "s - 0.05 * n <= 0.05"))
    compiled = compile_query(STEPS.space, STEPS.metric, x, rules)
    assert compiled.regions
    assert any(region.contains(x[None, :])[0] for region in compiled.regions)
    assert min(region.begins for region in compiled.regions) == 0
