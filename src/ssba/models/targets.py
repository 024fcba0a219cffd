"""What outcome is asked for, and whether a model's answer is that outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import copysign, inf, isnan, log, log1p
from numbers import Number
from typing import Any, ClassVar, assert_never, final

import numpy as np

from ssba.arguments import closest, is_number, listing
from ssba.arrays import namespace
from ssba.errors import TargetError
from ssba.models.answers import Array, Model, Output, first_highest, plain


@final
@dataclass(frozen=True)
class Probability:
    """The model gives `label` a probability from `at_least` to `at_most`."""

    label: Any
    at_least: float = 0.0
    at_most: float = 1.0

    has_kind: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ends, given = (self.at_least, self.at_most), f"probability({self.label!r}, ...)"
        for name, end in zip(("at_least", "at_most"), ends, strict=True):
            if not _is_number(end) or not 0 <= end <= 1:
                raise TargetError(f"{given}: {name} is {end!r:.80}; give a number from 0 to 1")
        if self.at_least > self.at_most:
            raise TargetError(f"{given}: at_least={self.at_least!r} is above at_most={self.at_most!r}")
        if ends == (0, 1):
            raise TargetError(f"{given}: every probability reaches it; raise at_least, or lower at_most")


@final
@dataclass(frozen=True)
class ValueBetween:
    """The model's number lies in the closed interval from `low` to `high`."""

    low: float = field(default=-inf, metadata={"null": -inf})
    high: float = field(default=inf, metadata={"null": inf})

    has_kind: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given = f"value_between({self.low!r}, {self.high!r})"
        if not all(_is_number(end) and not isnan(end) for end in (self.low, self.high)):
            raise TargetError(f"{given}: both ends must be numbers; leave an end out where there is no limit")
        if self.low > self.high:
            raise TargetError(
                f"{given}: low is above high; did you mean value_between({self.high}, {self.low})?"
            )


@final
@dataclass(frozen=True)
class Reach:
    """The model predicts `label`."""

    label: Any

    has_kind: ClassVar[bool] = True


@final
@dataclass(frozen=True)
class Leave:
    """The model predicts any class but `label`."""

    label: Any

    has_kind: ClassVar[bool] = True


@final
@dataclass(frozen=True)
class ValueChange:
    """The model's number changes, from what it is for the query, by `at_least` to `at_most`.

    With `percent` by at least so many percent of its size instead: up, or down where it is negative.
    """

    at_least: float = -inf
    at_most: float = inf
    percent: float | None = None

    def __post_init__(self) -> None:
        for name in ("at_least", "at_most", "percent"):
            end = getattr(self, name)
            if not (end is None and name == "percent") and (not _is_number(end) or isnan(end)):
                raise TargetError(f"value_change(...): {name} is {end!r:.80}; give a number")
        if self.at_least > self.at_most:
            raise TargetError(
                f"value_change(...): at_least={self.at_least!r} is above at_most={self.at_most!r}"
            )
        if self.at_least <= 0 <= self.at_most and not self.percent:
            raise TargetError(
                "value_change(...): no change at all would do; give at_least=10 (up by 10 or more), "
                "at_most=-10 (down by 10 or more) or percent=10"
            )
        if self.percent is not None and (self.at_least, self.at_most) != (-inf, inf):
            raise TargetError("value_change(...): give percent, or at_least and at_most, not both")

    def of(self, value: float) -> ValueBetween:
        """Return the interval that is to be reached from a value."""
        if self.percent is None:
            return ValueBetween(value + self.at_least, value + self.at_most)
        end = value + abs(value) * self.percent / 100
        return ValueBetween(low=end) if self.percent > 0 else ValueBetween(high=end)


class _Own:
    """Stands for the target of whoever is asked, since None is one, too."""

    def __repr__(self) -> str:
        return "its own"


OWN_TARGET = _Own()

Goal = Reach | Leave | Probability | ValueBetween
"""The target of one query, resolved: `None` has become the class to leave."""


@final
@dataclass(frozen=True)
class Reply:
    """Per row, whether the goal is reached, and by how much: margin >= 0 exactly where reached."""

    reached: Array
    margin: Array | None


