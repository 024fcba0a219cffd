"""First rows on the target's side: where the slope leads, background rows, corners, and a climb by score.

Background rows come from pools: of each region's pool, those that are nearest to its query.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ssba.arrays import blocks, by_row, choose, like, lowest, namespace, put, row_sums
from ssba.columns.distance import nearest_numbers
from ssba.search.lanes import Draws, Herd, different, first_of_each, nearest_different, rank_within
from ssba.search.ledger import Ledger
from ssba.search.planes import feet, score_slopes, unit
from ssba.search.rays import rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Regions, Vector
from ssba.search.settings import SETTINGS


@dataclass(frozen=True)
class Pool:
    """Rows to begin with: some that the model was asked about and that reach the target, and mere guesses.

    Only the former count as found where they are feasible as they are. Whatever was pulled into a region,
    filled or stretched is a guess.
    """

    reaching: Matrix
    guesses: Matrix | None = None

    @property
    def rows(self) -> Matrix:
        """All rows, the guesses first."""
        if self.guesses is None:
            return self.reaching
        return np.concatenate([self.guesses, self.reaching])

    @property
    def guess_count(self) -> int:
        """How many of the rows are guesses."""
        return 0 if self.guesses is None else len(self.guesses)

    def with_reaching(self, rows: Matrix) -> "Pool":
        """Return the pool with more rows that reach the target, in front of the others."""
        return Pool(np.concatenate([rows, self.reaching]), self.guesses)

    def with_guesses(self, rows: Matrix) -> "Pool":
        """Return the pool with more guesses, in front of the others."""
        others = [] if self.guesses is None else [self.guesses]
        return Pool(self.reaching, np.concatenate([rows, *others]))


def hold_all(regions: Regions, at: Numbers, rows: Matrix) -> Mask:
    """Tell which regions are boxes of numbers that hold all of some rows: most are the data's own range."""
    if regions.has_levels or not len(rows):
        return np.zeros(len(at), dtype=bool)
    inside = (regions.low[at] <= rows.min(axis=0)) & (rows.max(axis=0) <= regions.high[at])
    return np.asarray(inside.all(axis=1) & ~regions.linear[at])


