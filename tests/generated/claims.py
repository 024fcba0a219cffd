"""Checks of a result's evidence: whatever is said about nearer rows is held against rows that are nearer."""

import math
from dataclasses import replace

import numpy as np
from tests.generated.checks import Case, close
from tests.generated.columns import Matrix, to_values
from tests.generated.reference import optimum
from tests.generated.worlds import USUAL_ROWS, Options

# A row counts against a bound only if it is nearer by more than rounding: of the distance, and of the cells.
_SLACK = 1e-6
_SINGLE = 2.0**-23
_TREES = ("tree", "forest", "boosting")


def check_evidence(case: Case, attack: int) -> None:
    """Check all that the evidence says, with up to `attack` rows drawn against each claim."""
    _check_fields(case)
    _check_price(case)
    nearest = nearest_known(case, attack)
    _check_nearer_than(case, nearest)
    _check_proof(case, nearest)
    _check_optimum(case, nearest)


def _check_fields(case: Case) -> None:
    told, result = case.result.evidence, case.result
    share = None if not told.drawn else 1 - 0.05 ** (1 / told.drawn)
    case.check("share", close(told.share, share), f"{told.share} for {told.drawn} drawn")
    case.check("evidence is finite", all(one is None or math.isfinite(one) for one in _numbers(case)), told)
    best = result.best
    case.check("proof: optimal has an answer", told.proof != "optimal" or best is not None, told)
    case.check("proof: unreachable has none", told.proof != "unreachable" or best is None, told)
    if best is not None:
        case.check("nearer_than with an answer", told.nearer_than is not None, told)
    if best is not None and told.nearer_than is not None and told.lower_bound is not None:
        over = told.nearer_than >= told.lower_bound * (1 - _SLACK)
        case.check("the bound is not above what was found", over, told)
    if told.proof == "optimal" and best is not None:
        bound = told.lower_bound
        case.check("optimal has a bound", bound is not None, told)
        near = bound is not None and best.distance <= bound * 1.001 * (1 + 1e-8) + 1e-12
        case.check("optimal is within 0.1%", near, f"{best.distance} over {bound}")


def _numbers(case: Case) -> list[float | None]:
    told = case.result.evidence
    return [told.nearer_than, told.share, told.lower_bound, float(told.asked_nearer)]


def _check_price(case: Case) -> None:
    """Check what fewer columns may cost, 10% or 50% over the nearest row found, and what fewer digits may."""
    options, best, near = case.world.options, case.result.best, case.result.evidence.nearer_than
    if best is None or near is None:
        return
    price = {"none": 1.001, "balanced": 1.1, "strong": 1.5}[options.sparsity]
    if options.sparsity == "none" and options.wants_sets:
        price = 1.1
    if options.ball is None and not (options.wants_sets and options.k > 1):
        fits = best.distance <= near * price * (1 + 1e-6) + case.truth.last_digits + 1e-12
        case.check(
            "price", fits, f"{best.distance} over {near}, {best.distance / max(near, 1e-300):.4f} > {price}"
        )


class Nearest:
    """The nearest rows known: of those that reach, and of those that also keep to the options."""

    def __init__(self) -> None:
        self.reaching: tuple[float, Matrix | None] = (math.inf, None)
        self.wanted: tuple[float, Matrix | None] = (math.inf, None)


def nearest_known(case: Case, attack: int) -> Nearest:
    """Search, in the checker's own way, for feasible rows that reach the target nearer than is claimed."""
    found, told, truth = Nearest(), case.result.evidence, case.truth
    if case.result.status in ("infeasible", "already_there"):
        return found
    best = case.result.best
    claims = [told.nearer_than, told.lower_bound, None if best is None else best.distance]
    radius = max([one for one in claims if one is not None], default=math.inf)
    around = [case.world.query] + [case.codes(one.values) for one in case.result.counterfactuals]
    if case.result.bounded is not None:
        around.append(case.codes(case.result.bounded.values))
    if told.proof is None and told.lower_bound is None:
        # Nothing is claimed that a row could refute; where all rows are listed they are worth a look.
        attack = 0
    # The query itself is nearer than a radius of nothing, and a hair.
    within = max(radius * (1 + 1e-9), 1e-12)
    for rows in case.candidates.attack(within, attack, case.world.seed, np.stack(around)):
        _take(case, found, rows, truth.distance(rows))
    return found


