"""The search for the nearest rows of all regions: moves, in the order in which they run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ssba.search.around import along_columns, around_best, elsewhere
from ssba.search.columns import neighbours, pull_back
from ssba.search.descend import Ways, descend, ways_from
from ssba.search.draws import Draws
from ssba.search.ledger import Ledger, first_of_each, rank_within
from ssba.search.levels import other_levels
from ssba.search.normals import unit
from ssba.search.pools import Pools
from ssba.search.profile import buy
from ssba.search.rays import race, rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.rough import rough_search
from ssba.search.settings import SETTINGS
from ssba.search.starts import Ends, climbed_ends, further_ends, known_ends, slope_ends
from ssba.search.steps import has_steps, tidy, walk
from ssba.search.stored import Stored, stored_ends
from ssba.search.swaps import Herd, swap


@dataclass
class Search:
    """What is known about all regions while they are searched.

    `start_margin` is the score at each start, None where there are labels only. `ends` are rows that reach
    the target, where the search began. `best` are the ways down that were followed, `steps` the regions whose
    boundary has steps. `at` are the regions that are searched: a start that reaches needs no search.
    """

    ledger: Ledger
    pools: Pools
    draws: Draws
    stored: Sequence[Stored | None] | None = None
    at: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    start_margin: Vector | None = None
    ends: Ends = field(init=False)
    guess: Matrix = field(init=False)
    one_way: Mask = field(init=False)
    steps: Mask = field(init=False)
    best: Ways = field(init=False)

    def __post_init__(self) -> None:
        count = self.ledger.regions.count
        self.ends = Ends.none(self.ledger)
        self.guess = np.zeros_like(self.ledger.regions.start)
        self.one_way, self.steps = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.best = ways_from(self.ledger, self.ends.rows, self.ends.at, self.ends.margin)

    @property
    def by_labels(self) -> bool:
        """Whether there are no scores to follow."""
        return self.start_margin is None

    def drop_hopeless(self) -> None:
        """Go on without regions that begin beyond the best row of their query, or whose budget has ended."""
        ledger, regions = self.ledger, self.ledger.regions
        best = ledger.best_of_query()[regions.query[self.at]]
        kept = (regions.begins[self.at] < best) & ledger.goes_on(self.at)
        if not kept.all():
            self.at = self.at[kept]
            self.ends = self.ends.of(self.at)
            self.best = self.best.take(np.flatnonzero(np.isin(self.best.at, self.at)))

    @property
    def without_ends(self) -> Numbers:
        """The regions for which no row is known that reaches the target."""
        return np.setdiff1d(self.at, self.ends.at)

    @property
    def found(self) -> Numbers:
        """The regions for which a row is known that reaches the target."""
        return self.at[np.isfinite(self.ledger.best[self.at])]


@dataclass(frozen=True)
class Move:
    """One move of the search: what it is called, whether it can be of use, and what it does."""

    name: str
    applies: Callable[[Search], bool]
    run: Callable[[Search], None]


def search_all(
    ledger: Ledger, pools: Pools, seed: int, stored: Sequence[Stored | None] | None = None
) -> None:
    """Search for the nearest feasible rows that reach the target; all finds are in the ledger.

    It begins where `stored` boundary points of a region say that the boundary is near, else where the slope
    of the score at the query leads, else at rows of the region's pool.
    """
    search = Search(ledger, pools, Draws((seed,)), stored)
    for move in MOVES:
        if move.applies(search):
            move.run(search)
            search.drop_hopeless()


def _ask_starts(search: Search) -> None:
    ledger = search.ledger
    every = np.arange(ledger.regions.count)
    reply = ledger.ask(ledger.regions.start, every)
    search.start_margin = None if reply.margin is None else np.asarray(reply.margin)
    _nearer_than_start(ledger, every[reply.reached])
    search.at = every[~reply.reached]


def _nearer_than_start(ledger: Ledger, at: Numbers) -> None:
    """Look for rows nearer than starts that reach, unless it is certain that none is.

    Only where steps and relations meet is the start perhaps not the nearest row of its region. Its neighbours
    that are nearer to the query are asked about, and theirs where one of them reaches.
    """
    while len(at := at[(ledger.best[at] > ledger.regions.begins[at] * (1 + 1e-9)) & ledger.goes_on(at)]):
        before = ledger.best[at].copy()
        rows, who = neighbours(ledger.regions, ledger.best_row[at], at, pairs=SETTINGS.levels.paired)
        nearer = ledger.distance(rows, at[who]) < before[who]
        ledger.ask(rows[nearer], at[who[nearer]])
        at = at[ledger.best[at] < before]


def _use_stored(search: Search) -> None:
    assert search.stored is not None
    ends, search.guess = stored_ends(search.ledger, search.stored, search.at)
    search.one_way[ends.at] = True
    search.ends = search.ends.and_(ends)


def _follow_slope(search: Search) -> None:
    assert search.start_margin is not None
    ends = slope_ends(search.ledger, search.pools, search.start_margin, search.without_ends)
    search.one_way[ends.at] = True
    search.ends = search.ends.and_(ends)


def _take_known(search: Search) -> None:
    search.ends = search.ends.and_(known_ends(search.ledger, search.pools, search.without_ends))


def _look_further(search: Search) -> None:
    draws = search.draws.of("further")
    search.ends = search.ends.and_(further_ends(search.ledger, search.pools, search.without_ends, draws))


def _climb(search: Search) -> None:
    search.ends = search.ends.and_(climbed_ends(search.ledger, search.without_ends))


def _race_and_descend(search: Search) -> None:
    ledger, ends, settings = search.ledger, search.ends, SETTINGS.descent
    # Where stored points or the slope at the query tell which way to go, one way down will do.
    first = ~search.one_way[ends.at] | (rank_within(ends.at) < SETTINGS.stored.runners)
    ends = ends.take(np.flatnonzero(first))
    margins = None
    if search.start_margin is not None:
        assert ends.margin is not None
        margins = search.start_margin[ends.at], ends.margin
    names, group = np.unique(ends.at, return_inverse=True)
    rays = rays_to(ledger, ends.rows, ends.at)
    tolerance = settings.tight if margins is None else settings.first_tolerance
    crossings = race(rays, group, settings.starts, tolerance, margins=margins)
    ways = ways_from(ledger, crossings.rows, names[crossings.group], crossings.margin)
    ways = ways.take(np.flatnonzero(~search.one_way[ways.at] | (rank_within(ways.at) == 0)))
    _guess_normals(search, ways)
    search.best = way_down(ledger, ways, search.start_margin)


def _guess_normals(search: Search, ways: Ways) -> None:
    """Begin with the normals of planes through stored points, where there are some."""
    guess = unit(search.guess[ways.at])[0]
    some = (guess != 0).any(axis=1)
    ways.normal = np.where(some[:, None], guess, ways.normal)
    many = search.ledger.regions.moves[ways.at].sum(axis=1) > SETTINGS.race.few_columns
    if search.ledger.metric.adds_squares:
        ways.look_at(np.flatnonzero(some & many), SETTINGS.descent.next_look)


def way_down(ledger: Ledger, ways: Ways, margin: Vector | None) -> Ways:
    """Begin at several rows of each region and follow the best; a boundary that is a plane needs no other."""
    settings, count = SETTINGS.descent, ledger.regions.count
    first = np.flatnonzero(rank_within(ways.at) == 0)
    begun = ways.take(first)
    descend(ledger, begun, margin, 1 if margin is None else 2)
    ways.put(first, begun)
    is_plane = np.zeros(count, dtype=bool)
    is_plane[begun.at[begun.straight]] = True
    others = np.flatnonzero((rank_within(ways.at) > 0) & ~is_plane[ways.at])
    if len(others):
        distance = np.full(count, np.inf)
        distance[begun.at] = begun.distance
        more = ways.take(others)
        more.look_at(np.arange(len(others)), settings.quick_look)
        descend(ledger, more, margin, 1, ceiling=distance[more.at])
        ways.put(others, more)
        least = np.full(count, np.inf)
        np.minimum.at(least, ways.at, ways.distance)
        near = ways.distance <= settings.close * least[ways.at]
        several = np.bincount(ways.at[near], minlength=count) > 1
        close = np.flatnonzero(near & several[ways.at] & ~is_plane[ways.at] & ~ways.settled)
        again = ways.take(close)
        descend(ledger, again, margin, 1)
        ways.put(close, again)
    best = ways.take(first_of_each(ways.at, ways.distance))
    descend(ledger, best, margin, settings.rounds)
    return best


def _along_columns(search: Search) -> None:
    planes = search.best.at[search.best.straight]
    along_columns(search.ledger, np.setdiff1d(search.found, planes))


def _elsewhere(search: Search) -> None:
    at = np.setdiff1d(search.found, search.best.at[search.best.flat])
    elsewhere(search.ledger, at, search.start_margin, search.draws)
    around_best(search.ledger, at, search.draws)


def _steps(search: Search) -> None:
    """Tell where the boundary has steps, and search there as is right for steps."""
    ledger, best, settings = search.ledger, search.best, SETTINGS.steps
    rough = best.flat.copy()
    doubtful = np.flatnonzero(~rough if search.by_labels else ~rough & ~best.optimal)
    rough[doubtful] = has_steps(ledger, best.take(doubtful), search.by_labels)
    at = best.at[rough]
    search.steps[at] = True
    at = at[ledger.goes_on(at)]
    if not len(at):
        return
    ends = search.ends.of(at)
    one_way = at[search.one_way[at]]
    if len(one_way):
        ends = ends.and_(known_ends(ledger, search.pools, one_way))
    names, group = np.unique(ends.at, return_inverse=True)
    margins = None
    if search.start_margin is not None and ends.margin is not None:
        margins = search.start_margin[ends.at], ends.margin
    crossings = race(
        rays_to(ledger, ends.rows, ends.at), group, settings.starts, settings.tolerance, margins=margins
    )
    rough_search(ledger, crossings.rows, names[crossings.group], search.draws.of("rough"))


def _levels(search: Search) -> None:
    """Levels and whole numbers: take columns back, try other levels, exchange cells."""
    ledger, regions = search.ledger, search.ledger.regions
    found = search.found
    at = found[(regions.free[found] & (regions.discrete | regions.grid.stepped)).any(axis=1)]
    if not len(at):
        return
    draws = search.draws.of("levels")
    rows, of = ledger.nearest(at, 2)
    pull_back(ledger, rows, of, draws.of("back"))
    ends = Herd(search.ends.rows, search.ends.at)
    other_levels(ledger, ends, at, search.start_margin)
    parents = Herd(*ledger.nearest(at, SETTINGS.levels.parents))
    swap(ledger, parents, ends.of(at), draws, rounds=1)
    if not search.by_labels:
        buy(ledger, at[~search.steps[at]], draws.of("buy"), SETTINGS.buy.idle_without_steps)


def _finish(search: Search) -> None:
    """Leave small changes out, walk the grid, and close in on the last crossing as finely as is worth it."""
    ledger, settings = search.ledger, SETTINGS.descent
    tidy(ledger, search.found)
    walk(ledger, search.found)
    at = search.found
    at = at[ledger.goes_on(at) & ledger.regions.moves[at].any(axis=1)]
    scored = np.isfinite(ledger.best_margin[at]) & (not search.by_labels)
    if scored.any():
        assert search.start_margin is not None
        some = at[scored]
        rays, margins = (
            rays_to(ledger, ledger.best_row[some], some),
            (search.start_margin[some], ledger.best_margin[some]),
        )
        guess = np.full(len(some), settings.last_guess)
        race(rays, np.arange(len(some)), 1, settings.closely, margins=margins, guess=guess)
    some = at[~scored]
    near = (1 - 2 * settings.roughly) * ledger.best[some]
    race(
        rays_to(ledger, ledger.best_row[some], some), np.arange(len(some)), 1, settings.closely, nearest=near
    )


def _always(search: Search) -> bool:
    return True


def _has_ends(search: Search) -> bool:
    return len(search.ends.at) > 0


def _lacks_ends(search: Search) -> bool:
    return len(search.without_ends) > 0


def _has_scores(search: Search) -> bool:
    return not search.by_labels and len(search.at) > 0


MOVES = (
    Move("start", _always, _ask_starts),
    Move("stored points", lambda search: search.stored is not None, _use_stored),
    Move("slope", _has_scores, _follow_slope),
    Move("known rows", _lacks_ends, _take_known),
    Move("further rows", _lacks_ends, _look_further),
    Move("climb", lambda search: _has_scores(search) and _lacks_ends(search), _climb),
    Move("descent", _has_ends, _race_and_descend),
    Move("along columns", _has_ends, _along_columns),
    Move("elsewhere", _has_ends, _elsewhere),
    Move("steps", _has_ends, _steps),
    Move("levels", _has_ends, _levels),
    Move("finish", _has_ends, _finish),
)
