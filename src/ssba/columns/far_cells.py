"""Numbers so far from all others that they are a mistake, such as 1e300 in a column of ages."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# So many times as far from the median as half of the others: beside it these are all but one point.
_FAR = 1e9
# Cells by which that is told; they are taken at even distances.
_SOME = 1000
# Fewer cells show nothing about what is usual.
_ENOUGH = 10


def far_cells(numbers: Numbers) -> NDArray[np.bool_]:
    """Tell which cells are too far from the others to say anything about the column.

    None are where more than half of the cells are equal, which shows no distance to compare with.

    >>> np.flatnonzero(far_cells(np.array([50.0, 61.0, 1e300, *range(20, 30)]))).tolist()
    [2]
    """
    present = numbers[np.isfinite(numbers)]
    far = np.zeros(len(numbers), dtype=bool)
    if len(present) < _ENOUGH:
        return far
    # Halves, since the difference of two numbers may be too large for a float.
    some = present[np.linspace(0, len(present) - 1, min(len(present), _SOME)).astype(int)] / 2
    middle = np.median(some)
    usual = float(np.median(np.abs(some - middle)))
    most = max(float(present.max() / 2 - middle), float(middle - present.min() / 2))
    if usual > 0 and most / usual > _FAR:
        far = np.abs(numbers / 2 - middle) / usual > _FAR
    return far
