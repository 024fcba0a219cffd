"""Straight ways from the starts of regions to rows on the target's side, and the race along them.

A ray keeps the levels of its end all the way: only numbers move. The start is feasible and regions are
convex in their numbers, so that every point between is feasible too.
"""

from dataclasses import dataclass

import numpy as np

from ssba.arrays import by_row, choose, like, namespace, row_sums
from ssba.search.lanes import rank_within
from ssba.search.ledger import Ledger
from ssba.search.regions import Cells, Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS

_ALL = slice(None)


@dataclass(frozen=True)
class Rays:
    """Ways from the start of a region to each of `ends`; a share of 1 is the end itself.

    Along a ray the distance from the query is ``sqrt(a t**2 + 2 b t + c)`` in L2, and ``a t + c`` in L1
    where the columns' changes do not turn around. `moving` are the cells that move, None where all do.
    """

    ledger: Ledger
    at: Numbers
    ends: Matrix
    way: Matrix
    moving: Cells | None
    a: Vector
    b: Vector
    c: Vector

    def take(self, numbers: Numbers) -> "Rays":
        """Return some of the rays."""
        shape = self.a[numbers], self.b[numbers], self.c[numbers]
        moving = None if self.moving is None else self.moving[numbers]
        ends, way = choose(self.ends, numbers), choose(self.way, numbers)
        return Rays(self.ledger, self.at[numbers], ends, way, moving, *shape)

    def rows(self, numbers: Numbers, shares: Vector) -> Matrix:
        """Return the legal rows at these shares of the rays with these numbers."""
        regions, at = self.ledger.regions, like(self.at[numbers], self.way)
        rows = choose(self.way, numbers) * by_row(shares, self.way)
        rows += choose(regions.start, at)
        if self.moving is not None:
            rows = np.where(self.moving[numbers], rows, self.ends[numbers])
        return regions.snap(rows, at)

    def all_rows(self, shares: Vector) -> Matrix:
        """Return the legal row at a share of each ray."""
        return self.rows(np.arange(len(self.at)), shares)

    def distances(self, shares: Vector, which: Numbers | slice = _ALL) -> Vector:
        """Return the distance from the query at a share of each ray, or of some of them."""
        a, b, c = self.a[which], self.b[which], self.c[which]
        if self.ledger.metric.adds_squares:
            return np.sqrt(np.maximum((a * shares + 2 * b) * shares + c, 0.0))
        return a * shares + c

    def shares(self, distance: Vector, which: Numbers | slice = _ALL) -> Vector:
        """Return the share of each ray that lies at a distance from the query; beyond its end if need be."""
        a, b, c = self.a[which], self.b[which], self.c[which]
        long = np.where(a > 0, a, 1.0)
        if self.ledger.metric.adds_squares:
            # A power of two near the length: divided by it, fourth powers of lengths are squares.
            unit = np.ldexp(1.0, np.frexp(long)[1] // 2)
            along, long = b / unit, long / unit
            root = np.sqrt(np.maximum(along**2 - long / unit * (c - distance**2), 0.0))
            found = (root - along) / long
        else:
            found = (distance - c) / long
        return np.where(a > 0, np.maximum(found, 0.0), 1.0)


def rays_to(ledger: Ledger, ends: Matrix, at: Numbers) -> Rays:
    """Return the ways from the starts of regions to some rows."""
    regions, metric = ledger.regions, ledger.metric
    there = like(at, ends)
    way = ends - choose(regions.start, there)
    if regions.is_plain:
        pace = way / regions.scale
        (a,) = row_sums(pace * pace if metric.adds_squares else namespace(pace).abs(pace))
        return Rays(ledger, at, ends, way, None, a, np.zeros_like(a), np.zeros_like(a))
    xp, start, x = namespace(ends), choose(regions.start, there), choose(regions.x, there)
    pace, gap = way / regions.scale, (start - x) / regions.scale
    moving, fixed = None, xp.zeros_like(way)
    if not regions.are_boxes:
        still = regions.discrete | np.isnan(way)
        costly = ~(still | np.isnan(x))
        pace, gap = np.where(costly, pace, 0.0), np.where(costly, gap, 0.0)
        fixed = fixed if costly.all() else np.where(costly, 0.0, metric.parts(ends, x))
        moving = ~still if still.any() else None
        way = np.where(still, 0.0, way)
    if metric.adds_squares:
        a, b, c = row_sums(pace * pace, gap * pace, gap * gap + fixed * fixed)
        return Rays(ledger, at, ends, way, moving, a, b, c)
    begin, end, rest = row_sums(xp.abs(gap), xp.abs(gap + pace), fixed)
    return Rays(ledger, at, ends, way, moving, end - begin, np.zeros_like(begin), begin + rest)


@dataclass(frozen=True)
class Crossings:
    """Where rays cross the boundary: rows inside, the race that each belongs to, the nearest of each first.

    `near` and `far` bracket the distance of the crossing; `margin` is that of the row, by scores.
    """

    rows: Matrix
    group: Numbers
    near: Vector
    far: Vector
    margin: Vector | None


def race(
    rays: Rays,
    group: Numbers,
    keep: int | Numbers,
    tolerance: float | Vector,
    *,
    nearest: Vector | None = None,
    margins: tuple[Vector, Vector] | None = None,
    guess: Vector | None = None,
    certain: Mask | bool = True,
) -> Crossings:
    """Find, in each of many races, the `keep` rays that cross the boundary nearest to the query.

    All ends reach the target, the starts do not, and nobody is expected to cross before the distance
    `nearest` of each ray. Ends that are not `certain` are asked about, too, in the first call. By labels, all
    rays still in a race are asked about at common distances: if enough of them reach the target there, the
    others are out. Once few rays are left, each is asked about at several distances at once: more rows, but
    fewer steps one after the other. With `margins` (of the starts, and of the ends) each ray follows its own
    secant, and those whose crossing is estimated to be far are out.

    `guess` is at what share each ray is expected to cross, by scores; NaN where nobody knows.
    `group` is the number of the race of each ray; rays of one race stand next to each other. `keep` is one
    number for all races, or one for each.
    """
    count = len(rays.a)
    if not count:
        return Crossings(rays.ends, group, rays.a, rays.a, None if margins is None else rays.a)
    begin = np.zeros(count)
    if nearest is not None:
        begin = np.minimum(rays.shares(nearest), 1 - tolerance)
    keep = np.broadcast_to(keep, int(group[-1]) + 1)
    field = _Field(rays, group, begin, np.ones(count), margins, np.broadcast_to(tolerance, count))
    unknown = np.flatnonzero(~np.broadcast_to(certain, count))
    if guess is not None or len(unknown):
        field.begin(guess, unknown)
    for step in range(SETTINGS.race.most_steps):
        waiting = field.still_running(keep, step)
        if not len(waiting):
            break
        if margins is None:
            field.take_in(*field.common_distances(waiting))
        else:
            field.ask_at_secants(waiting)
    return field.crossings(keep)


@dataclass
class _Field:
    """The runners of all races: brackets of shares, and margins at their ends where there are scores."""

    rays: Rays
    group: Numbers
    low: Vector
    high: Vector
    margins: tuple[Vector, Vector] | None
    tolerance: Vector

    def __post_init__(self) -> None:
        self.alive = np.ones(len(self.low), dtype=bool)
        self.is_over = np.zeros(int(self.group[-1]) + 1, dtype=bool)
        if self.margins is not None:
            self.below, self.above = self.margins[0].copy(), self.margins[1].copy()

    def still_running(self, keep: Numbers, step: int) -> Numbers:
        """Let those out that cannot win; return the rays whose brackets are still too wide to tell."""
        near, far = self.rays.distances(self.low), self.rays.distances(self.high)
        # A race that is over stays as it is, however long others go on.
        running = np.flatnonzero(self.alive & ~self.is_over[self.group])
        order = running[np.lexsort((far[running], self.group[running]))]
        group = self.group[order]
        rank = rank_within(group)
        leads = rank < keep[group]
        # The bar of a race is how far its last leader is at most.
        bar = np.zeros(len(self.is_over))
        np.maximum.at(bar, group[leads], far[order[leads]])
        if self.margins is None:
            order = order[leads | (near[order] < bar[group])]
        elif step:
            order = self._promising(order, keep)
        self.alive[running] = False
        self.alive[order] = True
        wide = far > near * (1 + self.tolerance)
        # A race is over once its leaders are known closely enough.
        undecided = np.zeros(len(bar), dtype=bool)
        leaders = order[rank_within(self.group[order]) < keep[self.group[order]]]
        undecided[self.group[leaders[wide[leaders]]]] = True
        self.is_over |= ~undecided
        waiting = np.sort(order)
        return waiting[wide[waiting] & undecided[self.group[waiting]]]

    def _promising(self, order: Numbers, keep: Numbers) -> Numbers:
        """Return the better half of each race, by where rays are estimated to cross."""
        guess = self.rays.distances(self._secants(np.arange(len(self.low))))
        order = order[np.lexsort((guess[order], self.group[order]))]
        group = self.group[order]
        size = np.bincount(group)[group]
        return order[rank_within(group) < np.maximum(keep[group], (size + 1) // 2)]

    def begin(self, guess: Vector | None, unknown: Numbers) -> None:
        """Ask each ray around where it may cross, or at common distances, and about unknown ends."""
        if guess is None:
            who, shares = self.common_distances(np.arange(len(self.low)))
        else:
            around = guess[:, None] * (1 + SETTINGS.descent.gain * np.array([-1, 1]))
            who, place = np.nonzero((around > self.low[:, None]) & (around < self.high[:, None]))
            shares = around[who, place]
        order = np.argsort(np.concatenate([who, unknown]), kind="stable")
        who = np.concatenate([who, unknown])[order]
        shares = np.concatenate([shares, self.high[unknown]])[order]
        if len(who):
            self.take_in(who, shares)

    def take_in(self, who: Numbers, shares: Vector) -> None:
        """Ask about shares of rays, and narrow their brackets; shares of a ray come in order."""
        rays = self.rays
        reply = rays.ledger.ask(rays.rows(who, shares), rays.at[who])
        reached = reply.reached
        hits, misses = np.flatnonzero(reached), np.flatnonzero(~reached)
        # The first crossing counts: the nearest hit, and the farthest miss before it.
        first = hits[rank_within(who[hits]) == 0]
        self.high[who[first]] = shares[first]
        beyond = shares[misses] >= self.high[who[misses]]
        # Where nothing reached, not even the end, there is no crossing.
        self.alive[np.setdiff1d(who[misses[beyond]], who[first])] = False
        misses = misses[~beyond]
        last = misses[np.append(who[misses][1:] != who[misses][:-1], True)[: len(misses)]]
        self.low[who[last]] = shares[last]
        if self.margins is not None:
            margin = np.asarray(reply.margin)
            self.above[who[first]], self.below[who[last]] = margin[first], margin[last]
        # What the budget did not allow to be asked cannot be narrowed down any more.
        shut = np.unique(who[~rays.ledger.goes_on(rays.at[who])])
        self.low[shut] = self.high[shut]

    def common_distances(self, waiting: Numbers) -> tuple[Numbers, Vector]:
        """Return rays, and shares of them at distances that those of a race have in common, else middles."""
        rays, group = self.rays, self.group[waiting]
        near, far = (rays.distances(end[waiting], waiting) for end in (self.low, self.high))
        races = int(group[-1]) + 1
        size = np.bincount(group, minlength=races)
        settings = SETTINGS.race
        sections = settings.sections_at_once if rays.ledger.asks_widely else settings.sections
        cuts = np.maximum(1, sections // np.maximum(size, 1)[group])
        first, last = np.full(races, np.inf), np.full(races, -np.inf)
        np.minimum.at(first, group, near)
        np.maximum.at(last, group, far)
        number = np.repeat(np.arange(len(waiting)), cuts)
        part = (rank_within(number) + 1) / (cuts[number] + 1)
        level = first[group[number]] + (last - first)[group[number]] * part
        who = waiting[number]
        shares = rays.shares(level, who)
        outside = (shares <= self.low[who]) | (shares >= self.high[who])
        # A ray that has none of the distances in its bracket is asked about in its middle, once.
        some = np.zeros(len(waiting), dtype=bool)
        some[number[~outside]] = True
        middle = ~some[number] & (rank_within(number) == 0)
        shares = np.where(middle, 0.5 * (self.low[who] + self.high[who]), shares)
        kept = np.flatnonzero(~outside | middle)
        return who[kept], shares[kept]

    def ask_at_secants(self, waiting: Numbers) -> None:
        """Ask each ray where a straight line between its margins crosses zero, and a little to both sides."""
        low, high = self.low[waiting], self.high[waiting]
        wide = high - low
        middle = self._secants(waiting)
        settings = SETTINGS.race
        if self.rays.ledger.asks_widely:
            aside = wide[:, None] * np.array(settings.aside_at_once)
        else:
            # A line is wrong by the square of how long it is.
            wrong = np.maximum(wide * wide / high / 3, 0.45 * self.tolerance[waiting] * high)
            off = np.minimum(wrong, settings.aside * wide)
            aside = off[:, None] * np.array([-1.0, 0.0, 1.0])
        shares = middle[:, None] + aside
        edge = SETTINGS.race.edge * wide[:, None]
        shares = np.sort(np.clip(shares, low[:, None] + edge, high[:, None] - edge), axis=1)
        self.take_in(np.repeat(waiting, shares.shape[1]), shares.ravel())

    def _secants(self, who: Numbers) -> Vector:
        """Return where a straight line between the margins at the two ends crosses zero."""
        low, high = self.low[who], self.high[who]
        gap = self.above[who] - self.below[who]
        fine = (gap > 0) & (gap < np.inf)
        share = np.where(fine, -self.below[who] / np.where(fine, gap, 1.0), 0.5)
        inside = SETTINGS.race.aside
        return low + np.clip(share, inside, 1 - inside) * (high - low)

    def crossings(self, keep: Numbers) -> Crossings:
        """Return where the leaders of each race cross."""
        near, far = self.rays.distances(self.low), self.rays.distances(self.high)
        running = np.flatnonzero(self.alive)
        order = running[np.lexsort((far[running], self.group[running]))]
        best = order[rank_within(self.group[order]) < keep[self.group[order]]]
        margin = None if self.margins is None else self.above[best]
        rows = self.rays.rows(best, self.high[best])
        return Crossings(rows, self.group[best], near[best], far[best], margin)
