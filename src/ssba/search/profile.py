"""Exchanges between columns, by scores: give up distance where it costs little score, and buy it where cheap.

Around a row that reaches the target, the score is asked for with one column changed at a time, over a
grid of values. As long as columns add up, it is known from there what any exchange gains and costs: the
best row for every price of score in distance, and rows that give up one large change for several small ones.
They are asked about, and what reaches the target is the next centre.
"""

from dataclasses import dataclass

import numpy as np

from ssba.search.columns import pull_back
from ssba.search.draws import Draws
from ssba.search.ledger import Ledger, rank_within
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.swaps import Herd, nearest_few

# What is not legal alone is never worth it.
_NEVER = -1e300


def priced(ledger: Ledger, rows: Matrix, at: Numbers, draws: Draws) -> None:
    """Ask about the best rows for every price of score around a row of each region, and its best pairs."""
    profile = profile_of(ledger, rows, at)
    for wanted, who in (profile.priced(draws), profile.pairs()):
        _ask_nearer(ledger, wanted, at[who], ledger.best)


def exchange(ledger: Ledger, parents: Herd, draws: Draws) -> None:
    """Exchange large changes of the best row for several small ones, and in turn those of other rows."""
    settings = SETTINGS.exchange
    power = 2 if ledger.metric.adds_squares else 1
    for number in range(settings.rounds):
        at = np.unique(parents.at)
        at = at[ledger.goes_on(at)]
        if not len(at):
            return
        parents = parents.of(at)
        first, size = np.unique(parents.at, return_index=True, return_counts=True)[1:]
        others = size - 1
        turn = np.where((number % 2 == 1) & (others > 0), 1 + number // 2 % np.maximum(others, 1), 0)
        centre = np.where((turn > 0)[:, None], parents.rows[first + turn], ledger.best_row[at])
        profile = profile_of(ledger, centre, at)
        room = (settings.expected - 1) * ledger.best[at] ** power
        wanted, who = profile.exchanges(draws.of("exchange", number), room)
        hits, of = _ask_nearer(ledger, wanted, at[who], settings.at_most * ledger.best)
        hits, of = nearest_few(ledger, hits, of, settings.followed)
        if len(of):
            ends, of = pull_back(ledger, hits, of, draws.of("back", number), settings.at_most * ledger.best)
            more = parents.with_rows(ends, of)
            parents = Herd(*nearest_few(ledger, more.rows, more.at, settings.parents))


def _ask_nearer(ledger: Ledger, rows: Matrix, at: Numbers, than: Vector) -> tuple[Matrix, Numbers]:
    """Ask about the rows that are feasible and nearer than that; return those that reached."""
    rows, fine = ledger.regions.pull_in(rows, at)
    fine &= ledger.distance(rows, at) < than[at]
    rows, at = rows[fine], at[fine]
    reached = ledger.ask(rows, at).reached
    return rows[reached], at[reached]


@dataclass(frozen=True)
class Profile:
    """Single changes of rows, by lane, column and value: score gained, and cost of the cell they leave.

    Costs add up over columns to the distance (in L2 to its square); `saved` is what a change saves.
    """

    rows: Matrix
    margin: Vector
    values: Matrix
    gain: Matrix
    cost: Matrix
    saved: Matrix
    given: Mask

    def priced(self, draws: Draws) -> tuple[Matrix, Numbers]:
        """Return the rows that are best for each price of score, and mixtures of them with the row itself."""
        settings = SETTINGS.exchange
        prices = np.geomspace(*settings.prices)
        lanes, columns, _ = self.values.shape
        best = np.empty((lanes, len(prices), columns), dtype=np.int64)
        cost = np.where(self.given, self.cost, np.inf)
        for number, price in enumerate(prices):
            best[:, number] = (cost - price * self.gain).argmin(axis=2)
        fresh = np.ones(best.shape[:2], dtype=bool)
        fresh[:, 1:] = (best[:, 1:] != best[:, :-1]).any(axis=2)
        who, place = np.nonzero(fresh)
        chosen = best[who, place]
        every = np.arange(columns)
        rows = self.values[who[:, None], every, chosen]
        expected = self.margin[who] + self.gain[who[:, None], every, chosen].sum(axis=1)
        order = np.lexsort((np.abs(expected), who))
        likely = order[rank_within(who[order]) < settings.mixed]
        repeat = settings.mixtures
        mixed, of = np.repeat(rows[likely], repeat, axis=0), np.repeat(who[likely], repeat)
        rng = draws.of("mix").generator
        drawn = rng.random((settings.mixed * repeat, columns))
        block = drawn < rng.uniform(0.3, 0.9, size=(len(drawn), 1))
        mixed = np.where(block[rank_within(of)], mixed, self.rows[of])
        all_rows, all_of = np.concatenate([rows, mixed]), np.concatenate([who, of])
        order = np.argsort(all_of, kind="stable")
        return all_rows[order], all_of[order]

    def pairs(self) -> tuple[Matrix, Numbers]:
        """Return the pairs of changes that save most distance and are expected to reach the target."""
        found, of = [self.rows[:0]], [np.empty(0, dtype=np.int64)]
        for lane in range(len(self.rows)):
            column, value = np.nonzero(self.given[lane] & (self.gain[lane] > _NEVER))
            gain, saved = self.gain[lane, column, value], self.saved[lane, column, value]
            net = saved[:, None] + saved
            fine = (self.margin[lane] + gain[:, None] + gain >= 0) & (net > 0)
            fine &= column[:, None] < column
            first, second = np.nonzero(fine)
            best = np.argsort(-net[first, second], kind="stable")[: SETTINGS.exchange.pairs]
            rows = np.repeat(self.rows[lane][None, :], len(best), axis=0)
            for chosen in (first[best], second[best]):
                rows[np.arange(len(best)), column[chosen]] = self.values[lane, column[chosen], value[chosen]]
            found.append(rows)
            of.append(np.full(len(best), lane))
        return np.concatenate(found), np.concatenate(of)

    def exchanges(self, draws: Draws, room: Vector) -> tuple[Matrix, Numbers]:
        """Return rows that give up one or two changes, mostly costly ones, and buy the score back cheaply.

        Each has its own idea of what score costs. They cost at most `room` more than the row.
        """
        found, of = [self.rows[:0]], [np.empty(0, dtype=np.int64)]
        settings, columns = SETTINGS.exchange, self.rows.shape[1]
        rng = draws.generator
        first, second, two = (
            rng.random(settings.tried),
            rng.random(settings.tried),
            rng.random(settings.tried),
        )
        more = rng.random(settings.tried)
        wrong = np.exp(settings.wrong * rng.normal(size=(settings.tried, columns)))
        for lane in range(len(self.rows)):
            rows = self._exchanged(lane, (first, second, two < settings.two, more, wrong), float(room[lane]))
            found.append(rows)
            of.append(np.full(len(rows), lane))
        return np.concatenate(found), np.concatenate(of)

    def _exchanged(
        self, lane: int, drawn: tuple[Vector, Vector, Mask, Vector, Matrix], room: float
    ) -> Matrix:
        first, second, two, more, wrong = drawn
        saved, gain, usable = self.saved[lane], self.gain[lane], self.given[lane] & (self.gain[lane] > _NEVER)
        column, value = np.nonzero(usable & (saved > 0))
        offered = usable & (saved < 0) & (gain > 0)
        if not len(column) or not offered.any():
            return self.rows[:0]
        level = np.cumsum(saved[column, value])
        one = np.searchsorted(level, first * level[-1]).clip(max=len(level) - 1)
        other = np.searchsorted(level, second * level[-1]).clip(max=len(level) - 1)
        other = np.where(two & (column[one] != column[other]), other, one)
        both = other != one
        lost = gain[column[one], value[one]] + np.where(both, gain[column[other], value[other]], 0.0)
        won = saved[column[one], value[one]] + np.where(both, saved[column[other], value[other]], 0.0)
        needed = -(self.margin[lane] + lost) * (1 + SETTINGS.exchange.more * more)
        # By column, the change that is cheapest for its gain.
        price = np.where(offered, -saved / np.where(offered, gain, 1.0), np.inf)
        cheapest = price.argmin(axis=1)
        every = np.arange(len(cheapest))
        offer_gain, offer_cost = gain[every, cheapest], -saved[every, cheapest]
        asked = np.where(np.isfinite(price[every, cheapest]), price[every, cheapest] * wrong, np.inf)
        tried = np.arange(len(first))
        asked[tried, column[one]] = np.inf
        asked[tried, column[other]] = np.inf
        order = np.argsort(asked, axis=1, kind="stable")
        fine = np.isfinite(np.take_along_axis(asked, order, axis=1))
        gains = np.where(fine, offer_gain[order], 0.0)
        bought = (np.cumsum(gains, axis=1) - gains < needed[:, None]) & (gains > 0)
        enough = (gains * bought).sum(axis=1) >= needed
        costs = (offer_cost[order] * bought).sum(axis=1) - won
        kept = np.flatnonzero(enough & (costs <= room))
        rows = np.repeat(self.rows[lane][None, :], len(kept), axis=0)
        for chosen in (one[kept], other[kept]):
            rows[np.arange(len(kept)), column[chosen]] = self.values[lane, column[chosen], value[chosen]]
        who, place = np.nonzero(bought[kept])
        taken = order[kept][who, place]
        rows[who, taken] = self.values[lane, taken, cheapest[taken]]
        return rows


def profile_of(ledger: Ledger, rows: Matrix, at: Numbers) -> Profile:
    """Ask for the scores of rows with one column changed at a time."""
    regions, metric = ledger.regions, ledger.metric
    values, given = _values(ledger, rows, at)
    lanes, _, count = values.shape
    who, column, place = np.nonzero(given)
    asked = rows[who]
    asked[np.arange(len(who)), column] = values[who, column, place]
    asked = regions.snap(np.concatenate([asked, rows]), np.concatenate([at[who], at]))
    of = np.concatenate([who, np.arange(lanes)])
    order = np.argsort(of, kind="stable")
    margin = np.empty(len(of))
    margin[order] = np.asarray(ledger.ask(asked[order], at[of[order]]).margin)
    legal = regions.contains(asked, at[of])[: len(who)]
    power = 2 if metric.adds_squares else 1
    parts = metric.parts(asked, regions.x[at[of]]) ** power
    own = parts[len(who) :]
    gain, cost, saved = np.full(values.shape, _NEVER), np.full(values.shape, np.inf), np.zeros(values.shape)
    places = np.arange(len(who))
    values[who, column, place] = asked[places, column]
    cost[who, column, place] = parts[places, column]
    saved[who, column, place] = own[who, column] - parts[places, column]
    rise = margin[: len(who)] - margin[len(who) + who]
    gain[who, column, place] = np.where(legal & np.isfinite(rise), rise, _NEVER)
    # A column that cannot change keeps its value.
    values[:, :, 0] = np.where(given.any(axis=2), values[:, :, 0], rows)
    held = np.asarray(~given.any(axis=2))
    cost[:, :, 0], gain[:, :, 0] = np.where(held, 0.0, cost[:, :, 0]), np.where(held, 0.0, gain[:, :, 0])
    return Profile(rows, margin[len(who) :], values, gain, cost, saved, given | _only_first(held, count))


def _only_first(held: Mask, count: int) -> Mask:
    mask = np.zeros((*held.shape, count), dtype=bool)
    mask[:, :, 0] = held
    return mask


def _values(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Mask]:
    """Return the values to try in each column: its own, the start's, and some within reach."""
    regions = ledger.regions
    points = SETTINGS.exchange.points
    start, x = regions.start[at], regions.x[at]
    home = np.where(np.isnan(x), start, x)
    reach = SETTINGS.exchange.reach * ledger.best[at][:, None] * regions.scale
    low, high = np.maximum(home - reach, regions.low[at]), np.minimum(home + reach, regions.high[at])
    shares = np.linspace(0, 1, points + 1)[1:] ** 1.5
    down = home[:, :, None] - shares * (home - low)[:, :, None]
    up = home[:, :, None] + shares * (high - home)[:, :, None]
    levels = max([0, *(regions.levels(int(j)).shape[1] for j in np.flatnonzero(regions.discrete))])
    width = max(2 * points + 2, levels)
    values = np.full((*rows.shape, width), np.nan)
    values[:, :, : 2 * points + 2] = np.concatenate([down, up, start[:, :, None], rows[:, :, None]], axis=2)
    given = np.zeros(values.shape, dtype=bool)
    free = regions.free[at]
    given[:, :, : 2 * points + 2] = (free & ~regions.discrete)[:, :, None]
    given &= ~np.isnan(values)
    for j in np.flatnonzero(regions.discrete):
        allowed = regions.levels(int(j))[at] & free[:, j][:, None]
        given[:, j] = False
        given[:, j, : allowed.shape[1]] = allowed
        values[:, j, : allowed.shape[1]] = np.arange(allowed.shape[1])
    return values, given
