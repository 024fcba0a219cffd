"""Columns chosen by what they gain and cost: score is bought where it costs little distance.

Around a row the score is asked for with one column changed at a time, over some values. As long as columns
add up, it is known from there what any choice of values gains and costs. The cheapest choices that are
expected to reach the target are asked about, and what came of them is where to look next.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from ssba.search.exchanges import nearest_few
from ssba.search.lanes import Draws, first_of_each
from ssba.search.ledger import Ledger
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.steps import pull_back

# What is not legal alone is never worth it.
_NEVER = -1e300


def buy(ledger: Ledger, at: Numbers, draws: Draws) -> None:
    """Choose the values of all columns anew, as cheap as the target allows if columns add up; and again.

    The scores of single changes are asked for around the start, the row that missed by least among those
    bought before, and the best row, in turn; until some rounds one after the other gained nothing.
    """
    settings, worthwhile = SETTINGS.buy, SETTINGS.columns.worthwhile
    at = at[np.isfinite(ledger.best[at])]
    idle = np.zeros(ledger.regions.count, dtype=np.int64)
    missed = ledger.regions.start.copy()
    for number in itertools.count():
        at = at[ledger.goes_on(at) & (idle[at] < settings.idle)]
        if not len(at):
            return
        before = ledger.best.copy()
        centre = (ledger.regions.start, missed, ledger.best_row)[number % 3][at]
        profile = profile_of(ledger, centre, at)
        rows, who = profile.bought(draws.of("buy", number))
        of = at[who]
        rows, fine = ledger.regions.pull_in(rows, of)
        fine &= ledger.distance(rows, of) < worthwhile * ledger.best[of]
        rows, of = rows[fine], of[fine]
        reply = ledger.ask(rows, of)
        margin, reached = np.asarray(reply.margin), reply.reached
        near = np.flatnonzero(~reached & np.isfinite(margin) & (ledger.distance(rows, of) < before[of]))
        best_miss = near[first_of_each(of[near], -margin[near])]
        missed[of[best_miss]] = rows[best_miss]
        hits, of = nearest_few(ledger, rows[reached], of[reached], SETTINGS.columns.followed)
        if len(of):
            pull_back(ledger, hits, of, worthwhile * ledger.best)
        gained = ledger.best[at] < before[at] * (1 - SETTINGS.descent.gain)
        idle[at] = np.where(gained, 0, idle[at] + 1)


@dataclass(frozen=True)
class Profile:
    """Single changes of rows, by lane, column and value: score gained, and cost of the cell they leave.

    Costs add up over columns to the distance (in L2 to its square). `given` are the changes that can be made.
    """

    rows: Matrix
    margin: Vector
    values: Matrix
    gain: Matrix
    cost: Matrix
    given: Mask

    def bought(self, draws: Draws) -> tuple[Matrix, Numbers]:
        """Return rows that are cheap and expected to reach the target, each with its own idea of the gains.

        What is gained is taken to be less than it seems, and what is lost more.
        """
        settings = SETTINGS.buy
        lanes, columns, _ = self.values.shape
        rng = draws.generator
        noise = np.exp(settings.wrong * rng.normal(size=(settings.tried, columns)))
        doubt = settings.wrong * rng.random((settings.tried, 1))
        found, of = [self.rows[:0]], [np.empty(0, dtype=np.int64)]
        for lane in range(lanes):
            usable = self.given[lane] & (self.gain[lane] > _NEVER)
            several = np.flatnonzero(usable.sum(axis=1) > 1)
            gain = np.where(usable, self.gain[lane], _NEVER)[several]
            cost = np.where(usable, self.cost[lane], np.inf)[several]
            gain, cost, place = _worth_it(gain, cost)
            less, more = (noise * (1 - doubt))[:, several], (noise * (1 + doubt))[:, several]
            begin = np.full(settings.tried, self.margin[lane])
            seen = np.where(gain > 0, less[:, :, None] * gain, more[:, :, None] * gain)
            if max(abs(self.margin[lane]), np.abs(self.margin[lane] + gain).max(initial=0.0)) <= 1:
                # Probabilities: it is their logits that add up in boosted trees and networks, not in forests.
                half = settings.tried // 2
                own = _logit(self.margin[lane])
                rise = _logit(self.margin[lane] + gain) - own
                seen[:half] = np.where(rise > 0, less[:half, :, None] * rise, more[:half, :, None] * rise)
                begin[:half] = own
            low = np.full(settings.tried, np.log(settings.prices[0]))
            high = np.full(settings.tried, np.log(settings.prices[1]))
            by_place = np.ascontiguousarray(np.moveaxis(seen, 2, 0))
            for _ in range(settings.halvings):
                middle = 0.5 * (low + high)
                fine = begin + _gained(cost, by_place, np.exp(middle)) >= 0
                low, high = np.where(fine, low, middle), np.where(fine, middle, high)
            chosen = np.unique((cost - np.exp(high)[:, None, None] * seen).argmin(axis=2), axis=0)
            rows = np.repeat(self.rows[lane][None], len(chosen), axis=0)
            rows[:, several] = self.values[lane][several, place[np.arange(len(several)), chosen]]
            found.append(rows)
            of.append(np.full(len(chosen), lane))
        return np.concatenate(found), np.concatenate(of)


def _gained(cost: Matrix, seen: Matrix, price: Vector) -> Vector:
    """Return what the best choice of each column at a price gains in all, of equal ones the first.

    `cost` is ``[columns, choices]``, `seen` are the gains, ``[choices, ideas, columns]``. Choices are few:
    going through them takes half of what `argmin` along so short an axis does.
    """
    worth, better = np.empty(seen.shape[1:]), np.empty(seen.shape[1:], dtype=bool)
    least, gained = cost[:, 0] - price[:, None] * seen[0], seen[0].copy()
    for place in range(1, len(seen)):
        np.multiply(seen[place], price[:, None], out=worth)
        np.subtract(cost[:, place], worth, out=worth)
        np.less(worth, least, out=better)
        np.copyto(least, worth, where=better)
        np.copyto(gained, seen[place], where=better)
    return np.asarray(gained.sum(axis=1))


def _worth_it(gain: Matrix, cost: Matrix) -> tuple[Matrix, Matrix, Numbers]:
    """Return, by column, the changes that gain more than all that cost no more, and where these stood.

    No price makes another one the best choice, however wrong the gains are taken to be: of 22 values of a
    column of cancer data some 6 are left. What fills up shorter columns gains nothing at an infinite cost.
    """
    order = np.argsort(cost, axis=1, kind="stable")
    gain, cost = np.take_along_axis(gain, order, axis=1), np.take_along_axis(cost, order, axis=1)
    before = np.maximum.accumulate(gain, axis=1)[:, :-1]
    kept = np.column_stack([np.ones(len(gain), dtype=bool), gain[:, 1:] > before]) & np.isfinite(cost)
    width = int(kept.sum(axis=1).max(initial=1))
    front = np.argsort(~kept, axis=1, kind="stable")[:, :width]
    is_there = np.take_along_axis(kept, front, axis=1)
    gain = np.where(is_there, np.take_along_axis(gain, front, axis=1), 0.0)
    cost = np.where(is_there, np.take_along_axis(cost, front, axis=1), np.inf)
    return gain, cost, np.take_along_axis(order, front, axis=1)


def _logit(lead: Vector | float) -> Vector:
    """Return the log of the odds whose probabilities are so far apart."""
    return np.asarray(np.arctanh(np.clip(lead, -1 + 1e-9, 1 - 1e-9)))


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
    parts = metric.cost(metric.parts(asked, regions.x[at[of]]))
    gain, cost = np.full(values.shape, _NEVER), np.full(values.shape, np.inf)
    places = np.arange(len(who))
    values[who, column, place] = asked[places, column]
    cost[who, column, place] = parts[places, column]
    rise = margin[: len(who)] - margin[len(who) + who]
    gain[who, column, place] = np.where(legal & np.isfinite(rise), rise, _NEVER)
    # A column that cannot change keeps its value.
    values[:, :, 0] = np.where(given.any(axis=2), values[:, :, 0], rows)
    held = np.asarray(~given.any(axis=2))
    cost[:, :, 0], gain[:, :, 0] = np.where(held, 0.0, cost[:, :, 0]), np.where(held, 0.0, gain[:, :, 0])
    return Profile(rows, margin[len(who) :], values, gain, cost, given | _only_first(held, count))


def _only_first(held: Mask, count: int) -> Mask:
    mask = np.zeros((*held.shape, count), dtype=bool)
    mask[:, :, 0] = held
    return mask


def _values(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Mask]:
    """Return the values to try in each column: its own, the start's, and some within reach."""
    regions = ledger.regions
    points = SETTINGS.buy.points
    start, x = regions.start[at], regions.x[at]
    home = np.where(np.isnan(x), start, x)
    reach = ledger.best[at][:, None] * regions.scale
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
