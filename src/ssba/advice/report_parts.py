"""What a report about one query shows: all that can be asked about it, and the data around it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.results.explanation import Explanation
from ssba.views.charts.tracks import Surroundings
from ssba.views.report.page import ReportParts


def parts_of(context: Context, explanation: Explanation, meanings: Mapping[str, str]) -> ReportParts:
    """Ask for a plan and ranges where an answer was found, for what to relax where none was."""
    found, moved = bool(explanation.counterfactuals), explanation.bounded is not None
    wanting = explanation.status.value in ("bounded", "infeasible")
    return ReportParts(
        plan=explanation.plan() if found or moved else None,
        ranges=explanation.ranges() if found else None,
        why_not=explanation.why_not() if wanting else None,
        levers=explanation.levers() if found else None,
        surroundings=Surroundings(population(context.engine), allowed(context), meanings),
    )


def population(engine: Engine) -> Any:
    """Return the background rows as a frame, or as columns of an array."""
    rows = engine.space.decode(engine.background)
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