@dataclass
class Pools:
    """The pools of all regions; many regions share one."""

    ledger: Ledger
    pools: Sequence[Pool]
    number: Numbers
    _brought: dict[int, Matrix] = field(default_factory=dict)

    def nearest(self, at: Numbers, most: int) -> tuple[Herd, Mask]:
        """Return the rows of the pools nearest to some regions as they are, where these can be brought there.

        Bounds bring a row nearer. The second array tells which are known to reach and lie inside already.
        """
        rows, of, known = [], [], []
        for name in np.unique(self.number[at]):
            mine = at[self.number[at] == name]
            pool, every = self.pools[name], self._rows(int(name))
            if not len(every):
                continue
            order = self._nearest_numbers(every, mine, most)
            owner = np.repeat(mine, order.shape[1])
            found = choose(every, order.ravel())
            asked = order.ravel() >= pool.guess_count
            rows.append(found)
            of.append(owner)
            known.append(asked & self.ledger.regions.contains(found, owner))
        if not rows:
            return Herd(self.ledger.regions.start[:0], at[:0]), np.empty(0, dtype=bool)
        all_of = np.concatenate(of)
        order = np.argsort(all_of, kind="stable")
        every_row = namespace(*rows).concat(rows)
        return Herd(choose(every_row, order), all_of[order]), np.concatenate(known)[order]

    def _rows(self, name: int) -> Matrix:
        """Return the rows of a pool, where the regions lie."""
        if name not in self._brought:
            self._brought[name] = like(self.pools[name].rows, self.ledger.regions.x)
        return self._brought[name]

    def _nearest_numbers(self, rows: Matrix, at: Numbers, most: int) -> Numbers:
        """Return the numbers of the rows whose way into each region ends nearest to its query."""
        regions, metric, xp = self.ledger.regions, self.ledger.metric, namespace(rows)
        most = min(most, len(rows))
        found = np.empty((len(at), most), dtype=np.int64)
        # On a device measuring all of them takes less than telling which to measure.
        whole = np.zeros(len(at), dtype=bool) if self.ledger.is_beside else hold_all(regions, at, rows)
        if whole.any():
            found[whole] = nearest_numbers(metric, regions.x[at[whole]], rows, most)[0]
        cut = np.flatnonzero(~whole)
        for part in blocks(len(cut), rows.shape[0] * rows.shape[1], rows):
            there = like(at[cut[part]], rows)
            low, high, x = (choose(one, there)[:, None] for one in (regions.low, regions.high, regions.x))
            far = metric.distance(xp.minimum(xp.maximum(rows, low), high), x)
            found[cut[part]] = lowest(far, most)
        return found

    def pulled_in(self, at: Numbers, most: int) -> Herd:
        """Return the nearest rows pulled into regions, as they are and with the query's own levels.

        A missing cell takes the query's value.
        """
        regions = self.ledger.regions
        near, _ = self.nearest(at, 2 * most)
        rows, of = np.where(np.isnan(near.rows), regions.x[near.at], near.rows), near.at
        if regions.discrete.any():
            rows = np.concatenate([rows, np.where(regions.discrete, regions.start[of], rows)])
            of = np.concatenate([of, of])
        pulled, fine = regions.pull_in(rows, of)
        pulled, of = pulled[fine], of[fine]
        return Herd(pulled, of).take(nearest_different(pulled, of, self.ledger.distance(pulled, of), most))

    def rows_of(self, number: int) -> Matrix:
        """Return the rows of a region's pool, as they are."""
        return np.asarray(self.pools[self.number[number]].rows)

    def farther(self, number: int) -> Matrix:
        """Return rows of a region's pool beyond the nearest, pulled in: some of all distances."""
        regions, settings = self.ledger.regions, SETTINGS.starts
        rows = self.pools[self.number[number]].rows
        rows = np.where(np.isnan(rows), regions.x[number], rows)
        if regions.discrete.any():
            rows = np.concatenate([rows, np.where(regions.discrete, regions.start[number], rows)])
        at = np.full(len(rows), number)
        pulled, fine = regions.pull_in(rows, at)
        pulled = pulled[fine]
        pulled = pulled[different(pulled)]
        far = self.ledger.distance(pulled, at[: len(pulled)])
        rest = pulled[np.argsort(far, kind="stable")][settings.nearest :]
        chosen = np.unique(np.linspace(0, max(len(rest) - 1, 0), settings.trials).astype(int))
        return np.asarray(rest[chosen[: len(rest)]])


def no_ends(ledger: Ledger) -> Herd:
    """Return no rows that reach the target."""
    margin = np.empty(0) if ledger.has_scores else None
    return Herd(ledger.regions.start[:0], np.empty(0, dtype=np.int64), margin)


def reached_of(ledger: Ledger, rows: Matrix, at: Numbers, *, only_first: bool = False) -> Herd:
    """Ask about rows; return those that reach the target, or the first such of each region, with margins."""
    reply = ledger.ask(rows, at)
    hits = np.flatnonzero(reply.reached)
    if only_first:
        hits = hits[rank_within(at[hits]) == 0]
    return Herd(rows, at, None if reply.margin is None else np.asarray(reply.margin)).take(hits)


