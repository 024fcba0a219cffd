"""A near choice among many columns: tabu search over options, on the opened trees and without the model.

The state is one choice. For every leaf it keeps how many columns keep the choice out of it. A change in
one column lets in exactly the leaves that this column alone keeps out, so the margins of all changes of
one column, to any of its options, come from one pass over those leaves and the leaves that hold the
choice now.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Mask, Matrix, Vector
from ssba.interrupts import is_past
from ssba.whitebox.cells import Cells, Surroundings
from ssba.whitebox.spans import spans_of

# Leaves that a step may enter: how many columns may keep it out of one, and how many leaves are tried.
_MOST_ENTERED, _ENTRIES = 3, 12


@final
@dataclass(frozen=True)
class Table:
    """The options of all columns in one list, and each leaf as an interval of them in each column."""

    cells: Cells
    start: Integers
    """Where the options of each column begin in the list; one entry more than there are columns."""
    column: Integers
    cost: Vector
    changed: Mask
    """Whether an option is another value than the query's own."""
    begin: Integers
    end: Integers
    """[columns, leaves]: the first option that fits, and the one after the last."""
    fits: NDArray[np.int8]
    """[options, leaves]: 1 where an option fits a leaf."""
    tree: Integers
    """Which tree each leaf is of."""
    loose: tuple[int, ...]
    """Columns in which some leaf fits options with others between them."""


def table_of(cells: Cells) -> Table:
    """Lay the options of a query out for the search."""
    sizes = np.array([len(one.cost) for one in cells.options], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)])
    column = np.repeat(np.arange(len(sizes)), sizes)
    spans = spans_of(cells)
    return Table(
        cells=cells,
        start=start,
        column=column,
        cost=np.concatenate([one.cost for one in cells.options]),
        changed=np.arange(len(column)) - start[column] != cells.own[column],
        begin=spans.begin + start[:-1, None],
        end=spans.end + start[:-1, None],
        fits=np.concatenate([one.fits for one in cells.options]).astype(np.int8),
        tree=np.searchsorted(cells.first, np.arange(cells.gain.shape[1]), side="right") - 1,
        loose=tuple(spans.counts),
    )


@final
class State:
    """One choice, and what keeps it out of each leaf."""

    def __init__(self, table: Table, choice: Integers) -> None:
        self.table, self.choice = table, choice.copy()
        out = np.stack([~one.fits[k] for one, k in zip(table.cells.options, choice, strict=True)])
        self.misses = out.sum(axis=0, dtype=np.int16)
        # The sum of the columns that keep the choice out names that column where there is just one.
        self.where = (out * np.arange(len(choice))[:, None]).sum(axis=0)

    @property
    def margin(self) -> float:
        """How far the worst condition is above 0."""
        cells = self.table.cells
        return float((cells.gain[:, self.misses == 0].sum(axis=1) + cells.base).min())

    @property
    def cost(self) -> float:
        """What the choice costs."""
        table = self.table
        return float(table.cost[table.start[:-1] + self.choice].sum()) + table.cells.fixed_cost

    def move(self, column: int, option: int) -> None:
        """Take another option in a column."""
        fits = self.table.cells.options[column].fits
        change = fits[self.choice[column]].astype(np.int16) - fits[option]
        self.misses += change
        self.where += column * change.astype(np.int64)
        self.choice[column] = option

    def margins_of(self, choices: Integers) -> Vector:
        """Return the margins of choices that differ from this one in at most `_MOST_ENTERED` columns."""
        table, cells = self.table, self.table.cells
        differs = choices != self.choice
        # Columns that differ come first; those after them are the same in both and cancel out.
        columns = np.argsort(~differs, axis=1, kind="stable")[:, :_MOST_ENTERED]
        new = table.start[columns] + np.take_along_axis(choices, columns, axis=1)
        old = table.start[columns] + self.choice[columns]
        # Small numbers, in the smallest integers: leaves are many.
        change = (table.fits[old] - table.fits[new]).sum(axis=1, dtype=np.int8)
        misses = self.misses + change
        return np.asarray(((misses == 0) @ cells.gain.T + cells.base).min(axis=1))

    def margins(self) -> Vector:
        """Return the margin after each change of one column, in the order of the table's list."""
        table, cells = self.table, self.table.cells
        inside = np.flatnonzero(self.misses == 0)
        nearly = np.flatnonzero(self.misses == 1)
        blocked = self.where[nearly]
        opens = np.concatenate([table.begin[:, inside].ravel(), table.begin[blocked, nearly]])
        shuts = np.concatenate([table.end[:, inside].ravel(), table.end[blocked, nearly]])
        size = len(table.cost) + 1
        columns = len(table.start) - 1
        worst: Vector | None = None
        for gain, base in zip(cells.gain, cells.base, strict=True):
            weights = np.concatenate([np.tile(gain[inside], columns), gain[nearly]])
            steps = np.bincount(opens, weights, size) - np.bincount(shuts, weights, size)
            margin = np.cumsum(steps)[:-1] + base
            for j in table.loose:
                which = np.concatenate([inside, nearly[blocked == j]])
                margin[table.start[j] : table.start[j + 1]] = (
                    cells.options[j].fits[:, which] @ gain[which] + base
                )
            worst = margin if worst is None else np.minimum(worst, margin)
        assert worst is not None
        return worst


