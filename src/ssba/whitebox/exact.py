"""The nearest row that an opened model allows, and a distance below which there is none."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ssba.arrays import Mask, Matrix, Vector
from ssba.columns.distance import Metric
from ssba.constraints.regions.nearest_linear import Demands, Work, nearest_row
from ssba.constraints.regions.region import Region
from ssba.models.targets import Goal
from ssba.whitebox.additive import Additive
from ssba.whitebox.branching import Found, Search
from ssba.whitebox.cells import Surroundings, surroundings_of
from ssba.whitebox.cpsat import cheapest_choice
from ssba.whitebox.forest import Trees
from ssba.whitebox.local import Tour, near_row
from ssba.whitebox.read_model import Opened
from ssba.whitebox.scoring import CannotTell, Way, ways_to

Reached = Callable[[Matrix], Mask]

# A row this near to the bound, as a share of its distance, is the nearest for all that matters.
_PROVED = 1e-6
# A linear model is solved twice where rounding far beyond the data is so many times that within it.
_BLURRED = 16.0
# A relaxation of a linear model takes about as long as this many boxes of trees.
_BOXES_PER_RELAXATION = 20
# Up to so many free columns of trees boxes alone are quick; beyond, a near row is looked for first.
_FEW_COLUMNS, _STEPS_PER_COLUMN = 3, 100
# The quick answer of trees takes about 0.2 s on one core: a short local search, so many boxes, and a longer
# local search where they prove nothing. All look at no more leaves, times columns, than that. Boxes whose
# bound falls behind this pace are given up: of 20 queries each of heart-whole cases that ends 0 to 4 proofs
# (forest 17 to 13), none of 24 each on cancer data, where they took a third of the time in vain.
_FIRST_TOUR = Tour(steps=100, cells=3e7)
_QUICK_BOXES, _QUICK_CELLS, _PACE = 2_000, 6e7, 0.5
# Less than this part of the boxes is not worth laying the choices out.
_FEWEST_BOXES = 20
_SECOND_TOUR = Tour(steps=1000, cells=1e8, seed=2)


@final
@dataclass(frozen=True)
class Question:
    """What is asked of an opened model.

    `reached` asks the user's own model whether encoded rows reach the goal. It is asked about rows that
    are so close to a tie that rounding decides; without it they stay unclear, and no proof goes beyond
    them. `deadline` is a moment of `time.monotonic` to end at with what is known by then. `most_changes`
    limits how many columns may change; of trees only, and only where no linear row ties columns to each
    other: elsewhere it is ignored, and bounds hold for any number of changes.
    """

    goal: Goal
    region: Region
    metric: Metric
    reached: Reached | None = None
    deadline: float = math.inf
    most_changes: int | None = None

    def distance(self, row: Vector | None) -> float:
        """Return how far a row is from the query; no row is infinitely far."""
        return math.inf if row is None else float(self.metric.distance(row[None, :], self.region.x)[0])


@final
@dataclass(frozen=True)
class Exact:
    """What is known of the nearest row.

    Attributes
    ----------
    row
        The nearest feasible row found that reaches the goal, encoded and legal; None where none was found.
    lower_bound
        No feasible row that reaches the goal is nearer than this; infinite where none exists.
    proved
        Whether that settles the matter: the row is the nearest (within a millionth), or there is none.
    """

    row: Vector | None
    lower_bound: float
    proved: bool


def nearest_exact(
    opened: Opened, question: Question, *, known: Vector | None = None, work: int = 20_000
) -> Exact:
    """Return the nearest feasible row that reaches the goal, with a bound, or raise `CannotTell`.

    Parameters
    ----------
    opened
        A model from `open_model`.
    question
        What to reach, where, and what nearest means.
    known
        A feasible row that reaches the goal; nothing farther is looked at, and it is the answer if
        nothing is nearer.
    work
        How many boxes are looked at before the search ends with what it knows.
    """

    def one_way(way: Way, best: float, share: int) -> Exact:
        if isinstance(opened, Additive):
            return _nearest_linear(opened, way, question, best, share)
        near = _surroundings(opened, way, question)
        row = None
        if near.free_columns > _FEW_COLUMNS:
            tour = Tour(steps=min(Tour.steps, _STEPS_PER_COLUMN * near.free_columns))
            row = _near_row(near, question, known, tour)
        return _by_boxes(near, question, row, best, share)

    return _best_way(opened, question, known, work, one_way)


def nearest_quickly(
    opened: Trees, question: Question, *, known: Vector | None = None, share: float = 1.0
) -> Exact:
    """Return what little work shows of the nearest row: mostly the row and its proof, else a near row.

    The work is counted in steps, boxes and leaves, so that the answer is the same on every machine. `share`
    is the part of it that may be done, of which each way to the goal gets an equal part.
    """
    of_way = share / len(ways_to(question.goal, opened.scoring))

    def one_way(way: Way, best: float, boxes: int) -> Exact:
        near = _surroundings(opened, way, question)
        row = None
        if near.free_columns > _FEW_COLUMNS:
            row = _near_row(near, question, known, _FIRST_TOUR.part(of_way))
        exact = _by_boxes(near, question, row, best, boxes, of_way * _QUICK_CELLS, _PACE)
        nearest = min(best, question.distance(exact.row))
        if exact.lower_bound >= nearest * (1 - _PROVED):
            return exact
        start = known if exact.row is None else exact.row
        within = near.cost_of(question.distance(exact.row))
        again = _near_row(near, question, start, _SECOND_TOUR.part(of_way), within)
        return exact if question.distance(again) >= nearest else replace(exact, row=again)

    return _best_way(opened, question, known, round(share * _QUICK_BOXES), one_way)


def nearest_by_search(opened: Trees, question: Question, *, known: Vector | None = None) -> Vector | None:
    """Return a near feasible row that reaches the goal, found on the opened trees alone and without a bound.

    Made for many free columns, where it comes within about a percent of the nearest row in a
    fraction of a second. None where nothing nearer than `known` was found and `known` is None.
    """

    def one_way(way: Way, best: float, _: int) -> Exact:
        row = _near_row(_surroundings(opened, way, question), question, known, Tour())
        return Exact(row if question.distance(row) < best else None, 0.0, proved=False)

    return _best_way(opened, question, known, 0, one_way).row


def nearest_by_cpsat(opened: Trees, question: Question, *, known: Vector | None = None) -> Exact:
    """Return the nearest row of trees with many free columns, by OR-tools' CP-SAT.

    Needs the extra ``ssba[exact]``. Gives the same kind of result as `nearest_exact`; `CannotTell` also
    where the region has linear rows.
    """
    if question.region.linear is not None:
        raise CannotTell("CP-SAT is not asked where constraints tie columns to each other")

    def one_way(way: Way, best: float, _: int) -> Exact:
        near = _surroundings(opened, way, question)
        row = _near_row(near, question, known, Tour())
        cost = near.cost_of(min(best, question.distance(row)))
        found = cheapest_choice(near.cells(cost), row, cost, question.deadline)
        return _exact(near, found, row if question.distance(row) < best else None)

    return _best_way(opened, question, known, 0, one_way)


def _best_way(
    opened: Opened,
    question: Question,
    known: Vector | None,
    work: int,
    one_way: Callable[[Way, float, int], Exact],
) -> Exact:
    """Answer each way to the goal in turn, each knowing the best row of those before it."""
    ways = ways_to(question.goal, opened.scoring)
    row, bound = known, math.inf
    for way in ways:
        found = one_way(way, question.distance(row), max(1, work // len(ways)))
        bound = min(bound, found.lower_bound)
        # A later way may know a row of its own that is farther than that of an earlier one.
        if question.distance(found.row) < question.distance(row):
            row = found.row
    distance = question.distance(row)
    bound = min(bound, distance)
    return Exact(row, bound, proved=math.isinf(bound) if row is None else bound >= distance * (1 - _PROVED))


def _nearest_linear(opened: Additive, way: Way, question: Question, best: float, work: int) -> Exact:
    """Solve twice where the region reaches so far beyond the data that rounding out there would blur it all.

    The first time tells about how far the nearest row is. No farther ones matter the second time, nor how
    their sums are rounded; what that shows goes no farther, either.
    """
    if np.isnan(question.region.x).any():
        raise CannotTell("the query has a missing cell")
    away = _farthest(opened, question, best)
    near = _slack(opened, way, np.minimum(away, 2 * opened.reach))
    slack = _slack(opened, way, away)
    if slack <= _BLURRED * near:
        return _solved(question, demands_of(opened, way, slack), best, work)
    first = _solved(question, demands_of(opened, way, near), best, work)
    radius = min(best, question.distance(first.row) * (1 + _PROVED))
    if math.isinf(radius):
        # Nothing was found near the data. What is farther out than that was not looked at closely enough.
        return Exact(None, min(first.lower_bound, _trusted(opened, question, away)), proved=False)
    slack = _slack(opened, way, _farthest(opened, question, radius))
    if not math.isfinite(slack):
        return Exact(first.row, 0.0, proved=False)
    second = _solved(question, demands_of(opened, way, slack), best, work)
    row = first.row if second.row is None else second.row
    return Exact(row, min(radius, second.lower_bound), proved=False)


def _farthest(opened: Additive, question: Question, radius: float) -> Vector:
    """Return how far from the opened model's base cells can be in rows nearer to the query than `radius`."""
    region, metric = question.region, question.metric
    room = radius * metric.scale / metric.weight
    ends = [np.where(region.held, region.x, end) for end in (region.lower, region.upper)]
    ends = [np.clip(end, region.x - room, region.x + room) for end in (*ends, region.x)]
    return np.asarray(np.abs(np.stack(ends) - opened.base).max(axis=0))


