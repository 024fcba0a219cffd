"""NICE (NICEx 0.2.3, Brughmans et al. 2021), rewarded for proximity.

It mixes the query with its nearest training row of the other class. It takes no constraints whatsoever:
columns that are not free change, and those rows count as violations. It needs probabilities.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.methods import Answering, Matrix
from nice import NICE  # type: ignore[import-not-found]


def nearest(case: Case) -> Answering:
    explainer = NICE(
        predict_fn=lambda Z: case.scores(case.rows(np.asarray(Z, dtype=np.float64))),
        X_train=case.background,
        cat_feat=np.flatnonzero(case.is_category).tolist(),
        num_feat=np.flatnonzero(~case.is_category).tolist(),
        y_train=case.labels(case.data),
        optimization="proximity",
        justified_cf=True,
        distance_metric="HEOM",
        num_normalization="std",
    )

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        for i in which:
            yield np.asarray(explainer.explain(case.X[i][None]), dtype=np.float64)

    return answer
