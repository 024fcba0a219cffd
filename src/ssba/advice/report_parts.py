"""What a report about one query shows: all that can be asked about it, and the data around it."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ssba.advice.context import Context
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.results.explanation import Explanation
from ssba.results.levers import LeverTable
from ssba.results.plan import Plan
from ssba.results.ranges import Ranges
from ssba.results.why_not import WhyNot
from ssba.views.charts.tracks import DataContext
from ssba.views.report.page import ReportParts


class Asker(Protocol):
    """Whoever can ask the model: an `Explainer`."""

    def plan(self, explanation: Explanation) -> Plan: ...
    def ranges(self, explanation: Explanation) -> Ranges: ...
    def why_not(self, explanation: Explanation, *, progress: bool | None) -> WhyNot: ...
    def levers(self, explanation: Explanation, *, progress: bool | None) -> LeverTable: ...


def report_parts(
    asker: Asker,
    context: Context,
    explanation: Explanation,
    meanings: Mapping[str, str],
    progress: bool | None = False,
) -> ReportParts:
    """Ask for a plan and ranges where an answer was found, for what to relax where none was."""
    found, moved = bool(explanation.counterfactuals), explanation.bounded is not None
    wanting = explanation.status.value in ("bounded", "infeasible")
    return ReportParts(
        plan=asker.plan(explanation) if found or moved else None,
        ranges=asker.ranges(explanation) if found else None,
        why_not=asker.why_not(explanation, progress=progress) if wanting else None,
        levers=asker.levers(explanation, progress=progress) if found else None,
        data=DataContext(population(context.engine), allowed(context), meanings),
    )


def population(engine: Engine) -> Any:
    """Return the background rows as a frame, or as columns of an array."""
    rows = engine.space.decode(engine.background.rows)
    if isinstance(rows, np.ndarray):
        return {name: rows[:, i] for i, name in enumerate(engine.space.names)}
    return rows


def allowed(context: Context) -> dict[str, tuple[Any, ...]]:
    """Return what the constraints leave of each column that may change, over all ways to obey them."""
    return {
        name: _left(context, j)
        for j, name in enumerate(context.engine.space.names)
        if any(bool(region.free[j]) for region in context.regions)
    }


def _left(context: Context, j: int) -> tuple[Any, ...]:
    feature = context.engine.space.features[j]
    regions = [region for region in context.regions if bool(region.free[j])]
    if feature.is_discrete:
        codes = sorted({int(code) for region in regions for code in np.flatnonzero(region.allowed[j])})
        return tuple(feature.value(float(code)) for code in codes)
    low, high = min(_low(one, j) for one in regions), max(_high(one, j) for one in regions)
    return feature.value(low), feature.value(high)


def _low(region: Region, j: int) -> float:
    return float(region.lower[j])


def _high(region: Region, j: int) -> float:
    return float(region.upper[j])
