"""The rows of a project's data as strips: how each column is spread, and what the model says where."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ssba
from ssba.apps.names import ClassNames
from ssba.apps.page_requests import GroupReply, PopulationReply, RuleReply, StripReply
from ssba.apps.project.opened import OpenedProject
from ssba.columns.features import Feature
from ssba.constraints.constraint import columns
from ssba.json_form import plain_or_text
from ssba.results import ColumnTable, Prediction

_BINS = 36
_MOST_CLASSES = 4
"""Classes that can be told apart in a picture; of more, only whether they are the target."""


def groups_of(said: Sequence[Prediction], names: ClassNames) -> tuple[list[GroupReply], list[int]]:
    """Return what the model says about rows, and for each row which of it: classes, or target and rest."""
    predicted = [plain_or_text(one.prediction) for one in said]
    seen = sorted({str(names.of(one)) for one in predicted})
    if not names.classes or len(seen) > _MOST_CLASSES:
        sides = [GroupReply(name="", reached=False), GroupReply(name="", reached=True)]
        return sides, [int(one.reached) for one in said]
    reached: dict[str, set[bool]] = {name: set() for name in seen}
    which = [str(names.of(one)) for one in predicted]
    for name, one in zip(which, said, strict=True):
        reached[name].add(one.reached)
    groups = [
        GroupReply(name=name, reached=None if len(reached[name]) > 1 else reached[name].pop())
        for name in seen
    ]
    # The target stands last: strips are drawn from the first group up.
    groups.sort(key=lambda one: (one.reached is True, one.name))
    places = {one.name: place for place, one in enumerate(groups)}
    return groups, [places[name] for name in which]


def population_of(
    project: OpenedProject, table: ColumnTable, rows: Mapping[int, Prediction], names: ClassNames
) -> PopulationReply:
    """Return the strips of all columns, of rows by their numbers with what the model says about them."""
    said = list(rows.values())
    groups, which = groups_of(said, names)
    strips = tuple(
        _strip(column.feature, [one.values[column.name] for one in said], np.array(which), len(groups))
        for column in table
    )
    rules = tuple(
        RuleReply(text=text, columns=tuple(sorted(columns(ssba.constraint(text)))))
        for text in project.settings.constraints
    )
    example = project.example_row
    if example is None:
        example = next((number for number, one in rows.items() if not one.reached), 0)
    return PopulationReply(rows=len(said), groups=tuple(groups), strips=strips, rules=rules, example=example)


def _strip(feature: Feature, cells: list[Any], which: NDArray[np.int_], groups: int) -> StripReply:
    codes = np.array([feature.code(cell) for cell in cells])
    known = ~np.isnan(codes)
    low, high, bins = _span(feature, codes[known])
    places = np.clip((codes[known] - low) / (high - low) * bins, 0, bins - 1).astype(int)
    counts = np.zeros((groups, bins), dtype=int)
    np.add.at(counts, (which[known], places), 1)
    return StripReply(
        name=feature.name,
        low=None if feature.has_levels else low,
        high=None if feature.has_levels else high,
        counts=tuple(tuple(one) for one in counts.tolist()),
        typical=_typical(feature, codes[known]),
    )


def _span(feature: Feature, codes: NDArray[np.float64]) -> tuple[float, float, int]:
    """Return where bins begin and end, and their number; levels and few whole numbers have one each."""
    if feature.has_levels:
        return 0.0, float(len(feature.levels)), len(feature.levels)
    low, high = (float(codes.min()), float(codes.max())) if len(codes) else (0.0, 1.0)
    if feature.kind == "integer" and high - low < _BINS:
        return low - 0.5, high + 0.5, int(high - low) + 1
    return (low, high, _BINS) if low < high else (low - 0.5, low + 0.5, 1)


def _typical(feature: Feature, codes: NDArray[np.float64]) -> Any:
    if not len(codes):
        return None
    if feature.is_discrete:
        return plain_or_text(feature.value(Counter(codes.tolist()).most_common(1)[0][0]))
    return plain_or_text(feature.value(float(np.sort(codes)[len(codes) // 2])))
