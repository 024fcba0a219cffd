"""Where no row reached the target: a last try near the boundary, and the bounded move."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssba.columns.distance import Metric
from ssba.columns.space import Matrix
from ssba.constraints.regions.compile import compile_regions
from ssba.constraints.regions.region import Region
from ssba.index.encoded_points import EncodedPoints
from ssba.models.model import Output
from ssba.models.targets import Probability, ValueBetween
from ssba.pipeline.asking import goal_reply, predictions
from ssba.pipeline.begin import give_starts
from ssba.pipeline.driving import run_stages
from ssba.pipeline.few_digits import readable_forms
from ssba.pipeline.metering import asking, capped
from ssba.pipeline.nearest_rows import Hunt
from ssba.pipeline.obstacles import obstacles_of
from ssba.pipeline.state import QueryState, Searching, States, Vector
from ssba.pipeline.verify import counterfactual, is_feasible, passes, verify
from ssba.search.archive import Archive
from ssba.search.bounded import Approach, approach, nearest_to_box
from ssba.search.climb import climb
from ssba.search.pools import Pool

# Rows among which the move is chosen.
_MOST_CHECKED = 32
# A ball around each takes a hundred rows, whatever the budget.
_CHECKED_WITH_BALLS = 3
# Background rows that a climb by score starts from, and what one may spend.
_CLIMBED_FROM, _ROWS_A_CLIMB = 4, 1500
# Alternating projections between region and boundary settle quickly; each round searches once.
_ROUNDS, _ROWS_A_ROUND = 4, 800
# The search goes on from so many of the rows that reached the target after all.
_FOLLOWED = 3
# What scores differ by without meaning anything, as a share of the largest.
_NOTHING = 1e-9


@dataclass(frozen=True)
class _Points:
    """The boundary points that are known: some of the explainer's own, and those of a set."""

    own: Matrix
    stored: EncodedPoints | None

    def nearest_to(self, region: Region, metric: Metric) -> Approach:
        """Return the feasible rows nearest to any of the points."""
        found = [self.own]
        for points in () if self.stored is None else self.stored.loaded():
            found.append(nearest_to_box(region, metric, points))
        return approach(region, metric, np.concatenate(found))


def bounded_moves(states: States, boundary: EncodedPoints | None) -> None:
    """Try the feasible rows nearest to the boundary; one reaches the target, or is the bounded move.

    These rows come after all that the search asked, so that a larger budget asks them, too. The bounded move
    itself is checked whatever the budget. A row that proves to reach only then is passed over: with a larger
    budget the search may end at a farther one, and a larger budget is never worse.
    """
    for state, approaches in _approached(states, boundary):
        moves = []
        most = _MOST_CHECKED if state.options.radius is None else _CHECKED_WITH_BALLS
        for move in itertools.islice(_checked_moves(state, approaches), most):
            if passes(state, move.row, move.output):
                # The budget ended before the search could ask about it.
                state.spent.ran_out = True
                continue
            moves.append(move)
            if move.margin is None:
                break
        best = _best_move(state, moves)
        if best is not None:
            state.found.bounded = counterfactual(state, best.row, best.output, best.to_go)
            state.found.obstacles = obstacles_of(state, best.row, best.point)


def _best_move(state: QueryState, moves: Sequence["_Move"]) -> "_Move | None":
    """Return the move to propose: by score where the target asks for so much of it, else the nearest.

    A move that is not better than the query is none: then it is the query itself, where that is feasible.
    """
    if not moves or moves[0].margin is None:
        return next(iter(moves), None)
    points = [one.point for one in moves if one.point is not None]
    own = _moved(state, state.x, _measured(state, state.x, np.stack(points) if points else None))
    better = [one for one in moves if one.gain(own) > _NOTHING * state.engine.judging.score_size]
    if not better and is_feasible(state, state.x):
        return own
    by_score = isinstance(state.query.goal, Probability | ValueBetween)
    return min(better or moves, key=lambda one: one.rank(by_score=by_score))


