"""The search for the nearest rows of all regions: moves, in the order in which they run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np

from ssba.arrays import choose, namespace, to_numpy
from ssba.search.descend import Ways, descend, ways_from
from ssba.search.elsewhere import (
    along_columns,
    are_wide,
    around_best,
    columns_that_matter,
    columns_that_tell,
    elsewhere,
    other_levels,
    thin_out,
    values_nearby,
)
from ssba.search.exchanges import swap, trade
from ssba.search.exhaust import ask_few_nearer
from ssba.search.lanes import Draws, Herd, first_of_each, rank_within
from ssba.search.ledger import Ledger
from ssba.search.planes import unit
from ssba.search.profile import buy
from ssba.search.rays import race, rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Regions, Vector
from ssba.search.settings import SETTINGS
from ssba.search.slopes import ends_by_slopes
from ssba.search.starts import (
    Pools,
    climbed_ends,
    crossed_ends,
    further_ends,
    known_ends,
    no_ends,
    reaching_ends,
    slope_ends,
)
from ssba.search.steps import broad_steps, has_steps, leave_out, neighbours, pull_back, shows_face, tidy
from ssba.search.stored import Stored, stored_ends


@dataclass
class Search:
    """What is known about all regions while they are searched.

    `start_margin` is the score at each start, None where there are labels only. `ends` are rows that reach
    the target, where the search began; it followed `one_way` first where the slope or stored points led, the
    latter in the regions `from_points`. `best` are the ways down that were followed, `steps` the regions
    whose boundary has steps. `herd` are rows on steps and levels whose columns are taken back and exchanged,
    with those of `donors`. `tidied` is how far best rows were when their small changes were left out. `at`
    are the regions that are searched: neither needs a start that reaches a search, nor does a region of which
    all nearer rows were asked about.
    `left` are the queries that left a search beside a model.
    """

    ledger: Ledger
    pools: Pools
    draws: Draws
    stored: Sequence[Stored | None] | None = None
    at: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    left: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    start_margin: Vector | None = None
    ends: Herd = field(init=False)
    guess: Matrix = field(init=False)
    one_way: Mask = field(init=False)
    from_points: Mask = field(init=False)
    steps: Mask = field(init=False)
    best: Ways = field(init=False)
    herd: Herd = field(init=False)
    donors: Herd = field(init=False)
    all_columns: Regions = field(init=False)
    tidied: Vector = field(init=False)

    def __post_init__(self) -> None:
        count = self.ledger.regions.count
        self.ends = no_ends(self.ledger)
        self.guess = namespace(self.ledger.regions.start).zeros_like(self.ledger.regions.start)
        self.one_way, self.from_points, self.steps = (np.zeros(count, dtype=bool) for _ in range(3))
        self.best = ways_from(self.ledger, self.ends.rows, self.ends.at, self.ends.margin)
        self.herd = self.donors = self.ends
        self.all_columns = self.ledger.regions
        self.tidied = np.full(count, np.inf)

    @property
    def by_labels(self) -> bool:
        """Whether there are no scores to follow."""
        return self.start_margin is None

    def drop_hopeless(self) -> None:
        """Go on without regions that begin beyond the best row of their query, or whose budget has ended."""
        ledger, regions = self.ledger, self.ledger.regions
        best = ledger.best_of_query()[regions.query[self.at]]
        self.go_on_with((regions.begins[self.at] < best) & ledger.goes_on(self.at))

    def leave(self, at: Numbers) -> None:
        """Go on without the queries of some regions: they need moves that are made on the host only."""
        query = self.ledger.regions.query
        self.left = np.union1d(self.left, query[at])
        self.go_on_with(~np.isin(query[self.at], self.left))

    def go_on_with(self, kept: Mask) -> None:
        """Go on with some of the regions only."""
        if kept.all():
            return
        self.at = self.at[kept]
        self.ends = self.ends.of(self.at)
        self.best = self.best.take(np.flatnonzero(np.isin(self.best.at, self.at)))
        self.herd, self.donors = self.herd.of(self.at), self.donors.of(self.at)

    @property
    def without_ends(self) -> Numbers:
        """The regions for which no row is known that reaches the target."""
        return np.setdiff1d(self.at, self.ends.at)

    @property
    def found(self) -> Numbers:
        """The regions for which a row is known that reaches the target."""
        return self.at[np.isfinite(self.ledger.best[self.at])]

    @property
    def without_steps(self) -> Numbers:
        """The regions in which slopes lead: neither are they coarse nor do scores ignore small changes."""
        return np.setdiff1d(self.not_coarse, self.best.at[self.best.flat])

    @property
    def not_coarse(self) -> Numbers:
        """The regions with a row that reaches where more than a few numbers move without steps."""
        return self.found[~self.ledger.regions.are_coarse[self.found]]

    @property
    def hurried(self) -> Mask:
        """Tell where calls are too dear for other moves between the way down and buying and trades."""
        return (self.ledger.regions.are_coarse | self.steps) & self.ledger.few_calls

    @property
    def on_grid(self) -> Numbers:
        """The regions with a row that reaches, and with levels or whole numbers that may change."""
        return self.found[self.ledger.regions.on_grid[self.found]]


@dataclass(frozen=True)
class Move:
    """One move of the search: what it is called, what it does, and where alone it can be made.

    `share` is about its part of the time that a search takes, in percent. `beside` are those that are also
    made with rows that lie beside a model, on its device: all that a smooth boundary in many columns needs.
    """

    name: str
    run: Callable[[Search], None]
    share: int
    applies: Callable[[Search], bool] = lambda search: True
    beside: bool = False


Moved = Callable[[Numbers, float, float], object]
"""Learns after each move whose regions are still searched (queries, some of them more than once), which part
of the search lies behind these, and which will after the next move."""


def _unseen(searched: Numbers, behind: float, ahead: float) -> None:
    """Take note of a move for nobody."""


def search_all(
    ledger: Ledger,
    pools: Pools,
    seed: int,
    stored: Sequence[Stored | None] | None = None,
    moved: Moved = _unseen,
) -> Numbers:
    """Search for the nearest feasible rows that reach the target; all finds are in the ledger.

    It begins where `stored` boundary points of a region say that the boundary is near, else where the slope
    of the score at the query leads, else at rows of the region's pool. Beside a model some moves are not
    made: returned are the queries that need one of them, and have to be searched on the host.
    """
    search = Search(ledger, pools, Draws((seed,)), stored)
    behind = [done / 100 for done in accumulate(move.share for move in MOVES)]
    for move, (done, ahead) in zip(MOVES, pairwise([*behind, 1.0]), strict=True):
        if (move.beside or not ledger.is_beside) and move.applies(search):
            move.run(search)
            search.drop_hopeless()
        moved(np.append(ledger.regions.query[search.at], search.left), done, ahead)
    return search.left


def _ask_starts(search: Search) -> None:
    ledger = search.ledger
    every = np.arange(ledger.regions.count)
    reply = ledger.ask(ledger.regions.start, every)
    search.start_margin = None if reply.margin is None else np.asarray(reply.margin)
    if not ledger.is_beside:
        _nearer_than_start(ledger, every[reply.reached])
    search.at = every[~reply.reached]


def _nearer_than_start(ledger: Ledger, at: Numbers) -> None:
    """Look for rows nearer than starts that reach, unless it is certain that none is.

    Only where steps and relations meet is the start perhaps not the nearest row of its region. Its neighbours
    that are nearer to the query are asked about, and theirs where one of them reaches.
    """
    while len(at := at[(ledger.best[at] > ledger.regions.begins[at] * (1 + 1e-9)) & ledger.goes_on(at)]):
        before = ledger.best[at].copy()
        rows, who = neighbours(ledger.regions, ledger.best_row[at], at, pairs=True)
        nearer = ledger.distance(rows, at[who]) < before[who]
        ledger.ask(rows[nearer], at[who[nearer]])
        at = at[ledger.best[at] < before]


def _use_stored(search: Search) -> None:
    assert search.stored is not None
    ends, search.guess = stored_ends(search.ledger, search.stored, search.at)
    search.one_way[ends.at] = search.from_points[ends.at] = True
    search.ends = search.ends.and_(ends)


def _follow_slope(search: Search) -> None:
    assert search.start_margin is not None
    ends, directions = slope_ends(search.ledger, search.pools, search.start_margin, search.without_ends)
    search.guess = search.guess + directions
    search.one_way[ends.at] = True
    search.ends = search.ends.and_(ends)


def _ends_by(find: Callable[[Ledger, Pools, Numbers], Herd]) -> Callable[[Search], None]:
    """Return a move that looks for rows that reach in the regions for which none is known."""

    def look(search: Search) -> None:
        search.ends = search.ends.and_(find(search.ledger, search.pools, search.without_ends))

    return look


def _look_further(search: Search) -> None:
    draws = search.draws.of("further")
    search.ends = search.ends.and_(further_ends(search.ledger, search.pools, search.without_ends, draws))


def _follow_models_slopes(search: Search) -> None:
    ledger = search.ledger
    assert search.start_margin is not None
    assert ledger.door.led is not None
    at = search.at[ledger.door.led[search.at]]
    if not len(at):
        return
    ends, expected = ends_by_slopes(ledger, search.pools, at)
    names, group = np.unique(ends.at, return_inverse=True)
    margins = search.start_margin[ends.at], np.asarray(ends.margin)
    rays = rays_to(ledger, ends.rows, ends.at)
    crossings = race(rays, group, 1, SETTINGS.descent.roughly, margins=margins, guess=expected)
    search.ends = search.ends.and_(ends)
    search.best = ways_from(ledger, crossings.rows, names[crossings.group], crossings.margin)
    search.best.optimal[:] = True
    if ledger.is_beside:
        search.leave(search.without_ends)


def _narrow(search: Search) -> None:
    """Search only the columns that matter, where a slope does not tell that all of them do."""
    ledger, ends = search.ledger, search.ends
    wide = are_wide(ledger, np.setdiff1d(ends.at, np.flatnonzero(search.one_way)))
    if not len(wide):
        return
    thin = thin_out(ledger, ends.of(wide))
    search.ends = ends.of(np.setdiff1d(ends.at, wide)).and_(thin)
    cells = np.ones_like(ledger.regions.free)
    cells[wide] = (columns_that_matter(ledger, thin) | columns_that_tell(ledger, wide))[wide]
    ledger.regions = search.all_columns.narrowed(cells)


def _widen(search: Search) -> None:
    """Go on with all columns where no steps were told: there, all of them may count."""
    ledger = search.ledger
    narrow = (ledger.regions.free != search.all_columns.free).any(axis=1)
    ledger.regions = search.all_columns
    at = search.found
    at = at[narrow[at] & ~search.steps[at] & ledger.goes_on(at)]
    if len(at):
        margin = None if search.by_labels else np.asarray(ledger.ask(ledger.best_row[at], at).margin)
        ways = ways_from(ledger, ledger.best_row[at], at, margin)
        search.best = way_down(ledger, ways, search.start_margin)


def _race_and_descend(search: Search) -> None:
    ledger = search.ledger
    ends = search.ends.of(np.setdiff1d(search.ends.at, search.best.at))
    if not len(ends.at):
        return
    # Where stored points or the slope at the query tell which way to go, that way comes first.
    led = search.one_way[ends.at]
    first = ends.take(np.flatnonzero(led & (rank_within(ends.at) < SETTINGS.descent.starts)))
    aside = no_ends(ledger)
    if search.start_margin is not None and len(first.at):
        aside = known_ends(ledger, search.pools, np.unique(first.at), SETTINGS.starts.second)
    others = ends.take(np.flatnonzero(~led))
    ways = _ways_to(search, [(first, 1), (aside, 1), (others, SETTINGS.descent.starts)])
    _guess_normals(search, ways)
    search.best = search.best.and_(way_down(ledger, ways, search.start_margin))


def _ask_few_nearer(search: Search) -> None:
    """Where few legal rows are nearer than the best one, ask about all of them, and end the search."""
    ledger = search.ledger
    if ledger.door.ends_early is not None:
        at = search.found[ledger.door.ends_early[ledger.regions.query[search.found]]]
        done = ask_few_nearer(ledger, at[ledger.goes_on(at)], SETTINGS.trades.trials)
        search.go_on_with(~np.isin(search.at, done))


def _other_faces(search: Search) -> None:
    """Where the boundary seemed to be a plane, go down from known rows that reach in front of that plane."""
    ledger, regions, best = search.ledger, search.ledger.regions, search.best
    planes = np.flatnonzero(best.straight & ledger.goes_on(best.at))
    near, known = search.pools.nearest(best.at[planes], SETTINGS.starts.nearest)
    way = np.zeros(regions.count, dtype=np.int64)
    way[best.at[planes]] = planes
    own = way[near.at]
    gap = np.nan_to_num((near.rows - choose(best.row, own)) / regions.scale)
    # With other levels the plane would lie elsewhere.
    alike = ~(regions.discrete & (gap != 0)).any(axis=1)
    height, length = (choose(best.normal, own) * gap).sum(axis=1), np.sqrt((gap * gap).sum(axis=1))
    before = known & alike & (height < -SETTINGS.descent.first_tolerance * length)
    near = near.take(np.flatnonzero(before)).of(best.at, SETTINGS.starts.second)
    best.straight[way[near.at]] = False
    ends = reaching_ends(ledger, near)
    ways = _ways_to(search, [(ends, 1)])
    descend(ledger, ways, search.start_margin, SETTINGS.descent.rounds, ceiling=best.distance[way[ways.at]])
    nearer = np.flatnonzero(ways.distance < best.distance[way[ways.at]])
    best.put(way[ways.at[nearer]], ways.take(nearer))


def _ways_to(search: Search, kinds: Sequence[tuple[Herd, int]]) -> Ways:
    """Return ways down from where rays to ends cross the boundary, up to so many of each kind and region."""
    ledger, settings = search.ledger, SETTINGS.descent
    kind = np.repeat(np.arange(len(kinds)), [len(ends.at) for ends, _ in kinds])
    at = np.concatenate([ends.at for ends, _ in kinds])
    order = np.lexsort((kind, at))
    at, kind = at[order], kind[order]
    rows = namespace(kinds[0][0].rows).concat([ends.rows for ends, _ in kinds])
    margins = None
    if search.start_margin is not None:
        told = np.concatenate([np.asarray(ends.margin) for ends, _ in kinds])
        margins = search.start_margin[at], told[order]
    races, group = np.unique(at * len(kinds) + kind, return_inverse=True)
    keep = np.array([most for _, most in kinds])[races % len(kinds)]
    tolerance = settings.gain if margins is None else settings.first_tolerance
    crossings = race(rays_to(ledger, choose(rows, order), at), group, keep, tolerance, margins=margins)
    return ways_from(ledger, crossings.rows, races[crossings.group] // len(kinds), crossings.margin)


def _guess_normals(search: Search, ways: Ways) -> None:
    """Begin with the normals of planes through stored points, or with slopes at starts, where they led."""
    guess, xp = unit(choose(search.guess, ways.at))[0], namespace(ways.row)
    some = xp.any(guess != 0, axis=1)
    ways.normal = xp.where(some[:, None], guess, ways.normal)
    if search.by_labels and search.ledger.metric.adds_squares:
        many = search.ledger.regions.columns_moving[ways.at] > SETTINGS.race.few_columns
        ways.look_at(np.flatnonzero(to_numpy(some) & many), SETTINGS.descent.next_look)


def way_down(ledger: Ledger, ways: Ways, margin: Vector | None) -> Ways:
    """Begin at several rows of each region and follow the best; a boundary that is a plane needs no other.

    Where regions are coarse, trades take over after one step of each way, or after none if calls are dear.
    """
    settings, count = SETTINGS.descent, ledger.regions.count
    coarse = ledger.regions.are_coarse[ways.at]
    if coarse.any():
        quick = ways.take(np.flatnonzero(coarse))
        if margin is None or not ledger.few_calls:
            descend(ledger, quick, margin, 1)
        quick = quick.take(first_of_each(quick.at, quick.distance))
        rest = ways.take(np.flatnonzero(~coarse))
        return quick.and_(way_down(ledger, rest, margin)) if len(rest.at) else quick
    if ledger.asks_widely:
        return _together(ledger, ways, margin)
    first, is_plane = rank_within(ways.at) == 0, np.zeros(count, dtype=bool)
    if margin is None:
        ways.look_at(np.flatnonzero(~first), settings.quick_look)
        descend(ledger, ways, margin, 1, ceiling=_least(ledger, ways))
    else:
        begun, distance = ways.take(np.flatnonzero(first)), np.full(count, np.inf)
        descend(ledger, begun, margin, 2)
        ways.put(np.flatnonzero(first), begun)
        is_plane[begun.at[begun.straight]] = True
        distance[begun.at] = begun.distance
        others = np.flatnonzero(~first & ~is_plane[ways.at])
        more = ways.take(others)
        descend(ledger, more, margin, 2, ceiling=distance[more.at])
        ways.put(others, more)
    close = np.flatnonzero(_are_rivals(ledger, ways) & ~is_plane[ways.at] & ~ways.settled)
    again = ways.take(close)
    descend(ledger, again, margin, 1)
    ways.put(close, again)
    best = ways.take(first_of_each(ways.at, ways.distance))
    descend(ledger, best, margin, settings.rounds)
    return best


def _are_rivals(ledger: Ledger, ways: Ways) -> Mask:
    """Tell which ways may still become the best of their region: such as are close, but not at one place."""
    best, count = first_of_each(ways.at, ways.distance), ledger.regions.count
    numbers = np.zeros(count, dtype=np.int64)
    numbers[ways.at[best]] = best
    gap = to_numpy(ledger.metric.distance(ways.row, choose(ways.row, numbers[ways.at])))
    close = ways.distance <= SETTINGS.descent.close * _least(ledger, ways)
    others = close & (gap > SETTINGS.descent.apart * ways.distance)
    several = np.bincount(ways.at[others], minlength=count) > 0
    others[best] = several[ways.at[best]]
    return np.asarray(others)


def _least(ledger: Ledger, ways: Ways) -> Vector:
    """Return for each way how far the best of its region is."""
    least = np.full(ledger.regions.count, np.inf)
    np.minimum.at(least, ways.at, ways.distance)
    return np.asarray(least[ways.at])


def _together(ledger: Ledger, ways: Ways, margin: Vector | None) -> Ways:
    """Follow all ways at once, for fewer calls; on a grid and on steps, leave some of these for trades."""
    regions, settings = ledger.regions, SETTINGS.descent
    descend(ledger, ways, margin, 2)
    if margin is None:
        nearest = first_of_each(ways.at, ways.distance)
        face, _ = shows_face(ledger, ways.take(nearest))
        ways.flat[np.isin(ways.at, ways.at[nearest[face]])] = True
    on = np.flatnonzero(~regions.on_grid[ways.at])
    further = ways.take(on)
    descend(ledger, further, margin, settings.rounds)
    ways.put(on, further)
    return ways.take(first_of_each(ways.at, ways.distance))


def _along_columns(search: Search) -> None:
    """Ask about single columns, unless the boundary is a plane, and in the same call about few changes."""
    planes = search.best.at[search.best.straight]
    at = search.found[search.ledger.regions.columns_moving[search.found] > SETTINGS.race.few_columns]
    along_columns(search.ledger, np.setdiff1d(search.found, planes), tidy(search.ledger, at))
    search.tidied[at] = search.ledger.best[at]


def _tell_steps(search: Search) -> None:
    """Tell where the boundary has steps, and take rows on it there, more of them than ways were followed."""
    ledger = search.ledger
    best = search.best.take(np.flatnonzero(~search.hurried[search.best.at]))
    rough = best.flat.copy()
    doubtful = np.flatnonzero(~rough if search.by_labels else ~rough & ~best.optimal)
    rough[doubtful] = has_steps(ledger, best.take(doubtful), search.by_labels)
    search.steps[best.at[rough]] = True
    at = best.at[rough]
    at = at[ledger.goes_on(at)]
    guided = np.union1d(at[search.one_way[at]], search.on_grid[search.from_points[search.on_grid]])
    _take_usual_ends(search, guided)
    if not len(at):
        return
    ends = search.ends.of(at)
    names, group = np.unique(ends.at, return_inverse=True)
    margins = None
    if search.start_margin is not None and ends.margin is not None:
        margins = search.start_margin[ends.at], ends.margin
    rays = rays_to(ledger, ends.rows, ends.at)
    crossings = race(rays, group, SETTINGS.columns.followed, SETTINGS.race.edge, margins=margins)
    search.herd = Herd(crossings.rows, names[crossings.group])
    search.donors = search.herd


def _take_usual_ends(search: Search, at: Numbers) -> None:
    """Begin where a search without guidance does: a plane leads nowhere on steps, and its rows are alike."""
    usual = known_ends(search.ledger, search.pools, at)
    draws = search.draws.of("further")
    usual = usual.and_(further_ends(search.ledger, search.pools, np.setdiff1d(at, usual.at), draws))
    search.ends = search.ends.of(np.setdiff1d(search.ends.at, usual.at)).and_(usual)


def _broad_steps(search: Search) -> None:
    concerned = np.setdiff1d(search.not_coarse, np.flatnonzero(search.hurried))
    went = broad_steps(search.ledger, search.herd.of(concerned))
    search.herd = search.herd.of(np.setdiff1d(search.herd.at, went.at)).and_(went)
    search.donors = search.donors.and_(went)


def _columns_back(search: Search) -> None:
    """Take columns back: of the rows on steps, and of the nearest rows where there are levels."""
    ledger = search.ledger
    unhurried = np.flatnonzero(~search.hurried)
    levels = np.setdiff1d(np.intersect1d(search.on_grid, unhurried), search.herd.at)
    herd = search.herd.of(unhurried).and_(ledger.nearest(levels, 2))
    search.herd = Herd(*pull_back(ledger, herd.rows, herd.at))


def _other_levels(search: Search) -> None:
    regions = search.ledger.regions
    some = (regions.free & regions.discrete).any(axis=1) & ~search.hurried
    other_levels(search.ledger, search.ends, search.found[some[search.found]])


def _exchange(search: Search) -> None:
    """Exchange cells among rows on steps."""
    ledger = search.ledger
    at = np.intersect1d(np.flatnonzero(search.steps & ~search.hurried), search.not_coarse)
    parents = search.herd.of(at).and_(Herd(ledger.best_row[at], at))
    swap(ledger, parents, search.donors, search.draws.of("swap"), SETTINGS.descent.rounds)


def _trade(search: Search) -> None:
    at = np.union1d(search.on_grid, search.found[search.hurried[search.found]])
    trade(search.ledger, at, search.ends.and_(search.donors), search.draws.of("trade"))


def _descend_again(search: Search) -> None:
    """Go down once more from the best rows where levels or whole numbers may be others than before."""
    ledger = search.ledger
    at = np.setdiff1d(search.on_grid, np.flatnonzero(search.steps))
    at = at[(ledger.regions.reals[at].sum(axis=1) > 1) & ledger.goes_on(at)]
    if len(at):
        rows = choose(ledger.best_row, at)
        margin = None if search.by_labels else np.asarray(ledger.ask(rows, at).margin)
        descend(ledger, ways_from(ledger, rows, at, margin), search.start_margin, SETTINGS.descent.rounds)


def _buy(search: Search) -> None:
    at = np.union1d(search.herd.at, search.found[search.hurried[search.found]])
    buy(search.ledger, at, search.draws.of("buy"))


def _finely_back(search: Search) -> None:
    """Take the columns of the best rows on steps back once more, as far as they go."""
    ledger = search.ledger
    at = search.found
    at = at[search.steps[at] & ledger.goes_on(at)]
    pull_back(ledger, ledger.best_row[at], at, within=SETTINGS.descent.roughly)


def _leave_out(search: Search) -> None:
    """Ask whether best rows do without small changes, or all of these if that was not asked before."""
    ledger, at = search.ledger, search.found
    at = at[ledger.goes_on(at)]
    leave_out(ledger, at, tidy(ledger, at[ledger.best[at] < search.tidied[at]]))


def _close_in(search: Search) -> None:
    """Close in on the last crossing, as finely as is worth it."""
    ledger, settings = search.ledger, SETTINGS.descent
    at = search.found
    at = at[ledger.goes_on(at) & (ledger.regions.columns_moving[at] > 0)]
    scored = np.isfinite(ledger.best_margin[at]) & (not search.by_labels)
    some = at[scored]
    if search.start_margin is not None and len(some):
        rays = rays_to(ledger, choose(ledger.best_row, some), some)
        margins = search.start_margin[some], ledger.best_margin[some]
        guess = np.full(len(some), 1 - settings.gain)
        race(rays, np.arange(len(some)), 1, settings.closely, margins=margins, guess=guess)
    some = at[~scored]
    rays = rays_to(ledger, choose(ledger.best_row, some), some)
    near = (1 - settings.gain) * ledger.best[some]
    race(rays, np.arange(len(some)), 1, settings.closely, nearest=near)


def _has_scores(search: Search) -> bool:
    return not search.by_labels and len(search.at) > 0


MOVES: tuple[Move, ...] = (
    Move("start", _ask_starts, 1, beside=True),
    Move("stored points", _use_stored, 1, lambda search: search.stored is not None),
    Move(
        "the model's slopes",
        _follow_models_slopes,
        0,
        lambda search: search.ledger.door.led is not None,
        beside=True,
    ),
    Move("slope", _follow_slope, 3, _has_scores),
    Move("known rows", _ends_by(known_ends), 1),
    Move("further rows", _look_further, 3),
    Move("climb", _ends_by(lambda ledger, _, at: climbed_ends(ledger, at)), 2, _has_scores),
    Move("crossed values", _ends_by(crossed_ends), 1),
    Move("few of many columns", _narrow, 2),
    Move("descent", _race_and_descend, 33),
    Move("few nearer rows", _ask_few_nearer, 1),
    Move("other faces", _other_faces, 0),
    Move("along columns", _along_columns, 2, beside=True),
    Move(
        "values nearby",
        lambda search: values_nearby(search.ledger, search.pools, search.found),
        1,
        lambda search: search.by_labels,
    ),
    Move(
        "elsewhere",
        lambda search: elsewhere(search.ledger, search.without_steps, search.start_margin, search.draws),
        7,
    ),
    Move("around the best", lambda search: around_best(search.ledger, search.without_steps, search.draws), 6),
    Move("steps", _tell_steps, 3),
    Move("broad steps", _broad_steps, 6),
    Move("columns back", _columns_back, 3),
    Move("other levels", _other_levels, 6, lambda search: search.ledger.regions.has_levels),
    Move("exchanges", _exchange, 5),
    Move("gains and costs", _buy, 6, _has_scores),
    Move("trades", _trade, 8),
    Move("descent again", _descend_again, 2),
    Move("columns back finely", _finely_back, 1),
    Move("all columns again", _widen, 1, lambda search: search.ledger.regions is not search.all_columns),
    Move("last crossing", _close_in, 1, beside=True),
    Move("small changes left out", _leave_out, 1, beside=True),
)
