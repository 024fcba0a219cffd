"""Where no row reached the target: a last try near the boundary, and the bounded move."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssba.columns.space import Matrix
from ssba.constraints.regions.compile import compile_regions
from ssba.constraints.regions.region import Region
from ssba.index.encoded_points import EncodedPoints
from ssba.pipeline.asking import asked, capped
from ssba.pipeline.begin import give_starts
from ssba.pipeline.bounded_choice import Move, choice_of, chosen_from
from ssba.pipeline.nearest_rows import Hunt, run_stages
from ssba.pipeline.needless import without_needless
from ssba.pipeline.obstacles import obstacles_of
from ssba.pipeline.state import QueryState, Searching, States
from ssba.pipeline.verify import counterfactual, verify
from ssba.search.archive import Archive
from ssba.search.bounded import Approach, approach, nearest_to_box
from ssba.search.climb import climb
from ssba.search.starts import Pool

# Background rows that a climb by score starts from, and what one may spend.
_CLIMBED_FROM, _ROWS_A_CLIMB = 4, 1500
# Alternating projections between region and boundary settle quickly; each round searches once from each way.
# With half the rows the 30 of 60 patients of the heart data that have no answer end up to 2% farther.
_ROUNDS, _ROWS_A_ROUND = 4, 1600
# Ways that begin near known boundary points: by labels several, as no score tells which of these leads on.
# With one of them the same patients end 3 to 6% farther, for half of the rows.
_WAYS_BY_SCORES, _WAYS_BY_LABELS = 1, 3
# The search goes on from so many of the rows that reached the target after all.
_FOLLOWED = 3


def bounded_moves(states: States, boundary: EncodedPoints | None) -> None:
    """Try the feasible rows nearest to the boundary; one reaches the target, or is the bounded move.

    These rows come after all that the search asked, so that a larger budget asks them, too. The bounded move
    itself is checked whatever the budget. A row that proves to reach only then is the answer, unless the
    budget ended the search: with a larger one it may end at a farther row, and no larger budget is worse.
    """
    choices = [choice_of(state, found) for state, found in _approached(states, boundary)]
    moving = list[tuple[QueryState, Move]]()
    for choice in chosen_from(choices):
        state, best = choice.state, choice.best
        if choice.passed_over and not state.was_stopped:
            # The search ended by itself: no larger budget has another answer.
            answer = min(choice.passed_over, key=lambda move: move.distance)
            state.found.answers.append(counterfactual(state, answer.row, answer.output))
            continue
        if choice.passed_over:
            # The budget ended before the search could ask about it.
            state.spent.ran_out = True
        if best is not None:
            moving.append((state, best))
    going = [state for state, _ in moving]
    for state, best in zip(going, without_needless(going, [best for _, best in moving]), strict=True):
        state.found.bounded = counterfactual(state, best.row, best.output, best.to_go)
        # What is between a boundary point and a row beyond the boundary stops nothing.
        if not best.lacks_room:
            state.found.obstacles = obstacles_of(state, best.row, best.point)


def nearest_moves(states: States) -> None:
    """Take for each query the feasible row nearest to a boundary point, whether it reaches or not."""
    choices = [choice_of(state, found, most=1) for state, found in _approached(states, None)]
    for choice in chosen_from(choices):
        for move in choice.passed_over[:1]:
            choice.state.found.answers.append(counterfactual(choice.state, move.row, move.output))
        for move in choice.moves[:1]:
            choice.state.found.bounded = counterfactual(choice.state, move.row, move.output, move.to_go)


def _approached(
    states: States, boundary: EncodedPoints | None
) -> Iterator[tuple[QueryState, list[Approach]]]:
    """Approach the boundary for all queries; yield those whose approach found no answer on its way.

    Queries with rows that reach the target without enough room are there.
    """
    short_of_room = [state for state in states if state.options.radius is not None and state.found.has_hits]
    yield from ((state, []) for state in short_of_room)
    states = [state for state in states if all(state is not one for one in short_of_room)]
    if not states:
        return
    give_starts(states, boundary)
    limits, background = states[0].limits, states[0].engine.background
    approaches: list[list[Approach]] = [[] for _ in states]
    searches = []
    for state, found in zip(states, approaches, strict=True):
        goal, is_over = state.query.goal, limits.is_over
        own = background.rows[:0] if is_over() else background.own_boundary(goal, is_over)
        searches.append(_toward_boundary(state, own, boundary, found))
    run_stages(states, searches)
    verify([state for state in states if state.found.has_hits])
    for state, found in zip(states, approaches, strict=True):
        if not state.found.answers:
            yield state, found


def _toward_boundary(
    state: QueryState, own: Matrix, stored: EncodedPoints | None, found: list[Approach]
) -> Searching[None]:
    """Approach the boundary in all regions; `found` gets the rows that come near it.

    First the feasible rows nearest to known boundary points, the explainer's own and those of a set, are
    asked about: one may reach the target after all. Otherwise both the best of them and the feasible row
    with the best score, to which one climbs first, are brought nearer to the boundary, in all regions side by
    side.
    """
    archives, ways, metric = state.bounded_archives, list[_Way](), state.engine.metric
    most = _WAYS_BY_SCORES if state.engine.judging.gives_margins else _WAYS_BY_LABELS
    for archive in archives:
        if state.limits.is_over():
            break
        blocks = () if stored is None else stored.loaded()
        near = [nearest_to_box(archive.region, metric, points) for points in blocks]
        known = approach(archive.region, metric, np.concatenate([own, *near]))
        found.append(known)
        yield from _last_resort(state, archive, known.rows)
        yield from _climb(state, archive)
        ways += _ways(archive, known, most)
    yield from _go_nearer(state, ways)
    found += [way.best for way in ways]


@dataclass
class _Way:
    """How near the boundary one comes in a region, from one row on."""

    archive: Archive
    best: Approach
    is_open: bool = True

    def meet(self, point: Matrix) -> Matrix:
        """Take in a boundary point near the best row; return the rows nearest to it that go on from there."""
        region, metric = self.archive.region, self.archive.metric
        nearer, far = approach(region, metric, point), metric.distance(self.best.rows[:1], point)
        if far[0] < self.best.distances[0]:
            self.best = Approach(self.best.rows[:1], point, far)
        self.is_open = bool(len(nearer.rows) and nearer.distances[0] < self.best.distances[0] * (1 - 1e-3))
        if self.is_open:
            self.best = nearer
        return np.asarray(nearer.rows if self.is_open else nearer.rows[:0])


def _ways(archive: Archive, known: Approach, most: int) -> list[_Way]:
    """Return the ways that begin at the best of the known rows, and at the row with the best score."""
    if not len(known.rows):
        return []
    _, first = np.unique(known.rows, axis=0, return_index=True)
    ways = [_Way(archive, known.take([number])) for number in np.sort(first)[:most]]
    if archive.miss is not None and (archive.miss != known.rows[0]).any():
        row, point = archive.miss[None, :], known.points[:1]
        ways.append(_Way(archive, Approach(row, point, archive.metric.distance(row, point))))
    return ways


def _last_resort(state: QueryState, archive: Archive, rows: Matrix) -> Searching[None]:
    """Ask about feasible rows near known boundary points, and go on from those that reach the target."""
    yield from asked(state, rows, archive)
    if archive.has_found:
        yield Hunt(((archive.region, Pool(archive.nearest(_FOLLOWED))),))


def _go_nearer(state: QueryState, ways: Sequence[_Way]) -> Searching[None]:
    """Find the boundary points nearest to the rows, the feasible rows nearest to these points, and so on."""
    for _ in range(_ROUNDS):
        going = [way for way in ways if way.is_open]
        if not going or state.found.has_hits or not state.may_go_on:
            break
        parts = tuple(_around(state, way.best) for way in going)
        archives = yield Hunt(parts, _ROWS_A_ROUND * len(parts), freely=True, apart=True)
        for way, around in zip(going, archives, strict=True):
            way.is_open = around.has_found
            if around.has_found:
                yield from _last_resort(state, way.archive, way.meet(np.asarray(around.nearest(1))))


def _around(state: QueryState, best: Approach) -> tuple[Region, Pool]:
    """Return what to search for the boundary point nearest to the best row, whatever the constraints."""
    anywhere = compile_regions(state.engine.space, state.engine.metric, best.rows[0], ())[0]
    return anywhere, state.pool.with_guesses(best.points[:1])


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
