"""What kind of map the steps before a model's last one are, told by their types and settings alone.

What the data happens to show proves nothing about values it does not hold. So a step is let through only if
its type and its own settings say what it does to every value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ssba.columns.features import is_missing
from ssba.columns.space import Space
from ssba.whitebox.check_reading import NotReadable, the_users_code
from ssba.whitebox.scoring import Threshold

Columns = tuple[int, ...]

SCALERS = ("StandardScaler", "MaxAbsScaler", "RobustScaler", "MinMaxScaler")
SELECTORS = ("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "RFE", "RFECV")
# One value means one thing to them and the next another: affine on levels, where a table tells it all.
ENCODERS = ("OneHotEncoder", "OrdinalEncoder")
_COLUMNWISE = (*SCALERS, *SELECTORS, *ENCODERS, "SimpleImputer")
_MIXING = ("PCA", "TruncatedSVD")


# What answers as the estimator inside it does, and under which name it keeps that.
WRAPPERS = {
    "GridSearchCV": "best_estimator_",
    "RandomizedSearchCV": "best_estimator_",
    "HalvingGridSearchCV": "best_estimator_",
    "HalvingRandomSearchCV": "best_estimator_",
    "FrozenEstimator": "estimator",
}
_THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


@final
@dataclass(frozen=True)
class Parts:
    """A model without what is wrapped around it.

    `steps` are those before the last one, nested pipelines unfolded; `last` is the estimator that answers;
    `threshold` is what its score is compared with, where a wrapper decides by one of its own.
    """

    steps: tuple[Any, ...]
    last: Any
    threshold: Threshold | None = None


def take_apart(model: Any) -> Parts:
    """Unwrap pipelines, searches for settings, and classifiers with a threshold of their own."""
    name = type(model).__name__
    if is_a(model, "Pipeline"):
        inner = take_apart(model.steps[-1][1])
        return replace(inner, steps=(*(step for _, step in model.steps[:-1]), *inner.steps))
    if is_a(model, *WRAPPERS):
        with the_users_code():
            held = getattr(model, WRAPPERS[name])
        return take_apart(held)
    if is_a(model, *_THRESHOLDS):
        with the_users_code():
            held, threshold = getattr(model, "estimator_", model.estimator), _threshold(model)
        # The wrapper asks for scores, which pass a threshold inside it by.
        return replace(take_apart(held), threshold=threshold)
    return Parts((), model)


def one_a_class(last: Any) -> tuple[Any, ...] | None:
    """Return the estimators of which each scores one class; None for a model that is not made of such.

    Of two classes there is a single estimator, for the second one.
    """
    if not is_a(last, "OneVsRestClassifier"):
        return None
    with the_users_code():
        if last.multilabel_:
            raise NotReadable("OneVsRestClassifier predicts several labels a row")
        inner = [take_apart(one) for one in last.estimators_]
    if any(parts.steps or parts.threshold for parts in inner):
        raise NotReadable(
            "the estimators in OneVsRestClassifier are pipelines; put their steps in front of it"
        )
    return tuple(parts.last for parts in inner)


def _threshold(model: Any) -> Threshold:
    held = getattr(model, "estimator_", model.estimator)
    method = model.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(held, "predict_proba") else "decision_function"
    by_probability = method == "predict_proba"
    if type(model).__name__ == "TunedThresholdClassifierCV":
        return Threshold(model._curve_scorer._get_pos_label(), float(model.best_threshold_), by_probability)
    limit = model.threshold
    if limit == "auto":
        limit = 0.5 if by_probability else 0.0
    return Threshold(model.pos_label, float(limit), by_probability)


def affine_problem(steps: Sequence[Any], space: Space) -> str | None:
    """Say what keeps the steps from being an affine map of numbers and a table of levels; None if nothing."""
    for step in _kinds(steps):
        if is_a(step, "MinMaxScaler") and step.clip:
            return "a MinMaxScaler in the pipeline clips its values"
        if not (is_idle(step) or is_a(step, *_COLUMNWISE, *_MIXING)):
            return _unknown(step)
    return _singling_out(steps, space)


def columnwise_problem(steps: Sequence[Any], space: Space) -> str | None:
    """Say what keeps a result of the steps from depending on one column, and growing with its numbers.

    Quantiles and powers are left out: in floats they grow only up to rounding, and where they are flat a
    rounding error is a wide interval of the column. None if nothing does.
    """
    for step in _kinds(steps):
        if is_a(step, *_MIXING):
            return f"the step {type(step).__name__} in front of the trees mixes columns"
        if not (is_idle(step) or is_a(step, *_COLUMNWISE)):
            return _unknown(step)
    return _singling_out(steps, space)


def _unknown(step: Any) -> str:
    return f"the step {type(step).__name__} in the pipeline is not one that can be read"


def is_idle(step: Any) -> bool:
    """Whether a step gives back what it gets, or nothing."""
    if step is None or isinstance(step, str):
        return step in (None, "passthrough", "drop")
    return is_a(step, "FunctionTransformer") and step.func is None


def _singling_out(steps: Sequence[Any], space: Space) -> str | None:
    """Name a column of numbers that reaches a step which treats single values apart."""
    reaching = _singled_out(steps, tuple(range(len(space.features))), space.names)
    for name in (space.names[j] for j in sorted(reaching) if not space.features[j].has_levels):
        return (
            f"column {name!r} holds numbers, but a step in the pipeline treats its values one by one; "
            f"declare it with features={{{name!r}: ssba.categorical()}}"
        )
    return None


def _singled_out(steps: Sequence[Any], columns: Columns, names: Sequence[str]) -> set[int]:
    """Return which columns reach a step that treats single values apart, of those that enter the first."""
    found: set[int] = set()
    in_order = True
    for step in steps:
        if in_order:
            found |= _singled_out_by(step, columns, names)
        elif any(_singles_out(one) for one in _kinds([step])):
            # What an earlier step returns is in an order of its own: it may be any of them.
            found |= set(columns)
        in_order = in_order and is_idle(step)
    return found


def _singled_out_by(step: Any, columns: Columns, names: Sequence[str]) -> set[int]:
    if is_a(step, "Pipeline"):
        return _singled_out([one for _, one in step.steps], columns, names)
    if is_a(step, "ColumnTransformer"):
        parts = [(one, _picked(picked, columns, names)) for _, one, picked in step.transformers_]
    elif is_a(step, "FeatureUnion"):
        parts = [(one, columns) for _, one in step.transformer_list]
    else:
        return set(columns) if _singles_out(step) else set()
    return {j for one, picked in parts for j in _singled_out_by(one, picked, names)}


def _picked(wanted: Any, columns: Columns, names: Sequence[str]) -> Columns:
    """Return the columns that a part of a column transformer gets; all of them where that is unclear."""
    mine = [names[j] for j in columns]
    try:
        if isinstance(wanted, slice):
            ends = [mine.index(end) if isinstance(end, str) else end for end in (wanted.start, wanted.stop)]
            # A slice of names includes its end.
            stop = ends[1] + 1 if isinstance(wanted.stop, str) else ends[1]
            return columns[slice(ends[0], stop, wanted.step)]
        cells = [wanted] if isinstance(wanted, str | int) else np.asarray(wanted).tolist()
        if cells and all(isinstance(cell, bool) for cell in cells):
            return tuple(j for j, chosen in zip(columns, cells, strict=True) if chosen)
        return tuple(columns[mine.index(cell) if isinstance(cell, str) else cell] for cell in cells)
    except (ValueError, IndexError, TypeError):
        return columns


def _singles_out(step: Any) -> bool:
    """Whether a step treats single values apart: an encoder, or an imputer of a value that is a number."""
    if is_a(step, "SimpleImputer"):
        return not is_missing(step.missing_values)
    return is_a(step, *ENCODERS)


def _kinds(steps: Sequence[Any]) -> Iterator[Any]:
    """Yield the innermost steps of nested pipelines, unions and column transformers."""
    for step in steps:
        if is_a(step, "Pipeline"):
            yield from _kinds([one for _, one in step.steps])
        elif is_a(step, "ColumnTransformer"):
            yield from _kinds([one for _, one, _ in step.transformers_])
        elif is_a(step, "FeatureUnion"):
            yield from _kinds([one for _, one in step.transformer_list])
        else:
            yield step


def is_a(step: Any, *names: str) -> bool:
    """Whether a step is of one of these types of scikit-learn, and not of a type derived from it."""
    return type(step).__module__.partition(".")[0] == "sklearn" and type(step).__name__ in names
