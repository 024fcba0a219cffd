"""What processes that share the queries gain: two workers against one process, side by side.

Two models that hold the interpreter's lock are asked by labels: a forest with ``n_jobs=1``, whose calls cost
much and whose rows little, and a function that goes through its rows in Python. Run it with ``python -m
benchmarks.workers`` on a machine with two idle cores; on a busy one the processor seconds tell more. Starting
the processes is part of what is measured: each imports what it needs and builds an explainer.
"""

import argparse
import math
import resource
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import ssba

_WORKERS = 2
_ASKED_FOR = 1.6
_CENTERS = np.random.default_rng(1).normal(0.5, 1, size=(30, 12)).tolist()


class Labels:
    """A forest of which only the labels are to be had."""

    def __init__(self, forest: RandomForestClassifier) -> None:
        self.forest = forest

    def predict(self, rows: Any) -> Any:
        """Return the classes of rows."""
        return self.forest.predict(rows)


def row_by_row(rows: Any) -> Any:
    """Tell for each row, one after the other, whether it is near the weight of some centers."""
    return np.array([_score(row) > 0.6 * len(_CENTERS) for row in rows.tolist()])


def _score(row: list[float]) -> float:
    return sum(
        math.exp(-sum((one - other) ** 2 for one, other in zip(row, center, strict=True)) / 40)
        for center in _CENTERS
    )


def models(X: Any) -> dict[str, Any]:
    """Return the models by name."""
    forest = RandomForestClassifier(100, n_jobs=1, random_state=0).fit(X, row_by_row(X))
    return {"forest, n_jobs=1": Labels(forest), "Python, row by row": row_by_row}


@dataclass(frozen=True)
class Taken:
    """What a call took, on the clock and of all processors, and its results without their own clock."""

    seconds: float
    processor: float
    results: list[Any]


def measured(explainer: ssba.Explainer, queries: Any, workers: int) -> Taken:
    """Explain queries in so many processes."""
    begun, spent = time.perf_counter(), _processor_seconds()
    found = explainer.explain_many(queries, progress=False, workers=workers)
    took = time.perf_counter() - begun, _processor_seconds() - spent
    return Taken(*took, [replace(one, seconds=0.0) for one in found])


def _processor_seconds() -> float:
    """Return what this process and those that it started and saw end have taken."""
    both = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> None:
    """Print a row for each model and turn, in which both ways are taken one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(4000, 12))
    print(
        f"| {given.queries} queries, same results | one process | {_WORKERS} workers "
        "| times as fast | processor |"
    )
    print("|---|---|---|---|---|")
    for name, model in models(X).items():
        explainer = ssba.Explainer(model, X, target=True)
        queries = X[~np.array([one.prediction for one in explainer.predict_many(X)], dtype=bool)][
            : given.queries
        ]
        ratios = []
        for _ in range(given.turns):
            alone, shared = (measured(explainer, queries, count) for count in (1, _WORKERS))
            assert alone.results == shared.results, "the results differ"
            ratios.append(alone.seconds / shared.seconds)
            print(
                f"| {name} | {alone.seconds:.1f} s | {shared.seconds:.1f} s | {ratios[-1]:.2f} | "
                f"{alone.processor:.1f} s, {shared.processor:.1f} s |",
                flush=True,
            )
        print(
            f"| {name}, median | | | {statistics.median(ratios):.2f} (asked for: {_ASKED_FOR}) | |",
            flush=True,
        )


if __name__ == "__main__":
    main()