def _trusted(opened: Additive, question: Question, away: Vector) -> float:
    """Return how near to the query rows have cells that lie more than twice as far out as those read."""
    region, metric = question.region, question.metric
    room = (2 * opened.reach - np.abs(region.x - opened.base)) * metric.weight / metric.scale
    return max(0.0, float(room[away > 2 * opened.reach].min(initial=math.inf)))


def _slack(opened: Additive, way: Way, away: Vector) -> float:
    rounding = float(opened.rounding(away[None, :])[0])
    return max((rounding * float(np.abs(one.weight).sum()) + one.vague for one in way), default=0.0)


def _solved(question: Question, demands: Demands, best: float, work: int) -> Exact:
    metric = question.metric
    result = nearest_row(
        demands,
        question.region,
        question.metric,
        float(metric.cost(best)),
        Work(max(1, work // _BOXES_PER_RELAXATION), question.deadline),
        question.reached,
    )
    return Exact(result.row, float(metric.length(result.bound)), proved=False)


def demands_of(opened: Additive, way: Way, slack: float) -> Demands:
    """Return the conditions of a way as sums over columns."""
    weight = np.stack([one.weight for one in way]) if way else np.zeros((0, opened.scoring.columns))
    return Demands(
        weight=weight @ opened.weight,
        tables={j: weight @ table for j, table in opened.tables.items()},
        offset=weight @ opened.offset + np.array([one.offset for one in way]),
        slack=slack,
    )


def _surroundings(opened: Trees, way: Way, question: Question) -> Surroundings:
    """Place a query, with its limit on changes where no linear row moves values about."""
    most = question.most_changes if question.region.linear is None else None
    return surroundings_of(opened, way, question.region, question.metric, most)


def _by_boxes(
    near: Surroundings,
    question: Question,
    row: Vector | None,
    best: float,
    boxes: int,
    size: float = math.inf,
    pace: float = 0.0,
) -> Exact:
    """Look for a row nearer than `row` and `best` in boxes, of which all together look at so many cells."""
    if math.isinf(near.least_cost):
        return Exact(row, math.inf, proved=False)
    cost = near.cost_of(min(best, question.distance(row)))
    affordable = int(min(boxes, size // max(1, near.size(cost))))
    if affordable < boxes // _FEWEST_BOXES:
        return Exact(row, near.distance(near.least_cost), proved=False)
    cells = near.cells(cost)
    search = Search(cells, question.metric, question.reached, question.deadline)
    return _exact(near, search.run(cost, affordable, pace), row)


def _near_row(
    near: Surroundings, question: Question, known: Vector | None, tour: Tour, within: float = math.inf
) -> Vector | None:
    """Return a near row by local search, which knows nothing of linear rows: only if it meets them."""
    starts = np.empty((0, len(question.region.x))) if known is None else known[None, :]
    row = near_row(near, starts, replace(tour, deadline=question.deadline), within)
    return row if row is not None and question.region.contains(row[None, :])[0] else None


def _exact(near: Surroundings, found: Found, row: Vector | None) -> Exact:
    bound = near.distance(max(found.bound, near.least_cost))
    return Exact(row if found.row is None else found.row, bound, proved=False)