def slope_ends(ledger: Ledger, pools: Pools, start_margin: Vector, at: Numbers) -> tuple[Herd, Matrix]:
    """Return rows that reach the target in the direction in which the score rises most at the starts.

    None where it does not rise there, as that of trees does not, or where nothing that way reaches. The
    second array are the directions by region, zeros without such a row.
    """
    regions, settings = ledger.regions, SETTINGS.starts
    directions = namespace(regions.start).zeros_like(regions.start)
    none = no_ends(ledger), directions
    at = at[regions.columns_moving[at] > 1]
    near, _ = pools.nearest(at, 1)
    xp = namespace(near.rows)
    pulled, fine = regions.pull_in(
        xp.where(xp.isnan(near.rows), choose(regions.x, near.at), near.rows), near.at
    )
    within = np.full(regions.count, np.inf)
    within[near.at[fine]] = ledger.distance(pulled, near.at)[fine]
    at = at[np.isfinite(within[at]) & (within[at] > 0)]
    if not len(at):
        return none
    within = within[at]
    width = SETTINGS.descent.near * within
    slope = score_slopes(ledger, choose(regions.start, at), at, width, start_margin[at])
    answers = 2 * row_sums((slope != 0) * 1.0)[0] >= regions.columns_moving[at]
    slope = choose(slope, np.flatnonzero(answers))
    at, within, width = at[answers], within[answers], width[answers]
    if not len(at):
        return none
    normal, steepest = unit(slope)
    # Where the score would be high enough if it rose on like this; most rise faster farther on. A score that
    # is all but high enough still has to rise over as far as its slope was looked at.
    rise = np.minimum(np.maximum(-start_margin[at] / steepest, width), settings.far * within)
    start = choose(regions.start, at)
    there = start + regions.scale * normal * by_row(rise, start)
    there = xp.where(choose(regions.moves, at), there, start)
    rays = rays_to(ledger, feet(ledger, there, normal, at), at)
    farthest = np.minimum(rays.distances(np.ones(len(at))), within)
    parts = np.array(settings.parts)
    who = np.repeat(np.arange(len(at)), len(parts))
    shares = rays.shares(np.tile(parts, len(at)) * farthest[who], who)
    rows, fine = regions.pull_in(rays.rows(who, shares), at[who])
    ends = reached_of(ledger, choose(rows, np.flatnonzero(fine)), at[who[fine]], only_first=True)
    put(directions, ends.at, choose(normal, np.searchsorted(at, ends.at)))
    return ends, directions


def known_ends(ledger: Ledger, pools: Pools, at: Numbers, most: int = SETTINGS.starts.known) -> Herd:
    """Take background rows, which the model was asked about, where the nearest are feasible as they are."""
    near, known = pools.nearest(at, most)
    some = np.bincount(near.at[~known], minlength=ledger.regions.count) > 0
    return reaching_ends(ledger, near.of(at[~some[at]], most))


def reaching_ends(ledger: Ledger, known: Herd) -> Herd:
    """Return rows that are known to reach, with the margins that they have where there are scores."""
    if ledger.has_scores:
        return reached_of(ledger, known.rows, known.at)
    ledger.add_known(known.rows, known.at)
    return known


def further_ends(ledger: Ledger, pools: Pools, at: Numbers, draws: Draws) -> Herd:
    """Ask about ever more distant kinds of rows until some of each region reach the target."""
    settings, ends = SETTINGS.starts, no_ends(ledger)
    near = pools.pulled_in(at, settings.nearest)
    kinds: list[Callable[[int], Matrix]] = [
        lambda number: near.rows[near.at == number],
        pools.farther,
        lambda number: _feasible(ledger, corners(ledger.regions, number, draws.of("corners")), number),
        lambda number: _feasible(ledger, scattered(ledger.regions, number, settings.trials, draws), number),
        lambda number: _feasible(
            ledger, scattered(ledger.regions, number, 4 * settings.trials, draws.of("more")), number
        ),
    ]
    for rows_of in kinds:
        count = np.bincount(ends.at, minlength=ledger.regions.count)
        left = at[(count[at] < SETTINGS.descent.starts) & ledger.goes_on(at)]
        if not len(left):
            break
        blocks = [rows_of(int(number)) for number in left]
        rows, of = np.concatenate(blocks), np.repeat(left, [len(block) for block in blocks])
        ends = ends.and_(reached_of(ledger, rows, of))
    return ends


