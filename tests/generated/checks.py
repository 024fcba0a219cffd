"""Checks of a result's status and answers against the documented meaning."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.generated.candidates import Candidates, Listed
from tests.generated.columns import Matrix, from_values, to_values
from tests.generated.findings import Findings
from tests.generated.rules import Rule
from tests.generated.truth import Truth
from tests.generated.verdicts import NO
from tests.generated.worlds import World

import ssba

SAME = 1e-9


def close(one: float | None, other: float | None, slack: float = SAME) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=slack, abs_tol=slack)


@dataclass(frozen=True, eq=False)
class Case:
    """A world, its meaning, a result of the library about it, who gave it, and where findings go."""

    world: World
    truth: Truth
    candidates: Candidates
    result: ssba.results.Explanation
    explainer: ssba.Explainer
    findings: Findings

    def check(self, statement: str, holds: bool, shown: object = "") -> None:
        self.findings.check(statement, bool(holds), shown)

    def codes(self, values: Mapping[str, Any]) -> Matrix:
        return from_values(self.world.columns, values)

    def is_lenient(self) -> bool:
        """Whether the ranges may have to give way: no feasible row within them is known."""
        listed = self.candidates.listed
        if self.truth.stretches:
            return True
        if listed is not None:
            return not len(listed.rows)
        return bool(self.truth.related) and not any(
            len(rows) for rows in self.candidates.attack(math.inf, 20_000, 5, self.truth.world.query[None, :])
        )


def check_result(case: Case) -> None:
    """Check everything about status and answers."""
    check_words(case)
    check_contents(case)
    check_query(case)
    for number, answer in enumerate(case.result.counterfactuals):
        check_row(case, f"answer {number}", answer)
        check_reached(case, f"answer {number}", answer)
    check_order(case)
    check_bounded(case)
    check_infeasible(case)


def check_words(case: Case) -> None:
    """Check that a result can say what it is, and that its JSON is read back."""
    result = case.result
    sayings: tuple[Callable[[], str], ...] = (
        lambda: repr(result),
        lambda: result.sentence,
        lambda: result.evidence.sentence,
        result.to_json,
    )
    for say in sayings:
        try:
            case.check("words", isinstance(say(), str))
        except Exception as error:
            case.check("words", False, f"{type(error).__name__}: {error}")
            return
    told = result.to_json()
    case.check("json round trip", ssba.results.Explanation.from_json(told).to_json() == told)


def check_contents(case: Case) -> None:
    result, options = case.result, case.world.options
    status, found = result.status.value, len(result.counterfactuals)
    case.check(
        "status: found has answers", (status == "found") == (found > 0), f"{status} with {found} answers"
    )
    case.check("status: at most k answers", found <= options.k, f"{found} answers for k={options.k}")
    case.check(
        "status: only infeasible has a clash", (status == "infeasible") == bool(result.clash), result.clash
    )
    moved = result.bounded is not None
    case.check(
        "status: a bounded move only without answers", not moved or status in ("bounded", "out_of_budget")
    )
    case.check("rules as told", len(result.constraints) == len(case.world.rules), result.constraints)
    if status == "bounded" and not moved:
        case.check(
            "status: bounded has a bounded move", not _some_row(case), "no bounded move, but feasible rows"
        )


def _some_row(case: Case) -> bool:
    """Tell whether a feasible row within the limit on changes is known."""
    rows = next(iter(case.candidates.attack(math.inf, 20_000, 3, case.world.query[None, :])))
    most = case.world.options.max_changes
    return bool(len(rows) if most is None else (case.truth.changed(rows).sum(axis=1) <= most).any())


def check_query(case: Case) -> None:
    world, result = case.world, case.result
    case.check("query as given", result.query == world.values, f"{result.query} is not {world.values}")
    if result.status == "infeasible":
        return
    there = world.judge.reaches_alone(world.query)
    if world.options.score_margin is not None:
        margin = world.judge.margin(world.query[None, :])
        assert margin is not None
        there = there and bool(margin[0] >= world.options.score_margin)
    if result.status == "already_there":
        case.check("status: already_there reaches", there, "the query does not reach the target")
    elif world.options.ball is None:
        case.check("status: a query that reaches is already_there", not there, result.status.value)


def check_row(case: Case, name: str, answer: ssba.results.Counterfactual) -> None:
    """Check what must be so of every row of a result: legal, feasible, as far as it says."""
    world, truth = case.world, case.truth
    z = case.codes(answer.values)[None, :]
    legal = truth.legal(z)[0]
    if legal == NO:
        allowed = truth.legal(z, lenient=True)[0] != NO and case.is_lenient()
        case.check("legal", allowed, f"{name} {answer.values}: {_illegal(case, z)}")
    else:
        case.check("legal", True)
    broken = [rule.text for rule in world.rules if rule.truth(world.ground, z)[0] == NO]
    case.check("rules", not broken, f"{name} {answer.values} breaks {broken}")
    distance = float(truth.distance(z)[0])
    case.check("distance", close(answer.distance, distance), f"{name}: {answer.distance!r} is {distance!r}")
    changes = {
        one: (now, answer.values[one]) for one, now in world.values.items() if now != answer.values[one]
    }
    case.check("changes", answer.changes == changes, f"{name}: {answer.changes} are {changes}")
    most = world.options.max_changes
    case.check("max_changes", most is None or len(changes) <= most, f"{name} changes {list(changes)}")
    _check_told(case, name, answer, z)


def _check_told(case: Case, name: str, answer: ssba.results.Counterfactual, z: Matrix) -> None:
    """Check what the model is said to say about a row."""
    judge = case.world.judge
    score = judge.score(z)
    # A model that computes in 32 bits answers a batch a little otherwise than a single row.
    slack = 1e-4 if any(column.is_single for column in case.world.columns) else 1e-6
    if case.world.target.kind == "number":
        assert score is not None
        same, prediction = close(answer.prediction, float(score[0]), slack), score[0]
    else:
        prediction = judge.labels(z)[0]
        same = bool(answer.prediction == prediction)
    case.check("prediction", same, f"{name}: {answer.prediction!r} is {prediction!r}")
    if answer.score is not None and score is not None:
        same = close(answer.score, float(score[0]), slack)
        case.check("score", same, f"{name}: {answer.score} is {score[0]}")


def _illegal(case: Case, z: Matrix) -> str:
    """Say which cell is not legal."""
    for j, name in enumerate(case.world.names):
        alone = case.world.query.copy()
        alone[j] = z[0, j]
        if case.truth.legal(alone[None, :])[0] == NO:
            return f"{name} {z[0, j]!r}, range {case.truth.box[0][j]} to {case.truth.box[1][j]}"
    return "some cell"


def check_reached(case: Case, name: str, answer: ssba.results.Counterfactual) -> None:
    """Check that an answer gives what was asked for, by the model's own word about this row alone."""
    world, truth = case.world, case.truth
    z = case.codes(answer.values)
    case.check("reaches", world.judge.reaches_alone(z), f"{name} {answer.values} does not reach the target")
    if world.options.score_margin is not None:
        margin = world.judge.margin(z[None, :])
        assert margin is not None
        case.check("score margin", margin[0] >= world.options.score_margin - SAME, f"{name}: {margin[0]}")
    if not np.isnan(world.data).any():
        near = float(truth.to_data(z[None, :])[0])
        told = math.inf if answer.distance_to_data is None else answer.distance_to_data
        case.check("distance to data", close(near, told, 1e-7), f"{name}: {told} is {near}")
        if world.options.plausible:
            case.check(
                "plausible", near <= truth.usual * (1 + 1e-6) + SAME, f"{name}: {near} > {truth.usual}"
            )
    if world.options.ball is not None:
        _check_ball(case, name, z, world.options.ball)


