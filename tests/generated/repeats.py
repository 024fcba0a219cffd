"""Checks that need the query more than once: other budgets, other company, and once more the same."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from tests.generated.checks import Case
from tests.generated.columns import to_rows, to_values
from tests.generated.worlds import World

import ssba

_BUDGETS = (1, 3, 10, 25, 50, 100, 200, 400, 1000, 2500)
_ROWS_IN_A_BATCH = 1000
# An answer in few digits may be a thousandth longer, or by the last digit of the data.
_DIGITS = 1.0011


def explained(world: World, explainer: ssba.Explainer, **changed: Any) -> ssba.results.Explanation:
    """Return the result with some options changed."""
    options = replace(world.options, **changed).given()
    return explainer.explain(world.values, world.given_rules(), **options)


def same(one: ssba.results.Explanation, other: ssba.results.Explanation) -> str | None:
    """Return in what two results differ, but for how long they took; None where they are the same."""
    for name in ("status", "counterfactuals", "bounded", "prediction", "score", "evidence", "clash"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if repr(ours) != repr(theirs):
            return f"{name}: {ours!r} and {theirs!r}"
    return None


def check_twice(case: Case) -> None:
    if case.world.options.seconds is None:
        differs = same(case.result, explained(case.world, case.world.explainer()))
        case.check("same seed, same answer", differs is None, differs)


def check_batch(case: Case) -> None:
    """Check that a query among others gets the very answer that it gets alone."""
    world = case.world
    if world.others is None or world.options.seconds is not None:
        return
    rows = min(world.options.rows or _ROWS_IN_A_BATCH, _ROWS_IN_A_BATCH)
    explainer, options = case.explainer, replace(world.options, rows=rows).given()
    Z = np.vstack([world.query, world.others])
    queries = to_rows(world.columns, Z, world.as_array)
    try:
        many = explainer.explain_many(queries, world.given_rules(), progress=False, **options)
    except ssba.errors.ArgumentError as error:
        # Too few background rows for what one of the other queries leaves.
        case.check("batch is refused for a reason", world.options.plausible, error)
        return
    for z, among in zip(Z, many, strict=True):
        alone = explainer.explain(to_values(world.columns, z), world.given_rules(), **options)
        differs = same(alone, among)
        case.check("alone as in a batch", differs is None, f"{to_values(world.columns, z)}: {differs}")


def check_budgets(case: Case) -> None:
    """Check that more rows never make evidence or answer worse."""
    world, options = case.world, case.world.options
    if case.result.status in ("infeasible", "already_there"):
        return
    if options.prove is True or options.seconds is not None:
        return
    near, best, before = math.inf, math.inf, 0
    for rows in _BUDGETS:
        told = explained(world, case.explainer, rows=rows)
        now = _or_infinite(told.evidence.nearer_than)
        case.check(
            "budget: nearer_than never grows",
            now <= near * (1 + 1e-9),
            f"{near} with {before} rows, {now} with {rows}",
        )
        distance = _or_infinite(told.best.distance if told.best else None)
        if not options.wants_sets:
            shown = f"{best} with {before} rows, {told.status.value} {distance} with {rows}"
            fits = distance <= best * _DIGITS + case.truth.last_digits
            case.check("budget: the answer never gets worse", fits, shown)
        near, best, before = min(near, now), min(best, distance), rows


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number
