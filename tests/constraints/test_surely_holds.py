"""The quick check never calls a row sure that `holds` refuses, and is sure of the usual constraints."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import Matrix, every

from ssba.columns.space import build_space
from ssba.constraints.constraint import constraint, holds
from ssba.constraints.surely_holds import surely_hold

DATA = pd.DataFrame(
    {
        "a": [0.1, 0.2, None, 0.3],
        "n": [1, 2, 3, 4],
        "f": np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32),
        "c": ["u", "v", "u", "w"],
        "o": pd.Categorical(["low", "high", "low", "high"], ["low", "high"], ordered=True),
        "t": pd.to_datetime(["2020-01-01", "2021-06-01", "2022-01-01", "2023-01-01"]),
        "b": [0, 1, 0, 1],
    }
)
SPACE, ROWS = build_space(DATA)

PLAIN = ["a == x.a", "a >= x.a", "n <= x.n", "0.1 <= a <= 0.3", "a within 50%", "n within 2", "c == x.c"]
TEXTS = [
    *PLAIN,
    "a != x.a",
    "a < 0.3",
    "x.a < a",
    "a == 0.1",
    "a within 0.1",
    "f within 50%",
    "f <= 0.1",
    "f >= x.f",
    "f == x.f",
    "c != x.c",
    "c in {'u', 'v'}",
    "o >= x.o",
    "t >= x.t",
    "t == x.t",
    "t <= '2021-06-01'",
    "b == x.b",
    "b <= 0",
    "a + n <= 3",
    "a <= x.n",
    "a * 3 <= 0.9",
    "if c changes: n >= x.n",
    "a may be filled",
    "n <= 2 and a >= 0.2",
    "n changes",
]
CELLS: dict[str, list[float]] = {
    "a": [0.1, np.nextafter(0.1, 1), 0.15, 0.15000000000000002, 0.2, 0.3, 0.30000000000000004, np.nan],
    "n": [1, 2, 3, 4],
    "f": [float(np.float32(one)) for one in (0.1, 0.15, 0.2, 0.3)],
    "c": [0, 1, 2],
    "o": [0, 1],
    "t": ROWS[:, 5].tolist(),
    "b": [0, 1],
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    x = np.array([draw(st.sampled_from(cells)) for cells in CELLS.values()])
    z = np.array([draw(st.sampled_from(cells)) for cells in CELLS.values()])
    # A cell of the new row is missing only where the query's own is.
    return x, np.where(np.isnan(z) & ~np.isnan(x), x, z)


def told(text: str, x: Matrix, z: Matrix) -> tuple[bool, bool]:
    """Return whether the quick check is sure of a row, and whether it meets the constraint."""
    rule = constraint(text)
    sure = bool(surely_hold([rule], x[None, :], z[None, :], SPACE.features).all())
    return sure, holds(rule, SPACE.row_values(x), SPACE.row_values(z), SPACE.by_name)


@pytest.mark.parametrize("text", TEXTS)
@given(pairs())
def test_what_is_sure_holds(text: str, pair: tuple[Matrix, Matrix]) -> None:
    sure, met = told(text, *pair)
    assert met or not sure


@pytest.mark.parametrize("text", PLAIN)
def test_it_is_sure_where_cells_stay_as_they_are(text: str) -> None:
    x = np.array([cells[0] for cells in CELLS.values()])
    assert told(text, x, x) == (True, True)


@pytest.mark.parametrize("number", [0.1, 2**53, 1e300, -0.5, 5e-324])
def test_neighbours_of_a_bound_are_told_apart(number: float) -> None:
    rule = constraint(f"a <= {number!r}")
    cells = np.array([np.nextafter(number, -np.inf), number, np.nextafter(number, np.inf)])
    Z = np.zeros((3, len(CELLS)))
    Z[:, 0] = cells
    sure = surely_hold([rule], Z, Z, SPACE.features)[:, 0]
    met: list[Any] = [holds(rule, {"a": 0.0}, {"a": float(cell)}, SPACE.by_name) for cell in cells]
    assert met == [True, True, False]
    assert every(expected or not one for one, expected in zip(sure.tolist(), met, strict=True))


def test_all_constraints_must_be_sure() -> None:
    x = np.array([cells[0] for cells in CELLS.values()])
    Z = np.stack([x, x])
    Z[1, 1] = 4
    rules = [constraint("a == x.a"), constraint("n within 2")]
    assert surely_hold(rules, np.stack([x, x]), Z, SPACE.features).all(axis=1).tolist() == [True, False]
