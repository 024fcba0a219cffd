"""Where no row reached the target: a last try near the boundary, and the bounded move."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix
from ssba.constraints.regions.compile import compile_regions
from ssba.constraints.regions.region import Region
from ssba.index.encoded_points import EncodedPoints
from ssba.models.model import Output
from ssba.pipeline.asking import predictions, run_searches
from ssba.pipeline.begin import give_starts
from ssba.pipeline.metering import capped
from ssba.pipeline.state import QueryState, States, Vector
from ssba.pipeline.verify import counterfactual, is_feasible, passes, verify
from ssba.search.bounded import Approach, Surroundings, approach, bounded_search, nearest_to_box
from ssba.search.turns import Waiting, in_turns


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
        for to_go, row, output in _checked_moves(state, approaches):
            if not passes(state, row, output):
                state.found.bounded = counterfactual(state, row, output, to_go)
                break
            # The budget ended before the search could ask about it.
            state.spent.ran_out = True


def nearest_moves(states: States) -> None:
    """Take for each query the feasible row nearest to a boundary point, whether it reaches or not."""
    for state, approaches in _approached(states, None):
        for to_go, row, output in itertools.islice(_checked_moves(state, approaches), 1):
            if passes(state, row, output):
                state.found.answers.append(counterfactual(state, row, output))
            else:
                state.found.bounded = counterfactual(state, row, output, to_go)


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
    run_searches(states, searches)
    verify([state for state in states if state.found.has_hits])
    for state, found in zip(states, approaches, strict=True):
        if not state.found.answers:
            yield state, found


def _toward_boundary(state: QueryState, points: _Points, found: list[Approach]) -> Asking[None]:
    """Approach the boundary in all regions, in turns; `found` gets the rows that come near it."""
    around = Surroundings(
        unconstrained=lambda row: compile_regions(state.engine.space, state.engine.metric, row, ())[0],
        pool=state.pool,
        seed=state.engine.seed,
    )
    searches = []
    for archive in state.bounded_archives:
        if state.limits.is_over():
            break
        known = points.nearest_to(archive.region, state.engine.metric)
        found.append(known)
        search = bounded_search(archive, known, around)
        searches.append(Waiting(_noted(capped(state, search, archive, math.inf), found)))
    yield from in_turns(searches)


def _noted(search: Asking[Approach | None], found: list[Approach]) -> Asking[None]:
    nearer = yield from search
    if nearer is not None:
        found.append(nearer)


def _checked_moves(
    state: QueryState, approaches: Sequence[Approach]
) -> Iterator[tuple[float | None, Vector, Output]]:
    """Yield feasible rows, the nearest to a boundary point first, and what the model says about them.

    Without boundary points: the miss with the best score, then the feasible row nearest to the query.
    """
    space = state.engine.space
    offers = [
        (float(distance), row)
        for one in approaches
        for distance, row in zip(one.distances, one.rows, strict=True)
    ]
    offers.sort(key=lambda offer: offer[0])
    misses = [archive.miss for archive in state.bounded_archives if archive.miss is not None]
    rest = [(None, row) for row in (*misses, *(archive.region.start for archive in state.bounded_archives))]
    for to_go, row in (*offers, *rest):
        written = space.encode(space.decode(row[None, :]))[0]
        if is_feasible(state, written):
            state.spent.verified_rows += 1
            yield to_go, written, predictions(state.engine.judging, written[None, :], state.x)[0]