def nearest_moves(states: States) -> None:
    """Take for each query the feasible row nearest to a boundary point, whether it reaches or not."""
    for state, approaches in _approached(states, None):
        for move in itertools.islice(_checked_moves(state, approaches), 1):
            if passes(state, move.row, move.output):
                state.found.answers.append(counterfactual(state, move.row, move.output))
            else:
                state.found.bounded = counterfactual(state, move.row, move.output, move.to_go)


def _approached(
    states: States, boundary: EncodedPoints | None
) -> Iterator[tuple[QueryState, list[Approach]]]:
    """Approach the boundary for all queries; yield those whose approach found no answer on its way."""
    if not states:
        return
    give_starts(states, boundary)
    limits, background = states[0].limits, states[0].engine.background
    approaches: list[list[Approach]] = [[] for _ in states]
    searches = []
    for state, found in zip(states, approaches, strict=True):
        goal, is_over = state.query.goal, limits.is_over
        own = background.rows[:0] if is_over() else background.own_boundary(goal, is_over)
        searches.append(_toward_boundary(state, _Points(own, boundary), found))
    run_stages(states, searches)
    verify([state for state in states if state.found.has_hits])
    for state, found in zip(states, approaches, strict=True):
        if not state.found.answers:
            yield state, found


def _toward_boundary(state: QueryState, points: _Points, found: list[Approach]) -> Searching[None]:
    """Approach the boundary in all regions; `found` gets the rows that come near it."""
    archives = state.bounded_archives
    for archive in archives:
        if state.limits.is_over():
            break
        known = points.nearest_to(archive.region, state.engine.metric)
        found.append(known)
        found.append((yield from _approach(state, archive, known)))
    for archive in archives:
        yield from _climb(state, archive)


def _approach(state: QueryState, archive: Archive, known: Approach) -> Searching[Approach]:
    """Find the feasible row nearest to the boundary.

    First the feasible rows nearest to known boundary points are asked about: one may reach the target
    after all. Otherwise both the best of them and the feasible row with the best score are brought
    nearer to the boundary; where they end equally near, the better score wins.
    """
    yield from _last_resort(state, archive, known.rows)
    best = yield from _nearer(state, archive, known)
    if archive.miss is not None and not state.found.has_hits and len(known.rows):
        row = archive.miss[None, :]
        far = archive.metric.distance(row, known.points[:1])
        scored = yield from _nearer(state, archive, Approach(row, known.points[:1], far))
        if scored.distances[0] <= best.distances[0] * (1 + 1e-9):
            best = scored
    return best


def _last_resort(state: QueryState, archive: Archive, rows: Matrix) -> Searching[None]:
    """Ask about feasible rows near known boundary points, and go on from those that reach the target."""
    yield from capped(state, asking(rows), archive, math.inf)
    if archive.has_found:
        yield Hunt(((archive.region, Pool(archive.nearest(_FOLLOWED))),))


def _nearer(state: QueryState, archive: Archive, best: Approach) -> Searching[Approach]:
    """Find the boundary point nearest to the row, the feasible row nearest to that point, and so on."""
    for _ in range(_ROUNDS):
        if state.found.has_hits or not len(best.rows) or not state.may_go_on:
            break
        point = yield from _boundary_near(state, best)
        if point is None:
            break
        nearer = approach(archive.region, archive.metric, point)
        far = archive.metric.distance(best.rows[:1], point)
        best = best if far[0] >= best.distances[0] else Approach(best.rows[:1], point, far)
        if not len(nearer.rows) or nearer.distances[0] >= best.distances[0] * (1 - 1e-3):
            break
        yield from _last_resort(state, archive, nearer.rows)
        best = nearer
    return best


def _boundary_near(state: QueryState, best: Approach) -> Searching[Matrix | None]:
    """Return the boundary point nearest to the best row, whatever the constraints, as an array of one row."""
    anywhere = compile_regions(state.engine.space, state.engine.metric, best.rows[0], ())[0]
    pool = state.pool.with_guesses(best.points[:1])
    (around,) = yield Hunt(((anywhere, pool),), _ROWS_A_ROUND, freely=True, apart=True)
    return np.asarray(around.nearest(1)) if around.has_found else None