def climbed_ends(ledger: Ledger, at: Numbers) -> Herd:
    """Follow the score from the best misses: change one column at a time, then all that helped together.

    Steps begin at all of the way to a column's ends and shrink whenever none of them helps.
    """
    at = at[np.isinf(ledger.best[at]) & np.isfinite(ledger.miss_margin[at])]
    share, left = np.ones(ledger.regions.count), at
    for _ in range(SETTINGS.race.most_steps):
        left = left[np.isinf(ledger.best[left]) & ledger.goes_on(left)]
        left = left[share[left] > SETTINGS.descent.near]
        if not len(left):
            break
        base, before = ledger.miss[left].copy(), ledger.miss_margin[left].copy()
        rows, who = single_changes(ledger.regions, base, left, share[left])
        margin = np.asarray(ledger.ask(rows, left[who]).margin)
        helped = np.flatnonzero(margin > before[who])
        combined = combined_changes(base, rows[helped], who[helped], margin[helped])
        better = np.unique(who[helped])
        pulled, fine = ledger.regions.pull_in(combined[better], left[better])
        ledger.ask(pulled[fine], left[better[fine]])
        share[np.setdiff1d(left, left[better])] *= 0.5
    found = at[np.isfinite(ledger.best[at])]
    return reaching_ends(ledger, ledger.nearest(found, SETTINGS.starts.known))


def crossed_ends(ledger: Ledger, pools: Pools, at: Numbers) -> Herd:
    """Cross the values of the data in the columns that can move, where these are one or two at most.

    Trees tell nothing apart between two neighbouring values of their data: whatever small cell of theirs
    reaches the target, some pair of such values lies in it.
    """
    regions = ledger.regions
    count = regions.moves[at].sum(axis=1)
    at = at[(count > 0) & (count <= 2) & np.isinf(ledger.best[at]) & ledger.goes_on(at)]
    return reached_of(ledger, *_crossed_rows(ledger, pools, at, SETTINGS.starts.trials))


