"""What a world asks about: fitted models and functions, the wished outcome, and a watch on what is asked."""

import copy
import math
import pickle
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from tests.generated.columns import Column, Mask, Matrix, to_codes, to_rows
from tests.generated.functions import Function

import ssba

_ASKED = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A scikit-learn kind of model and what it is fitted to; `weights` replace those it learnt."""

    estimator: Any
    y: NDArray[Any]
    weights: tuple[float, ...] = ()
    intercept: float = 0.0

    def build(self, rows: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(self.estimator).fit(rows, self.y)
        if self.weights:
            model.coef_[:], model.intercept_[:] = self.weights, self.intercept
        return model


Model = Function | Fitted


@dataclass(frozen=True)
class Target:
    """The wished outcome: a class, any other class, a probability, or an interval of numbers."""

    kind: Literal["class", "other", "probability", "number"]
    label: Any = None
    at_least: float = 0.5
    low: float = -math.inf
    high: float = math.inf

    def given(self) -> Any:
        """Return the target as the library takes it."""
        match self.kind:
            case "class":
                return self.label
            case "other":
                return None
            case "probability":
                return ssba.probability(self.label, at_least=self.at_least)
            case "number":
                return ssba.value_between(self.low, self.high)

    def source(self) -> str:
        if self.kind == "probability":
            return f"ssba.probability({self.label!r}, at_least={self.at_least!r})"
        if self.kind == "number":
            ends = {"low": self.low, "high": self.high}
            told = ", ".join(f"{name}={end!r}" for name, end in ends.items() if math.isfinite(end))
            return f"ssba.value_between({told})"
        return repr(self.label if self.kind == "class" else None)


@dataclass(frozen=True, eq=False)
class Judge:
    """The checker's own copy of the model: whether rows reach the target, by the model's own answers."""

    model: Any
    columns: tuple[Column, ...]
    as_array: bool
    target: Target
    query: Matrix

    def rows(self, Z: Matrix) -> Any:
        return to_rows(self.columns, Z, self.as_array)

    @property
    def is_function(self) -> bool:
        return isinstance(self.model, Function)

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.model.classes if self.is_function else tuple(np.asarray(self.model.classes_).tolist())

    def labels(self, Z: Matrix) -> NDArray[Any]:
        if not self.is_function:
            return np.asarray(self.model.predict(self.rows(Z)))
        answer = np.asarray(self.model(self.rows(Z)))
        if self.model.mode == "probability":
            return np.asarray(answer > 0.5).astype(int)
        return np.asarray(answer.argmax(axis=1) if self.model.mode == "scores" else answer)

    def scores(self, Z: Matrix) -> Matrix | None:
        """Return a score for each class, or one number for a model of numbers; None by labels only."""
        rows = self.rows(Z)
        if self.is_function:
            if self.model.mode == "labels":
                return None
            answer = np.asarray(self.model(rows), dtype=float)
            return np.column_stack([1 - answer, answer]) if self.model.mode == "probability" else answer
        if self.target.kind == "number":
            return np.asarray(self.model.predict(rows), dtype=float)
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(rows), dtype=float)
        if hasattr(self.model, "decision_function"):
            found = np.asarray(self.model.decision_function(rows), dtype=float)
            return np.column_stack([-found, found]) if found.ndim == 1 else found
        return None

    def margin(self, Z: Matrix) -> Matrix | None:
        """Return by how much rows pass the target, as `ssba.score_margin` measures it."""
        scores = self.scores(Z)
        if scores is None:
            return None
        if self.target.kind == "number":
            return np.minimum(scores - self.target.low, self.target.high - scores)
        place = self.classes.index(self._left if self.target.kind == "other" else self.target.label)
        if self.target.kind == "probability":
            return np.asarray(scores[:, place] - self.target.at_least)
        lead = scores[:, place] - np.delete(scores, place, axis=1).max(axis=1)
        return np.asarray(-lead if self.target.kind == "other" else lead)

    def score(self, Z: Matrix) -> Matrix | None:
        """Return the score that speaks for the target."""
        scores = self.scores(Z)
        if scores is None or self.target.kind == "number":
            return scores
        if self.target.kind != "other":
            return np.asarray(scores[:, self.classes.index(self.target.label)])
        return np.asarray(np.delete(scores, self.classes.index(self._left), axis=1).max(axis=1))

    @property
    def _left(self) -> Any:
        """The class to leave, where any other will do."""
        return self.labels(self.query[None, :])[0]

    def reaches(self, Z: Matrix) -> Mask:
        if not len(Z):
            return np.zeros(0, dtype=bool)
        match self.target.kind:
            case "class":
                return np.asarray(self.labels(Z) == self.target.label)
            case "other":
                return np.asarray(self.labels(Z) != self._left)
            case _:
                margin = self.margin(Z)
                assert margin is not None
                return margin >= 0

    def reaches_alone(self, z: Matrix) -> bool:
        return bool(self.reaches(z[None, :])[0])


@dataclass
class Watch:
    """Counts what the model is asked about that no row should hold, by what it is."""

    columns: tuple[Column, ...]
    may_miss: Mask
    odd: dict[str, int] = field(default_factory=dict)

    def look(self, rows: Any) -> None:
        Z = to_codes(self.columns, rows)
        for what, found in (
            ("a missing cell", np.isnan(Z) & ~self.may_miss),
            ("an infinite or unknown cell", np.isinf(Z)),
        ):
            if found.any():
                self.odd[what] = self.odd.get(what, 0) + int(found.sum())


@dataclass(frozen=True)
class WatchedFunction:
    """A function that notes what it is asked."""

    function: Function
    watch: Watch

    def __call__(self, rows: Any) -> Any:
        self.watch.look(rows)
        return self.function(rows)


def watched(model: Any, watch: Watch) -> Any:
    """Return a model of the same kind that notes what it is asked."""
    if isinstance(model, Function):
        return WatchedFunction(model, watch)
    model = copy.deepcopy(model)
    for name in _ASKED:
        if hasattr(model, name):
            setattr(model, name, _noting(getattr(model, name), watch))
    return model


def _noting(ask: Any, watch: Watch) -> Any:
    def noted(*given: Any, **named: Any) -> Any:
        watch.look(given[0] if given else named["X"])
        return ask(*given, **named)

    return noted


def inside(model: Any) -> bytes:
    """Return what a model consists of, to tell whether it was changed."""
    if isinstance(model, WatchedFunction):
        return b""
    return pickle.dumps({name: value for name, value in vars(model).items() if name not in _ASKED})
