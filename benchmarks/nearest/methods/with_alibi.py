"""Alibi's Counterfactual (0.9.6, Wachter et al. 2017), as a black box with numerical gradients.

Bounds are its `feature_range`; it has nothing else to hold a column fixed, so columns that are not free get
a range of one value. It minimises L1, needs probabilities, and wants the target's between 0.51 and 0.59.
Columns are in the units of the case's metric; categories it does not know, whole numbers are rounded.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.methods import Answering, Matrix, NotApplicableError, legal_kinds, none

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
SETTINGS = {"target_proba": 0.55, "tol": 0.04, "max_iter": 300, "max_lam_steps": 6, "early_stop": 30}


def counterfactual(case: Case) -> Answering:
    if case.is_category[case.free].any():
        raise NotApplicableError("it knows numbers only")
    import tensorflow  # type: ignore[import-untyped]

    # its graph code is written for TensorFlow 1, as its documentation says
    tensorflow.compat.v1.disable_v2_behavior()
    from alibi.explainers import Counterfactual  # type: ignore[import-not-found]

    def scores(Z: Matrix) -> Matrix:
        return case.scores(case.rows(legal_kinds(case, np.asarray(Z, dtype=np.float64) * case.scale)))

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        for i in which:
            tensorflow.keras.backend.clear_session()
            bounds = (case.low[i][None] / case.scale, case.high[i][None] / case.scale)
            explainer = Counterfactual(
                scores,
                shape=(1, len(case.columns)),
                target_class=case.one_target,
                feature_range=bounds,
                **SETTINGS,
            )
            yield _row(case, i, explainer.explain((case.X[i] / case.scale)[None]))

    return answer


def _row(case: Case, i: int, found: Any) -> Matrix:
    if found.cf is None:
        return none(case)
    z = legal_kinds(case, np.asarray(found.cf["X"], dtype=np.float64) * case.scale)
    # it computes in 32 bits: cells that it may not change come back rounded
    return np.asarray(np.where(np.float32(case.X[i]) == np.float32(z), case.X[i], z))