def crossed_nearby(ledger: Ledger, pools: Pools, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return rows that cross values of the data as `crossed_ends` does, nearer to queries than the best."""
    count = ledger.regions.moves[at].sum(axis=1)
    at = at[(count > 0) & (count <= 2) & np.isfinite(ledger.best[at]) & ledger.goes_on(at)]
    return _crossed_rows(ledger, pools, at, SETTINGS.starts.nearest // 2)


def _crossed_rows(ledger: Ledger, pools: Pools, at: Numbers, most: int) -> tuple[Matrix, Numbers]:
    blocks = [
        _feasible(ledger, _crossed(ledger, pools.rows_of(int(one)), int(one), most), int(one)) for one in at
    ]
    rows = np.concatenate([ledger.regions.start[:0], *blocks])
    return rows, np.repeat(at, [len(block) for block in blocks])


def _crossed(ledger: Ledger, known: Matrix, number: int, most: int) -> Matrix:
    """Return a region's start with all pairs of values that rows have in the columns that can move.

    Of up to so many values of each column; none that is farther from the query than the best row.
    """
    regions, best = ledger.regions, ledger.best[number]
    columns, lists = np.flatnonzero(regions.moves[number]), []
    for j in columns:
        reach = best * regions.scale[j]
        low = max(regions.low[number, j], regions.x[number, j] - reach)
        high = min(regions.high[number, j], regions.x[number, j] + reach)
        values = np.unique(known[:, j][(known[:, j] >= low) & (known[:, j] <= high)])
        values = np.unique(np.append(values, regions.start[number, j]))
        some = np.linspace(0, len(values) - 1, min(len(values), most)).astype(int)
        lists.append(values[some])
    cells = np.stack(np.meshgrid(*lists, indexing="ij"), axis=-1).reshape(-1, len(columns))
    rows = np.tile(regions.start[number], (len(cells), 1))
    rows[:, columns] = cells
    return rows


def single_changes(regions: Regions, base: Matrix, at: Numbers, share: Vector) -> tuple[Matrix, Numbers]:
    """Return rows with one column changed at a time, part of the way to its ends, or to each level."""
    low, high = reach(regions, at)
    numbers = regions.free[at] & ~regions.discrete
    who, column = np.nonzero(numbers)
    down, up = low[who, column], high[who, column]
    here = base[who, column]
    home = np.where(np.isnan(here), 0.5 * (down + up), here)
    found = []
    for end in (down, up):
        rows = base[who]
        rows[np.arange(len(who)), column] = home + share[who] * (end - home)
        found.append((rows, who))
    found += [(rows, owner) for rows, owner, _ in regions.level_changes(base, at)]
    rows, owner = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    rows, owner = rows[order], owner[order]
    pulled, fine = regions.pull_in(rows, at[owner])
    fine &= ((pulled != base[owner]) & ~(np.isnan(pulled) & np.isnan(base[owner]))).any(axis=1)
    return pulled[fine], owner[fine]


def combined_changes(base: Matrix, rows: Matrix, who: Numbers, margin: Vector) -> Matrix:
    """Return rows with, for every column, the change of one of the others that helped most."""
    best = base.copy()
    changed, column = np.nonzero((rows != base[who]) & ~(np.isnan(rows) & np.isnan(base[who])))
    cell = who[changed] * base.shape[1] + column
    first = first_of_each(cell, -margin[changed])
    best[who[changed[first]], column[first]] = rows[changed[first], column[first]]
    return best


def reach(regions: Regions, at: Numbers) -> tuple[Matrix, Matrix]:
    """Return finite ends to draw between: the bounds, or some scales around the start without them."""
    settings = SETTINGS.starts
    home = np.nan_to_num(regions.start[at])
    aside, far = settings.reach * regions.scale, settings.far * regions.scale
    # What a dtype can hold is no bound to draw between.
    low, high = regions.low[at], regions.high[at]
    return np.where(low > home - far, low, home - aside), np.where(high < home + far, high, home + aside)


def corners(regions: Regions, number: int, draws: Draws) -> Matrix:
    """Return rows with every free number at one of its ends, or left alone; all such rows if few."""
    low, high = (one[0] for one in reach(regions, np.array([number])))
    start = regions.start[number]
    free = np.flatnonzero(regions.free[number] & ~regions.discrete)
    rng = draws.generator
    if 0 < len(free) and 3 ** len(free) <= SETTINGS.starts.trials:
        choice = np.stack(np.meshgrid(*[[0, 1, 2]] * len(free), indexing="ij"), axis=-1).reshape(
            -1, len(free)
        )
    else:
        choice = rng.integers(0, 3, size=(SETTINGS.starts.trials, len(start)))[:, free]
    rows = np.tile(start, (len(choice), 1))
    rows[:, free] = np.stack([start, low, high])[choice, free]
    return _with_levels(regions, rows, number, rng)


def scattered(regions: Regions, number: int, count: int, draws: Draws) -> Matrix:
    """Return rows drawn evenly between the ends of free columns."""
    low, high = (one[0] for one in reach(regions, np.array([number])))
    rng = draws.of("scattered", count).generator
    drawn = low + rng.random((count, len(low))) * (high - low)
    rows = np.where(regions.free[number], drawn, regions.start[number])
    return _with_levels(regions, rows, number, rng)


def _with_levels(regions: Regions, rows: Matrix, number: int, rng: np.random.Generator) -> Matrix:
    """Draw an allowed level for every free discrete cell, keeping the start's half of the time."""
    luck, kept = rng.random(rows.shape), rng.random(rows.shape) < 0.5
    for j in np.flatnonzero(regions.free[number] & regions.discrete):
        levels = np.flatnonzero(regions.levels(int(j))[number])
        drawn = levels[(luck[:, j] * len(levels)).astype(np.int64)]
        rows[:, j] = np.where(kept[:, j], regions.start[number, j], drawn)
    return rows


def _feasible(ledger: Ledger, rows: Matrix, number: int) -> Matrix:
    pulled, fine = ledger.regions.pull_in(rows, np.full(len(rows), number))
    return pulled[fine]
