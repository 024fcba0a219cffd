"""The regions of many queries, stacked: what a row of each may hold, for rows of all of them at once."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Grid
from ssba.constraints.regions.region import Region

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Regions:
    """Regions of one or many queries.

    Every method takes rows and, for each of them, the number of its region. All arithmetic is row by row, so
    that a row comes out the same alone and among others; only where there are linear rows are all rows of one
    region pulled in together, so that they come out the same whatever other regions there are.

    Attributes
    ----------
    parts
        The regions one by one.
    query
        The number of the query that each belongs to.
    """

    parts: tuple[Region, ...]
    query: Numbers

    @property
    def count(self) -> int:
        """How many regions there are."""
        return len(self.parts)

    @cached_property
    def x(self) -> Matrix:
        """The query's row of each region."""
        return np.stack([part.x for part in self.parts])

    @cached_property
    def start(self) -> Matrix:
        """Where each region is nearest to its query."""
        return np.stack([part.start for part in self.parts])

    @cached_property
    def low(self) -> Matrix:
        """The lower ends of cells; held ones are the query's own."""
        return np.asarray(np.where(self.held, self.x, self._lower))

    @cached_property
    def high(self) -> Matrix:
        """The upper ends of cells; held ones are the query's own."""
        return np.asarray(np.where(self.held, self.x, self._upper))

    @cached_property
    def held(self) -> Mask:
        """Cells that are the query's own."""
        return np.stack([part.held for part in self.parts])

    @cached_property
    def free(self) -> Mask:
        """Cells that can take more than one value."""
        several = self._lower < self._upper
        several[:, self.discrete] = self._allowed.sum(axis=2) > 1
        return np.asarray(~self.held & several)

    @cached_property
    def moves(self) -> Mask:
        """Cells whose numbers can move: free ones that are no levels and not missing at the start."""
        return np.asarray(self.free & ~self.discrete & ~np.isnan(self.start))

    def narrowed(self, cells: Mask) -> "Regions":
        """Return regions in which moves change these cells only; rows are feasible as before."""
        narrowed = replace(self)
        narrowed.__dict__["free"] = self.free & cells
        narrowed.__dict__["moves"] = self.moves & cells
        return narrowed

    @cached_property
    def keeps_x(self) -> Mask:
        """Cells of queries that are feasible though they may lie off the grid or the bounds."""
        return np.stack([part.keeps_x for part in self.parts])

    @cached_property
    def begins(self) -> Vector:
        """The distance below which a region has no row, for certain."""
        return np.array([part.begins for part in self.parts])

    @cached_property
    def linear(self) -> Mask:
        """Which regions have linear rows."""
        return np.array([part.linear is not None for part in self.parts])

    @property
    def discrete(self) -> Mask:
        """Which columns hold levels."""
        return np.asarray(self.parts[0].discrete)

    @property
    def grid(self) -> Grid:
        """The legal values of columns."""
        return self.parts[0].grid

    @property
    def scale(self) -> Vector:
        """What a difference of 1 in the distance is, by column."""
        return np.asarray(self.parts[0].scale)

    @cached_property
    def step(self) -> Vector:
        """The step of each column; 0 where there is none."""
        grid = self.grid
        return np.where(grid.stepped, grid.numerator / grid.denominator, 0.0)

    def snap(self, Z: Matrix, at: Numbers) -> Matrix:
        """Round rows to legal values inside the bounds; a query's own cell is legal where it is feasible."""
        on_grid = self.grid.snap(Z)
        inside = np.minimum(np.maximum(on_grid, self.low[at]), self.high[at])
        if self._keeps_outside:
            x = self.x[at]
            inside = np.where(self._kept_outside[at] & (on_grid == x), x, inside)
        if self.grid.trivial:
            return inside
        x = self.x[at]
        own = self.keeps_x[at] & (np.abs(Z - x) <= np.abs(Z - inside))
        return np.where(own | self.held[at], x, inside)

    def pull_in(self, Z: Matrix, at: Numbers) -> tuple[Matrix, Mask]:
        """Move rows to legal, feasible ones near them; the second array tells where that succeeded."""
        Z = np.where(self.discrete & ~self._is_allowed(Z, at), self._fallback[at], Z)
        pulled = self.snap(np.where(self.held[at], self.x[at], Z), at)
        fine = np.ones(len(Z), dtype=bool)
        for number, rows in self._linear_rows(at):
            pulled[rows], fine[rows] = self.parts[number].pull_in(Z[rows])
        return pulled, fine

    def contains(self, Z: Matrix, at: Numbers) -> Mask:
        """Tell which rows are feasible."""
        if self._are_boxes:
            feasible = np.asarray(((self.low[at] <= Z) & (Z <= self.high[at])).all(axis=1))
        else:
            x = self.x[at]
            same = (Z == x) | (np.isnan(Z) & np.isnan(x))
            boxed = ((self._lower[at] <= Z) & (Z <= self._upper[at])) | (same & self.keeps_x[at])
            fine = np.where(self.held[at], same, boxed & self._is_allowed(Z, at) | (same & np.isnan(Z)))
            feasible = np.asarray(fine.all(axis=1))
        for number, rows in self._linear_rows(at):
            feasible[rows] = self.parts[number].contains(Z[rows])
        return feasible

    def contains_each(self, rows: Matrix, at: Numbers) -> Mask:
        """Tell which of the same rows are feasible in each of some regions, [regions, rows]."""
        if self._are_boxes and not self.linear.any() and len(rows):
            low, high = self.low[at], self.high[at]
            inside = np.ones((len(at), len(rows)), dtype=bool)
            # Most boxes are the data's own range, and hold all of its rows.
            cut = np.flatnonzero(((low > rows.min(axis=0)) | (high < rows.max(axis=0))).any(axis=1))
            inside[cut] = ((low[cut][:, None] <= rows) & (rows <= high[cut][:, None])).all(axis=2)
            return inside
        of = np.repeat(at, len(rows))
        return self.contains(np.tile(rows, (len(at), 1)), of).reshape(len(at), len(rows))

    def levels(self, j: int) -> Mask:
        """Return which levels of a discrete column each region allows."""
        return self._allowed[:, int(np.flatnonzero(np.flatnonzero(self.discrete) == j)[0])]

    def with_numbers_of(self, Z: Matrix, levels: Matrix) -> Matrix:
        """Return rows with the levels of others."""
        return np.where(self.discrete, levels, Z)

    def _linear_rows(self, at: Numbers) -> list[tuple[int, Numbers]]:
        """Return which rows belong to each region with linear rows: these are placed one region at a time."""
        if not self.linear.any():
            return []
        concerned = np.flatnonzero(self.linear[at])
        return [(int(one), concerned[at[concerned] == one]) for one in np.unique(at[concerned])]

    def _is_allowed(self, Z: Matrix, at: Numbers) -> Mask:
        """Look up every code among the levels that its region allows; true for numbers."""
        fine = np.ones(Z.shape, dtype=bool)
        for place, j in enumerate(np.flatnonzero(self.discrete)):
            width = self._allowed.shape[2]
            codes = np.clip(np.rint(np.nan_to_num(Z[:, j])), 0, width - 1).astype(np.int64)
            fine[:, j] = self._allowed[at, place, codes]
        return fine

    @cached_property
    def _allowed(self) -> Mask:
        return np.stack([part.allowed[self.discrete] for part in self.parts])

    @cached_property
    def _fallback(self) -> Matrix:
        return np.stack([part.fallback for part in self.parts])

    @cached_property
    def _lower(self) -> Matrix:
        return np.stack([part.lower for part in self.parts])

    @cached_property
    def _upper(self) -> Matrix:
        return np.stack([part.upper for part in self.parts])

    @cached_property
    def _kept_outside(self) -> Mask:
        """Cells of queries that are feasible though they lie outside the bounds."""
        outside = (self.x < self._lower) | (self.x > self._upper)
        return np.asarray(self.keeps_x & ~self.held & outside)

    @cached_property
    def _keeps_outside(self) -> bool:
        return bool(self._kept_outside.any())

    @cached_property
    def _are_boxes(self) -> bool:
        return not (self.discrete.any() or self._keeps_outside or np.isnan(self.x).any())
