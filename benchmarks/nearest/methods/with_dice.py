"""DiCE (dice-ml 0.12), its three ways for any model: random, genetic and kd-tree.

Constraints go through `features_to_vary` and `permitted_range`; four counterfactuals are asked for, as its
documentation does, and the nearest of them counts. It needs probabilities. Where it finds nothing it raises,
which is an answer without rows here.
"""

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Any

import dice_ml  # type: ignore[import-not-found]
import numpy as np
import pandas as pd
from benchmarks.nearest.cases import Case
from benchmarks.nearest.methods import OFFERS, Answering, Matrix, none
from benchmarks.nearest.plans import SEED
from raiutils.exceptions import UserConfigValidationException  # type: ignore[import-not-found]

OUTCOME = "outcome"


def random(case: Case) -> Answering:
    return _explaining(case, "random", {"random_seed": SEED})


def genetic(case: Case) -> Answering:
    return _explaining(case, "genetic", {})


def kdtree(case: Case) -> Answering:
    # its default, a linear scan in steps of a column's last decimal, does not end within minutes here
    return _explaining(case, "kdtree", {"posthoc_sparsity_algorithm": "binary"})


class _Model:
    """The case's model over frames, which is all that DiCE sends."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def predict_proba(self, frame: pd.DataFrame) -> Matrix:
        return self.case.scores(_own_form(self.case, frame))

    def predict(self, frame: pd.DataFrame) -> Any:
        return self.predict_proba(frame).argmax(axis=1)


def _explaining(case: Case, method: str, more: dict[str, Any]) -> Answering:
    frame = _as_frame(case, case.data)
    numbers = [one.name for one in case.columns if one.kind != "category"]
    labelled = frame.assign(**{OUTCOME: case.labels(case.data)})
    data = dice_ml.Data(dataframe=labelled, continuous_features=numbers, outcome_name=OUTCOME)
    model = dice_ml.Model(model=_Model(case), backend="sklearn", model_type="classifier")
    explainer = dice_ml.Dice(data, model, method=method)
    free = [one.name for one, is_free in zip(case.columns, case.free, strict=True) if is_free]

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        for i in which:
            # the generator that DiCE draws from
            np.random.seed(SEED)  # noqa: NPY002
            query = _as_frame(case, case.only(np.array([i])).queries)
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    found = explainer.generate_counterfactuals(
                        query,
                        total_CFs=OFFERS,
                        desired_class=case.one_target,
                        features_to_vary=free,
                        permitted_range=_permitted(case, i),
                        verbose=False,
                        **more,
                    )
            except UserConfigValidationException:
                yield none(case)
                continue
            rows = found.cf_examples_list[0].final_cfs_df
            yield none(case) if rows is None else case.matrix(_own_form(case, rows))

    return answer


def _permitted(case: Case, i: int) -> dict[str, list[Any]]:
    ranges: dict[str, list[Any]] = {}
    for j, one in enumerate(case.columns):
        if case.free[j] and one.kind == "category":
            ranges[one.name] = list(one.levels)
        elif case.free[j]:
            ranges[one.name] = [case.low[i, j], case.high[i, j]]
    return ranges


def _as_frame(case: Case, rows: Any) -> pd.DataFrame:
    if isinstance(rows, pd.DataFrame):
        return rows.reset_index(drop=True)
    return pd.DataFrame(rows, columns=[one.name for one in case.columns])


def _own_form(case: Case, frame: pd.DataFrame) -> Any:
    columns = {}
    for one in case.columns:
        cells = frame[one.name]
        columns[one.name] = cells.astype(str) if one.kind == "category" else cells.astype(float)
    own = pd.DataFrame(columns)
    return own.to_numpy() if isinstance(case.data, np.ndarray) else own
