"""What outcome is wished for, and whether a model's answer is that outcome."""

from dataclasses import dataclass
from difflib import get_close_matches
from math import inf, isnan
from numbers import Number, Real
from typing import Any, assert_never, final

import numpy as np

from ssba.errors import TargetError
from ssba.models.answers import Array, Model, Output, first_highest, plain


@final
@dataclass(frozen=True)
class Probability:
    """The model gives `label` a probability of `at_least` or more."""

    label: Any
    at_least: float

    def __post_init__(self) -> None:
        if not _is_number(self.at_least) or not 0 < self.at_least <= 1:
            given = f"probability({self.label!r}, at_least={self.at_least!r})"
            raise TargetError(f"{given}: at_least must be a number above 0 and at most 1")


@final
@dataclass(frozen=True)
class ValueBetween:
    """The model's number lies in the closed interval from `low` to `high`."""

    low: float
    high: float

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


@final
@dataclass(frozen=True)
class Leave:
    """The model predicts any class but `label`."""

    label: Any


Goal = Reach | Leave | Probability | ValueBetween
"""The target of one query, resolved: `None` has become the class to leave."""


@final
@dataclass(frozen=True)
class Reply:
    """Per row, whether the goal is reached, and by how much: margin >= 0 exactly where reached."""

    reached: Array
    margin: Array | None


def probability(label: Any, at_least: float = 0.5) -> Probability:
    """Ask for a class with at least this probability.

    Examples
    --------
    >>> probability("no disease", at_least=0.7)
    Probability(label='no disease', at_least=0.7)
    """
    return Probability(label, at_least)


def value_between(low: float = -inf, high: float = inf) -> ValueBetween:
    """Ask a regressor for a value from `low` to `high`, both included; an end left out has no limit.

    Examples
    --------
    >>> value_between(high=120)
    ValueBetween(low=-inf, high=120)
    """
    return ValueBetween(low, high)


def check_target(target: Any, model: Model) -> None:
    """Refuse, with a `TargetError`, a target that the model can never be judged by."""
    if isinstance(target, ValueBetween):
        if model.classes is not None:
            raise TargetError(
                f"{_call_of(target)} is for models that give numbers, but {model.name} predicts the classes "
                f"{_listed(model.classes)}; name one of them as the target"
            )
        return
    if model.classes is None:
        wish = "no target" if target is None else f"target {target!r}"
        raise TargetError(
            f"{wish}: {model.name} gives numbers and has no classes; use ssba.value_between(low, high)"
        )
    if target is None:
        if len(model.classes) < 2:
            raise TargetError(
                f"{model.name} knows one class only, {_listed(model.classes)}: there is no other"
            )
        return
    _check_label(target.label if isinstance(target, Probability) else target, model.classes, model.name)
    if isinstance(target, Probability) and not model.gives_probabilities:
        raise TargetError(
            f"{_call_of(target)}: {model.name} gives no probabilities; use target={target.label!r}, or "
            "calibrate the model so that it has predict_proba"
        )


def resolve(target: Any, prediction: Any) -> Goal:
    """The goal of a query that the model answers with `prediction`; no target means any other class.

    Examples
    --------
    >>> resolve(None, "disease"), resolve("healthy", "disease")
    (Leave(label='disease'), Reach(label='healthy'))
    """
    if isinstance(target, Probability | ValueBetween):
        return target
    return Leave(plain(prediction)) if target is None else Reach(plain(target))


def judge(goal: Goal, output: Output, classes: tuple[Any, ...] | None) -> Reply:
    """Tell for each row whether the goal is reached, and the margin where there are scores or values."""
    match goal:
        case Reach(label):
            return _judge_labels(output, classes, label, leave=False)
        case Leave(label):
            return _judge_labels(output, classes, label, leave=True)
        case Probability(label, at_least):
            margin = _scores(goal, output)[:, _index(classes, label)] - at_least
        case ValueBetween(low, high):
            values = _values(goal, output)
            margin = np.minimum(values - low, high - values)
        case _:
            assert_never(goal)
    return Reply(np.asarray(margin >= 0), margin)


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
        case Probability(label, at_least):
            return f"probability of {plain(label)!r} at least {at_least:g}"
        case ValueBetween(low, high):
            return _describe_interval(low, high)
        case _:
            assert_never(goal)