def probability(label: Any, at_least: float | None = None, at_most: float | None = None) -> Probability:
    """Ask for a probability of a class: at least so much (0.5 by default), or at most.

    Examples
    --------
    >>> probability("no disease", at_least=0.7)
    Probability(label='no disease', at_least=0.7, at_most=1.0)
    >>> probability("disease", at_most=0.3)
    Probability(label='disease', at_least=0.0, at_most=0.3)
    """
    if at_least is None:
        at_least = 0.5 if at_most is None else 0.0
    return Probability(label, at_least, 1.0 if at_most is None else at_most)


def value_between(low: float | None = None, high: float | None = None) -> ValueBetween:
    """Ask a regressor for a value from `low` to `high`, both included; an end left out has no limit.

    Examples
    --------
    >>> value_between(high=120)
    ValueBetween(low=-inf, high=120)
    """
    return ValueBetween(-inf if low is None else low, inf if high is None else high)


def value_change(
    at_least: float | None = None, at_most: float | None = None, *, percent: float | None = None
) -> ValueChange:
    """Ask a regressor for a change of its value, relative to what it says about the query.

    Parameters
    ----------
    at_least, at_most : float, optional
        The least and the largest change: ``at_least=10`` is up by 10 or more, ``at_most=-10`` down by 10 or
        more.
    percent : float, optional
        Instead: at least so many percent of the value's size, up, or down where it is negative.

    Examples
    --------
    >>> value_change(at_least=10).of(50.0)
    ValueBetween(low=60.0, high=inf)
    >>> value_change(percent=-20).of(50.0)
    ValueBetween(low=-inf, high=40.0)
    """
    return ValueChange(-inf if at_least is None else at_least, inf if at_most is None else at_most, percent)


def check_target(target: Any, model: Model) -> None:
    """Refuse, with a `TargetError`, a target that the model can never be judged by."""
    if isinstance(target, ValueBetween | ValueChange):
        if model.classes is not None:
            raise TargetError(
                f"{target_call(target)} is for models that give numbers, but {model.name} predicts the "
                f"classes {listing(model.classes, 20)}; name one of them as the target"
            )
        return
    if model.classes is None:
        needs = "no target" if target is None else f"target {target!r}"
        raise TargetError(
            f"{needs}: {model.name} gives numbers and has no classes; use ssba.value_between(low, high) or "
            "ssba.value_change(at_least=...)"
        )
    if target is None:
        if len(model.classes) < 2:
            raise TargetError(
                f"{model.name} knows one class only, {listing(model.classes, 20)}: there is no other"
            )
        return
    _check_label(target.label if isinstance(target, Probability) else target, model.classes, model.name)
    if isinstance(target, Probability) and not model.gives_probabilities:
        raise TargetError(
            f"{target_call(target)}: {model.name} gives no probabilities; use target={target.label!r}, or "
            "calibrate the model so that it has predict_proba"
        )


def resolve(target: Any, prediction: Any) -> Goal:
    """The goal of a query that the model answers with `prediction`: a class, or for a regressor a number.

    No target means any other class.

    Examples
    --------
    >>> resolve(None, "disease"), resolve("healthy", "disease")
    (Leave(label='disease'), Reach(label='healthy'))
    """
    if isinstance(target, ValueChange):
        return target.of(float(prediction))
    if isinstance(target, Probability | ValueBetween):
        return target
    return Leave(plain(prediction)) if target is None else Reach(plain(target))


def target_of(goal: Goal) -> Any:
    """Return the target that a goal is resolved from, whatever the query: None for any other class.

    >>> target_of(Leave("disease")), target_of(Reach("healthy"))
    (None, 'healthy')
    """
    if isinstance(goal, Leave):
        return None
    return goal.label if isinstance(goal, Reach) else goal


def target_call(target: Any) -> str:
    """Write a target as a user gives it.

    >>> target_call("healthy"), target_call(value_between(high=120)), target_call(value_change(percent=10))
    ("'healthy'", 'ssba.value_between(high=120)', 'ssba.value_change(percent=10)')
    """
    match target:
        case Probability(label, at_least, at_most):
            ends = {
                "at_least": at_least if at_least > 0 else None,
                "at_most": at_most if at_most < 1 else None,
            }
            return f"ssba.probability({', '.join([repr(label), *_named(ends)])})"
        case ValueBetween(low, high):
            return f"ssba.value_between({', '.join(_named({'low': low, 'high': high}))})"
        case ValueChange(at_least, at_most, percent):
            ends = {"at_least": at_least, "at_most": at_most, "percent": percent}
            return f"ssba.value_change({', '.join(_named(ends))})"
    return repr(target)


