"""Evidence that no nearer row reaches the target: all legal rows asked where few, else some drawn."""

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from ssba.boundary.bisection import Answer, Asking
from ssba.columns.space import Matrix
from ssba.pipeline.max_changes import part_of
from ssba.pipeline.metering import asking, capped
from ssba.pipeline.shells import MAX_ENUMERATED
from ssba.pipeline.solve_exactly import TIME_IS_UP, is_contradicted, is_optimal
from ssba.pipeline.state import QueryState
from ssba.results.explanation import Evidence, Status
from ssba.search.archive import Archive
from ssba.search.evidence import draw_nearer, share_bound
from ssba.search.exhaust import ask_all, legal_rows_within
from ssba.search.refine import nearest_search
from ssba.search.starts import Pool

# What the search may spend that goes on from a drawn row which reached the target.
_ROWS_FROM_A_DRAW = 600
_SALT = 59
# Rows are drawn so many at a time.
_BLOCK = 256
# The number of a draw while the search runs; those after it are 0 and 1.
_DURING = 2


def gather_evidence(state: QueryState) -> Asking[None]:
    """Ask about every nearer legal row where these are few and the budget allows it; else draw some.

    Rows are drawn once the search has come to its end. A draw that reaches the target is a better answer:
    the search goes on from there, and rows are drawn once more.
    """
    if not state.options.evidence or state.found.exhausted:
        return
    if state.options.radius is None:
        yield from ask_all_nearer(state)
    for attempt in range(2):
        if state.found.exhausted or state.was_stopped or not state.found.has_hits:
            return
        before = state.found.best_distance
        yield from _draw(state, attempt)
        if state.found.best_distance >= before:
            return
        yield from _go_on(state, before)


def ask_all_nearer(state: QueryState) -> Asking[None]:
    """Ask about every nearer legal row where these are few and the budget allows for all of them.

    What is known then is exact, so that no other budget can have a better answer.
    """
    if state.options.evidence and not state.found.exhausted and not state.was_stopped:
        rows = _all_nearer(state)
        if rows is not None:
            yield from _exhaust(state, rows)


def with_draws(state: QueryState, search: Asking[Answer]) -> Asking[Answer]:
    """Run a search, and draw rows whenever it has asked twice as many as the last time.

    So a search that the budget stops has some evidence, too: of rows drawn evenly, those nearer than an
    answer found later are drawn evenly from what is nearer than that. When rows are drawn does not
    depend on the budget, so that a larger one still only adds to what is asked.
    """
    try:
        asked = next(search)
        while True:
            if state.options.evidence and state.rows_asked >= state.spent.next_draw and state.found.has_hits:
                state.spent.next_draw *= 2
                yield from _draw(state, _DURING)
            asked = search.send((yield asked))
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        search.close()


def evidence_of(state: QueryState) -> Evidence:
    """Put together what was shown about rows nearer than the nearest row that reached the target."""
    radius = state.found.best_distance
    drawn = int((state.found.drawn < radius).sum())
    exhausted = state.found.exhausted and _is_at(state, radius) and state.query.has_all_regions
    proof = _proof(state) or ("exhausted" if exhausted else None)
    return Evidence(
        nearer_than=None if math.isinf(radius) else radius,
        asked_nearer=int(sum((one < radius).sum() for one in state.found.missed)),
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
    if not options.prove or settled or is_contradicted(state):
        return None
    if found.unproved is not None:
        return found.unproved
    if found.lower_bound is None:
        return TIME_IS_UP if state.limits.is_over() else "no row was found that meets the constraints"
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


def _all_nearer(state: QueryState) -> list[Matrix] | None:
    """Return, region by region, all legal rows nearer than the best answer; None if not few enough."""
    left = int(min(MAX_ENUMERATED, state.limits.rows - state.rows_asked))
    found = []
    for archive in state.region_archives:
        rows = legal_rows_within(
            archive.region, state.engine.metric, state.found.best_distance, left, state.options.max_changes
        )
        if rows is None or state.limits.is_over():
            return None
        found.append(rows)
        left -= len(rows)
    return found


def _exhaust(state: QueryState, rows: list[Matrix]) -> Asking[None]:
    for archive, own in zip(state.region_archives, rows, strict=True):
        search = ask_all(own, state.distance(own), lambda: state.found.best_distance)
        yield from capped(state, search, archive, math.inf)
    state.found.exhausted = not state.was_stopped


def _draw(state: QueryState, attempt: int) -> Asking[None]:
    """Ask about rows drawn from all regions in equal parts, and note how far from the query they lie.

    What is drawn does not depend on the budget, which only cuts it off. What is left then is less, but
    drawn evenly all the same where there is one region; else earlier draws stay.
    """
    before, distances, shares = state.found.best_distance, [np.empty(0)], list(_shares(state))
    for number, (archive, count) in enumerate(shares):
        for block in range(0, count, _BLOCK):
            rng = np.random.default_rng(
                [state.engine.seed, _SALT, attempt, state.spent.next_draw, number, block]
            )
            rows = _drawn(state, archive, (min(_BLOCK, count - block), rng))
            yield from capped(state, asking(rows), archive, math.inf)
            if state.was_stopped:
                break
            distances.append(state.distance(rows))
    drawn = np.concatenate(distances)
    if state.found.best_distance < before:
        state.found.drawn = np.empty(0)
    elif not state.was_stopped or (len(shares) == 1 and len(drawn) > len(state.found.drawn)):
        state.found.drawn = drawn


def _drawn(state: QueryState, archive: Archive, draws: tuple[int, np.random.Generator]) -> Matrix:
    """Draw rows of a region; under a limit on changes each from a random set of so many columns."""
    most, region = state.options.max_changes, archive.region
    (count, rng), free = draws, np.flatnonzero(region.free)
    if most is None or most >= len(free):
        return np.asarray(draw_nearer(region, state.engine.metric, state.found.best_distance, count, rng))
    rows = [np.empty((0, len(state.x)))]
    for _ in range(count):
        if state.limits.is_over():
            break
        part = part_of(region, tuple(rng.choice(free, most, replace=False)), state.engine.metric)
        if part is not None:
            rows.append(draw_nearer(part, state.engine.metric, state.found.best_distance, 1, rng))
    return np.concatenate(rows)


def _shares(state: QueryState) -> Iterator[tuple[Archive, int]]:
    """Split the draws evenly over the regions that begin nearer than the best answer."""
    count = state.options.evidence
    nearer = [archive for archive in state.region_archives if state.found.begins_nearer(archive.region)]
    for number, archive in enumerate(nearer):
        share = count // len(nearer) + (number < count % len(nearer))
        if share:
            yield archive, share


def _go_on(state: QueryState, before: float) -> Asking[None]:
    """Search on from the drawn rows that reached the target, in the region of the nearest."""
    nearest = min(state.region_archives, key=lambda archive: archive.best_distance)
    found = nearest.nearest(16)
    better = found[state.distance(found) < before]
    archive = Archive(nearest.region, state.engine.metric)
    state.found.archives.append(archive)
    yield from capped(
        state, nearest_search(archive, Pool(better), state.engine.seed), archive, _ROWS_FROM_A_DRAW
    )
