"""The problems of the figures: cases of `benchmarks.nearest`, with any number of queries."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.batch.meter import Meter
from benchmarks.nearest.cases import Case
from benchmarks.nearest.plans import SEED, build
from benchmarks.nearest.sources import mixed_heart
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import ssba

Matrix = NDArray[np.float64]

ANSWERS = ("labels", "scores")
"""What the model is reduced to: a function to classes, or one to probabilities."""

_ADULT = (
    *(f"{name} == x.{name}" for name in ("race", "gender", "marital_status")),
    "age >= x.age",
)
_MIXED_SHARE = 0.2
"""How many cells of a drawn query come from another row."""


@dataclass(frozen=True)
class Problem:
    """A case with its constraints; Adult has six free columns here, not the two that have proved limits."""

    case: Case
    constraints: tuple[str, ...]

    def explainer(self, answers: str) -> tuple[ssba.Explainer, Meter]:
        """An explainer around one of `ANSWERS`, and what counts its questions from now on."""
        meter = Meter(getattr(self.case, answers))
        explainer = ssba.Explainer(meter.predict, self.case.data, **self.case.options())
        meter.reset()
        return explainer, meter

    def itself(self) -> ssba.Explainer:
        """An explainer around the model itself, which can be looked into."""
        return ssba.Explainer(self.case.model, self.case.data, **self.case.options())

    def queries(self, count: int) -> Any:
        """Draw rows that the model puts into the undesired class, in the form that it takes.

        A data set has too few of them for a large batch, and the same ones again might be recognised: each is
        a row of the data with some cells of another.
        """
        rng = np.random.default_rng(SEED)
        drawn = np.zeros((0, len(self.case.columns)))
        while len(drawn) < count:
            rows = _crossed(self.case.background, count, rng)
            drawn = np.concatenate([drawn, rows[self.case.labels(self.case.rows(rows)) != self.case.target]])
        return self.case.rows(drawn[:count])


def _crossed(background: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    rows, others = (background[rng.integers(len(background), size=count)] for _ in range(2))
    return np.where(rng.random(rows.shape) < _MIXED_SHARE, others, rows)


def problem(name: str, folder: Path | None) -> Problem:
    """The case of this name; `folder` is the one given with --data."""
    case = build(name, folder)
    return Problem(case, _ADULT if name.startswith("adult") else case.constraints)


def heart_frame(last_step: Any) -> Problem:
    """The packaged heart frame, its encoders in front of another model than the logistic regression."""
    case, table = build("heart-mixed"), mixed_heart()
    model = make_pipeline(clone(case.model[0]), last_step).fit(table.rows, table.labels)
    return Problem(replace(case, model=model), case.constraints)
