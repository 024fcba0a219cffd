"""From what a method offered to figures: every row is checked here by the case's own model and rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean, median
from typing import Any

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limit_trees import Norm
from benchmarks.nearest.limits import LimitBeatenError, Limits
from benchmarks.nearest.running import Answer
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Checked:
    """The rows offered for one query, and what is wrong with each."""

    query: int
    rows: Matrix
    reaches: NDArray[np.bool_]
    violates: NDArray[np.bool_]

    @property
    def good(self) -> Matrix:
        return self.rows[self.reaches & ~self.violates]


def check(case: Case, answer: Answer) -> Checked:
    """Ask the model again about every row, and hold it against the bounds; a row with gaps is none."""
    rows = np.array(answer.offered, dtype=np.float64).reshape(-1, len(case.columns))
    rows = rows[np.isfinite(rows).all(axis=1)]
    of = np.full(len(rows), answer.query)
    return Checked(answer.query, rows, _reaches(case, rows, of), case.violates(rows, of))


def _reaches(case: Case, rows: Matrix, of: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows whose categories do not exist cannot be asked about, and reach nothing."""
    levels = np.array([len(one.levels) or np.inf for one in case.columns])
    askable = ~(case.is_category & ~((rows >= 0) & (rows < levels) & (rows == np.round(rows)))).any(axis=1)
    reached = np.zeros(len(rows), dtype=bool)
    reached[askable] = case.reaches(rows[askable], of[askable])
    return reached


def lower_limits(
    case: Case, limits: Limits, checked: Sequence[Checked], method: str
) -> tuple[int, list[str]]:
    """Lower what is known by what was found; say how often, and which proved limits were beaten."""
    norms: tuple[Norm, ...] = ("l2", "l1")
    lowered, faults = 0, []
    for one in checked:
        for row, norm in product(one.good, norms):
            if norm == "l1" and limits.get(case, one.query, norm) is None:
                continue
            try:
                lowered += limits.lower(case, one.query, norm, row, f"best seen, {method}")
            except LimitBeatenError as fault:
                faults.append(str(fault))
    return lowered, faults


def figures(
    case: Case, limits: Limits, checked: Sequence[Checked], answers: Sequence[Answer]
) -> dict[str, Any]:
    """The figures of one method on one case."""
    reachable = [one for one in checked if (known := limits.get(case, one.query)) and known.reachable]
    solved = [one for one in reachable if len(one.good)]
    offered = sum(len(one.rows) for one in checked)
    return {
        "queries": len(checked),
        "reachable": len(reachable),
        "solved": len(solved) / len(reachable) if reachable else None,
        "stopped": sum(one.stopped for one in answers),
        "errors": sum(bool(one.error) for one in answers),
        "offered": offered,
        "invalid": offered - sum(int(one.reaches.sum()) for one in checked),
        "violations": sum(int(one.violates.sum()) for one in checked),
        **_ratios(case, limits, solved),
        "l0": _mean([int(case.changed(case.X[one.query], _nearest(case, one)).sum()) for one in solved]),
        "rows": _mean([one.rows for one in answers if not one.stopped]),
        "seconds": _mean([one.seconds for one in answers]),
        "cpu": _mean([one.cpu for one in answers if not one.stopped]),
    }


def _ratios(case: Case, limits: Limits, solved: Sequence[Checked]) -> dict[str, float | None]:
    """Distance over the limit, of the nearest good row of a query, and in the mean of its good rows."""
    l2 = [_over(case, limits, one, "l2", nearest=True) for one in solved]
    means = [_over(case, limits, one, "l2", nearest=False) for one in solved]
    l1 = [_over(case, limits, one, "l1", nearest=True) for one in solved if limits.get(case, one.query, "l1")]
    total = sum(known.distance for one in solved if (known := limits.get(case, one.query)))
    found = sum(float(case.distance(case.X[one.query], _nearest(case, one))) for one in solved)
    return {
        "limit": total / len(solved) if solved else None,
        "l2 mean": _mean(l2),
        "l2 median": median(l2) if l2 else None,
        "l2 worst": max(l2) if l2 else None,
        "l2 ratio of means": found / total if total else None,
        "l2 mean of k": _mean(means),
        "l1 mean": _mean(l1),
    }


def _over(case: Case, limits: Limits, one: Checked, norm: Norm, nearest: bool) -> float:
    known = limits.get(case, one.query, norm)
    assert known is not None
    measure = case.distance if norm == "l2" else case.distance_l1
    lengths = measure(case.X[one.query], one.good)
    return float((lengths.min() if nearest else lengths.mean()) / known.distance)


def _nearest(case: Case, one: Checked) -> Matrix:
    return np.asarray(one.good[np.argmin(case.distance(case.X[one.query], one.good))])


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None
