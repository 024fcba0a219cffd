"""Columns chosen by what they gain and cost: score is bought where it costs little distance.

Around a row the score is asked for with one column changed at a time, over some values. As long as columns
add up, it is known from there what any choice of values gains and costs. The cheapest choices that are
expected to reach the target are asked about, and what came of them is where to look next.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssba.arrays import blocks, choose
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
    bought before, and the best row, in turn; until some rounds one after the other gained nothing. Where
    calls are dear, the first such round ends it, and no column is taken back.
    """
    worthwhile = SETTINGS.columns.worthwhile
    at = at[np.isfinite(ledger.best[at])]
    idle = np.zeros(ledger.regions.count, dtype=np.int64)
    missed = ledger.regions.start.copy()
    patience = 1 if ledger.few_calls else SETTINGS.descent.patience
    for number in itertools.count():
        at = at[ledger.goes_on(at) & (idle[at] < patience)]
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
        if len(of) and not ledger.few_calls:
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
        settings, tried = SETTINGS.buy, SETTINGS.buy.tried
        rng = draws.generator
        noise = np.exp(settings.wrong * rng.normal(size=(tried, self.rows.shape[1])))
        doubt = settings.wrong * rng.random((tried, 1))
        ideas = _Ideas(*((noise * share).T.copy() for share in (1 - doubt, 1 + doubt)))
        usable = self.given & (self.gain > _NEVER)
        several = usable.sum(axis=2) > 1
        usable &= several[:, :, None]
        gain, cost, place = _worth_it(
            np.where(usable, self.gain, _NEVER), np.where(usable, self.cost, np.inf)
        )
        # Probabilities: it is their logits that add up in boosted trees and networks, not in forests.
        here = self.margin[:, None, None]
        own, rise = _logit(self.margin), _logit(here + gain) - _logit(here)
        are_shares = np.abs(here + gain).max(axis=(1, 2)) <= 1
        own, rise = np.where(are_shares, own, self.margin), np.where(are_shares[:, None, None], rise, gain)
        begin = np.repeat([own, self.margin], [tried // 2, tried - tried // 2], axis=0).T
        found = list[Numbers]()
        for part in blocks(len(self.rows), ideas.less.size):
            found += _cheapest(begin[part], _Choices.of(cost[part], gain[part], rise[part], ideas))
        of = np.repeat(np.arange(len(found)), [len(one) for one in found])
        lane, column = of[:, None], np.arange(self.rows.shape[1])
        values = self.values[lane, column, place[lane, column, np.concatenate(found)]]
        return np.where(several[of], values, self.rows[of]), of


@dataclass(frozen=True)
class _Ideas:
    """Ideas of how wrong gains are: factors of what is gained and of what is lost, ``[columns, ideas]``."""

    less: Matrix
    more: Matrix

    def seen(self, columns: Numbers, gain: Matrix, rise: Matrix) -> Matrix:
        """Return what each idea takes the gains of some columns to be; half of the ideas go by `rise`."""
        half = self.less.shape[1] // 2
        seen = np.where(gain[..., None] > 0, self.less[columns], self.more[columns])
        seen[..., :half] *= rise[..., None]
        seen[..., half:] *= gain[..., None]
        return seen


@dataclass(frozen=True)
class _Choices:
    """The first choices of columns, the second ones, and so on, ``[columns, lanes, ideas]``.

    Columns with the most choices come first, in the `order` of each lane: so the later choices are those of
    the first columns. Where a lane has no such choice, it gains nothing at an infinite cost. `alone` is what
    the columns gain that have one choice only.
    """

    order: Numbers
    alone: Matrix
    cost: list[Matrix]
    gain: list[Matrix]

    @classmethod
    def of(cls, cost: Matrix, gain: Matrix, rise: Matrix, ideas: _Ideas) -> "_Choices":
        """Put in order what choices cost and gain, ``[lanes, columns, choices]``."""
        count, lanes = np.isfinite(cost).sum(axis=2), np.arange(len(cost))
        order = np.argsort(-count, axis=1, kind="stable").T
        count, cost, gain, rise = (one[lanes, order] for one in (count, cost, gain, rise))
        one = count == 1
        alone = ideas.seen(order, np.where(one, gain[..., 0], 0.0), np.where(one, rise[..., 0], 0.0))
        gain[one], rise[one] = 0.0, 0.0
        costs, gains = [], []
        for place in range(cost.shape[2]):
            some = slice(int((count > max(place, 1)).sum(axis=0).max()))
            costs.append(cost[some, :, place, None])
            gains.append(ideas.seen(order[some], gain[some, :, place], rise[some, :, place]))
        return cls(order, alone.sum(axis=0), costs, gains)

    def best(self, price: Matrix, prizes: Sequence[Any]) -> Matrix:
        """Return the prize of the best choice of each column at a price, of equal ones the first.

        There are few choices: going through them takes less than `argmin` along so short an axis does.
        """
        least = self.cost[0] - price * self.gain[0]
        best, worths = np.array(np.broadcast_to(prizes[0], least.shape)), np.empty_like(least)
        for cost, gain, prize in zip(self.cost[1:], self.gain[1:], prizes[1:], strict=True):
            worth, below = worths[: len(cost)], least[: len(cost)]
            np.subtract(cost, np.multiply(price, gain, out=worth), out=worth)
            np.putmask(best[: len(worth)], worth < below, prize)
            np.minimum(worth, below, out=below)
        return best


def _cheapest(begin: Matrix, choices: _Choices) -> list[Numbers]:
    """Return for each lane the choices, a number for each column, that ideas expect to reach at least cost.

    Each is there once.
    """
    begin = begin + choices.alone
    low, high = (np.full(begin.shape, np.log(price)) for price in SETTINGS.buy.prices)
    for _ in range(SETTINGS.buy.halvings):
        middle = 0.5 * (low + high)
        fine = begin + choices.best(np.exp(middle), choices.gain).sum(axis=0) >= 0
        low, high = np.where(fine, low, middle), np.where(fine, middle, high)
    best = choices.best(np.exp(high), range(len(choices.gain)))
    columns, lanes = choices.order.shape
    found = np.zeros((lanes, begin.shape[1], columns), dtype=">u2")
    found[np.arange(lanes), :, choices.order[: len(best)]] = best
    # As bytes they are put in order much faster than by `np.unique`.
    keys = found.view(f"V{2 * columns}")[..., 0].tolist()
    unlike = (np.frombuffer(b"".join(sorted(set(own))), dtype=">u2") for own in keys)
    return [one.reshape(-1, columns).astype(np.int64) for one in unlike]


def _worth_it(gain: Matrix, cost: Matrix) -> tuple[Matrix, Matrix, Numbers]:
    """Return, by column, the changes that gain more than all that cost no more, and where these stood.

    No price makes another one the best choice, however wrong the gains are taken to be: of 22 values of a
    column of cancer data some 6 are left. What fills up shorter columns gains nothing at an infinite cost.
    """
    order = np.argsort(cost, axis=-1, kind="stable")
    gain, cost = np.take_along_axis(gain, order, axis=-1), np.take_along_axis(cost, order, axis=-1)
    kept = np.isfinite(cost)
    kept[..., 1:] &= gain[..., 1:] > np.maximum.accumulate(gain, axis=-1)[..., :-1]
    width = int(kept.sum(axis=-1).max(initial=1))
    front = np.argsort(~kept, axis=-1, kind="stable")[..., :width]
    is_there = np.take_along_axis(kept, front, axis=-1)
    gain = np.where(is_there, np.take_along_axis(gain, front, axis=-1), 0.0)
    cost = np.where(is_there, np.take_along_axis(cost, front, axis=-1), np.inf)
    return gain, cost, np.take_along_axis(order, front, axis=-1)


def _logit(lead: Vector | float) -> Vector:
    """Return the log of the odds whose probabilities are so far apart."""
    return np.asarray(np.arctanh(np.clip(lead, -1 + 1e-9, 1 - 1e-9)))


def profile_of(ledger: Ledger, rows: Matrix, at: Numbers) -> Profile:
    """Ask for the scores of rows with one column changed at a time."""
    regions, metric = ledger.regions, ledger.metric
    values, given = _values(ledger, rows, at)
    lanes, _, count = values.shape
    who, column, place = np.nonzero(given)
    # The rows of each lane stand together, with one change each, and behind them the row without any.
    of = np.repeat(np.arange(lanes), given.sum(axis=(1, 2)) + 1)
    own, changed = np.searchsorted(of, np.arange(lanes), side="right") - 1, np.arange(len(who)) + who
    asked = choose(rows, of)
    asked[changed, column] = values[who, column, place]
    asked = regions.snap(asked, at[of])
    margin = np.asarray(ledger.ask(asked, at[of]).margin)
    legal = regions.contains(asked, at[of])[changed]
    values[who, column, place] = asked[changed, column]
    parts = metric.parts(values.swapaxes(1, 2), regions.x[at][:, None]).swapaxes(1, 2)
    cost, gain = np.where(given, metric.cost(parts), np.inf), np.full(values.shape, _NEVER)
    rise = margin[changed] - margin[own][who]
    gain[who, column, place] = np.where(legal & np.isfinite(rise), rise, _NEVER)
    # A column that cannot change keeps its value.
    held = np.asarray(~given.any(axis=2))
    values[:, :, 0] = np.where(held, rows, values[:, :, 0])
    cost[:, :, 0], gain[:, :, 0] = np.where(held, 0.0, cost[:, :, 0]), np.where(held, 0.0, gain[:, :, 0])
    return Profile(rows, margin[own], values, gain, cost, given | _only_first(held, count))


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
