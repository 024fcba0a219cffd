"""Targets as text: on the command line, in a project file, in a request."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import ssba
from ssba.apps.project.settings import as_label
from ssba.errors import TargetError

Made = TypeVar("Made")
TARGET_FORMS = (
    "LABEL, probability:LABEL>=0.7, value:LOW..HIGH, change:>=10, or other (any class but the predicted one)"
)


def target_readings(text: Any, names: Mapping[str, str] | None = None) -> list[Any]:
    """All that a target may mean, the likeliest first: ``1`` is a number or a text.

    `names` are those of classes; a target may say either.

    >>> target_readings("no disease"), target_readings("1")
    (['no disease'], [1, '1'])
    >>> target_readings("well", {"0": "well", "1": "ill"})
    [0, '0']
    >>> target_readings("probability:no disease>=0.7")
    [Probability(label='no disease', at_least=0.7, at_most=1.0)]
    >>> target_readings("value:..120"), target_readings("change:<=-5")
    ([ValueBetween(low=-inf, high=120.0)], [ValueChange(at_least=-inf, at_most=-5.0, percent=None)])
    >>> target_readings("probability:ill=0.2..0.4")
    [Probability(label='ill', at_least=0.2, at_most=0.4)]
    >>> target_readings("change:5..10")
    [ValueChange(at_least=5.0, at_most=10.0, percent=None)]
    >>> target_readings("label:value:3"), target_readings("other")
    (['value:3'], ['other', None])
    """
    if text == "other":
        return ["other", None]
    if not isinstance(text, str):
        return [text]
    form, colon, rest = text.partition(":")
    read = _FORMS.get(form) if colon else None
    return read(rest, text, names or {}) if read else _labels(text, names or {})


def first_possible(make: Callable[[Any], Made], target: Any, names: Mapping[str, str] | None) -> Made:
    """Return what `make` makes of the first reading of a target that is an outcome of the model."""
    refused: list[TargetError] = []
    for one in target_readings(target, names):
        try:
            return make(one)
        except TargetError as error:
            refused.append(error)
    raise TargetError(f"{refused[0]}; as a target: {TARGET_FORMS}") from refused[0]


def _labels(text: str, names: Mapping[str, str]) -> list[Any]:
    by_name = [label for label, name in names.items() if name == text]
    return label_readings(by_name[0] if by_name else text)


def label_readings(text: str) -> list[Any]:
    """Read a class: a boolean, a number or a text."""
    if text in ("True", "False", "true", "false"):
        return [text.lower() == "true", text]
    for read in (int, float):
        try:
            return [read(text), text]
        except ValueError:
            continue
    return [text]


def _label(rest: str, text: str, names: Mapping[str, str]) -> list[Any]:
    return label_readings(rest)


def _probability(rest: str, text: str, names: Mapping[str, str]) -> list[Any]:
    for sign, end in ((">=", "at_least"), ("<=", "at_most")):
        label, found, number = rest.rpartition(sign)
        if found:
            wanted = {end: _number(number, text)}
            return [ssba.probability(one, **wanted) for one in _labels(label.strip(), names)]
    label, found, ends = rest.rpartition("=")
    if not found:
        raise _not_a_target(text)
    wanted = _ends(ends, text, ("at_least", "at_most"))
    return [ssba.probability(one, **wanted) for one in _labels(label.strip(), names)]


def _value(rest: str, text: str, names: Mapping[str, str]) -> list[Any]:
    return [ssba.value_between(**_ends(rest, text, ("low", "high")))]


def _change(rest: str, text: str, names: Mapping[str, str]) -> list[Any]:
    for sign, end in ((">=", "at_least"), ("<=", "at_most")):
        if rest.strip().startswith(sign):
            return [ssba.value_change(**{end: _number(rest.strip()[len(sign) :], text)})]
    if rest.strip().endswith("%"):
        return [ssba.value_change(percent=_number(rest.strip().removesuffix("%"), text))]
    return [ssba.value_change(**_ends(rest, text, ("at_least", "at_most")))]


def _ends(rest: str, text: str, called: tuple[str, str]) -> dict[str, float]:
    """Read an interval, of which one end may be left out."""
    low, dots, high = rest.partition("..")
    if not dots:
        raise _not_a_target(text)
    both = zip(called, (low, high), strict=True)
    return {end: _number(one, text) for end, one in both if one.strip()}


_FORMS = {"label": _label, "probability": _probability, "value": _value, "change": _change}


def _number(text: str, target: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _not_a_target(target) from None


def _not_a_target(text: str) -> TargetError:
    return TargetError(
        f"target {text!r} is not understood; give {TARGET_FORMS} (label:{text} if that is a class's name)"
    )


def named(label: Any, names: Mapping[str, str]) -> Any:
    """Return the name of a class for people; a class without one, or a number, as it is."""
    return names.get(as_label(label), label)
