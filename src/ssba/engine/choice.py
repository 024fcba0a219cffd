"""Which background rows a model is asked about, and in which blocks: the same for every model and seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.pairs import shuffle
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix

# A model shows its classes and whether its scores can be trusted on this many background rows.
_SAMPLE_ROWS = 1024
# Rows of a block: few enough to ask only about the surroundings of a query, enough to make a call pay.
_BLOCK_ROWS = 128


@dataclass(frozen=True)
class Choice:
    """Background rows by number, and where their blocks end; the first block is the sample.

    The model is tried out on the sample, so that its answers are known from the start. The other blocks hold
    neighbours, so that a query can ask about its surroundings first.
    """

    numbers: NDArray[np.int64]
    ends: tuple[int, ...]

    @property
    def sample(self) -> NDArray[np.int64]:
        """The numbers of the rows that the model is tried out on."""
        return self.numbers[: self.ends[0]]


def choose_rows(rows: Matrix, metric: Metric, most: int) -> Choice:
    """Choose at most so many rows, and arrange them in blocks."""
    numbers = shuffle(len(rows), seed=0, salt=5)[:most]
    sample, others = numbers[:_SAMPLE_ROWS], numbers[_SAMPLE_ROWS:]
    scaled = np.nan_to_num(rows[others] / metric.scale * metric.weight)
    blocks = [sample, *(others[block] for block in _neighbours(scaled))]
    return Choice(np.concatenate(blocks), tuple(np.cumsum([len(block) for block in blocks]).tolist()))


def _neighbours(scaled: Matrix) -> list[NDArray[np.int64]]:
    """Halve rows at the median of the column that differs most among them, until the parts are small."""
    blocks, waiting = [], [np.arange(len(scaled))] if len(scaled) else []
    while waiting:
        numbers = waiting.pop()
        if len(numbers) <= _BLOCK_ROWS:
            blocks.append(numbers)
            continue
        widest = int(np.argmax(scaled[numbers].std(axis=0)))
        ordered = numbers[np.argsort(scaled[numbers, widest], kind="stable")]
        waiting += [ordered[len(ordered) // 2 :], ordered[: len(ordered) // 2]]
    return blocks
