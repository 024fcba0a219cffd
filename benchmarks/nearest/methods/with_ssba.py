"""ssba, told less or more about the model: a function to labels, one to probabilities, the model itself."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limit_trees import Norm
from benchmarks.nearest.limits import NORMS
from benchmarks.nearest.methods import Answering, Matrix, NotApplicableError

import ssba


def labels(case: Case) -> Answering:
    return _explaining(case, case.labels)


def scores(case: Case) -> Answering:
    return _explaining(case, case.scores)


def itself(case: Case) -> Answering:
    return _explaining(case, case.model, prove="auto")


def opened(case: Case) -> Answering:
    return _explaining(case, case.model, prove=True)


def labels_l1(case: Case) -> Answering:
    return _explaining(case, case.labels, "l1")


def opened_l1(case: Case) -> Answering:
    return _explaining(case, case.model, "l1", prove=True)


def _explaining(
    case: Case, model: Any, distance: Norm = "l2", prove: bool | Literal["auto"] = False
) -> Answering:
    if distance not in NORMS.get(case.name, ("l2",)):
        raise NotApplicableError(f"no {distance} limits are kept for this case")
    explainer = ssba.Explainer(model, case.data, **case.options(distance))

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        # side by side only where all are asked for the same
        groups = [which] if case.max_changes is None else [[i] for i in which]
        for group in groups:
            asked, limited = case.only(np.array(group)).queries, case.limited(group[0])
            for found in explainer.explain_many(
                asked, case.constraints, prove=prove, progress=False, **limited
            ):
                yield case.answers([one.values for one in found.counterfactuals])

    return answer
