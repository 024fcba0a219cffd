"""Evidence that no nearer row reaches the target: all legal rows asked where few, else some drawn.

Where all legal rows are few they are asked about before any search, from the query outward: the first to
reach is the nearest there is.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np

from ssba.arrays import choose
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.pipeline.max_changes import part_of
from ssba.pipeline.nearest_rows import Hunt, hand_over, hunt, ledger_of, run_where_rows_lie
from ssba.pipeline.plain_search import ATTEMPTS, BLOCK, ROWS_FROM_A_DRAW, draws_of
from ssba.pipeline.solve_exactly import is_contradicted, is_optimal, time_is_up
from ssba.pipeline.state import QueryState, States, Vector
from ssba.results.explanation import Evidence, Status
from ssba.search.archive import Archive
from ssba.search.evidence import draw_nearer, draw_rows, share_bound
from ssba.search.exhaust import MAX_ENUMERATED, Extent, ask_outward, extent_of, legal_rows_within
from ssba.search.lanes import Draws
from ssba.search.ledger import Ledger
from ssba.search.regions import Numbers, Regions
from ssba.search.starts import Pool

# Rows come in shells: the first has so many of the coarsest steps, each other is so many times as wide.
_FIRST, _WIDER = 4.0, 1.5
# Rows on an equality count as one where their distances agree in so many decimals.
_SAME = 6

Listed: TypeAlias = tuple[int, Archive, Matrix]
"""The number of a query, one of its archives, and rows of the region of this, nearest first."""


def search_in_shells(states: States) -> list[QueryState]:
    """Ask about ever more distant legal rows of each query until one reaches; return where that can be.

    It can where evidence is asked for, and the budget allows for all rows.
    """
    going = {
        number: shells for number, state in enumerate(states) if (shells := _shells_of(state)) is not None
    }
    done = list[QueryState]()
    while going:
        listed, outer = list[Listed](), dict[int, float]()
        for number in list(going):
            inner, outer[number] = next(going[number], (math.inf, 0.0))
            rows = _rows_of(states[number], outer[number], MAX_ENUMERATED)
            if rows is None:
                # Rounding decides whether some row is feasible: the search goes another way.
                del going[number]
                continue
            listed += [(number, archive, one[states[number].distance(one) >= inner]) for archive, one in rows]
        left = _ask_listed(states, listed)
        for number in list(going):
            found = states[number].found
            if not outer[number] or found.best_distance <= outer[number] or number in left:
                found.exhausted = number not in left
                done.append(states[number])
                del going[number]
    return done


def _shells_of(state: QueryState) -> Iterator[tuple[float, float]] | None:
    """Return between what distances to ask about all rows in turn; None where that cannot be done."""
    options, regions = state.options, state.query.regions
    if (
        not options.evidence
        or options.wants_few
        or options.radius is not None
        or not state.query.is_countable
    ):
        return None
    extents = [extent_of(region, state.engine.metric, MAX_ENUMERATED) for region in regions]
    known = [extent for extent in extents if extent is not None]
    allowed = min(MAX_ENUMERATED, state.limits.rows - state.rows_asked)
    if len(known) < len(extents) or sum(extent.rows for extent in known) > allowed:
        return None
    return _shells(known)


def _shells(extents: Sequence[Extent]) -> Iterator[tuple[float, float]]:
    inner, outer = 0.0, _FIRST * max(extent.step for extent in extents) or 1.0
    while inner <= max(extent.farthest for extent in extents):
        yield inner, outer
        inner, outer = outer, _WIDER * outer


def _rows_of(state: QueryState, radius: float, most: int) -> list[tuple[Archive, Matrix]] | None:
    """List all legal rows within a radius that are still to be asked about, by region; None if too many."""
    listed = list[tuple[Archive, Matrix]]()
    for archive in state.region_archives:
        if archive.exhausted < radius:
            limit = state.options.max_changes
            rows = legal_rows_within(archive.region, state.engine.metric, radius, most, limit)
            if rows is None or state.limits.is_over():
                return None
            listed.append((archive, rows))
            most -= len(rows)
    return listed


def _ask_listed(states: States, listed: Sequence[Listed]) -> set[int]:
    """Ask about rows of regions of some queries, from these outward, until one reaches.

    Returned are the queries of which rows are left: their budget, the time or the few calls allowed ended it.
    """
    if not listed:
        return set()
    ledger = ledger_of(states, [(number, archive.region) for number, archive, _ in listed])
    ledger.best[:] = [states[number].found.best_distance for number, _, _ in listed]
    ask_outward(ledger, {place: rows for place, (_, _, rows) in enumerate(listed)})
    hand_over(states, [archive for _, archive, _ in listed], ledger)
    return set(np.flatnonzero(~ledger.is_open).tolist())


def gather_evidence(states: States) -> None:
    """Ask about every nearer legal row where these are few and the budget allows it; else draw some.

    Rows are drawn once the search has come to its end. A draw that reaches the target is a better answer:
    the search goes on from there, and rows are drawn once more.
    """
    wanting = [
        state
        for state in states
        if state.options.evidence and not state.found.exhausted and not state.has_enough
    ]
    countable = [state for state in wanting if state.options.radius is None and state.query.is_countable]
    ask_all_nearer(countable)
    for attempt in range(ATTEMPTS):
        wanting = [
            state
            for state in wanting
            if not state.found.exhausted and not state.was_stopped and state.found.has_hits
        ]
        before = [state.found.best_distance for state in wanting]
        draw(wanting, attempt)
        improved = [
            (state, far)
            for state, far in zip(wanting, before, strict=True)
            if state.found.best_distance < far
        ]
        if not improved:
            return
        wanting = [state for state, _ in improved]
        hunt([(state, _hunt_from(state, far)) for state, far in improved])


def _hunt_from(state: QueryState, before: float) -> Hunt:
    """Search on in the region of the nearest row, from its rows that reached nearer than before."""
    nearest = min(state.region_archives, key=lambda archive: archive.best_distance)
    found = nearest.nearest(16)
    pool = Pool(found[state.distance(found) < before])
    return Hunt(((nearest.region, pool),), ROWS_FROM_A_DRAW, goes_on=True)


def ask_all_nearer(states: States) -> None:
    """Ask about every nearer legal row of a query where these are few and the budget allows for all of them.

    What is known then is exact, so that no other budget can have a better answer.
    """
    known, listed = set[int](), list[Listed]()
    for number, state in enumerate(states):
        if state.options.evidence and not state.found.exhausted and not state.was_stopped:
            most = int(min(MAX_ENUMERATED, state.limits.rows - state.rows_asked))
            rows = _rows_of(state, state.found.best_distance, most)
            if rows is not None:
                known.add(number)
                listed += [(number, *one) for one in rows]
    for number in known - _ask_listed(states, listed):
        states[number].found.exhausted = not states[number].was_stopped


def misses_few_rows(state: QueryState) -> bool:
    """Tell whether all legal rows are so few that a larger budget would have had every one of them asked."""
    asks_all = state.options.evidence and state.options.radius is None
    if not asks_all or state.found.exhausted or not state.query.is_countable:
        return False
    left = MAX_ENUMERATED
    for archive in state.region_archives:
        rows = legal_rows_within(
            archive.region, state.engine.metric, math.inf, left, state.options.max_changes
        )
        if rows is None:
            return False
        left -= len(rows)
    return True


def evidence_of(state: QueryState) -> Evidence:
    """Put together what was shown about rows nearer than the nearest row that reached the target."""
    radius = state.found.best_distance
    drawn = int(np.count_nonzero(state.found.drawn < radius))
    exhausted = state.found.exhausted and _is_at(state, radius) and state.query.has_all_regions
    proof = _proof(state) or ("exhausted" if exhausted else None)
    return Evidence(
        nearer_than=None if math.isinf(radius) else radius,
        asked_nearer=sum(
            int(np.count_nonzero(one < radius)) for archive in state.found.archives for one in archive.missed
        ),
        drawn=drawn,
        share=share_bound(drawn),
        lower_bound=_finite_bound(state),
        proof=proof,
        reading_contradicted=is_contradicted(state),
        column_searches=state.found.column_searches,
        column_searches_left=state.found.column_searches_left,
        unproved=None if proof else _unproved(state),
    )


def _unproved(state: QueryState) -> str | None:
    """Say why there is no proof where one was asked for; None where there was nothing to prove."""
    options, found = state.options, state.found
    settled = found.status in (Status.INFEASIBLE, Status.ALREADY_THERE)
    if options.prove is not True or settled or is_contradicted(state):
        return None
    if found.unproved is not None:
        return found.unproved
    if found.lower_bound is None:
        return time_is_up(state) or "no row was found that meets the constraints"
    asked = [*options.limits, *([f"sparsity={options.sparsity!r}"] if options.sparsity != "none" else [])]
    if asked:
        return f"the bound is that of the nearest row, and {' and '.join(asked)} asks for another one"
    return "the answer is farther than the bound"


def _finite_bound(state: QueryState) -> float | None:
    """Return the proved bound; None where there is none, or nothing can reach, or a row disproved it."""
    bound = state.found.lower_bound
    return None if bound is None or math.isinf(bound) or is_contradicted(state) else bound


def _proof(state: QueryState) -> Literal["optimal", "unreachable"] | None:
    if state.found.lower_bound is None or is_contradicted(state):
        return None
    if state.found.answers:
        return "optimal" if is_optimal(state, state.found.answers[0].distance) else None
    return "unreachable" if math.isinf(state.found.lower_bound) else None


def _is_at(state: QueryState, radius: float) -> bool:
    """Tell whether the best answer is the nearest row found; where none was found there is no answer."""
    return (
        state.found.answers[0].distance <= radius * (1 + 1e-9) if state.found.answers else math.isinf(radius)
    )


def draw(states: States, attempt: int) -> None:
    """Ask about rows drawn from all regions in equal parts, and note how far from the query they lie.

    What is drawn does not depend on the budget, which only cuts it off. What is left then is less, but
    drawn evenly all the same where there is one region; else earlier draws stay.
    """
    if not states:
        return
    shares = [list(_shares(state)) for state in states]
    before = [state.found.best_distance for state in states]
    distances: list[list[Vector]] = [[np.empty(0)] for _ in states]
    for block in range(0, max(state.options.evidence for state in states), BLOCK):
        lanes = [
            (number, archive, min(BLOCK, count - block))
            for number, state in enumerate(states)
            for archive, count in shares[number]
            if count > block and not state.was_stopped
        ]
        if lanes:
            _draw_block(states, lanes, (attempt, block), distances)
    for state, far, found, own in zip(states, before, distances, shares, strict=True):
        drawn = np.concatenate(found)
        if any(archive.region.has_equality for archive, _ in own):
            # Rows are pulled onto it, many of them to the same place, so that draws are not even.
            drawn = np.unique(np.round(drawn, _SAME))
        if state.found.best_distance < far:
            state.found.drawn = np.empty(0)
        elif not state.was_stopped or (len(own) == 1 and len(drawn) > len(state.found.drawn)):
            state.found.drawn = drawn


def _draw_block(
    states: States,
    lanes: Sequence[tuple[int, Archive, int]],
    number: tuple[int, int],
    distances: list[list[Vector]],
) -> None:
    """Draw one block of rows for some regions, and ask about them."""
    radius = np.array([states[state].found.best_distance for state, _, _ in lanes])
    count = np.array([most for _, _, most in lanes])
    limited = np.array([_limits_changes(states[state], archive) for state, archive, _ in lanes], dtype=bool)
    draws = draws_of(states[0], *number)

    def draw_and_ask(ledger: Ledger, places: Sequence[int]) -> Numbers:
        mine = np.array(places)
        at, by_columns = np.arange(len(mine)), limited[mine]
        own = at[~by_columns]
        rows, of = draw_rows(ledger, own, radius[mine[own]], count[mine[own]], draws)
        if by_columns.any():
            found, owners = [rows], [of]
            for lane in at[by_columns].tolist():
                state, archive, most = lanes[mine[lane]]
                found.append(_drawn(states[state], archive.region, most, draws))
                owners.append(np.full(len(found[-1]), lane))
            of = np.concatenate(owners)
            order = np.argsort(of, kind="stable")
            rows, of = np.concatenate(found)[order], of[order]
        archives = [lanes[place][1] for place in places]
        # Where a row is known to reach, none of those that miss is of use.
        ledger.best[:] = [archive.best_distance for archive in archives]
        missed = np.flatnonzero(~ledger.ask(rows, of).reached)
        hand_over(states, archives, ledger)
        # A row that is drawn twice counts twice: it is the draws that are even.
        far, owner = ledger.distance(choose(rows, missed), of[missed]), ledger.regions.query[of[missed]]
        begin, end = (np.searchsorted(owner, np.arange(len(states)), side) for side in ("left", "right"))
        for state in np.flatnonzero(ledger.is_open & (ledger.asked > 0)).tolist():
            distances[state].append(far[begin[state] : end[state]])
        return mine[:0]

    run_where_rows_lie(states, [(state, archive.region) for state, archive, _ in lanes], draw_and_ask)


def _limits_changes(state: QueryState, archive: Archive) -> bool:
    most = state.options.max_changes
    return most is not None and most < int(archive.region.free.sum())


def _drawn(state: QueryState, region: Region, count: int, draws: Draws) -> Matrix:
    """Draw rows of a region under a limit on changes: each from a random set of so many columns."""
    most = state.options.max_changes
    rng, free = draws.generator, np.flatnonzero(region.free)
    times = Counter(frozenset(rng.choice(free, most, replace=False).tolist()) for _ in range(count))
    parts, counts = list[Region](), list[int]()
    for columns, wanted in times.items():
        # Where relations hold, finding the start of a part takes time.
        if state.limits.is_over():
            break
        part = part_of(region, columns, state.engine.metric)
        if part is not None:
            parts.append(part)
            counts.append(wanted)
    if not parts:
        return np.empty((0, len(state.x)))
    at, radius = np.arange(len(parts)), np.full(len(parts), state.found.best_distance)
    regions = Regions(tuple(parts), np.zeros(len(parts), dtype=np.int64))
    rows, _ = draw_nearer(regions, state.engine.metric, at, radius, np.array(counts), draws)
    return np.asarray(rows)


def _shares(state: QueryState) -> Iterator[tuple[Archive, int]]:
    """Split the draws evenly over the regions that begin nearer than the best answer."""
    count = state.options.evidence
    nearer = [archive for archive in state.region_archives if state.found.begins_nearer(archive.region)]
    for number, archive in enumerate(nearer):
        share = count // len(nearer) + (number < count % len(nearer))
        if share:
            yield archive, share
