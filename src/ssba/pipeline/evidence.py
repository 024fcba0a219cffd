"""Evidence that no nearer row reaches the target: all legal rows asked where few, else some drawn."""

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from ssba.boundary.bisection import Answer, Asking
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.pipeline.case import Case, Limits
from ssba.pipeline.few import part_of
from ssba.pipeline.metering import asking, tried
from ssba.pipeline.shells import MOST_EXHAUSTED
from ssba.pipeline.solve_exactly import is_contradicted, is_optimal
from ssba.results.explanation import Evidence
from ssba.search.archive import Archive
from ssba.search.evidence import draw_nearer, share_bound
from ssba.search.exhaust import ask_all, legal_rows_within
from ssba.search.refine import Effort, nearest_search
from ssba.search.starts import Pool

# What the search may spend that goes on from a drawn row which reached the target.
_ROWS_FROM_A_DRAW = 600
_SALT = 59
# Rows are drawn so many at a time.
_BLOCK = 256
# The number of a draw while the search runs; those after it are 0 and 1.
_DURING = 2


def gather_evidence(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Ask about every nearer legal row where these are few and the budget allows it; else draw some.

    Rows are drawn once the search has come to its end. A draw that reaches the target is a better answer:
    the search goes on from there, and rows are drawn once more.
    """
    if not case.request.evidence or case.exhausted:
        return
    if case.request.radius is None:
        yield from ask_all_nearer(engine, case, limits)
    for attempt in range(2):
        if case.exhausted or case.was_stopped or not case.has_hits:
            return
        before = case.best_distance
        yield from _draw(engine, case, limits, attempt)
        if case.best_distance >= before:
            return
        yield from _go_on(engine, case, limits, before)


def ask_all_nearer(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Ask about every nearer legal row where these are few and the budget allows for all of them.

    What is known then is exact, so that no other budget can have a better answer.
    """
    if case.request.evidence and not case.exhausted and not case.was_stopped:
        rows = _all_nearer(engine, case, limits)
        if rows is not None:
            yield from _exhaust(engine, case, rows, limits)


def with_draws(engine: Engine, case: Case, search: Asking[Answer], limits: Limits) -> Asking[Answer]:
    """Run a search, and draw rows whenever it has asked twice as many as the last time.

    So a search that the budget stops has some evidence, too: of rows drawn evenly, those nearer than an
    answer found later are drawn evenly from what is nearer than that. When rows are drawn does not
    depend on the budget, so that a larger one still only adds to what is asked.
    """
    try:
        asked = next(search)
        while True:
            if case.request.evidence and case.rows_asked >= case.next_draw and case.has_hits:
                case.next_draw *= 2
                yield from _draw(engine, case, limits, _DURING)
            asked = search.send((yield asked))
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        search.close()


def evidence_of(engine: Engine, case: Case) -> Evidence:
    """Put together what was shown about rows nearer than the nearest row that reached the target."""
    radius = case.best_distance
    drawn = int((case.drawn < radius).sum())
    exhausted = case.exhausted and _is_at(case, radius) and case.knows_all_regions
    return Evidence(
        nearer_than=None if math.isinf(radius) else radius,
        asked_nearer=int(sum((one < radius).sum() for one in case.missed)),
        drawn=drawn,
        share=share_bound(drawn),
        lower_bound=_finite_bound(case),
        proof=_proof(case) or ("exhausted" if exhausted else None),
        reading_contradicted=is_contradicted(case),
    )


def _finite_bound(case: Case) -> float | None:
    """Return the proved bound; None where there is none, or nothing can reach, or a row disproved it."""
    bound = case.lower_bound
    return None if bound is None or math.isinf(bound) or is_contradicted(case) else bound


def _proof(case: Case) -> Literal["optimal", "unreachable"] | None:
    if case.lower_bound is None or is_contradicted(case):
        return None
    if case.answers:
        return "optimal" if is_optimal(case, case.answers[0].distance) else None
    return "unreachable" if math.isinf(case.lower_bound) else None


def _is_at(case: Case, radius: float) -> bool:
    """Tell whether the best answer is the nearest row found; where none was found there is no answer."""
    return case.answers[0].distance <= radius * (1 + 1e-9) if case.answers else math.isinf(radius)


def _all_nearer(engine: Engine, case: Case, limits: Limits) -> list[Matrix] | None:
    """Return, region by region, all legal rows nearer than the best answer; None if not few enough."""
    left = int(min(MOST_EXHAUSTED, limits.rows - case.rows_asked))
    found = []
    for archive in case.region_archives:
        rows = legal_rows_within(
            archive.region, engine.metric, case.best_distance, left, case.request.max_changes
        )
        if rows is None or limits.is_over():
            return None
        found.append(rows)
        left -= len(rows)
    return found


def _exhaust(engine: Engine, case: Case, rows: list[Matrix], limits: Limits) -> Asking[None]:
    for archive, own in zip(case.region_archives, rows, strict=True):
        search = ask_all(own, engine.metric.distance(own, case.x), lambda: case.best_distance)
        yield from tried(case, search, archive, math.inf, limits)
    case.exhausted = not case.was_stopped


def _draw(engine: Engine, case: Case, limits: Limits, attempt: int) -> Asking[None]:
    """Ask about rows drawn from all regions in equal parts, and note how far from the query they lie.

    What is drawn does not depend on the budget, which only cuts it off. What is left then is less, but
    drawn evenly all the same where there is one region; else earlier draws stay.
    """
    before, distances, shares = case.best_distance, [np.empty(0)], list(_shares(case))
    for number, (archive, count) in enumerate(shares):
        for block in range(0, count, _BLOCK):
            rng = np.random.default_rng([engine.seed, _SALT, attempt, case.next_draw, number, block])
            rows = _drawn(engine, case, archive, (min(_BLOCK, count - block), rng), limits)
            yield from tried(case, asking(rows), archive, math.inf, limits)
            if case.was_stopped:
                break
            distances.append(engine.metric.distance(rows, case.x))
    drawn = np.concatenate(distances)
    if case.best_distance < before:
        case.drawn = np.empty(0)
    elif not case.was_stopped or (len(shares) == 1 and len(drawn) > len(case.drawn)):
        case.drawn = drawn


def _drawn(
    engine: Engine, case: Case, archive: Archive, draws: tuple[int, np.random.Generator], limits: Limits
) -> Matrix:
    """Draw rows of a region; under a limit on changes each from a random set of so many columns."""
    most, region = case.request.max_changes, archive.region
    (count, rng), free = draws, np.flatnonzero(region.free)
    if most is None or most >= len(free):
        return np.asarray(draw_nearer(region, engine.metric, case.best_distance, count, rng))
    rows = [np.empty((0, len(case.x)))]
    for _ in range(count):
        if limits.is_over():
            break
        part = part_of(region, tuple(rng.choice(free, most, replace=False)), engine.metric)
        if part is not None:
            rows.append(draw_nearer(part, engine.metric, case.best_distance, 1, rng))
    return np.concatenate(rows)


def _shares(case: Case) -> Iterator[tuple[Archive, int]]:
    """Split the draws evenly over the regions that begin nearer than the best answer."""
    count = case.request.evidence
    nearer = [archive for archive in case.region_archives if case.begins_nearer(archive.region)]
    for number, archive in enumerate(nearer):
        share = count // len(nearer) + (number < count % len(nearer))
        if share:
            yield archive, share


def _go_on(engine: Engine, case: Case, limits: Limits, before: float) -> Asking[None]:
    """Search on from the drawn rows that reached the target, in the region of the nearest."""
    nearest = min(case.region_archives, key=lambda archive: archive.best_distance)
    found = nearest.nearest(16)
    better = found[engine.metric.distance(found, case.x) < before]
    archive = Archive(nearest.region, engine.metric)
    case.archives.append(archive)
    yield from tried(
        case, nearest_search(archive, Pool(better), engine.seed, Effort()), archive, _ROWS_FROM_A_DRAW, limits
    )
