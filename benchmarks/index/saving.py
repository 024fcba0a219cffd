"""Model rows that a query takes with an index and without, and how near the answers are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.index.sections import Section
from benchmarks.nearest.cases import Case
from benchmarks.nearest.plans import build

import ssba

CASES = (
    "synthetic-20-logistic",
    "synthetic-20-mlp",
    "synthetic-50-logistic",
    "synthetic-50-mlp",
    "cancer-svm",
)


def measure(points: int, queries: int, data: Path | None, cases: Sequence[str] = CASES) -> Section:
    lines = []
    for name in cases:
        case = build(name, data)
        for mode, model in (("labels", case.labels), ("scores", case.scores)):
            lines.append(_line(case, mode, model, points, queries))
    note = (
        f"{points:,} points, {queries} queries a case, otherwise as in `benchmarks.nearest`. Rows are "
        "model rows a query, the 59 drawn for evidence included. Distance: that with the index over that "
        "without, query by query. Asked for: 30% fewer rows at the same distance."
    )
    return Section("Rows saved by an index", note, lines)


def _line(case: Case, mode: str, model: Any, points: int, queries: int) -> dict[str, Any]:
    explainer = ssba.Explainer(model, case.data, **case.options())
    boundary = explainer.sample_boundary(points, progress=False)
    asked = case.queries[:queries]
    without, having = (
        explainer.explain_many(asked, case.constraints, boundary=given, progress=False)
        for given in (None, boundary)
    )
    both = [(a, b) for a, b in zip(without, having, strict=True) if a.best and b.best]
    ratio = [b.best.distance / a.best.distance for a, b in both if a.best and b.best]
    rows = [float(np.mean([one.rows_used for one in answers])) for answers in (without, having)]
    return {
        "case": case.name,
        "model gives": mode,
        "points": f"{len(boundary):,}",
        "rows without": rows[0],
        "rows with": rows[1],
        "fewer": f"{1 - rows[1] / rows[0]:.0%}",
        "distance, mean": float(np.mean(ratio)),
        "distance, median": float(np.median(ratio)),
        "solved": f"{sum(one.best is not None for one in having)} of {len(having)}",
    }
