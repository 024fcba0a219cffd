"""How raw scores of an opened model become labels, and a goal as inequalities between raw scores."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ssba.models.answers import Output, first_highest
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Link = Literal["none", "share", "logistic"]

# Of a value: what dividing and rounding it once more may change.
_LAST_BITS = 2.0**-50


@final
@dataclass(frozen=True)
class Scoring:
    """What the raw scores of a model say.

    Attributes
    ----------
    classes
        The labels in the order of the raw columns, or of the negative and positive side of a single
        column; None for a regressor, whose single column is its value.
    columns
        How many raw columns there are.
    link
        How they become probabilities: not at all, divided by `total`, or by the logistic
        function (softmax where there are several columns).
    total
        What the raw scores are divided by: the number of trees that vote.
    precision
        How far the model's own probabilities may be from what the link gives.
    """

    classes: tuple[Any, ...] | None
    columns: int
    link: Link = "none"
    total: float = 1.0
    precision: float = 2.0**-45

    def output(self, raw: Matrix) -> Output:
        """Return the answers that raw scores [n, columns] stand for."""
        if self.classes is None:
            return Output(values=raw[:, 0] / self.total)
        both = np.stack([-raw[:, 0], raw[:, 0]], axis=1) if self.columns == 1 else raw
        labels = np.fromiter(self.classes, dtype=object)[first_highest(both)]
        return Output(labels=labels, scores=self._probabilities(raw))

    def _probabilities(self, raw: Matrix) -> Matrix | None:
        if self.link == "share":
            return raw / self.total
        if self.link == "logistic" and self.columns == 1:
            return np.stack([expit(-raw[:, 0]), expit(raw[:, 0])], axis=1)
        return np.asarray(softmax(raw, axis=1)) if self.link == "logistic" else None


@final
@dataclass(frozen=True)
class Condition:
    """``weight . raw + offset >= 0``; `beyond` where equality is not enough.

    `vague` is how near to equality the model's own arithmetic behind the raw scores may decide otherwise.
    `limit` is the number that the raw score, once it is divided by the total, is compared with.
    """

    weight: Vector
    offset: float
    beyond: bool = False
    vague: float = 0.0
    limit: float | None = None


Way = tuple[Condition, ...]
"""One way to reach a goal: all its conditions hold at once."""


def ways_to(goal: Goal, scoring: Scoring) -> list[Way] | None:
    """Return the ways to reach a goal, of which any one will do; None where raw scores cannot tell it.

    Examples
    --------
    >>> three = Scoring(("a", "b", "c"), 3)
    >>> [[one.weight.tolist() for one in way] for way in ways_to(Reach("b"), three)]
    [[[-1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]]
    >>> len(ways_to(Leave("b"), three))
    2
    """
    match goal:
        case Reach(label):
            index, others = _split(scoring, label)
            return [tuple(_lead(scoring, index, other) for other in others)]
        case Leave(label):
            index, others = _split(scoring, label)
            return [(_lead(scoring, other, index),) for other in others]
        case Probability(label, at_least, at_most):
            ends = [(1.0, at_least)] if at_least > 0 else []
            ends += [(-1.0, at_most)] if at_most < 1 else []
            conditions = [_probable(scoring, label, sign, end) for sign, end in ends]
            known = tuple(one for one in conditions if one is not None)
            return [known] if len(known) == len(conditions) else None
        case ValueBetween(low, high):
            both = ((1.0, low), (-1.0, high))
            return [tuple(_limited(scoring, 0, sign, end) for sign, end in both if math.isfinite(end))]


def agrees(scoring: Scoring, raw: Matrix, asked: Output, tolerance: Vector) -> bool:
    """Tell whether raw scores give the model's own labels or values, as far as `tolerance` [n] allows."""
    if scoring.columns != 1 and scoring.columns != len(scoring.classes or ()):
        return False
    if scoring.columns == 1 and scoring.classes is not None and len(scoring.classes) != 2:
        return False
    mine = scoring.output(raw)
    if mine.values is not None:
        if asked.values is None:
            return False
        apart = np.abs(mine.values - asked.values)
        return bool((apart <= tolerance / scoring.total + _LAST_BITS * np.abs(asked.values)).all())
    if asked.labels is None:
        return False
    return bool((_is_close_call(raw, tolerance) | (mine.labels == asked.labels)).all())


def link_of(scoring: Scoring, raw: Matrix, asked: Output, tolerance: Vector) -> Link:
    """Return the link that gives the model's own probabilities, or none."""
    if asked.scores is None:
        return "none"
    candidates: tuple[Link, ...] = ("share", "logistic")
    for link in candidates:
        if link == "share" and scoring.columns != asked.scores.shape[1]:
            continue
        mine = replace(scoring, link=link).output(raw).scores
        # No link is steeper than the identity.
        apart = scoring.precision + tolerance[:, None]
        if mine is not None and (np.abs(mine - asked.scores) <= apart).all():
            return link
    return "none"


def _is_close_call(raw: Matrix, tolerance: Vector) -> NDArray[np.bool_]:
    if raw.shape[1] == 1:
        return np.asarray(np.abs(raw[:, 0]) <= tolerance)
    first, second = np.sort(raw, axis=1)[:, :-3:-1].T
    return np.asarray(first - second <= 2 * tolerance)


def _split(scoring: Scoring, label: Any) -> tuple[int, list[int]]:
    assert scoring.classes is not None
    index = scoring.classes.index(label)
    return index, [other for other in range(len(scoring.classes)) if other != index]


def _lead(scoring: Scoring, index: int, other: int) -> Condition:
    """Class `index` is ahead of `other`; of equal scores the first class is the prediction."""
    if scoring.columns == 1:
        return Condition(np.array([1.0 if index == 1 else -1.0]), 0.0, beyond=index == 1)
    weight = np.zeros(scoring.columns)
    weight[index], weight[other] = 1.0, -1.0
    return Condition(weight, 0.0, beyond=index > other)


def _limited(scoring: Scoring, index: int, sign: float, limit: float) -> Condition:
    """A raw score, once it is divided by the total, is at least `limit`, or at most for a negative sign."""
    weight = sign * np.eye(scoring.columns)[index]
    return Condition(weight, -sign * limit * scoring.total, limit=limit)


def _probable(scoring: Scoring, label: Any, sign: float, limit: float) -> Condition | None:
    """A class has a probability of at least `limit`, or at most for a negative sign."""
    assert scoring.classes is not None
    index = scoring.classes.index(label)
    if scoring.link == "share":
        return _limited(scoring, index, sign, limit)
    if scoring.link == "logistic" and scoring.columns == 1 and 0 < limit < 1:
        way = sign if index == 1 else -sign
        # Where the logistic function is flat, a small error of a probability is a large one of its score.
        vague = 2 * scoring.precision / (limit * (1 - limit))
        return Condition(np.array([way]), -sign * math.log(limit / (1 - limit)), vague=vague)
    # Softmax of several classes is no inequality between two of them.
    return None
