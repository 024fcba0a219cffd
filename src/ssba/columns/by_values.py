"""What the numbers of a column show beyond its dtype: only 0 and 1, whole numbers, few decimals.

Also which of them are so far from all others that they are a mistake, such as 1e300 in a column of ages.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import Kind

Numbers = NDArray[np.float64]

# Fewer cells than this show nothing: two rows of 0.0 and 1.0 may be any numbers.
ENOUGH = 10
# More steps than this from the lowest number to the highest are as good as none.
_MOST_STEPS = 200
# Numbers of more decimals are shown with all the digits that floats have.
_MOST_DECIMALS = 12
# Numbers of many decimals show it in so many cells.
_SCREENED = 256
# A step is shown only by floats that could lie so many times closer together than that.
_COARSER = 32
# What sums such as 0.1 + 0.2 are off by, in the space between two floats.
_DUST = 2
# So many times as far from the median as half of the others: beside such a cell these are all but one point.
_FAR = 1e9
# Cells by which that is told; they are taken at even distances.
_SOME_CELLS = 1000


@dataclass(frozen=True)
class Shown:
    """The kind that numbers show, its step or else how many `decimals` they have, and the reason in words."""

    kind: Kind
    step: float | None
    why: str
    decimals: int | None = None

    @property
    def decides(self) -> bool:
        """Whether the dtype alone would have given another kind."""
        return self.kind != "numeric" or self.step is not None


def shown_kind(cells: Numbers, *, single: bool, whole_dtype: bool) -> Shown | None:
    """Return the kind that a column's numbers show; None where only the dtype tells.

    Parameters
    ----------
    cells : array
        The column as doubles, NaN for a missing cell.
    single : bool
        Whether it is kept in 32 bits.
    whole_dtype : bool
        Whether its dtype holds whole numbers only.

    Examples
    --------
    >>> shown_kind(np.array([0.0, 1.0] * 5), single=False, whole_dtype=False).kind
    'boolean'
    >>> shown_kind(np.arange(10.0), single=False, whole_dtype=False).why
    'whole numbers in a float column'
    >>> shown_kind(np.arange(10) / 10, single=False, whole_dtype=False).step
    0.1
    """
    numbers = cells[np.isfinite(cells)]
    if len(numbers) < ENOUGH or numbers.min() == numbers.max():
        return None
    if ((numbers == 0) | (numbers == 1)).all():
        return Shown("boolean", None, "only 0 and 1")
    if whole_dtype:
        return None
    spacing = _spacing(numbers, single)
    if spacing * _COARSER <= 1 and (numbers == np.round(numbers)).all():
        return Shown("integer", 1.0, "whole numbers in a float column")
    places = _decimals(numbers, spacing)
    if places is None:
        return None
    step = float(f"1e-{places}")
    if numbers.max() - numbers.min() <= _MOST_STEPS * step:
        return Shown("numeric", step, f"multiples of {step:g}")
    return Shown("numeric", None, f"numbers of {places} decimal{'s' if places != 1 else ''}", places)


def _spacing(numbers: Numbers, single: bool) -> float:
    """Return how far apart floats of the size of the largest number are."""
    largest = np.abs(numbers).max()
    return float(np.spacing(np.float32(largest)) if single else np.spacing(largest))


def _decimals(numbers: Numbers, spacing: float) -> int | None:
    """Return how many decimals the numbers have, but for dust; None for many, or where floats cannot tell."""
    screened = numbers[np.linspace(0, len(numbers) - 1, min(len(numbers), _SCREENED)).astype(int)]
    for places in range(_MOST_DECIMALS + 1):
        power = 10.0**places
        if _COARSER * _DUST * spacing * power > 1:
            return None
        if _are_written(screened, power, spacing) and _are_written(numbers, power, spacing):
            return places
    return None


def _are_written(numbers: Numbers, power: float, spacing: float) -> bool:
    return bool((np.abs(numbers - np.round(numbers * power) / power) <= _DUST * spacing).all())


def far_cells(numbers: Numbers) -> NDArray[np.bool_]:
    """Tell which cells are too far from the others to say anything about the column.

    None are where more than half of the cells are equal, which shows no distance to compare with.

    >>> np.flatnonzero(far_cells(np.array([50.0, 61.0, 1e300, *range(20, 30)]))).tolist()
    [2]
    """
    present = numbers[np.isfinite(numbers)]
    far = np.zeros(len(numbers), dtype=bool)
    if len(present) < ENOUGH:
        return far
    # Halves, since the difference of two numbers may be too large for a float.
    some = present[np.linspace(0, len(present) - 1, min(len(present), _SOME_CELLS)).astype(int)] / 2
    middle = np.median(some)
    usual = float(np.median(np.abs(some - middle)))
    most = max(float(present.max() / 2 - middle), float(middle - present.min() / 2))
    if usual > 0 and most / usual > _FAR:
        far = np.abs(numbers / 2 - middle) / usual > _FAR
    return far
