"""The regions of many queries, stacked: what a row of each may hold, for rows of all of them at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, in_blocks, like, namespace, to_numpy
from ssba.columns.space import Grid
from ssba.constraints.regions.region import Region
from ssba.search.settings import SETTINGS

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Matrix: TypeAlias = Array
"""Rows, or a number for each of their cells: NumPy arrays, or tensors beside a model on its device."""
Cells: TypeAlias = Array
"""A mask of the cells of rows, which lies where these do."""

# What there is for each cell or column, which lies where rows do; and what is on the host in any case.
_BY_CELL = ("x", "start", "low", "high", "held", "free", "moves", "keeps_x", "kept_outside")
_BY_COLUMN = ("discrete", "scale", "step")
_BY_REGION = ("begins", "linear", "columns_moving", "on_grid", "are_coarse", "moves_in_steps", "are_smooth")
_OF_ALL = ("has_levels", "are_boxes", "is_plain", "_keeps_outside", "_plain_cells")


@dataclass(frozen=True)
class Regions:
    """Regions of one or many queries.

    Every method takes rows and, for each of them, the number of its region. What has a number for each cell
    may lie beside a model on its device (`beside`); what has one for each row is on the host. All arithmetic
    is row by row, so that a row comes out the same alone and among others; only where there are linear rows
    are all rows of one region pulled in together, so that they come out the same whatever other regions there
    are.

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

    def beside(self, bring: Callable[[Array], Array]) -> "Regions":
        """Return the regions with all that there is by cell where `bring` puts it; for boxes."""
        there = replace(self)
        for name in (*_BY_CELL, *_BY_COLUMN):
            there.__dict__[name] = bring(getattr(self, name))
        for name in (*_BY_REGION, *_OF_ALL):
            there.__dict__[name] = getattr(self, name)
        there.__dict__["grid"] = self.grid.beside(there.x)
        return there

    @cached_property
    def x(self) -> Matrix:
        """The query's row of each region."""
        return np.array([part.x for part in self.parts])

    @cached_property
    def start(self) -> Matrix:
        """Where each region is nearest to its query."""
        return np.array([part.start for part in self.parts])

    @cached_property
    def low(self) -> Matrix:
        """The lower ends of cells; held ones are the query's own."""
        return np.where(self.held, self.x, self._lower)

    @cached_property
    def high(self) -> Matrix:
        """The upper ends of cells; held ones are the query's own."""
        return np.where(self.held, self.x, self._upper)

    @cached_property
    def held(self) -> Cells:
        """Cells that are the query's own."""
        return np.array([part.held for part in self.parts])

    @cached_property
    def free(self) -> Cells:
        """Cells that can take more than one value."""
        several = self._lower < self._upper
        several[:, self.discrete] = self._allowed.sum(axis=2) > 1
        return ~self.held & several

    @cached_property
    def moves(self) -> Cells:
        """Cells whose numbers can move: free ones that are no levels and not missing at the start."""
        return self.free & ~self.discrete & ~np.isnan(self.start)

    @cached_property
    def columns_moving(self) -> Numbers:
        """How many numbers of each region can move."""
        return np.asarray(to_numpy(self.moves).sum(axis=1))

    @cached_property
    def on_grid(self) -> Mask:
        """Which regions have levels, whole numbers or steps that may change."""
        return np.asarray((self.free & (self.discrete | self.grid.stepped)).any(axis=1))

    @cached_property
    def reals(self) -> Cells:
        """Cells whose numbers can move without steps."""
        return np.asarray(self.moves & ~self.grid.stepped)

    @cached_property
    def are_coarse(self) -> Mask:
        """Which regions have levels, whole numbers or steps that may change, and few other numbers."""
        return np.asarray(self.on_grid & (self.reals.sum(axis=1) <= SETTINGS.race.few_columns))

    @cached_property
    def moves_in_steps(self) -> Mask:
        """Which regions have whole numbers or steps that can move."""
        return np.asarray(to_numpy(self.moves & self.grid.stepped).any(axis=1))

    @cached_property
    def are_smooth(self) -> Mask:
        """Which regions are boxes in which more than a few numbers may change, without steps or levels."""
        finite = np.isfinite(self.low) & np.isfinite(self.high) & np.isfinite(self.x)
        fine = (finite & ~self.kept_outside).all(axis=1) & ~self.linear & ~self.on_grid
        many = self.columns_moving > SETTINGS.race.few_columns
        return np.asarray(fine & many & (not self.has_levels))

    def narrowed(self, cells: Cells) -> "Regions":
        """Return regions in which moves change these cells only; rows are feasible as before."""
        narrowed = replace(self)
        narrowed.__dict__["free"] = self.free & cells
        narrowed.__dict__["moves"] = self.moves & cells
        return narrowed

    @cached_property
    def keeps_x(self) -> Cells:
        """Cells of queries that are feasible though they may lie off the grid or the bounds."""
        return np.array([part.keeps_x for part in self.parts])

    @cached_property
    def begins(self) -> Vector:
        """The distance below which a region has no row, for certain."""
        return np.array([part.begins for part in self.parts])

    @cached_property
    def linear(self) -> Mask:
        """Which regions have linear rows."""
        return np.array([part.linear is not None for part in self.parts])

    @cached_property
    def discrete(self) -> Cells:
        """Which columns hold levels."""
        return np.asarray(self.parts[0].discrete)

    @cached_property
    def has_levels(self) -> bool:
        """Whether any column holds levels."""
        return bool(self.discrete.any())

    @cached_property
    def are_boxes(self) -> bool:
        """Whether there are numbers only, none of them missing, and bounds are all that holds them."""
        return self._plain_cells and not self.linear.any()

    @cached_property
    def is_plain(self) -> bool:
        """Whether all regions are boxes around their queries."""
        return self.are_boxes and bool((self.start == self.x).all())

    @cached_property
    def grid(self) -> Grid:
        """The legal values of columns."""
        return self.parts[0].grid

    @cached_property
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
        return in_blocks(self._snap, Z.shape[1], Z, like(at, Z))

    def _snap(self, Z: Matrix, at: Array) -> Matrix:
        xp = namespace(Z)
        on_grid = self.grid.snap(Z)
        inside = xp.minimum(xp.maximum(on_grid, choose(self.low, at)), choose(self.high, at))
        if self._keeps_outside:
            x = choose(self.x, at)
            inside = xp.where(choose(self.kept_outside, at) & (on_grid == x), x, inside)
        if self.grid.trivial:
            return inside
        x = choose(self.x, at)
        own = choose(self.keeps_x, at) & (xp.abs(Z - x) <= xp.abs(Z - inside))
        return xp.where(own | choose(self.held, at), x, inside)

    def pull_in(self, Z: Matrix, at: Numbers, *, has_legal_levels: bool = False) -> tuple[Matrix, Mask]:
        """Move rows to legal, feasible ones near them; the second array tells where that succeeded.

        Where levels are legal already, and what is held is as it is, that need not be looked up.
        """
        fine = np.ones(len(Z), dtype=bool)
        if has_legal_levels and not self.linear.any():
            return self.snap(Z, at), fine
        if self.has_levels:
            Z = np.where(self.discrete & ~self._is_allowed(Z, at), choose(self._fallback, at), Z)
        # Bounds hold held cells, too, but for those that are missing.
        pulled = self.snap(Z if self._plain_cells else self._with_held(Z, at), at)
        for number, rows in self.linear_rows(at):
            pulled[rows], fine[rows] = self.parts[number].pull_in(Z[rows])
        return pulled, fine

    def _with_held(self, Z: Matrix, at: Numbers) -> Matrix:
        return np.where(choose(self.held, at), choose(self.x, at), Z)

    def inside(self, Z: Matrix, at: Array) -> Array:
        """Tell which rows lie within the bounds; all lies where the rows do."""
        return in_blocks(self._inside, Z.shape[1], Z, at)

    def _inside(self, Z: Matrix, at: Array) -> Array:
        inside = (choose(self.low, at) <= Z) & (choose(self.high, at) >= Z)
        if type(inside) is np.ndarray and inside.all():
            # Mostly so, and quicker to see than what holds row by row.
            return np.ones(len(Z), dtype=bool)
        return namespace(Z).all(inside, axis=1)

    def contains(self, Z: Matrix, at: Numbers) -> Mask:
        """Tell which rows are feasible."""
        if self._plain_cells:
            feasible = np.asarray(to_numpy(self.inside(Z, like(at, Z))))
        else:
            feasible = in_blocks(self._fits, Z.shape[1], Z, at)
        for number, rows in self.linear_rows(at):
            feasible[rows] = self.parts[number].contains(Z[rows])
        return feasible

    def _fits(self, Z: Matrix, at: Numbers) -> Mask:
        x, lower, upper = choose(self.x, at), choose(self._lower, at), choose(self._upper, at)
        same = (Z == x) | (np.isnan(Z) & np.isnan(x))
        boxed = ((lower <= Z) & (Z <= upper)) | (same & choose(self.keeps_x, at))
        fine = np.where(choose(self.held, at), same, boxed & self._is_allowed(Z, at) | (same & np.isnan(Z)))
        return np.asarray(fine.all(axis=1))

    def contains_each(self, rows: Matrix, at: Numbers) -> Mask:
        """Tell which of the same rows are feasible in each of some regions, [regions, rows]."""
        if self.are_boxes and len(rows):
            low, high = self.low[at], self.high[at]
            inside = np.ones((len(at), len(rows)), dtype=bool)
            # Most boxes are the data's own range, and hold all of its rows.
            cut = np.flatnonzero(((low > rows.min(axis=0)) | (high < rows.max(axis=0))).any(axis=1))
            inside[cut] = ((low[cut][:, None] <= rows) & (rows <= high[cut][:, None])).all(axis=2)
            return inside
        of = np.repeat(at, len(rows))
        return self.contains(np.tile(rows, (len(at), 1)), of).reshape(len(at), len(rows))

    def levels(self, j: int) -> Cells:
        """Return which levels of a discrete column each region allows."""
        return self._allowed[:, int(np.flatnonzero(np.flatnonzero(self.discrete) == j)[0])]

    def level_changes(self, Z: Matrix, at: Numbers) -> list[tuple[Matrix, Numbers, Numbers]]:
        """Return, for each column of levels, rows with each level that it may have, whose, and the column."""
        found = []
        for j in np.flatnonzero(self.discrete).tolist():
            who, level = np.nonzero(self.levels(j)[at] & self.free[at, j][:, None])
            rows = Z[who]
            rows[:, j] = level
            found.append((rows, who, np.full(len(who), j)))
        return found

    def level_at(self, at: Numbers, columns: Numbers, share: Vector) -> Numbers:
        """Return the levels of discrete columns that stand at a share, below 1, of those that are allowed."""
        place = (np.cumsum(self.discrete) - 1)[columns]
        number = (share * self._level_counts[at, place]).astype(np.int64)
        return np.asarray(self._levels_in_turn[at, place, number])

    def other_level_at(self, at: Numbers, columns: Numbers, share: Vector) -> Numbers:
        """Return the levels that stand at a share, below 1, of the allowed ones other than the start's."""
        place = (np.cumsum(self.discrete) - 1)[columns]
        count, own, is_allowed = (one[at, place] for one in self._starts_in_turn)
        # One of those behind the start's own, the first of all being behind the last.
        number = np.where(is_allowed, own + 1, 0) + (share * (count - is_allowed)).astype(np.int64)
        return np.asarray(self._levels_in_turn[at, place, number % count])

    def with_numbers_of(self, Z: Matrix, levels: Matrix) -> Matrix:
        """Return rows with the levels of others."""
        return namespace(Z).where(self.discrete, levels, Z) if self.has_levels else Z

    def linear_rows(self, at: Numbers) -> list[tuple[int, Numbers]]:
        """Return which rows belong to each region with linear rows: these are placed one region at a time."""
        if not self.linear.any():
            return []
        concerned = np.flatnonzero(self.linear[at])
        return [(int(one), concerned[at[concerned] == one]) for one in np.unique(at[concerned])]

    def _is_allowed(self, Z: Matrix, at: Numbers) -> Cells:
        """Look up every code among the levels that its region allows; true for numbers."""
        fine = np.ones(Z.shape, dtype=bool)
        if self.has_levels:
            columns, (_, count, width) = np.flatnonzero(self.discrete), self._allowed.shape
            # A missing cell is looked up like the first level.
            codes = np.fmin(np.fmax(np.rint(Z[:, columns]), 0), width - 1).astype(np.int64)
            codes += width * (count * at[:, None] + np.arange(count))
            fine[:, columns] = self._allowed.take(codes)
        return fine

    @cached_property
    def _allowed(self) -> Mask:
        return np.stack([part.allowed[self.discrete] for part in self.parts])

    @cached_property
    def _level_counts(self) -> Numbers:
        return np.asarray(self._allowed.sum(axis=2))

    @cached_property
    def _levels_in_turn(self) -> Numbers:
        """The levels of each region and discrete column, the allowed ones first."""
        return np.argsort(~self._allowed, axis=2, kind="stable")

    @cached_property
    def _starts_in_turn(self) -> tuple[Numbers, Numbers, Mask]:
        """How many levels are allowed, where that of the start stands among them, and if it is one."""
        codes, start = np.arange(self._allowed.shape[2]), self.start[:, self.discrete, None]
        before = (self._allowed & (codes < start)).sum(axis=2)
        return self._level_counts, before, (self._allowed & (codes == start)).any(axis=2)

    @cached_property
    def _fallback(self) -> Matrix:
        return np.array([part.fallback for part in self.parts])

    @cached_property
    def _lower(self) -> Matrix:
        return np.array([part.lower for part in self.parts])

    @cached_property
    def _upper(self) -> Matrix:
        return np.array([part.upper for part in self.parts])

    @cached_property
    def kept_outside(self) -> Cells:
        """Cells of queries that are feasible though they lie outside the bounds."""
        outside = (self.x < self._lower) | (self.x > self._upper)
        return self.keeps_x & ~self.held & outside

    @cached_property
    def _keeps_outside(self) -> bool:
        return bool(self.kept_outside.any())

    @cached_property
    def _plain_cells(self) -> bool:
        return not (self.has_levels or self._keeps_outside or np.isnan(self.x).any())