def _check_ball(case: Case, name: str, z: Matrix, radius: float) -> None:
    """Check both ends of a ball along each number, and other categories that lie within it."""
    rows = [z]
    for j, column in enumerate(case.world.columns):
        if math.isnan(z[j]) or case.truth.is_constant[j]:
            continue
        if column.is_category:
            levels = range(len(column.levels)) if case.truth.weights[j] <= radius else ()
            ends = [float(code) for code in levels]
        else:
            reach = radius * case.truth.scales[j] / case.truth.weights[j]
            bounds = column.limits()
            ends = [_inward(column, z[j], z[j] + way * reach, bounds) for way in (-1.0, 1.0)]
        for end in ends:
            row = z.copy()
            row[j] = end
            rows.append(row)
    around = np.stack(rows)
    misses = around[~case.world.judge.reaches(around)]
    case.check("ball", not len(misses), f"{name}: within {radius} of it {misses.tolist()} do not reach")


def _inward(column: Any, center: float, end: float, bounds: tuple[float, float]) -> float:
    """Return the legal value nearest to an end of the ball, on the inner side."""
    value = float(np.clip(end, *bounds))
    snapped = float(column.snapped(np.array([value]))[0])
    if column.is_stepped and abs(snapped - center) > abs(value - center):
        snapped = float(
            column.snapped(np.array([snapped + math.copysign(float(column.unit), center - value)]))[0]
        )
    if not column.is_stepped and abs(snapped - center) > abs(value - center):
        snapped = float(np.nextafter(np.float32(snapped), np.float32(center)))
    # A query's own cell may lie off its step, with no legal value as near as that.
    return snapped if abs(snapped - center) <= abs(value - center) else center


