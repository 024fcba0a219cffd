"""The region of feasible rows around one query: a box, level sets, and half-spaces.

Every constraint, given the query, becomes bounds on single columns, sets of allowed levels and
rows of ``A z <= b``. If-then rules become several regions, one per way to obey them, so that a
rule is searched and not only filtered. A region is never empty: `start` is a feasible row, the
query itself where it is feasible.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from ssba.arrays import Array, namespace
from ssba.columns.space import Grid

# Dykstra's method converges linearly; what is left after these rounds is mended by `_shrink`.
_ROUNDS = 100
_SETTLED = 1e-8


@dataclass(frozen=True)
class Halfspaces:
    """Half-spaces ``A z <= b`` over the columns that may move.

    Projections go for ``A z <= aim``: a few rounding errors inside `b` for sums of real numbers, so that
    the exact check of the finished row, which may add in another order, agrees; the middle of
    the two sides of an equality, which are marked `thin`. Sums of whole numbers and steps come in grains:
    there `aim` is the last sum allowed, and `b` half a grain beyond, where no rounding error gets.
    ``A z <= certain`` holds for every row that meets the constraint, whatever was rounded.
    """

    A: Array
    b: Array
    aim: Array
    thin: Array
    certain: Array

    def violation(self, Z: Array) -> Array:
        """Return by how much each row of `Z` breaks each linear row; zero or less: not at all.

        A linear row asks nothing of a row in which one of its cells is missing.
        """
        xp = namespace(Z)
        missing = xp.isnan(Z)
        over = xp.where(missing, xp.zeros_like(Z), Z) @ self.A.T - self.b
        involved = xp.astype(self.A != 0, Z.dtype)
        return xp.where(xp.astype(missing, Z.dtype) @ involved.T > 0, -xp.ones_like(over), over)


@dataclass(frozen=True)
class Region:
    """Feasible rows for the query `x`.

    Cells where `held` is true are the query's own. Elsewhere `lower` and `upper` are legal values,
    `allowed` marks the permitted codes of discrete columns, `fallback` is one of them, and
    `keeps_x` tells that the query's own cell is feasible even if it is not on the column's grid.
    `center` meets the half-spaces with room to spare where that is possible. No row of the region is nearer
    to the query than `begins`, which is certain; `start` is as near as that where it could be proved.

    While the boxes of many queries are made, one of these holds them all, each array with a first axis of
    queries: `project` and `snap` then take one row a query.
    """

    x: Array
    held: Array
    lower: Array
    upper: Array
    discrete: Array
    allowed: Array
    fallback: Array
    keeps_x: Array
    linear: Halfspaces | None
    grid: Grid
    scale: Array
    center: Array
    start: Array
    begins: float = 0.0

    def pull_in(self, Z: Array) -> tuple[Array, Array]:
        """Move rows to legal, feasible ones near them; the second array tells where that succeeded."""
        inside = self.project(Z)
        snapped = self.snap(inside)
        if self.linear is None:
            return snapped, namespace(Z).ones(Z.shape[0], dtype=bool)
        mended = self._mend(snapped, inside)
        fine = self.contains(mended)
        for rounded in (snapped, mended):
            if not self._reals_mend or bool(namespace(Z).all(fine)):
                break
            mended, fine = self._with_reals_moved(rounded, mended, fine)
        return mended, fine

    def project(self, Z: Array) -> Array:
        """Return the nearest point of the region's relaxation (steps and whole numbers ignored)."""
        xp = namespace(Z)
        Z = self._legal_levels(Z)
        Z = xp.where(self.held, self.x, Z)
        if self.linear is None:
            return self._clip(Z)
        return self._shrink(self._nearest(Z, self.linear, self.held | self.discrete), self.linear)

    def nearest_beyond(self, z: Array, normal: Array) -> Array:
        """Return the row nearest to the query among those as far along `normal` as `z`, steps ignored.

        Only numbers move; half-spaces and bounds hold.
        """
        xp = namespace(z)
        assert self.linear is not None
        offset = -xp.sum(normal * self._finite(z))[None]
        beyond = Halfspaces(
            A=xp.concat([self.linear.A, -normal[None, :]]),
            b=xp.concat([self.linear.b, offset]),
            aim=xp.concat([self.linear.aim, offset]),
            thin=xp.concat([self.linear.thin, xp.zeros_like(offset) > 0]),
            certain=xp.concat([self.linear.certain, offset]),
        )
        home = xp.where(self.discrete | xp.isnan(self.x), z, self.x)
        return self._nearest(home[None, :], beyond, self.held | self.discrete)[0, :]

    def snap(self, Z: Array) -> Array:
        """Round to legal values inside the bounds; the query's own cell counts as legal where feasible."""
        xp = namespace(Z)
        on_grid = self._clip(self.grid.snap(Z))
        if self.grid.trivial:
            return on_grid
        own = self.keeps_x & (xp.abs(Z - self.x) <= xp.abs(Z - on_grid))
        return xp.where(own | self.held, self.x, on_grid)

    def contains(self, Z: Array) -> Array:
        """Tell which rows are feasible."""
        xp = namespace(Z)
        if self._is_box:
            low, high = self._ends
            feasible = xp.all((low <= Z) & (Z <= high), axis=-1)
        else:
            feasible = self._contains_cells(Z)
        if self.linear is not None:
            feasible = feasible & xp.all(self.linear.violation(Z) <= 0, axis=-1)
        return feasible

    def may_contain(self, Z: Array) -> Array:
        """Tell which rows are feasible, or so near to it that rounding decides; the others are not."""
        xp = namespace(Z)
        if self.linear is None:
            return self.contains(Z)
        surely = replace(self.linear, b=xp.maximum(self.linear.certain, self.linear.b))
        return self._contains_cells(Z) & xp.all(surely.violation(Z) <= 0, axis=-1)

    def _contains_cells(self, Z: Array) -> Array:
        """Tell in which rows every cell is one of the legal ones of its column."""
        xp = namespace(Z)
        same = (Z == self.x) | (xp.isnan(Z) & xp.isnan(self.x))
        boxed = ((self.lower <= Z) & (Z <= self.upper)) | (same & self.keeps_x)
        fine = xp.where(self.held, same, boxed & self._is_allowed(Z) | (same & xp.isnan(Z)))
        return xp.all(fine, axis=-1)

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The bounds, with those of held cells closed around the query's own."""
        xp = namespace(self.x)
        return xp.where(self.held, self.x, self.lower), xp.where(self.held, self.x, self.upper)

    @cached_property
    def _kept_outside(self) -> Array | None:
        """The cells of the query that are feasible though they lie outside the bounds; None without any."""
        outside = (self.x < self.lower) | (self.x > self.upper)
        kept = self.keeps_x & ~self.held & outside
        return kept if bool(namespace(self.x).any(kept)) else None

    @cached_property
    def _is_box(self) -> bool:
        """Whether the bounds alone tell which cells are feasible: no levels, nothing missing."""
        xp = namespace(self.x)
        keeps_outside = self._kept_outside is not None
        return not (self._has_levels or keeps_outside or bool(xp.any(xp.isnan(self.x))))

    @cached_property
    def free(self) -> Array:
        """Which columns can take more than one value."""
        xp = namespace(self.lower)
        several = xp.sum(xp.astype(self.allowed, xp.int64), axis=-1) > 1
        return ~self.held & xp.where(self.discrete, several, self.lower < self.upper)

    @cached_property
    def is_countable(self) -> bool:
        """Whether every free column has levels or steps, so that rows within some distance can be counted."""
        return not bool(namespace(self.x).any(self.free & ~self.discrete & ~self.grid.stepped))

    @cached_property
    def has_equality(self) -> bool:
        """Whether rows have to meet an equality between columns."""
        return self.linear is not None and bool(namespace(self.x).any(self.linear.thin))

    @cached_property
    def _has_levels(self) -> bool:
        return bool(namespace(self.discrete).any(self.discrete))

    def _finite(self, Z: Array) -> Array:
        """Missing cells never take part in half-spaces; zero keeps them out of the sums."""
        xp = namespace(Z)
        return xp.where(xp.isnan(Z), xp.zeros_like(Z), Z)

    def _clip(self, Z: Array) -> Array:
        xp = namespace(Z)
        low, high = self._ends
        # Quicker than the namespace's clip, which makes copies of the bounds first.
        clipped = xp.minimum(xp.maximum(Z, low), high)
        if self._kept_outside is None:
            return clipped
        return xp.where(self._kept_outside & (Z == self.x), self.x, clipped)

    def _is_allowed(self, Z: Array) -> Array:
        """Look up every discrete code in its column's row of `allowed`; true for other columns."""
        xp = namespace(Z)
        if not self._has_levels:
            return xp.ones(Z.shape, dtype=xp.bool)
        width = self.allowed.shape[-1]
        codes = xp.clip(xp.where(xp.isnan(Z), xp.zeros_like(Z), Z), 0, width - 1)
        codes = xp.where(self.discrete, xp.round(codes), xp.zeros_like(codes))
        first = width * xp.reshape(xp.arange(math.prod(self.x.shape)), self.x.shape)
        flat = xp.astype(codes, xp.int64) + first
        found = xp.take(xp.reshape(self.allowed, (-1,)), xp.reshape(flat, (-1,)))
        return xp.reshape(found, Z.shape) | ~self.discrete

    def _legal_levels(self, Z: Array) -> Array:
        xp = namespace(Z)
        return xp.where(self.discrete & ~self._is_allowed(Z), self.fallback, Z)

    def _nearest(self, Z: Array, linear: Halfspaces, still: Array) -> Array:
        """Project on box and half-spaces in turn (Dykstra 1983), in the metric of `scale`.

        The `still` columns stay; half-spaces that no other column takes part in are left as they are.
        """
        xp = namespace(Z)
        moves = xp.where(still, xp.zeros_like(self.scale), self.scale**2) * linear.A
        lengths = xp.sum(moves * linear.A, axis=1)
        lengths = xp.where(lengths > 0, lengths, xp.full_like(lengths, math.inf))
        point = self._finite(Z)
        pulls = [xp.zeros_like(point[:, 0]) for _ in range(linear.A.shape[0])]
        pushed = xp.zeros_like(point)
        for _ in range(_ROUNDS):
            before = point
            for i, pull in enumerate(pulls):
                over = (point @ linear.A[i, :] - linear.aim[i]) / lengths[i] + pull
                pulls[i] = xp.clip(over, 0, None)
                point = point - (pulls[i] - pull)[:, None] * moves[i, :]
            clipped = self._finite(self._clip(point + pushed))
            pushed, point = point + pushed - clipped, clipped
            if bool(xp.all(xp.abs(point - before) <= _SETTLED * self.scale)):
                break
        return xp.where(xp.isnan(Z), Z, self._onto_equalities(point, linear, moves))

    def _onto_equalities(self, point: Array, linear: Halfspaces, moves: Array) -> Array:
        """Close the last gap to each equality with the columns that are not at a bound."""
        xp = namespace(point)
        for _ in range(2):
            for i in range(linear.A.shape[0]):
                if not bool(linear.thin[i]):
                    continue
                inside = (self.lower < point) & (point < self.upper)
                move = xp.where(inside, moves[i, :], xp.zeros_like(point))
                length = xp.sum(move * linear.A[i, :], axis=1)
                gap = linear.aim[i] - point @ linear.A[i, :]
                step = xp.where(length > 0, gap / xp.where(length > 0, length, xp.ones_like(length)), 0 * gap)
                point = self._finite(self._clip(point + step[:, None] * move))
        return point

    def _shrink(self, Z: Array, linear: Halfspaces) -> Array:
        """Pull rows straight toward `center` until they lie in every half-space."""
        xp = namespace(Z)
        center = self._finite(self.center)
        gain = (self._finite(Z) - center) @ linear.A.T
        room = xp.clip(linear.aim - linear.A @ center, 0, None)
        share = xp.where(gain > room, room / xp.where(gain > 0, gain, xp.ones_like(gain)), xp.ones_like(gain))
        # Both ends of the way meet an equality, and so does all that lies between.
        share = xp.min(xp.where(linear.thin, xp.ones_like(share), share), axis=1)[:, None]
        moved = self.center + share * (Z - self.center)
        fixed = self.held | self.discrete | xp.isnan(moved) | xp.all(linear.A == 0, axis=0)
        return xp.where((share < 1) & ~fixed, moved, Z)

    @cached_property
    def _reals_mend(self) -> bool:
        """Whether real numbers that move take part in half-spaces, beside whole numbers and steps."""
        assert self.linear is not None
        xp = namespace(self.x)
        takes_part = xp.any(self.linear.A != 0, axis=0) & self.free & ~self.discrete
        return bool(xp.any(takes_part & self.grid.stepped)) and bool(xp.any(takes_part & ~self.grid.stepped))

    def _with_reals_moved(self, rounded: Array, rows: Array, fine: Array) -> tuple[Array, Array]:
        """Move the real numbers of rounded rows into the half-spaces, where rows are not feasible yet."""
        xp = namespace(rows)
        assert self.linear is not None
        still = self.held | self.discrete | self.grid.stepped
        moved = self.snap(xp.where(still, rounded, self._nearest(rounded, self.linear, still)))
        helps = ~fine & self.contains(moved)
        return xp.where(helps[:, None], moved, rows), fine | helps

    def _mend(self, snapped: Array, inside: Array) -> Array:
        """Where rounding broke a linear row, round its cells the other way instead."""
        xp = namespace(snapped)
        if self.linear is None or self.grid.trivial:
            return snapped
        broken = xp.astype(self.linear.violation(snapped) > 0, snapped.dtype)
        push = broken @ self.linear.A
        mended = xp.where(push > 0, self.grid.floor(inside), self.grid.ceil(inside))
        return xp.where((push != 0) & ~self.held, self._clip(mended), snapped)
