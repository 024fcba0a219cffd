"""How raw scores of an opened model become labels, and a goal as inequalities between raw scores."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ssba.arrays import Mask, Matrix, Vector
from ssba.models.answers import Model, Output, first_highest
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween
from ssba.whitebox.check_reading import NotReadable

Link = Literal["none", "share", "logistic"]

# Of a value: what dividing and rounding it once more may change.
_LAST_BITS = 2.0**-50


class CannotTell(Exception):
    """What is asked cannot be answered from an opened model; the message says why, as users see it."""


@final
@dataclass(frozen=True)
class Threshold:
    """A class is predicted where its score is at least `limit`, else the other of two classes.

    The score is its probability or, where not `by_probability`, the decision function toward it. `label` is
    the class, None for the second one.
    """

    label: Any
    limit: float
    by_probability: bool


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
    threshold
        What decides between two classes, where that is not the higher score.
    """

    classes: tuple[Any, ...] | None
    columns: int
    link: Link = "none"
    total: float = 1.0
    precision: float = 2.0**-45
    threshold: Threshold | None = None

    @property
    def positive(self) -> int:
        """Which class has the score that the threshold is for."""
        assert self.classes is not None
        label = None if self.threshold is None else self.threshold.label
        return 1 if label is None else self.classes.index(label)

    def output(self, raw: Matrix) -> Output:
        """Return the answers that raw scores [n, columns] stand for."""
        if self.classes is None:
            return Output(values=raw[:, 0] / self.total)
        labels = np.fromiter(self.classes, dtype=object)[self._predicted(raw)]
        return Output(labels=labels, scores=self._probabilities(raw))

    def _predicted(self, raw: Matrix) -> NDArray[np.intp]:
        both = np.stack([-raw[:, 0], raw[:, 0]], axis=1) if self.columns == 1 else raw
        if self.threshold is None:
            return np.asarray(first_highest(both))
        scores = self._probabilities(raw) if self.threshold.by_probability else both
        assert scores is not None, "without probabilities a threshold on them is refused"
        passed = scores[:, self.positive] >= self.threshold.limit
        return np.where(passed, self.positive, 1 - self.positive)

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


def ways_to(goal: Goal, scoring: Scoring) -> list[Way]:
    """Return the ways to reach a goal, of which any one will do; `CannotTell` where raw scores do not say.

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
            return [tuple(_probable(scoring, label, sign, end) for sign, end in ends)]
        case ValueBetween(low, high):
            both = ((1.0, low), (-1.0, high))
            return [tuple(_limited(scoring, 0, sign, end) for sign, end in both if math.isfinite(end))]


def settled(scoring: Scoring, raw: Matrix, asked: Output, tolerance: Vector, model: Model) -> Scoring:
    """Return a scoring with the link that the model's own answers show, as far as `tolerance` [n] allows.

    `NotReadable` where its labels or values are not those that raw scores stand for.
    """
    _check_form(scoring, asked)
    link = _link_of(scoring, raw, asked, tolerance) if model.gives_probabilities else "none"
    linked = replace(scoring, link=link)
    if linked.threshold is not None:
        try:
            _passed(linked, passed=True)
        except CannotTell as error:
            raise NotReadable(f"it decides by a threshold of its own, and {error}") from error
    wrong = _contradicted(linked, raw, asked, tolerance)
    if wrong.any():
        raise disagreement(wrong, "predictions")
    return linked


def disagreement(wrong: Mask, what: str) -> NotReadable:
    """Say at how many of the rows that were checked a model contradicts what was read."""
    return NotReadable(
        f"the model as read disagrees with its own {what} at {int(wrong.sum())} of {len(wrong)} rows"
    )


def _check_form(scoring: Scoring, asked: Output) -> None:
    if scoring.classes is None:
        fits = scoring.columns == 1 and asked.values is not None
    else:
        several = scoring.columns == len(scoring.classes) > 1
        fits = asked.labels is not None and (several or (scoring.columns == 1 and len(scoring.classes) == 2))
        two = len(scoring.classes) == 2
        threshold = scoring.threshold
        fits = fits and (threshold is None or (two and (threshold.by_probability or scoring.columns == 1)))
    if not fits:
        raise NotReadable("its raw scores are not one a class, so that they do not say what it predicts")


def _contradicted(scoring: Scoring, raw: Matrix, asked: Output, tolerance: Vector) -> Mask:
    """Tell at which rows the model's own labels or values are not those of the raw scores, [n]."""
    mine = scoring.output(raw)
    if mine.values is not None and asked.values is not None:
        apart = np.abs(mine.values - asked.values)
        return np.asarray(apart > tolerance / scoring.total + _LAST_BITS * np.abs(asked.values))
    return np.asarray((mine.labels != asked.labels) & ~_is_close_call(scoring, raw, tolerance))


