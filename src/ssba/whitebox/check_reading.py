"""Asking the user's model about rows of our own making, before it is opened."""

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ssba.arrays import Vector
from ssba.columns.features import Feature
from ssba.columns.space import Matrix, Space

# Values of each column of numbers that are probed, of those that the data holds.
_SEEN = 24
# Shares of a column's width by which values beyond its ends are probed.
_BEYOND = (0.1, 1.0)
# Numbers that often stand for something else.
_SUSPICIOUS = (-999.0, -99.0, -9.0, -1.0, 0.0, 1.0, 99.0, 999.0, 9999.0)
_MIXED_ROWS = 256


class NotReadable(Exception):
    """The model stays closed; the message says why, as it is shown to the user."""


@contextlib.contextmanager
def the_users_code() -> Iterator[None]:
    """Run what belongs to the user: it may raise anything, and its complaints are no concern of theirs.

    Everything outside of this is ours, and its errors are loud.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except NotReadable:
        raise
    except Exception as error:
        first_line = str(error).partition("\n")[0].rstrip(".")
        raise NotReadable(
            f"the model failed when rows were probed ({type(error).__name__}: {first_line})"
        ) from error


def sent_through(steps: Sequence[Any], rows: Any) -> Any:
    """Send rows through all steps."""
    for step in steps:
        rows = rows if step is None or isinstance(step, str) else step.transform(rows)
    return rows


def complete_row(background: Matrix) -> Vector:
    """Return the first row, with its missing cells taken from the first rows that have them."""
    return np.asarray(background[np.argmin(np.isnan(background), axis=0), np.arange(background.shape[1])])


def probed_values(space: Space, background: Matrix, j: int) -> Vector:
    """Return legal values of a column, rising: all codes, or numbers seen, between, beyond and suspicious."""
    feature = space.features[j]
    if feature.has_levels:
        return np.arange(len(feature.levels), dtype=float)
    seen = np.unique(background[~np.isnan(background[:, j]), j])
    if not len(seen):
        seen = np.zeros(1)
    some = seen[np.linspace(0, len(seen) - 1, min(_SEEN, len(seen))).astype(int)]
    width = max(float(np.ptp(seen)), feature.step or 1.0)
    beyond = [end for share in _BEYOND for end in (seen[0] - share * width, seen[-1] + share * width)]
    others = np.concatenate([(some[1:] + some[:-1]) / 2, beyond, _SUSPICIOUS])
    return np.union1d(some, _legal(space, j, others))


def level_rows(space: Space, background: Matrix) -> Matrix:
    """Return rows in which every level of every column occurs, one column off the first row at a time."""
    base = complete_row(background)
    coded = [j for j, feature in enumerate(space.features) if feature.has_levels]
    parts = [column_rows(base, j, probed_values(space, background, j)) for j in coded]
    return np.concatenate([base[None, :], *parts])


def column_rows(base: Vector, j: int, values: Vector) -> Matrix:
    """Return copies of a row with other values in one column."""
    rows = np.tile(base, (len(values), 1))
    rows[:, j] = values
    return rows


def mixed_background(background: Matrix) -> Matrix:
    """Return rows whose cells come from different background rows, by a fixed rule."""
    n, width = background.shape
    row = np.arange(min(_MIXED_ROWS, 4 * n))[:, None]
    return np.asarray(
        background[(row + row * np.arange(width) // 4 + 7 * np.arange(width)) % n, np.arange(width)]
    )


def mixed_values(values: Sequence[Vector]) -> Matrix:
    """Return rows with cells drawn from the values of each column, by a fixed seed."""
    random = np.random.default_rng(0)
    return np.stack([random.choice(column, _MIXED_ROWS) for column in values], axis=1)


def _legal(space: Space, j: int, values: Vector) -> Vector:
    """Return values rounded to the column's grid, as far as they lie in what it may hold."""
    low, high = _hard_ends(space.features[j])
    rows = np.zeros((len(values), len(space.features)))
    rows[:, j] = values
    snapped = np.asarray(space.grid.snap(rows)[:, j])
    return snapped[(snapped >= low) & (snapped <= high)]


def _hard_ends(feature: Feature) -> tuple[float, float]:
    """Return what a column can hold: its declared bounds, unless the data breaks them, and its dtype's."""
    low, high = min(feature.low, feature.data_low), max(feature.high, feature.data_high)
    return max(low, feature.storable[0]), min(high, feature.storable[1])
