"""Which stored rows may lie in a region, told column by column.

Most regions bound few columns in a way that leaves any stored row out: the spans of a chunk's columns tell
which. These are checked one after the other, those that leave most rows out first, as far as a few rows of a
sample show; as soon as few rows are left, only their cells are looked at.

No row of the region is ever left out. A row that is left may still lie outside, if few are left or by a
rounding error in a linear row; `Region.contains` has the last word about the rows that are given out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.constraints.regions.region import Region
from ssba.index.retrieval.chunks import Chunk, Flags, Matrix, Positions, Spans, Vector, cells

FEW = 16
"""Where less than one row in so many is left, their cells are picked out instead of passing over all."""

AT_ONCE = 256
"""So few rows of a chunk are checked and measured as whole rows, which is quicker than by columns."""

_NEARLY_ALL = 0.9
_ROUNDING = 1e-12
_ANYWHERE = (-np.inf, np.inf)


@dataclass(frozen=True)
class RegionFilter:
    """A region as checks of single columns; `sample` are some stored rows, to tell which leave most out."""

    region: Region
    sample: Matrix
    shares: dict[int, float] = field(default_factory=dict)

    def excludes(self, spans: Spans) -> bool:
        """Tell whether a single column leaves out every row within the spans."""
        region = self.region
        own = np.where(region.keeps_x, region.x, np.nan)
        beyond = (spans.high < np.fmin(region.lower, own)) | (spans.low > np.fmax(region.upper, own))
        return bool((beyond & ~(spans.gaps & self._x_missing)).any())

    def restricting(self, spans: Spans) -> Flags:
        """Tell which columns might leave out a row within the spans."""
        region = self.region
        roomy = (region.lower <= spans.low) & (spans.high <= region.upper)
        roomy &= self._x_missing | ~spans.gaps
        if len(self._forbidden):
            roomy &= ~region.discrete | (self._forbidden_within(spans) == 0)
        return np.asarray(~roomy)

    def admits(self, j: int, column: Vector, span: tuple[float, float] = _ANYWHERE) -> Flags:
        """Tell which cells of a column, all within a span or missing, the region has room for."""
        region = self.region
        if region.held[j]:
            return np.asarray(np.isnan(column) if self._x_missing[j] else column == region.x[j])
        fine = self._between(j, column, span)
        if region.keeps_x[j] and not region.lower[j] <= region.x[j] <= region.upper[j]:
            fine |= column == region.x[j]
        if region.discrete[j]:
            fine &= self._allowed(j, column)
        if self._x_missing[j]:
            fine |= np.isnan(column)
        return fine

    def share(self, j: int) -> float:
        """Return the share of the sample's cells that a column has room for."""
        if j not in self.shares:
            column = self.sample[:, j]
            self.shares[j] = float(self.admits(j, column).mean()) if len(column) else 1.0
        return self.shares[j]

    def meets_rows(self, values: Matrix, picked: Positions | None) -> Flags | None:
        """Tell which rows meet the linear rows, or break them by no more than rounding; None: all do."""
        rows = self.region.linear
        if rows is None:
            return None
        fine = np.ones(len(values) if picked is None else len(picked), dtype=bool)
        for weights, most in zip(rows.A, rows.b, strict=True):
            total = np.zeros(len(fine))
            size = np.full(len(fine), abs(float(most)))
            for j in np.flatnonzero(weights).tolist():
                term = cells(values, j, picked) * weights[j]
                total += term
                size += np.abs(term)
            # A missing cell makes the comparison false: such a row has nothing to meet.
            fine &= ~(total - most > _ROUNDING * len(weights) * size)
        return fine

    @cached_property
    def _x_missing(self) -> Flags:
        return np.asarray(np.isnan(self.region.x))

    @cached_property
    def _forbidden(self) -> NDArray[np.int64]:
        """For each column and level, how many levels below it are not allowed; empty without levels."""
        if not self.region.discrete.any():
            return np.empty((0, 0), dtype=np.int64)
        forbidden = np.cumsum(~self.region.allowed, axis=1)
        return np.concatenate([np.zeros((len(forbidden), 1), dtype=np.int64), forbidden], axis=1)

    def _forbidden_within(self, spans: Spans) -> NDArray[np.int64]:
        every, last = np.arange(len(spans.low)), self.region.allowed.shape[1] - 1
        low = np.clip(np.round(spans.low), 0, last).astype(np.int64)
        high = np.clip(np.round(spans.high), 0, last).astype(np.int64)
        return np.asarray(self._forbidden[every, high + 1] - self._forbidden[every, low])

    def _between(self, j: int, column: Vector, span: tuple[float, float]) -> Flags:
        """Compare with those bounds only that lie within the span; always with one, which no NaN passes."""
        low, high = self.region.lower[j], self.region.upper[j]
        if low <= span[0]:
            return np.asarray(column <= high)
        fine = np.asarray(column >= low)
        if not span[1] <= high:
            fine &= column <= high
        return fine

    def _allowed(self, j: int, column: Vector) -> Flags:
        allowed = self.region.allowed[j]
        codes = np.clip(np.where(np.isnan(column), 0.0, column), 0, len(allowed) - 1)
        return np.asarray(allowed[np.round(codes).astype(np.int64)])


def pick(region_filters: Sequence[RegionFilter], chunk: Chunk, values: Matrix) -> Positions | None:
    """Return the positions of the rows that may lie in one of the regions, in order; None: all may."""
    found: list[Positions] = []
    for region_filter in region_filters:
        if region_filter.excludes(chunk.spans):
            continue
        picked = _picked(region_filter, chunk, values)
        if picked is None:
            return None
        found.append(picked)
    if len(found) == 1:
        return found[0]
    return np.unique(np.concatenate([*found, np.empty(0, dtype=np.intp)]))


def _picked(region_filter: RegionFilter, chunk: Chunk, values: Matrix) -> Positions | None:
    picked = _by_columns(region_filter, chunk, values)
    fine = region_filter.meets_rows(values, picked)
    if fine is None:
        return picked
    return np.flatnonzero(fine) if picked is None else picked[fine]


def _by_columns(region_filter: RegionFilter, chunk: Chunk, values: Matrix) -> Positions | None:
    spans = chunk.spans
    mask: Flags | None = None
    picked: Positions | None = None
    for j in sorted(np.flatnonzero(region_filter.restricting(spans)).tolist(), key=region_filter.share):
        if picked is not None and len(picked) <= AT_ONCE and region_filter.share(j) > _NEARLY_ALL:
            break
        if not _leaves_some_out(region_filter, j, spans, values):
            continue
        if picked is not None:
            picked = picked[region_filter.admits(j, cells(values, j, picked), spans.of(j))]
            continue
        fine = region_filter.admits(j, values[:, j], spans.of(j))
        mask = fine if mask is None else np.logical_and(mask, fine, out=mask)
        if np.count_nonzero(mask) * FEW < len(mask):
            picked = np.flatnonzero(mask)
    return np.flatnonzero(mask) if picked is None and mask is not None else picked


def _leaves_some_out(region_filter: RegionFilter, j: int, spans: Spans, values: Matrix) -> bool:
    """Look at a column's span before its cells are compared: most columns have room for all of them."""
    if spans.known[j]:
        return True
    spans.learn(j, values[:, j])
    return bool(region_filter.restricting(spans)[j])
