"""Limits where the free columns are few and whole: every combination is asked."""

from itertools import product

import numpy as np
from benchmarks.nearest.cases import Case
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def enumerate_rows(case: Case, i: int) -> Matrix | None:
    """The nearest of all legal rows of query `i`; None where none of them reaches the target."""
    free = np.flatnonzero(case.free)
    if not case.is_whole[free].all():
        raise TypeError(f"{case.name}: only whole numbers and categories can be enumerated")
    spans = [np.arange(case.low[i][j], case.high[i][j] + 1) for j in free]
    Z = np.repeat(case.X[i][None], np.prod([len(span) for span in spans]), axis=0)
    Z[:, free] = list(product(*spans))
    Z = Z[np.argsort(case.distance(case.X[i], Z), kind="stable")]
    for part in np.array_split(Z, max(1, len(Z) // 1000)):
        reached = np.flatnonzero(case.labels(case.rows(part)) == case.target)
        if len(reached):
            return np.asarray(part[reached[0]])
    return None
