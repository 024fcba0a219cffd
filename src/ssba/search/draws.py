"""Random numbers of the search: one block for each move and round, which all lanes share.

So what a query draws does not depend on what other queries do, nor on how many there are.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from ssba.search.regions import Matrix


@dataclass(frozen=True)
class Draws:
    """Random numbers for one purpose, which is named by a path of moves and rounds."""

    path: tuple[int, ...]

    def of(self, move: str, number: int = 0) -> "Draws":
        """Return the draws of a move within this one, in one of its rounds."""
        return Draws((*self.path, zlib.crc32(move.encode()), number))

    @property
    def generator(self) -> np.random.Generator:
        """A generator that begins anew."""
        return np.random.default_rng(self.path)

    def normal(self, rows: int, columns: int) -> Matrix:
        """Return a block of normal numbers."""
        return self.generator.normal(size=(rows, columns))
