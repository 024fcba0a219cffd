"""A meter counts model rows, and stops what takes too much or what nobody waits for."""

import pytest

from ssba.apps.limits import Cancelled, Limits, Meter
from ssba.errors import StoppedError


def test_rows_add_up_until_they_are_too_many() -> None:
    meter = Meter(Limits(rows=100))
    meter(60)
    meter(40)
    assert meter.rows == 100
    with pytest.raises(StoppedError, match="more than the 100 model rows"):
        meter(1)


def test_time_is_looked_at_with_every_call() -> None:
    meter = Meter(Limits(seconds=1e-9))
    with pytest.raises(StoppedError, match="longer than the 1e-09 seconds"):
        meter(1)


def test_a_cancelled_meter_stops_the_next_call() -> None:
    meter = Meter()
    meter(1)
    assert not meter.is_cancelled
    meter.cancel()
    with pytest.raises(Cancelled):
        meter(1)
    assert meter.rows == 1


def test_somebody_may_be_told_how_far_it_is() -> None:
    told: list[int] = []
    meter = Meter(report=told.append)
    meter(3)
    meter(4)
    assert told == [3, 7]