def _named(ends: Mapping[str, float | None]) -> list[str]:
    """Write those ends that are limits, by name."""
    return [f"{name}={end:.9g}" for name, end in ends.items() if end is not None and abs(end) != inf]


def describe_target(target: Any) -> str:
    """The target in words, before there is a query."""
    if target is None:
        return "another class"
    if not isinstance(target, ValueChange):
        return describe(resolve(target, None))
    if target.percent is not None:
        return (
            f"a value that is {'up' if target.percent > 0 else 'down'} by {abs(target.percent):.9g}% or more"
        )
    if target.at_most == inf:
        return f"a value that rises by {target.at_least:.9g} or more"
    if target.at_least == -inf:
        return f"a value that falls by {-target.at_most:.9g} or more"
    return f"a value that changes by {target.at_least:+g} to {target.at_most:+g}"


def judge(goal: Goal, output: Output, classes: tuple[Any, ...] | None) -> Reply:
    """Tell for each row whether the goal is reached, and the margin where there are scores or values."""
    match goal:
        case Reach(label):
            return _judge_labels(output, classes, label, leave=False)
        case Leave(label):
            return _judge_labels(output, classes, label, leave=True)
        case Probability(label, at_least, at_most):
            score = _scores(goal, output)[:, _index(classes, label)]
            # An end that every probability lies within has no margin.
            below = at_most - score if at_most < 1 else inf
            margin = _lesser(score - at_least, below) if at_least > 0 else at_most - score
        case ValueBetween(low, high):
            values = _values(goal, output)
            margin = _lesser(values - low, high - values)
        case _:
            assert_never(goal)
    return Reply(margin >= 0, margin)


def reaches(goal: Goal, prediction: Any, score: float | None) -> bool:
    """Tell whether a row reaches the goal, from its prediction and score as `shown` has them.

    >>> reaches(Leave("ill"), "well", 0.6), reaches(probability("well", at_least=0.7), "well", 0.6)
    (True, False)
    """
    match goal:
        case Reach(label):
            return bool(prediction == label)
        case Leave(label):
            return bool(prediction != label)
        case Probability(_, at_least, at_most):
            return score is not None and at_least <= score <= at_most
        case ValueBetween(low, high):
            return bool(low <= prediction <= high)
        case _:
            assert_never(goal)


def height(goal: Goal, scores: Array, *, probabilities: bool) -> Array:
    """Return a number for each row whose sign is the margin's, and that rises more evenly.

    Probabilities level off where a model is sure; the logarithms of their ratios do not. The classes of a
    goal are the numbers of columns here.
    """
    xp = namespace(scores)
    even = xp.log(scores) if probabilities else scores
    match goal:
        case Reach(number):
            return _lead(even, number)
        case Leave(number):
            return -_lead(even, number)
        case Probability(number, at_least, at_most):
            odds = even[:, number] - xp.log(xp.sum(scores, axis=1) - scores[:, number])
            return _lesser(odds - log_odds(at_least), log_odds(at_most) - odds)
        case ValueBetween():
            raise TargetError("numbers have no scores")
        case _:
            assert_never(goal)


def log_odds(probability: float) -> float:
    """Return the logarithm of the odds of a probability."""
    return log(probability) - log1p(-probability) if 0 < probability < 1 else copysign(inf, probability - 0.5)


def _lesser(one: Array, other: Array | float) -> Array:
    lesser: Array = namespace(one).clip(one, None, other)
    return lesser


def describe(goal: Goal) -> str:
    """The goal in words that fit after "predicts" or "reaches".

    Examples
    --------
    >>> describe(Leave("disease"))
    "any class but 'disease'"
    >>> describe(value_between(high=120))
    'a value of at most 120'
    """
    match goal:
        case Reach(label):
            return repr(label)
        case Leave(label):
            return f"any class but {label!r}"
        case Probability(label, at_least, at_most):
            ends = [f"at least {at_least:.9g}"] if at_least > 0 else []
            ends += [f"at most {at_most:.9g}"] if at_most < 1 else []
            return f"probability of {plain(label)!r} {' and '.join(ends)}"
        case ValueBetween(low, high):
            return _describe_interval(low, high)
        case _:
            assert_never(goal)


