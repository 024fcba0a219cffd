"""Pairs of rows from two sides, without replacement, as a pure function of seed and position.

Position ``p`` stands for round ``p // a`` and place ``p % a``, with ``a`` rows on the first side. In
every round each row of the first side meets one row of the second: shuffled sides, rotated against each
other by a shift of its own per round. All ``a * b`` pairs come exactly once, nothing is stored but
two shuffles, resuming needs one integer, and any prefix uses all rows evenly, which plain sampling
does not. (A keyed permutation of ``range(a * b)`` would do too; it takes about thirty times longer.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, counting, like, namespace


@dataclass(frozen=True)
class PairStream:
    """All pairs of `count_a` rows with `count_b` rows, in an order that `seed` fixes.

    `order_a` and `order_b` are the shuffled sides; `shifts` say by how much they are rotated in each round.
    """

    order_a: NDArray[np.int64]
    order_b: NDArray[np.int64]
    shifts: NDArray[np.int64]

    def __len__(self) -> int:
        """Return how many different pairs there are."""
        return len(self.order_a) * len(self.order_b)

    def partners(self, positions: range, reference: Array) -> Array:
        """Return whom the first side meets at some positions, as places in the shuffled second side.

        It is the first side's turn from its first row to its last in every round. The places lie beside
        `reference`.
        """
        count = len(self.order_a)
        first, last = positions.start // count, -(-positions.stop // count)
        turns, shifts = counting(0, count, reference), like(self.shifts[first:last], reference)
        rounds = (turns + shifts[:, None]) % len(self.order_b)
        begin = first * count
        return namespace(rounds).reshape(rounds, (-1,))[positions.start - begin : positions.stop - begin]

    def take(self, positions: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row numbers on both sides for some positions."""
        place = np.arange(positions.start, positions.stop) % len(self.order_a)
        return self.order_a[place], self.order_b[self.partners(positions, self.order_b)]


def pair_stream(count_a: int, count_b: int, seed: int) -> PairStream:
    """Return the stream for two sides of the given sizes.

    >>> stream = pair_stream(2, 3, seed=0)
    >>> sorted(zip(*(side.tolist() for side in stream.take(range(6)))))
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    """
    order_a, order_b, shifts = (
        shuffle(count, seed, salt) for salt, count in enumerate((count_a, count_b, count_b))
    )
    return PairStream(order_a, order_b, shifts)


def shuffle(count: int, seed: int, salt: int) -> NDArray[np.int64]:
    """Return a permutation of ``range(count)`` that depends on nothing but its arguments.

    Sorting by a hash keeps it the same in every NumPy version, which its generators do not promise.
    """
    start = np.uint64((seed * 0x632BE59BD9B4E019 + salt * 0x9E6C63D0876A9A47) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        keys = _splitmix64(_splitmix64(start) + np.arange(count, dtype=np.uint64))
    return np.argsort(keys, kind="stable").astype(np.int64)


def _splitmix64(z: Array) -> Array:
    """Mix 64 bits (Steele, Lea, Flood 2014); a bijection, so that keys never collide."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