@final
@dataclass(frozen=True)
class Tour:
    """How long and in which order the search goes.

    Attributes
    ----------
    steps
        Changes of one column that are made in all.
    patience
        Steps without a better choice after which a run ends and another begins.
    cells
        Leaves times columns that are looked at in all; a step looks at all that are left of a query's.
    seed
        Of the random draws; the search is the same for the same seed.
    deadline
        A moment of `time.monotonic` to end at with what was found.
    """

    steps: int = 2000
    patience: int = 40
    cells: float = math.inf
    seed: int = 0
    deadline: float = math.inf

    def part(self, share: float, seed: int = 0) -> "Tour":
        """Return a tour that takes a share of the steps, with draws of its own."""
        steps = max(1, round(self.steps * share))
        return replace(self, steps=steps, cells=self.cells * share, seed=self.seed + seed)

    def steps_over(self, cells: int) -> int:
        """Return how many steps may be made where each looks at so many cells."""
        return int(min(self.steps, self.cells // max(1, cells)))

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return is_past(self.deadline)


# How fast the price of a missing margin falls while the goal is reached, and rises while it is not.
_PRICE_STEP = 1.15
_KICKED, _LONGEST_WAY = 3, 4
# Shares of the steps after each of which what is dearer than the best choice is left out.
_PARTS = (0.3, 0.7)
# The first row is looked for in so many steps, within so many times the least cost that may do (rows are
# mostly found at 6 to 13 times), and then within costs that grow by this factor, as long as there is work for
# so many steps: to lay choices out takes as long as some of them.
_FIRST_STEPS, _FIRST_REACH, _FARTHER, _FEWEST_STEPS = 40, 9.0, 2.25, 20


def near_row(
    near: Surroundings, starts: Matrix, tour: Tour | None = None, within: float = math.inf
) -> Vector | None:
    """Return a cheap row that reaches the goal, or None where no run met one that costs no more than that.

    Each run walks across the goal's boundary, out and in: every step takes the best change by cost plus a
    price for missing margin, and the columns it changed rest for a while. Runs begin at the query, at the
    rows `starts` in turn, and beside the best choice so far. A first part of the steps finds how far the
    goal is at most, and the rest look at nothing beyond.
    """
    tour = tour or Tour()
    cells, best = _first_found(near, starts, replace(tour, steps=_FIRST_STEPS), within)
    if cells is None:
        return None
    for part, share in enumerate(_PARTS):
        if tour.is_over():
            break
        if best is not None:
            cells = cells.within(float(cells.cost(cells.choice_near(best)[None, :])[0]))
        if not len(cells.options):
            break
        begin = starts if best is None else np.vstack([best, *starts])
        walker = _Walker(cells, tour.part(share, part))
        choice = walker.walk([cells.choice_near(row) for row in begin])
        if choice is not None:
            best = cells.rows(choice[None, :])[0]
    return best


def _first_found(
    near: Surroundings, starts: Matrix, tour: Tour, within: float
) -> tuple[Cells | None, Vector | None]:
    """Look for any row that reaches, near the query first: there few leaves of large trees are left.

    Return the choices among which it was found, or the last ones; None where there is nothing to choose, or
    too much for the steps that are left.
    """
    costs = near.leaf_cost[np.isfinite(near.leaf_cost)]
    if near.least_cost > within or not len(costs):
        return None, None
    farthest = min(within, near.dearest)
    reach = _FIRST_REACH * max(near.least_cost, float(costs[costs > costs.min()].min(initial=math.inf)))
    # A row that costs no more than that is known.
    reach = within if math.isfinite(within) else min(reach, farthest)
    while True:
        steps = tour.steps_over(near.size(reach))
        if steps < _FEWEST_STEPS:
            return None, None
        cells = near.cells(reach)
        if not len(cells.options) or not len(cells.gain):
            return None, None
        best = _best_start(cells, starts)
        if best is None and cells.allows(cells.home[None, :])[0]:
            choice = _Walker(cells, tour).walk(())
            best = None if choice is None else np.asarray(cells.rows(choice[None, :])[0])
        if best is not None or reach >= farthest or tour.is_over():
            return cells, best
        tour = replace(tour, cells=tour.cells - steps * near.size(reach))
        reach = min(_FARTHER * reach, farthest)


def _best_start(cells: Cells, starts: Matrix) -> Vector | None:
    """Return the cheapest of the starts that reaches the goal once it is moved into the options."""
    if not len(starts):
        return None
    choices = np.stack([cells.choice_near(row) for row in starts])
    costs = cells.cost(choices)
    reaches = (cells.margin(choices) >= cells.slack) & cells.allows(choices) & (costs <= cells.reach)
    costs = np.where(reaches, costs, np.inf)
    return cells.rows(choices[[costs.argmin()]])[0] if costs.min() < np.inf else None


@final
@dataclass(frozen=True)
class _Step:
    """A choice to go to, what it is worth (less is better), and whether it reaches the goal."""

    choice: Integers
    worth: float
    reached: bool


@final
class _Walker:
    """What the runs of one search share: the best choice so far, the steps left, and the random draws."""

    def __init__(self, cells: Cells, tour: Tour) -> None:
        self.cells, self.tour, self.table = cells, tour, table_of(cells)
        self.sizes = np.diff(self.table.start)
        self.random = np.random.default_rng(tour.seed)
        self.best: Integers | None = None
        self.best_cost = cells.reach
        self.left = tour.steps_over(cells.size)
        missing = max(-State(self.table, cells.home).margin, 1e-9 * float(np.abs(cells.gain).max()))
        # Where no leaf gains anything there is nothing to pay for.
        self.first_price = 0.1 * float(self.table.cost.mean()) / missing if missing > 0 else 1.0

    def walk(self, starts: Sequence[Integers]) -> Integers | None:
        starts = [start for start in starts if self.cells.allows(start[None, :])[0]]
        for start in starts:
            cost = float(self.cells.cost(start[None, :])[0])
            if cost < self.best_cost and self.cells.margin(start[None, :])[0] >= self.cells.slack:
                self._keep(start, cost)
        run = 0
        while self.left > 0 and not self.tour.is_over():
            start, rests = self._beginning(run, starts)
            self._run(State(self.table, start), rests)
            run += 1
        return self.best

    def _beginning(self, run: int, starts: Sequence[Integers]) -> tuple[Integers, Integers]:
        """Return where a run begins, and how long each column rests at first."""
        rests = np.zeros(len(self.sizes), dtype=np.int64)
        if run == 0:
            return self.cells.home, rests
        if run % 8 == 1 and run // 8 < len(starts):
            return starts[run // 8], rests
        if run % 4 == 2 or self.best is None:
            # From the query again, but with half of the columns resting for a while.
            resting = self.random.random(len(rests)) < 0.5
            return self.cells.home, np.where(resting, int(self.random.integers(5, 30)), rests)
        return self._kicked(self.best, rests)

    def _kicked(self, choice: Integers, rests: Integers) -> tuple[Integers, Integers]:
        """Send a few columns of a choice home, or a few options away."""
        kicked = choice.copy()
        for j in self.random.permutation(len(choice))[:_KICKED]:
            home = self.cells.home[j]
            away = home + self.random.integers(-_LONGEST_WAY, _LONGEST_WAY + 1)
            to_home = choice[j] != home and self.random.random() < 0.7
            kicked[j] = home if to_home else np.clip(away, 0, self.sizes[j] - 1)
            rests[j] = 5
        while not self.cells.allows(kicked[None, :])[0]:
            changed = np.flatnonzero((kicked != self.cells.own) & (self.cells.own >= 0))
            back = self.random.choice(changed)
            kicked[back] = self.cells.own[back]
        return kicked, rests

    def _run(self, state: State, rests: Integers) -> None:
        """Walk from a choice until no better one turned up for a while."""
        price = self.first_price * float(np.exp(self.random.normal()))
        idle, on_one_side, mine = 0, 0, np.inf
        while self.left > 0 and idle <= self.tour.patience and not self.tour.is_over():
            self.left -= 1
            found, steps = self._one_column(state, rests, price)
            entered, more = self._into_leaves(state, rests, price)
            found, steps = min(found, entered), steps + more
            idle = 0 if found < mine else idle + 1
            mine = min(mine, found)
            rests = np.maximum(rests - 1, 0)
            step = min(steps, key=lambda one: one.worth, default=None)
            if step is None:
                continue
            for column in np.flatnonzero(step.choice != state.choice):
                state.move(int(column), int(step.choice[column]))
                rests[column] = self.random.integers(2, 2 + max(1, len(rests) // 3))
            on_one_side = max(1, on_one_side + 1) if step.reached else min(-1, on_one_side - 1)
            if abs(on_one_side) > 1:
                price *= 1 / _PRICE_STEP if step.reached else _PRICE_STEP

    def _one_column(self, state: State, rests: Integers, price: float) -> tuple[float, list[_Step]]:
        """Return the least cost at which changing one column reaches, and the best such change."""
        table, slack = self.table, self.cells.slack
        margins = state.margins()
        at = table.start[:-1] + state.choice
        costs = state.cost + table.cost - np.repeat(table.cost[at], self.sizes)
        costs[self._too_many(state)] = np.inf
        reaching = np.where(margins >= slack, costs, np.inf)
        best = int(reaching.argmin())
        if reaching[best] < self.best_cost:
            self._keep(self._changed(state.choice, best), float(reaching[best]))
        worth = costs + price * np.maximum(0.0, -margins)
        worth[np.repeat(rests > 0, self.sizes)] = np.inf
        worth[at] = np.inf
        to = int(worth.argmin())
        if worth[to] == np.inf:
            return float(reaching[best]), []
        step = _Step(self._changed(state.choice, to), float(worth[to]), bool(margins[to] >= slack))
        return float(reaching[best]), [step]

    def _too_many(self, state: State) -> Mask:
        """Tell which changes of one column make more columns change than may change."""
        most, table = self.cells.changes_left, self.table
        if most is None:
            return np.zeros(len(table.cost), dtype=bool)
        now = state.choice != self.cells.own
        return np.asarray(now.sum() - now[table.column] + table.changed > most)

    def _into_leaves(self, state: State, rests: Integers, price: float) -> tuple[float, list[_Step]]:
        """The same for changes of two or three columns that enter a better leaf of some tree."""
        choices = self._entries(state, rests, price)
        choices = choices[self.cells.allows(choices)]
        if not len(choices):
            return np.inf, []
        costs, margins = self.cells.cost(choices), state.margins_of(choices)
        reaching = np.where(margins >= self.cells.slack, costs, np.inf)
        best = int(reaching.argmin())
        if reaching[best] < self.best_cost:
            self._keep(choices[best], float(reaching[best]))
        worth = costs + price * np.maximum(0.0, -margins)
        to = int(worth.argmin())
        step = _Step(choices[to], float(worth[to]), bool(margins[to] >= self.cells.slack))
        return float(reaching[best]), [step]

    def _entries(self, state: State, rests: Integers, price: float) -> Integers:
        """Return the choices that enter the most promising leaves, judged by their own tree alone."""
        table, cells = self.table, self.cells
        inside = state.misses == 0
        sums = cells.gain[:, inside].sum(axis=1) + cells.base
        gain = cells.gain[sums.argmin()]
        # A choice beyond the reach may be in no leaf of a tree that is left.
        own = np.bincount(table.tree[inside], gain[inside], minlength=len(cells.first))
        better = gain - own[table.tree]
        leaves = np.flatnonzero((state.misses > 1) & (state.misses <= _MOST_ENTERED) & (better > 0))
        now = (table.start[:-1] + state.choice)[:, None]
        to = np.clip(now, table.begin[:, leaves], table.end[:, leaves] - 1)
        changed = to != now
        fine = ~(changed & (rests > 0)[:, None]).any(axis=0)
        worth = np.where(fine, table.cost[to].sum(axis=0) - price * better[leaves], np.inf)
        chosen = np.argsort(worth, kind="stable")[:_ENTRIES]
        chosen = chosen[worth[chosen] < np.inf]
        return np.asarray((to[:, chosen] - table.start[:-1, None]).T)

    def _changed(self, choice: Integers, to: int) -> Integers:
        changed = choice.copy()
        column = self.table.column[to]
        changed[column] = to - self.table.start[column]
        return changed

    def _keep(self, choice: Integers, cost: float) -> None:
        self.best, self.best_cost = choice.copy(), cost
