"""Models with `predict`, and with scores from another method, as scikit-learn and its followers have them."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ssba.errors import ModelError
from ssba.models.answers import Array, Ask, Model, Output, fingerprint, first_highest
from ssba.models.calls import (
    Call,
    Needs,
    Trial,
    are_probabilities,
    as_array,
    as_labels,
    as_scores,
    labels_model,
    model_of_answers,
    numbers_model,
    seen_classes,
    try_out,
)
from ssba.models.prepared import asking
from ssba.models.repeated_warnings import silence_repeats


def model_with_predict(model: Any, name: str, rows: Any, needs: Needs) -> Model:
    """Adapt anything that has `predict`; `predict_proba` or `decision_function` are used where they help."""
    trial = try_out(name, Call(f"{name}.predict", asking(model, "predict")), rows)
    silence_repeats(model, rows)
    # Asked before the classes: CatBoost's regressor has an empty `classes_`.
    if _is_regressor(model):
        return numbers_model(trial)
    declared = getattr(model, "classes_", None)
    if declared is None and (needs.numbers or trial.answer.dtype.kind == "f"):
        return model_of_answers(trial, needs, beyond="numbers")
    as_labels(trial.call, trial.answer, rows)
    if declared is None:
        return classifier(trial, score_calls(model, name), seen_classes(trial.answer), needs)
    trial, classes = _settle_classes(trial, tuple(np.asarray(declared).tolist()))
    return classifier(trial, score_calls(model, name), classes, needs)


def classifier(trial: Trial, score_calls: Sequence[Call], classes: tuple[Any, ...], needs: Needs) -> Model:
    """Adapt a model whose labels come from one call and whose scores, if any, come from another."""
    plain = labels_model(trial, classes)
    scoring = _best_scoring(trial, score_calls, classes, needs)
    if scoring is None:
        return plain

    def verdict(rows: Any) -> Output:
        # A model that works in place must not be asked twice about the same memory.
        return Output(scores=scoring.scores(copy(rows)), labels=plain.labels(rows).labels)

    # A target of probabilities is judged by them even where the model's own labels follow another rule.
    usable = scoring.agrees or (needs.probabilities and scoring.probabilities)
    return replace(
        plain,
        has_scores=usable,
        gives_probabilities=scoring.probabilities,
        fingerprint=fingerprint(trial.name, classes, Output(labels=trial.answer, scores=scoring.on_sample)),
        on_sample=scoring.read(scoring.on_sample) if usable else plain.on_sample,
        output=_from_scores(scoring) if usable else plain.labels,
        verdict=verdict,
    )


def _settle_classes(trial: Trial, classes: tuple[Any, ...]) -> tuple[Trial, tuple[Any, ...]]:
    labels = set(trial.answer.tolist())
    if labels <= set(classes):
        return trial, classes
    spoken = {str(label): label for label in classes}
    if not labels <= set(spoken):
        return trial, seen_classes(trial.answer)
    # Some versions of CatBoost answer 'True' where the class is True.
    call = Call(trial.call.who, _translated(trial.call.function, spoken))
    return try_out(trial.name, call, trial.rows), classes


def _translated(predict: Callable[[Any], Any], spoken: dict[str, Any]) -> Callable[[Any], Array]:
    return lambda rows: np.array([spoken[label] for label in as_array(predict(rows)).ravel().tolist()])


def _is_regressor(model: Any) -> bool:
    kind = getattr(model, "_estimator_type", None)
    if kind is None and hasattr(model, "__sklearn_tags__"):
        kind = model.__sklearn_tags__().estimator_type
    return bool(kind == "regressor")


_OF_CLASS_0: dict[str, Callable[[Array], Array]] = {
    "predict_proba": lambda of_class_1: 1.0 - of_class_1,
    "decision_function": np.negative,
}
"""Score methods, the preferred first, and what one column for class 1 says about class 0."""


def score_calls(model: Any, name: str, methods: Sequence[str] = tuple(_OF_CLASS_0)) -> list[Call]:
    """Return the calls for a column of scores per class, of those methods that the model has."""
    return [
        Call(f"{name}.{method}", _two_columns(asking(model, method), _OF_CLASS_0[method]))
        for method in methods
        if hasattr(model, method)
    ]


def _two_columns(ask: Callable[[Any], Any], of_class_0: Callable[[Array], Array]) -> Callable[[Any], Array]:
    def columns(rows: Any) -> Array:
        scores = as_array(ask(rows))
        return scores if scores.ndim == 2 else np.stack([of_class_0(scores), scores], axis=1)

    return columns


@final
@dataclass(frozen=True)
class _Scoring:
    """Scores with a column per class, and how they did on the sample rows."""

    scores: Callable[[Any], Array]
    class_labels: Array
    on_sample: Array
    probabilities: bool
    agrees: bool

    def read(self, scores: Array) -> Output:
        """Return scores with the labels that follow from them, where these are the model's own."""
        labels = self.class_labels[first_highest(scores)] if self.agrees else None
        return Output(labels=labels, scores=scores)


def _best_scoring(
    trial: Trial, calls: Sequence[Call], classes: tuple[Any, ...], needs: Needs
) -> _Scoring | None:
    """The first whose highest score is always the predicted label; failing that, the first there is."""
    first = None
    for call in calls:
        scoring = _scoring(trial, call, classes)
        if scoring is not None and (scoring.agrees or needs.probabilities):
            return scoring
        first = first or scoring
    return first


def _scoring(trial: Trial, call: Call, classes: tuple[Any, ...]) -> _Scoring | None:
    def scores(rows: Any) -> Array:
        return as_scores(call, call(rows), rows)

    try:
        on_sample = scores(trial.rows)
    except ModelError as error:
        if isinstance(error.__cause__, (AttributeError, NotImplementedError)):
            return None  # the method exists in name only
        raise
    if on_sample.shape[1:] != (len(classes),):
        return None  # one-against-one votes, or classes that the sample rows never show
    class_labels = _label_array(classes, trial.answer.dtype)
    agrees = bool((class_labels[first_highest(on_sample)] == trial.answer).all())
    return _Scoring(scores, class_labels, on_sample, are_probabilities(on_sample), agrees)


def _from_scores(scoring: _Scoring) -> Ask:
    return lambda rows: scoring.read(scoring.scores(rows))


def _label_array(classes: tuple[Any, ...], dtype: np.dtype[Any]) -> Array:
    # The width of the sample's text could cut the name of a class that the sample does not show.
    if dtype.kind in "US":
        return np.array(classes)
    return np.fromiter(classes, dtype=dtype, count=len(classes))
