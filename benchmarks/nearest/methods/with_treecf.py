"""treecf 0.3: tree ensembles only, opened; it minimises L1, and can prove its answer.

Bounds are its `Range`, columns that are not free its `Freeze`. Pipelines it does not read.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import treecf  # type: ignore[import-not-found]
from benchmarks.nearest.cases import Case
from benchmarks.nearest.methods import Answering, Matrix, NotApplicableError, none
from benchmarks.nearest.plans import SEED

JUST_OVER_HALF = 0.5 + 1e-9
EXACT_SECONDS = 10.0


def heuristic(case: Case) -> Answering:
    return _explaining(case, {"backend": "genetic"})


def exact(case: Case) -> Answering:
    return _explaining(case, {"backend": "exact", "time_budget_s": EXACT_SECONDS})


def _explaining(case: Case, settings: dict[str, Any]) -> Answering:
    if not isinstance(case.data, np.ndarray):
        raise NotApplicableError("it reads no pipelines")
    try:
        read = treecf.Explainer(case.model, normalizers=case.scale).ir
    except treecf.UnsupportedModelError as reason:
        raise NotApplicableError("it reads tree ensembles only") from reason
    # a forest's raw output is its probability already; that of boosting is a margin
    target = (treecf.Target.probability if "SIGMOID" in str(read.link) else treecf.Target.raw)(
        range=_range(case.one_target)
    )

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        for i in which:
            rules = [
                treecf.Range(name, case.low[i, j], case.high[i, j]) if case.free[j] else treecf.Freeze(name)
                for j, name in enumerate(read.feature_names)
            ]
            explainer = treecf.Explainer(case.model, normalizers=case.scale, constraints=rules)
            found = explainer.explain(case.X[i], target=target, seed=SEED, **settings)
            yield none(case) if isinstance(found, treecf.Infeasible) else _row(found)

    return answer


def _range(target: int) -> tuple[float, float]:
    return (JUST_OVER_HALF, 1.0) if target == 1 else (0.0, 1 - JUST_OVER_HALF)


def _row(found: Any) -> Matrix:
    return np.asarray(found.x_cf, dtype=np.float64)[None]
