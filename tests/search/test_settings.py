"""The numbers that steer the search: none of them can be changed while it runs."""

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from ssba.search.settings import SETTINGS, SearchSettings


def test_they_are_frozen_and_comparable() -> None:
    assert SearchSettings() == SETTINGS
    for one in fields(SETTINGS):
        group = getattr(SETTINGS, one.name)
        assert is_dataclass(group)
        with pytest.raises(FrozenInstanceError):
            setattr(group, fields(group)[0].name, 0)


def test_fans_and_shares_come_in_order() -> None:
    """Moves take the first of several rows that reach for the nearest."""
    assert list(SETTINGS.starts.parts) == sorted(SETTINGS.starts.parts)
    assert list(SETTINGS.stored.beyond) == sorted(SETTINGS.stored.beyond)
    assert list(SETTINGS.columns.between) == sorted(SETTINGS.columns.between)
    assert list(SETTINGS.descent.aside) == sorted(SETTINGS.descent.aside)
