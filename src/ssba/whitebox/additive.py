"""Linear models in the encoded space: a weight for each number, a table for each column of levels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ssba.arrays import Vector
from ssba.columns.space import Matrix, Space
from ssba.models.model import Model
from ssba.whitebox.check_reading import (
    NotReadable,
    column_rows,
    mixed_background,
    mixed_values,
    probed_values,
    sent_through,
    the_users_code,
)
from ssba.whitebox.scoring import Scoring, disagreement, settled
from ssba.whitebox.structure import Parts, affine_problem, one_a_class

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
# Of the largest score: what a difference of 32-bit sums may be.
_ACCURACY = 1e-5
# Probabilities are computed to this many parts, from scores of 64 and of 32 bits.
_PROBABILITY, _SINGLE_PROBABILITY = 2.0**-45, 2.0**-20


@final
@dataclass(frozen=True)
class Additive:
    """An opened linear model.

    Raw scores are ``offset + weight @ z`` over the columns of numbers, plus ``tables[j][:, code]`` for
    each column j of levels. All of it was read off differences of scores to those of the row `base`, each
    of which may be wrong by `error`; numbers were moved by `reach` for it. So what is read may be off by
    more, the farther a row is from there: `rounding` tells how much.
    """

    weight: Matrix
    tables: dict[int, Matrix]
    offset: Vector
    scoring: Scoring
    base: Vector
    reach: Vector
    error: float = 0.0

    def raw(self, Z: Matrix) -> Matrix:
        """Return the raw scores of encoded rows."""
        coded = list(self.tables)
        numbers = Z.copy()
        numbers[:, coded] = 0.0
        total = numbers @ self.weight.T + self.offset
        for j, table in self.tables.items():
            total += table[:, Z[:, j].astype(np.int64)].T
        return np.asarray(total)

    def rounding(self, away: Matrix) -> Vector:
        """Return how far the model's own scores may be from what was read, [n].

        `away` tells how far cells are from those of `base`, [n, columns]; only numbers count.
        """
        moved = np.abs(away)
        reaches = np.divide(moved, self.reach, out=np.zeros_like(moved), where=np.isfinite(self.reach))
        # Terms of a sum grow with the cells they come from, and their rounding errors with them; the errors
        # of two scores make that of a weight, which counts as often as its cell is farther out.
        theirs = 2 * self.error * (1 + len(self.tables) + 2 * reaches.sum(axis=1))
        return np.asarray(theirs + (len(self.base) + 8) * 2.0**-53 * self._size(moved))

    def _size(self, moved: Matrix) -> Vector:
        """Return what the terms of our own sums add up to without their signs, at most."""
        weight = np.abs(self.weight).max(axis=0)
        cells = np.where(weight > 0, moved + np.abs(np.nan_to_num(self.base)), 0.0)
        constants = np.abs(self.offset).max() + sum(np.abs(table).max() for table in self.tables.values())
        return np.asarray(cells @ weight + constants)


def is_linear(last: Any) -> bool:
    """Tell whether an estimator is a linear model, or one linear model a class."""
    inner = one_a_class(last)
    if inner is not None:
        return all(type(one).__name__ in _CLASSIFIERS and _is_linear_alone(one) for one in inner)
    return _is_linear_alone(last)


def open_linear(parts: Parts, model: Model, space: Space, background: Matrix) -> Additive:
    """Open a linear model, alone or behind affine steps and one-hot columns.

    That it is linear is determined by the types of its parts; weights and tables are read off its answers.
    """
    steps, last = parts.steps, parts.last
    if problem := affine_problem(steps, space):
        raise NotReadable(problem)
    complete = background[~np.isnan(background).any(axis=1)]
    if not len(complete):
        raise NotReadable("no background row is without a missing cell")
    values = [probed_values(space, complete, j) for j in range(len(space.features))]

    def ask(Z: Matrix) -> _Answers:
        with the_users_code():
            return _answers(last, sent_through(steps, space.decode(Z)))

    read, probed = _read(ask, space, complete, values)
    inside, outside = mixed_background(complete), _unusual_rows(complete[0], values)
    own = ask(inside)
    apart = np.abs(own.scores - read.raw(inside)).max(axis=1)
    off = float(apart.max())
    allowed = _ACCURACY * float(np.abs(own.scores).max(initial=1e-300))
    if not off <= allowed:
        raise disagreement(~(apart <= allowed), "scores")
    single = bool(space.grid.single.any()) or own.single
    unit = 2.0**-24 if single else 2.0**-53
    read = replace(read, error=max(own.error_at(unit), probed.error_at(unit)) + 4 * off)
    plain = Scoring(
        model.classes,
        own.scores.shape[1],
        precision=_SINGLE_PROBABILITY if single else _PROBABILITY,
        threshold=parts.threshold,
    )
    rows = np.concatenate([inside, outside])
    scores = np.concatenate([own.scores, ask(outside).scores])
    return replace(read, scoring=_checked(plain, read, (rows, scores), model, space))


@final
@dataclass(frozen=True)
class _Answers:
    """Raw scores of rows, and what they were added up from: `count` terms, together at most `size`."""

    scores: Matrix
    size: float
    count: int
    single: bool

    def error_at(self, unit: float) -> float:
        """Return how far a score may be off, whatever the order of its sum; each operation errs by `unit`."""
        return (self.count + 8) * unit * self.size


def _answers(last: Any, inputs: Any) -> _Answers:
    """Ask a linear model, or each of those that make up a model of one a class."""
    parts = [_answers_alone(one, inputs) for one in one_a_class(last) or (last,)]
    return _Answers(
        np.concatenate([part.scores for part in parts], axis=1),
        max(part.size for part in parts),
        max(part.count for part in parts),
        any(part.single for part in parts),
    )


def _answers_alone(last: Any, inputs: Any) -> _Answers:
    ask = last.decision_function if type(last).__name__ in _CLASSIFIERS else last.predict
    answer = np.asarray(ask(inputs))
    cells = inputs if hasattr(inputs, "toarray") else np.asarray(inputs)
    sizes = abs(cells)
    if type(last).__name__ == "SVC":
        terms = sizes @ _absolute(last.support_vectors_).T @ _absolute(last.dual_coef_).T
        count = cells.shape[1] + len(last.support_)
    else:
        terms, count = sizes @ np.atleast_2d(_absolute(last.coef_)).T, cells.shape[1]
    size = float(np.max(terms + np.abs(last.intercept_), initial=0.0))
    scores = np.asarray(answer, dtype=np.float64)
    single = np.float32 in (answer.dtype.type, cells.dtype.type)
    return _Answers(scores[:, None] if scores.ndim == 1 else scores, size, count, single)


def _absolute(coefficients: Any) -> Matrix:
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return np.abs(np.asarray(dense, dtype=np.float64))


def _is_linear_alone(last: Any) -> bool:
    name = type(last).__name__
    if type(last).__module__.partition(".")[0] != "sklearn" or name not in _CLASSIFIERS | _REGRESSORS:
        return False
    if name == "SVC":
        # With more than two classes it lets pairs of them vote.
        return bool(last.kernel == "linear" and len(last.classes_) == 2)
    if name in _REGRESSORS:
        return bool(np.ndim(last.coef_) == 1 or np.shape(last.coef_)[0] == 1)
    return True


def _read(
    ask: Callable[[Matrix], _Answers], space: Space, background: Matrix, values: Sequence[Vector]
) -> tuple[Additive, _Answers]:
    """Read weights and tables off differences to one row; also return the answers they came from."""
    base = background[0]
    far = np.array([_far(background[:, j], values[j]) for j in range(len(base))])
    coded = np.array([feature.has_levels for feature in space.features], dtype=bool)
    parts = [column_rows(base, j, values[j] if coded[j] else far[[j]]) for j in range(len(base))]
    home = np.repeat(np.arange(len(base)), [len(part) for part in parts])
    answers = ask(np.concatenate([base[None, :], *parts]))
    gained = answers.scores[1:] - answers.scores[0]
    tables = {int(j): gained[home == j].T for j in np.flatnonzero(coded)}
    weight = np.zeros((gained.shape[1], len(base)))
    # A column without a second legal value cannot move, and has no weight.
    for j in np.flatnonzero(~coded & (far != base)):
        weight[:, j] = gained[home == j][0] / (far[j] - base[j])
    reach = np.where(coded | (far == base), np.inf, np.abs(far - base))
    offset = answers.scores[0] - weight @ np.where(coded, 0.0, base)
    plain = Scoring(None, gained.shape[1])
    return Additive(weight, tables, offset, plain, base, reach), answers


def _far(column: Vector, values: Vector) -> float:
    """Return the value of a column farthest from its first one, where differences are the most exact."""
    choices = column if np.ptp(column) > 0 else np.append(values, column[0])
    return float(choices[np.abs(choices - column[0]).argmax()])


def _unusual_rows(base: Vector, values: Sequence[Vector]) -> Matrix:
    """Return rows with legal values that the data does not hold, alone and together."""
    alone = [column_rows(base, j, column) for j, column in enumerate(values)]
    return np.concatenate([*alone, mixed_values(values)])


def _checked(
    plain: Scoring, read: Additive, asked: tuple[Matrix, Matrix], model: Model, space: Space
) -> Scoring:
    """Return how scores become answers, held against the model's own scores of rows, and its answers."""
    rows, own = asked
    rounding = read.rounding(rows - read.base)
    wrong = ~np.all(np.abs(own - read.raw(rows)) <= rounding[:, None], axis=1)
    if wrong.any():
        raise disagreement(wrong, "scores")
    with the_users_code():
        answers = model.verdict(space.decode(rows))
    return settled(plain, own, answers, rounding, model)
