"""What is left out or changed: one move of the search, or one of its numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import ssba.search.nearest as nearest
from ssba.search.settings import SETTINGS, Look

NEEDED = ("start",)
"""Moves without which there is no search to measure."""


@dataclass(frozen=True)
class Variant:
    """The search without one move, or with another value of one setting; as it is where both are None."""

    without: str | None = None
    setting: str | None = None
    value: Any = None

    @property
    def name(self) -> str:
        if self.without is not None:
            return f"without {self.without}"
        return "as it is" if self.setting is None else f"{self.setting} = {self.value}"

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Search so until the end of the block."""
        moves = nearest.MOVES
        before = None if self.setting is None else value_of(self.setting)
        try:
            nearest.MOVES = tuple(one for one in moves if one.name != self.without)
            if self.setting is not None:
                _put(self.setting, self.value)
            yield
        finally:
            nearest.MOVES = moves
            if self.setting is not None:
                _put(self.setting, before)


def moves() -> list[Variant]:
    """The search without each of its moves."""
    return [Variant(without=one.name) for one in nearest.MOVES if one.name not in NEEDED]


def settings(prefix: str = "") -> list[Variant]:
    """The search with each of its numbers halved, and doubled."""
    names = [name for name in setting_names() if name.startswith(prefix)]
    return [Variant(setting=name, value=value) for name in names for value in others(value_of(name))]


def setting_names() -> list[str]:
    """All numbers of the search, as ``move.name``."""
    return [f"{group.name}.{one.name}" for group in fields(SETTINGS) for one in fields(value_of(group.name))]


def value_of(name: str) -> Any:
    found: Any = SETTINGS
    for part in name.split("."):
        found = getattr(found, part)
    return found


def others(value: Any) -> list[Any]:
    """Half and double of a number, of all of several, or of all parts of a look.

    >>> others(8), others(0.5), others((1, 2.0))
    ([4, 16], [0.25, 1.0], [(1, 1.0), (2, 4.0)])
    """
    return [scaled(value, 0.5), scaled(value, 2.0)]


def scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(scaled(one, factor) for one in value)
    if isinstance(value, Look):
        return Look(**{one.name: scaled(getattr(value, one.name), factor) for one in fields(value)})
    if isinstance(value, int):
        return max(1, round(value * factor))
    # What is almost 1 is a share: what is left of it is halved or doubled.
    return 1 - (1 - value) / factor if 0.9 <= value < 1 else value * factor


def _put(name: str, value: Any) -> None:
    """The settings are frozen for the library's sake; only an experiment changes them."""
    *path, last = name.split(".")
    object.__setattr__(value_of(".".join(path)), last, value)