def _take(case: Case, found: Nearest, rows: Matrix, distances: Matrix) -> None:
    reached = case.world.judge.reaches(rows) if len(rows) else np.zeros(0, dtype=bool)
    if case.world.options.max_changes is not None and case.world.family in _TREES and len(rows):
        # What is proved of trees is about rows that change no more columns than may change.
        reached &= case.truth.changed(rows).sum(axis=1) <= case.world.options.max_changes
    rows, distances = rows[reached], distances[reached]
    wanted = case.truth.obeys_options(rows) if len(rows) else reached[:0]
    order = np.argsort(distances, kind="stable")
    found.reaching = _nearer(case, found.reaching, rows[order], distances[order])
    order = order[wanted[order]]
    found.wanted = _nearer(case, found.wanted, rows[order], distances[order])


def _nearer(
    case: Case, known: tuple[float, Matrix | None], rows: Matrix, distances: Matrix
) -> tuple[float, Matrix | None]:
    """Return the nearest row that reaches the target also when the model is asked about it alone."""
    for row, distance in zip(rows[:20], distances[:20], strict=True):
        if distance >= known[0]:
            return known
        if case.world.judge.reaches_alone(row):
            return float(distance), row
    return known


def _below(case: Case, distance: float, row: Matrix | None, claim: float) -> bool:
    """Tell whether a row is nearer than a claim by more than rounding."""
    if row is None:
        return False
    moved = case.truth.changed(row[None, :])[0]
    coarse = _SINGLE if case.world.family in _TREES else 1e-12
    cells = np.abs(np.nan_to_num(row)) * moved / case.truth.scales * case.truth.weights
    numbers = np.array([not one.is_category for one in case.world.columns])
    return distance < claim * (1 - _SLACK) - coarse * float((cells * numbers).sum())


def _check_nearer_than(case: Case, nearest: Nearest) -> None:
    """What was found can be no nearer than the nearest row there is; known exactly where all are listed."""
    near, listed = case.result.evidence.nearer_than, case.candidates.listed
    if near is None or listed is None or not listed.is_complete or case.is_lenient():
        return
    lowest, _ = nearest.wanted
    case.check("nearer_than", near >= lowest * (1 - 1e-9), f"{near}, but the nearest row is at {lowest}")


def _check_proof(case: Case, nearest: Nearest) -> None:
    told, best = case.result.evidence, case.result.best
    distance, row = nearest.reaching
    shown = None if row is None else to_values(case.world.columns, row)
    if told.lower_bound is not None:
        fine = not _below(case, distance, row, told.lower_bound)
        case.check("lower_bound", fine, f"{told.lower_bound}, but {shown} at {distance} ({told.proof})")
    if told.proof == "unreachable":
        case.check("unreachable", row is None, f"but {shown} reaches at {distance}")
    if told.proof == "exhausted":
        least, nearer = nearest.wanted
        claim = math.inf if best is None else best.distance
        shown = None if nearer is None else to_values(case.world.columns, nearer)
        case.check("exhausted", not _below(case, least, nearer, claim), f"{claim}, but {shown} at {least}")
    if case.result.status == "bounded" and told.proof is None and case.candidates.listed is not None:
        # Nothing is claimed, but where every row is listed the search should have found one.
        _, missed = nearest.wanted
        plain = case.world.options.rows in (None, USUAL_ROWS) and case.world.options.seconds is None
        listed = case.candidates.listed
        few = listed.is_complete and len(listed.rows) <= 8000 and case.world.options.evidence > 0
        if plain and few and case.world.options.ball is None:
            shown = None if missed is None else to_values(case.world.columns, missed)
            case.check("bounded though a listed row reaches", missed is None, shown)


def _check_optimum(case: Case, nearest: Nearest) -> None:
    """Hold bounds against the nearest row where that is known, and note how near the answer is to it."""
    told, listed = case.result.evidence, case.candidates.listed
    if case.result.status in ("infeasible", "already_there"):
        return
    known, between = None, optimum(case.truth)
    if between is not None:
        least, known = between
        if told.lower_bound is not None:
            case.check(
                "lower_bound and optimum", told.lower_bound <= known * (1 + _SLACK), f"{told}, but {known}"
            )
        if told.proof == "unreachable":
            case.check("unreachable and optimum", math.isinf(known), f"a row at {known}")
        if told.nearer_than is not None:
            fine = told.nearer_than >= least * (1 - _SLACK) - 1e-12
            case.check("nearer_than and optimum", fine, f"{told.nearer_than}, but {least}")
    elif listed is not None and not case.truth.stretches:
        known = nearest.wanted[0]
    _note_figure(case, known)


def _note_figure(case: Case, known: float | None) -> None:
    options, best = case.world.options, case.result.best
    plain = replace(options, k=1, evidence=59, prove="auto", rows=None) == Options()
    plain = plain and options.rows in (None, USUAL_ROWS)
    if known is not None and plain and best is not None and 0 < known < math.inf:
        case.findings.over_optimum = best.distance / known
        case.findings.by = (
            "labels" if case.world.judge.scores(case.world.query[None, :]) is None else "scores"
        )