def _link_of(scoring: Scoring, raw: Matrix, asked: Output, tolerance: Vector) -> Link:
    """Return the link that gives the model's own probabilities, or none."""
    if asked.scores is None or scoring.classes is None:
        return "none"
    candidates: tuple[Link, ...] = ("share", "logistic")
    for link in candidates:
        if link == "share" and scoring.columns != asked.scores.shape[1]:
            continue
        mine = replace(scoring, threshold=None, link=link).output(raw).scores
        # No link is steeper than the identity.
        apart = scoring.precision + tolerance[:, None]
        if mine is not None and (np.abs(mine - asked.scores) <= apart).all():
            return link
    return "none"


def _is_close_call(scoring: Scoring, raw: Matrix, tolerance: Vector) -> Mask:
    if scoring.threshold is not None:
        condition = _passed(scoring, passed=True)
        return np.asarray(np.abs(raw @ condition.weight + condition.offset) <= tolerance + condition.vague)
    if scoring.columns == 1:
        return np.asarray(np.abs(raw[:, 0]) <= tolerance)
    first, second = np.sort(raw, axis=1)[:, :-3:-1].T
    return np.asarray(first - second <= 2 * tolerance)


def _split(scoring: Scoring, label: Any) -> tuple[int, list[int]]:
    assert scoring.classes is not None
    index = scoring.classes.index(label)
    return index, [other for other in range(len(scoring.classes)) if other != index]


def _lead(scoring: Scoring, index: int, other: int) -> Condition:
    """Class `index` is ahead of `other`; of equal scores the first class is the prediction."""
    if scoring.threshold is not None:
        return _passed(scoring, passed=index == scoring.positive)
    if scoring.columns == 1:
        return Condition(np.array([1.0 if index == 1 else -1.0]), 0.0, beyond=index == 1)
    weight = np.zeros(scoring.columns)
    weight[index], weight[other] = 1.0, -1.0
    return Condition(weight, 0.0, beyond=index > other)


def _passed(scoring: Scoring, *, passed: bool) -> Condition:
    """The score that a threshold is for is at least that; below it where not `passed`."""
    threshold, classes = scoring.threshold, scoring.classes
    assert threshold is not None
    assert classes is not None
    sign = 1.0 if passed else -1.0
    if threshold.by_probability:
        condition = _probable(scoring, classes[scoring.positive], sign, threshold.limit)
    else:
        toward = 1.0 if scoring.positive == 1 else -1.0
        # The last bits of the score are the model's own business.
        vague = _LAST_BITS * abs(threshold.limit)
        condition = Condition(np.array([sign * toward]), -sign * threshold.limit, vague=vague)
    return replace(condition, beyond=not passed)


def _limited(scoring: Scoring, index: int, sign: float, limit: float) -> Condition:
    """A raw score, once it is divided by the total, is at least `limit`, or at most for a negative sign."""
    weight = sign * np.eye(scoring.columns)[index]
    return Condition(weight, -sign * limit * scoring.total, limit=limit)


def _probable(scoring: Scoring, label: Any, sign: float, limit: float) -> Condition:
    """A class has a probability of at least `limit`, or at most for a negative sign."""
    assert scoring.classes is not None
    index = scoring.classes.index(label)
    if scoring.link == "share":
        return _limited(scoring, index, sign, limit)
    if scoring.link == "logistic" and scoring.columns == 1:
        if not 0 < limit < 1:
            raise CannotTell(f"no raw score has a probability of {limit:g}")
        way = sign if index == 1 else -sign
        # Where the logistic function is flat, a small error of a probability is a large one of its score.
        vague = 2 * scoring.precision / (limit * (1 - limit))
        return Condition(np.array([way]), -sign * math.log(limit / (1 - limit)), vague=vague)
    if scoring.link == "logistic" and scoring.columns > 1:
        # Softmax of several classes is no inequality between two of them.
        raise CannotTell("a probability of one of several boosted or linear classes is no single sum")
    raise CannotTell("the model's probabilities do not follow from its raw scores")
