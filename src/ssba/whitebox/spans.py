"""Which options each leaf takes: an interval of them in each column, but for some columns of levels."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Mask
from ssba.whitebox.cells import Cells


@final
@dataclass(frozen=True)
class Spans:
    """The options that leaves take, [columns, leaves]: from `begin` to the one before `end`.

    In the columns of `counts` some leaf takes options with others between them. There it is counted how
    many of the first options a leaf takes, [options + 1, leaves]: differences tell whether any of an
    interval is among them.
    """

    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    counts: dict[int, NDArray[np.int32]]

    def touched(self, column: int, low: Integers, high: Integers) -> Mask:
        """Tell which leaves take any of the options from `low` to `high` of a column, [n, leaves]."""
        if column in self.counts:
            counts = self.counts[column]
            return np.asarray(counts[high + 1] > counts[low])
        low, high = low[:, None].astype(np.int32), high[:, None].astype(np.int32)
        return np.asarray((self.begin[column] <= high) & (self.end[column] > low))


def spans_of(cells: Cells) -> Spans:
    """Return the options that the leaves of a query take."""
    fits = [one.fits for one in cells.options]
    shape = len(fits), cells.gain.shape[1]
    first, last = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32)
    loose = []
    for j, one in enumerate(fits):
        first[j], last[j] = one.argmax(axis=0), len(one) - one[::-1].argmax(axis=0)
        if (last[j] - first[j] != one.sum(axis=0)).any():
            loose.append(j)
    counts = {j: np.cumsum(np.pad(fits[j], ((1, 0), (0, 0))), axis=0, dtype=np.int32) for j in loose}
    return Spans(first, last, counts)
