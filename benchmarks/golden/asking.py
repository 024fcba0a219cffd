"""Asks ssba about the queries of a case, each alone, and measures the answers."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from benchmarks.golden.table import Answer
from benchmarks.nearest.cases import Case
from benchmarks.nearest.counting import Counter
from benchmarks.nearest.limit_trees import Norm
from benchmarks.nearest.limits import NORMS, Limits, chosen, length
from benchmarks.nearest.measuring import check
from benchmarks.nearest.running import Answer as Offer
from numpy.typing import NDArray

import ssba

Matrix = NDArray[np.float64]

QUERIES = 20
"""How many reachable queries of a case are asked, unless `FEWER` says otherwise."""

FEWER = {
    "heart-mixed": 12,
    "heart-whole-": 8,
    "adult-two-": 12,
    "adult-raw-": 12,
    "unseen-": 12,
    "cancer-few-": 12,
    "wide-": 4,
}
"""Cases whose queries are slow or asked in many ways, by the beginnings of their names."""


@dataclass(frozen=True)
class Way:
    """A way of asking: by labels or by scores, in which norm, perhaps for more than the target class."""

    name: str
    by: Literal["labels", "scores"]
    norm: Norm = "l2"
    at_least: float | None = None


LABELS, SCORES = Way("labels", "labels"), Way("scores", "scores")
_L1 = Way("labels L1", "labels", "l1"), Way("scores L1", "scores", "l1")
_STRICTER = tuple(Way(f"scores {share}", "scores", at_least=share) for share in (0.5, 0.6))


def ways(case: str) -> tuple[Way, ...]:
    """The ways in which the queries of a case are asked."""
    l1 = _L1 if "l1" in NORMS.get(case, ()) else ()
    return (LABELS, SCORES, *l1, *(_STRICTER if case.startswith("heart-whole-") else ()))


def numbers(case: Case, limits: Limits, most: int | None = None) -> list[int]:
    """The queries that are asked: the first ones whose limit is known and finite."""
    usual = next((count for prefix, count in FEWER.items() if case.name.startswith(prefix)), QUERIES)
    count = usual if most is None else min(usual, most)
    return [i for i in chosen(case, limits, count).tolist() if limits.get(case, i) is not None]


def answers(
    case: Case, asked: Sequence[Way], which: Sequence[int], limits: Limits, lower: bool = False
) -> list[Answer]:
    """Ask about some queries, one by one, in some ways.

    Where `lower`, nearer rows lower the limits that are not proved, before any distance is divided by them.
    """
    found = [(way, i, _ask(case, way, i)) for way in asked for i in which]
    for way, i, one in found:
        if lower and one.row is not None:
            limits.lower(case, i, way.norm, one.row, f"best seen, ssba {way.name}")
    return [_measured(case, way, i, limits, one) for way, i, one in found]


class _Asked(NamedTuple):
    """The status, the row if it is a good one, and the model rows and calls that a query took."""

    status: str
    row: Matrix | None
    rows: int
    calls: int


def _measured(case: Case, way: Way, i: int, limits: Limits, one: _Asked) -> Answer:
    known = limits.get(case, i, way.norm)
    if known is None:
        raise LookupError(f"{case.name} query {i}: no limit in {way.norm} is kept")
    distance = None if one.row is None else length(case, i, way.norm, one.row)
    return Answer(
        case=case.name,
        way=way.name,
        query=i,
        model=case.fingerprint,
        status=one.status,
        distance=distance,
        over_limit=None if distance is None else distance / known.distance,
        limit="proved" if known.proved else "best known",
        rows=one.rows,
        calls=one.calls,
    )


def _ask(case: Case, way: Way, i: int) -> _Asked:
    """Ask an explainer that was asked nothing before, so that other queries do not change the figures."""
    counter = Counter()
    model = counter.counted(case.labels if way.by == "labels" else case.scores)
    options: dict[str, Any] = case.options(way.norm)
    if way.at_least is not None:
        options["target"] = ssba.probability(case.target, at_least=way.at_least)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = ssba.Explainer(model, case.data, **options)
        before = counter.calls
        found = explainer.explain(case.only(np.array([i])).queries, case.constraints, **case.limited(i))
    calls = counter.calls - before
    if found.best is None:
        return _Asked(found.status.value, None, found.rows_used, calls)
    offer = Offer(i, case.answers([found.best.values]).tolist(), seconds=0.0)
    good = check(case, offer).good
    if not len(good):
        return _Asked("invalid", None, found.rows_used, calls)
    return _Asked(found.status.value, good[0], found.rows_used, calls)