def shown(
    goal: Goal, output: Output, classes: tuple[Any, ...] | None
) -> tuple[list[Any], list[float | None]]:
    """Per row the prediction, and the score that speaks for the goal, as Python scalars.

    The score is that of the wished class; for "any other class" the highest among the others; for an
    interval the number itself; None where the model gives no scores.
    """
    if output.values is not None:
        values = output.values.tolist()
        return values, list(values)
    predictions = _labels(output, classes).tolist()
    if output.scores is None or isinstance(goal, ValueBetween):
        return predictions, [None] * len(predictions)
    index = _index(classes, goal.label)
    wished = _best_other(output.scores, index) if isinstance(goal, Leave) else output.scores[:, index]
    return predictions, wished.tolist()


# The largest margin that still says "not reached", for ties the labels decided the other way.
_JUST_OUTSIDE = -np.finfo(np.float64).tiny


def _judge_labels(output: Output, classes: tuple[Any, ...] | None, label: Any, *, leave: bool) -> Reply:
    labels = _labels(output, classes)
    reached = np.asarray(labels != label if leave else labels == label, dtype=bool)
    if output.scores is None:
        return Reply(reached, None)
    index = _index(classes, label)
    lead = output.scores[:, index] - _best_other(output.scores, index)
    margin = -lead if leave else lead
    return Reply(reached, np.where(reached, np.maximum(margin, 0.0), np.minimum(margin, _JUST_OUTSIDE)))


def _best_other(scores: Array, index: int) -> Array:
    if scores.shape[1] == 2:
        return scores[:, 1 - index]
    return np.asarray(np.delete(scores, index, axis=1).max(axis=1))


def _labels(output: Output, classes: tuple[Any, ...] | None) -> Array:
    if output.labels is not None:
        return output.labels
    if output.scores is None or classes is None:
        raise TargetError("a class was wished for, but the model was asked for numbers only")
    return np.asarray(np.fromiter(classes, dtype=object)[first_highest(output.scores)])


def _scores(goal: Probability, output: Output) -> Array:
    if output.scores is None:
        raise TargetError(f"{_call_of(goal)} needs probabilities, but the model gave labels only")
    return output.scores


def _values(goal: ValueBetween, output: Output) -> Array:
    if output.values is None:
        raise TargetError(f"{_call_of(goal)} needs numbers, but the model gave labels")
    return output.values


def _index(classes: tuple[Any, ...] | None, label: Any) -> int:
    if classes is None or label not in classes:
        raise TargetError(f"{label!r} is not a class of the model; its classes: {_listed(classes or ())}")
    return classes.index(label)


def _check_label(label: Any, classes: tuple[Any, ...], name: str) -> None:
    if isinstance(label, str | bytes | Number | np.generic) and label in classes:
        return
    told = f"target {label!r:.80} is not a class of {name}"
    if len(classes) == 1:
        raise TargetError(
            f"{told}: on the background rows it answers {_listed(classes)} only; give data on both sides"
        )
    raise TargetError(f"{told}; its classes: {_listed(classes)}{_did_you_mean(label, classes)}")


def _did_you_mean(label: Any, classes: tuple[Any, ...]) -> str:
    by_text = {str(known): known for known in classes}
    close = get_close_matches(str(label), by_text, n=1)
    if not close:
        return ""
    meant = by_text[close[0]]
    kinds = "" if type(meant) is type(label) else f" ({type(meant).__name__}, not {type(label).__name__})"
    return f"; did you mean {meant!r}{kinds}?"


def _listed(classes: tuple[Any, ...]) -> str:
    listed = ", ".join(map(repr, classes[:20]))
    return listed if len(classes) <= 20 else f"{listed} and {len(classes) - 20} more"


def _call_of(target: Probability | ValueBetween) -> str:
    if isinstance(target, Probability):
        return f"probability({target.label!r}, at_least={target.at_least:g})"
    return f"value_between({target.low:g}, {target.high:g})"


def _describe_interval(low: float, high: float) -> str:
    if low == -inf and high == inf:
        return "any value"
    if low == -inf:
        return f"a value of at most {high:g}"
    if high == inf:
        return f"a value of at least {low:g}"
    return f"a value between {low:g} and {high:g}"


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
