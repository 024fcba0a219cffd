"""Asks about the queries of a case together, as a batch: distances and rows under the settings of now."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Literal

import numpy as np
from benchmarks.golden.asking import QUERIES, numbers
from benchmarks.golden.table import Half, in_half
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limits import Limits

import ssba
from ssba.results import Explanation

By = Literal["labels", "scores"]
Place = tuple[str, By]
"""A case, and whether it is asked by labels or by scores."""


@dataclass(frozen=True)
class Found:
    """What each query gave: its distance over the limit, infinite where nothing was found, and its rows.

    Where no limits are kept for a case, as it comes out in other environments, these are plain distances.
    """

    over_limit: tuple[float, ...]
    rows: tuple[int, ...]

    @property
    def distance(self) -> float:
        """The mean over the queries that were answered."""
        return mean([one for one in self.over_limit if np.isfinite(one)] or [np.nan])

    @property
    def missed(self) -> int:
        return sum(not np.isfinite(one) for one in self.over_limit)

    @property
    def mean_rows(self) -> float:
        return mean(self.rows)


def chosen(case: Case, limits: Limits, half: Half, most: int | None) -> list[int]:
    """The queries of one half of a case, with limits where some are known, up to so many."""
    known = numbers(case, limits) or list(range(2 * QUERIES))
    return [i for i in known if in_half(i, half)][:most]


def measure(case: Case, by: By, which: Sequence[int], limits: Limits) -> Found:
    """Ask about some queries of a case together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = ssba.Explainer(
            case.labels if by == "labels" else case.scores, case.data, **case.options()
        )
        found = [one for i in _groups(case, which) for one in _explained(explainer, case, i)]
    known = [limits.get(case, i) for i in which]
    return Found(
        tuple(
            np.inf if one.best is None else one.best.distance / (1.0 if limit is None else limit.distance)
            for one, limit in zip(found, known, strict=True)
        ),
        tuple(one.rows_used for one in found),
    )


def _groups(case: Case, which: Sequence[int]) -> list[list[int]]:
    """Queries that can be asked about together: all of them, unless each has its own number of changes."""
    return [list(which)] if case.max_changes is None else [[i] for i in which]


def _explained(explainer: ssba.Explainer, case: Case, which: Sequence[int]) -> Sequence[Explanation]:
    queries = case.only(np.array(which)).queries
    return list(explainer.explain_many(queries, case.constraints, progress=False, **case.limited(which[0])))


Table = Mapping[Place, Found]
