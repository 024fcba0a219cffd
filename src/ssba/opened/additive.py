"""Linear models in the encoded space: a weight for each number, a table for each column of levels."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.opened.inputs import are_affine, take_apart, transformed
from ssba.opened.scoring import Scoring, agrees, link_of
from ssba.problem.models import Model
from ssba.problem.space import Matrix, Space

Vector = NDArray[np.float64]

_CLASSIFIERS = frozenset(
    [
        "LogisticRegression",
        "LogisticRegressionCV",
        "LinearSVC",
        "SGDClassifier",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "Perceptron",
        "PassiveAggressiveClassifier",
        "LinearDiscriminantAnalysis",
        "SVC",
    ]
)
_REGRESSORS = frozenset(
    [
        "LinearRegression",
        "Ridge",
        "RidgeCV",
        "Lasso",
        "LassoCV",
        "LassoLars",
        "LassoLarsCV",
        "Lars",
        "LarsCV",
        "ElasticNet",
        "ElasticNetCV",
        "BayesianRidge",
        "ARDRegression",
        "HuberRegressor",
        "SGDRegressor",
        "PassiveAggressiveRegressor",
        "LinearSVR",
        "TheilSenRegressor",
        "QuantileRegressor",
        "OrthogonalMatchingPursuit",
    ]
)
# Rows with cells mixed from the background, on which weights and tables must give the model's scores.
_CHECKED_ROWS = 256
# Of the largest score: what a difference of 32-bit sums may be.
_ACCURACY = 1e-5


@final
@dataclass(frozen=True)
class Additive:
    """An opened linear model.

    Raw scores are ``offset + weight @ z`` over the columns of numbers, plus ``tables[j][:, code]`` for
    each column j of levels. `rounding` is how far the model's own scores may be from that.
    """

    weight: Matrix
    tables: dict[int, Matrix]
    offset: Vector
    scoring: Scoring
    rounding: float

    def raw(self, Z: Matrix) -> Matrix:
        """Return the raw scores of encoded rows."""
        coded = list(self.tables)
        numbers = Z.copy()
        numbers[:, coded] = 0.0
        total = numbers @ self.weight.T + self.offset
        for j, table in self.tables.items():
            total += table[:, Z[:, j].astype(np.int64)].T
        return np.asarray(total)


def open_linear(source: Any, model: Model, space: Space, background: Matrix) -> Additive | None:
    """Open a linear model, alone or behind affine steps and one-hot columns.

    That it is linear is told by the types of its parts; weights and tables are read off its answers.
    """
    steps, last = take_apart(source)
    if not _is_linear(last) or not are_affine(steps):
        return None
    ask = last.decision_function if type(last).__name__ in _CLASSIFIERS else last.predict
    complete = background[~np.isnan(background).any(axis=1)]
    if not len(complete):
        return None

    def raw(Z: Matrix) -> Matrix:
        answer = np.asarray(ask(transformed(steps, space.decode(Z))), dtype=np.float64)
        return answer[:, None] if answer.ndim == 1 else answer

    read = _read(raw, space, complete)
    mixed = _mixed(complete)
    own = raw(mixed)
    off = float(np.abs(own - read.raw(mixed)).max())
    size = float(np.abs(own).max(initial=0.0)) + 1e-300
    if off > _ACCURACY * size:
        return None
    rows = space.decode(mixed)
    plain = Scoring(model.classes, own.shape[1])
    if not agrees(plain, own, model, rows):
        return None
    scoring = Scoring(model.classes, own.shape[1], link_of(plain, own, model, rows))
    return Additive(read.weight, read.tables, read.offset, scoring, 4 * off + 2.0**-48 * size)


def _is_linear(last: Any) -> bool:
    name = type(last).__name__
    if type(last).__module__.partition(".")[0] != "sklearn" or name not in _CLASSIFIERS | _REGRESSORS:
        return False
    if name == "SVC":
        # With more than two classes it lets pairs of them vote.
        return bool(last.kernel == "linear" and len(last.classes_) == 2)
    if name in _REGRESSORS:
        return bool(np.ndim(last.coef_) == 1 or np.shape(last.coef_)[0] == 1)
    return True


def _read(raw: Any, space: Space, background: Matrix) -> Additive:
    """Read weights and tables off differences to one row."""
    base = background[0]
    probes, homes = [base], [-1]
    for j, feature in enumerate(space.features):
        values = np.arange(len(feature.levels), dtype=float) if feature.has_levels else _far(background[:, j])
        for value in values:
            row = base.copy()
            row[j] = value
            probes.append(row if feature.has_levels else _snapped(space, row, j))
            homes.append(j)
    rows, home = np.stack(probes), np.array(homes)
    answers = raw(rows)
    gained = answers - answers[0]
    weight = np.zeros((answers.shape[1], len(space.features)))
    tables = {}
    for j, feature in enumerate(space.features):
        mine = home == j
        if feature.has_levels:
            tables[j] = gained[mine].T
        else:
            weight[:, j] = gained[mine][0] / (rows[mine][0, j] - base[j])
    coded = np.array([feature.has_levels for feature in space.features], dtype=bool)
    offset = answers[0] - weight @ np.where(coded, 0.0, base)
    return Additive(weight, tables, offset, Scoring(None, answers.shape[1]), 0.0)


def _snapped(space: Space, row: Vector, j: int) -> Vector:
    snapped = row.copy()
    snapped[j] = space.grid.snap(row[None, :])[0, j]
    return snapped


def _far(column: Vector) -> Vector:
    """Return the value of a column farthest from its first one, where differences are the most exact."""
    far = column[np.abs(column - column[0]).argmax()]
    return np.array([far if far != column[0] else column[0] + 1.0])


def _mixed(background: Matrix) -> Matrix:
    """Return rows whose cells come from different background rows, by a fixed rule."""
    n, width = background.shape
    row = np.arange(min(_CHECKED_ROWS, 4 * n))[:, None]
    return np.asarray(
        background[(row + row * np.arange(width) // 4 + 7 * np.arange(width)) % n, np.arange(width)]
    )
