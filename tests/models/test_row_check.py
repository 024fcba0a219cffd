"""No cell reaches a model that its column cannot hold."""

import math

import numpy as np
import pytest

from ssba.columns.features import Feature
from ssba.errors import InternalError
from ssba.models.row_check import RowCheck

DOOR = RowCheck(
    (
        Feature("rate", "numeric", storable=(-1e6, 1e6)),
        Feature("age", "integer"),
        Feature("pain", "ordinal", ("none", "some", "much")),
    )
)
FINE = np.array([[0.5, 40.0, 2.0], [-1e6, -3.0, 0.0]])


def test_cells_that_columns_can_hold_pass() -> None:
    DOOR.check(FINE)
    DOOR.check(FINE[:0])


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (0, math.nan, "nan in column 'rate', which holds finite numbers from -1e+06 to 1e+06"),
        (0, 1.1e6, "1100000.0 in column 'rate'"),
        (1, math.inf, "inf in column 'age', which holds whole numbers"),
        (1, -math.inf, "-inf in column 'age'"),
        (1, 40.5, "40.5 in column 'age'"),
        (2, 3.0, "3.0 in column 'pain', which has the codes 0 to 2"),
        (2, -1.0, "-1.0 in column 'pain'"),
        (2, 0.5, "0.5 in column 'pain'"),
        (2, math.nan, "nan in column 'pain'"),
    ],
)
def test_others_are_told_with_their_column_and_a_wish_to_report_it(
    column: int, value: float, told: str
) -> None:
    rows = FINE.copy()
    rows[1, column] = value
    with pytest.raises(InternalError) as raised:
        DOOR.check(rows)
    assert told in str(raised.value)
    assert "please report" in str(raised.value)


def test_a_cell_may_be_missing_only_where_the_question_says_so() -> None:
    rows = FINE.copy()
    rows[1, 0] = math.nan
    DOOR.check(rows, np.array([True, False, False]))
    DOOR.check(rows, np.isnan(rows))
    for missing in (np.array([False, True, True]), np.isnan(rows[::-1])):
        with pytest.raises(InternalError, match="nan in column 'rate'"):
            DOOR.check(rows, missing)


def test_missing_is_all_that_is_allowed_there() -> None:
    rows = FINE.copy()
    rows[0, 0] = math.inf
    with pytest.raises(InternalError):
        DOOR.check(rows, np.ones(3, dtype=bool))