def shown(
    goal: Goal, output: Output, classes: tuple[Any, ...] | None
) -> tuple[list[Any], list[float | None]]:
    """Per row the prediction, and the score that speaks for the goal, as Python scalars.

    The score is that of the desired class; for "any other class" the highest among the others; for an
    interval the number itself; None where the model gives no scores.
    """
    if output.values is not None:
        values = output.values.tolist()
        return values, list(values)
    predictions = _labels(output, classes).tolist()
    if output.scores is None or isinstance(goal, ValueBetween):
        return predictions, [None] * len(predictions)
    index = _index(classes, goal.label)
    desired = _best_other(output.scores, index) if isinstance(goal, Leave) else output.scores[:, index]
    return predictions, desired.tolist()


# The largest margin that still says "not reached", for ties the labels decided the other way.
_JUST_OUTSIDE = -float(np.finfo(np.float64).tiny)


def _judge_labels(output: Output, classes: tuple[Any, ...] | None, label: Any, *, leave: bool) -> Reply:
    labels = _labels(output, classes)
    reached = labels != label if leave else labels == label
    if isinstance(labels, np.ndarray):
        reached = np.asarray(reached, dtype=bool)
    if output.scores is None:
        return Reply(reached, None)
    xp, index = namespace(output.scores), _index(classes, label)
    lead = _lead(output.scores, index)
    margin = -lead if leave else lead
    return Reply(reached, xp.where(reached, xp.clip(margin, 0.0, None), xp.clip(margin, None, _JUST_OUTSIDE)))


def _lead(scores: Array, index: int) -> Array:
    """Return by how much a class is ahead of the best of the others."""
    lead: Array = scores[:, index] - _best_other(scores, index)
    return lead


def _best_other(scores: Array, index: int) -> Array:
    if scores.shape[1] == 2:
        return scores[:, 1 - index]
    xp = namespace(scores)
    others = xp.concat([scores[:, :index], scores[:, index + 1 :]], axis=1)
    best: Array = xp.max(others, axis=1)
    return best


def _labels(output: Output, classes: tuple[Any, ...] | None) -> Array:
    if output.labels is not None:
        return output.labels
    if output.scores is None or classes is None:
        raise TargetError("a class was asked for, but the model was asked for numbers only")
    return np.asarray(np.fromiter(classes, dtype=object)[first_highest(output.scores)])


def _scores(goal: Probability, output: Output) -> Array:
    if output.scores is None:
        raise TargetError(f"{target_call(goal)} needs probabilities, but the model gave labels only")
    return output.scores


def _values(goal: ValueBetween, output: Output) -> Array:
    if output.values is None:
        raise TargetError(f"{target_call(goal)} needs numbers, but the model gave labels")
    return output.values


def _index(classes: tuple[Any, ...] | None, label: Any) -> int:
    if classes is None or label not in classes:
        raise TargetError(f"{label!r} is not a class of the model; its classes: {listing(classes or (), 20)}")
    return classes.index(label)


def _check_label(label: Any, classes: tuple[Any, ...], name: str) -> None:
    if isinstance(label, str | bytes | Number | np.generic) and label in classes:
        return
    problem = f"target {label!r:.80} is not a class of {name}"
    if len(classes) == 1:
        raise TargetError(
            f"{problem}: on the background rows it answers {listing(classes)} only; give data on both sides"
        )
    raise TargetError(f"{problem}; its classes: {listing(classes, 20)}{_did_you_mean(label, classes)}")


def _did_you_mean(label: Any, classes: tuple[Any, ...]) -> str:
    near = closest(label, classes)
    if near is None:
        return ""
    kinds = "" if type(near) is type(label) else f" ({type(near).__name__}, not {type(label).__name__})"
    return f"; did you mean {near!r}{kinds}?"


def _describe_interval(low: float, high: float) -> str:
    if low == -inf and high == inf:
        return "any value"
    if low == -inf:
        return f"a value of at most {high:.9g}"
    if high == inf:
        return f"a value of at least {low:.9g}"
    return f"a value between {low:.9g} and {high:.9g}"


def _is_number(value: Any) -> bool:
    if not is_number(value):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