def check_order(case: Case) -> None:
    """Check that several answers come nearest first, and differ as documented."""
    options, answers = case.world.options, case.result.counterfactuals
    if options.sparsity == "none" and options.diversity != "columns":
        distances = [one.distance for one in answers]
        case.check("nearest first", distances == sorted(distances), distances)
    case.check("best first", options.sparsity != "none" or _is_best_first(answers), answers)
    for i, one in enumerate(answers):
        for other in answers[i + 1 :]:
            ours, theirs = set(one.changes), set(other.changes)
            cross = bool(ours - theirs) and bool(theirs - ours)
            if options.diversity == "levers":
                longer, shorter = (one, other) if ours > theirs else (other, one)
                worth = ours != theirs and longer.distance <= 0.91 * shorter.distance
                case.check("levers differ", cross or worth, f"{sorted(ours)} and {sorted(theirs)}")
                continue
            apart = case.truth.distance(case.codes(one.values)[None, :], case.codes(other.values))[0]
            least = min(answer.distance for answer in answers)
            case.check("answers differ", cross or apart >= 0.097 * least, f"{apart} apart, best at {least}")


def _is_best_first(answers: Sequence[Any]) -> bool:
    """Tell whether no other answer is nearer than the first, but for what few digits add."""
    return all(answers[0].distance <= 1.001 * one.distance for one in answers)


def check_bounded(case: Case) -> None:
    move = case.result.bounded
    if move is None:
        return
    check_row(case, "bounded move", move)
    z = case.codes(move.values)
    wanted = case.world.judge.reaches_alone(z) and bool(case.truth.obeys_options(z[None, :])[0])
    if case.world.options.ball is None:
        case.check("a bounded move does not reach", not wanted, f"{move.values} reaches the target")


def check_infeasible(case: Case) -> None:
    """Check that contradicting rules contradict each other, and that none of them can be left out.

    A limit on changes may be one of them: then no feasible row keeps to it.
    """
    world, result = case.world, case.result
    if result.status != "infeasible":
        return
    limits = [text for text in result.clash if text not in result.constraints]
    most = world.options.max_changes if limits else None
    case.check("clash names what was asked", limits in ([], [f"max_changes={most}"]), result.clash)
    feasible = _feasible_row(case, most)
    case.check("infeasible", feasible is None, f"but {feasible} is feasible")
    # Two rules may be the same in other words; the first of them stands for both.
    by_text = dict(reversed(list(zip(result.constraints, world.rules, strict=True))))
    named = [by_text[text] for text in result.clash if text in by_text]
    left = _listed_with(world, tuple(named), most)
    case.check("clash contradicts", left is None or not len(left.rows), f"{result.clash} leave {left}")
    for one in named:
        _check_needed(case, one.text, tuple(rule for rule in named if rule is not one), most)
    if most is not None:
        _check_needed(case, limits[0], tuple(named), None)


def _check_needed(case: Case, text: str, rest: tuple[Rule, ...], most: int | None) -> None:
    """Check that without one part of a clash there is a row."""
    known = _listed_with(case.world, rest, most)
    in_time = case.world.options.seconds is None
    if in_time and known is not None and known.is_complete:
        if Truth(case.world.with_rules(rest)).related:
            # With relations between columns rows may lie farther out than those listed.
            return
        case.check(
            "clash is minimal", len(known.rows) > 0, f"{text!r} can be left out of {case.result.clash}"
        )


def _listed_with(world: World, rules: tuple[Rule, ...], most: int | None) -> Listed | None:
    """Return the feasible rows under other rules, and a limit on changes, where they can be listed."""
    truth = Truth(world.with_rules(rules))
    listed = Candidates(truth).listed
    if listed is None or most is None:
        return listed
    kept = truth.changed(listed.rows).sum(axis=1) <= most
    return Listed(listed.rows[kept], listed.distances[kept], listed.is_complete)


def _feasible_row(case: Case, most: int | None) -> dict[str, Any] | None:
    """Return a feasible row, with no more changes than allowed, of a world that is said to have none."""
    for rows in case.candidates.attack(math.inf, 20_000, 11, case.world.query[None, :]):
        if most is not None:
            rows = rows[case.truth.changed(rows).sum(axis=1) <= most]
        if len(rows):
            return to_values(case.world.columns, rows[0])
    return None