def _climb(state: QueryState, archive: Archive) -> Searching[None]:
    """Climb by score, from the query, from the best miss and from background rows with good scores."""
    if not state.engine.judging.gives_margins:
        return
    best = state.engine.background.best_scored(state.query.goal, _CLIMBED_FROM)
    pulled, fine = archive.region.pull_in(best)
    missed = [] if archive.miss is None else [archive.miss]
    for start in (archive.region.start, *missed, *pulled[fine]):
        if state.found.has_hits or not state.may_go_on:
            return
        row = yield from capped(state, climb(archive.region, start), archive, _ROWS_A_CLIMB)
        if row is not None:
            state.found.climbed.append(row)


@dataclass(frozen=True)
class _Offer:
    """A feasible row that may be the move, what it leaves to the nearest boundary point, and that point."""

    row: Vector
    to_go: float | None = None
    point: Vector | None = None


@dataclass(frozen=True)
class _Move:
    """A feasible row as written, what the model says about it, and by how much it misses the goal."""

    row: Vector
    output: Output
    margin: float | None
    distance: float
    to_go: float | None
    point: Vector | None

    def gain(self, other: "_Move") -> float:
        """Return by how much the score is better than that of another row."""
        assert self.margin is not None
        assert other.margin is not None
        return self.margin - other.margin

    def rank(self, *, by_score: bool) -> tuple[float, float, float]:
        """Return what orders moves, the best first; of equal ones the nearest to the query."""
        assert self.margin is not None
        to_go = math.inf if self.to_go is None else float(f"{self.to_go:.9g}")
        return (-self.margin, to_go, self.distance) if by_score else (to_go, -self.margin, self.distance)


def _checked_moves(state: QueryState, approaches: Sequence[Approach]) -> Iterator[_Move]:
    """Yield feasible rows as written, with what the model says: the nearest to a boundary point first."""
    for offer in _offers(state, approaches):
        written = _written(state, offer.row)
        if written is not None:
            yield _moved(state, written, offer)


def _moved(state: QueryState, row: Vector, offer: _Offer) -> _Move:
    state.spent.verified_rows += 1
    output = predictions(state.engine.judging, row[None, :], state.x)[0]
    margins = goal_reply(state, output).margin
    margin = None if margins is None else float(margins[0])
    metric, point = state.engine.metric, offer.point
    to_go = None if point is None else float(metric.distance(row[None, :], point)[0])
    return _Move(row, output, margin, float(state.distance(row[None, :])[0]), to_go, point)


def _offers(state: QueryState, approaches: Sequence[Approach]) -> list[_Offer]:
    """Return rows to choose the move from: near boundary points, climbed to, missed by least, the start."""
    near = [
        _Offer(row, float(distance), point)
        for one in approaches
        for distance, row, point in zip(one.distances, one.rows, one.points, strict=True)
    ]
    near.sort(key=lambda offer: offer.to_go or 0.0)
    misses = [archive.miss for archive in state.bounded_archives if archive.miss is not None]
    starts = [archive.region.start for archive in state.bounded_archives]
    points = np.concatenate([one.points for one in approaches]) if near else None
    scored = [_measured(state, row, points) for row in (*state.found.climbed, *misses)]
    return [*near[:1], *scored, *near[1:], *(_measured(state, row, points) for row in starts)]


def _measured(state: QueryState, row: Vector, points: Matrix | None) -> _Offer:
    """Return a row with the boundary point nearest to it, of those known."""
    if points is None:
        return _Offer(row)
    distances = state.engine.metric.distance(points, row)
    nearest = int(np.argmin(distances))
    return _Offer(row, float(distances[nearest]), points[nearest])


def _written(state: QueryState, row: Vector) -> Vector | None:
    """Return a row as it will be written, in few digits where such a row is feasible; None if none is."""
    space = state.engine.space
    for written in space.encode(space.decode(readable_forms(state, row))):
        if is_feasible(state, written):
            return np.asarray(written)
    return None
