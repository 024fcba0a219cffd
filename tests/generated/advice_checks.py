"""Checks of what can be asked further about a result: plan, ranges, relaxations, levers, certificate."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from tests.generated.checks import Case, close
from tests.generated.columns import Matrix
from tests.generated.truth import Truth
from tests.generated.verdicts import NO

import ssba

# Ranges promise 99% of the rows inside; a sample of so many may show a little less.
_INSIDE, _HELD = 400, 0.97
_MOST_CORNERS = 64


def check_plan(case: Case) -> None:
    """Check that every step is feasible, scored right, and leads where the plan says."""
    if case.result.best is None and case.result.bounded is None:
        return
    plan = case.explainer.plan(case.result)
    case.check("plan: words", bool(plan.sentence) and bool(repr(plan)) and bool(plan.to_dict()))
    values, before = dict(case.world.values), plan.score
    for number, step in enumerate(plan.steps):
        expected = {**values, **{name: after for name, (_, after) in step.changes.items()}}
        case.check("plan: steps follow each other", step.values == expected, f"step {number}: {step}")
        _check_step(case, number, step)
        case.check("plan: score before", close(step.score_before, before), f"step {number}: {step}")
        values, before = step.values, step.score_after
    flips, options = [step.reached for step in plan.steps], case.world.options
    if options.ball is None and options.score_margin is None and not options.plausible:
        # With further limits a row that flips may be on the way to one that grants them, too.
        case.check("plan: only the last step flips", not any(flips[:-1]), flips)
        case.check("plan: reached", not flips or plan.reached == flips[-1], plan)
    goal = case.result.best or case.result.bounded
    if goal is not None and plan.steps and not plan.left_out:
        case.check(
            "plan: ends at the answer", plan.final == goal.values, f"{plan.final} is not {goal.values}"
        )
    if case.result.best is not None:
        case.check("plan: of an answer reaches", plan.reached, plan)


def _check_step(case: Case, number: int, step: ssba.results.Step) -> None:
    z = case.codes(step.values)
    reached, broken = _judged(case, z)
    case.check("plan: steps are feasible", not broken, f"step {number} {step.values} breaks {broken}")
    told = step.reached in (reached, case.world.judge.reaches_alone(z))
    case.check("plan: steps reach as told", told, f"step {number}: {step}")
    score = case.world.judge.score(z[None, :])
    if step.score_after is not None and score is not None:
        case.check(
            "plan: score after", close(step.score_after, float(score[0]), 1e-6), f"{step} is {score[0]}"
        )


def _judged(case: Case, z: Matrix) -> tuple[bool, list[str]]:
    """Return whether a row gives what was asked for, and what it breaks."""
    world = case.world
    broken = [rule.text for rule in world.rules if rule.truth(world.ground, z[None, :])[0] == NO]
    if case.truth.legal(z[None, :], lenient=True)[0] == NO:
        broken.append("a column's range")
    reached = world.judge.reaches_alone(z) and bool(case.truth.obeys_options(z[None, :])[0])
    return reached, broken


def check_ranges(case: Case) -> None:
    """Check rows inside the ranges, corners among them."""
    best = case.result.best
    if best is None or case.world.options.ball is not None:
        return
    ranges = case.explainer.ranges(case.result, n_samples=300)
    case.check("ranges: words", bool(ranges.sentence) and bool(repr(ranges)) and bool(ranges.to_dict()))
    case.check(
        "ranges: of the changed columns", {one.column for one in ranges.intervals} == set(best.changes)
    )
    z, lows, highs, places = case.codes(best.values), [], [], []
    for one in ranges.intervals:
        column = case.world.columns[case.world.names.index(one.column)]
        low, high, mid = (column.code(value) for value in (one.low, one.high, one.proposed))
        case.check("ranges: hold the answer", low <= mid <= high, one)
        if not column.is_category:
            lows.append(low)
            highs.append(high)
            places.append(case.world.names.index(one.column))
    if not places:
        return
    rows = _inside(case, z, places, np.array(lows), np.array(highs))
    fine = (case.truth.met(rows) != NO) & (case.truth.legal(rows, lenient=True) != NO)
    fine &= case.world.judge.reaches(rows)
    share = float(fine.mean())
    shown = f"{share:.1%} of rows inside {ranges.sentence}"
    case.check("ranges: rows inside reach and are feasible", share >= _HELD * ranges.held, shown)


def _inside(case: Case, z: Matrix, places: list[int], low: Matrix, high: Matrix) -> Matrix:
    rng = np.random.default_rng(0)
    rows = np.repeat(z[None, :], _INSIDE, axis=0)
    rows[:, places] = rng.uniform(low, high, (_INSIDE, len(places)))
    corners = list(itertools.islice(itertools.product(*zip(low, high, strict=True)), _MOST_CORNERS))
    for i, corner in enumerate(corners[: _INSIDE // 10]):
        rows[i, places] = corner
    for j, lowest, highest in zip(places, low, high, strict=True):
        column = case.world.columns[j]
        if column.is_stepped:
            rows[:, j] = np.clip(column.snapped(rows[:, j]), lowest, highest)
        rows[:, j] = column.stored(rows[:, j])
    return rows


def check_why_not(case: Case) -> None:
    """Check that every relaxation that is said to flip does, and that asking for it finds something."""
    result = case.result
    why = case.explainer.why_not(result)
    case.check("why_not: words", bool(why.sentence) and bool(repr(why)) and bool(why.to_dict()))
    case.check("why_not: same status", why.status == result.status.value, why.status)
    for one in why.relaxations[:3]:
        if not one.flips:
            continue
        z = case.codes(one.values)
        case.check("why_not: a relaxation that flips reaches", case.world.judge.reaches_alone(z), one)
        case.check("why_not: distance", close(one.distance, float(case.truth.distance(z[None, :])[0])), one)
        kept = [
            rule
            for rule, text in zip(case.world.rules, result.constraints, strict=True)
            if text not in one.constraints
        ]
        broken = [rule.text for rule in kept if rule.truth(case.world.ground, z[None, :])[0] == NO]
        case.check("why_not: the other rules hold", not broken, f"{one} breaks {broken}")
        limits = [text for text in one.constraints if text not in result.constraints]
        if not limits:
            looser = [rule.given() for rule in kept] + [text for text in one.relaxed if text is not None]
            # It was tried with a budget of its own, so that the query's may be too small for it.
            options = replace(case.world.options, rows=None, seconds=None).given()
            again = case.explainer.explain(case.world.values, looser, **options)
            case.check(
                "why_not: asking for it finds an answer", again.status == "found", f"{one}: {again.status}"
            )


def check_levers(case: Case) -> None:
    """Check levers that are said to flip, and those that are said to be unable where all rows are listed."""
    table = case.explainer.levers(case.result, max_columns=2)
    case.check("levers: words", bool(table.sentence) and bool(repr(table)) and bool(table.to_dict()))
    distances = [one.distance for one in table.levers if one.distance is not None]
    case.check("levers: nearest first", distances == sorted(distances), distances)
    for one in table.levers:
        z = case.codes(one.values)
        _, broken = _judged(case, z)
        case.check("levers: feasible", not broken, f"{one} breaks {broken}")
        case.check("levers: flip", case.world.judge.reaches_alone(z), one)
        case.check("levers: only their columns change", set(one.changes) <= set(one.columns), one)
        case.check("levers: distance", close(one.distance, float(case.truth.distance(z[None, :])[0])), one)
        if one.proof is not None and one.distance is not None:
            nearer = _nearest_with(case, one.columns)
            case.check("levers: proof", nearer >= one.distance / 1.0011, f"{one}, but {nearer}")
    for one in table.unable:
        if one.status == "unreachable":
            nearest = _nearest_with(case, one.columns)
            case.check("levers: unable", nearest == np.inf, f"{one}, but a row at {nearest}")


def _nearest_with(case: Case, columns: tuple[str, ...]) -> float:
    """Return the distance of the nearest listed row that changes some columns only; infinite if none."""
    listed = case.candidates.listed
    if listed is None or not len(listed.rows):
        return float("inf")
    others = [j for j, name in enumerate(case.world.names) if name not in columns]
    rows = listed.rows[~case.truth.changed(listed.rows)[:, others].any(axis=1)]
    if not len(rows):
        return float("inf")
    rows = rows[case.world.judge.reaches(rows)]
    # Levers are sets of columns, whatever `max_changes` says.
    free = Truth(replace(case.world, options=replace(case.world.options, max_changes=None)))
    rows = rows[free.obeys_options(rows)] if len(rows) else rows
    return float(case.truth.distance(rows).min()) if len(rows) else float("inf")


def check_certificate(case: Case) -> None:
    """Check that a certificate holds, and that an altered one does not."""
    text = case.explainer.certificate(case.result).to_json()
    held = case.explainer.check_certificate(ssba.results.Certificate.from_json(text))
    case.check("certificate: holds", held.passed, held.failed)
    document = json.loads(text)
    _tamper(document["explanation"])
    altered = case.explainer.check_certificate(ssba.results.Certificate.from_json(json.dumps(document)))
    case.check("certificate: an altered one fails", not altered.passed)


def _tamper(explanation: Mapping[str, Any]) -> None:
    rows = [*explanation["counterfactuals"], *filter(None, [explanation["bounded"]])]
    if rows:
        rows[0]["distance"] = rows[0]["distance"] * 0.9 - 0.1
    else:
        explanation["evidence"]["drawn"] += 1
