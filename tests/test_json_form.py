"""Reading what was written: numbers that do not fit are refused, never an error of Python's own."""

import pytest

from ssba.errors import ArgumentError
from ssba.json_form import build

HUGE = 10**400


def test_a_whole_number_beyond_floats_is_refused_in_a_sentence() -> None:
    with pytest.raises(ArgumentError, match=r"^10{19}\.\.\. is too large, where a number up to 1\.8e"):
        build(float, HUGE)
    with pytest.raises(ArgumentError, match="is too large"):
        build(tuple[float, ...], [1, HUGE])
    assert build(float, 3) == 3.0
